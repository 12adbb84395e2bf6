"""The lock of one object; see _guard.pxd."""

import threading


cdef class Guard:
    cdef int wait(self, bint readers_too) except -1:
        if self.writer and self.owner == threading.get_ident():
            raise RuntimeError("a method that changes the object was called from within another")
        fresh = threading.Condition()
        if self.condition is None:  # looked at and set without letting the GIL go between
            self.condition = fresh
        with self.condition:
            while self.writer or (readers_too and self.readers):
                self.condition.wait()
        return 0

    cdef int begin_read(self) except -1:
        self.settle_read()
        self.readers += 1
        return 0

    cdef int begin_write(self) except -1:
        self.settle_write()
        self.writer = True
        self.owner = threading.get_ident()
        return 0

    cdef int end_read(self) except -1:
        self.readers -= 1
        return self.wake()

    cdef int end_write(self) except -1:
        self.writer = False
        self.owner = None
        return self.wake()

    cdef int wake(self) except -1:
        if self.condition is not None:
            with self.condition:
                self.condition.notify_all()
        return 0
