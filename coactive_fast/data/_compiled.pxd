"""What other rooms build readers on: a file in pieces of whole lines."""

from libc.stdint cimport int64_t


cdef class Pieces:
    cdef object read_into
    cdef object name
    cdef bytearray buffer
    cdef Py_ssize_t have        # bytes of the buffer that are filled
    cdef Py_ssize_t length      # of them, the bytes of the present piece; the rest comes again
    cdef bint ended
    cdef dict arrays            # what a piece is read into, by name
    cdef dict found             # of each array the part that the present piece fills

    cdef int reserve(self) except -1
    cdef void *room(self, str name, Py_ssize_t n, str dtype) except NULL
    cdef int show(self, Py_ssize_t n, str names) except -1
    cdef int read(self, const char *begin) except -1
    cdef int64_t lines_before(self) noexcept
    cdef str unit(self)                     # what may be no longer than a line
    cdef bint next_piece(self) except -1
    cdef int refuse_line(self, int status, int64_t line, Py_ssize_t begin, Py_ssize_t bad,
                         str more) except -1
