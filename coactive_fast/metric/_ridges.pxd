# The heart: k ridge regressions over a form.

from libc.stdint cimport int64_t

cimport cython
cimport numpy as np

from coactive_fast._table cimport cf_full, cf_lines
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State
from coactive_fast.metric._dual cimport Errors, Gram, Kept
from coactive_fast.rows._rows cimport Scratch


cdef class Ridges(Model):
    # k ridge regressions: A_i = ridge I + sum x x^T over what was taken for i, and w_i. A reading
    # leaves m_i = w_i.x and q_i = x^T A_i^-1 x in s.m and s.q, and sets s.null where the row is
    # null in the form's space. `take` is the step w_i += A_i^-1 x (y - m_i) with the new A_i. What
    # a form cannot do it refuses in words.
    cdef double ridge

    # exploit: the first of the best m; label: of the best m + sqrt(factor q). A form may leave out
    # the q of answers that cannot win.
    cdef int choose(self, Scratch s, double factor) noexcept nogil
    # After a look (looked: at all answers, whatever s.c holds by now): whether the step of answer
    # i stays in range; nothing can fail after that.
    cdef int allows(self, Scratch s, Py_ssize_t i, bint looked) noexcept nogil
    # What the step of answer i adds to log det A_i: before the step.
    cdef double gained(self, Scratch s, Py_ssize_t i) noexcept nogil
    # move: first w_j += s.c_j A_j^-1 x for all j, in the same pass where the form can.
    cdef void step(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept nogil


cdef class Policy(Model):
    # Decides over ridge regressions and says what they learn towards; hands on all the rest. k, d
    # and learned are those of the ridges. A family overrides `read`, and `take` (which then ends
    # with `took`) where it learns towards anything but y.
    cdef readonly Ridges ridges

    cdef int begin(self, Ridges ridges) except -1

    cdef inline void took(self, Py_ssize_t n) noexcept nogil:
        """One example of n features more."""
        self.ridges.count(n)
        self.count(n)


cdef class Lines(Ridges):
    # One line of memory a feature (cf_lines.h), for rows of any width. Invariants: the lines
    # d ... room are fresh, so that a feature not yet seen is read from line `room`; answers from k
    # on do not exist. Second values are there where `fresh`, what was never learned, is not 0.
    cdef cf_lines core
    cdef Py_ssize_t room
    cdef double fresh

    cdef int begin(self, Py_ssize_t k, double fresh) except -1
    cdef int lay_out(self, Py_ssize_t room, Py_ssize_t k) except -1
    cdef double first_inverse(self) noexcept
    cdef void to_inverse(self, Py_ssize_t n, double *second) noexcept
    cdef void column(self, Py_ssize_t i, bint second, double *out) noexcept
    cdef np_table(self, bint second)
    cdef int load_table(self, State state, str name, bint second) except -1


cdef class DiagonalRidges(Lines):
    # Only the diagonals of the A_i; the second value is that of A_i^-1.
    cdef bint printed              # the step as the paper prints it


# Counts of a model as every state has them, and the way back: k, d and learned, checked.
cdef dict told_counts(Model model)
cdef int restore_counts(Model model, State state) except -1

# Whether a step with this m and q stays in range: |v_j| / (1 + q) <= 1 / (2 sqrt ridge).
cdef bint in_range(double m, double q, double ridge) noexcept nogil


# k ridge regressions with whole matrices, in two layouts.

@cython.final
cdef class FullRidges(Ridges):
    # Invariants. `held` features have memory, in the layout that `held` chose; core[i] is the core
    # of fulls[i], which keeps A_i, its counts and its logdet in both layouts. All is owned here.
    # One by one: the core has A_i^-1 too, its pending term is 0 but for that of a run's last
    # round (`waiting`); the weights of class i are the cf_pad(held) doubles at w + i * w_step.
    # Eight abreast (cf_octet.h): group g of eight classes has its inverses at b + g * b_step and
    # its weights at w + g * w_step; the core's own inverse is scratch of its watch.
    cdef Py_ssize_t held
    cdef bint abreast
    cdef bint bounded          # answers that cannot win are not looked at; tests switch it off
    cdef int kind              # of the step that was allowed last (full_judge)
    cdef double size           # x.x of that step
    cdef str precision
    # Some core is robust: it then has its inverse itself, eight abreast too, and its lane is not used.
    cdef bint converted
    cdef list fulls
    cdef cf_full **core
    cdef char *waiting
    cdef double *w
    cdef double *b
    cdef double *grown         # eight abreast: log(grown[i]) is not yet in the core's logdet
    cdef Py_ssize_t w_step, b_step
    cdef double *scratch       # of fulls[0]

    cdef list fresh(self, Py_ssize_t k, Py_ssize_t n)
    cdef void look_at_robust(self, Scratch s, Py_ssize_t i) noexcept nogil
    cdef bint convert(self, Py_ssize_t i) noexcept nogil
    cdef int allot(self, Py_ssize_t k, Py_ssize_t d, list fulls) except -1
    cdef void give_back(self) noexcept
    cdef void load_lane(self, Py_ssize_t i) noexcept nogil
    cdef void store_lane(self, Py_ssize_t i) noexcept nogil
    cdef void copy_lane(self, Py_ssize_t i, bint load) noexcept nogil
    cdef void look_at_group(self, Scratch s, Py_ssize_t g) noexcept nogil
    cdef void product(self, Scratch s, Py_ssize_t i) noexcept nogil
    cdef int choose_bounded(self, Scratch s, double factor) noexcept nogil
    cdef int verdict(self, Scratch s, double q) noexcept nogil
    cdef void move(self, Scratch s, Py_ssize_t label, double step, bint all) noexcept nogil
    cdef void update(self, Scratch s, Py_ssize_t i, double q) noexcept nogil
    cdef double *row_of(self, Scratch s, Py_ssize_t i) noexcept nogil
    cdef double *weight_at(self, Py_ssize_t i, Py_ssize_t f) noexcept nogil
    cdef int put_back(self, np.ndarray table, np.ndarray grown) except -1
    cdef np_grown(self)
    cdef int look_again(self, Scratch s, Py_ssize_t i) noexcept nogil


# k ridge regressions in dual form: each keeps the rows it was taught.

cdef class DualRidges(Ridges):
    # Invariants. grams[i] has the rows that answer i was taught, coefficients[i] the c = L^-1 y
    # that goes with its factor, in an array with room for as many: w_i.x = u.c with u = L^-1 k.
    # Where the w are moved by more than their own rows (`moving`), they are kept otherwise: `all`
    # has the rows of all answers, so that their kernel values are computed once, row i of `spread`
    # w_i's coefficients over them, and owned[i] where those taught to answer i stand among them;
    # grams[i] has their factor but no rows, and the coefficients are not used then.
    cdef object kernel, kernel_params
    cdef list grams
    cdef list coefficients
    cdef list sums             # log det A_i - log det(ridge I)
    cdef Errors errors         # of a user's kernel, and of memory
    cdef readonly bint moving
    cdef Kept all
    cdef np.ndarray spread     # (k, room), room at least that of `all`
    cdef list owned            # int64, with room for more

    cdef Gram new_gram(self)
    cdef int solve(self, Scratch s, Py_ssize_t i) except -1
    cdef int solve_now(self, Scratch s, Gram gram, const int64_t *places, double *u) noexcept nogil
    cdef int all_values(self, Scratch s) except -1
    cdef int64_t *places_of(self, Py_ssize_t i) noexcept
    cdef double *spread_of(self, Py_ssize_t i) noexcept
    cdef double *solved(self, Scratch s, Py_ssize_t i) noexcept
    cdef int look_under_lock(self, Scratch s, Py_ssize_t first, Py_ssize_t last) noexcept
    cdef int scores_under_lock(self, Scratch s) noexcept
    cdef int make_place(self, Scratch s, Py_ssize_t i) except -1
    cdef int make_place_among_all(self, Scratch s, Gram gram, Py_ssize_t i) except -1
    cdef void spread_out(self, Scratch s, Py_ssize_t i, double c) noexcept
    cdef int restore_owned(self, State one, Py_ssize_t i) except -1
    cdef int restore_spread(self, State state) except -1
    cdef void append(self, Scratch s, Py_ssize_t i, double y, bint move) noexcept
