"""Ridge regressions in every form, behind one protocol: k answers over d features.

The k forms (`Ridges`) serve the classifiers, those of one answer (`Single`) filters and rewards;
`FullRidge` and `DiagonalRidge` read many candidate rows at once and say what a `Catalogue` bounds.
"""

import numpy

cimport cython
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport INFINITY, fabs, sqrt
from libc.stddef cimport ptrdiff_t, size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_doubles, refuse
from coactive_fast._table cimport (
    CF_ENOCONVERGE, CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_FULL_AUTO,
    CF_FULL_NOTHING, CF_FULL_ROBUST, CF_OK, CF_STEP_PRINTED, CF_STEP_RESIDUAL, CF_STEP_VARIANCE,
    cf_cholesky, cf_cholesky_at, cf_full, cf_full_factor, cf_get_library, cf_get_table, cf_library,
    cf_newton, cf_pad, cf_panels_size, cf_past, cf_table, cf_triangle, cf_triangle_row,
)
from coactive_fast.learner._state cimport table_from, vector_of
from coactive_fast.metric._metrics cimport MOST_OWN, Errors, Gram, Kept, Stored, code_of, refuse_own
from coactive_fast.rows._rows cimport DOUBLES, SPARSE, lay_row, place_of, write_out

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full, Moving

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
cdef double FAR = 1e150  # no single step moves a weight farther


# Whether a step with this m and q stays in range: |v_j| / (1 + q) <= 1 / (2 sqrt ridge).
cdef bint in_range(double m, double q, double ridge) noexcept nogil:
    """Written so that NaN fails."""
    return q >= 0.0 and q <= DBL_MAX and abs(m) + 1.0 <= FAR * sqrt(ridge)


# Whether both are finite.
cdef inline int check_finite(double m, double q) noexcept nogil:
    return CF_OK if m - m == 0.0 and q - q == 0.0 else CF_ENONFINITE


# Whether q = x^T A^-1 x can be gone on with, where A began as ridge I: > 0 and finite, or what else
# it means.
cdef inline int check_quad(Py_ssize_t n, const double *x, double ridge, double q) noexcept nogil:
    return CF_OK if 0.0 < q <= DBL_MAX else explain_quad(n, x, ridge, q)


cdef int explain_quad(Py_ssize_t n, const double *x, double ridge, double q) noexcept nogil:
    cdef double size = K.dot(n, x, x) / ridge
    if not (size <= DBL_MAX and q - q == 0.0):
        return CF_ENONFINITE
    return CF_ENOTPOSITIVE if size >= DBL_MIN or q < 0.0 else CF_OK


# Counts of a model as every state has them, and the way back: k, d and learned, checked.
cdef dict get_counts(Form form):
    return {"k": form.k, "d": form.d, "rounds": form.learned}


cdef int set_counts(Form form, State state) except -1:
    """The table of weights, where there is one, vouches for k and d before memory is taken."""
    cdef Py_ssize_t k = state.count("k", 1), d = state.count("d")
    cdef int64_t learned = state.count("rounds")
    if k < form.k:
        state.refuse("k", f">= {form.k}", k)
    if (d == 0) != (learned == 0):
        raise ValueError("d and rounds of the state do not go together")
    if state.has("classes") and not state.has("weights"):
        state.parts("classes", k)
    else:
        state.table("weights", k, d)
    form.resize(k, d)
    form.d, form.learned = d, learned
    return 0


