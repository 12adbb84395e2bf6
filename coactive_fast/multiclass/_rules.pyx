"""How multiclass learners decide and learn, their engine and its runs (DEFINITIONS 3)."""

import numpy

cimport cython
cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_flag, as_label, as_number, data_of, labels_of, new_doubles, new_indices, plain, product_of,
)
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_FAST, CF_FULL_STEEP, CF_OK, cf_change, cf_get_library,
    cf_get_table, cf_library, cf_newton, cf_pad, cf_table,
)
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine, Form, RowEngine, look
from coactive_fast.learner._run cimport RowRun
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._forms cimport Lines, Ridges, settled
from coactive_fast.metric._metrics cimport Stored
from coactive_fast.rows._rows cimport Rows, Workspace, place_of, rows_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full
from coactive_fast.multiclass._history import MulticlassHistory, regret_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum Width:
    CONSTANT
    THEORY
    SELF_NORMALIZED

WIDTHS = {"constant": CONSTANT, "theory": THEORY, "selfnormalized": SELF_NORMALIZED}


# --- models without a confidence --------------------------------------------------------------


cdef class Perceptron(Lines):
    """On a mistake ``w_y += x`` and ``w_chosen -= x``; where there are second values, ``x^2`` to
    those of both."""

    def __init__(self, Py_ssize_t k):
        self.begin(k, 0.0)

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef cf_change change
        cdef int status = CF_OK
        if ws.label != i:
            change.first_class, change.second_class = i, ws.label
            change.first_step, change.second_step = 1.0, -1.0
            status = K.lines_add(&self.core, &ws.row, &change, self.core.second != 0)
        if status == CF_OK:
            self.count(ws.row.n)
        return status


@cython.final
cdef class Banditron(Lines):
    """``w_r += x ([right] [r = label] / p_r - [r = best])``; the choice is drawn."""

    cdef double gamma

    def __init__(self, Py_ssize_t k, double gamma):
        self.gamma = gamma
        self.begin(k, 0.0)

    cdef int set_options(self, Form other) except -1:
        self.gamma = (<Banditron?>other).gamma
        return Lines.set_options(self, other)

    cdef double chance(self, Py_ssize_t label, Py_ssize_t best) noexcept nogil:
        cdef double p = self.gamma / self.k
        return p + (1.0 - self.gamma) if label == best else p

    cdef void draw(self, Workspace ws) noexcept nogil:
        """The first label at which the chances so far exceed one uniform draw."""
        cdef double u = ws.rng.next_double(ws.rng.state), reached = 0.0
        cdef Py_ssize_t r
        ws.label = self.k - 1
        for r in range(self.k):
            reached += self.chance(r, ws.greedy)
            if reached > u:
                ws.label = r
                return

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef double step = 1.0 / self.chance(i, ws.greedy) if y > 0.0 else 0.0
        cdef cf_change change
        cdef int status = CF_OK
        change.first_class, change.second_class = ws.greedy, -1
        change.first_step, change.second_step = -1.0, step
        if i == ws.greedy:
            change.first_step += step
        elif y > 0.0:
            change.second_class = i
        status = K.lines_add(&self.core, &ws.row, &change, 0)
        if status == CF_OK:
            self.count(ws.row.n)
        return status


@cython.final
cdef class Counted(Perceptron):
    """The second-order Perceptron: on a mistake also ``S += x^2`` for both."""

    # The second-order Perceptron; the second value is a + S.

    def __init__(self, Py_ssize_t k, double a):
        self.inverted = True
        self.begin(k, a)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 4.0 * nnz * self.k

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        K.lines_counted(&self.core, &ws.row, ws.next, ws.score)
        return CF_OK


@cython.final
cdef class Arow(Lines):
    """Below margin 1: ``w_y += a Sigma_y x``, ``w_j -= a Sigma_j x``, less variance for both."""

    cdef double r

    def __init__(self, Py_ssize_t k, double r):
        self.r = r
        self.begin(k, 1.0)

    cdef int set_options(self, Form other) except -1:
        self.r = (<Arow?>other).r
        return Lines.set_options(self, other)

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef Py_ssize_t j, rival = -1
        cdef double margin, V, Vj, unused, beta
        cdef cf_change change
        cdef int status = CF_OK
        for j in range(self.k):
            if j != i and (rival < 0 or ws.score[j] > ws.score[rival]):
                rival = j
        margin = ws.score[i] - ws.score[rival]
        if margin < 1.0:
            K.lines_read_one(&self.core, &ws.row, i, &unused, &V)
            K.lines_read_one(&self.core, &ws.row, rival, &unused, &Vj)
            V += Vj
            beta = 1.0 / (V + self.r)
            if not (V - V == 0.0 and margin - margin == 0.0):
                return CF_ENONFINITE
            change.first_class, change.second_class = i, rival
            change.first_step = beta * (1.0 - margin)
            change.second_step = -change.first_step
            status = K.lines_shrink(&self.core, &ws.row, &change, beta)
        if status == CF_OK:
            self.count(ws.row.n)
        return status


