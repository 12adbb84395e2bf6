"""Fixed rows to choose among; see _catalogue.pxd.

In here is what a user sees, the rows, and a pass over all of them; _bounds.pxi has the bounds and
the choice by them.
"""

import threading

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX, FLT_MAX, FLT_MIN
from libc.math cimport INFINITY, fabs, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_count, as_rows, new_doubles, refuse_masked, refuse_non_finite, row_stride,
)
from coactive_fast._table cimport (
    CF_CATALOGUE_SLOTS, CF_CATALOGUE_TERMS, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_OK, CF_STALE,
    cf_get_library, cf_get_table, cf_library, cf_look, cf_pad, cf_table,
)
from coactive_fast.metric._single cimport Crossed, Past, Single
from coactive_fast.rewards._policy cimport GREEDY, UCB
from coactive_fast.rows._rows cimport DOUBLES, GATHERED

from coactive_fast._initialized import not_initialized
from coactive_fast._memory import refuse_beyond_limit

np.import_array()

cdef extern from *:
    """
    #define cf_prefetch(p) __builtin_prefetch((const void *)(p))
    #define cf_count_bits(x) __builtin_popcountll(x)
    #define cf_first_bit(x) __builtin_ctzll(x)
    """
    void cf_prefetch(const void *) nogil
    int cf_count_bits(uint64_t) nogil
    int cf_first_bit(uint64_t) nogil

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef Py_ssize_t LEAST_ADDED = 1024  # rows that memory is taken for when rows are added
cdef Py_ssize_t MOST_ROWS = 1 << 36  # places of blocks are 32 bits wide


cdef float up(double v) noexcept nogil:
    """Not below v, as float32."""
    v += 2e-7 * fabs(v) + FLT_MIN
    return FLT_MAX if v > FLT_MAX else -FLT_MAX if v < -FLT_MAX else <float>v


include "_bounds.pxi"


cdef int enlarge(void **block, size_t size, Py_ssize_t used, Py_ssize_t room,
                 str what) except -1:
    """More of the same; what is beyond `used` is undefined."""
    cdef void *more = L.alloc(<size_t>max(room, 1), size)
    if more == NULL:
        raise MemoryError(what)
    if used:
        memcpy(more, block[0], <size_t>used * size)
    L.free(block[0])
    block[0] = more
    return 0