cdef class Ridges(Form):
    cdef int read_ucb(self, Workspace ws, double factor) noexcept nogil:
        cdef int status = self.read(ws)
        if status != CF_OK:
            return status
        ws.greedy = K.best_label(self.k, ws.score)
        ws.label = K.bold_label(self.k, ws.score, ws.quad, factor)
        return CF_OK if ws.greedy >= 0 and ws.label >= 0 else CF_ENONFINITE

    cdef int check_update(self, Workspace ws, Py_ssize_t i, bint all_read) noexcept nogil:
        return CF_OK if in_range(ws.score[i], ws.quad[i], self.ridge) else CF_ENONFINITE

    cdef double information_gain(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        return K.log1p_one(ws.quad[i])

    cdef void step(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept nogil:
        pass


# --- one line a feature -----------------------------------------------------------------------


cdef class Lines(Ridges):
    """Lines of memory for k answers; see _forms.pxd.

    Parameters
    ----------
    k : int
    fresh : float
        The second value of what was never learned; 0: there are none.
    inverted : bool
        Whether second values are those of A, not of its inverse.
    """

    def __init__(self, Py_ssize_t k, double fresh=0.0, bint inverted=False):
        self.fresh, self.inverted = fresh, inverted
        self.entry_work = 4.0 if inverted else 1.0
        self.lay_out(0, k)

    def __dealloc__(self):
        L.free(self.core.data)

    cdef int lay_out(self, Py_ssize_t room, Py_ssize_t k) except -1:
        """New memory for so many features and answers with what is there already."""
        cdef Py_ssize_t values = 2 * k if self.fresh != 0.0 else k, f, i
        cdef cf_lines core
        core.k, core.stride = k, cf_pad(values)
        core.second = k if self.fresh != 0.0 else 0
        # a fresh line behind the last, and one that a whole vector may read
        core.data = new_doubles(room + 2, core.stride, f"{room} features of {k} classes")
        if core.second:
            for f in range(room + 1):
                for i in range(k):
                    core.data[f * core.stride + core.second + i] = self.fresh
        for f in range(min(self.d, room)):
            copy_line(&self.core, f, &core)
        L.free(self.core.data)
        self.core, self.room, self.k = core, room, k
        return 0

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        cdef Py_ssize_t room = self.room
        if d > room:
            room = max(d, min(self.most, room + room // 2))
        return 0 if k == self.k and room == self.room else self.lay_out(room, k)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.work + self.entry_work * nnz * self.k

    # --- reading ------------------------------------------------------------------------------

    cdef int reserve(self, Workspace ws) except -1:
        if ws.row.n > self.room:
            ws.view.reserve(ws.row.nnz)
        return ws.reserve(self.k, 0)

    cdef void prepare(self, Workspace ws) noexcept nogil:
        """Features without a line are read from the fresh one."""
        cdef Py_ssize_t e, nnz = ws.row.nnz
        if ws.row.n <= self.room or (nnz and place_of(&ws.row, nnz - 1) < self.room):
            return
        for e in range(nnz):
            ws.view.place[e] = min(place_of(&ws.row, e), self.room)
        ws.row.i32, ws.row.i64 = NULL, ws.view.place

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        if self.inverted:
            K.lines_counted(&self.core, &ws.row, ws.next, ws.score)
        else:
            K.lines_scores(&self.core, &ws.row, ws.next, ws.score)
        return CF_OK

    # --- arrays and states --------------------------------------------------------------------

    cdef np_values(self, bint second, Py_ssize_t i, Py_ssize_t count):
        """What answers i ... i + count - 1 have of each feature, shape (count, d)."""
        cdef const double *at = self.core.data + i + (self.core.second if second else 0)
        return numpy.ascontiguousarray(table_from(at, self.d, count, self.core.stride).T)

    cdef np_weights(self):
        return self.np_values(False, 0, self.k)

    cdef np_inverse(self, Py_ssize_t i):
        second = self.np_values(True, i, 1)[0]
        return 1.0 / second if self.inverted else second

    cdef np_information(self):
        """-sum log(inverse / its first value)."""
        cdef double first = 1.0 / self.fresh if self.inverted else self.fresh
        cdef np.ndarray out = <np.ndarray>numpy.zeros(self.k), one
        cdef Py_ssize_t i
        for i in range(self.k):
            one = <np.ndarray>(self.np_inverse(i) / first)
            K.log_many(self.d, data_of(one), data_of(one))
            data_of(out)[i] = 0.0 - float(one.sum())
        return out

    cdef dict get_state(self):
        cdef dict found = {**get_counts(self), "weights": self.np_weights()}
        if self.core.second:
            found["second"] = self.np_values(True, 0, self.k)
        return found

    cdef int set_state(self, State state) except -1:
        set_counts(self, state)
        self.load_table(state, "weights", False)
        if self.core.second:
            self.load_table(state, "second", True)
        return 0

    cdef int load_table(self, State state, str name, bint second) except -1:
        cdef np.ndarray table = state.table(name, self.k, self.d)
        cdef Py_ssize_t f, i
        cdef double *at = self.core.data + (self.core.second if second else 0)
        if second and self.d and not (<object>table).min() > 0.0:
            state.refuse(name, "> 0")
        for f in range(self.d):
            for i in range(self.k):
                at[f * self.core.stride + i] = data_of(table)[i * self.d + f]
        return 0


cdef void copy_line(const cf_lines *old, Py_ssize_t f, const cf_lines *new) noexcept nogil:
    cdef size_t size = <size_t>min(old.k, new.k) * sizeof(double)
    cdef const double *source = old.data + f * old.stride
    cdef double *target = new.data + f * new.stride
    memcpy(target, source, size)
    if new.second:
        memcpy(target + new.second, source + old.second, size)


cdef class DiagonalRidges(Lines):
    """k ridge regressions that keep the diagonals only.

    Parameters
    ----------
    k : int
    ridge : float
    printed : bool
        The step of the paper's print, each feature by itself; else that of the full matrix taken
        from its diagonal.
    """

    # Only the diagonals of the A_i; the second value is that of A_i^-1.
    cdef bint printed              # the step as the paper prints it

    def __init__(self, Py_ssize_t k, double ridge, bint printed=False):
        self.ridge, self.printed = ridge, printed
        Lines.__init__(self, k, 1.0 / ridge)

    cdef int set_options(self, Form other) except -1:
        self.printed = (<DiagonalRidges?>other).printed
        return Lines.set_options(self, other)

    cdef int read(self, Workspace ws) noexcept nogil:
        K.lines_read(&self.core, &ws.row, ws.next, ws.score, ws.quad)
        return CF_OK

    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        K.lines_read_one(&self.core, &ws.row, i, ws.score + i, ws.quad + i)
        return CF_OK

    cdef double information_gain(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        """sum log(1 + x_r^2 / a_r), products of whose terms spare logarithms."""
        cdef const double *inverse = self.core.data + self.core.second + i
        cdef double product = 1.0, sum = 0.0, x
        cdef Py_ssize_t e
        for e in range(ws.row.nnz):
            x = ws.row.value[e]
            product *= 1.0 + x * x * inverse[place_of(&ws.row, e) * self.core.stride]
            if product > 1e100:
                sum += K.log_one(product)
                product = 1.0
        return sum + K.log_one(product)

    cdef void step(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept nogil:
        cdef double gain = y if self.printed else (y - ws.score[i]) / (1.0 + ws.quad[i])
        cdef int mode = CF_STEP_PRINTED if self.printed else CF_STEP_RESIDUAL
        if not move:
            K.lines_step(&self.core, &ws.row, i, gain, mode)
            return
        if not self.printed:  # one pass for both moves
            ws.coef[i] += gain
            mode = CF_STEP_VARIANCE
        K.lines_move(&self.core, &ws.row, ws.coef, i, gain, mode)


# --- k whole matrices -------------------------------------------------------------------------

# Small matrices stand eight abreast: one pass computes the products of eight classes, and no sum
# runs across lanes. Larger ones are triangles of their own (cf_inverse.h): a class that cannot
# win is then not read, and in a run the update of one round goes in while the next one reads
# the triangle.
cdef enum:
    ABREAST = 32    # features up to which classes stand eight abreast: 33 KB a group, the L1

# A bound on a width must hold for what is computed, with its rounding and the drift that the
# watch lets pass between two probes (1e-4 was seen), not only for what it stands for.
cdef double SAFE = 1.0 + 1e-3  # a bound must hold for what is computed, with rounding and drift


# What is kept of one answer beside its inverse and its weights.
cdef struct Answer:
    cf_full *core
    bint waiting               # one by one: the core's pending term has not gone into its inverse
    double grown               # eight abreast: its log is not yet in the core's logdet


@cython.final
cdef class FullRidges(Ridges):
    """k ridge regressions with whole matrices.

    Parameters
    ----------
    k : int
    ridge : float
    precision : {"auto", "fast", "robust"}
        That of each matrix: each converts by itself.
    """

    # Invariants. `held` features have memory, in the layout that `held` chose; at[i].core is the
    # core of fulls[i], which keeps A_i, its counts and its logdet in both layouts. All is owned
    # here. One by one: the core has A_i^-1 too, its pending term is 0 but for that of a run's last
    # round (`waiting`); the weights of class i are the cf_pad(held) doubles at w + i * w_step.
    # Eight abreast (cf_octet.h): group g of eight classes has its inverses at b + g * b_step and
    # its weights at w + g * w_step; the core's own inverse is scratch of its watch.
    cdef Py_ssize_t held
    cdef bint abreast
    cdef int kind              # of the step that was allowed last (full_judge)
    cdef double size           # x.x of that step
    cdef str precision
    # Some core is robust: it then has its inverse itself, eight abreast too, and its lane is not
    # used.
    cdef bint converted
    cdef list fulls
    cdef Answer *at
    cdef double *w
    cdef double *b             # behind w
    cdef Py_ssize_t w_step, b_step
    cdef double *scratch       # of fulls[0]

    def __init__(self, Py_ssize_t k, double ridge, str precision):
        self.k, self.ridge, self.precision = k, ridge, precision
        self.bounded = True
        self.fulls = []

    def __dealloc__(self):
        L.free(self.at)
        L.free(self.w)

    cdef int allot(self, Py_ssize_t k, Py_ssize_t d, list fulls, np.ndarray weights,
                   np.ndarray grown) except -1:
        """Memory for k classes of d features. The cores are given, and as many as there are of the
        weights (a table) and of what has grown; others are 0 and 1."""
        cdef Py_ssize_t groups = cf_pad(k) // 8, i, f
        cdef bint abreast = d <= ABREAST
        cdef Py_ssize_t w_step = 8 * d if abreast else cf_pad(d)
        cdef Py_ssize_t b_step = 4 * d * (d + 1) if abreast else 0
        cdef Py_ssize_t w_size = (groups if abreast else k) * w_step
        cdef double *w = new_doubles(1, w_size + groups * b_step, f"{k} classes of {d} features")
        at = <Answer *>L.alloc_zero(<size_t>k, sizeof(Answer))
        if at == NULL:
            L.free(w)
            raise MemoryError(f"{k} classes of {d} features")
        L.free(self.at)
        L.free(self.w)
        self.at, self.w, self.b = at, w, w + w_size
        self.w_step, self.b_step, self.abreast = w_step, b_step, abreast
        self.fulls, self.k, self.held = fulls, k, d
        self.converted = False
        for i in range(k):
            at[i].core = &(<Stored>fulls[i]).core
            self.renewed(i)
        self.scratch = (<Stored>fulls[0]).scratch
        for i in range(np.PyArray_DIM(grown, 0)):
            at[i].grown = data_of(grown)[i]
            for f in range(np.PyArray_DIM(weights, 1)):
                self.weight_at(i, f)[0] = data_of(weights)[i * d + f]
        return 0

    cdef list fresh(self, Py_ssize_t k, Py_ssize_t n):
        """k metrics of order n that have learned nothing."""
        refuse_beyond_limit(14.0 * k * n * n, f"{k} full matrices of {n} features",
                            'covariance="diagonal" takes less')
        return [Full(n, ridge=self.ridge, precision=self.precision) for _ in range(k)]

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        cdef Py_ssize_t i, more = k - self.k
        if d and d != self.held:  # only before the first round
            return self.allot(k, d, self.fresh(k, d), numpy.zeros((0, d)), numpy.ones(0))
        if more == 0 or self.held == 0:
            self.k = k
            return 0
        weights, grown = self.np_weights(), self.np_grown()
        for i in range(self.k):
            self.copy_lane(i, True)
        return self.allot(k, self.held, [*self.fulls, *self.fresh(more, self.held)], weights, grown)

    cdef np_grown(self):
        cdef Py_ssize_t i
        return numpy.array([self.at[i].grown if self.held else 1.0 for i in range(self.k)])

    cdef double *weight_at(self, Py_ssize_t i, Py_ssize_t f) noexcept nogil:
        if self.abreast:
            return self.w + i // 8 * self.w_step + 8 * f + i % 8
        return self.w + i * self.w_step + f

    cdef void copy_lane(self, Py_ssize_t i, bint load) noexcept nogil:
        """A class's inverse into its core, or back."""
        cdef double *at
        cdef double *row
        cdef Py_ssize_t r, c
        if not self.abreast or self.at[i].core.robust:
            return
        at = self.b + i // 8 * self.b_step + i % 8
        for r in range(self.held):
            row = cf_triangle_row(&self.at[i].core.b, r)
            for c in range(r + 1):
                if load:
                    row[c] = at[0]
                else:
                    at[0] = row[c]
                at += 8

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 0.125 * self.k * self.held * self.held

    cdef int reserve(self, Workspace ws) except -1:
        cdef Py_ssize_t n = ws.row.n
        ws.view.reserve(n)
        if n <= ABREAST:
            return ws.reserve(self.k, (cf_pad(self.k) + 8) * n + 3 * cf_pad(n))
        return ws.reserve(self.k, (self.k + 2) * cf_pad(n))

    cdef void prepare(self, Workspace ws) noexcept nogil:
        write_out(&ws.row, ws.view)

    cdef double *row_of(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        """Where v_i stands; eight abreast: that of its group."""
        return ws.vectors + (i // 8 if self.abreast else i) * self.w_step

    cdef void read_group(self, Workspace ws, Py_ssize_t g) noexcept nogil:
        cdef Py_ssize_t i
        K.octet_read(self.held, self.b + g * self.b_step, self.w + g * self.w_step, ws.row.value,
                     ws.vectors + g * self.w_step, ws.score + 8 * g, ws.quad + 8 * g)
        if self.converted:
            for i in range(8 * g, min(8 * g + 8, self.k)):
                if self.at[i].core.robust:
                    self.read_robust(ws, i)

    cdef void read_robust(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        """v_i and q_i of a robust core."""
        cdef double *row = self.row_of(ws, i)
        cdef double *v = row
        cdef double *rest = ws.vectors + self.k * self.w_step
        cdef Py_ssize_t f
        if self.abreast:
            v = ws.vectors + cf_pad(self.k) * self.held
            rest = v + cf_pad(self.held)
        L.full_look(self.at[i].core, K, ws.row.value, rest, v, ws.quad + i)
        for f in range(self.held if self.abreast else 0):
            row[8 * f + i % 8] = v[f]

    cdef void product(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        """v_i and q_i, and c_i = 1 to say so; a term that waits goes in on the way."""
        cdef cf_full *core = self.at[i].core
        cdef double *v = self.row_of(ws, i)
        ws.coef[i] = 1.0
        if core.robust:
            self.read_robust(ws, i)
            return
        if self.at[i].waiting:
            K.rank_one_symv(&core.b, core.w, ws.row.value, v)
            memset(core.w, 0, <size_t>self.w_step * sizeof(double))
            self.at[i].waiting = False
        else:
            K.symv(&core.b, ws.row.value, v)
        ws.quad[i] = K.dot(self.held, ws.row.value, v)

    cdef int read_some(self, Workspace ws, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
        """v and q of answers first ... last - 1 (eight abreast: of their groups), checked, and
        repaired by who may."""
        cdef Py_ssize_t i, turn
        cdef int status = CF_OK
        for turn in range(2):
            if self.abreast:
                for i in range(first >> 3, (last + 7) >> 3):
                    self.read_group(ws, i)
            else:
                for i in range(first, last):
                    self.product(ws, i)
            for i in range(first, last):
                if not ws.quad[i] > 0.0:
                    status = explain_quad(self.held, ws.row.value, self.ridge, ws.quad[i])
                    if status != CF_OK:
                        break
            else:
                return CF_OK
            if status != CF_ENOTPOSITIVE or not (ws.writing and self.repair(ws)):
                return status
        return status

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        cdef cf_lines lines
        cdef Py_ssize_t i
        if self.held != ws.row.n:
            memset(ws.score, 0, <size_t>self.k * sizeof(double))
        elif self.abreast:
            lines.stride, lines.second, lines.k = 8, 0, 8
            for i in range(cf_pad(self.k) // 8):
                lines.data = self.w + i * self.w_step
                K.lines_scores(&lines, &ws.row, NULL, ws.score + 8 * i)
        else:
            for i in range(self.k):
                ws.score[i] = K.dot(self.held, ws.row.value, self.w + i * self.w_step)
        return CF_OK

    cdef int read(self, Workspace ws) noexcept nogil:
        if self.held != ws.row.n:  # nothing is known: every answer is as good
            ws.null = True
            return CF_OK
        if not self.abreast:
            self.read_scores(ws)
        return self.read_some(ws, 0, self.k)

    cdef int read_ucb(self, Workspace ws, double factor) noexcept nogil:
        """One by one, without all the products: q_i <= x.x / ridge bounds an answer's score, and
        only those that can still win are read, the best bound first. c says which."""
        cdef double score, best = -DBL_MAX, width
        cdef Py_ssize_t i, k = self.k
        cdef int status
        if self.abreast or not self.bounded or self.held != ws.row.n:
            return Ridges.read_ucb(self, ws, factor)
        self.read_scores(ws)
        ws.greedy = K.best_label(k, ws.score)
        width = K.dot(self.held, ws.row.value, ws.row.value) / self.ridge
        width = SAFE * sqrt(factor * width)
        if ws.greedy < 0 or not width <= DBL_MAX:
            return CF_ENONFINITE
        ws.label = 0
        for i in range(k):
            ws.temp[i] = ws.score[i] + width
            ws.coef[i] = 0.0
        while True:
            i = K.best_label(k, ws.temp)
            if ws.temp[i] < best or ws.temp[i] == -DBL_MAX:
                return CF_OK
            status = self.read_some(ws, i, i + 1)
            ws.temp[i] = -DBL_MAX
            if status != CF_OK:
                return status
            score = ws.score[i] + sqrt(factor * ws.quad[i])
            if not score <= DBL_MAX:
                return CF_ENONFINITE
            if score > best or (score == best and i < ws.label):
                best, ws.label = score, i

    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        if self.abreast:
            self.read_group(ws, i >> 3)
            return CF_OK if ws.quad[i] > 0.0 else self.read_some(ws, i, i + 1)
        ws.score[i] = K.dot(self.held, ws.row.value, self.w + i * self.w_step)
        ws.coef[i] = 0.0
        return CF_OK  # `check_update` makes the product

    cdef bint repair(self, Workspace ws) noexcept nogil:
        """Recomputes the inverses that gave a q <= 0 from their A; whether there was one."""
        cdef Py_ssize_t i
        cdef bint found = False
        for i in range(self.k):
            if not ws.quad[i] > 0.0 and (self.abreast or ws.coef[i] != 0.0):
                self.copy_lane(i, True)
                if L.full_repair(self.at[i].core, K, self.scratch):
                    self.renewed(i)
                    found = True
        return found

    cdef void renewed(self, Py_ssize_t i) noexcept nogil:
        """After a core has recomputed its inverse."""
        self.at[i].waiting, self.at[i].grown = False, 1.0
        self.converted |= self.at[i].core.robust != 0
        self.copy_lane(i, False)

    # --- changing -----------------------------------------------------------------------------

    cdef int check_update(self, Workspace ws, Py_ssize_t i, bint all_read) noexcept nogil:
        cdef int status
        if not (self.abreast or all_read or ws.coef[i] != 0.0):
            status = self.read_some(ws, i, i + 1)
            if status != CF_OK:
                return status
        self.size = K.dot(self.held, ws.row.value, ws.row.value)
        self.kind = L.full_judge(self.at[i].core, ws.row.value, 1.0, self.size)
        if self.kind >= 0 and in_range(ws.score[i], ws.quad[i], self.ridge):
            return CF_OK
        return CF_ENONFINITE

    cdef void step(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept nogil:
        cdef double q = ws.quad[i]
        self.move(ws, i, (y - ws.score[i]) / (1.0 + q), move)
        if self.kind != CF_FULL_NOTHING:
            self.update_matrix(ws, i, q)

    cdef void move(self, Workspace ws, Py_ssize_t label, double step, bint all) noexcept nogil:
        """w_i += c_i v_i for all, and w += step v for the label; or the latter alone."""
        cdef Py_ssize_t i, first = 0, last = self.k
        if all:
            ws.coef[label] += step
        else:
            first, last = label, label + 1
            memset(ws.coef + (label & ~<Py_ssize_t>7), 0, 8 * sizeof(double))
            ws.coef[label] = step
        if self.abreast:
            for i in range(first >> 3, (last + 7) >> 3):
                K.octet_move(self.held, ws.vectors + i * self.w_step, ws.coef + 8 * i,
                             self.w + i * self.w_step)
            return
        for i in range(first, last):
            K.axpy(self.held, ws.coef[i], self.row_of(ws, i), self.w + i * self.w_step)

    cdef void update_matrix(self, Workspace ws, Py_ssize_t i, double q) noexcept nogil:
        """A_i += x x^T."""
        cdef cf_full *core = self.at[i].core
        cdef Py_ssize_t g = i // 8
        cdef bint due
        cdef long long renewals
        if self.size > core.steepest and L.full_convert(core, K, self.scratch):
            self.renewed(i)
        if core.robust or not self.abreast:
            L.full_accept(core, K, ws.row.value, 1.0, self.row_of(ws, i), q, self.scratch)
            self.at[i].waiting = not core.robust
            self.converted |= core.robust != 0
            return
        K.octet_update(self.held, self.row_of(ws, i), <int>(i % 8), sqrt(1.0 / (1.0 + q)),
                       self.b + g * self.b_step, ws.vectors + cf_pad(self.k) * self.held)
        due = core.health.updates + 1 >= core.next_look
        renewals = core.health.renewals
        if q > 1e100 or self.at[i].grown > 1e100:  # else a product: a logarithm takes 13 ns
            core.logdet += K.log_one(self.at[i].grown) + K.log1p_one(q)
            self.at[i].grown = 1.0
        else:
            self.at[i].grown *= 1.0 + q
        if due:
            self.copy_lane(i, True)
        L.full_gather(core, K, ws.row.value, 1.0, self.scratch)
        if core.health.renewals != renewals:
            self.renewed(i)

    cdef void flush(self) noexcept nogil:
        cdef Py_ssize_t i
        if self.abreast:
            return
        for i in range(self.k if self.held else 0):
            if self.at[i].waiting and not self.at[i].core.robust:
                apply_pending(self.at[i].core)
                self.at[i].waiting = False

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        cdef np.ndarray out = <np.ndarray>numpy.empty((self.k, self.held))
        cdef Py_ssize_t i, f
        for i in range(self.k):
            for f in range(self.held):
                data_of(out)[i * self.held + f] = self.weight_at(i, f)[0]
        return out if self.d else numpy.empty((self.k, 0))

    cdef np_inverse(self, Py_ssize_t i):
        if self.d == 0:
            return numpy.empty((0, 0))
        self.copy_lane(i, True)
        return (<Stored>self.fulls[i]).inverse()

    cdef np_information(self):
        cdef Py_ssize_t i
        out = numpy.zeros(self.k)
        for i in range(self.k if self.d else 0):
            out[i] = self.at[i].core.logdet - self.held * K.log_one(self.ridge)
            out[i] += K.log_one(self.at[i].grown)
        return out

    cdef dict health(self):
        fulls = self.fulls if self.d else self.k * self.fresh(1, 1)
        rows = [(<Stored>full)._health() for full in fulls]
        return {name: numpy.array([row[name] for row in rows]) for name in rows[0]}

    cdef dict get_state(self):
        cdef Py_ssize_t i
        for i in range(self.k if self.d else 0):
            self.copy_lane(i, True)
        return {**get_counts(self), "weights": self.np_weights(), "grown": self.np_grown(),
                "classes": [one.state() for one in self.fulls] if self.d else []}

    cdef int set_state(self, State state) except -1:
        cdef np.ndarray weights, grown
        cdef State one
        set_counts(self, state)
        weights, grown = state.table("weights", self.k, self.d), state.vector("grown", self.k)
        if not (<object>grown).min() >= 1.0:
            state.refuse("grown", ">= 1")
        fulls = []
        for one in state.parts("classes", self.k if self.d else 0):
            full = Full.from_state(one.given)
            if (full.n, full.ridge) != (self.d, self.ridge):
                raise ValueError("a metric of the state does not fit its learner")
            (<Stored>full)._ask_for(code_of(self.precision))
            fulls.append(full)
        if self.d:
            self.allot(self.k, self.d, fulls, weights, grown)
        return 0


# --- k regressions in dual form ---------------------------------------------------------------

# A round asks every answer for ``u = L^-1 k``, one triangular solve: ``m = u.c`` and
# ``q = (k(x, x) - u.u) / ridge``. The row then joins the factor of its answer for nothing. What
# runs without the GIL are the solves of large factors; a user's kernel needs it anyway.
#
# Where a projection moves every w, ``w_i += c_i A_i^-1 phi(x)`` with ``A_i^-1 phi(x) = (phi(x) -
# sum_s a_s phi(x_s)) / ridge`` over the rows of answer i, ``a = L^-T u``: one more solve an answer.
cdef enum:
    LARGE_SOLVE = 128       # rows of an answer from which its solve lets the GIL go
    EMPTY = 2000     # bytes that an answer without rows takes, about


cdef class DualRidges(Ridges):
    """k ridge regressions in the space of a kernel.

    Parameters
    ----------
    k : int
    ridge : float
    kernel, kernel_params
        See `metric.Dual`.
    moving : bool
        Whether the w are moved by more than the rows they were taught.
    """

    # Invariants. grams[i] has the rows that answer i was taught, and the c = L^-1 y that goes with
    # its factor: w_i.x = u.c with u = L^-1 k.
    # Where the w are moved by more than their own rows (`moving`), they are kept otherwise: `all`
    # has the rows of all answers, so that their kernel values are computed once, row i of `spread`
    # w_i's coefficients over them, and owned[i] where those taught to answer i stand among them;
    # grams[i] has their factor but no rows, and its c is not used then.
    cdef object kernel, kernel_params
    cdef list grams
    cdef Errors errors         # of a user's kernel, and of memory
    cdef readonly bint moving
    cdef Kept all
    cdef np.ndarray spread     # (k, room), room at least that of `all`
    cdef list owned            # int64, with room for more

    def __init__(self, Py_ssize_t k, double ridge, kernel, kernel_params, bint moving=False):
        self.ridge, self.kernel, self.kernel_params = ridge, kernel, kernel_params
        self.moving = moving
        self.grams, self.owned = [], []
        self.errors = Errors()
        self.all = Kept(kernel, kernel_params)
        self.spread = <np.ndarray>numpy.zeros((0, 0))
        self.resize(k, 0)

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        cdef np.ndarray spread
        if k == self.k:
            return 0
        refuse_beyond_limit(<double>EMPTY * k, f"{k} classes of a kernel form", "fewer take less")
        spread = <np.ndarray>numpy.zeros((k, self.spread.shape[1]))
        spread[:self.k] = self.spread
        for _ in range(k - self.k):
            self.grams.append(Gram(self.kernel, self.kernel_params, self.ridge))
            self.owned.append(numpy.zeros(16, dtype=numpy.int64))
        self.spread, self.k = spread, k
        return 0

    cdef int set_options(self, Form other) except -1:
        if (<DualRidges?>other).moving != self.moving:
            raise ValueError('projection shapes what is kept with covariance="kernel": call '
                             "reset() before changing it")
        return Ridges.set_options(self, other)

    cdef int raise_error(self, int status) except -1:
        return self.errors.raise_own()

    # --- reading ------------------------------------------------------------------------------

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        """What lets the GIL go here is the solve itself: the object must be locked for it."""
        return 1e9

    cdef int reserve(self, Workspace ws) except -1:
        cdef Py_ssize_t i, most = 0
        ws.reserve(self.k, 0)
        for i in range(self.k):
            most = max(most, (<Gram>self.grams[i]).length())
        if (self.k + 1) * most > ws.vectors_room:  # a run needs more with every row
            ws.reserve(self.k, 2 * (self.k + 1) * most)
        return 0

    cdef void prepare(self, Workspace ws) noexcept nogil:
        ws.null = False  # a row of zeros may not be null in the space of the kernel

    cdef int64_t *places_of(self, Py_ssize_t i) noexcept:
        """Where the rows of answer i stand among all."""
        return <int64_t *>np.PyArray_DATA(<np.ndarray>self.owned[i])

    cdef double *spread_of(self, Py_ssize_t i) noexcept:
        return data_of(self.spread) + i * np.PyArray_DIM(self.spread, 1)

    cdef double *solved(self, Workspace ws, Py_ssize_t i) noexcept:
        """Where u of answer i stands."""
        return ws.vectors + i * (ws.vectors_room // (self.k + 1))

    cdef int solve(self, Workspace ws, Py_ssize_t i) except -1:
        """m and q of answer i, u in its place of v."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n
        cdef double *u = self.solved(ws, i)
        cdef const int64_t *places = self.places_of(i) if self.moving else NULL
        cdef int status
        if not self.moving:
            gram.kept.reserve(&ws.row, ws.forms)
        if n >= LARGE_SOLVE:
            with nogil:
                status = self.solve_now(ws, gram, places, u)
        else:
            status = self.solve_now(ws, gram, places, u)
        if status != CF_OK:
            self.refuse_kernel(gram.kept)
        if self.moving:
            ws.score[i] = K.dot(self.all.n, ws.view.value, self.spread_of(i))
        else:
            ws.score[i] = K.dot(n, u, gram.c)
        ws.quad[i] = gram.rest(u, ws.own) / self.ridge
        return 0

    cdef int solve_now(self, Workspace ws, Gram gram, const int64_t *places,
                       double *u) noexcept nogil:
        """u, from the kernel values of `all_values` where there are places."""
        cdef Py_ssize_t e
        if places == NULL:
            return gram.solve(&ws.row, ws.forms, u, &ws.own)
        for e in range(gram.factor.n):
            u[e] = ws.view.value[places[e]]
        gram.solve_values(u)
        return CF_OK

    cdef int all_values(self, Workspace ws) except -1:
        """k(x, x), and k(x, .) of all rows, once for all answers, in the view."""
        cdef int status
        ws.view.reserve(self.all.n)
        self.all.reserve(&ws.row, ws.forms)
        status = self.all.own(&ws.row, &ws.own)
        if status == CF_OK:
            status = self.all.values(&ws.row, ws.forms, 0, ws.view.value)
        return CF_OK if status == CF_OK else self.refuse_kernel(self.all)

    cdef int refuse_kernel(self, Kept kept) except -1:
        kept.errors.raise_own()
        raise ValueError("x is too large: its kernel with itself or a stored row is not finite")

    cdef int read_with_gil(self, Workspace ws, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Answers first ... last - 1."""
        cdef Py_ssize_t i
        try:
            self.reserve(ws)
            if self.moving:
                self.all_values(ws)
            for i in range(first, last):
                self.solve(ws, i)
        except BaseException as error:
            self.errors.keep(error)
            return CF_EVALUE
        ws.null = ws.own == 0.0
        return CF_OK

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        """Where the w are moved no system is solved."""
        cdef Py_ssize_t i
        cdef int status
        if not self.moving:
            return self.read(ws)
        with gil:
            status = self.read_with_gil(ws, 0, 0)
            for i in range(self.k if status == CF_OK else 0):
                ws.score[i] = K.dot(self.all.n, ws.view.value, self.spread_of(i))
        return status

    cdef int read(self, Workspace ws) noexcept nogil:
        with gil:
            return self.read_with_gil(ws, 0, self.k)

    cdef int read_one(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        with gil:
            return self.read_with_gil(ws, i, i + 1)

    # --- changing -----------------------------------------------------------------------------

    cdef int check_update(self, Workspace ws, Py_ssize_t i, bint all_read) noexcept nogil:
        if not (in_range(ws.score[i], ws.quad[i], self.ridge) and ws.own / self.ridge <= 1e300):
            return CF_ENONFINITE
        with gil:
            try:
                refuse_own(ws.own, self.ridge)
                self.reserve_update(ws, i)
            except BaseException as error:
                self.errors.keep(error)
                return CF_EVALUE
        return CF_OK

    cdef int reserve_update(self, Workspace ws, Py_ssize_t i) except -1:
        """Memory for one row more of answer i."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n, total = self.all.n
        if not self.moving:
            gram.kept.reserve(&ws.row, ws.forms)
            return gram.reserve_update(&ws.row, ws.forms)
        if n >= len(self.owned[i]):
            self.owned[i] = numpy.concatenate((self.owned[i], numpy.zeros(n, dtype=numpy.int64)))
        if total >= np.PyArray_DIM(self.spread, 1):
            self.spread = <np.ndarray>numpy.hstack(
                (self.spread, numpy.zeros((self.k, total // 2 + 64))))
        gram.grow()
        self.all.reserve(&ws.row, ws.forms)
        return self.all.reserve_update(&ws.row, ws.forms)

    cdef void step(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept nogil:
        with gil:
            self.append(ws, i, y, move)

    cdef void append(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept:
        """The row joins the rows of answer i; with `move` all w go by c first."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef Py_ssize_t n = gram.factor.n, j
        cdef double q = ws.quad[i], pivot = sqrt(self.ridge * (1.0 + q)), miss = y - ws.score[i]
        cdef double *u = self.solved(ws, i)
        if self.moving:
            if not move:
                for j in range(self.k):
                    ws.coef[j] = 0.0
            ws.coef[i] += miss / (1.0 + q)
            for j in range(self.k):
                if ws.coef[j] != 0.0:
                    self.spread_out(ws, j, ws.coef[j])
            self.places_of(i)[n] = self.all.n
            self.all.append(&ws.row, ws.forms)
            gram.append(NULL, ws.forms, u, pivot, 0.0, K.log1p_one(q))
        else:
            gram.append(&ws.row, ws.forms, u, pivot, miss / pivot, K.log1p_one(q))

    cdef void spread_out(self, Workspace ws, Py_ssize_t i, double c) noexcept:
        """w_i += c A_i^-1 phi(x), the row standing behind all others."""
        cdef Gram gram = <Gram>self.grams[i]
        cdef const int64_t *places = self.places_of(i)
        cdef Py_ssize_t n = gram.factor.n, e
        cdef double *spread = self.spread_of(i)
        cdef double *a = ws.vectors + ws.vectors_room - gram.length()
        spread[self.all.n] += c / self.ridge
        if n == 0:
            return
        memcpy(a, self.solved(ws, i), <size_t>gram.length() * sizeof(double))
        K.cholesky_backward(&gram.factor, a, a)
        for e in range(n):
            spread[places[e]] -= c / self.ridge * a[e]

    # --- arrays and states --------------------------------------------------------------------

    cdef np_weights(self):
        raise AttributeError('there are no weights with covariance="kernel"')

    cdef np_inverse(self, Py_ssize_t i):
        raise ValueError('there is no inverse with covariance="kernel"')

    cdef np_information(self):
        return numpy.array([(<Gram>gram).info for gram in self.grams])

    cdef dict get_state(self):
        cdef Gram gram
        cdef dict found = {**get_counts(self),
                           "classes": [(<Gram>gram).get_state() for gram in self.grams]}
        if self.moving:
            for one, owned in zip(found["classes"], self.owned):
                one["owned"] = owned[:one["n"]].copy()
            found["all"] = self.all.get_state()
            found["spread"] = self.spread[:, :self.all.n].copy()
        return found

    cdef int set_state(self, State state) except -1:
        cdef State one
        cdef Gram gram
        cdef Py_ssize_t i
        set_counts(self, state)
        for i, one in enumerate(state.parts("classes", self.k)):
            gram = <Gram>self.grams[i]
            gram.set_state(one, self.moving)
            if self.moving:
                self.owned[i] = numpy.concatenate((one.counts("owned", gram.factor.n),
                                                   numpy.zeros(16, dtype=numpy.int64)))
            elif gram.factor.n and gram.kept.d != self.d:
                raise ValueError("the rows of the state do not fit its d")
        if self.moving:
            self.restore_spread(state)
        return 0

    cdef int restore_spread(self, State state) except -1:
        cdef Py_ssize_t i
        self.all.set_state(state.part("all"))
        places = numpy.sort(numpy.concatenate(
            [self.owned[i][:(<Gram>self.grams[i]).factor.n] for i in range(self.k)]))
        if not numpy.array_equal(places, numpy.arange(self.all.n)):
            raise ValueError("owned of the state must name every row once")
        if self.all.n and self.all.d != self.d:
            raise ValueError("the rows of the state do not fit its d")
        self.spread = state.table("spread", self.k, self.all.n)
        return 0

cdef Py_ssize_t PERIOD = 64    # losses between two rebuilds, at least
cdef double COSTLY = 1e-3      # a loss with 1 - q below this is made by a rebuild
cdef double LARGE = 1e150      # of x.x, where nothing may overflow half-way
cdef double AT_ONCE = 1 << 24  # elements touched, some 10 ms: a signal must not wait for long
cdef double RESCALED = 2.0 ** -15  # a scale that is still above this has not gone into the metric
cdef double LEAST = 2.0 ** -64  # a smaller scale goes into the diagonal
cdef double FLATTEST = 1e-6    # the least slope of sigma that a step goes by


cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil:
    cdef double square = K.ridge_square(x)
    m[0] = K.ridge_dot(x, w)
    return check_finite(m[0], square)


cdef double sigmoid(double m) noexcept nogil:
    cdef double e = K.exp_one(-fabs(m))
    return 1.0 / (1.0 + e) if m >= 0.0 else e / (1.0 + e)


cdef double half_tanh(double m) noexcept nogil:
    """tanh(m / 2) / (2 m), in (0, 1 / 4]."""
    cdef double e, s = m * m
    if s < 4e-4:  # 1 - e would lose digits
        return 0.25 - s * (1.0 / 48.0 - s * (1.0 / 480.0 - s * (17.0 / 80640.0)))
    e = K.exp_one(-fabs(m))
    return (1.0 - e) / ((1.0 + e) * 2.0 * fabs(m))


cdef class Single(Form):
    def __cinit__(self):
        self.k, self.forget, self.weight = 1, 1.0, 1.0

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        if self.d == 0 and d:
            self.start(d)
            self.d = d
        return 0

    cdef int start(self, Py_ssize_t n) except -1:
        return 0

    cdef int reserve_many(self, Workspace ws) except -1:
        return 0

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Workspace ws, double *out,
                              int *status) noexcept nogil:
        """One by one."""
        cdef double cost = self.cost(X.most) + X.most + 16
        cdef Py_ssize_t count = min(X.n - t, 1 + <Py_ssize_t>(AT_ONCE / cost)), i
        for i in range(count):
            status[0] = CF_OK if X.at(t + i, ws.buffer, &ws.row) else CF_ENOMEM
            if status[0] == CF_OK:
                self.prepare(ws)
                status[0] = self.read(ws)
            if status[0] != CF_OK:
                return i
            out[i] = ws.score[0] / (1.0 + ws.quad[0])
        return count

    cdef double aim(self, double m, double y, double *miss) noexcept nogil:
        cdef double sigma, s
        miss[0] = y - m
        if not self.logistic:
            return self.weight
        # a Newton step on the log loss; where sigma is far off by the curvature of the quadratic
        # that bounds it, tanh(m / 2) / (2 m), since the slope would carry too far
        sigma = sigmoid(m)
        s = half_tanh(m) if fabs(y - sigma) > 0.5 else max(sigma * sigmoid(-m), FLATTEST)
        miss[0] = (y - sigma) / s
        return self.weight * s

    cdef double information(self) noexcept nogil:
        return 0.0

    cdef np_weights(self):
        return vector_of(self.w, self.d)

    cdef dict get_extra(self):
        raise NotImplementedError

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        raise NotImplementedError

    cdef dict get_state(self):
        return {"d": self.d, "learned": self.learned, **(self.get_extra() if self.d else {})}

    cdef int set_state(self, State state) except -1:
        cdef Py_ssize_t d = state.count("d"), learned = state.count("learned")
        if d == 0 and learned:
            state.refuse("d", "> 0 where something was learned", d)
        self.learned = learned
        return self.set_extra(state, d) if d else 0


cdef class Regression(Single):
    cdef int read_pair(self, Workspace ws, double *m, double *q) noexcept nogil:
        return CF_EVALUE

    cdef int repair(self) noexcept nogil:
        return CF_ENOTPOSITIVE

    cdef double widest(self, double square) noexcept nogil:
        return INFINITY

    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1:
        raise NotImplementedError

    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil:
        return CF_EVALUE

    cdef int read_upper(self, Rows X, Crossed by, Workspace ws, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil:
        """With all q: where they cost no more than m."""
        cdef int status = self.read_rows(X, by, ws, m, q)
        cdef Py_ssize_t t
        for t in range(X.n):
            z[t] = m[t] + width * sqrt(q[t])
        return status

    cdef double reach(self) noexcept nogil:
        cdef double most = 0.0
        cdef Py_ssize_t i
        for i in range(self.d if self.w != NULL else 0):
            most = max(most, fabs(self.w[i]))
        return most

    cdef int reserve_drawn(self, Workspace ws) except -1:
        return 0

    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil:
        return CF_EVALUE

    cdef void get_past(self, Past *out) noexcept nogil:
        out.updates, out.renewals, out.failures = self.learned, 0, 0
        out.term, out.scale = NULL, 1.0
        out.steady, out.norm = self.forget == 1.0, 1.0 / self.ridge

    cdef double drift(self, Workspace ws) noexcept nogil:
        return 0.0

    cdef Py_ssize_t reserve_matrix(self, Workspace ws) except -1:
        return self.d

    cdef void keep_matrix(self, double *to, Workspace ws) noexcept nogil:
        pass

    cdef double length(self, const double *matrix, const double *u, Workspace ws) noexcept nogil:
        return 0.0

    cdef int decay(self, double f) except -1:
        raise NotImplementedError

    cdef int merge(self, Regression other) except -1:
        raise NotImplementedError


cdef enum:
    BLOCK = 8        # rows that share one reading of the matrix
    FEW = 16         # actions up to which all widths are worked out

cdef double MOST = 1e290   # of |m|, where nothing else shows that a row is beyond the range
cdef double UNIT = 2.0 ** -53
cdef double TINY = 1e-300      # so much of x.x may be lost to underflow


cdef Py_ssize_t contraction(Crossed by, Py_ssize_t n) noexcept nogil:
    """Doubles that `contract` takes."""
    if by.p == 0:
        return 0
    return cf_panels_size(n) + (n + 2) * cf_pad(n) + cf_pad((by.p + 1) * n)


cdef int read_means(Rows X, const double *w, Workspace ws, double *m) noexcept nogil:
    cdef bint whole = X.kind == DOUBLES and X.row_step % 8 == 0
    cdef Py_ssize_t t
    if whole:
        K.scores(X.n, X.d, <const double *>X.value, X.row_step // 8, w, m)
    for t in range(X.n):
        if not (whole or X.at(t, ws.buffer, &ws.row)):
            return CF_ENOMEM
        if not whole:
            m[t] = K.ridge_dot(&ws.row, w)
        if not fabs(m[t]) <= MOST:
            return CF_ENONFINITE
    return CF_OK


cdef int read_squares(Rows X, Workspace ws, double *square) noexcept nogil:
    cdef Py_ssize_t t
    for t in range(X.n):
        if not X.at(t, ws.buffer, &ws.row):
            return CF_ENOMEM
        square[t] = K.ridge_square(&ws.row)
    return CF_OK


cdef void lay_out(Rows X, Py_ssize_t t, Workspace ws, double *to) noexcept nogil:
    """Row t, written out; it was read before."""
    X.at(t, ws.buffer, &ws.row)
    lay_row(&ws.row, to)


cdef double frobenius(const cf_triangle *b) noexcept nogil:
    """A bound on the largest eigenvalue of B, and of B - u u^T."""
    cdef double sum = 0.0
    cdef const double *row
    cdef Py_ssize_t i
    for i in range(b.n):
        row = cf_triangle_row(b, i)
        sum += 2.0 * K.dot(i, row, row) + row[i] * row[i]
    return sqrt(sum)


cdef void add_to(Py_ssize_t n, double width, const double *w, Py_ssize_t known,
                 double *z) noexcept nogil:
    """z <- w + width z, w = 0 beyond what is known."""
    cdef Py_ssize_t i
    for i in range(n):
        z[i] = (w[i] if i < known else 0.0) + width * z[i]


# --- all of A ---------------------------------------------------------------------------------


cdef void apply_pending(cf_full *core) noexcept nogil:
    """The pending term of the fast form into its inverse."""
    K.rank_one(&core.b, core.w, core.w)
    memset(core.w, 0, <size_t>cf_pad(core.n) * sizeof(double))


cdef dict settled(Stored metric):
    cdef Stored other
    cdef int turn
    if metric.core.robust:  # it has no pending term
        return metric.state()
    other = <Stored>Moving.from_state(metric.state())
    for turn in range(2):  # the second one leaves zeros where a triangle may hold anything
        apply_pending(&other.core)
    return other.state()


cdef class FullRidge(Regression):
    """Ridge regression by the inverse of A, which begins as ridge I.

    Many candidate rows cost n d^2 / 2, one reading of the triangle for eight of them; a context is
    contracted out of A^-1 first, (p + 1)^2 d^2 / 2, and each row costs its own square.

    Parameters
    ----------
    ridge : float
    forget : float
        f of the block form (cf_past.h): at each example ``M <- f M`` and ``b <- f b``.
    logistic : bool
        The link.
    precision : {"auto", "fast", "robust"}
        That of the metric.
    """

    # A = past.scale times what `metric` holds, w = A^-1 b. Forgetting multiplies A as a whole but
    # for the examples at which the regulariser is filled up (cf_past.h).
    # Reading and learning one x share one fused pass of the triangle: `read` leaves v = A^-1 x (of
    # the metric) and `quad` for `update`.
    # A refused row must leave the past as it was. Forgetting is undone by `past` and the metric's
    # ridge alone, unless the metric itself changes: it is then copied to `saved` first, w behind it
    # (NULL until an example is to be forgotten: nobody else needs that memory). `period`: of the
    # renewals under the present f; 0: not known.
    # `kept`: the factor that draws go by, a cache outside the state in memory of its own. Without
    # forgetting it is kept up with what is learned; what else changes A drops it.
    cdef cf_past past
    cdef str precision
    cdef Stored metric
    cdef double *memory        # owned; those that follow point into it
    cdef double *w_next        # w, of cf_pad(d) doubles, and w_next change places
    cdef double *v
    cdef double *unit          # zeros but for a moment
    cdef double *work          # scratch of the metric
    cdef double quad           # x^T (A / scale)^-1 x of the last reading
    cdef double *saved
    cdef int64_t period
    cdef cf_full_factor kept
    cdef double *factor

    def __init__(self, double ridge, double forget, bint logistic, str precision):
        self.ridge, self.forget, self.precision = ridge, forget, precision
        self.logistic = logistic
        self.kept.updates = -1
        L.past_init(&self.past, ridge)

    def __dealloc__(self):
        L.free(self.memory)
        L.free(self.saved)
        L.free(self.factor)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t padded
        refuse_beyond_limit(14.0 * n * n, f"a full matrix of {n} features",
                            'covariance="diagonal" or "kernel" takes less')
        # refuses an n of which a square overflows
        metric = Moving(n, ridge=self.ridge, precision=self.precision)
        padded = cf_pad(n)
        block = new_doubles(1, 4 * padded + max(L.full_scratch(n), L.newton_scratch(n)),
                            f"a ridge regression of {n} features")
        L.free(self.memory)
        self.memory = block
        self.w, self.w_next, self.v = block, block + padded, block + 2 * padded
        self.unit, self.work = block + 3 * padded, block + 4 * padded
        self.metric = metric
        return 0

    cdef int reserve(self, Workspace ws) except -1:
        if ws.lanes == 0 or ws.vectors_room < 3 * cf_pad(self.d):
            ws.reserve(1, 3 * cf_pad(self.d))
        if ws.row.i32 != NULL or ws.row.i64 != NULL:
            ws.view.reserve(ws.row.n)
        return 0

    cdef void prepare(self, Workspace ws) noexcept nogil:
        if ws.row.i32 != NULL or ws.row.i64 != NULL:
            write_out(&ws.row, ws.view)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>self.d * self.d

    # --- reading ------------------------------------------------------------------------------

    cdef int read(self, Workspace ws) noexcept nogil:
        cdef const double *x = ws.row.value
        cdef int status = CF_OK
        ws.score[0] = ws.quad[0] = 0.0
        if self.d == 0:
            return CF_OK
        if ws.writing:
            status = self.propose(x)
            if status == CF_ENOTPOSITIVE and self.repair() == CF_OK:
                status = self.propose(x)
            ws.quad[0] = self.quad
        else:
            L.full_look(&self.metric.core, K, x, ws.vectors + cf_pad(self.d), ws.vectors, ws.quad)
        ws.score[0] = K.dot(self.d, self.w, x)
        ws.quad[0] /= self.past.scale
        if status == CF_OK and not (fabs(ws.score[0]) <= DBL_MAX and ws.quad[0] <= DBL_MAX):
            status = CF_ENONFINITE
        return status

    cdef int propose(self, const double *x) noexcept nogil:
        """v and quad of x; the metric's pending term goes into its inverse on the way."""
        return L.full_propose(&self.metric.core, K, x, self.weight / self.past.scale, self.work,
                              self.v, &self.quad)

    # --- learning -----------------------------------------------------------------------------

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef const double *x = ws.row.value
        cdef cf_past before
        cdef cf_full core
        cdef size_t size = 0
        cdef double m = ws.score[0]
        cdef int status = CF_OK
        cdef bint fades = self.forget < 1.0 and self.learned, saves = False
        if fades and self.period == 0 and not self.reserve_past():
            return CF_ENOMEM
        if fades:
            before, core = self.past, self.metric.core
            size = <size_t>L.full_size(self.d) * sizeof(double)
            self.past.count = self.learned
            # whether to forget now changes the metric, not its scale alone
            saves = (self.learned % self.period == 0
                     or self.forget * self.past.scale <= RESCALED)
            if saves:
                memcpy(self.saved, self.metric.memory, size)
                memcpy(self.saved + L.full_size(self.d), self.w,
                       <size_t>self.d * sizeof(double))
            status = self.fade(x, &m)
        if status == CF_OK:
            status = self.learn(x, y, m)
        if status == CF_OK:
            self.w, self.w_next = self.w_next, self.w
            self.learned += 1
        elif fades:
            self.past, self.metric.core.ridge = before, core.ridge
            if saves:
                self.metric.core = core
                memcpy(self.metric.memory, self.saved, size)
                memcpy(self.w, self.saved + L.full_size(self.d), <size_t>self.d * sizeof(double))
        return status

    cdef bint reserve_past(self) noexcept nogil:
        """What forgetting needs besides; whether there was memory."""
        cdef Py_ssize_t size = L.full_size(self.d) + cf_pad(self.d)
        if self.saved == NULL:
            self.saved = <double *>L.alloc(<size_t>size, sizeof(double))
        if self.saved != NULL:
            self.period = L.past_period(K, self.d, self.forget)
        return self.saved != NULL

    cdef int raise_error(self, int status) except -1:
        if status == CF_ENOMEM and self.forget < 1.0 and self.saved == NULL:
            raise MemoryError(f"what {self.d} features forget")
        return 0

    cdef int fade(self, const double *x, double *m) noexcept nogil:
        """M <- f M, b <- f b and the regulariser, before the example x, which was read. Its
        A^-1 x, of the metric, and w stay as they are unless the metric itself changes."""
        cdef double added, scale = self.forget * self.past.scale
        cdef int status
        if not (K.dot(self.d, x, x) < LARGE and fabs(m[0]) < LARGE):
            return CF_ENONFINITE  # nothing can fail half-way
        status = L.past_forget(&self.past, &self.metric.core, K, self.forget, self.work, &added)
        if status == CF_ENOTPOSITIVE:
            self.fill_up(&added)
        elif status != CF_OK:
            return status
        if added == 0.0 and self.past.scale == scale:
            return CF_OK
        L.past_weights(&self.past, &self.metric.core, K, added, self.w, self.work)
        status = self.propose(x)
        m[0] = K.dot(self.d, self.w, x)
        return status

    cdef void fill_up(self, double *added) noexcept nogil:
        """The same by n updates, where long rows have left an A that allows no factorisation in
        float64."""
        cdef double q
        cdef Py_ssize_t i
        self.past.scale *= self.forget
        while self.past.scale < LEAST:
            L.full_scale(&self.metric.core, K, -16)
            self.past.scale *= 2.0 ** 32
        added[0] = (1.0 - self.forget * self.past.share) * self.ridge
        self.metric.core.ridge = self.ridge / self.past.scale
        for i in range(self.d):
            self.unit[i] = 1.0
            L.full_update(&self.metric.core, K, self.unit, added[0] / self.past.scale, self.work,
                          &q)
            self.unit[i] = 0.0
        self.past.share = 1.0

    cdef int learn(self, const double *x, double y, double m) noexcept nogil:
        """w_next and A by the example x, y, after `propose` of x."""
        cdef double miss, weight = self.aim(m, y, &miss) / self.past.scale
        memcpy(self.w_next, self.w, <size_t>self.d * sizeof(double))
        K.axpy(self.d, weight * miss / (1.0 + weight * self.quad), self.v, self.w_next)
        if not K.all_finite(self.d, self.w_next):
            return CF_ENONFINITE
        L.full_accept(&self.metric.core, K, x, weight, self.v, self.quad, self.work)
        return CF_OK

    cdef int learn_next(self, const double *x, double y, double m) noexcept nogil:
        """An example that was not read before, and w.x = m; nothing is forgotten before it."""
        cdef int status = self.propose(x)
        if status == CF_OK:
            status = self.learn(x, y, m)
        if status == CF_OK:
            self.w, self.w_next = self.w_next, self.w
        return status

    cdef double information(self) noexcept nogil:
        if self.d == 0:
            return 0.0
        return (L.past_logdet(&self.past, &self.metric.core, K)
                - self.d * K.log_one(self.ridge))

    # --- candidate rows -------------------------------------------------------------------------

    cdef int read_pair(self, Workspace ws, double *m, double *q) noexcept nogil:
        """Half the work of `read`, which also leaves A^-1 x."""
        cdef const double *x = ws.row.value
        cdef int status
        m[0] = K.dot(self.d, self.w, x)
        if q == NULL:
            return CF_OK if fabs(m[0]) <= MOST else CF_ENONFINITE
        q[0] = L.full_quad(&self.metric.core, K, x, ws.vectors) / self.past.scale
        status = check_quad(self.d, x, self.ridge, q[0])
        return status if check_finite(m[0], 0.0) == CF_OK else CF_ENONFINITE

    cdef double widest(self, double square) noexcept nogil:
        return SAFE * sqrt((square + TINY) / self.metric.core.ridge / self.past.scale)

    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1:
        cdef Py_ssize_t n = X.d, padded = cf_pad(n)
        ws.buffer.reserve(X.most)
        return ws.reserve(1, contraction(by, n) + 3 * BLOCK * padded + 2 * cf_pad((by.p + 1) * n))

    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil:
        cdef cf_full core = self.metric.core
        cdef double *edges = ws.vectors + contraction(by, X.d)
        cdef ptrdiff_t some[BLOCK]
        cdef Py_ssize_t n = X.d, t = 0, count, l
        cdef int status
        if by.p and core.robust:
            return self.read_crossed(X, by, ws, m, q)
        status = read_means(X, self.contract(by, n, ws.vectors, &core), ws, m)
        if status != CF_OK or q == NULL:
            return status
        K.quad_edges(&core.b, edges)
        while t < X.n and status == CF_OK:
            count = min(<Py_ssize_t>BLOCK, X.n - t)
            if X.kind == DOUBLES and X.row_step % 8 == 0:
                status = self.read_block(&core, edges, <const double *>(X.value + t * X.row_step),
                                         X.row_step // 8, count, edges + BLOCK * cf_pad(n), q + t)
            else:
                for l in range(count):
                    some[l] = t + l
                status = self.read_some(&core, edges, X, some, count, ws, q + t)
            t += count
        return status

    cdef int read_crossed(self, Rows X, Crossed by, Workspace ws, double *m,
                          double *q) noexcept nogil:
        """The rows crossed with a context, one by one: the blocks of the robust form cannot be
        contracted without a loss of digits."""
        cdef double *x = ws.vectors
        cdef double *z = x + cf_pad(X.d)
        cdef double *rest = z + cf_pad((by.p + 1) * X.d)
        cdef Py_ssize_t t, i, j
        cdef int status
        for t in range(X.n):
            lay_out(X, t, ws, x)
            for j in range(by.p + 1):
                for i in range(X.d):
                    z[j * X.d + i] = x[i] if j == 0 else by.c[j - 1] * x[i]
            m[t] = K.dot(self.d, self.w, z)
            if not fabs(m[t]) <= MOST:
                return CF_ENONFINITE
            if q != NULL:
                q[t] = L.full_quad(&self.metric.core, K, z, rest) / self.past.scale
                status = check_quad(self.d, z, self.ridge, q[t])
                if status != CF_OK:
                    return status
        return CF_OK

    cdef int read_block(self, const cf_full *core, const double *edges, const double *x,
                        Py_ssize_t stride, Py_ssize_t count, double *rest,
                        double *q) noexcept nogil:
        """q of up to BLOCK rows, each with the bits that it gets alone."""
        cdef Py_ssize_t l
        cdef int status
        if core.robust:
            K.ud_quad_rows(&core.b, core.w, count, x, stride, rest, q)
        else:
            K.quad_rows(&core.b, edges, core.w, count, x, stride, q, rest)
        for l in range(count):
            q[l] /= self.past.scale
            status = check_quad(core.n, x + l * stride, self.ridge, q[l])
            if status != CF_OK:
                return status
        return CF_OK

    cdef int read_upper(self, Rows X, Crossed by, Workspace ws, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil:
        """The widths only of rows that can still win: q <= x.x ||A^-1|| bounds the score. Those of
        the eight highest bounds are read first, then, in order, all others whose bound
        reaches the best so far. q holds the bounds, and z is -inf where no width was needed."""
        cdef cf_full core = self.metric.core
        cdef double *edges = ws.vectors + contraction(by, X.d)
        cdef Py_ssize_t i = 0, t, count = BLOCK
        cdef ptrdiff_t some[BLOCK]
        cdef double norm, best = -INFINITY
        cdef double quads[BLOCK]
        cdef int status
        if X.n <= FEW or (by.p and core.robust):
            return Regression.read_upper(self, X, by, ws, width, left, m, q, z)
        norm = INFINITY if by.p else 1.0 / core.ridge
        status = read_means(X, self.contract(by, X.d, ws.vectors, &core), ws, m)
        if status == CF_OK:
            status = read_squares(X, ws, q)
        if status != CF_OK:
            return status
        if not core.robust:
            norm = min(norm, frobenius(&core.b))
        norm = SAFE * width * sqrt(norm / self.past.scale)
        for t in range(X.n):
            q[t] = m[t] + norm * sqrt(q[t] + TINY) if left[t] else -INFINITY
            z[t] = -INFINITY
            if not q[t] < INFINITY:
                return Regression.read_upper(self, X, by, ws, width, left, m, q, z)
        K.quad_edges(&core.b, edges)
        K.top_k(X.n, q, count, some, NULL)
        while count and status == CF_OK:
            status = self.read_some(&core, edges, X, some, count, ws, quads)
            for t in range(count):
                z[some[t]] = m[some[t]] + width * sqrt(quads[t])
                if left[some[t]]:
                    best = max(best, z[some[t]])
            count = 0
            while i < X.n and count < BLOCK:
                if q[i] >= best and z[i] == -INFINITY:
                    some[count] = i
                    count += 1
                i += 1
        return status

    cdef int read_some(self, const cf_full *core, const double *edges, Rows X,
                       const ptrdiff_t *some, Py_ssize_t count, Workspace ws,
                       double *q) noexcept nogil:
        """q of some rows, which are written out."""
        cdef double *block = ws.vectors + (edges - ws.vectors) + BLOCK * cf_pad(core.n)
        cdef Py_ssize_t l
        for l in range(count):
            lay_out(X, some[l], ws, block + l * cf_pad(core.n))
        return self.read_block(core, edges, block, cf_pad(core.n), count,
                               block + BLOCK * cf_pad(core.n), q)

    cdef const double *contract(self, Crossed by, Py_ssize_t n, double *room,
                                cf_full *out) noexcept nogil:
        """The metric of rows of n features under this context, in the room; the weights. Without a
        context they are those that there are.

        Of A^-1, with its pending term applied row by row, the blocks on the diagonal go into the
        triangle of `out`, the others, which are there once, into a square whose two halves are then
        added to it; w is contracted likewise, and `out` has no pending term.
        """
        cdef Py_ssize_t padded = cf_pad(n), i, j, row, at
        cdef double *u = room + cf_panels_size(n)
        cdef double *w = u + padded
        cdef double *square = w + padded
        cdef double *line = square + n * padded
        cdef const double *term = self.metric.core.w
        cdef double *to
        cdef double ci, cj
        if by.p == 0:
            return self.w
        out.n, out.b.n, out.b.ld, out.b.data, out.w, out.robust = n, n, 0, room, u, 0
        memset(room, 0, <size_t>contraction(by, n) * sizeof(double))
        for i in range(by.p + 1):
            ci = 1.0 if i == 0 else by.c[i - 1]
            K.axpy(n, ci, self.w + i * n, w)
            for row in range(n):
                at = i * n + row
                memcpy(line, cf_triangle_row(&self.metric.core.b, at),
                       <size_t>(at + 1) * sizeof(double))
                K.axpy(at + 1, -term[at], term, line)
                K.axpy(row + 1, ci * ci, line + i * n, cf_triangle_row(&out.b, row))
                for j in range(i):
                    cj = 1.0 if j == 0 else by.c[j - 1]
                    K.axpy(n, ci * cj, line + j * n, square + row * padded)
        for row in range(n):
            to = cf_triangle_row(&out.b, row)
            for j in range(row + 1):
                to[j] += square[row * padded + j] + square[j * padded + row]
        return w

    # --- bounds that outlive a round -----------------------------------------------------------

    cdef double drift(self, Workspace ws) noexcept nogil:
        """What comes is that of A^1/2 B A^1/2: B is rounded once, and the term w w^T comes from a
        product. Measured: ||A B - I||_F, no eigenvalue of A B - I is larger; and what its own sums
        may lose."""
        cdef double n = self.d, trace = 0.0, sum = 0.0, to_come
        cdef const double *x
        cdef double *v
        cdef double *square
        cdef Py_ssize_t i, p
        for i in range(self.d):
            trace += cf_triangle_row(&self.metric.core.a, i)[i]
        for p in range(self.metric.core.pending):
            x = self.metric.core.block + p * cf_pad(self.d)
            trace += self.metric.core.weight[p] * K.dot(self.d, x, x)
        to_come = 3.0 * (n + 16.0) * sqrt(n) * UNIT * trace / self.metric.core.ridge
        if ws is None:
            return to_come
        v, square = ws.vectors, ws.vectors + cf_pad(self.d)
        L.full_matrix(&self.metric.core, K, v, square)
        for i in range(self.d):
            K.symv_less(&self.metric.core.b, self.metric.core.w, square + i * self.d, v)
            v[i] -= 1.0
            sum += K.dot(self.d, v, v)
        return sqrt(sum) + to_come

    cdef void get_past(self, Past *out) noexcept nogil:
        cdef const cf_full *core = &self.metric.core
        out.updates, out.renewals = core.health.updates, core.health.renewals
        out.failures = core.health.repairs + core.health.failed
        out.term, out.scale = NULL if core.robust else core.w, self.past.scale
        out.steady = self.forget == 1.0 and not core.robust
        out.norm = 1.0 / (core.ridge * self.past.scale)

    cdef Py_ssize_t reserve_matrix(self, Workspace ws) except -1:
        ws.reserve(1, self.d * self.d + cf_panels_size(self.d) + 2 * cf_pad(self.d))
        return cf_panels_size(self.d) + 8

    cdef void keep_matrix(self, double *to, Workspace ws) noexcept nogil:
        """The triangle, with the examples that are not in it yet; behind it what its sums and
        products may have lost of u^T A u, for |u| = 1: a share of the trace."""
        cdef const cf_full *core = &self.metric.core
        cdef cf_triangle a = core.a
        cdef Py_ssize_t size = cf_panels_size(self.d), i
        cdef double trace = 0.0
        a.data = to
        memcpy(to, core.a.data, <size_t>size * sizeof(double))
        if core.pending:
            memset(ws.vectors, 0, <size_t>size * sizeof(float))
            K.rank_block(&a, <float *>ws.vectors, core.pending, core.block, cf_pad(self.d),
                         core.weight)
        for i in range(self.d):
            trace += cf_triangle_row(&a, i)[i]
        to[size] = 1e-14 * self.d * trace

    cdef double length(self, const double *matrix, const double *u, Workspace ws) noexcept nogil:
        cdef cf_triangle a = self.metric.core.a
        cdef double *nothing = ws.vectors
        cdef double out
        a.data = <double *>matrix
        memset(nothing, 0, <size_t>cf_pad(self.d) * sizeof(double))
        out = K.quad_row(&a, nothing, u, ws.vectors + cf_pad(self.d))
        out += matrix[cf_panels_size(self.d)] * K.dot(self.d, u, u)
        return (1.0 + 1e-9) * self.past.scale * out

    cdef int reserve_drawn(self, Workspace ws) except -1:
        cdef Py_ssize_t size = cf_panels_size(self.d)
        if self.forget < 1.0:
            return ws.reserve(1, L.full_sample_scratch(self.d))
        if self.factor == NULL:
            self.factor = new_doubles(1, size + cf_pad(self.d), f"a factor of {self.d} features")
            self.kept.l.data, self.kept.l.inv = self.factor, self.factor + size
        return ws.reserve(1, 3 * cf_pad(self.d))

    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef double scale = self.past.scale
        cdef int status
        if self.forget < 1.0 or self.metric.core.robust:
            status = L.full_sample(&self.metric.core, K, scale, 1, z, ws.vectors)
        else:
            status = L.full_draw(&self.metric.core, K, &self.kept, scale, z, ws.vectors)
        add_to(n, width, self.w, n, z)
        return status

    cdef int repair(self) noexcept nogil:
        if L.full_repair(&self.metric.core, K, self.work):
            return CF_OK
        return CF_ENOTPOSITIVE

    # --- the past -----------------------------------------------------------------------------

    cdef int decay(self, double f) except -1:
        cdef double added
        cdef int status
        self.kept.updates = -1
        status = L.past_decay(&self.past, &self.metric.core, K, f, self.work, &added)
        if status != CF_OK:
            refuse(status, "A after the decay")
        L.past_weights(&self.past, &self.metric.core, K, added, self.w, self.work)
        return 0

    cdef int merge(self, Regression other) except -1:
        """A_1 + A_2 - ridge I, and w from A_1 w_1 + A_2 w_2; O(d^3)."""
        cdef FullRidge o = <FullRidge?>other
        cdef cf_full *core = &self.metric.core
        cdef np.ndarray A, theirs
        cdef Py_ssize_t i
        cdef int status
        self.kept.updates = -1
        if core.robust or o.metric.core.robust:
            status = self.merge_rows(o)
        else:
            A, theirs = self.metric.matrix() * self.past.scale, o.metric.matrix() * o.past.scale
            for i in range(self.d):
                self.w_next[i] = (K.dot(self.d, data_of(A) + i * self.d, self.w)
                                  + K.dot(self.d, data_of(theirs) + i * self.d, o.w))
            A = A + theirs
            (<object>A)[numpy.diag_indices(self.d)] -= self.ridge
            L.full_init(core, self.d, self.ridge, core.precision, K, self.metric.memory)
            status = L.past_place(&self.past, core, K, data_of(A), self.d, self.ridge, self.work)
            core.ridge, self.past.lowered = self.ridge, 0
            if status == CF_OK:
                L.full_solve(core, K, self.w_next, self.work, self.w)
        if status != CF_OK:
            refuse(status, "the sum of both A")
        if not K.all_finite(self.d, self.w):
            raise ValueError("other is too far off: the weights of both together are not finite")
        self.learned += o.learned
        return 0

    cdef int merge_rows(self, FullRidge o) except? -1000:
        """The same where one is robust, and their sum would not hold the digits of A: the rows of a
        square root of A_2 are learned towards ``w_2.x``, and then one regulariser is unlearned,
        ``x = e_i`` towards 0 with the weight ``-ridge``. O(d^3)."""
        cdef np.ndarray rows = numpy.vstack((o.metric._rows() * sqrt(o.past.scale),
                                             numpy.eye(self.d)))
        cdef cf_full *core = &self.metric.core
        cdef double c, q, miss
        cdef const double *x
        cdef Py_ssize_t i
        cdef int status = CF_OK
        if not core.robust:
            L.full_convert(core, K, self.work)
        for i in range(2 * self.d):
            x = data_of(rows) + i * self.d
            c = (1.0 if i < self.d else -self.ridge) / self.past.scale
            miss = (K.dot(self.d, x, o.w) if i < self.d else 0.0) - K.dot(self.d, x, self.w)
            L.full_look(core, K, x, self.work, self.v, &q)
            K.axpy(self.d, c * miss / (1.0 + c * q), self.v, self.w)
            if status == CF_OK:
                status = L.full_update(core, K, x, c, self.work, &q)
        return status

    # --- settings and state ---------------------------------------------------------------------

    cdef int set_options(self, Form other) except -1:
        self.forget, self.period = (<FullRidge?>other).forget, 0
        self.kept.updates = -1  # what was forgotten is not in it
        return 0

    cdef np_inverse(self, Py_ssize_t i):
        return self.metric.inverse() / self.past.scale

    cdef dict health(self):
        metric = self.metric if self.d else Moving(1, ridge=self.ridge, precision=self.precision)
        return (<Stored>metric)._health()

    cdef dict get_extra(self):
        return {"w": vector_of(self.w, self.d), "scale": self.past.scale,
                "share": self.past.share, "metric": settled(self.metric)}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        cdef np.ndarray w = state.vector("w", d)  # vouches for d before memory is taken
        cdef double scale = state.number("scale", 0.0, 2.0)
        cdef double share = state.number("share", 0.0, 1.0)
        state.part("metric").count("n", d, d)
        cdef Stored metric = <Stored>Moving.from_state(state.get("metric"))
        if not (scale > 0.0 and share > 0.0):
            state.refuse("scale", "> 0, as share", scale)
        self.resize(1, d)
        state.load("w", d, self.w)
        metric._ask_for(self.metric.core.precision)
        self.metric, self.past.scale, self.past.share = metric, scale, share
        return 0


# --- a window over the examples, and a ball ---------------------------------------------------


cdef class WindowRidge(FullRidge):
    """Only the last `window` examples count. Memory: ``8 window d`` bytes more.

    The oldest leaves by a downdate; every so many losses, and where one would cost digits, A, b
    and w are recomputed from the rows in the window: O(window d^2), amortised O(d^2). In the
    robust form, from which nothing is taken away, that is at each example.

    Parameters
    ----------
    ridge, forget, precision
        As for `FullRidge`.
    window : int
        0, for a subclass: none. Else forget is 1.
    """

    # The last `window` examples stand in a ring; b = sum of y x over them. Every `period` losses,
    # and where a loss would cost digits, all is recomputed from the ring.
    cdef Py_ssize_t window
    cdef double *ring          # window rows of cf_pad(d), owned
    cdef double *label
    cdef Py_ssize_t oldest, held
    cdef Py_ssize_t losses     # since all was recomputed

    def __init__(self, double ridge, double forget, Py_ssize_t window, str precision):
        FullRidge.__init__(self, ridge, forget, False, precision)
        self.window = window

    def __dealloc__(self):
        L.free(self.ring)

    cdef int start(self, Py_ssize_t n) except -1:
        cdef double *ring
        if self.window:
            ring = new_doubles(self.window, (n | 7) + 2,
                               f"a window of {self.window} rows of {n} features")
            L.free(self.ring)
            self.ring, self.label = ring, ring + self.window * cf_pad(n)
        return FullRidge.start(self, n)

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef const double *x = ws.row.value
        cdef double size = K.dot(self.d, x, x)
        cdef int status
        if not size < LARGE:
            return CF_ENONFINITE
        status = FullRidge.update(self, ws, i, y)
        if status != CF_OK:
            return status
        if self.held == self.window:
            self.lose_oldest()
        self.keep(ws.row.value, y)
        if self.losses >= max(PERIOD, max(self.d, self.window)):
            self.rebuild()
        return CF_OK

    # --- the ring -----------------------------------------------------------------------------

    cdef const double *example(self, Py_ssize_t i, double *label) noexcept nogil:
        """Row i of the ring, the oldest being 0, and its label."""
        cdef Py_ssize_t at = (self.oldest + i) % self.window
        label[0] = self.label[at]
        return self.ring + at * cf_pad(self.d)

    cdef void keep(self, const double *x, double y) noexcept nogil:
        cdef Py_ssize_t at = (self.oldest + self.held) % self.window
        memcpy(self.ring + at * cf_pad(self.d), x, <size_t>self.d * sizeof(double))
        self.label[at] = y
        self.held += 1

    cdef void lose_oldest(self) noexcept nogil:
        """w and A without the oldest example; the robust form loses none by a downdate."""
        cdef double y
        cdef const double *x = self.example(0, &y)
        self.drop_oldest()
        if (self.metric.core.robust or self.propose(x) != CF_OK
                or not 1.0 - self.quad > COSTLY):
            self.losses = PERIOD + self.d + self.window  # recomputed when the new row is there
            return
        K.axpy(self.d, (K.dot(self.d, self.w, x) - y) / (1.0 - self.quad), self.v, self.w)
        L.full_drop(&self.metric.core, K, x, self.v, self.quad, self.work)

    cdef void drop_oldest(self) noexcept nogil:
        self.oldest = (self.oldest + 1) % self.window
        self.held -= 1
        self.losses += 1

    cdef void rebuild(self) noexcept nogil:
        """All from the rows in the ring, the oldest first."""
        cdef Py_ssize_t i
        cdef double one = 1.0, y
        cdef const double *x
        if self.metric.core.robust:
            self.learn_again()
            return
        self.restart()
        memset(self.w_next, 0, <size_t>self.d * sizeof(double))
        for i in range(self.held):
            x = self.example(i, &y)
            K.rank_block(&self.metric.core.a, self.metric.core.low, 1, x, cf_pad(self.d), &one)
            K.axpy(self.d, y, x, self.w_next)
        if L.full_renew(&self.metric.core, K, self.work):
            L.full_solve(&self.metric.core, K, self.w_next, self.work, self.w)
        else:
            self.learn_again()
        self.losses = 0

    cdef void restart(self) noexcept nogil:
        """The metric as it was made, but for its counts."""
        cdef cf_full before = self.metric.core
        L.full_init(&self.metric.core, self.d, self.ridge,
                    CF_FULL_ROBUST if before.robust else before.precision, K, self.metric.memory)
        core = &self.metric.core
        core.precision = before.precision
        core.health, core.next_look = before.health, before.next_look
        core.next_probe, core.next_renewal = before.next_probe, before.next_renewal

    cdef int learn_again(self) noexcept nogil:
        """The rows in the ring as if they came now, but for those that are refused; a status."""
        cdef double y
        cdef const double *x
        cdef Py_ssize_t i
        cdef int status = CF_OK
        self.restart()
        memset(self.w, 0, <size_t>self.d * sizeof(double))
        for i in range(self.held):
            x = self.example(i, &y)
            status = min(status, self.learn_next(x, y, K.dot(self.d, self.w, x)))
        self.losses = 0
        return status

    cdef dict get_extra(self):
        if not self.window:
            return FullRidge.get_extra(self)
        rows = <object>table_from(self.ring, self.held, self.d, cf_pad(self.d))
        labels = <object>vector_of(self.label, self.held)
        return {**FullRidge.get_extra(self), "rows": numpy.roll(rows, -self.oldest, axis=0),
                "labels": numpy.roll(labels, -self.oldest), "losses": self.losses}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        cdef Py_ssize_t n = min(self.learned, self.window), i, losses
        cdef np.ndarray rows, labels
        if not self.window:
            return FullRidge.set_extra(self, state, d)
        rows, labels = state.table("rows", n, d), state.vector("labels", n)
        losses = state.count("losses")
        state.number("scale", 1.0, 1.0)
        FullRidge.set_extra(self, state, d)
        self.oldest = self.held = 0
        for i in range(n):
            self.keep(data_of(rows) + i * d, data_of(labels)[i])
        self.losses = losses
        return 0


cdef class BallRidge(WindowRidge):
    """The ridge step, then P2 on the unit ball in the norm of A, all or nothing.

    With a window each example costs O(window d^2) once it is full: what a projection has taken
    away cannot be separated from what the oldest example brought, so the steps of those left are
    made again.

    Parameters
    ----------
    ridge, forget, precision
        As for `FullRidge`.
    window : int
        0: none.
    """

    # w is projected onto the unit ball in the norm of A after each step. With a window all is
    # recomputed from the ring once that is full, as if no other example had come. So a refusal is
    # undone by the same steps with the oldest row back in its place.
    cdef double lam            # the last multiplier: where the next search begins

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return FullRidge.cost(self, nnz) * (1.0 + <double>self.held)

    cdef int read(self, Workspace ws) noexcept nogil:
        ws.score[0] = ws.quad[0] = 0.0
        return linear(&ws.row, self.w, ws.score) if self.d else CF_OK

    cdef int propose(self, const double *x) noexcept nogil:
        """The step with its projection makes the product itself."""
        return CF_OK

    cdef int learn(self, const double *x, double y, double m) noexcept nogil:
        cdef cf_newton move
        cdef double lam = self.lam
        cdef int status
        move.c = 1.0 / self.past.scale
        move.gain = (y - m) / self.past.scale
        move.radius = move.limit = 1.0
        status = L.newton_ball(&self.metric.core, K, &move, x, self.w, self.w_next, &lam, self.work)
        self.lam = lam if status == CF_OK else self.lam
        return status

    cdef void restart(self) noexcept nogil:
        L.full_init(&self.metric.core, self.d, self.ridge, self.metric.core.precision, K,
                    self.metric.memory)
        self.lam = 0.0

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef int status
        if self.held < self.window or not self.window:
            status = FullRidge.update(self, ws, i, y)
        else:
            status = self.replace_oldest(ws.row.value, y)
        if status == CF_OK and self.window:
            self.keep(ws.row.value, y)
        return status

    cdef int replace_oldest(self, const double *x, double y) noexcept nogil:
        """The steps of all examples in the ring but the oldest, then that of x."""
        cdef int status
        self.drop_oldest()
        status = self.learn_again()
        if status == CF_OK:
            status = self.learn_next(x, y, K.dot(self.d, self.w, x))
        if status == CF_OK:
            self.learned += 1
            return status
        self.oldest = (self.oldest + self.window - 1) % self.window
        self.held += 1
        self.learn_again()
        return status

    cdef dict get_extra(self):
        return {**WindowRidge.get_extra(self), "lam": self.lam}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        self.lam = state.number("lam", 0.0)
        return WindowRidge.set_extra(self, state, d)


# --- one regression with the diagonal of A ----------------------------------------------------


@cython.final
cdef class DiagonalRidge(Regression):
    """Ridge regression on the diagonal of A: O(entries) a round, O(d) where it is projected; a
    candidate row costs O(entries), times p + 1 with a context. Rows may become wider.

    Parameters
    ----------
    ridge : float
    forget : float
        f: ``a <- f a + (1 - f) ridge`` in all coordinates at each example, w as it is.
    logistic : bool
        The link.
    projected : bool
        P2 on the unit ball after each step.
    """

    # Not lazy: a is the diagonal of A, sums = sum ln(a / ridge). Lazy, from the first time that it
    # forgets: A = ridge I + scale diag(a), so that an example changes `scale` for all features and
    # a for its own ones alone. The features d ... held are as all were at the start; there is
    # memory for them.
    cdef bint projected, lazy
    cdef double scale, sums
    cdef Py_ssize_t held
    cdef double *a             # `held`, owned; those that follow are in the same block
    cdef double *a_next
    cdef double *w_next
    cdef double *room

    def __init__(self, double ridge, double forget, bint logistic, bint projected=False):
        self.ridge, self.forget, self.logistic = ridge, forget, logistic
        self.projected, self.scale = projected, 1.0

    def __dealloc__(self):
        L.free(self.a)

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        if d <= self.d:
            return 0
        if self.d == 0:
            self.lazy = self.forget < 1.0
        if d > self.held:
            self.lay_out(max(d, min(self.most, self.held + self.held // 2)))
        self.d = d
        return 0

    cdef int lay_out(self, Py_ssize_t n) except -1:
        """New memory for n features with what is there already."""
        cdef double *a = new_doubles(5, n, f"a diagonal of {n} features")
        cdef Py_ssize_t i
        for i in range(self.d, n):
            a[i] = 0.0 if self.lazy else self.ridge
        if self.d:
            memcpy(a, self.a, <size_t>self.d * sizeof(double))
            memcpy(a + n, self.w, <size_t>self.d * sizeof(double))
        L.free(self.a)
        self.a, self.w, self.a_next, self.w_next = a, a + n, a + 2 * n, a + 3 * n
        self.room, self.held = a + 4 * n, n
        return 0

    cdef int reserve(self, Workspace ws) except -1:
        return ws.reserve(1, self.d if self.lazy else 0)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.d if self.projected else nnz

    cdef double entry(self, Py_ssize_t i) noexcept nogil:
        """a_i."""
        return self.ridge + self.scale * self.a[i] if self.lazy else self.a[i]

    cdef const double *now(self, const cf_row *x, double scale, double *room) noexcept nogil:
        """The diagonal at the features of x, where it stands or in a room of d doubles."""
        cdef Py_ssize_t e, i
        if not self.lazy:
            return self.a
        for e in range(x.nnz):
            i = place_of(x, e)
            room[i] = self.ridge + scale * self.a[i]
        return room

    cdef int read(self, Workspace ws) noexcept nogil:
        ws.score[0] = ws.quad[0] = 0.0
        if self.d == 0:
            return CF_OK
        if self.projected:
            return linear(&ws.row, self.w, ws.score)
        return self.read_row(&ws.row, ws.vectors, ws.score, ws.quad)

    cdef int read_row(self, const cf_row *x, double *room, double *m, double *q) noexcept nogil:
        if x.n > self.d:
            return self.read_wide(x, room, m, q)
        m[0] = K.ridge_dot(x, self.w)
        if q == NULL:
            return CF_OK if fabs(m[0]) <= MOST else CF_ENONFINITE
        q[0] = K.ridge_quad(x, self.now(x, self.scale, room))
        return check_finite(m[0], q[0])

    cdef int read_wide(self, const cf_row *x, double *room, double *m, double *q) noexcept nogil:
        """Features beyond those known are as all were at the start: weight 0, a = ridge."""
        cdef cf_row known = x[0]
        cdef Py_ssize_t e
        cdef double beyond = 0.0
        cdef int status
        while known.nnz and place_of(x, known.nnz - 1) >= self.d:
            known.nnz -= 1
        known.n = self.d
        status = self.read_row(&known, room, m, q)
        if q == NULL:
            return status
        for e in range(known.nnz, x.nnz):
            beyond += x.value[e] * x.value[e] / self.ridge
        q[0] += beyond
        return status if check_finite(0.0, q[0]) == CF_OK else CF_ENONFINITE

    # --- learning -----------------------------------------------------------------------------

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        """w += (x / a) c (y - m) / (1 + c q), a += c x^2, by the a that has forgotten; then the
        projection."""
        cdef const cf_row *x = &ws.row
        cdef double scale = self.scale * self.forget, q = ws.quad[0], grown = 0.0, miss
        cdef double c = self.aim(ws.score[0], y, &miss)
        cdef const double *a = self.now(x, scale, self.room)
        cdef int status = CF_OK
        if self.lazy or self.projected:
            q = K.ridge_quad(x, a)
        if not K.ridge_step(x, c * miss / (1.0 + c * q), c, a, self.w, self.a_next, self.w_next):
            return CF_ENONFINITE
        for i in range(self.d if self.projected else 0):  # all of the new diagonal
            self.room[i] = self.ridge + scale * self.a[i] if self.lazy else self.a[i]
        if self.projected:
            K.ridge_place(x, self.a_next, self.room)
        if not self.lazy:
            grown = self.growth(x)
        elif not self.to_excess(x, scale, c):
            return CF_ENONFINITE
        if self.projected:
            status = self.project(x)
        else:
            K.ridge_place(x, self.w_next, self.w)
        if status == CF_OK:
            self.fade(scale)
            K.ridge_place(x, self.a_next, self.a)
            self.sums += grown
            self.learned += 1
        return status

    cdef bint to_excess(self, const cf_row *x, double scale, double c) noexcept nogil:
        """What is kept of the new diagonal at the features of x; whether that is finite."""
        cdef double old = scale if scale < LEAST else 1.0, unit = 1.0 if scale < LEAST else scale
        cdef Py_ssize_t e
        for e in range(x.nnz):
            self.a_next[e] = old * self.a[place_of(x, e)] + c * x.value[e] * x.value[e] / unit
        return K.all_finite(x.nnz, self.a_next)

    cdef void fade(self, double scale) noexcept nogil:
        cdef Py_ssize_t i
        if scale < LEAST:
            for i in range(self.d):
                self.a[i] *= scale
            scale = 1.0
        self.scale = scale

    cdef int project(self, const cf_row *x) noexcept nogil:
        """w of the step onto the ball, in the norm of the diagonal in the room."""
        cdef Py_ssize_t e
        cdef int status
        for e in range(x.nnz):  # what is there and what comes change places
            self.w[place_of(x, e)], self.w_next[e] = self.w_next[e], self.w[place_of(x, e)]
        status = L.ridge_ball(K, self.d, self.room, self.w, 1.0, self.w)
        if status != CF_OK:
            K.ridge_place(x, self.w_next, self.w)
        return status

    cdef double growth(self, const cf_row *x) noexcept nogil:
        """sum ln(a_next / a): products of the ratios, so that a logarithm is seldom needed."""
        cdef double product = 1.0, sum = 0.0, old
        cdef Py_ssize_t e
        for e in range(x.nnz):
            old = self.a[place_of(x, e)]
            if self.a_next[e] > 1e100 * old:
                sum += K.log_one(self.a_next[e]) - K.log_one(old)
            else:
                product *= self.a_next[e] / old
            if product > 1e100:
                sum += K.log_one(product)
                product = 1.0
        return sum + K.log_one(product)

    cdef double information(self) noexcept nogil:
        """O(d) where it has ever forgotten."""
        cdef double product = 1.0, sum = 0.0, ratio
        cdef Py_ssize_t i
        if not self.lazy:
            return self.sums
        for i in range(self.d):
            ratio = 1.0 + self.scale * self.a[i] / self.ridge
            if 1e-100 < product * ratio < 1e100:
                product *= ratio
            else:
                sum += K.log_one(product) + K.log_one(ratio)
                product = 1.0
        return sum + K.log_one(product)

    cdef int decay(self, double f) except -1:
        cdef Py_ssize_t i
        if self.lazy:
            self.fade(f * self.scale)
            return 0
        for i in range(self.d):
            self.a[i] = f * self.a[i] + (1.0 - f) * self.ridge
        return 0

    # --- candidate rows -------------------------------------------------------------------------

    cdef int read_pair(self, Workspace ws, double *m, double *q) noexcept nogil:
        return self.read_row(&ws.row, ws.vectors, m, q)

    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1:
        cdef Py_ssize_t size = cf_pad(self.d) if self.lazy else 0
        ws.buffer.reserve(X.most)
        return ws.reserve(1, size + (2 * cf_pad(X.d) if by.p and X.kind != SPARSE else 0))

    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil:
        cdef double *a = ws.vectors + (cf_pad(self.d) if self.lazy else 0)
        cdef double *w = a + cf_pad(X.d)
        cdef bint dense = X.kind != SPARSE
        cdef Py_ssize_t t
        cdef int status = CF_OK
        if by.p and dense:
            self.contract(by, X.d, a, w)
        for t in range(X.n):
            if not X.at(t, ws.buffer, &ws.row):
                return CF_ENOMEM
            if by.p == 0:
                status = self.read_row(&ws.row, ws.vectors, m + t, NULL if q == NULL else q + t)
            elif dense:
                m[t] = K.ridge_dot(&ws.row, w)
                if q != NULL:
                    q[t] = K.ridge_quad(&ws.row, a)
            else:
                self.read_crossed(&ws.row, by, m + t, NULL if q == NULL else q + t)
            if status != CF_OK or check_finite(m[t], 0.0 if q == NULL else q[t]) != CF_OK:
                return CF_ENONFINITE
        return CF_OK

    cdef void contract(self, Crossed by, Py_ssize_t n, double *a, double *w) noexcept nogil:
        """The diagonal and the weights of rows of n features under this context."""
        cdef Py_ssize_t i, j
        cdef double sum, c
        memset(w, 0, <size_t>n * sizeof(double))
        for i in range(by.p + 1):
            K.axpy(n, 1.0 if i == 0 else by.c[i - 1], self.w + i * n, w)
        for j in range(n):
            sum = 1.0 / self.entry(j)
            for i in range(by.p):
                c = by.c[i]
                sum += c * c / self.entry((i + 1) * n + j)
            a[j] = 1.0 / sum

    cdef void read_crossed(self, const cf_row *x, Crossed by, double *m,
                           double *q) noexcept nogil:
        cdef Py_ssize_t e, i, place
        cdef double v, mean = 0.0, square = 0.0
        for i in range(by.p + 1):
            for e in range(x.nnz):
                place = i * x.n + place_of(x, e)
                v = x.value[e] if i == 0 else x.value[e] * by.c[i - 1]
                mean += v * self.w[place]
                square += v * v / self.entry(place)
        m[0] = mean
        if q != NULL:
            q[0] = square

    cdef void keep_matrix(self, double *to, Workspace ws) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.d):
            to[i] = self.entry(i)

    cdef double length(self, const double *matrix, const double *u, Workspace ws) noexcept nogil:
        cdef double out = 0.0
        cdef Py_ssize_t i
        for i in range(self.d):
            out += matrix[i] * u[i] * u[i]
        return (1.0 + 1e-9) * out

    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(n):
            z[i] /= sqrt(self.entry(i) if i < self.d else self.ridge)
        add_to(n, width, self.w, self.d, z)
        return CF_OK

    # --- settings and state ---------------------------------------------------------------------

    cdef int set_options(self, Form other) except -1:
        cdef Py_ssize_t i
        self.forget = (<DiagonalRidge?>other).forget
        if self.forget < 1.0 and not self.lazy and self.d:
            for i in range(self.held):
                self.a[i] -= self.ridge
            self.lazy = True
        return 0

    cdef np_inverse(self, Py_ssize_t i):
        cdef np.ndarray out = vector_of(self.a, self.d)
        cdef Py_ssize_t f
        for f in range(self.d):
            data_of(out)[f] = 1.0 / self.entry(f)
        return out

    cdef dict get_extra(self):
        return {"excess" if self.lazy else "a": vector_of(self.a, self.d),
                "w": vector_of(self.w, self.d), "scale": self.scale, "sums": self.sums}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        cdef double scale = state.number("scale", 0.0, 1.0), sums = state.number("sums")
        cdef bint lazy = state.has("excess")
        cdef np.ndarray a = state.vector("excess" if lazy else "a", d)
        state.vector("w", d)
        if not lazy and (self.forget < 1.0 or scale != 1.0):
            lazy, a, scale = True, <np.ndarray>(scale * a - self.ridge), 1.0
        if not (scale > 0.0 and ((self.ridge + scale * a if lazy else a) > 0.0).all()):
            state.refuse("a", "that of a diagonal > 0")
        self.resize(1, d)
        memcpy(self.a, np.PyArray_DATA(a), <size_t>d * sizeof(double))
        state.load("w", d, self.w)
        self.lazy, self.scale, self.sums = lazy, scale, 0.0 if lazy else sums
        return 0


# --- one regression in dual form --------------------------------------------------------------

cdef enum:
    AHEAD = 96       # examples kept from which rows are read in blocks
    MANY = 96        # rows that are read at once
    SIDES = 6        # rows of a block: a multiple of what the kernels take at once
    WORK = 2000000000  # flops of a block, some 30 ms: a signal must not wait for long


cdef class DualRidge(Single):
    """All examples learned are kept, or the last `window` ones.

    Parameters
    ----------
    kernel, kernel_params
        See `metric.Dual`.
    ridge : float
    window : int
        0: all.
    """

    # With M = ridge I + G = L L^T over the examples kept: u = L^-1 k, w.x = u.c with c = L^-1 y,
    # q = (k(x,x) - u.u) / ridge; (u, sqrt(ridge (1 + q))) is the next row of L, so that learning
    # after a reading is free. `gram` has c; y and born have room for `room` examples.
    cdef Py_ssize_t window     # 0: none
    cdef Gram gram
    cdef double *y
    cdef int64_t *born         # the number of each example kept, among all learned
    cdef Py_ssize_t room
    cdef double *u             # of the last reading; in `own_u` or in the block read ahead
    cdef double *own_u
    cdef double *drop          # scratch of drop_first
    cdef double own            # k(x, x) of the last reading
    # A block of rows read ahead, each in `stride` doubles: u for the first `block_n`
    # examples; what the solve began with in the last, unfinished panel stands in `tails`.
    cdef double *block
    cdef double *tails
    cdef double *owns
    cdef Py_ssize_t block_room, stride, block_count, block_n

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t window):
        self.ridge, self.window = ridge, window
        self.gram = Gram(kernel, kernel_params, ridge)

    def __dealloc__(self):
        L.free(self.y)
        L.free(self.block)

    cdef int start(self, Py_ssize_t n) except -1:
        return self.make_place(16)

    cdef int make_place(self, Py_ssize_t room) except -1:
        """Memory for so many examples, beside the factor's own: one block, of which y is the
        beginning."""
        cdef Py_ssize_t each = room + 16, before = self.room + 16, i
        cdef size_t kept = <size_t>min(each, before) * sizeof(double)
        cdef double *y = new_doubles(6, each, f"coefficients of {room} learned examples")
        for i in range(2 if self.y != NULL else 0):  # y and born
            memcpy(y + i * each, self.y + i * before, kept)
        if self.u != NULL:
            memcpy(y + 2 * each, self.u, min(kept, <size_t>self.gram.length() * sizeof(double)))
        L.free(self.y)
        self.y, self.born = y, <int64_t *>(y + each)
        self.u = self.own_u = y + 2 * each
        self.drop, self.room = y + 3 * each, room
        return 0

    cdef int reserve(self, Workspace ws) except -1:
        if self.gram.length() > ws.vectors_room:
            ws.reserve(1, 2 * self.gram.length())
        return self.gram.kept.reserve(&ws.row, ws.forms)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        """A kernel that is Python may call anything: the object must be locked for it."""
        if self.gram.kept.callable:
            return 1e18
        return <double>self.gram.factor.n * self.gram.factor.n + nnz

    # --- reading ------------------------------------------------------------------------------

    cdef int answer(self, Workspace ws, const double *u, double own) noexcept nogil:
        ws.score[0] = K.dot(self.gram.factor.n, u, self.gram.c)
        ws.quad[0] = self.gram.rest(u, own) / self.ridge
        return check_finite(ws.score[0], ws.quad[0])

    cdef int read(self, Workspace ws) noexcept nogil:
        cdef double own
        if ws.writing:
            self.u = self.own_u
            return self.solve(ws, self.u, &self.own)
        ws.score[0] = ws.quad[0] = 0.0
        return self.solve(ws, ws.vectors, &own) if self.d else CF_OK

    @cython.final
    cdef int solve(self, Workspace ws, double *u, double *own) noexcept nogil:
        cdef int status = self.gram.solve(&ws.row, ws.forms, u, own)
        return self.answer(ws, u, own[0]) if status == CF_OK else status

    # --- many rows ----------------------------------------------------------------------------

    cdef int reserve_many(self, Workspace ws) except -1:
        if self.d:
            ws.reserve(1, MANY * (cf_pad(self.gram.factor.n) + 16))
        return 0

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Workspace ws, double *out,
                              int *status) noexcept nogil:
        """The factor is read once for all of them; every row gets the bits that it gets alone."""
        cdef Py_ssize_t n = self.gram.factor.n, stride = cf_pad(n) + 8, i, good
        cdef double *own = ws.vectors + MANY * stride
        if n < AHEAD or self.gram.kept.callable:
            return Single.read_many(self, X, t, ws, out, status)
        good = self.values_of(X, t, min(X.n - t, MANY), ws, ws.vectors, stride, own, status)
        K.cholesky_forward_many(&self.gram.factor, good, ws.vectors, stride)
        for i in range(good):
            if self.answer(ws, ws.vectors + i * stride, own[i]) != CF_OK:
                status[0] = CF_ENONFINITE
                return i
            out[i] = ws.score[0] / (1.0 + ws.quad[0])
        return good

    cdef Py_ssize_t values_of(self, Rows X, Py_ssize_t t, Py_ssize_t count, Workspace ws, double *u,
                              Py_ssize_t stride, double *own, int *status) noexcept nogil:
        """k(x, x), and with zeros behind them the kernel values, of rows t ... t + count - 1 or up
        to the first that is refused; how many."""
        cdef Py_ssize_t n = self.gram.factor.n, i
        cdef cf_row x
        for i in range(count):
            status[0] = CF_OK if X.at(t + i, ws.buffer, &x) else CF_ENOMEM
            if status[0] == CF_OK:
                status[0] = self.gram.kept.own(&x, own + i)
            if status[0] == CF_OK:
                status[0] = self.gram.kept.values(&x, ws.forms, 0, u + i * stride)
            if status[0] != CF_OK:
                return i
            memset(u + i * stride + n, 0, <size_t>(stride - n) * sizeof(double))
        return count

    # --- reading ahead ------------------------------------------------------------------------

    cdef Py_ssize_t read_ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count,
                               Workspace ws) noexcept nogil:
        """The solves of the next rows by the present factor, which is then read once for all."""
        cdef Py_ssize_t n = self.gram.factor.n, stride, i, at
        cdef double *block
        cdef int status
        self.block_count = 0
        if n < AHEAD or count < 2 or self.gram.kept.callable or self.window:
            return count
        count = min(count, SIDES * max(1, WORK // (SIDES * n * n)))
        stride = cf_pad(n + count) + 8
        if count * (stride + 16) > self.block_room:
            block = <double *>L.alloc(<size_t>(count * (stride + 16) * 5 // 4), sizeof(double))
            if block == NULL:
                return count  # row by row then
            L.free(self.block)
            self.block, self.block_room = block, count * (stride + 16) * 5 // 4
        self.stride = stride
        self.tails = self.block + count * stride
        self.owns = self.tails + 8 * count
        # a row that is refused here will be when it is read
        self.block_count = self.values_of(X, t, count, ws, self.block, stride, self.owns, &status)
        self.block_n, at = n, n & ~<Py_ssize_t>7
        for i in range(self.block_count):
            memcpy(self.tails + 8 * i, self.block + i * stride + at, 8 * sizeof(double))
        K.cholesky_forward_many(&self.gram.factor, self.block_count, self.block, stride)
        return count

    cdef int read_ahead_row(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        """The solve goes on through the examples that came after the block was prepared."""
        cdef Py_ssize_t at = self.block_n & ~<Py_ssize_t>7
        cdef int status = CF_OK
        if i >= self.block_count:
            return self.read(ws)
        self.u = self.block + i * self.stride
        self.own = self.owns[i]
        if self.gram.factor.n > self.block_n:
            status = self.gram.kept.values(&ws.row, ws.forms, self.block_n,
                                           self.u + self.block_n)
            if status == CF_OK:
                memcpy(self.u + at, self.tails + 8 * i,
                       <size_t>(self.block_n - at) * sizeof(double))
                K.cholesky_forward(&self.gram.factor, at, self.u, self.u)
        return self.answer(ws, self.u, self.own) if status == CF_OK else status

    # --- learning -----------------------------------------------------------------------------

    cdef bint has_room(self, Workspace ws) noexcept nogil:
        return self.gram.factor.n < self.room and self.gram.has_room(&ws.row, ws.forms)

    cdef int grow(self, Workspace ws) noexcept:
        """Memory for one example more."""
        try:
            self.gram.reserve_update(&ws.row, ws.forms)
            if self.gram.room > self.room:
                self.make_place(self.gram.room)
        except BaseException as error:
            self.gram.kept.errors.keep(error)
            return CF_EVALUE
        return CF_OK

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK
        if self.own != 0.0:
            if not self.own / self.ridge < MOST_OWN:
                return CF_EVALUE
            if not self.has_room(ws):
                with gil:
                    status = self.grow(ws)
            if status == CF_OK:
                status = self.store(ws, y)
        if status == CF_OK:
            self.learned += 1
            self.expire()
        return status

    cdef int store(self, Workspace ws, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double pivot = sqrt(self.ridge * (1.0 + ws.quad[0]))
        self.gram.append(&ws.row, ws.forms, self.u, pivot, (y - ws.score[0]) / pivot,
                         K.log1p_one(ws.quad[0]))
        self.y[n], self.born[n] = y, self.learned
        return CF_OK

    cdef void expire(self) noexcept nogil:
        """Examples that are older than the window leave."""
        cdef Py_ssize_t n, s, gone = 0
        cdef double *c
        while (self.window and self.gram.factor.n
               and self.born[gone] <= self.learned - self.window - 1):
            self.gram.drop_first(self.drop)
            gone += 1
        if gone == 0:
            return
        n, c = self.gram.factor.n, self.gram.c
        for s in range(n):
            self.y[s], self.born[s] = self.y[s + gone], self.born[s + gone]
        memcpy(c, self.y, <size_t>n * sizeof(double))
        memset(c + n, 0, <size_t>(self.gram.length() - n) * sizeof(double))
        K.cholesky_forward(&self.gram.factor, 0, c, c)

    cdef double information(self) noexcept nogil:
        return self.gram.info

    cdef int raise_error(self, int status) except -1:
        self.gram.kept.errors.raise_own()
        if status == CF_EVALUE:
            refuse_own(self.own, self.ridge)
        return 0

    # --- state --------------------------------------------------------------------------------

    cdef dict get_extra(self):
        cdef Py_ssize_t n = self.gram.factor.n
        cdef np.ndarray born = <np.ndarray>numpy.empty(n, dtype=numpy.int64)
        if n:
            memcpy(np.PyArray_DATA(born), self.born, <size_t>np.PyArray_NBYTES(born))
        return {"gram": self.gram.get_state(), "y": vector_of(self.y, n), "born": born}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        cdef Py_ssize_t n
        cdef np.ndarray born
        self.gram.set_state(state.part("gram"))
        n = self.gram.factor.n
        if n and self.gram.kept.d != d:
            state.refuse("d", f"that of the rows, {self.gram.kept.d}", d)
        if n > self.learned or (self.window and n > self.window):
            state.refuse("gram", "no more rows than were learned, and than the window holds", n)
        born = state.counts("born", n, 0, self.learned - 1)
        if n > 1 and not (numpy.diff(born) > 0).all():
            state.refuse("born", "ascending")
        self.make_place(max(n, 16))
        state.load("y", n, self.y)
        memcpy(self.born, np.PyArray_DATA(born), <size_t>np.PyArray_NBYTES(born))
        self.d = d
        return 0


cdef class BudgetRidge(DualRidge):
    """At most `budget` examples are kept (approximate linear dependence: Engel, Mannor and Meir,
    "The Kernel Recursive Least-Squares Algorithm", 2004).

    Parameters
    ----------
    kernel, kernel_params, ridge
        As above.
    budget : int
    tolerance : float
        An example is kept where its squared distance from the span of those kept exceeds
        ``tolerance * k(x, x)`` and there is room.
    """

    # At most `budget` examples are kept, as a dictionary; the others count through what the
    # dictionary can say of them. `gram` has ridge 0; `inner` is the regression in the coordinates
    # of the dictionary, in which unused ones are still at ridge and 0.
    cdef Py_ssize_t budget
    cdef double tolerance
    cdef FullRidge inner

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t budget, double tolerance):
        DualRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.gram = Gram(kernel, kernel_params, 0.0)
        self.budget, self.tolerance = budget, tolerance
        self.inner = FullRidge(ridge, 1.0, False, "auto")

    cdef int start(self, Py_ssize_t n) except -1:
        refuse_beyond_limit(18.0 * self.budget * self.budget, f"a budget of {self.budget} examples",
                            "a smaller one takes less")
        self.inner.resize(1, self.budget)  # refuses one of which a square overflows
        return DualRidge.start(self, n)

    cdef int reserve(self, Workspace ws) except -1:
        """As much as a full dictionary takes."""
        ws.reserve(1, 5 * cf_pad(self.budget) + 8 if self.d else 0)
        return self.gram.kept.reserve(&ws.row, ws.forms)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return DualRidge.cost(self, nnz) + <double>self.budget * self.budget

    cdef double *coordinates(self, Workspace ws, const double *u) noexcept nogil:
        """u, zero beyond: in the scratch, behind a u that stands there."""
        cdef double *z = ws.vectors + self.gram.length()
        memset(z, 0, <size_t>cf_pad(self.budget) * sizeof(double))
        memcpy(z, u, <size_t>self.gram.factor.n * sizeof(double))
        return z

    cdef int answer(self, Workspace ws, const double *u, double own) noexcept nogil:
        """By what is kept; then q inside the dictionary's span."""
        cdef Py_ssize_t n = self.gram.factor.n, padded = cf_pad(self.budget)
        cdef double *z = self.coordinates(ws, u)
        cdef double quad
        ws.score[0] = K.dot(n, u, self.inner.w)
        ws.quad[0] = self.gram.rest(u, own) / self.ridge
        if check_finite(ws.score[0], ws.quad[0]) != CF_OK:
            return CF_ENONFINITE
        L.full_look(&self.inner.metric.core, K, z, z + 2 * padded, z + padded, &quad)
        ws.quad[0] += quad
        return CF_OK

    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Workspace ws, double *out,
                              int *status) noexcept nogil:
        return Single.read_many(self, X, t, ws, out, status)

    cdef bint has_room(self, Workspace ws) noexcept nogil:
        return self.gram.factor.n >= self.budget or DualRidge.has_room(self, ws)

    cdef int store(self, Workspace ws, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double rest = self.gram.rest(self.u, self.own)
        cdef double *z = self.coordinates(ws, self.u)
        cdef bint joins = rest > self.tolerance * self.own and n < self.budget
        cdef int status
        if joins:  # one coordinate more: that of the new one
            z[n] = sqrt(rest)
        status = self.inner.learn_next(z, y, ws.score[0])
        if status != CF_OK:
            return status
        if joins:
            self.gram.append(&ws.row, ws.forms, self.u, z[n], 0.0, 0.0)
            self.y[n], self.born[n] = y, self.learned
        else:
            self.missed += rest
        return CF_OK

    cdef double information(self) noexcept nogil:
        return self.inner.information()

    cdef dict get_extra(self):
        return {**DualRidge.get_extra(self), "w": vector_of(self.inner.w, self.budget),
                "inner": settled(self.inner.metric), "missed": self.missed}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        cdef double missed = state.number("missed", 0.0)
        state.part("inner").count("n", self.budget, self.budget)
        inner = Full.from_state(state.get("inner"))
        (<Stored>inner)._ask_for(CF_FULL_AUTO)
        state.vector("w", self.budget)
        self.resize(1, d)
        DualRidge.set_extra(self, state, d)
        if self.gram.factor.n > self.budget:
            state.refuse("gram", f"at most {self.budget} rows", self.gram.factor.n)
        state.load("w", self.budget, self.inner.w)
        self.inner.metric, self.missed = inner, missed
        return 0


cdef class TopicRidge(DualRidge):
    """The dual ridge regressions of many topics that learn the same rows.

    Parameters
    ----------
    kernel, kernel_params, ridge
        As for `DualRidge`.
    topics : int
    """

    # Many topics that learn the same rows: one factor; c of topic k in row k of `all_c`, `row`
    # doubles each. The y and c of DualRidge itself are not used.
    cdef readonly Py_ssize_t topics
    cdef double *all_c
    cdef Py_ssize_t row
    cdef double *products      # u.c of each topic, for the row read last

    def __init__(self, kernel, kernel_params, double ridge, Py_ssize_t topics):
        DualRidge.__init__(self, kernel, kernel_params, ridge, 0)
        self.topics = topics
        self.products = new_doubles(max(topics, 1), 1, f"{topics} topics")

    def __dealloc__(self):
        L.free(self.all_c)
        L.free(self.products)

    cdef int make_place(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double *all_c = new_doubles(max(self.topics, 1), room,
                                         f"the coefficients of {self.topics} topics")
        for k in range(self.topics if n else 0):
            memcpy(all_c + k * room, self.all_c + k * self.row, <size_t>n * sizeof(double))
        L.free(self.all_c)
        self.all_c, self.row = all_c, room
        return DualRidge.make_place(self, room)

    cdef int margins(self, double q, double *out) noexcept nogil:
        cdef Py_ssize_t k
        K.scores(self.topics, self.gram.factor.n, self.all_c, self.row, self.u, self.products)
        for k in range(self.topics):
            out[k] = self.products[k] / (1.0 + q)
        return CF_OK if K.all_finite(self.topics, self.products) else CF_ENONFINITE

    cdef int learn_all(self, Workspace ws, const uint8_t *y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n, k
        cdef double pivot = sqrt(self.ridge * (1.0 + ws.quad[0]))
        cdef int status = self.update(ws, 0, 0.0)
        if status == CF_OK and self.gram.factor.n > n:
            for k in range(self.topics):
                self.all_c[k * self.row + n] = (
                    (1.0 if y[k] else -1.0) - self.products[k]) / pivot
        return status


cdef int read_topics(Single topics, double q, double *out) noexcept nogil:
    return (<TopicRidge>topics).margins(q, out)


cdef int learn_topics(Single topics, Workspace ws, const uint8_t *y) noexcept nogil:
    return (<TopicRidge>topics).learn_all(ws, y)


# --- one regression in dual form, w in the unit ball ------------------------------------------

# With M = ridge I + G = L L^T and w = sum beta_s phi(x_s), what is kept is e = L^T beta, in the
# place of c: w.x = u.e, a step appends (y - w.x) / pivot to e whatever e was, and
# ||w||^2 = ||e||^2 - ridge ||beta||^2. P2 takes beta to (I + lam M^-1)^-1 beta, so
#     e <- (I + lam B)^-1 e,  B = (L^T L)^-1:  one backward and one forward solve a product.
# Lanczos on B from e, as in cf_ball.h; there ||w||^2 = y^T (I - ridge T) y for the vector V y of
# the Krylov space, T the tridiagonal form of B, exactly: the secular equation is solved on that.
cdef enum:
    KRYLOV = 256     # products for which there is always memory


cdef class DualBall(DualRidge):
    """The step of `DualRidge`, then P2 on the unit ball of the span of the rows, all or nothing.

    A step costs O(N^2) for N rows, with some 5 to 30 solves more where the projection is active.
    With a window each example costs O(window^3) once it is full, because the steps of those left
    are made again (see `BallRidge`), and its memory is that of two more matrices.
    """

    # w is projected onto the unit ball of the span of the rows kept after each step. c is L^T beta,
    # w = sum beta_s phi(x_s): what a reading needs, and what the step appends to, projected or not.
    cdef double *next          # c to be; owned, with what follows in the same block
    cdef double *turn          # scratch of a product
    cdef double *row           # a row of L
    cdef double *krylov        # `steps` + 1 vectors of `stride` doubles, and 6 steps more
    cdef Py_ssize_t steps

    def __dealloc__(self):
        L.free(self.next)

    cdef Py_ssize_t krylov_size(self, Py_ssize_t n, Py_ssize_t steps) noexcept nogil:
        return (steps + 1) * (cf_pad(n + 1) + 8) + 6 * cf_pad(steps)

    cdef int make_place(self, Py_ssize_t room) except -1:
        cdef Py_ssize_t n = room + 16, steps = n if self.window else min(n, <Py_ssize_t>KRYLOV)
        cdef Py_ssize_t each = cf_pad(n + 1) + 8
        cdef double *block = new_doubles(1, 3 * each + self.krylov_size(n, steps),
                                         f"the projection of {room} learned examples")
        L.free(self.next)
        self.next, self.turn, self.row = block, block + each, block + 2 * each
        self.krylov, self.steps = block + 3 * each, steps
        return DualRidge.make_place(self, room)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        cdef double n = self.gram.factor.n
        return DualRidge.cost(self, nnz) + (n * n * n if self.window else n * n)

    cdef int answer(self, Workspace ws, const double *u, double own) noexcept nogil:
        ws.score[0], ws.quad[0] = K.dot(self.gram.factor.n, u, self.gram.c), 0.0
        return check_finite(ws.score[0], 0.0)

    # --- learning -----------------------------------------------------------------------------

    cdef int store(self, Workspace ws, double y) noexcept nogil:
        cdef Py_ssize_t n = self.gram.factor.n
        cdef double q = self.gram.rest(self.u, self.own) / self.ridge
        cdef double pivot = sqrt(self.ridge * (1.0 + q))
        cdef int status
        memcpy(self.next, self.gram.c, <size_t>n * sizeof(double))
        self.next[n] = (y - ws.score[0]) / pivot
        status = self.into_ball(&self.gram.factor, self.u, pivot, self.next)
        if status != CF_OK:
            return status
        self.gram.append(&ws.row, ws.forms, self.u, pivot, 0.0, K.log1p_one(q))
        memcpy(self.gram.c, self.next, <size_t>(n + 1) * sizeof(double))
        self.y[n], self.born[n] = y, self.learned
        return CF_OK

    cdef void expire(self) noexcept nogil:
        """All steps of the rows that are left, by the leading parts of their factor. The Krylov
        space may be as large as the window, so that memory is no matter; a step that leaves the
        range of float64, although it did not in the place that it had, is left out."""
        cdef Py_ssize_t before = self.gram.factor.n, n, j
        cdef cf_cholesky lead = self.gram.factor
        cdef double *c = self.gram.c
        cdef double pivot
        DualRidge.expire(self)
        if self.gram.factor.n == before:
            return
        for n in range(self.gram.factor.n):
            lead.n = n
            for j in range(n):
                self.row[j] = cf_cholesky_at(&self.gram.factor, n, j)[0]
            pivot = cf_cholesky_at(&self.gram.factor, n, n)[0]
            c[n] = (self.y[n] - K.dot(n, self.row, c)) / pivot
            if self.into_ball(&lead, self.row, pivot, c) != CF_OK:
                c[n] = 0.0  # w as it was

    cdef int raise_error(self, int status) except -1:
        cdef Py_ssize_t n = self.gram.factor.n
        if status == CF_ENOMEM:
            raise MemoryError(f"{8 * self.krylov_size(n, n + 1)} bytes for a projection over {n} "
                              "learned examples; a window keeps fewer")
        return DualRidge.raise_error(self, status)

    # --- the projection -----------------------------------------------------------------------
    # The factor is l, of n rows, with the row (u, pivot) below it; vectors have n + 1 entries.

    cdef int into_ball(self, const cf_cholesky *l, const double *u, double pivot,
                       double *e) noexcept nogil:
        cdef Py_ssize_t n = l.n
        cdef double *more
        cdef int status
        if K.dot(n + 1, e, e) <= 1.0 or self.square(l, u, pivot, e) <= 1.0:
            return CF_OK
        status = self.project(l, u, pivot, e, self.krylov, min(n + 1, self.steps))
        if status != CF_ENOCONVERGE:
            return status
        more = <double *>L.alloc(<size_t>self.krylov_size(n, n + 1), sizeof(double))
        if more == NULL:
            return CF_ENOMEM
        status = self.project(l, u, pivot, e, more, n + 1)
        L.free(more)
        return status

    cdef double square(self, const cf_cholesky *l, const double *u, double pivot,
                       const double *e) noexcept nogil:
        """||w||^2."""
        cdef Py_ssize_t n = l.n
        cdef double *beta = self.turn
        cdef double last = e[n] / pivot
        memcpy(beta, e, <size_t>n * sizeof(double))
        memset(beta + n, 0, <size_t>(cf_pad(n) - n) * sizeof(double))
        K.axpy(n, -last, u, beta)
        K.cholesky_backward(l, beta, beta)
        return K.dot(n + 1, e, e) - self.ridge * (K.dot(n, beta, beta) + last * last)

    cdef void product(self, const cf_cholesky *l, const double *u, double pivot, const double *v,
                      double *out) noexcept nogil:
        """out = B v. Rows of the factor beyond n may be there: they see zeros, and what they make
        is taken away."""
        cdef Py_ssize_t n = l.n, i
        cdef double last = v[n] / pivot
        memcpy(self.turn, v, <size_t>n * sizeof(double))
        memset(self.turn + n, 0, <size_t>(cf_pad(n) - n) * sizeof(double))
        K.axpy(n, -last, u, self.turn)
        K.cholesky_backward(l, self.turn, self.turn)
        K.cholesky_forward(l, 0, self.turn, out)
        out[n] = (last - K.dot(n, u, out)) / pivot
        for i in range(n + 1, cf_pad(n + 1)):
            out[i] = 0.0

    cdef int project(self, const cf_cholesky *l, const double *u, double pivot, double *e,
                     double *krylov, Py_ssize_t steps) noexcept nogil:
        """e <- (I + lam B)^-1 e with ||w|| = 1. CF_ENOCONVERGE: not in so many steps; e is as it
        was unless the answer is CF_OK."""
        cdef Py_ssize_t order = l.n + 1, stride = cf_pad(order) + 8, step, j
        cdef double *a = krylov + (steps + 1) * stride   # T: diagonal, beside it, y, room for three
        cdef double *b = a + cf_pad(steps)
        cdef double *y = b + cf_pad(steps)
        cdef double *q = krylov
        cdef double *next
        cdef double norm = sqrt(K.dot(order, e, e)), largest = 0.0, lam = 0.0, before
        for j in range(order):
            q[j] = e[j] / norm
        for step in range(steps):
            next = q + stride
            self.product(l, u, pivot, q, next)
            a[step] = K.dot(order, q, next)
            if not (a[step] > 0.0 and a[step] - a[step] == 0.0):
                return CF_ENONFINITE
            K.axpy(order, -a[step], q, next)
            if step:
                K.axpy(order, -b[step - 1], q - stride, next)
            before = sqrt(K.dot(order, next, next))
            orthogonalise(order, step + 1, stride, krylov, next)
            b[step] = sqrt(K.dot(order, next, next))
            if b[step] < 0.7 * before:  # much was taken away: once more, and that is enough
                orthogonalise(order, step + 1, stride, krylov, next)
                b[step] = sqrt(K.dot(order, next, next))
            largest = max(largest, a[step] + b[step])
            if not secular(step + 1, a, b, norm, self.ridge, &lam, y, y + cf_pad(steps)):
                return CF_ENONFINITE
            if (step + 1 == order or b[step] <= SMALL * largest
                    or lam * b[step] * fabs(y[step]) <= NEAR):
                memset(e, 0, <size_t>order * sizeof(double))
                for j in range(step + 1):
                    K.axpy(order, y[j], krylov + j * stride, e)
                return CF_OK
            for j in range(order):
                next[j] /= b[step]
            q = next
        return CF_ENOCONVERGE

cdef double SMALL = 2.0 ** -50  # of B: the end of its Krylov space
cdef double NEAR = 1e-13        # of a residual, where w has length 1


cdef void orthogonalise(Py_ssize_t n, Py_ssize_t rows, Py_ssize_t stride, const double *basis,
                        double *v) noexcept nogil:
    """v without its parts along the rows of the basis."""
    cdef Py_ssize_t i
    for i in range(rows):
        K.axpy(n, -K.dot(n, basis + i * stride, v), basis + i * stride, v)


cdef void divide(Py_ssize_t k, const double *a, const double *b, double lam, const double *right,
                 double *pivot, double *out) noexcept nogil:
    """out = (I + lam T)^-1 right; out may be right."""
    cdef Py_ssize_t i
    cdef double part
    pivot[0] = 1.0 + lam * a[0]
    out[0] = right[0]
    for i in range(1, k):
        part = lam * b[i - 1] / pivot[i - 1]
        pivot[i] = 1.0 + lam * a[i] - part * lam * b[i - 1]
        out[i] = right[i] - part * out[i - 1]
    out[k - 1] /= pivot[k - 1]
    for i in range(k - 2, -1, -1):
        out[i] = (out[i] - lam * b[i] * out[i + 1]) / pivot[i]


cdef bint secular(Py_ssize_t k, const double *a, const double *b, double norm, double ridge,
                  double *lam, double *y, double *work) noexcept nogil:
    """y = norm (I + lam T)^-1 e1 with y^T (I - ridge T) y = 1, lam >= 0, by Newton on one over the
    root of that, which is concave and increasing: from the left it never overshoots, from the
    right it comes to the left in one step. `work` has room for three vectors. False: no number."""
    cdef double *less = work             # (I - ridge T) y
    cdef double *slope = work + cf_pad(k)    # (I + lam T)^-1 T y
    cdef double *pivot = work + 2 * cf_pad(k)
    cdef double square, fall, step
    cdef Py_ssize_t i, turn
    for turn in range(100):
        for i in range(k):
            y[i] = norm if i == 0 else 0.0
        divide(k, a, b, lam[0], y, pivot, y)
        square = fall = 0.0
        for i in range(k):
            slope[i] = a[i] * y[i]
            slope[i] += b[i - 1] * y[i - 1] if i > 0 else 0.0
            slope[i] += b[i] * y[i + 1] if i + 1 < k else 0.0
            less[i] = y[i] - ridge * slope[i]
            square += y[i] * less[i]
        divide(k, a, b, lam[0], slope, pivot, slope)
        for i in range(k):
            fall += less[i] * slope[i]   # -1/2 of the derivative of `square`
        if not (square > 0.0 and fall > 0.0):
            return square - square == 0.0 and square > 0.0
        step = (sqrt(square) - 1.0) * square / fall
        if not fabs(step) < LARGE:
            return False
        if fabs(step) <= SMALL * lam[0] or fabs(square - 1.0) <= SMALL:
            return True
        lam[0] = max(lam[0] + step, 0.0)
    return True
