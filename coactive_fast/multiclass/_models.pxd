# What a multiclass learner has learned, and the scratch of those who read it.
#
# A round is a reading, which gives scores and labels, and a change, which takes what the reading
# left. Both are pure functions of the state, the row and the parameters: whether a reading comes
# from `choose` or is made anew changes no bit.

cimport cython
from libc.stdint cimport int64_t
from numpy.random cimport bitgen_t

from coactive_fast._table cimport cf_change, cf_lines, cf_row
from coactive_fast.learner._rows cimport RowBuffer


@cython.final
cdef class Work:
    # Scratch of one thread: the row as the model reads it, and what a reading leaves.
    # Invariant: m, q, c have cf_pad(k) doubles each and v has `v_room`, all owned here.
    cdef RowBuffer buffer      # of the row
    cdef RowBuffer view        # of a row in another form: written out, or wider than the state
    cdef cf_row row
    cdef bint null             # no feature of the row differs from 0
    cdef cf_row *next          # in a run the places of the row that comes next, else NULL
    cdef Py_ssize_t lanes, v_room
    cdef double *m             # scores w_i.x; after a projection those of the projected w
    cdef double *q             # x^T A_i^-1 x
    cdef double *c             # of a projection: w_i += c_i A_i^-1 x
    cdef double *z             # scratch of project_labels, and room for k values
    cdef double *v             # A_i^-1 x
    cdef Py_ssize_t exploit    # the first of the best scores
    cdef Py_ssize_t label      # the choice
    cdef object extra          # of a model that needs more
    cdef bitgen_t *bits        # where coins come from; of the engine
    # The key of what was read last, for the round that follows `choose`.
    cdef RowBuffer last
    cdef cf_row known          # points into `last`
    cdef int64_t known_round, known_stamp

    cdef int fit(self, Py_ssize_t k, Py_ssize_t doubles) except -1
    cdef int remember(self, const cf_row *row, int64_t round, int64_t stamp) except -1
    cdef bint knows(self, const cf_row *row, int64_t round, int64_t stamp) noexcept
    cdef inline void forget(self) noexcept:
        self.known_round = -1


cdef class Model:
    # Invariants. k >= 2 classes; d features, 0 before the first round (memory may be there
    # already); rounds counts what was learned. A status below 0 has changed nothing visible.
    cdef Py_ssize_t k, d
    cdef int64_t rounds
    cdef Py_ssize_t most           # max_features, or 0

    # --- with the GIL
    cdef int fit(self, Work w) except -1                   # scratch for a reading of w.row
    cdef int make_room(self, Py_ssize_t n) except -1       # for learning rows of n features
    cdef int add_class(self) except -1
    cdef int adopt(self, Model other) except -1            # its parameters
    cdef np_weights(self)
    cdef np_inverse(self, Py_ssize_t i)
    cdef np_information(self)
    cdef dict health(self)
    cdef dict state(self)
    cdef int restore(self, dict state) except -1           # into a model that was just made
    cdef int raise_error(self) except -1                   # of a user's kernel, if there was one


    # --- without
    cdef double cost(self, Py_ssize_t nnz) noexcept nogil  # of a round: elements touched
    cdef void prepare(self, Work w) noexcept nogil         # w.row in the form that is read
    cdef int read_scores(self, Work w) noexcept nogil      # m alone, of the state as it is
    cdef int read(self, Work w) noexcept nogil             # m, exploit, label and what learn needs
    cdef int read_for(self, Work w, Py_ssize_t label) noexcept nogil   # what learn needs, no more
    cdef int repair(self, Work w) noexcept nogil           # after CF_ENOTPOSITIVE; then read again
    cdef int learn(self, Work w, Py_ssize_t label, bint correct) noexcept nogil
    cdef void settle(self) noexcept nogil                  # what a run has put off
    @cython.final  # called straight from the subclasses, without a vtable
    cdef inline void count(self, Py_ssize_t n) noexcept nogil:
        self.rounds += 1
        if n > self.d:
            self.d = n


cdef class Lines(Model):
    # One line of memory a feature (cf_lines.h). Invariants: the lines d ... room are fresh, so
    # that a feature not yet seen is read from line `room`; classes from k on do not exist.
    cdef cf_lines core
    cdef Py_ssize_t room
    cdef double fresh              # second value of what was never learned; 0: there is none

    cdef int begin(self, Py_ssize_t k, double fresh) except -1
    cdef int lay_out(self, Py_ssize_t room, Py_ssize_t k) except -1
    cdef double first_inverse(self) noexcept
    cdef void to_inverse(self, Py_ssize_t n, double *second) noexcept
    cdef void column(self, Py_ssize_t i, bint second, double *out) noexcept
    cdef int take_table(self, dict state, str name, bint second, Py_ssize_t d) except -1


@cython.final
cdef class Perceptron(Lines):
    pass


@cython.final
cdef class Banditron(Lines):
    cdef double gamma

    cdef double chance(self, Py_ssize_t label, Py_ssize_t best) noexcept nogil
    cdef void draw(self, Work w) noexcept nogil


@cython.final
cdef class Counted(Lines):
    # The second-order Perceptron; the second value is a + S.
    pass


@cython.final
cdef class Arow(Lines):
    cdef double r


cdef Py_ssize_t count_of(dict state, str name, Py_ssize_t least) except -1
cdef object table_of(dict state, str name, tuple shape)
