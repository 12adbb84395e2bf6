"""The lock of one object; see _lock.pxd."""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

from coactive_fast._initialized import not_initialized

cdef extern from * nogil:
    """
    #define CF_LOCK_IMPLEMENTATION
    #include "coactive_fast/cf_lock.h"

    static void cf_bell_ring(void *bell) { PyThread_release_lock((PyThread_type_lock)bell); }

    /* 1 where the bell was rung, 0 where a signal came first */
    static int cf_bell_wait(void *bell)
    {
        return PyThread_acquire_lock_timed((PyThread_type_lock)bell, -1, 1) == PY_LOCK_ACQUIRED;
    }
    """
    ctypedef struct cf_waiter:
        void *bell
        void (*wake)(void *bell) noexcept
        uintptr_t thread
        int shared
    enum:
        CF_LOCK_ENTERED
        CF_LOCK_IN_CHANGE
        CF_LOCK_IN_READ
        CF_LOCK_CLOSED
    uintptr_t CF_LOCK_THREAD()
    void *PyThread_allocate_lock()
    void PyThread_free_lock(void *)
    int PyThread_acquire_lock(void *, int)
    void cf_bell_ring(void *bell) noexcept
    bint cf_bell_wait(void *bell)
    bint cf_reads_full()
    int cf_lock_try_slow(cf_lock *l, bint shared)
    void cf_lock_queue(cf_lock *l, cf_waiter *node)
    bint cf_lock_leave_queue(cf_lock *l, cf_waiter *node)
    bint cf_lock_try_shared(cf_lock *l)
    void cf_lock_note_shared(cf_lock *l)
    void c_release_slow "cf_lock_release_slow"(cf_lock *l)
    void c_release_shared "cf_lock_release_shared"(cf_lock *l)
    void cf_lock_close(cf_lock *l, bint closed)
    void cf_lock_register(cf_lock *l)
    void cf_lock_unregister(cf_lock *l)
    void cf_locks_forked()


cdef class Lock:
    def __cinit__(self):
        cf_lock_register(&self.core)

    def __dealloc__(self):
        cf_lock_unregister(&self.core)

    cdef int close(self, object reason) except -1:
        """Refuses every call from now on; for objects that no thread is using."""
        self.closed = reason
        cf_lock_close(&self.core, True)
        return 0

    cdef int open(self) except -1:
        self.closed = None
        cf_lock_close(&self.core, False)
        return 0

    cdef int refuse(self) except -1:
        if isinstance(self.closed, type):
            raise RuntimeError(not_initialized(self.closed))
        raise RuntimeError(self.closed or
                           "the object was being changed by another thread when the process "
                           "forked: what the child has of it is no whole state")

    cdef int wait(self, bint shared) except -1:
        """Acquires the lock of an object that is in use."""
        cdef cf_waiter *node
        cdef int answer = cf_lock_try_slow(&self.core, shared)
        if answer == CF_LOCK_ENTERED:
            return 0
        if answer == CF_LOCK_CLOSED:
            return self.refuse()
        if answer == CF_LOCK_IN_CHANGE:
            raise RuntimeError("a method was called from within one that changes the same object")
        if answer == CF_LOCK_IN_READ:
            raise RuntimeError("a method that changes the object was called from within one that "
                               "reads it")
        node = <cf_waiter *>calloc(1, sizeof(cf_waiter))  # not on a stack: a release writes it
        if node != NULL:
            node.bell = PyThread_allocate_lock()
        if node == NULL or node.bell == NULL:
            free(node)
            raise MemoryError("a lock to wait for another thread")
        PyThread_acquire_lock(node.bell, 1)
        node.wake, node.thread, node.shared = cf_bell_ring, CF_LOCK_THREAD(), shared
        try:
            while True:
                cf_lock_queue(&self.core, node)
                with nogil:
                    cf_bell_wait(node.bell)
                if cf_lock_leave_queue(&self.core, node):
                    return 0
                PyErr_CheckSignals()
        finally:
            PyThread_free_lock(node.bell)
            free(node)

    cdef void release_slow(self) noexcept:
        c_release_slow(&self.core)

    cdef int acquire_shared(self) except -1:
        """The object together with other threads that read it."""
        if cf_reads_full():
            raise RuntimeError("one thread reads too many objects at once")
        if not cf_lock_try_shared(&self.core):
            self.wait(True)
        cf_lock_note_shared(&self.core)
        return 0

    cdef void release_shared(self) noexcept:
        c_release_shared(&self.core)


def _forked():
    cf_locks_forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