# --- Confidit ---------------------------------------------------------------------------------


@cython.final
cdef class Confidit(Form):
    """Upper confidence bounds over k ridge regressions, told right or wrong.

    Parameters
    ----------
    ridges : Ridges
        With ridge (1 + alpha)^2.
    alpha, eta, confidence, projection, norm_bound, delta, normalize
        Those of DEFINITIONS 3.
    error : float, ndarray or callable
        The approximation error of every round, of round t, or a function of t, t from 1.
    """

    # Ridge regressions of any form, the parameters of DEFINITIONS 3, and what the widths sum up.
    # Theory: q / (1 + q) of the labels learned, and the errors of the rounds so far. These are
    # numbers (`error` times the rounds), sums of an array (`errors`), or what a function has
    # answered. Self-normalised: in `logdets` log det A_i of each class, less its first value.
    # k, d and learned are those of the ridges.
    cdef readonly Ridges ridges
    cdef double alpha, eta, norm_bound
    cdef double doubt          # -log delta
    cdef Width width
    cdef bint projection, normalize
    cdef double explained
    cdef double error
    cdef np.ndarray errors     # errors[j]: of rounds 1 ... j; or None
    cdef object error_of       # round -> error, or None
    cdef double erred          # what it has answered so far, summed
    cdef object raised
    cdef np.ndarray logdets    # k; kept up while the width is self-normalised

    def __init__(self, Ridges ridges, *, double alpha, double eta, str confidence,
                 bint projection, double norm_bound, double delta, error, bint normalize):
        self.ridges, self.k = ridges, ridges.k
        self.logdets = <np.ndarray>numpy.zeros(self.k)
        self.alpha, self.eta, self.projection = alpha, eta, projection
        self.width = WIDTHS[confidence]
        self.norm_bound, self.doubt, self.normalize = norm_bound, -K.log_one(delta), normalize
        if callable(error):
            self.error_of = error
        elif isinstance(error, numpy.ndarray):
            self.errors = <np.ndarray>numpy.concatenate(([0.0], numpy.cumsum(error)))
        else:
            self.error = error

    cdef int set_options(self, Form other) except -1:
        """Everything but alpha, which shapes A, and what was learned."""
        cdef Confidit o = <Confidit?>other
        cdef np.ndarray logdets = self.logdets
        if o.width == SELF_NORMALIZED and self.width != SELF_NORMALIZED:
            logdets = <np.ndarray>self.ridges.np_information()
        self.ridges.set_options(o.ridges)
        self.most = o.most
        self.logdets = logdets
        self.eta, self.width, self.projection = o.eta, o.width, o.projection
        self.norm_bound, self.doubt, self.normalize = o.norm_bound, o.doubt, o.normalize
        self.error, self.errors, self.error_of = o.error, o.errors, o.error_of
        return 0

    cdef int widen(self, Py_ssize_t k) except -1:
        logdets = numpy.append(self.logdets, numpy.zeros(k - self.k))
        self.ridges.widen(k)
        self.k, self.logdets = k, <np.ndarray>logdets
        return 0

    cdef int know(self, Py_ssize_t n) except -1:
        self.ridges.most = self.most
        return self.ridges.know(n)

    cdef int reserve_update(self, Workspace ws) except -1:
        return self.ridges.reserve_update(ws)

    cdef bint has_room(self, Workspace ws) noexcept nogil:
        return self.ridges.has_room(ws)

    cdef void flush(self) noexcept nogil:
        self.ridges.flush()

    cdef int repair(self, Workspace ws) noexcept nogil:
        return self.ridges.repair(ws)

    cdef int raise_error(self, int status) except -1:
        error, self.raised = self.raised, None
        if error is not None:
            raise error
        return self.ridges.raise_error(status)

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        # a user's function may call anything: the object must be locked for it
        return self.ridges.cost(nnz) if self.error_of is None else 1e18

    cdef int reserve(self, Workspace ws) except -1:
        if self.normalize:
            ws.scaled.reserve(ws.row.nnz)
        return self.ridges.reserve(ws)

    cdef void prepare(self, Workspace ws) noexcept nogil:
        """The row in the form that is read, with length 1 where that is wanted."""
        if self.normalize and not ws.null:
            K.row_unit(ws.row.nnz, ws.row.value, ws.scaled.value)
            ws.row.value = ws.scaled.value
        self.ridges.prepare(ws)

    cdef double error_so_far(self) noexcept nogil:
        """The approximation errors of the rounds so far, summed."""
        if self.error_of is not None:
            return self.erred
        if self.errors is not None:
            return data_of(self.errors)[min(self.learned, np.PyArray_DIM(self.errors, 0) - 1)]
        return self.learned * self.error

    cdef double factor(self) noexcept nogil:
        """f of the width sqrt(f q): eta, or 2 eta_t in round t = learned + 1, with C = 4."""
        if self.width == CONSTANT:
            return self.eta
        return 2.0 * (self.ridges.ridge * self.norm_bound * self.norm_bound / 2.0
                      + 2.0 * self.explained
                      + 36.0 * (K.log_one(self.learned + 5.0) + self.doubt)
                      + 4.0 * self.error_so_far())

    cdef Py_ssize_t bold(self, Workspace ws) noexcept nogil:
        """The label of the best m + width, from m and q; self-normalised it has z to work in."""
        cdef double chance, reach
        cdef Py_ssize_t i
        if self.width != SELF_NORMALIZED:
            return K.bold_label(self.k, ws.score, ws.quad, self.factor())
        chance = 2.0 * (K.log_one(<double>self.k) + self.doubt)
        for i in range(self.k):
            reach = (sqrt(data_of(self.logdets)[i] + chance)
                     + (1.0 + self.alpha) * self.norm_bound)
            ws.temp[i] = ws.quad[i] * (reach * reach)
        return K.bold_label(self.k, ws.score, ws.temp, 1.0)

    cdef int decide(self, Workspace ws) noexcept nogil:
        """Steps 2 and 3, from m and q."""
        cdef int status = K.project_labels(self.k, ws.score, ws.quad, self.alpha, ws.coef, ws.temp)
        if status != CF_OK:
            return status
        return self.choose(ws)

    cdef int choose(self, Workspace ws) noexcept nogil:
        ws.greedy = K.best_label(self.k, ws.score)
        ws.label = self.bold(ws)
        return CF_OK if ws.greedy >= 0 and ws.label >= 0 else CF_ENONFINITE

    cdef int read(self, Workspace ws) noexcept nogil:
        cdef int status = CF_OK
        ws.greedy = ws.label = 0
        if ws.null:
            return CF_OK
        if self.projection:
            status = self.ridges.read(ws)
            if status == CF_OK and not ws.null:
                status = self.decide(ws)
        elif self.width == SELF_NORMALIZED:
            status = self.ridges.look(ws)
            if status == CF_OK and not ws.null:
                status = self.choose(ws)
        else:
            status = self.ridges.choose(ws, self.factor())
        if ws.null:
            ws.greedy = ws.label = 0
        return status

    cdef int look_at(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        if self.projection or ws.null:
            return self.read(ws)
        return self.ridges.look_at(ws, i)

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        return self.ridges.read_scores(ws)

    # --- learning -----------------------------------------------------------------------------

    cdef double sign(self, Workspace ws, bint correct) noexcept nogil:
        """beta: the coin is drawn for wrong answers only, and not where it is certain."""
        if correct:
            return 1.0
        if self.alpha == 1.0:
            return -1.0
        return -1.0 if ws.rng.next_double(ws.rng.state) < (1.0 + self.alpha) / 2.0 else 1.0

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef double q, error = 0.0
        cdef int status = CF_OK
        if self.error_of is not None:
            with gil:
                status = self.ask_error(&error)
        if status == CF_OK and not ws.null:
            status = self.ridges.check_update(ws, i, self.projection)
        if status != CF_OK:
            return status
        if not ws.null:
            q = ws.quad[i]
            if self.width == SELF_NORMALIZED:
                data_of(self.logdets)[i] += self.ridges.information_gain(ws, i)
            self.ridges.step(ws, i, self.sign(ws, y > 0.0), self.projection)
            self.explained += q / (1.0 + q)
        self.erred += error
        self.ridges.count(ws.row.n)
        self.count(ws.row.n)
        return CF_OK

    cdef int ask_error(self, double *error) noexcept:
        """The user's function for this round; what it raises is kept for `raise_error`."""
        try:
            error[0] = as_number(self.error_of(self.learned + 1), "approximation_error(t)")
            if error[0] < 0.0:
                raise ValueError(f"approximation_error(t) must be >= 0, got {error[0]}")
        except BaseException as raised:
            self.raised = raised
            return CF_EVALUE
        return CF_OK

    # --- states ---------------------------------------------------------------------------------

    cdef np_weights(self):
        return self.ridges.np_weights()

    cdef np_inverse(self, Py_ssize_t i):
        return self.ridges.np_inverse(i)

    cdef np_information(self):
        return self.ridges.np_information()

    cdef dict health(self):
        return self.ridges.health()

    cdef dict get_state(self):
        found = {**self.ridges.get_state(), "explained": self.explained}
        if self.erred != 0.0:  # which stays where another error replaces a function
            found["erred"] = self.erred
        if self.width == SELF_NORMALIZED:
            found["logdets"] = self.logdets.copy()
        return found

    cdef int set_state(self, State state) except -1:
        cdef double explained = state.number("explained", 0.0)
        self.erred = state.number("erred", 0.0) if state.has("erred") else 0.0
        self.ridges.set_state(state)
        self.k, self.d, self.learned = self.ridges.k, self.ridges.d, self.ridges.learned
        self.explained = explained
        if self.width == SELF_NORMALIZED:
            self.logdets = state.vector("logdets", self.k)
            if not (<object>self.logdets).min() >= 0.0:
                state.refuse("logdets", ">= 0")
        else:
            self.logdets = <np.ndarray>numpy.zeros(self.k)
        return 0


# --- Newtron (DEFINITIONS 3): Newton steps on the logistic loss, from right or wrong ----------

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

    cdef int set_options(self, Form other) except -1:
        """Everything but the bound, which shapes A."""
        cdef Newtron o = <Newtron?>other
        self.alpha, self.beta, self.gamma = o.alpha, o.beta, o.gamma
        return Lines.set_options(self, other)

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

    cdef int read(self, Workspace ws) noexcept nogil:
        """m, the best label, and p."""
        cdef double top, sum = 0.0
        cdef Py_ssize_t i
        K.lines_scores(&self.core, &ws.row, ws.next, ws.score)
        ws.greedy = ws.label = K.best_label(self.k, ws.score)
        if ws.greedy < 0:
            return CF_ENONFINITE
        top = ws.score[ws.greedy]
        for i in range(self.k):
            ws.quad[i] = self.alpha * (ws.score[i] - top)
        K.exp_many(self.k, ws.quad, ws.quad)
        for i in range(self.k):
            sum += ws.quad[i]
        for i in range(self.k):
            ws.quad[i] /= sum
        return CF_OK

    cdef double mixed(self, Workspace ws, Py_ssize_t label) noexcept nogil:
        """The chance with which a label is chosen."""
        return (1.0 - self.gamma) * ws.quad[label] + self.gamma / self.k

    cdef void draw(self, Workspace ws) noexcept nogil:
        """The first label at which the chances so far exceed one uniform draw."""
        cdef double u = ws.rng.next_double(ws.rng.state), reached = 0.0
        cdef Py_ssize_t i
        ws.label = self.k - 1
        for i in range(self.k):
            reached += self.mixed(ws, i)
            if reached > u:
                ws.label = i
                return

    # --- learning -----------------------------------------------------------------------------

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        """The gradient is estimated as c (x) x, ``c = step (e_i - 1/k)``."""
        cdef double p = self.mixed(ws, i), curve = self.beta, step = ws.quad[i] / p, size
        cdef Py_ssize_t j
        cdef int status = CF_OK
        if y > 0.0:
            step, curve = (ws.quad[i] - 1.0) / p, self.beta * p
        for j in range(self.k):
            ws.coef[j] = -step / self.k
        ws.coef[i] += step
        size = step * step * K.ridge_square(&ws.row)
        if not (size <= MOST and curve * size <= MOST and self.bound * size <= MOST):
            return CF_ENONFINITE
        if self.whole and curve * size * self.bound > CF_FULL_STEEP:
            return CF_EVALUE
        if size > 0.0:
            status = self.along_all(ws, curve) if self.whole else self.along_lines(ws, curve)
        if status == CF_OK:
            self.count(ws.row.n)
        return status

    cdef int along_lines(self, Workspace ws, double curve) noexcept nogil:
        """``a += curve g^2``, ``w -= g / a``, each weight by itself."""
        cdef double g, x
        cdef double *w
        cdef double *a
        cdef Py_ssize_t e, j
        for e in range(ws.row.nnz):
            w = self.core.data + place_of(&ws.row, e) * self.core.stride
            a, x = w + self.core.second, ws.row.value[e]
            for j in range(self.k):
                g = ws.coef[j] * x
                a[j] += curve * (g * g)
                w[j] -= g / a[j]
        return CF_OK

    cdef int along_all(self, Workspace ws, double curve) noexcept nogil:
        """The same with all of A, and W the projection of z."""
        cdef Py_ssize_t d = ws.row.n, e, f, j
        cdef int status
        for e in range(ws.row.nnz):
            f = place_of(&ws.row, e)
            for j in range(self.k):
                self.g[j * d + f] = ws.coef[j] * ws.row.value[e]
        status = self.newton(curve)
        for e in range(ws.row.nnz):
            f = place_of(&ws.row, e)
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

    cdef dict get_state(self):
        cdef dict found = Lines.get_state(self)
        if self.metric is not None and self.d:
            found["metric"], found["lam"] = settled(self.metric), self.lam
            found["z"] = vector_of(self.z, self.metric.core.n)
        return found

    cdef int set_state(self, State state) except -1:
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
        Lines.set_state(self, state)
        if n == 0:
            return 0
        self.lam = state.number("lam", 0.0)
        if not numpy.linalg.norm(self.np_weights()) <= SAME * self.bound:
            state.refuse("weights", f"not longer than norm_bound = {self.bound:g}")
        return 0


# --- the engine -------------------------------------------------------------------------------


cdef class MulticlassEngine(RowEngine):
    """The engine of the multiclass learners, and their base class."""

    @property
    def _pruning(self):
        """Whether full matrices of classes that cannot win are left alone: the choices are the
        same either way."""
        return isinstance(self.form, Confidit) and (<Confidit>self.form).ridges.bounded

    @_pruning.setter
    def _pruning(self, bint value):
        (<Confidit?>self.form).ridges.bounded = value

    # --- one round ----------------------------------------------------------------------------

    def choose(self, x):
        """The label for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            Also a table of one row; float32 and any strides are read without a copy of more
            than the row.

        Returns
        -------
        int
            0 ... K-1, ties to the lower one.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Confidit(3).choose([1.0, 0.0])
        0
        """
        cdef Workspace ws = self.borrow()
        try:
            self.set_row(x, ws)
            self.read_now(ws)
            return ws.label
        finally:
            self.give_back(ws)

    cdef inline Py_ssize_t label_of(self, object label, str name) except -1:
        self.lock.check_open()
        return as_label(label, name, self.form.k == 2)

    # --- many rows ----------------------------------------------------------------------------

    def _scores(self, X):
        """The score of every class for every row."""
        return self.scores(rows_of(X, "X"))

    def _best(self, X):
        """The first of the best scores of each row."""
        cdef np.ndarray scores = self.scores(rows_of(X, "X")), out
        cdef Py_ssize_t n = np.PyArray_DIM(scores, 0), k = np.PyArray_DIM(scores, 1), t
        out = new_indices(n)
        for t in range(n):
            (<Py_ssize_t *>np.PyArray_DATA(out))[t] = first_best(k, data_of(scores) + t * k)
        return out


cdef Py_ssize_t first_best(Py_ssize_t k, const double *m) noexcept nogil:
    """Of k numbers without padding, which `best_label` would read."""
    cdef Py_ssize_t i, best = 0
    for i in range(1, k):
        if m[i] > m[best]:
            best = i
    return best


cdef class BanditFeedback(MulticlassEngine):
    def learn(self, x, label, correct):
        """One round: `label` was right or wrong for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        label : int
            It need not be that of `choose`.
        correct : bool
            Whether that label was right; 1 and 0 or 1 and -1 stand for it as well.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(3)
        >>> learner.learn([1.0, 0.0], 2, True)
        >>> learner.predict([[1.0, 0.0]])
        array([2])
        """
        cdef Py_ssize_t i = self.label_of(label, "label")
        self.learn_row(x, i, 1.0 if as_flag(correct, "correct") else -1.0, "label")


cdef class LabelFeedback(MulticlassEngine):
    def learn(self, x, y):
        """One round: y is the right label of x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : int
            From 0 to K - 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassAROW(3)
        >>> learner.learn([1.0, 0.0], 2)
        >>> learner.choose([1.0, 0.0])
        2
        """
        cdef Py_ssize_t i = self.label_of(y, "y")
        self.learn_row(x, i, 1.0, "y")


# --- whole streams ----------------------------------------------------------------------------


cdef np.ndarray chances_of(object chances, Py_ssize_t n, Py_ssize_t k):
    """The chances of k labels for each of n rows: a table of float64 of its own."""
    given = (<object>plain(chances, "chances")).astype(numpy.float64, order="C")
    if given.shape != (n, k):
        raise ValueError(f"chances must have shape {(n, k)}, a row for each of X and a column for "
                         f"each label, got {given.shape}")
    if not (numpy.isfinite(given) & (given >= 0.0)).all():
        raise ValueError("chances must be finite and >= 0")
    return <np.ndarray>given


@cython.final
cdef class MulticlassRun(RowRun):
    """Chooses and learns, row after row.

    Parameters
    ----------
    X, y
        The rows and their labels.
    k : int
        Labels there may be.
    epochs : callable(n) -> int
        How many times the n rows are gone through.
    noisy : callable(labels) -> labels
    chances : array_like of shape (n, k), optional
        Of each label for each row, where they are known.
    """

    cdef np.ndarray labels, choices, mistakes, explored
    cdef np.ndarray chances    # of each label for each row, or None: for the history alone
    cdef Py_ssize_t top        # the largest label, -1 where there is none
    cdef bint bandit, draws

    def __init__(self, X, y, Py_ssize_t k, epochs, noisy, chances):
        cdef Rows rows = rows_of(X, "X")
        self.labels = noisy(labels_of(y, "y", rows.n, k, k == 2))
        if chances is not None:
            self.chances = chances_of(chances, rows.n, k)
        self.top = self.labels.max() if rows.n else -1
        self.set_rows(rows, epochs(rows.n), True)
        self.choices = new_indices(self.total)
        self.mistakes = <np.ndarray>numpy.empty(self.total, dtype=bool)
        self.explored = <np.ndarray>numpy.empty(self.total, dtype=bool)

    def history(self):
        return MulticlassHistory(mistakes=self.mistakes[:self.done],
                                 explored=self.explored[:self.done],
                                 choices=self.choices[:self.done],
                                 regret=regret_of(self.choices[:self.done], self.chances))

    cdef int begin(self, Engine given) except -1:
        cdef MulticlassEngine engine = <MulticlassEngine>given
        if self.top >= engine.form.k:
            raise ValueError(f"y must hold labels in 0 ... {engine.form.k - 1}, got {self.top}: "
                             "the learner has lost classes during the run")
        self.bandit, self.draws = isinstance(engine, BanditFeedback), engine.draws
        return RowRun.begin(self, engine)

    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil:
        return self.play(self.form, self.scratch, until)

    cdef inline int play(self, Form form, Workspace ws, Py_ssize_t until) noexcept nogil:
        cdef int status = CF_OK
        while self.done < until and status == CF_OK:
            status = self.one(form, ws)
            self.done += status == CF_OK
        return status

    cdef inline int one(self, Form form, Workspace ws) noexcept nogil:
        cdef Py_ssize_t label
        cdef Py_ssize_t right = (<const Py_ssize_t *>np.PyArray_DATA(self.labels))[
            self.done % self.rows.n]
        cdef int status = self.read_row(form, ws)
        if status == CF_OK:
            status = look(form, ws)
        if status != CF_OK:
            return status
        if self.draws:
            form.draw(ws)
        label = ws.label
        status = form.take(ws, label if self.bandit else right, 1.0 if label == right else -1.0)
        if status == CF_OK:
            (<Py_ssize_t *>np.PyArray_DATA(self.choices))[self.done] = label
            (<char *>np.PyArray_DATA(self.mistakes))[self.done] = label != right
            (<char *>np.PyArray_DATA(self.explored))[self.done] = label != ws.greedy
        return status
