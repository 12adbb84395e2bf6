# The rules of online convex optimisation: where a learner explores, and what a round does (SPEC 5).

cimport numpy as np

from coactive_fast.convex._chance cimport Chance
from coactive_fast.convex._regions cimport Region
from coactive_fast.metric._full cimport Full


cdef class Rule:
    # y, v and x have n doubles and belong to the engine. A step that answers a negative status has
    # changed nothing that can be seen; one that answers CF_OK has written y_next and committed
    # what the rule keeps besides y.
    cdef readonly Py_ssize_t n
    cdef Region whole            # whose directions are tried; None where gradients are seen
    cdef Region region           # that the centre stays in
    cdef readonly double delta   # length of the random step; 0 where gradients are seen
    cdef readonly double gamma   # by how much `region` is shrunk
    cdef double swing            # how far a loss lay from its baseline; 0: it had none

    cdef int draw(self, Chance chance, const double *y, double *v) noexcept nogil
    cdef void reach(self, const double *y, const double *v, double sign,
                    double *x) noexcept nogil
    cdef int step(self, double phi, const double *v, double t, const double *y,
                  double *y_next) noexcept nogil
    cdef object take_error(self)


cdef class Newton(Rule):
    cdef readonly double beta
    cdef double rate             # the gradient is rate * phi * v
    cdef Full metric             # A
    cdef double lam              # where the search for the projection begins
    cdef np.ndarray face         # the same, int8
    cdef np.ndarray face_next
    cdef double *g


cdef class Descent(Rule):
    cdef double rate             # the step is rate / sqrt(t) * phi * v
    cdef double *z


cdef class Barrier(Rule):
    cdef readonly double eta
    cdef double nu               # of the last round: where the search begins
    cdef double *memory
    cdef double *G
    cdef double *G_next
    cdef double *a
    cdef double *r
    cdef double *ones

    cdef double level(self, const double *G) noexcept nogil
    cdef bint lasts(self, double s, double t, const double *y) noexcept nogil