cdef class Catalogue(Bounds):
    """Catalogue(X, *, n_jobs=1)\n--\n
    Fixed rows to choose among round after round, up to many millions.

    ``bandit.choose(items)`` and ``bandit.decide(items)`` of a `LinearBandit` give the index that
    ``choose(X)`` gives, bit for bit the same scores compared, ties to the lower index; only most
    rows are not looked at. For "ucb" and "greedy" without forgetting and without a context a row's
    last score bounds its present one,
    ``m_t + width sqrt(q_t) <= m_s + sqrt(q_s) (width + ||w_t - w_s||_A)``, since q only falls and
    by the inequality of Cauchy and Schwarz in the norm of A; a row is scored anew only where its
    bound reaches the best. Everything else (thompson, forgetting, a context, squarecb) is one pass
    over the rows. What is known of the rows belongs to one learner at a time: `decay`, `merge`,
    `reset`, or another learner, start it afresh, which costs a pass and changes no choice.

    Rows of float32 and float64 stay where they are, also those of a read-only `numpy.memmap`, and
    must not be changed; where a row is not contiguous all are copied, other kinds as float64.
    Nothing of a catalogue is saved with a learner. Any number of threads may choose over one
    catalogue; they take turns.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Dense and finite; read once, for the lengths of the rows.
    n_jobs : int, default 1
        Threads that share a pass of "thompson" over the rows; -1: one a processor. What is chosen
        does not depend on it.

    See Also
    --------
    LinearBandit : What chooses among the rows.

    Notes
    -----
    Memory beside the rows: 16 bytes a row. A choice among a million rows of 64 features, learning
    from each, took 0.04 to 0.09 ms in the median of 10,000 rounds, by the kind of rows; the first
    hundred rounds take up to nine readings of all rows each.

    References
    ----------
    Yasin Abbasi-Yadkori, David Pal, Csaba Szepesvari: Improved Algorithms for Linear Stochastic
    Bandits, 2011 (the scores; the bounds are our own).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> items = cf.Catalogue([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
    >>> bandit = cf.LinearBandit()
    >>> bandit.learn([1.0, 0.0], 4.0)
    >>> bandit.choose(items)
    0
    >>> items.remove(0)
    >>> items.add([[0.9, 0.1]])
    array([3])
    >>> bandit.choose(items, k=2), len(items)
    (array([3, 2]), 3)
    """

    def __cinit__(self, *args, **kwargs):
        self.guard, self.arrays, self.some = Guard(), [], Rows()
        self.guard.close(not_initialized(self))

    def __init__(self, X, *, n_jobs=1):
        cdef np.ndarray rows
        cdef Py_ssize_t jobs
        jobs = jobs_of(n_jobs)
        if self.d:
            raise RuntimeError("a catalogue is made once")
        rows = dense(X, "X")
        if np.PyArray_DIM(rows, 1) == 0 or np.PyArray_DIM(rows, 0) == 0:
            raise ValueError("X must have at least one row and one feature, got shape "
                             f"{(<object>rows).shape}")
        self.floats = np.PyArray_TYPE(rows) == np.NPY_FLOAT
        self.d, self.jobs, self.padded = (np.PyArray_DIM(rows, 1), jobs,
                                          cf_pad(np.PyArray_DIM(rows, 1)))
        try:
            self.wide = new_doubles(BLOCK, self.padded, "rows written out")
            self.m_now = new_doubles(2, BLOCK, "scores")
            self.q_now = self.m_now + BLOCK
            self.take(rows, np.PyArray_DIM(rows, 0), 0)
        except BaseException:
            self.d = 0
            raise
        self.some.d = self.some.most = self.d
        self.some.kind, self.some.floats = DOUBLES, False
        self.some.value = <const char *>self.wide
        self.some.row_step, self.some.column_step = 8 * self.padded, 8
        self.guard.open()

    def __dealloc__(self):
        cdef int id
        L.free(self.block)
        L.free(self.length)
        L.free(self.m)
        L.free(self.r)
        L.free(self.slot)
        L.free(self.top)
        L.free(self.radius)
        L.free(self.seen)
        L.free(self.open)
        L.free(self.off)
        L.free(self.ref)
        L.free(self.width_at)
        L.free(self.row_table)
        L.free(self.block_table)
        L.free(self.terms)
        L.free(self.check_w)
        for id in range(CHECKS):
            L.free(self.check_a[id])
        L.free(self.apart)
        L.free(self.score)
        L.free(self.index)
        L.free(self.place)
        L.free(self.wide)
        L.free(self.m_now)

    def __reduce__(self):
        raise TypeError("a Catalogue is not saved: make it anew from its rows")

    def __len__(self):
        """How many rows are there: removed ones do not count."""
        self.guard.settle_read()
        return self.living

    @property
    def scored(self):
        """How many rows the last choice scored anew."""
        self.guard.settle_read()
        return self.looked

    def add(self, rows):
        """More rows, copied in the kind of those that are there.

        Parameters
        ----------
        rows : array_like of shape (m, d)
            Dense and finite.

        Returns
        -------
        ndarray of intp, shape (m,)
            Their indices: those that follow the highest one ever given.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Catalogue([[1.0], [2.0]]).add([[5.0], [6.0]])
        array([2, 3])
        """
        cdef np.ndarray given = dense(rows, "rows"), own
        cdef Py_ssize_t m = np.PyArray_DIM(given, 0), at = 0, count, used
        self.guard.settle_read()  # what is not initialized has no width to compare with
        if np.PyArray_DIM(given, 1) != self.d:
            raise ValueError(f"rows must have {self.d} features, got "
                             f"{np.PyArray_DIM(given, 1)}")
        with numpy.errstate(over="ignore"):
            own = <np.ndarray>numpy.array(given, dtype=numpy.float32 if self.floats else float)
        if not numpy.isfinite(own).all():
            refuse_non_finite(own, "rows")
        self.guard.begin_write()
        try:
            first = self.n
            while at < m:
                if not self.owned or self.arrays[-1][3] == len(self.arrays[-1][0]):
                    count = max(m - at, LEAST_ADDED,
                                2 * len(self.arrays[-1][0]) if self.owned else 0)
                    fresh = numpy.zeros(((count + BLOCK - 1) // BLOCK * BLOCK, self.d),
                                        dtype=own.dtype)
                    self.fit(self.blocks + len(fresh) // BLOCK)
                    self.arrays.append([fresh, self.n, self.blocks, 0])
                    self.owned = True
                part = self.arrays[-1]
                used = part[3]
                count = min(m - at, len(part[0]) - used)
                part[0][used:used + count] = own[at:at + count]
                self.take(part[0], count, -1)
                part[3] = used + count
                at += count
            return numpy.arange(first, first + m)
        finally:
            self.guard.end_write()

    def remove(self, indices):
        """Takes rows away for good; their indices are not given again.

        Parameters
        ----------
        indices : int or array_like of int
            Of rows that are there, each once.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> items = cf.Catalogue([[1.0], [3.0], [2.0]])
        >>> items.remove([1])
        >>> cf.LinearBandit().choose(items)
        2
        """
        cdef int64_t place
        cdef uint64_t bit
        cdef list places = []
        refuse_masked(indices, "indices")
        wanted = numpy.asarray(indices)
        if wanted.ndim > 1 or (wanted.size and wanted.dtype.kind not in "iu"):
            raise TypeError("indices must be an index or a list of them, got dtype "
                            f"{wanted.dtype} and shape {wanted.shape}")
        wanted = numpy.atleast_1d(wanted)
        if len(numpy.unique(wanted)) != len(wanted):
            raise ValueError("indices must be distinct")
        self.guard.begin_write()
        try:
            for index in wanted.tolist():
                if not 0 <= index < self.n:
                    raise ValueError(f"indices must be in 0 ... {self.n - 1}, got {index}")
                place = self.place_of(index)
                if not self.block[place // BLOCK].alive >> (place % BLOCK) & 1:
                    raise ValueError("indices must be those of rows that are there, got "
                                     f"{index}, which was removed")
                places.append(place)
            for place in places:
                bit = <uint64_t>1 << (place % BLOCK)
                self.block[place // BLOCK].alive &= ~bit
                self.living -= 1
                if self.begun:
                    self.m[place], self.r[place] = -FLT_MAX, 0.0
                    self.slot[place] = 0
        finally:
            self.guard.end_write()

    # --- rows ---------------------------------------------------------------------------------

    cdef int take(self, np.ndarray rows, Py_ssize_t n, Py_ssize_t first_block) except -1:
        """n rows, with the lock held: the first array, or rows of the last one that follow those
        in use (first_block < 0)."""
        cdef Py_ssize_t stride = row_stride(rows), width = 4 if self.floats else 8, used = 0
        cdef Py_ssize_t begin = 0, t, b, i, count
        cdef const char *base = <const char *>np.PyArray_DATA(rows)
        cdef double *square
        cdef list part
        if self.n + n > MOST_ROWS:
            raise ValueError(f"X must have at most {MOST_ROWS} rows")
        if first_block < 0:
            part = self.arrays[-1]
            used, begin = part[3], part[2]
        else:
            self.fit((n + BLOCK - 1) // BLOCK)
        square = new_doubles(1, BLOCK, "lengths")
        t = used
        while t < used + n:
            b, i = begin + t // BLOCK, t % BLOCK
            count = min(used + n - t, <Py_ssize_t>BLOCK - i)
            if i == 0:
                self.block[b].base, self.block[b].stride = base + t * stride * width, stride
                self.block[b].first, self.block[b].alive = self.n + t - used, 0
                self.block[b].size, self.block[b].held = 0.0, 0
                memset(self.length + b * BLOCK, 0, BLOCK * sizeof(float))
            self.squares(base + t * stride * width, stride, count, square)
            if not self.note_lengths(b, i, count, square):
                L.free(square)
                refuse_non_finite(rows, "X")
                raise ValueError("X has a row too long: its square is beyond float64")
            t += count
        L.free(square)
        if first_block >= 0:
            self.arrays.append([rows, 0, 0, n])
        self.blocks = begin + (used + n + BLOCK - 1) // BLOCK
        self.admit(begin, used, n)
        return 0

    cdef void squares(self, const char *x, Py_ssize_t stride, Py_ssize_t count,
                      double *out) noexcept nogil:
        if self.floats:
            K.rows_square_f32(self.d, count, <const float *>x, stride, out)
        else:
            K.rows_square(self.d, count, <const double *>x, stride, out)

    cdef bint note_lengths(self, Py_ssize_t b, Py_ssize_t i, Py_ssize_t count,
                           const double *square) noexcept nogil:
        """Whether these squares are finite; a NaN or an infinity in a row shows in its square."""
        cdef Py_ssize_t l
        cdef double size
        for l in range(count):
            if not square[l] <= DBL_MAX:
                return False
            size = sqrt(square[l]) * (1.0 + 1e-12)
            self.length[b * BLOCK + i + l] = up(size)
            self.block[b].size = max(self.block[b].size, size)
            self.largest = max(self.largest, size)
        return True

    cdef void admit(self, Py_ssize_t begin, Py_ssize_t used, Py_ssize_t n) noexcept nogil:
        """These rows are there."""
        cdef Py_ssize_t t
        for t in range(used, used + n):
            self.block[begin + t // BLOCK].held = t % BLOCK + 1
            self.block[begin + t // BLOCK].alive |= <uint64_t>1 << (t % BLOCK)
        for t in range(used // BLOCK, (used + n + BLOCK - 1) // BLOCK if self.begun else 0):
            self.fill_from(begin + t, used - t * BLOCK)
        self.n += n
        self.living += n

    cdef int64_t place_of(self, int64_t index) except -1:
        """Where the row of an index is."""
        cdef list part
        for part in reversed(self.arrays):
            if part[1] <= index:
                return part[2] * BLOCK + index - part[1]
        raise ValueError(f"no index {index}")

    cdef Rows part(self, Py_ssize_t i):
        """The rows of one array, which were checked when they came."""
        cdef Rows out = Rows()
        cdef np.ndarray rows = self.arrays[i][0]
        cdef Py_ssize_t width = 4 if self.floats else 8
        out.n, out.d, out.most = self.arrays[i][3], self.d, self.d
        out.kind, out.floats = GATHERED if self.floats else DOUBLES, self.floats
        out.value = <const char *>np.PyArray_DATA(rows)
        out.row_step, out.column_step = row_stride(rows) * width, width
        out.held = (rows,)
        return out

    cdef Rows one(self, Py_ssize_t index):
        cdef int64_t place = self.place_of(index)
        cdef Rows out = self.part(0)
        out.n, out.value = 1, self.row_at(place)
        out.held = tuple(part[0] for part in self.arrays)
        return out

    cdef np.ndarray mask_of(self, object allowed):
        """`allowed`, one an index ever given, as bytes; None where all are."""
        if allowed is None:
            return None
        refuse_masked(allowed, "allowed")
        try:
            given = numpy.asarray(allowed)
        except ValueError as error:
            raise TypeError(f"allowed must be a sequence of True and False: {error}") from None
        if given.dtype != bool and given.size:
            raise TypeError(f"allowed must hold True and False, got dtype {given.dtype}")
        return <np.ndarray>numpy.ascontiguousarray(given)

    # --- memory -------------------------------------------------------------------------------

    cdef int fit(self, Py_ssize_t blocks) except -1:
        """Room for so many blocks."""
        cdef Py_ssize_t room, used = self.blocks
        cdef str what = f"a catalogue of {blocks * BLOCK} rows"
        if blocks <= self.room:
            return 0
        room = blocks if self.room == 0 else max(blocks, self.room + self.room // 2)
        refuse_beyond_limit(16.0 * BLOCK * room, what, "there are more rows than memory for "
                            "their bounds")
        enlarge(<void **>&self.block, sizeof(Block), used, room, what)
        enlarge(<void **>&self.length, BLOCK * sizeof(float), used, room, what)
        if self.begun:
            self.fit_bounds(used, room, what)
        self.room = room
        return 0

    cdef int fit_bounds(self, Py_ssize_t used, Py_ssize_t room, str what) except -1:
        enlarge(<void **>&self.m, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.r, BLOCK * sizeof(float), used, room, what)
        enlarge(<void **>&self.slot, BLOCK * sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.top, sizeof(float), used, room, what)
        enlarge(<void **>&self.radius, sizeof(float), used, room, what)
        enlarge(<void **>&self.seen, sizeof(int32_t), used, room, what)
        enlarge(<void **>&self.open, sizeof(int32_t), 0, room, what)
        return 0

    cdef int fit_choice(self, Regressions model, Scratch s, Py_ssize_t k) except -1:
        cdef str what = "the bounds of a catalogue"
        cdef Crossed alone
        alone.p, alone.c = 0, NULL
        model.fit_rows(self.some, alone, s)
        if model.d:
            model.form(0).fit_matrix(s)
            self.fit_check(model.form(0).matrix_room())
        if k > self.places_room:
            self.places_room, self.found = 0, 0
            enlarge(<void **>&self.score, sizeof(double), 0, k, what)
            enlarge(<void **>&self.index, sizeof(int64_t), 0, k, what)
            enlarge(<void **>&self.place, sizeof(int64_t), 0, k, what)
            self.places_room = k
        if self.begun:
            return 0
        self.fit_bounds(0, self.room, what)
        enlarge(<void **>&self.off, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.ref, sizeof(int32_t), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.width_at, sizeof(double), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.row_table, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.block_table, sizeof(float), 0, CF_CATALOGUE_SLOTS, what)
        enlarge(<void **>&self.terms, self.padded * sizeof(double), 0, CF_CATALOGUE_TERMS, what)
        enlarge(<void **>&self.check_w, self.padded * sizeof(double), 0, CHECKS, what)
        enlarge(<void **>&self.apart, self.padded * sizeof(double), 0, 1, what)
        memset(self.apart, 0, <size_t>self.padded * sizeof(double))
        self.begun = True
        return 0

    cdef int fit_check(self, Py_ssize_t room) except -1:
        """Memory for the matrix of the check to come, which a restart may put into place 1. There
        are as many as cost a sixteenth of a pass over the rows."""
        cdef int id, free
        if room != self.matrix_room:
            self.era = self.era if self.matrix_room == 0 else 0
            for id in range(CHECKS):
                L.free(self.check_a[id])
                self.check_a[id] = NULL
            self.matrix_room = room
        free = self.free_check()
        for id in (1, 1 if free < 0 else free):
            if self.check_a[id] == NULL:
                enlarge(<void **>&self.check_a[id], sizeof(double), 0, room, "A of a check")
        self.base = BASE
        while self.base > 2 and 6 * self.base * 8 * self.d > self.n:
            self.base //= 2
        return 0

    # --- one pass -----------------------------------------------------------------------------

    cdef void sweep(self, const double *v, Py_ssize_t begin, Py_ssize_t end, double *z,
                    double *best, int64_t *index) noexcept nogil:
        """The products with v of the rows of some blocks: the largest, and where, among those that
        may be chosen; where z is given, all of them into it."""
        cdef double out[BLOCK]
        cdef uint64_t which
        cdef const Block *block
        cdef Py_ssize_t b
        cdef int i, count
        best[0], index[0] = -INFINITY, -1
        for b in range(begin, end):
            block = self.block + b
            which = self.left(b) if z == NULL else <uint64_t>-1
            if block.held == 0 or which == 0:
                continue
            if self.floats:
                K.rows_dot_f32(self.d, block.held, <const float *>block.base, block.stride, v, out)
            else:
                K.rows_dot(self.d, block.held, <const double *>block.base, block.stride, v, out)
            if z != NULL:
                memcpy(z + block.first, out, <size_t>block.held * sizeof(double))
                continue
            for i in range(block.held):
                if out[i] > best[0] and which >> i & 1:
                    best[0], index[0] = out[i], block.first + i

    cdef int64_t largest_product(self, const double *v, double *z, double *best) except? -2:
        cdef Py_ssize_t jobs = min(self.jobs, max(self.blocks // 64, 1)), i
        cdef int64_t index, found = -1
        cdef double most
        if jobs == 1:
            with nogil:
                self.sweep(v, 0, self.blocks, z, best, &index)
            return index
        parts = [Part.of(self, v, z, self.blocks * i // jobs, self.blocks * (i + 1) // jobs)
                 for i in range(jobs)]
        threads = [threading.Thread(target=part) for part in parts[1:]]
        for thread in threads:
            thread.start()
        try:
            parts[0]()
        finally:
            for thread in threads:
                thread.join()
        best[0] = -INFINITY
        for part in parts:
            most = (<Part>part).best
            if most > best[0]:
                best[0], found = most, (<Part>part).index
        return found


cdef class Part:
    """A thread's part of a pass, which lives as long as the call."""

    cdef Catalogue of_whom
    cdef const double *v
    cdef double *z
    cdef Py_ssize_t begin, end
    cdef double best
    cdef int64_t index

    @staticmethod
    cdef Part of(Catalogue items, const double *v, double *z, Py_ssize_t begin, Py_ssize_t end):
        cdef Part out = Part()
        out.of_whom, out.v, out.z, out.begin, out.end = items, v, z, begin, end
        return out

    def __call__(self):
        with nogil:
            self.of_whom.sweep(self.v, self.begin, self.end, self.z, &self.best, &self.index)


cdef Py_ssize_t jobs_of(object n_jobs) except -1:
    import os
    if type(n_jobs) is int and n_jobs == -1:
        return os.cpu_count() or 1
    jobs = as_count(n_jobs, "n_jobs")
    if jobs == 0:
        raise ValueError("n_jobs must be >= 1 or -1, got 0")
    return min(jobs, 256)


cdef np.ndarray dense(object X, str name):
    """Rows as they lie, or as float64; whether they are finite is not looked at."""
    if isinstance(X, numpy.memmap):
        X = numpy.asarray(X)
    return as_rows(X, name)
