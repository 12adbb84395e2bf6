# The rules of online convex optimisation: where a learner explores, and what a round does
# (DEFINITIONS 5); the feasible sets they know; the compiled losses that they are played against.

cimport numpy as np

from coactive_fast._table cimport cf_full, cf_region
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._state cimport State
from coactive_fast.metric._full cimport Full


# Feasible sets as the engines see them, in a fixed dimension.

cdef class Region:
    # All methods may be called without the GIL, by one thread at a time: the scratch is the
    # region's own. On a negative status nothing has changed but scratch and what is passed out.
    cdef readonly Py_ssize_t n
    cdef readonly bint compiled     # no Python is called
    cdef object error               # what a set of one's own raised

    # w = the nearest point to z (n doubles each, no overlap)
    cdef int project(self, const double *z, double *w) noexcept nogil
    # room for `newton`
    cdef int prepare(self) except -1
    # A += g g^T, w = the nearest point to y + gain A^-1 g in the norm of A; lam and face: where
    # the search begins and ended
    cdef int newton(self, cf_full *A, double gain, const double *g, const double *y, double *w,
                    double *lam, signed char *face) noexcept nogil
    # Whether z lies in it, give or take rounding; `scratch` has n doubles. A set of one's own is
    # not asked.
    cdef bint holds(self, const double *z, double *scratch) noexcept nogil
    # v = a unit vector of the affine hull
    cdef int draw(self, Chance chance, double *v) noexcept nogil


cdef class BuiltIn(Region):
    cdef cf_region set
    cdef np.ndarray lower, upper    # of a box: what `set` points to
    cdef np.ndarray ones
    cdef double *scratch
    cdef double *room


cdef class Own(Region):
    cdef object feasible
    cdef double *room

    cdef int ask_project(self, const double *z, double *w) noexcept
    cdef int ask_newton(self, cf_full *A, double gain, const double *g, const double *y,
                        double *w) noexcept
    cdef int ask_direction(self, Chance chance, double *v) noexcept

cdef double unit(Py_ssize_t n, double *v) noexcept nogil
cdef bint is_unit(Py_ssize_t n, const double *v) noexcept nogil


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
    cdef object take_error(self)   # what a set of one's own raised, or None
    # What is kept besides the centre, and back into a rule that was just made: t rounds, centre y.
    cdef dict told(self)
    cdef int restore(self, State state, Py_ssize_t t, const double *y) except -1
    # Refuses a centre or a direction (or NULL) that no run leaves behind; no other thread may be
    # in a round, since the regions' scratch is used. x and scratch: n doubles.
    cdef int look_at(self, State state, const double *y, const double *v, double *x,
                     double *scratch) except -1


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


cdef class Losses:
    # Round t has row i = t mod n. Z (n x d, C-contiguous) and y (n) are its own and never written
    # to.
    cdef readonly np.ndarray Z, y
    cdef readonly Py_ssize_t n, d
    cdef int kind

    cdef double value(self, Py_ssize_t i, const double *x, double *m) noexcept nogil
    cdef void gradient(self, Py_ssize_t i, double m, double *g) noexcept nogil
    cdef bint wrong(self, Py_ssize_t i, double m) noexcept nogil
    cdef double at(self, t, x, Py_ssize_t *i, double *m) except? -1.0
