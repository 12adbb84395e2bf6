# One ridge regression (k = 1): with all of A, which may forget, slide or stay in a ball, or with
# the diagonal of A. A reading leaves m = w.x and, where a margin wants it, q = x^T A^-1 x (else 0)
# in s.m and s.q. `look` leaves what only the one who may change the model uses here, for the `take`
# of the same row that follows it.

from libc.stdint cimport int64_t, uint8_t

from coactive_fast._table cimport cf_cholesky, cf_past, cf_row
from coactive_fast.learner._state cimport State
from coactive_fast.metric._dual cimport Gram
from coactive_fast.metric._full cimport Full
from coactive_fast.metric._ridges cimport Ridges
from coactive_fast.rows._rows cimport Rows, Scratch


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
    # What learners from rewards want, of the two forms of _regression.pyx. Readings, with a Scratch
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


cdef class Moving(Full):
    pass


# The state of a metric as it is once the pending term is in the inverse: whether a reading has
# already brought it there must not show.
cdef dict settled(Full metric)


cdef class FullRidge(Single):
    # A = past.scale times what `metric` holds, w = A^-1 b. Forgetting multiplies A as a whole but
    # for the examples at which the regulariser is filled up (cf_past.h).
    # Reading and learning one x share one fused pass of the triangle: `look` leaves v = A^-1 x (of
    # the metric) and `quad` for `take`.
    # A refused row must leave the past as it was. Forgetting is undone by `past` and the metric's
    # ridge alone, unless the metric itself changes: it is then copied to `saved` first, w behind it
    # (NULL until an example is to be forgotten: nobody else needs that memory). `period`: of the
    # renewals under the present f; 0: not known.
    cdef cf_past past
    cdef str precision
    cdef Full metric
    cdef double *memory        # owned; those that follow point into it
    cdef double *w             # cf_pad(d); w and w_next change places
    cdef double *w_next
    cdef double *v
    cdef double *unit          # zeros but for a moment
    cdef double *work          # scratch of the metric
    cdef double quad           # x^T (A / scale)^-1 x of the last look
    cdef double *saved
    cdef int64_t period

    cdef Full new_metric(self, Py_ssize_t n)
    cdef bint touches_metric(self) noexcept nogil
    cdef int propose(self, const double *x) noexcept nogil
    cdef int accept(self, const double *x, double weight, double miss, double *w) noexcept nogil
    cdef int learn(self, const double *x, double y, double m) noexcept nogil
    cdef int fade(self, const double *x, double *m) noexcept nogil
    cdef void fill_up(self, double *added) noexcept nogil


cdef class WindowRidge(FullRidge):
    # The last `window` examples stand in a ring; b = sum of y x over them. Every `period` losses,
    # and where a loss would cost digits, all is made anew from the ring.
    cdef Py_ssize_t window
    cdef double *ring          # window rows of cf_pad(d), owned
    cdef double *label
    cdef Py_ssize_t oldest, held
    cdef Py_ssize_t losses     # since all was made anew

    cdef void keep(self, const double *x, double y) noexcept nogil
    cdef void drop_oldest(self) noexcept nogil
    cdef void lose_oldest(self) noexcept nogil
    cdef void rebuild(self) noexcept nogil
    cdef void restart(self) noexcept nogil
    cdef void learn_again(self) noexcept nogil


cdef class BallRidge(WindowRidge):
    # w is projected onto the unit ball in the norm of A after each step. With a window (0: none) all
    # is made anew from the ring once that is full, as if no other example had come: the metric
    # changes places with `spare`, and again where the example is refused; w is copied to `w_spare`.
    cdef double lam            # the last multiplier: where the next search begins
    cdef Full spare
    cdef double *w_spare

    cdef int replay(self, const double *x, double y) noexcept nogil
    cdef int again(self, const double *x, double y) noexcept nogil
    cdef void change_places(self) noexcept nogil


cdef class DiagonalRidge(Single):
    # Not lazy: a is the diagonal of A, sums = sum ln(a / ridge). Lazy, from the first time that it
    # forgets: A = ridge I + scale diag(a), so that an example changes `scale` for all features and
    # a for its own ones alone.
    cdef bint projected, lazy
    cdef double scale, sums
    cdef double *a             # d, owned; those that follow are in the same block
    cdef double *w
    cdef double *a_next
    cdef double *w_next
    cdef double *room

    cdef const double *now(self, const cf_row *x, double scale, double *room) noexcept nogil
    cdef bint to_excess(self, const cf_row *x, double scale, double c) noexcept nogil
    cdef void fade(self, double scale) noexcept nogil
    cdef int project(self, const cf_row *x) noexcept nogil
    cdef double growth(self, const cf_row *x) noexcept nogil


# 1 / (1 + exp(-m)).
cdef double sigmoid(double m) noexcept nogil

# m = w.x; refused where x.x overflows, whatever w is.
cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil


# One ridge regression in the feature space of a kernel: the dual form, with all rows, a window or a
# budget, and one factor that serves many topics.

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


cdef class DualBall(DualRidge):
    # w is projected onto the unit ball of the span of the rows kept after each step. c is L^T beta,
    # w = sum beta_s phi(x_s): what a reading needs, and what the step appends to, projected or not.
    cdef double *next          # c to be; owned, with what follows in the same block
    cdef double *turn          # scratch of a product
    cdef double *row           # a row of L
    cdef double *krylov        # `steps` + 1 vectors of `stride` doubles, and 6 steps more
    cdef Py_ssize_t steps

    cdef Py_ssize_t krylov_size(self, Py_ssize_t n, Py_ssize_t steps) noexcept nogil
    cdef int into_ball(self, const cf_cholesky *l, const double *u, double pivot,
                       double *e) noexcept nogil
    cdef double square(self, const cf_cholesky *l, const double *u, double pivot,
                       const double *e) noexcept nogil
    cdef void product(self, const cf_cholesky *l, const double *u, double pivot, const double *v,
                      double *out) noexcept nogil
    cdef int project(self, const cf_cholesky *l, const double *u, double pivot, double *e,
                     double *krylov, Py_ssize_t steps) noexcept nogil


cdef class BudgetRidge(DualRidge):
    # At most `budget` examples are kept, as a dictionary; the others count through what the
    # dictionary can say of them. `gram` has ridge 0; `inner` is A and `w` the weights in the
    # coordinates of the dictionary, unused ones still at ridge and 0.
    cdef Py_ssize_t budget
    cdef double tolerance
    cdef double missed         # sum of the squared distances of what was not kept
    cdef Full inner
    cdef double *memory        # owned; those that follow point into it
    cdef double *w             # cf_pad(budget); w and w_next change places
    cdef double *w_next
    cdef double *v
    cdef double *z             # u, zero beyond
    cdef double *work

    cdef void within(self, const double *u, double *z, double *v, double *rest,
                     double *q) noexcept nogil


cdef class TopicRidge(DualRidge):
    # Many topics that learn the same rows: one factor; c of topic k in row k of `all_c`, `row`
    # doubles each. The y and c of DualRidge itself are not used.
    cdef readonly Py_ssize_t topics
    cdef double *all_c
    cdef Py_ssize_t row
    cdef double *products      # u.c of each topic, for the row looked at last

    cdef int margins(self, double q, double *out) noexcept nogil
    cdef int take_all(self, Scratch s, const uint8_t *y) noexcept nogil
