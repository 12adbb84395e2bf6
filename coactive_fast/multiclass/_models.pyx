"""The multiclass models: scratch, the protocol, and those that keep one line a feature."""

import operator

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcmp, memcpy, memset

from coactive_fast._arrays cimport data_of, new_vector
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, cf_change, cf_get_library, cf_get_table,
    cf_library, cf_lines, cf_pad, cf_row, cf_scores_scratch, cf_table,
)
from coactive_fast.learner._rows cimport RowBuffer, place_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()


# --- scratch ----------------------------------------------------------------------------------


cdef class Work:
    def __cinit__(self):
        self.buffer, self.view, self.last = RowBuffer(), RowBuffer(), RowBuffer()
        self.known_round = -1

    def __dealloc__(self):
        L.free(self.m)
        L.free(self.v)

    cdef int fit(self, Py_ssize_t k, Py_ssize_t doubles) except -1:
        """Room for k classes and so many doubles of v; what was read is lost where it grows."""
        cdef Py_ssize_t lanes = cf_pad(k)
        cdef double *block
        if lanes > self.lanes:
            block = <double *>L.alloc_zero(<size_t>(5 * lanes + cf_scores_scratch(k)),
                                           sizeof(double))
            if block == NULL:
                raise MemoryError(f"scratch for {k} classes")
            L.free(self.m)
            self.m, self.lanes = block, lanes
            self.q, self.c, self.z = block + lanes, block + 2 * lanes, block + 3 * lanes
            self.forget()
        if doubles > self.v_room:
            block = <double *>L.alloc_zero(<size_t>doubles, sizeof(double))
            if block == NULL:
                raise MemoryError(f"{8 * doubles} bytes of scratch")
            L.free(self.v)
            self.v, self.v_room = block, doubles
            self.forget()
        return 0

    cdef int remember(self, const cf_row *row, int64_t round, int64_t stamp) except -1:
        cdef Py_ssize_t nnz = row.nnz
        self.last.fit(nnz)
        memcpy(self.last.value, row.value, <size_t>nnz * sizeof(double))
        if row.i32 != NULL:
            memcpy(self.last.place, row.i32, <size_t>nnz * 4)
        elif row.i64 != NULL:
            memcpy(self.last.place, row.i64, <size_t>nnz * 8)
        self.known = row[0]
        self.known_round, self.known_stamp = round, stamp
        return 0

    cdef bint knows(self, const cf_row *row, int64_t round, int64_t stamp) noexcept:
        """Whether what was read last is what this row would give."""
        cdef size_t nnz = <size_t>row.nnz
        if (self.known_round != round or self.known_stamp != stamp or self.known.n != row.n
                or self.known.nnz != row.nnz or (self.known.i32 == NULL) != (row.i32 == NULL)
                or (self.known.i64 == NULL) != (row.i64 == NULL)):
            return False
        if row.i32 != NULL and memcmp(self.last.place, row.i32, nnz * 4):
            return False
        if row.i64 != NULL and memcmp(self.last.place, row.i64, nnz * 8):
            return False
        return memcmp(self.last.value, row.value, nnz * sizeof(double)) == 0


# --- what states are made of ------------------------------------------------------------------


cdef Py_ssize_t count_of(dict state, str name, Py_ssize_t least) except -1:
    value = state[name]
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} of the state must be an integer, got {value!r}") from None
    if not least <= found < 1 << 62:
        raise ValueError(f"{name} of the state must be >= {least}, got {found}")
    return found


cdef object table_of(dict state, str name, tuple shape):
    """Finite numbers of that shape, contiguous float64."""
    value = state[name]
    if not isinstance(value, numpy.ndarray) or value.dtype.kind != "f" or value.shape != shape:
        raise ValueError(f"{name} of the state must be numbers of shape {shape}")
    if not numpy.isfinite(value).all():
        raise ValueError(f"{name} of the state must be finite")
    return numpy.ascontiguousarray(value, dtype=numpy.float64)


# --- the protocol -----------------------------------------------------------------------------


