# See _forms.pyx: what other modules cimport.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t, uint8_t

from coactive_fast._table cimport cf_lines, cf_row
from coactive_fast.learner._engine cimport Form
from coactive_fast.learner._state cimport State
from coactive_fast.metric._metrics cimport Stored
from coactive_fast.rows._rows cimport Rows, Workspace


cdef class Ridges(Form):
    # k ridge regressions: A_i = ridge I + sum x x^T over what was learned for i, and w_i. A reading
    # leaves m_i = w_i.x and q_i = x^T A_i^-1 x in s.m and s.q, and sets s.null where the row is
    # null in the form's space. The step is w_i += A_i^-1 x (y - m_i) with the new A_i. What a form
    # cannot do it refuses in words.
    cdef double ridge
    cdef bint bounded          # answers that cannot win are not read; tests switch it off

    # exploit: the first of the best m; label: of the best m + sqrt(factor q). A form may leave out
    # the q of answers that cannot win.
    cdef int read_ucb(self, Workspace ws, double factor) noexcept nogil
    # After a reading (all_read: of all answers, whatever ws.coef holds by now): whether the step of
    # answer i stays in range; nothing can fail after that.
    cdef int check_update(self, Workspace ws, Py_ssize_t i, bint all_read) noexcept nogil
    # What the step of answer i adds to log det A_i: before the step.
    cdef double information_gain(self, Workspace ws, Py_ssize_t i) noexcept nogil
    # move: first w_j += ws.c_j A_j^-1 x for all j, in the same pass where the form can.
    cdef void step(self, Workspace ws, Py_ssize_t i, double y, bint move) noexcept nogil


cdef class Lines(Ridges):
    # One line of memory a feature (cf_lines.h), for rows of any width. Invariants: the lines
    # d ... room are fresh, so that a feature not yet seen is read from line `room`; answers from k
    # on do not exist. Second values are there where `fresh`, what was never learned, is not 0.
    cdef cf_lines core
    cdef Py_ssize_t room
    cdef double fresh
    cdef bint inverted         # second values are those of A, not of its inverse
    cdef double work, entry_work   # of a round: so much, and so much for each entry and answer

    @cython.final
    cdef int lay_out(self, Py_ssize_t room, Py_ssize_t k) except -1
    @cython.final
    cdef np_values(self, bint second, Py_ssize_t i, Py_ssize_t count)
    @cython.final
    cdef int load_table(self, State state, str name, bint second) except -1


# What the rows that are read at once are crossed with: (1, c_1, ..., c_p) (x) row. p = 0: nothing.
cdef struct Crossed:
    Py_ssize_t p
    const double *c

# What has happened to A^-1. Two of these show whether it is but one update further.
cdef struct Past:
    int64_t updates            # by c x x^T, c > 0
    int64_t renewals           # A^-1 recomputed from A
    int64_t failures           # it was damaged, or A did not allow a renewal
    const double *term         # NULL, or t of the last update: q fell by (x.t)^2 / scale
    double scale
    bint steady                # q of every row only falls, but for what A^-1 is off
    double norm                # what no eigenvalue of A^-1 exceeds


cdef class Single(Form):
    # What has one answer: a reading as of `Ridges`, the step `update`. d = 0: no dimension yet and no
    # memory.
    cdef double ridge
    cdef double forget             # 1, or what the past is multiplied by at each example
    # Set before an example is read: how often it counts (filters: once). logistic: y in [0, 1]
    # is to be met by sigma(m), not by m.
    cdef double weight
    cdef bint logistic
    cdef double *w                 # the weights, d of them; NULL where a form has none
    cdef double missed             # the squared distances of what a budget has left out, summed

    cdef int start(self, Py_ssize_t n) except -1   # memory for n features
    # Readings of many rows, by any number of threads: scratch for it, and then the margins
    # m / (1 + q) of some rows from t on (one or more; work of some ten milliseconds). Returns how
    # many were read; they are the bits of `read`. A status says why not the next one.
    cdef int reserve_many(self, Workspace ws) except -1
    cdef Py_ssize_t read_many(self, Rows X, Py_ssize_t t, Workspace ws, double *out,
                              int *status) noexcept nogil
    # How often the example counts in the step of ridge regression, and by how much m misses.
    @cython.final
    cdef double aim(self, double m, double y, double *miss) noexcept nogil
    cdef double information(self) noexcept nogil   # log det A - log det(ridge I)
    cdef dict get_extra(self) # what a state holds besides d and learned
    cdef int set_extra(self, State state, Py_ssize_t d) except -1


cdef class Regression(Single):
    # What learners from rewards and a Catalogue need besides. Readings of m and q, with a Workspace
    # that was reserved (many rows: by reserve_rows); CF_ENOTPOSITIVE: the inverse is damaged.
    # q NULL: m alone.
    cdef int read_pair(self, Workspace ws, double *m, double *q) noexcept nogil
    cdef int repair(self) noexcept nogil   # A^-1 computed from A; CF_ENOTPOSITIVE: not possible
    # What sqrt(q) of a row with this x.x cannot exceed, without reading A; infinite: not known.
    cdef double widest(self, double square) noexcept nogil
    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1
    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil
    # z = m + width sqrt(q) of those that `left` names, or -inf where it cannot be the largest.
    cdef int read_upper(self, Rows X, Crossed by, Workspace ws, double width, const char *left,
                        double *m, double *q, double *z) noexcept nogil
    @cython.final
    cdef double reach(self) noexcept nogil                     # the largest |w_i|
    cdef int reserve_drawn(self, Workspace ws) except -1        # memory for `drawn`
    # z <- w + width F z with F F^T = A^-1, for rows of n features.
    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil
    # For the bounds of a Catalogue, which outlive a round: what has happened; by what share the
    # inverse is off from that of A at the most, as measured now (O(d^3)), and without a Workspace
    # by how much the share may grow in an example; a copy of A (on a CF_LINE, so many doubles as
    # `reserve_matrix` says), and by it u^T A u, rounded up.
    cdef void get_past(self, Past *out) noexcept nogil
    cdef double drift(self, Workspace ws) noexcept nogil
    cdef Py_ssize_t reserve_matrix(self, Workspace ws) except -1
    cdef void keep_matrix(self, double *to, Workspace ws) noexcept nogil
    cdef double length(self, const double *matrix, const double *u, Workspace ws) noexcept nogil
    # The past weighs f times as much; what both have seen: for a copy, since after an error it is
    # not to be used.
    cdef int decay(self, double f) except -1
    cdef int merge(self, Regression other) except -1


# The state of a metric as it is once the pending term is in the inverse: whether a reading has
# already brought it there must not show.
cdef dict settled(Stored metric)

# 1 / (1 + exp(-m)).
cdef double sigmoid(double m) noexcept nogil

# m = w.x; refused where x.x overflows, whatever w is.
cdef int linear(const cf_row *x, const double *w, double *m) noexcept nogil


# Of a `TopicRidge` and the row read last: the margins of all topics, with the bits that one
# topic has alone; and the labels of that row, one of each topic, learned.
cdef int read_topics(Single topics, double q, double *out) noexcept nogil

cdef int learn_topics(Single topics, Workspace ws, const uint8_t *y) noexcept nogil

# m = w.x of all rows, and x.x; both with the bits of `dot`, in whatever form they come.
cdef int read_means(Rows X, const double *w, Workspace ws, double *m) noexcept nogil

cdef int read_squares(Rows X, Workspace ws, double *square) noexcept nogil
