# See _rules.pyx: what other modules cimport.

cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._state cimport State

cdef struct Matrix:
    # Rows of float64 or (floats) float32 in memory that others own, `step` numbers apart.
    Py_ssize_t n, d, step
    bint floats
    const char *rows


cdef class Rule:
    # Invariants. n = 0: nothing is known yet and memory is NULL. Else memory holds `vectors` rows
    # of cf_pad(n) doubles, zero beyond n, owned here; w (what scores are made with) and mean are
    # two, w_next and mean_next two more that a step writes before it commits by exchanging the
    # pointers.
    # rounds counts the steps; mean is the mean of the weights after each of them.
    # A step that answers a negative status has changed nothing that can be seen.
    cdef Py_ssize_t n
    cdef int64_t rounds
    cdef double *memory
    cdef double *w
    cdef double *mean
    cdef double *w_next
    cdef double *mean_next
    cdef bint compiled       # step() needs no Python

    cdef int vectors(self) noexcept
    cdef double initial(self, Py_ssize_t n) noexcept nogil   # every weight before the first round
    # The dimension is known: memory for it, or an error and nothing has changed.
    cdef int start(self, Py_ssize_t n) except -1
    cdef void lay_out(self) noexcept
    cdef double *row(self, int i) noexcept
    cdef int step(self, const double *delta) noexcept nogil
    # The step for delta = sum over m places of weight (x_plus - x_minus) without delta, where the
    # rule can: `direct` says so for the round to come.
    cdef bint direct(self) noexcept nogil
    cdef int step_places(self, Py_ssize_t m, const Matrix *x, const ptrdiff_t *plus,
                         const ptrdiff_t *minus, const double *weight) noexcept nogil
    cdef int mean_of_next(self) noexcept nogil
    cdef void commit(self) noexcept nogil
    cdef int fail(self, int status, str what) except -1      # raises what the status means
    cdef int adopt(self, Rule other) except -1
    cdef dict told(self)
    cdef int restore(self, State state) except -1
    cdef dict extra(self)
    cdef int take_extra(self, State state) except -1


cdef class Perceptron(Rule):
    cdef Py_ssize_t batch
    cdef Py_ssize_t waiting    # rounds of the unfinished batch
    cdef double *sum           # their Deltas; zeros where there are none
    cdef double *sum_next

cdef enum Kind:
    RANKING
    ITEMS
    OWN


cdef class Bench:
    # Scratch of one thread's rounds, in one piece of memory, owned here. Invariant: either nothing
    # is there and docs = n = places = 0, or all of it for so many documents, features and places.
    cdef Py_ssize_t docs, n, places
    cdef void *memory
    cdef double *delta         # cf_pad(n), zero beyond n
    cdef double *score         # docs
    cdef double *utility       # docs
    cdef double *own           # docs: utilities of a user who has weights of its own
    cdef ptrdiff_t *place      # docs zeros
    cdef ptrdiff_t *drawn      # 5 docs: random rankings
    cdef ptrdiff_t took        # which of them was the answer, or -1
    cdef ptrdiff_t *presented  # places
    cdef ptrdiff_t *better     # places
    cdef ptrdiff_t *clicked    # places: 1 where the document shown there was clicked, else 0
    cdef Py_ssize_t counts     # the first documents of `better` that count for a side
    cdef ptrdiff_t *plus       # places
    cdef ptrdiff_t *minus      # places
    cdef double *weight        # places
    cdef double *discount      # places
    cdef void *sorting         # candidates of top_k

    cdef int fit(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places) except -1
    # The first `most` places of a list of different documents out of n, with `docs` >= n.
    cdef Py_ssize_t take_places(self, np.ndarray given, str name, Py_ssize_t n, Py_ssize_t most,
                                ptrdiff_t *out) except -1


cdef class CoactiveEngine(Engine):
    # The rule is looked at, and the bench used, with the guard held or the GIL kept, after all that
    # arguments run has run.
    cdef Rule rule
    cdef object make           # () -> a fresh rule: what reset() begins with
    cdef readonly object task
    cdef Kind kind
    cdef Py_ssize_t k          # rankings: places that count
    cdef np.ndarray items      # catalogue
    cdef Bench bench

    cdef Rule fresh_rule_of(self, Py_ssize_t n)
    cdef int know(self, Py_ssize_t n, str what) except -1
    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1
    cdef int step(self, Py_ssize_t n, str what) except -1
    cdef int learn_vector(self, np.ndarray v, str what) except -1
    cdef np.ndarray scored(self, np.ndarray a, bint mean)
    cdef np.ndarray candidates(self, x)
    cdef Py_ssize_t item_at(self, object value, str name, np.ndarray candidates) except -1
    cdef object rank(self, np.ndarray a, Py_ssize_t k)
    cdef object best_item(self, np.ndarray candidates)
    cdef object best_by_score(self, np.ndarray candidates, bint mean)
    cdef int take_feedback(self, np.ndarray a, np.ndarray shown, np.ndarray wanted,
                           Py_ssize_t known, Py_ssize_t *p, Py_ssize_t *q) except -1
    cdef int learn_ranking(self, x, y, better) except -1
    cdef int learn_item(self, x, y, better) except -1
