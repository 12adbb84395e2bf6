# See _forms.pyx: what other modules cimport.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t, uint8_t

from coactive_fast._table cimport cf_full, cf_lines, cf_row
from coactive_fast.learner._engine cimport Model
from coactive_fast.learner._state cimport State
from coactive_fast.metric._metrics cimport Gram
from coactive_fast.metric._metrics cimport Full
from coactive_fast.rows._rows cimport Rows, Scratch


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

# What the rows that are read at once are crossed with: (1, c_1, ..., c_p) (x) row. p = 0: nothing.
cdef struct Crossed:
    Py_ssize_t p
    const double *c

# What has happened to A^-1. Two of these tell whether it is but one update further.
cdef struct Past:
    int64_t updates            # by c x x^T, c > 0
    int64_t renewals           # A^-1 made anew from A
    int64_t failures           # it was damaged, or A did not allow a renewal
    const double *term         # NULL, or t of the last update: q fell by (x.t)^2 / scale
    double scale


cdef class Single(Ridges):
    # What has one answer; d = 0: no dimension yet and no memory.
    cdef double forget             # 1, or what the past is multiplied by at each example
    # Set before the look at an example: how often it counts (filters: once). logistic: y in [0, 1]
    # is to be met by sigma(m), not by m.
    cdef double weight
    cdef bint logistic

    cdef int start(self, Py_ssize_t n) except -1   # memory for n features
    # Readings of many rows, by any number of threads: scratch for it, and then the margins
    # m / (1 + q) of some rows from t on (one or more; work of some ten milliseconds). Returns how
    # many were read; they are the bits of `read`. A status tells why not the next one.
    cdef int fit_many(self, Scratch s) except -1
    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Scratch s, double *out,
                              int *status) noexcept nogil
    # How often the example counts in the step of ridge regression, and by how much m misses.
    cdef double aim(self, double m, double y, double *miss) noexcept nogil
    cdef double information(self) noexcept nogil   # log det A - log det(ridge I)
    cdef double left_out(self) noexcept nogil      # what a budget has left out, summed
    # What learners from rewards want, of `FullForm` and `DiagonalForm`. Readings, with a Scratch
    # that was fitted (many rows: by fit_rows), of m and q; CF_ENOTPOSITIVE: the inverse is damaged.
    # q NULL: m alone.
    cdef int read_one(self, Scratch s, double *m, double *q) noexcept nogil
    # What sqrt(q) of a row with this x.x cannot exceed, without a look at A; infinite: not known.
    cdef double widest(self, double square) noexcept nogil
    cdef int fit_rows(self, Rows X, Crossed by, Scratch s) except -1
    cdef int read_rows(self, Rows X, Crossed by, Scratch s, double *m, double *q) noexcept nogil
    # z = m + width sqrt(q) of those that `left` names, or -inf where it cannot be the largest.
    cdef int read_upper(self, Rows X, Crossed by, Scratch s, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil
    cdef int fit_drawn(self, Scratch s) except -1              # room for `drawn`
    # z <- w + width F z with F F^T = A^-1, for rows of n features.
    cdef double reach(self) noexcept nogil                     # the largest |w_i|
    cdef int drawn(self, Scratch s, Py_ssize_t n, double width, double *z) noexcept nogil
    # For bounds that outlive a round (rewards/_catalogue.pyx): whether q of every row only falls as
    # examples are taken, but for what the inverse is off from that of A; by what share that is at
    # the most, as measured now (O(d^3)), and by how much the share may grow in an example; what no
    # eigenvalue of A^-1 exceeds; a copy of A (`matrix_room` doubles on a CF_LINE), and by it
    # u^T A u, rounded up.
    cdef bint steady(self) noexcept nogil
    cdef double drift(self, Scratch s) noexcept nogil
    cdef double drift_to_come(self) noexcept nogil
    cdef double norm_of_inverse(self) noexcept nogil
    cdef void tell_past(self, Past *out) noexcept nogil
    cdef const double *means(self) noexcept nogil
    cdef Py_ssize_t matrix_room(self) noexcept
    cdef int fit_matrix(self, Scratch s) except -1
    cdef void keep_matrix(self, double *to, Scratch s) noexcept nogil
    cdef double length(self, const double *matrix, const double *u, Scratch s) noexcept nogil
    cdef int decay(self, double f) except -1                   # the past weighs f times as much
    cdef int merge(self, Single other) except -1               # what both have seen
    cdef void shrink(self, Py_ssize_t d) noexcept              # features that were refused go
    cdef dict extra(self)                          # what a state tells besides d and learned
    cdef int take_extra(self, State state, Py_ssize_t d) except -1

# The state of a metric as it is once the pending term is in the inverse: whether a reading has
# already brought it there must not show.
cdef dict settled(Full metric)

# 1 / (1 + exp(-m)).
cdef double sigmoid(double m) noexcept nogil

# m = w.x; refused where x.x overflows, whatever w is.
cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil


cdef class DualRidge(Single):
    # With M = ridge I + G = L L^T over the examples kept: u = L^-1 k, w.x = u.c with c = L^-1 y,
    # q = (k(x,x) - u.u) / ridge; (u, sqrt(ridge (1 + q))) is the next row of L, so that learning
    # after a reading is free. c, y and born have room for `room` examples.
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
    cdef int answer(self, Scratch s, const double *u, double own) noexcept nogil
    cdef void prepare_block(self, Rows X, Py_ssize_t t, Py_ssize_t count, Scratch s) noexcept nogil
    cdef int finish(self, Scratch s, Py_ssize_t i) noexcept nogil
    cdef int store(self, Scratch s, double y) noexcept nogil
    cdef void expire(self) noexcept nogil


cdef class TopicRidge(DualRidge):
    # Many topics that learn the same rows: one factor; c of topic k in row k of `all_c`, `row`
    # doubles each. The y and c of DualRidge itself are not used.
    cdef readonly Py_ssize_t topics
    cdef double *all_c
    cdef Py_ssize_t row
    cdef double *products      # u.c of each topic, for the row looked at last

    cdef int margins(self, double q, double *out) noexcept nogil
    cdef int take_all(self, Scratch s, const uint8_t *y) noexcept nogil

# m = w.x of all rows, and x.x; both with the bits of `dot`, in whatever form they come.
cdef int read_means(Rows X, const double *w, Scratch s, double *m) noexcept nogil

cdef int read_squares(Rows X, Scratch s, double *square) noexcept nogil