cdef class Model:
    cdef int fit(self, Work w) except -1:
        return w.fit(self.k, 0)

    cdef int make_room(self, Py_ssize_t n) except -1:
        return 0

    cdef int add_class(self) except -1:
        raise NotImplementedError

    cdef int adopt(self, Model other) except -1:
        self.most = other.most
        return 0

    cdef np_weights(self):
        raise NotImplementedError

    cdef np_inverse(self, Py_ssize_t i):
        raise NotImplementedError

    cdef np_information(self):
        raise NotImplementedError

    cdef dict health(self):
        return {}

    cdef dict state(self):
        return {"k": self.k, "d": self.d, "rounds": self.rounds}

    cdef int restore(self, dict state) except -1:
        """k, d and rounds; the rest is the subclass's."""
        cdef Py_ssize_t k = count_of(state, "k", 2), d = count_of(state, "d", 0)
        self.rounds = count_of(state, "rounds", 0)
        if (d == 0) != (self.rounds == 0):
            raise ValueError("d and rounds of the state do not go together")
        if "weights" in state or "classes" not in state:
            table_of(state, "weights", (k, d))  # memory is taken for what is there
        elif not isinstance(state["classes"], list) or len(state["classes"]) != k:
            raise ValueError(f"classes of the state must be a list of {k}")
        while self.k < k:
            self.add_class()
        if self.k != k:
            raise ValueError(f"k of the state must be >= {self.k}, got {k}")
        if d:
            self.make_room(d)
        self.d = d
        return 0

    cdef int raise_error(self) except -1:
        return 0

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>nnz * self.k

    cdef void prepare(self, Work w) noexcept nogil:
        pass

    cdef int read_scores(self, Work w) noexcept nogil:
        return CF_EVALUE

    cdef int read(self, Work w) noexcept nogil:
        """The best score; enough for those that neither explore nor need more."""
        cdef int status = self.read_scores(w)
        if status != CF_OK:
            return status
        w.exploit = w.label = K.best_label(self.k, w.m)
        return CF_OK if w.label >= 0 else CF_ENONFINITE

    cdef int read_for(self, Work w, Py_ssize_t label) noexcept nogil:
        return self.read(w)

    cdef int repair(self, Work w) noexcept nogil:
        return CF_ENOTPOSITIVE

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        return CF_EVALUE

    cdef void settle(self) noexcept nogil:
        pass


# --- one line a feature -----------------------------------------------------------------------


