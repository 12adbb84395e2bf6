"""Newtron (DEFINITIONS 3): Newton steps on the logistic loss, from right or wrong."""

import numpy

cimport cython
cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport new_doubles, product_of
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_FAST, CF_FULL_STEEP, CF_OK, cf_get_library, cf_get_table,
    cf_library, cf_newton, cf_pad, cf_table,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._forms cimport Lines, settled
from coactive_fast.metric._metrics cimport Stored
from coactive_fast.rows._rows cimport Scratch, place_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef double MOST = 1e280       # what one round may add to A
cdef double SAME = 1.0 + 1e-6  # rounding of a length


cdef int refuse_matrix(Py_ssize_t k, Py_ssize_t d) except -1:
    refuse_beyond_limit(14.0 * (<double>k * d) ** 2,
                        f"a full matrix of {k} classes times {d} features",
                        'covariance="diagonal" takes less')
    return 0


cdef double *vectors(Py_ssize_t n) except NULL:
    return new_doubles(1, 5 * cf_pad(n) + max(L.full_scratch(n), L.newton_scratch(n)),
                       f"vectors of {n} weights")


@cython.final
cdef class Newtron(Lines):
    """The minimiser of ``sum f_s(W) + ||W||^2 / (2 bound)``, f_s the quadratic estimate of a round.

    Parameters
    ----------
    k : int
    alpha, beta, gamma, bound : float
        Those of DEFINITIONS 3.
    whole : bool
        All of A, and W with ``||W|| <= bound``; else the diagonal of A, and W as it comes.
    """

    # A reading leaves the p of the labels in s.q. The lines have W; with diagonals also those of A
    # (W is then the minimiser itself). Whole: `metric` is A over all classes and features, class by
    # class, z the minimiser and W its projection. `held` is its features, 0 while they are not
    # known; classes that were added come into it before the next round is learned.
    cdef double alpha, beta, gamma
    cdef double bound          # of ||W||: A begins as I / bound
    cdef bint whole
    cdef Stored metric         # None while held is 0
    cdef Py_ssize_t held
    cdef double lam            # of the last projection: where the next search begins
    cdef double *memory        # owned; those that follow point into it
    cdef double *z             # cf_pad(k d) each; z and z_next change places
    cdef double *z_next
    cdef double *w_next
    cdef double *g             # zeros but for a moment
    cdef double *v
    cdef double *work

    def __init__(self, Py_ssize_t k, *, double alpha, double beta, double gamma, double bound,
                 bint whole):
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.bound, self.whole = bound, whole
        self.begin(k, 0.0 if whole else 1.0 / bound)

    def __dealloc__(self):
        L.free(self.memory)

    cdef int raise_error(self, int status) except -1:
        """The classes share each gradient, with opposite signs: what separates them is lost in the
        digits of a large one, in every form of A."""
        if status == CF_EVALUE:
            raise ValueError("x is too large: with covariance=\"full\" the columns must be scaled, such "
                             f"that beta norm_bound g.g of a gradient g is at most {CF_FULL_STEEP:g}")
        return 0

    cdef int adopt(self, Model other) except -1:
        """Everything but the bound, which shapes A."""
        cdef Newtron o = <Newtron?>other
        self.alpha, self.beta, self.gamma = o.alpha, o.beta, o.gamma
        return Lines.adopt(self, other)

    cdef int know(self, Py_ssize_t n) except -1:
        cdef Stored metric
        if self.whole and self.held != n:
            refuse_matrix(self.k, n)
            metric = Full(product_of(self.k, n, "a matrix"), ridge=1.0 / self.bound,
                          precision="fast")
            self.take_over(vectors(self.k * n), metric, n)
        elif self.whole and self.metric.core.n < self.k * n:
            self.enlarge()
        return Lines.know(self, n)

    cdef void take_over(self, double *block, Stored metric, Py_ssize_t d) noexcept:
        """A metric over d features and its vectors, whose memory is owned from now on."""
        cdef Py_ssize_t padded = cf_pad(metric.core.n)
        L.free(self.memory)
        self.memory = self.z = block
        self.z_next, self.w_next = block + padded, block + 2 * padded
        self.g, self.v, self.work = block + 3 * padded, block + 4 * padded, block + 5 * padded
        self.metric, self.held = metric, d

    cdef int enlarge(self) except -1:
        """For classes that were added: they stand behind the others, and A has nothing beside its
        diagonal there. O((k d)^3), once for all that came since the last round."""
        cdef Py_ssize_t n = self.metric.core.n, more = self.k * self.held
        cdef double *block
        refuse_matrix(self.k, self.held)
        matrix = numpy.zeros((more, more))
        numpy.fill_diagonal(matrix, 1.0 / self.bound)
        matrix[:n, :n] = self.metric.matrix()
        metric = Full.from_matrix(matrix, 1.0 / self.bound, precision="fast")
        block = vectors(more)
        memcpy(block, self.z, <size_t>n * sizeof(double))
        self.take_over(block, <Stored>metric, self.held)
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        cdef double n = <double>self.k * self.d
        return n * n if self.whole else 4.0 * nnz * self.k

    cdef int read(self, Scratch s) noexcept nogil:
        """m, the best label, and p."""
        cdef double top, sum = 0.0
        cdef Py_ssize_t i
        K.lines_scores(&self.core, &s.row, s.next, s.m)
        s.exploit = s.label = K.best_label(self.k, s.m)
        if s.exploit < 0:
            return CF_ENONFINITE
        top = s.m[s.exploit]
        for i in range(self.k):
            s.q[i] = self.alpha * (s.m[i] - top)
        K.exp_many(self.k, s.q, s.q)
        for i in range(self.k):
            sum += s.q[i]
        for i in range(self.k):
            s.q[i] /= sum
        return CF_OK

    cdef double mixed(self, Scratch s, Py_ssize_t label) noexcept nogil:
        """The chance with which a label is chosen."""
        return (1.0 - self.gamma) * s.q[label] + self.gamma / self.k

    cdef void draw(self, Scratch s) noexcept nogil:
        """The first label at which the chances so far exceed one uniform draw."""
        cdef double u = s.bits.next_double(s.bits.state), reached = 0.0
        cdef Py_ssize_t i
        s.label = self.k - 1
        for i in range(self.k):
            reached += self.mixed(s, i)
            if reached > u:
                s.label = i
                return

    # --- learning -----------------------------------------------------------------------------

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        """The gradient is estimated as c (x) x, ``c = step (e_i - 1/k)``."""
        cdef double p = self.mixed(s, i), curve = self.beta, step = s.q[i] / p, size
        cdef Py_ssize_t j
        cdef int status = CF_OK
        if y > 0.0:
            step, curve = (s.q[i] - 1.0) / p, self.beta * p
        for j in range(self.k):
            s.c[j] = -step / self.k
        s.c[i] += step
        size = step * step * K.ridge_square(&s.row)
        if not (size <= MOST and curve * size <= MOST and self.bound * size <= MOST):
            return CF_ENONFINITE
        if self.whole and curve * size * self.bound > CF_FULL_STEEP:
            return CF_EVALUE
        if size > 0.0:
            status = self.along_all(s, curve) if self.whole else self.along_lines(s, curve)
        if status == CF_OK:
            self.count(s.row.n)
        return status

    cdef int along_lines(self, Scratch s, double curve) noexcept nogil:
        """``a += curve g^2``, ``w -= g / a``, each weight by itself."""
        cdef double g, x
        cdef double *w
        cdef double *a
        cdef Py_ssize_t e, j
        for e in range(s.row.nnz):
            w = self.core.data + place_of(&s.row, e) * self.core.stride
            a, x = w + self.core.second, s.row.value[e]
            for j in range(self.k):
                g = s.c[j] * x
                a[j] += curve * (g * g)
                w[j] -= g / a[j]
        return CF_OK

    cdef int along_all(self, Scratch s, double curve) noexcept nogil:
        """The same with all of A, and W the projection of z."""
        cdef Py_ssize_t d = s.row.n, e, f, j
        cdef int status
        for e in range(s.row.nnz):
            f = place_of(&s.row, e)
            for j in range(self.k):
                self.g[j * d + f] = s.c[j] * s.row.value[e]
        status = self.newton(curve)
        for e in range(s.row.nnz):
            f = place_of(&s.row, e)
            for j in range(self.k):
                self.g[j * d + f] = 0.0
        if status != CF_OK:
            return status
        self.z, self.z_next = self.z_next, self.z
        for j in range(self.k):
            for f in range(d):
                self.core.data[f * self.core.stride + j] = self.w_next[j * d + f]
        return CF_OK

    cdef int newton(self, double curve) noexcept nogil:
        """z_next and w_next, and A by ``curve g g^T``: all or nothing. In one minimisation ``z +=
        A^-1 g (curve g.(W - z) - 1)``; the metric is read twice, once for z and once for W."""
        cdef cf_newton move
        cdef double q, ahead = -1.0, lam = self.lam
        cdef Py_ssize_t n = self.metric.core.n, d = self.held, f, j
        cdef int status = L.full_propose(&self.metric.core, K, self.g, curve, self.work, self.v, &q)
        if status != CF_OK:
            return status
        for j in range(self.k):
            for f in range(d):
                ahead += curve * (self.g[j * d + f] * (
                    self.core.data[f * self.core.stride + j] - self.z[j * d + f]))
        move.c, move.gain, move.radius, move.limit = curve, ahead, self.bound, self.bound
        memcpy(self.z_next, self.z, <size_t>n * sizeof(double))
        K.axpy(n, ahead / (1.0 + curve * q), self.v, self.z_next)
        if not K.all_finite(n, self.z_next):
            return CF_ENONFINITE
        status = L.newton_ball(&self.metric.core, K, &move, self.g, self.z, self.w_next, &lam,
                               self.work)
        self.lam = lam if status == CF_OK else self.lam
        return status

    # --- states ---------------------------------------------------------------------------------

    cdef dict told(self):
        cdef dict found = Lines.told(self)
        if self.metric is not None and self.d:
            found["metric"], found["lam"] = settled(self.metric), self.lam
            found["z"] = vector_of(self.z, self.metric.core.n)
        return found

    cdef int restore(self, State state) except -1:
        cdef State part
        cdef Stored metric
        cdef Py_ssize_t n = 0, d
        if self.whole and state.count("d"):  # the metric vouches for memory before it is taken
            d = state.count("d")
            part = state.part("metric")
            n = part.count("n", d, product_of(state.count("k", 1), d, "a matrix"))
            part.count("updates", 0, state.count("rounds"))
            metric = <Stored?>Full.from_state(part.given)
            if n % d:
                state.refuse("metric", "over whole classes")
            metric._ask_for(CF_FULL_FAST)
            self.take_over(vectors(n), metric, d)
            state.load("z", n, self.z)
        Lines.restore(self, state)
        if n == 0:
            return 0
        self.lam = state.number("lam", 0.0)
        if not numpy.linalg.norm(self.np_weights()) <= SAME * self.bound:
            state.refuse("weights", f"not longer than norm_bound = {self.bound:g}")
        return 0
