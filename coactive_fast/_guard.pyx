"""The lock of one object; see _guard.pxd."""

import os

from cpython.exc cimport PyErr_CheckSignals
from libc.stdlib cimport calloc, free, realloc

cdef extern from "Python.h" nogil:
    """
    /* 1 when rung, 0 when a signal came first */
    static int cf_sleep(void *bell)
    {
        return PyThread_acquire_lock_timed((PyThread_type_lock)bell, -1, 1) == PY_LOCK_ACQUIRED;
    }
    """
    void *PyThread_allocate_lock()
    void PyThread_free_lock(void *)
    int PyThread_acquire_lock(void *, int)
    void PyThread_release_lock(void *)
    unsigned long PyThread_get_thread_ident()
    int cf_sleep(void *bell)

cdef void *guards = NULL           # all of them, by `after`
cdef unsigned long long tickets = 0


cdef class Guard:
    def __cinit__(self):
        global guards
        self.after = guards
        if guards != NULL:
            (<Guard>guards).before = <void *>self
        guards = <void *>self

    def __dealloc__(self):
        global guards
        if self.before != NULL:
            (<Guard>self.before).after = self.after
        else:
            guards = self.after
        if self.after != NULL:
            (<Guard>self.after).before = self.before
        free(self.reading)

    # --- an object that cannot be used ---------------------------------------------------------

    cdef int close(self, str reason) except -1:
        """Every call is refused from now on; for objects that no thread is using."""
        self.closed = reason
        self.writer = True
        return 0

    cdef int open(self) except -1:
        self.closed = None
        self.writer = False
        return 0

    # --- waiting -------------------------------------------------------------------------------

    cdef bint has_read(self, unsigned long thread) noexcept:
        cdef int i
        for i in range(self.readers):
            if self.reading[i] == thread:
                return True
        return False

    cdef bint admits(self, bint writes) noexcept:
        return not self.writer and not (writes and self.readers)

    cdef int settle(self, bint writes) except -1:
        """The slow way in: the object is busy or others came first."""
        cdef unsigned long me = PyThread_get_thread_ident()
        if self.closed is not None:
            raise RuntimeError(self.closed)
        if self.writer and self.owner == me:
            raise RuntimeError("a method was called from within one that changes the same object")
        if self.readers and self.has_read(me):
            if writes:
                raise RuntimeError("a method that changes the object was called from within one "
                                   "that reads it")
            return 0  # it reads already; to queue would be to wait for itself
        if self.turn == me and self.admits(writes):
            return 0
        self.queue(writes, me)
        self.turn = me
        self.ring()  # who is next looks as soon as this thread lets the GIL go
        return 0

    cdef int queue(self, bint writes, unsigned long me) except -1:
        """Waits its turn. Nothing that Python raises leaves this thread in the queue."""
        global tickets
        cdef Waiter **at
        cdef Waiter *node = <Waiter *>calloc(1, sizeof(Waiter))  # not on a stack that may die
        if node != NULL:
            node.bell = PyThread_allocate_lock()
        if node == NULL or node.bell == NULL:
            free(node)
            raise MemoryError("a lock to wait for another thread")
        PyThread_acquire_lock(node.bell, 1)
        tickets += 1
        node.ticket, node.writes = tickets, writes
        try:
            while True:
                at = &self.first
                while at[0] != NULL and at[0].ticket < node.ticket:
                    at = &at[0].next
                node.next = at[0]
                at[0] = node
                self.sleep(node)
                at = &self.first
                while at[0] != node:
                    at = &at[0].next
                at[0] = node.next
                if at == &self.first and self.admits(writes):
                    return 0
                self.ring()
                PyErr_CheckSignals()
        finally:
            PyThread_free_lock(node.bell)
            free(node)

    cdef void sleep(self, Waiter *node) noexcept:
        """Until it is first and the object is free, or a signal comes."""
        cdef bint rung = True
        self.turn = 0  # another thread is at work: who had it has let the GIL go
        while rung and not (self.first == node and self.admits(node.writes)):
            with nogil:
                rung = cf_sleep(node.bell)
            self.turn = 0
            if rung:
                node.rung = False

    cdef void ring(self) noexcept:
        """Wakes the first in the queue if the object is free for it."""
        if self.first != NULL and not self.first.rung and self.admits(self.first.writes):
            self.first.rung = True
            PyThread_release_lock(self.first.bell)

    # --- work without the GIL ------------------------------------------------------------------

    cdef int begin_read(self) except -1:
        cdef unsigned long *more
        self.settle_read()
        cdef int room = 2 * self.room + 4
        if self.readers == self.room:
            more = <unsigned long *>realloc(self.reading, room * sizeof(unsigned long))
            if more == NULL:
                raise MemoryError("a list of the threads that read")
            self.reading, self.room = more, room
        self.reading[self.readers] = PyThread_get_thread_ident()
        self.readers += 1
        return 0

    cdef int begin_write(self) except -1:
        self.settle_write()
        self.writer = True
        self.owner = PyThread_get_thread_ident()
        return 0

    cdef void end_read(self) noexcept:
        cdef unsigned long me = PyThread_get_thread_ident()
        cdef int i = self.readers - 1
        while i > 0 and self.reading[i] != me:
            i -= 1
        self.readers -= 1
        self.reading[i] = self.reading[self.readers]
        self.turn = 0
        self.ring()

    cdef void end_write(self) noexcept:
        self.writer = False
        self.owner = 0
        self.turn = 0
        self.ring()

    # --- fork ----------------------------------------------------------------------------------

    cdef void forked(self, unsigned long survivor) noexcept:
        """In the child: of all threads only the one that forked is left."""
        cdef int i, kept = 0
        self.first = NULL  # the one that forked was not waiting; the others' memory is lost
        self.turn = 0
        for i in range(self.readers):
            if self.reading[i] == survivor:
                kept += 1
        for i in range(kept):
            self.reading[i] = survivor
        self.readers = kept
        if self.writer and self.closed is None and self.owner != survivor:
            self.closed = ("the object was being changed by another thread when the process "
                           "forked: what the child has of it is no whole state")


def _forked():
    cdef void *at = guards
    cdef unsigned long survivor = PyThread_get_thread_ident()
    while at != NULL:
        (<Guard>at).forked(survivor)
        at = (<Guard>at).after


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