cdef class Lines(Model):
    def __dealloc__(self):
        L.free(self.core.data)

    cdef int begin(self, Py_ssize_t k, double fresh) except -1:
        self.fresh = fresh
        return self.lay_out(0, k)

    cdef int lay_out(self, Py_ssize_t room, Py_ssize_t k) except -1:
        """New memory for so many features and classes with what is there already."""
        cdef Py_ssize_t values = 2 * k if self.fresh != 0.0 else k, f, i
        cdef cf_lines core
        core.k, core.stride = k, cf_pad(values)
        core.second = k if self.fresh != 0.0 else 0
        if room >= (<Py_ssize_t>1 << 56) // core.stride:
            raise MemoryError(f"{room} features of {k} classes")
        # a fresh line behind the last, and eight doubles that a whole vector may read
        core.data = <double *>L.alloc_zero(<size_t>((room + 1) * core.stride + 8), sizeof(double))
        if core.data == NULL:
            raise MemoryError(f"{8 * (room + 1) * core.stride} bytes for {room} features of "
                              f"{k} classes")
        if core.second:
            for f in range(room + 1):
                for i in range(k):
                    core.data[f * core.stride + core.second + i] = self.fresh
        for f in range(min(self.d, room)):
            copy_line(&self.core, f, &core)
        L.free(self.core.data)
        self.core, self.room, self.k = core, room, k
        return 0

    cdef int make_room(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t room = n
        if n <= self.room:
            return 0
        if self.most:
            room = max(n, min(self.most, self.room + self.room // 2))
        return self.lay_out(room, self.k)

    cdef int add_class(self) except -1:
        return self.lay_out(self.room, self.k + 1)

    # --- reading ------------------------------------------------------------------------------

    cdef int fit(self, Work w) except -1:
        if w.row.n > self.room:
            w.view.fit(w.row.nnz)
        return w.fit(self.k, 0)

    cdef void prepare(self, Work w) noexcept nogil:
        """Features without a line are read from the fresh one."""
        cdef Py_ssize_t e, nnz = w.row.nnz
        if w.row.n <= self.room or (nnz and place_of(&w.row, nnz - 1) < self.room):
            return
        for e in range(nnz):
            w.view.place[e] = min(place_of(&w.row, e), self.room)
        w.row.i32, w.row.i64 = NULL, w.view.place

    cdef int read_scores(self, Work w) noexcept nogil:
        K.lines_scores(&self.core, &w.row, w.next, w.m)
        return CF_OK

    # --- changing -----------------------------------------------------------------------------

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        """The Perceptron's step: on a mistake ``w_y += x`` and ``w_chosen -= x``; where there are
        second values, ``x^2`` to those of both."""
        cdef cf_change change
        cdef int status = CF_OK
        if w.label != label:
            change.first_class, change.second_class = label, w.label
            change.first_step, change.second_step = 1.0, -1.0
            status = K.lines_add(&self.core, &w.row, &change, self.core.second != 0)
        if status == CF_OK:
            self.count(w.row.n)
        return status

    # --- arrays and states --------------------------------------------------------------------

    cdef void column(self, Py_ssize_t i, bint second, double *out) noexcept:
        """What class i has of each feature."""
        cdef Py_ssize_t f
        cdef const double *at = self.core.data + i + (self.core.second if second else 0)
        for f in range(self.d):
            out[f] = at[f * self.core.stride]

    cdef np_weights(self):
        cdef np.ndarray out = <np.ndarray>numpy.empty((self.k, self.d))
        cdef Py_ssize_t i
        for i in range(self.k):
            self.column(i, False, data_of(out) + i * self.d)
        return out

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

    cdef dict state(self):
        cdef np.ndarray out
        cdef Py_ssize_t i
        found = Model.state(self)
        found["weights"] = self.np_weights()
        if self.core.second:
            out = <np.ndarray>numpy.empty((self.k, self.d))
            for i in range(self.k):
                self.column(i, True, data_of(out) + i * self.d)
            found["second"] = out
        return found

    cdef int restore(self, dict state) except -1:
        Model.restore(self, state)
        self.take_table(state, "weights", False, self.d)
        if self.core.second:
            self.take_table(state, "second", True, self.d)
        return 0

    cdef int take_table(self, dict state, str name, bint second, Py_ssize_t d) except -1:
        cdef np.ndarray table = <np.ndarray>table_of(state, name, (self.k, d))
        cdef Py_ssize_t f, i
        cdef double *at = self.core.data + (self.core.second if second else 0)
        if second and d and not (<object>table).min() > 0.0:
            raise ValueError(f"{name} of the state must be > 0")
        for f in range(d):
            for i in range(self.k):
                at[f * self.core.stride + i] = data_of(table)[i * d + f]
        return 0


cdef void copy_line(const cf_lines *old, Py_ssize_t f, const cf_lines *new) noexcept nogil:
    cdef size_t size = <size_t>min(old.k, new.k) * sizeof(double)
    cdef const double *source = old.data + f * old.stride
    cdef double *target = new.data + f * new.stride
    memcpy(target, source, size)
    if new.second:
        memcpy(target + new.second, source + old.second, size)


# --- models without a confidence --------------------------------------------------------------


cdef class Perceptron(Lines):
    """On a mistake ``w_y += x`` and ``w_chosen -= x``."""

    def __init__(self, Py_ssize_t k):
        self.begin(k, 0.0)


cdef class Banditron(Lines):
    """``w_r += x ([right] [r = label] / p_r - [r = best])``; the choice is drawn."""

    def __init__(self, Py_ssize_t k, double gamma):
        self.gamma = gamma
        self.begin(k, 0.0)

    cdef int adopt(self, Model other) except -1:
        self.gamma = (<Banditron>other).gamma
        return Model.adopt(self, other)

    cdef double chance(self, Py_ssize_t label, Py_ssize_t best) noexcept nogil:
        cdef double p = self.gamma / self.k
        return p + (1.0 - self.gamma) if label == best else p

    cdef void draw(self, Work w) noexcept nogil:
        """The first label at which the chances so far exceed one uniform draw."""
        cdef double u = w.bits.next_double(w.bits.state), reached = 0.0
        cdef Py_ssize_t r
        w.label = self.k - 1
        for r in range(self.k):
            reached += self.chance(r, w.exploit)
            if reached > u:
                w.label = r
                return

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        cdef double step = 1.0 / self.chance(label, w.exploit) if correct else 0.0
        cdef cf_change change
        cdef int status = CF_OK
        change.first_class, change.second_class = w.exploit, -1
        change.first_step, change.second_step = -1.0, step
        if label == w.exploit:
            change.first_step += step
        elif correct:
            change.second_class = label
        status = K.lines_add(&self.core, &w.row, &change, 0)
        if status == CF_OK:
            self.count(w.row.n)
        return status


cdef class Counted(Lines):
    """The second-order Perceptron: on a mistake also ``S += x^2`` for both."""

    def __init__(self, Py_ssize_t k, double a):
        self.begin(k, a)

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 4.0 * nnz * self.k

    cdef double first_inverse(self) noexcept:
        return 1.0 / self.fresh

    cdef void to_inverse(self, Py_ssize_t n, double *second) noexcept:
        cdef Py_ssize_t f
        for f in range(n):
            second[f] = 1.0 / second[f]

    cdef int read_scores(self, Work w) noexcept nogil:
        K.lines_counted(&self.core, &w.row, w.next, w.m)
        return CF_OK


cdef class Arow(Lines):
    """Below margin 1: ``w_y += a Sigma_y x``, ``w_j -= a Sigma_j x``, less variance for both."""

    def __init__(self, Py_ssize_t k, double r):
        self.r = r
        self.begin(k, 1.0)

    cdef int adopt(self, Model other) except -1:
        self.r = (<Arow>other).r
        return Model.adopt(self, other)

    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil:
        cdef Py_ssize_t i, rival = -1
        cdef double margin, V, Vj, unused, beta
        cdef cf_change change
        cdef int status = CF_OK
        for i in range(self.k):
            if i != label and (rival < 0 or w.m[i] > w.m[rival]):
                rival = i
        margin = w.m[label] - w.m[rival]
        if margin < 1.0:
            K.lines_read_one(&self.core, &w.row, label, &unused, &V)
            K.lines_read_one(&self.core, &w.row, rival, &unused, &Vj)
            V += Vj
            beta = 1.0 / (V + self.r)
            if not (V - V == 0.0 and margin - margin == 0.0):
                return CF_ENONFINITE
            change.first_class, change.second_class = label, rival
            change.first_step = beta * (1.0 - margin)
            change.second_step = -change.first_step
            status = K.lines_shrink(&self.core, &w.row, &change, beta)
        if status == CF_OK:
            self.count(w.row.n)
        return status
