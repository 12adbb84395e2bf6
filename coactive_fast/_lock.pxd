# The lock of one object (cf_lock.h): one thread changes it, or several threads read it, in the order
# in which they came; right with and without the GIL.
#
# A thread that must wait sleeps without the GIL and leaves the queue before a signal's handler runs:
# whatever a handler raises, no other thread is left waiting. A call that would wait for itself raises
# a RuntimeError. `release` and `release_shared` run no Python code and cannot fail.
#
# What was read to choose between `acquire` and `acquire_shared` is read again once the lock is held.
# Two objects are locked in the order that the class of the outer one names.

from libc.stdint cimport int64_t

cdef extern from "coactive_fast/cf_lock.h" nogil:
    ctypedef struct cf_lock:
        pass
    ctypedef struct cf_flag "atomic_int":
        pass
    bint cf_lock_try(cf_lock *l)
    int c_release "cf_lock_release"(cf_lock *l)
    ctypedef struct cf_number:
        pass
    int64_t cf_number_get(const cf_number *number)
    void cf_number_put(cf_number *number, int64_t value)
    bint cf_flag_set(cf_flag *flag)
    void cf_flag_clear(cf_flag *flag)


cdef class Lock:
    cdef cf_lock core
    # Why the object cannot be used: a text, or its class where __init__ was not called; or None.
    cdef object closed

    cdef int close(self, object reason) except -1
    cdef int open(self) except -1
    cdef int refuse(self) except -1
    cdef int wait(self, bint shared) except -1
    cdef void release_slow(self) noexcept
    cdef int acquire_shared(self) except -1
    cdef void release_shared(self) noexcept

    cdef inline int check_open(self) except -1:
        """Refuses an object that was not initialized or has been closed."""
        return 0 if self.closed is None else self.refuse()

    cdef inline int acquire(self) except -1:
        """The object for this thread alone."""
        if not cf_lock_try(&self.core):
            self.wait(False)
        return 0

    cdef inline void release(self) noexcept:
        if not c_release(&self.core):
            self.release_slow()

    cdef inline int acquire_read(self, bint alone) except -1:
        """For a reading. Alone costs least, where the reading is short and calls no Python code."""
        return self.acquire() if alone else self.acquire_shared()

    cdef inline void release_read(self, bint alone) noexcept:
        if alone:
            self.release()
        else:
            self.release_shared()
