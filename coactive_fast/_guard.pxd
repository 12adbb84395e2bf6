# The lock of one object under the GIL: changing methods alone, reading methods together.
#
# All counters are read and written with the GIL held, so an uncontended call costs two compares
# and no system call. Work that keeps the GIL needs only the check (`settle_*`); work that lets it
# go is fenced by `begin_*` and `end_*`. A waiting thread sleeps on a Condition without the GIL.

cdef class Guard:
    cdef int readers          # threads that read without the GIL
    cdef bint writer          # a thread changes the object without the GIL
    cdef object owner         # the ident of that thread: a callback must not wait for itself
    cdef object condition     # made when first needed

    cdef int wait(self, bint readers_too) except -1
    cdef int wake(self) except -1
    cdef int begin_read(self) except -1
    cdef int begin_write(self) except -1
    cdef int end_read(self) except -1
    cdef int end_write(self) except -1

    cdef inline int settle_read(self) except -1:
        """Returns when no other thread is changing the object."""
        while self.writer:
            self.wait(False)
        return 0

    cdef inline int settle_write(self) except -1:
        """Returns when no other thread is reading or changing the object."""
        while self.writer or self.readers:
            self.wait(True)
        return 0
