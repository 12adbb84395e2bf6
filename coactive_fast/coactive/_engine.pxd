# The engine of the coactive family: a task, a rule, and the rounds between them.

cimport numpy as np

from coactive_fast.coactive._rules cimport Rule
from coactive_fast.learner._engine cimport Engine

cdef enum Kind:
    RANKING
    ITEMS
    OWN


cdef class Bench:
    # Scratch of one thread's rounds, grown as needed, owned here.
    cdef Py_ssize_t docs, n, places
    cdef double *score         # docs
    cdef double *utility       # docs
    cdef ptrdiff_t *place     # docs zeros
    cdef ptrdiff_t *presented # places
    cdef ptrdiff_t *better    # places
    cdef ptrdiff_t *plus       # places
    cdef ptrdiff_t *minus      # places
    cdef double *weight        # places
    cdef double *discount      # places
    cdef double *delta         # cf_pad(n), zero beyond n
    cdef void *sorting         # candidates of top_k
    cdef ptrdiff_t *drawn      # 5 docs: random rankings
    cdef ptrdiff_t took        # which of them was the answer, or -1

    cdef int fit(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places) except -1
    cdef void drop(self) noexcept


cdef class CoactiveEngine(Engine):
    cdef Rule rule
    cdef object make           # () -> a fresh rule: what reset() begins with
    cdef readonly object task
    cdef Kind kind
    cdef Py_ssize_t k          # rankings: places that count
    cdef np.ndarray items      # catalogue
    cdef Bench bench           # for changing methods

    cdef int know(self, Py_ssize_t n, str what) except -1
    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1
    cdef int step(self, const double *delta, str what) except -1
    cdef int first_step(self, Py_ssize_t d, str what) except -1
    cdef object scores_under_lock(self, np.ndarray a)
    cdef object item_scores(self, np.ndarray c)
    cdef np.ndarray candidates(self, x)
    cdef object rank(self, x, k)
    cdef object best_item(self, x)
    cdef int learn_ranking(self, x, y, better) except -1
    cdef int learn_item(self, x, y, better) except -1

# Helpers that the simulations share.
cdef np.ndarray documents_of(object x)
cdef void scores_of(np.ndarray a, const double *w, double *out) noexcept nogil
cdef np.ndarray ranking_of(object value, str name, Py_ssize_t n)
cdef Py_ssize_t changed_places(Bench b, Py_ssize_t k, const ptrdiff_t *presented,
                               const ptrdiff_t *better) noexcept nogil
cdef void ranking_delta(Bench b, Py_ssize_t p, const ptrdiff_t *presented, Py_ssize_t q,
                        const ptrdiff_t *better, const void *rows, bint floats,
                        Py_ssize_t stride) noexcept nogil
cdef void item_delta(Bench b, ptrdiff_t presented, ptrdiff_t better, const void *rows,
                     bint floats) noexcept nogil
