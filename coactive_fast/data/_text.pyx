"""Text files as arrays, piece by piece: the glue to cf_text.h.

A reader holds one piece of the file (some hundred thousand bytes, more only for a longer line) and
what was read of it. ``advance`` goes on to the next piece; the arrays of the piece before are then
overwritten. The file object is read with its own ``readinto``; parsing holds no GIL.
"""

import numpy

cimport numpy as np
from libc.float cimport DBL_MAX
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT64_MAX, int64_t

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

np.import_array()

PIECE = 1 << 18     # bytes: text, and what is read of it, stay in the second cache


cdef str shortened(object text, Py_ssize_t most):
    shown = bytes(text[:most + 1]).decode("utf-8", "backslashreplace")
    return repr(shown if len(shown) <= most else shown[:most - 3] + "...")


cdef class Pieces:
    """A binary file, cut into pieces of whole lines; the last line may lack its line feed."""

    cdef object read_into
    cdef object name
    cdef bytearray buffer
    cdef Py_ssize_t have        # bytes of the buffer that are filled
    cdef Py_ssize_t length      # of them, the bytes of the present piece
    cdef bint ended

    def __init__(self, file, name, piece=PIECE):
        self.read_into = file.readinto
        self.name = name
        self.buffer = bytearray(piece)

    cdef bint next_piece(self) except -1:
        """Fills the buffer up to a line feed; False where the file is over."""
        cdef Py_ssize_t rest = self.have - self.length, got, feed
        if self.length:
            self.buffer[:rest] = self.buffer[self.length:self.have]
        self.have, self.length = rest, 0
        while not self.ended:
            if self.have + 1 >= len(self.buffer):
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
    cdef dict arrays

    def __init__(self, file, name, first, last, dtype, multilabel, query, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.rules.first = first
        self.rules.last = INT64_MAX if last is None else last
        self.rules.largest = CF_TEXT_LARGEST_F32 if dtype == numpy.float32 else DBL_MAX
        self.rules.multilabel = multilabel
        self.rules.query = query
        self.text.least, self.text.most = INT64_MAX, -1
        self.make_room()

    cdef int make_room(self) except -1:
        cdef Py_ssize_t pairs = cf_text_pairs_room(len(self.buffer))
        cdef Py_ssize_t rows = cf_text_rows_room(len(self.buffer))
        self.arrays = {
            "index": numpy.empty(pairs, numpy.int64), "value": numpy.empty(pairs),
            "label": numpy.empty(rows), "row_end": numpy.empty(rows, numpy.intp),
            "label_end": numpy.empty(rows, numpy.intp), "query": numpy.empty(rows, numpy.int64),
            "row_line": numpy.empty(rows, numpy.int64),
        }
        self.text.index = <int64_t *>np.PyArray_DATA(self.arrays["index"])
        self.text.value = <double *>np.PyArray_DATA(self.arrays["value"])
        self.text.label = <double *>np.PyArray_DATA(self.arrays["label"])
        self.text.row_end = <ptrdiff_t *>np.PyArray_DATA(self.arrays["row_end"])
        self.text.label_end = <ptrdiff_t *>np.PyArray_DATA(self.arrays["label_end"])
        self.text.query = <int64_t *>np.PyArray_DATA(self.arrays["query"])
        self.text.row_line = <int64_t *>np.PyArray_DATA(self.arrays["row_line"])
        return 0

    def advance(self):
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""
        cdef Py_ssize_t room = len(self.buffer)
        cdef const char *begin
        cdef int status
        self.text.n_pairs = self.text.n_labels = self.text.n_rows = 0
        if not self.next_piece():
            return False
        if len(self.buffer) != room:
            self.make_room()
        begin = self.buffer
        with nogil:
            status = cf_get_library().text_read_rows(&self.text, &self.rules, begin, self.length)
        if status:
            self.refuse_line(status, self.text.line, self.text.bad_line, self.text.bad,
                             self.range_of(status))
        return True

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

    @property
    def indices(self):
        return self.arrays["index"][:self.text.n_pairs]

    @property
    def values(self):
        return self.arrays["value"][:self.text.n_pairs]

    @property
    def row_ends(self):
        return self.arrays["row_end"][:self.text.n_rows]

    @property
    def labels(self):
        return self.arrays["label"][:self.text.n_labels]

    @property
    def label_ends(self):
        return self.arrays["label_end"][:self.text.n_rows]

    @property
    def queries(self):
        return self.arrays["query"][:self.text.n_rows]

    @property
    def lines(self):
        return self.arrays["row_line"][:self.text.n_rows]

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
    cdef dict arrays

    def __init__(self, file, name, piece=PIECE):
        Pieces.__init__(self, file, name, piece)
        self.make_room()

    cdef int make_room(self) except -1:
        cdef Py_ssize_t rows = cf_text_rows_room(len(self.buffer))
        self.arrays = {"user": numpy.empty(rows, numpy.int64),
                       "item": numpy.empty(rows, numpy.int64), "rating": numpy.empty(rows)}
        self.text.user = <int64_t *>np.PyArray_DATA(self.arrays["user"])
        self.text.item = <int64_t *>np.PyArray_DATA(self.arrays["item"])
        self.text.rating = <double *>np.PyArray_DATA(self.arrays["rating"])
        return 0

    def advance(self):
        """Reads the next piece; False where there is none. A bad line is a `ValueError`."""
        cdef Py_ssize_t room = len(self.buffer)
        cdef const char *begin
        cdef int status
        self.text.n = 0
        if not self.next_piece():
            return False
        if len(self.buffer) != room:
            self.make_room()
        begin = self.buffer
        with nogil:
            status = cf_get_library().text_read_ratings(&self.text, begin, self.length)
        if status:
            self.refuse_line(status, self.text.line, self.text.bad_line, self.text.bad, "")
        return True

    @property
    def users(self):
        return self.arrays["user"][:self.text.n]

    @property
    def items(self):
        return self.arrays["item"][:self.text.n]

    @property
    def ratings(self):
        return self.arrays["rating"][:self.text.n]


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
