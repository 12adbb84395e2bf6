"""The heart; see _ridges.pxd.

In here are the protocol and the diagonal form; _wholes.pxi has whole matrices, _duals.pxi kernels.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX, DBL_MIN
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport data_of, new_doubles, new_vector
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_FULL_NOTHING, CF_OK, CF_STEP_PRINTED,
    CF_STEP_RESIDUAL, CF_STEP_VARIANCE, cf_full, cf_get_library, cf_get_table, cf_library, cf_lines,
    cf_pad, cf_table, cf_triangle_row,
)
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State
from coactive_fast.metric._dual cimport SPARSE, refuse_own
from coactive_fast.metric._base cimport code_of
from coactive_fast.metric._full cimport Full
from coactive_fast.rows._rows cimport Scratch, place_of, write_out

from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef double FAR = 1e150  # no single step moves a weight farther


cdef bint in_range(double m, double q, double ridge) noexcept nogil:
    """Written so that NaN fails."""
    return q >= 0.0 and q <= DBL_MAX and abs(m) + 1.0 <= FAR * sqrt(ridge)


cdef dict told_counts(Model model):
    return {"k": model.k, "d": model.d, "rounds": model.learned}


cdef int restore_counts(Model model, State state) except -1:
    """The table of weights, where there is one, vouches for k and d before memory is taken."""
    cdef Py_ssize_t k = state.count("k", 1), d = state.count("d")
    cdef int64_t learned = state.count("rounds")
    if k < model.k:
        state.refuse("k", f">= {model.k}", k)
    if (d == 0) != (learned == 0):
        raise ValueError("d and rounds of the state do not go together")
    if state.has("classes") and not state.has("weights"):
        state.parts("classes", k)
    else:
        state.table("weights", k, d)
    if k > model.k:
        model.widen(k)
    if d:
        model.know(d)
    model.d, model.learned = d, learned
    return 0


cdef class Ridges(Model):
    cdef int choose(self, Scratch s, double factor) noexcept nogil:
        cdef int status = self.look(s)
        if status != CF_OK:
            return status
        s.exploit = K.best_label(self.k, s.m)
        s.label = K.bold_label(self.k, s.m, s.q, factor)
        return CF_OK if s.exploit >= 0 and s.label >= 0 else CF_ENONFINITE

    cdef int allows(self, Scratch s, Py_ssize_t i, bint looked) noexcept nogil:
        return CF_OK if in_range(s.m[i], s.q[i], self.ridge) else CF_ENONFINITE

    cdef double gained(self, Scratch s, Py_ssize_t i) noexcept nogil:
        return K.log1p_one(s.q[i])

    cdef void step(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept nogil:
        pass

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK if s.null else self.allows(s, i, False)
        if status == CF_OK:
            if not s.null:
                self.step(s, i, y, False)
            self.count(s.row.n)
        return status


cdef class Policy(Model):
    cdef int begin(self, Ridges ridges) except -1:
        self.ridges, self.k = ridges, ridges.k
        return 0

    cdef int fit(self, Scratch s) except -1:
        return self.ridges.fit(s)

    cdef int know(self, Py_ssize_t n) except -1:
        self.ridges.most = self.most
        return self.ridges.know(n)

    cdef int widen(self, Py_ssize_t k) except -1:
        self.ridges.widen(k)
        self.k = k
        return 0

    cdef int adopt(self, Model other) except -1:
        self.ridges.adopt((<Policy?>other).ridges)
        return Model.adopt(self, other)

    cdef int make_room(self, Scratch s) except -1:
        return self.ridges.make_room(s)

    cdef int raise_error(self, int status) except -1:
        return self.ridges.raise_error(status)

    cdef dict told(self):
        return self.ridges.told()

    cdef int restore(self, State state) except -1:
        self.ridges.restore(state)
        self.k, self.d, self.learned = self.ridges.k, self.ridges.d, self.ridges.learned
        return 0

    cdef np_weights(self):
        return self.ridges.np_weights()

    cdef np_inverse(self, Py_ssize_t i):
        return self.ridges.np_inverse(i)

    cdef np_information(self):
        return self.ridges.np_information()

    cdef dict health(self):
        return self.ridges.health()

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return self.ridges.cost(nnz)

    cdef void prepare(self, Scratch s) noexcept nogil:
        self.ridges.prepare(s)

    cdef int read_scores(self, Scratch s) noexcept nogil:
        return self.ridges.read_scores(s)

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        return CF_OK if s.null else self.ridges.look_at(s, i)

    cdef int repair(self, Scratch s) noexcept nogil:
        return self.ridges.repair(s)

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = self.ridges.take(s, i, y)
        if status == CF_OK:
            self.count(s.row.n)
        return status

    cdef bint has_room(self, Scratch s) noexcept nogil:
        return self.ridges.has_room(s)

    cdef void settle(self) noexcept nogil:
        self.ridges.settle()


# --- one line a feature -----------------------------------------------------------------------


cdef class Lines(Ridges):
    def __dealloc__(self):
        L.free(self.core.data)

    cdef int begin(self, Py_ssize_t k, double fresh) except -1:
        self.fresh = fresh
        return self.lay_out(0, k)

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

    cdef int know(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t room = n
        if n <= self.room:
            return 0
        if self.most:
            room = max(n, min(self.most, self.room + self.room // 2))
        return self.lay_out(room, self.k)

    cdef int widen(self, Py_ssize_t k) except -1:
        return self.lay_out(self.room, k)

    # --- reading ------------------------------------------------------------------------------

    cdef int fit(self, Scratch s) except -1:
        if s.row.n > self.room:
            s.view.fit(s.row.nnz)
        return s.fit(self.k, 0)

    cdef void prepare(self, Scratch s) noexcept nogil:
        """Features without a line are read from the fresh one."""
        cdef Py_ssize_t e, nnz = s.row.nnz
        if s.row.n <= self.room or (nnz and place_of(&s.row, nnz - 1) < self.room):
            return
        for e in range(nnz):
            s.view.place[e] = min(place_of(&s.row, e), self.room)
        s.row.i32, s.row.i64 = NULL, s.view.place

    cdef int read_scores(self, Scratch s) noexcept nogil:
        K.lines_scores(&self.core, &s.row, s.next, s.m)
        return CF_OK

    # --- arrays and states --------------------------------------------------------------------

    cdef void column(self, Py_ssize_t i, bint second, double *out) noexcept:
        """What answer i has of each feature."""
        cdef Py_ssize_t f
        cdef const double *at = self.core.data + i + (self.core.second if second else 0)
        for f in range(self.d):
            out[f] = at[f * self.core.stride]

    cdef np_table(self, bint second):
        cdef np.ndarray out = <np.ndarray>numpy.empty((self.k, self.d))
        cdef Py_ssize_t i
        for i in range(self.k):
            self.column(i, second, data_of(out) + i * self.d)
        return out

    cdef np_weights(self):
        return self.np_table(False)

    cdef double first_inverse(self) noexcept:
        return self.fresh

    cdef void to_inverse(self, Py_ssize_t n, double *second) noexcept:
        """Second values to inverse variances, in place."""
        pass

    cdef np_inverse(self, Py_ssize_t i):
        cdef np.ndarray out = new_vector(self.d)
        self.column(i, True, data_of(out))
        self.to_inverse(self.d, data_of(out))
        return out

    cdef np_information(self):
        """-sum log(inverse / its first value)."""
        cdef np.ndarray out = <np.ndarray>numpy.zeros(self.k), one
        cdef Py_ssize_t i, f
        for i in range(self.k):
            one = <np.ndarray>self.np_inverse(i)
            for f in range(self.d):
                data_of(one)[f] /= self.first_inverse()
            K.log_many(self.d, data_of(one), data_of(one))
            data_of(out)[i] = 0.0 - float(one.sum())
        return out

    cdef dict told(self):
        cdef dict found = {**told_counts(self), "weights": self.np_weights()}
        if self.core.second:
            found["second"] = self.np_table(True)
        return found

    cdef int restore(self, State state) except -1:
        restore_counts(self, state)
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

    def __init__(self, Py_ssize_t k, double ridge, bint printed=False):
        self.ridge, self.printed = ridge, printed
        self.begin(k, 1.0 / ridge)

    cdef int adopt(self, Model other) except -1:
        self.printed = (<DiagonalRidges?>other).printed
        return Lines.adopt(self, other)

    cdef int read(self, Scratch s) noexcept nogil:
        K.lines_read(&self.core, &s.row, s.next, s.m, s.q)
        return CF_OK

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        K.lines_read_one(&self.core, &s.row, i, s.m + i, s.q + i)
        return CF_OK

    cdef double gained(self, Scratch s, Py_ssize_t i) noexcept nogil:
        """sum log(1 + x_r^2 / a_r), products of whose terms spare logarithms."""
        cdef const double *inverse = self.core.data + self.core.second + i
        cdef double product = 1.0, sum = 0.0, x
        cdef Py_ssize_t e
        for e in range(s.row.nnz):
            x = s.row.value[e]
            product *= 1.0 + x * x * inverse[place_of(&s.row, e) * self.core.stride]
            if product > 1e100:
                sum += K.log_one(product)
                product = 1.0
        return sum + K.log_one(product)

    cdef void step(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept nogil:
        cdef double gain = y if self.printed else (y - s.m[i]) / (1.0 + s.q[i])
        cdef int mode = CF_STEP_PRINTED if self.printed else CF_STEP_RESIDUAL
        if not move:
            K.lines_step(&self.core, &s.row, i, gain, mode)
            return
        if not self.printed:  # one pass for both moves
            s.c[i] += gain
            mode = CF_STEP_VARIANCE
        K.lines_move(&self.core, &s.row, s.c, i, gain, mode)


include "_wholes.pxi"
include "_duals.pxi"
