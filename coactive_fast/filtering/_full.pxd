# The filters' ridge regression with all of A.

from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.filtering._models cimport Model
from coactive_fast.metric._full cimport Full


cdef class Moving(Full):
    pass


cdef dict settled(Full metric)


cdef class FullRidge(Model):
    # A = scale times what `metric` holds; w = A^-1 b. Reading and learning one x share one fused
    # pass of the triangle: `look` leaves v = A^-1 x (of the metric) and `quad` for `take`.
    cdef double ridge, forget
    cdef double scale          # a power of `forget`, > 2^-16; 1 without forgetting
    cdef Full metric
    cdef double *memory        # owned; those that follow point into it
    cdef double *w             # cf_pad(d); w and w_next change places
    cdef double *w_next
    cdef double *v
    cdef double *unit          # zeros but for a moment
    cdef double *work          # scratch of the metric
    cdef double quad           # x^T (A / scale)^-1 x of the last look

    cdef int propose(self, const double *x) noexcept nogil
    cdef int step(self, const double *x, double weight, double miss, double *w) noexcept nogil
    cdef int decay(self, const double *x, double m) noexcept nogil
    cdef int fold(self) noexcept nogil
    cdef bint strong(self, Py_ssize_t d) noexcept
    cdef bint may_be_robust(self) noexcept


cdef class WindowRidge(FullRidge):
    # The last `window` examples stand in a ring; b = sum of y x over them. Every `period` losses,
    # and where a loss would cost digits, all is made anew from the ring.
    cdef Py_ssize_t window
    cdef double *ring          # window rows of cf_pad(d), owned
    cdef double *label
    cdef Py_ssize_t oldest, count
    cdef Py_ssize_t losses     # since all was made anew

    cdef int lose_oldest(self) noexcept nogil
    cdef int rebuild(self) noexcept nogil
    cdef void restart(self) noexcept nogil
    cdef void learn_again(self) noexcept nogil
    cdef void keep(self, const double *x, double y) noexcept nogil


cdef class BallRidge(FullRidge):
    # P-RIDGE-FIL: P2 on the unit ball in the norm of A after each step.
    cdef double lam            # the last multiplier: where the next search begins
