# The lock of one object under the GIL: changing methods alone, reading methods together, in the
# order in which they came.
#
# All fields are read and written with the GIL held, so an uncontended call costs three compares
# and no system call. Work that keeps the GIL needs only the check (`settle_*`); work that lets it
# go is fenced by `begin_*` and `end_*`. After `settle_*` a `begin_*` of the same thread does not
# wait, as long as the GIL was not let go between them.
#
# A thread that must wait queues, first come, first served. It sleeps without the GIL, wakes to
# look again, and leaves the queue before a signal's handler runs: whatever a handler raises, no
# one is left waiting for it. The `end_*` run no Python code and cannot fail.

cdef struct Waiter:
    Waiter *next
    void *bell                # a lock, held until the one who waits shall look again
    unsigned long long ticket
    bint writes
    bint rung

cdef class Guard:
    cdef int readers          # threads that read without the GIL, with repetition
    cdef bint writer          # a thread changes the object without the GIL; or it is closed
    cdef Waiter *first        # the queue, by tickets; not NULL while any thread waits
    cdef unsigned long owner  # that changing thread; a call from within it must not wait for itself
    cdef unsigned long *reading  # the threads that read, `room` for them
    cdef int room
    cdef unsigned long turn   # the thread served last by a settle_*, while it kept the GIL
    cdef str closed           # why the object cannot be used, or None
    cdef void *before         # the list of all guards, for a fork
    cdef void *after

    cdef int close(self, str reason) except -1
    cdef int open(self) except -1
    cdef int settle(self, bint writes) except -1
    cdef int queue(self, bint writes, unsigned long me) except -1
    cdef bint admits(self, bint writes) noexcept
    cdef void sleep(self, Waiter *node) noexcept
    cdef bint has_read(self, unsigned long thread) noexcept
    cdef void ring(self) noexcept
    cdef int begin_read(self) except -1
    cdef int begin_write(self) except -1
    cdef void end_read(self) noexcept
    cdef void end_write(self) noexcept
    cdef void forked(self, unsigned long survivor) noexcept

    cdef inline int settle_read(self) except -1:
        """Returns when no other thread is changing the object."""
        if self.writer or self.first != NULL:
            self.settle(False)
        return 0

    cdef inline int settle_write(self) except -1:
        """Returns when no other thread is reading or changing the object."""
        if self.writer or self.readers or self.first != NULL:
            self.settle(True)
        return 0
