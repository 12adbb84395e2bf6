"""The compiled loops of the loaders: text files as arrays (the glue to cf_text.h), and
`factorize`'s ridge regressions.

A reader holds one piece of the file (some hundred thousand bytes, more only for a longer line) and
what was read of it. ``advance`` goes on to the next piece; the arrays of the piece before are then
overwritten. The file object is read with its own ``readinto``; parsing holds no GIL.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT64_MAX, int64_t
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemv, dsyrk
from scipy.linalg.cython_lapack cimport dposv

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport (
    CF_EINDEX,
    CF_TEXT_LARGEST_F32,
    cf_get_library,
    cf_text,
    cf_text_pairs_room,
    cf_text_ratings,
    cf_text_rows_room,
    cf_text_rules,
)

from coactive_fast import _memory

np.import_array()

PIECE = 1 << 18     # bytes: text, and what is read of it, stay in the second cache

cdef enum:
    SEGMENT = 64    # rows of features that are gathered at a time


cdef str shortened(object text, Py_ssize_t most):
    shown = bytes(text[:most + 1]).decode("utf-8", "backslashreplace")
    return repr(shown if len(shown) <= most else shown[:most - 3] + "...")


cdef class Pieces:
    """A binary file, cut into pieces of whole lines; the last line may lack its line feed.

    What a piece holds are attributes, an array each.
    """

    def __init__(self, file, name, piece=PIECE):
        self.read_into = file.readinto
        self.name = name
        self.buffer = bytearray(piece)
        self.arrays, self.found = {}, {}
        self.reserve()

    def __getattr__(self, name):
        if name in self.found:
            return self.found[name]
        raise AttributeError(f"{type(self).__name__} has no array {name!r}")

    def advance(self):
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""
        cdef Py_ssize_t room = len(self.buffer)
        if not self.next_piece():
            return False
        if len(self.buffer) != room:
            self.reserve()
        self.read(self.buffer)
        return True

    cdef int reserve(self) except -1:
        """Arrays with room for what a full buffer may hold."""
        raise NotImplementedError

    cdef void *room(self, str name, Py_ssize_t n, str dtype) except NULL:
        """The memory of an array of n numbers, which `arrays` has by this name from now on."""
        cdef np.ndarray array = numpy.empty(n, dtype)
        self.arrays[name] = array
        return np.PyArray_DATA(array)

    cdef int show(self, Py_ssize_t n, str names) except -1:
        """The first n numbers of these arrays are what the present piece holds."""
        for name in names.split():
            self.found[name] = self.arrays[name][:n]
        return 0

    cdef int read(self, const char *begin) except -1:
        """The lines of the present piece into the arrays."""
        raise NotImplementedError

    cdef int64_t lines_before(self) noexcept:
        """How many lines there were before the present piece."""
        return 0

    cdef str unit(self):
        """What a buffer must hold as a whole."""
        return "line"

    cdef bint next_piece(self) except -1:
        """Fills the buffer up to a line feed; False where the file is over."""
        cdef Py_ssize_t rest = self.have - self.length, got, feed
        if self.length:
            self.buffer[:rest] = self.buffer[self.length:self.have]
        self.have, self.length = rest, 0
        while not self.ended:
            if self.have + 1 >= len(self.buffer):
                if len(self.buffer) >= _memory.longest_line:
                    _memory.refuse_long_line(self.name, self.lines_before() + 1, self.unit())
                self.buffer.extend(bytes(len(self.buffer)))
            with memoryview(self.buffer) as view, view[self.have:len(view) - 1] as free:
                got = self.read_into(free)
            feed = self.buffer.rfind(b"\n", self.have, self.have + got)
            self.have += got
            if got == 0:
                self.ended = True
            elif feed >= 0:
                self.length = feed + 1
                return True
        if self.have == 0:
            return False
        self.buffer[self.have] = b"\n"[0]   # one byte is always left for it
        self.length = self.have = self.have + 1
        return True

    cdef int refuse_line(self, int status, int64_t line, Py_ssize_t begin, Py_ssize_t bad,
                         str more) except -1:
        message = (<bytes>cf_get_library().status_message(status)).decode()
        text = bytes(self.buffer[begin:self.buffer.index(b"\n", begin)])
        token = text[bad - begin:].split(None, 1)[:1]
        found = f", got {shortened(token[0], 40)}" if token and bad > begin else ""
        raise ValueError(
            f"{self.name}: line {line}: {message}{more}{found} in {shortened(text, 80)}"
        )


cdef class Rows(Pieces):
    """svmlight rows. The arrays of a piece: indices and values of all pairs, row_ends, labels,
    label_ends, queries, lines (a number for each row)."""

    cdef cf_text text
    cdef cf_text_rules rules

    def __init__(self, file, name, first, last, dtype, multilabel, query, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.rules.first = first
        self.rules.last = INT64_MAX - 1 + first if last is None else last  # columns are counted
        self.rules.largest = CF_TEXT_LARGEST_F32 if dtype == numpy.float32 else DBL_MAX
        self.rules.multilabel = multilabel
        self.rules.query = query
        self.text.least, self.text.most = INT64_MAX, -1

    cdef int reserve(self) except -1:
        cdef Py_ssize_t pairs = cf_text_pairs_room(len(self.buffer))
        cdef Py_ssize_t rows = cf_text_rows_room(len(self.buffer))
        self.text.index = <int64_t *>self.room("indices", pairs, "i8")
        self.text.value = <double *>self.room("values", pairs, "f8")
        self.text.label = <double *>self.room("labels", rows, "f8")
        self.text.row_end = <ptrdiff_t *>self.room("row_ends", rows, "p")
        self.text.label_end = <ptrdiff_t *>self.room("label_ends", rows, "p")
        self.text.query = <int64_t *>self.room("queries", rows, "i8")
        self.text.row_line = <int64_t *>self.room("lines", rows, "i8")
        return 0

    cdef int64_t lines_before(self) noexcept:
        return self.text.line

    cdef int read(self, const char *begin) except -1:
        cdef int status
        self.text.n_pairs = self.text.n_labels = self.text.n_rows = 0
        with nogil:
            status = cf_get_library().text_read_rows(&self.text, &self.rules, begin, self.length)
        if status:
            self.refuse_line(status, self.text.line, self.text.bad_line, self.text.bad,
                             self.range_of(status))
        self.show(self.text.n_pairs, "indices values")
        self.show(self.text.n_rows, "row_ends label_ends queries lines")
        return self.show(self.text.n_labels, "labels")

    cdef str range_of(self, int status):
        if status != CF_EINDEX:
            return ""
        if self.rules.last == INT64_MAX:
            return f" (at least {self.rules.first})"
        return f" ({self.rules.first} ... {self.rules.last})"

    @property
    def least(self):
        """The least index so far, counted from 0; None before the first pair."""
        return None if self.text.most < 0 else self.text.least

    @property
    def most(self):
        """The greatest index so far, counted from 0; -1 before the first pair."""
        return self.text.most

    @property
    def n_rows(self):
        return self.text.n_rows

    def scatter(self, np.ndarray flat, Py_ssize_t row, Py_ssize_t stride):
        """The pairs into the dense rows from `row` on of `flat`, which hold zeros."""
        cdef Py_ssize_t begin = row * stride
        cdef void *data = np.PyArray_DATA(flat)
        if (self.text.most >= stride or begin + self.text.n_rows * stride > flat.size
                or not flat.flags.carray):
            raise ValueError("the rows do not fit")
        if flat.dtype == numpy.float32:
            with nogil:
                cf_get_library().text_scatter_f32(&self.text, stride, <float *>data + begin)
        elif flat.dtype == numpy.float64:
            with nogil:
                cf_get_library().text_scatter(&self.text, stride, <double *>data + begin)
        else:
            raise TypeError(f"expected float32 or float64, got {flat.dtype}")


cdef class Ratings(Pieces):
    """Ratings. The arrays of a piece: users, items, ratings."""

    cdef cf_text_ratings text

    cdef int reserve(self) except -1:
        cdef Py_ssize_t rows = cf_text_rows_room(len(self.buffer))
        self.text.user = <int64_t *>self.room("users", rows, "i8")
        self.text.item = <int64_t *>self.room("items", rows, "i8")
        self.text.rating = <double *>self.room("ratings", rows, "f8")
        return 0

    cdef int64_t lines_before(self) noexcept:
        return self.text.line

    cdef int read(self, const char *begin) except -1:
        cdef int status
        self.text.n = 0
        with nogil:
            status = cf_get_library().text_read_ratings(&self.text, begin, self.length)
        if status:
            self.refuse_line(status, self.text.line, self.text.bad_line, self.text.bad, "")
        return self.show(self.text.n, "users items ratings")


def restride(np.ndarray flat, Py_ssize_t rows, Py_ssize_t old, Py_ssize_t new,
             Py_ssize_t skip=0):
    """Rows of `old` numbers at the beginning of `flat` become rows of `new`, in place.

    A longer row is filled up with zeros; a shorter one loses `skip` numbers at its beginning
    and the rest at its end.
    """
    cdef Py_ssize_t size = flat.itemsize
    cdef char *data = <char *>np.PyArray_DATA(flat)
    if rows * max(old, new) > flat.size or new + skip > max(old, new) or not flat.flags.carray:
        raise ValueError("the rows do not fit")
    with nogil:
        cf_get_library().text_restride(rows, old * size, new * size, skip * size, data)


# --- factorize ----------------------------------------------------------------------------------

# One ridge regression a row of a rating matrix. A row's features are gathered SEGMENT at a time,
# which stay in the first cache and are so few that BLAS starts no threads for them; their products
# are summed by dsyrk and dgemv, the system is solved by dposv. About count * rank^2 + rank^3 / 3
# flops a row, and no allocation.


def solve_rows(np.ndarray starts, np.ndarray places, np.ndarray values, np.ndarray others,
               double weight, np.ndarray out, Py_ssize_t begin, Py_ssize_t end):
    """Rows begin ... end of `out` from the other side's features.

    Parameters
    ----------
    starts, places : ndarray of intp
        As in CSR: where rows begin, and whom they rate.
    values : ndarray of float64
    others : ndarray of float64, C-contiguous, shape (m, rank)
    weight : float
        Regularisation, times the number of a row's ratings.
    out : ndarray of float64, C-contiguous, shape (n, rank)
        Rows without ratings are left as they are.
    """
    cdef int rank = <int>np.PyArray_DIM(others, 1), info = 0
    cdef Py_ssize_t square = <Py_ssize_t>rank * rank
    cdef np.ndarray room = numpy.empty(square + SEGMENT * <Py_ssize_t>rank)
    cdef double *gram = data_of(room)
    cdef const double *features = data_of(others)
    cdef const double *rated = data_of(values)
    cdef const Py_ssize_t *first = <const Py_ssize_t *>np.PyArray_DATA(starts)
    cdef const Py_ssize_t *place = <const Py_ssize_t *>np.PyArray_DATA(places)
    cdef double *x = data_of(out)
    cdef Py_ssize_t i
    with nogil:
        for i in range(begin, end):
            if first[i + 1] > first[i]:
                info = one(rank, first[i + 1] - first[i], place + first[i], rated + first[i],
                           features, weight, gram, gram + square, x + i * rank)
                if info != 0:
                    break
    if info != 0:
        raise numpy.linalg.LinAlgError(f"the features of row {i} overflow")


cdef int one(int rank, Py_ssize_t count, const Py_ssize_t *place, const double *rated,
             const double *features, double weight, double *gram, double *some,
             double *x) noexcept nogil:
    """One row's system, made and solved; LAPACK's info."""
    cdef double alpha = 1.0, beta = 0.0
    cdef int part, step = 1, info
    cdef Py_ssize_t at = 0, j
    while at < count:
        part = <int>min(SEGMENT, count - at)
        for j in range(part):
            memcpy(some + j * rank, features + place[at + j] * rank, rank * sizeof(double))
        # row-major (part, rank) is column-major (rank, part)
        dsyrk("L", "N", &rank, &part, &alpha, some, &rank, &beta, gram, &rank)
        dgemv("N", &rank, &part, &alpha, some, &rank, <double *>(rated + at), &step, &beta, x,
              &step)
        beta = 1.0
        at += part
    for j in range(rank):
        gram[j * rank + j] += weight * count
    dposv("L", &rank, &step, gram, &rank, x, &rank, &info)
    return info
