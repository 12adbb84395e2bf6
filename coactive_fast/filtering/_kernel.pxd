# The filters' ridge regression in the feature space of a kernel: the dual form.

from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.filtering._models cimport Model
from coactive_fast.learner._rows cimport RowBuffer, Rows
from coactive_fast.metric._full cimport Full
from coactive_fast.metric._gram cimport Gram
from coactive_fast.metric._kept cimport Forms


cdef class KernelRidge(Model):
    # With M = ridge I + G = L L^T over the examples kept: u = L^-1 k, w.x = u.c with c = L^-1 y,
    # q = (k(x,x) - u.u) / ridge; (u, sqrt(ridge (1 + q))) is the next row of L, so that learning
    # after a reading is free. c, y and born have room for gram.room examples.
    cdef double ridge
    cdef Py_ssize_t window     # 0: none
    cdef Gram gram
    cdef double *y
    cdef double *c
    cdef int64_t *born         # the number of each example kept, among all learned
    cdef Py_ssize_t room
    cdef double *u             # of the last look; in `own_u` or in the block looked at ahead
    cdef double *own_u
    cdef double *drop          # scratch of drop_first
    cdef double own            # k(x, x) of the last look
    cdef double info           # ln det M - n ln ridge
    # A block of rows looked at ahead, each in `stride` doubles: u for the first `block_n`
    # examples; what the solve began with in the last, unfinished panel stands in `tails`.
    cdef double *block
    cdef double *tails
    cdef double *owns
    cdef Py_ssize_t block_room, stride, block_count, block_n

    cdef void give_back(self) noexcept
    cdef int make_place(self, Py_ssize_t room) except -1
    cdef int answer(self, const double *u, double own, double *m, double *q) noexcept nogil
    cdef void prepare_block(self, Rows X, Py_ssize_t t, Py_ssize_t count, RowBuffer buffer,
                            Forms forms) noexcept nogil
    cdef int finish(self, Py_ssize_t i, const cf_row *x, Forms forms) noexcept nogil
    cdef int store(self, const cf_row *x, Forms forms, double y, double m,
                   double q) noexcept nogil
    cdef void expire(self) noexcept nogil


cdef class BudgetRidge(KernelRidge):
    # At most `budget` examples are kept, as a dictionary; the others count through what the
    # dictionary can say of them. `gram` has ridge 0; `inner` is A and `w` the weights in the
    # coordinates of the dictionary, unused ones still at ridge and 0.
    cdef Py_ssize_t budget
    cdef double tolerance, inner_ridge
    cdef double missed         # sum of the squared distances of what was not kept
    cdef Full inner
    cdef double *memory        # owned; those that follow point into it
    cdef double *w             # cf_pad(budget); w and w_next change places
    cdef double *w_next
    cdef double *v
    cdef double *z             # u, zero beyond
    cdef double *work

    cdef int within(self, double *m, double *q) noexcept nogil
