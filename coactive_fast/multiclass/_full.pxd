# Confidit with whole matrices: K ridge regressions, in two layouts.

cimport cython
cimport numpy as np

from coactive_fast._table cimport cf_full
from coactive_fast.multiclass._models cimport Model, Work
from coactive_fast.multiclass._policy cimport Policy


@cython.final
cdef class FullRidges(Model):
    # Invariants. `held` features have memory, in the layout that `held` chose; core[i] is the core
    # of fulls[i], which keeps A_i, its counts and its logdet in both layouts. All is owned here.
    # One by one: the core has A_i^-1 too, its pending term is 0 but for that of a run's last
    # round (`waiting`); the weights of class i are the cf_pad(held) doubles at w + i * w_step.
    # Eight abreast (cf_octet.h): group g of eight classes has its inverses at b + g * b_step and
    # its weights at w + g * w_step; the core's own inverse is scratch of its watch.
    cdef Policy policy
    cdef Py_ssize_t held
    cdef bint abreast
    cdef bint bounded          # classes that cannot win are not looked at; tests switch it off
    cdef list fulls
    cdef cf_full **core
    cdef char *waiting
    cdef double *w
    cdef double *b
    cdef double *grown         # eight abreast: log(grown[i]) is not yet in the core's logdet
    cdef Py_ssize_t w_step, b_step
    cdef double *scratch       # of fulls[0]

    cdef int allot(self, Py_ssize_t k, Py_ssize_t d, list fulls) except -1
    cdef void give_back(self) noexcept
    cdef void load_lane(self, Py_ssize_t i) noexcept nogil
    cdef void store_lane(self, Py_ssize_t i) noexcept nogil
    cdef void look_at_group(self, Work w, Py_ssize_t g) noexcept nogil
    cdef void look_at(self, Work w, Py_ssize_t i) noexcept nogil
    cdef int read_all(self, Work w) noexcept nogil
    cdef int read_bounded(self, Work w) noexcept nogil
    cdef int verdict(self, Work w, double q) noexcept nogil
    cdef void move(self, Work w, Py_ssize_t label, double step) noexcept nogil
    cdef void update(self, Work w, Py_ssize_t i, double q) noexcept nogil
    cdef double *row_of(self, Work w, Py_ssize_t i) noexcept nogil
    cdef double *weight_at(self, Py_ssize_t i, Py_ssize_t f) noexcept nogil
    cdef int put_back(self, np.ndarray table, np.ndarray grown) except -1
    cdef np_grown(self)
    cdef int look_again(self, Work w, Py_ssize_t i) noexcept nogil
