# See _rules.pyx: what other modules cimport.

cimport cython
cimport numpy as np
from cpython.object cimport PyObject
from libc.stddef cimport size_t
from libc.stdint cimport int64_t
from libc.string cimport memset
from numpy.random cimport bitgen_t


from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Form, RowEngine
from coactive_fast.learner._run cimport Run
from coactive_fast.learner._state cimport State
from coactive_fast.metric._forms cimport Crossed, Regression
from coactive_fast.rows._rows cimport Rows, Workspace

cdef enum Kind:
    UCB
    THOMPSON
    SQUARECB
    GREEDY

cdef class Exploration


@cython.final
cdef class Choice:
    # What is offered in one round, and what is found out about it: n actions, of which `left` tells
    # the count of them that may be chosen. m, q, the scores z and the probabilities p have one
    # number each. Owned by one thread.
    cdef Py_ssize_t n, count, room
    cdef Py_ssize_t d          # features that the learner will know after a decision
    cdef bint arms             # the row is in the scratch; else the actions are `rows`
    cdef bint scored           # z is known, m and q are not
    cdef double *m
    cdef double *q
    cdef double *z
    cdef double *p
    cdef char *left
    cdef double *drawn         # d numbers
    cdef Py_ssize_t drawn_room
    cdef Rows rows
    cdef Crossed by
    cdef object context        # keeps by.c alive
    # A catalogue in the place of rows, and which of its rows are allowed: an array, or None.
    cdef object items, mask
    cdef int what              # is asked for: PICK, ...
    cdef Py_ssize_t k, samples # places, and draws for a law; 0: one, and none

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef int fit_draws(self, Py_ssize_t d) except -1
    cdef int allow(self, object allowed) except -1
    cdef inline void allow_all(self) noexcept nogil:
        self.allow_first(self.n)
    cdef inline void allow_first(self, Py_ssize_t count) noexcept nogil:
        memset(self.left, 0, <size_t>self.n)
        memset(self.left, 1, <size_t>count)
        self.count = count
    # The first of the largest numbers among what is left.
    cdef Py_ssize_t best(self, const double *numbers) noexcept nogil


@cython.final
cdef class Regressions(Form):
    # k regressions that know nothing of each other: one an arm, or one for all actions. Invariants:
    # at[i] is the regression i, as which `forms` keeps it alive; d is what rows have that were
    # learned or decided on, and each form either has memory for as many or is fresh. A reading
    # leaves those of each in ws.score and ws.quad; learning works with the first of both alone.
    cdef object fresh          # () -> a regression that knows nothing
    cdef double ridge
    cdef list forms
    cdef PyObject **at

    cdef Regression form(self, Py_ssize_t i)
    cdef int set_forms(self, list forms) except -1
    cdef void drop_refused(self) noexcept
    cdef int repair(self) noexcept nogil
    cdef int decay(self, double f) except -1
    cdef int merge(self, Regressions other) except -1
    cdef int read_rows(self, Rows X, Crossed by, Workspace ws, double *m, double *q) noexcept nogil
    cdef int reserve_rows(self, Rows X, Crossed by, Workspace ws) except -1
    # z <- w + width F z with F F^T = A^-1 of the first regression, for rows of n features; after
    # reserve_drawn. `reach`: the largest |w_i|.
    cdef double reach(self) noexcept nogil
    cdef int reserve_drawn(self, Workspace ws) except -1
    cdef int drawn(self, Workspace ws, Py_ssize_t n, double width, double *z) noexcept nogil
    cdef int read_all(self, Workspace ws, bint widths) noexcept nogil
    cdef bint read_arms(self, Workspace ws, Choice at, Exploration rule) noexcept nogil
    cdef int read_offer(self, Workspace ws, Choice at, Rows rows, Exploration rule,
                        bint widths) noexcept nogil


@cython.final
cdef class Exploration:
    # Never changed: another rule replaces it.
    cdef Kind kind
    cdef bint theory, logistic
    cdef double width, noise, norm_bound, doubt, ridge, floor, scale, power

    cdef bint draws(self) noexcept nogil
    cdef double bonus(self, Regressions form, Py_ssize_t i) noexcept nogil
    # The scores from m and q; thompson draws. A status.
    cdef int score(self, Regressions form, Workspace ws, Choice at, Chance chance) noexcept nogil
    cdef int draw(self, Regressions form, Workspace ws, Choice at, Chance chance) noexcept nogil
    cdef int within(self, Regressions form, Choice at, Rows X, Workspace ws) noexcept nogil
    cdef bint inside(self, Regressions form, Choice at, double whole,
                     double square) noexcept nogil
    cdef double gamma(self, int64_t learned) noexcept nogil
    cdef void squarecb(self, Choice at, double gamma) noexcept nogil
    # The action for one place.
    cdef Py_ssize_t place(self, Choice at, int64_t learned, bitgen_t *bits) noexcept nogil
    cdef double *compared(self, Choice at) noexcept nogil
    # With which probability `place` gives each action, into p, or one of them; not for thompson.
    cdef void law(self, Choice at, int64_t learned) noexcept nogil
    # p, which counts so many times, into probabilities: the floor is mixed in.
    cdef void mix(self, Choice at, double times) noexcept nogil
    cdef double probability(self, Choice at, int64_t learned, Py_ssize_t i) noexcept nogil

cdef enum:
    PICK = 0         # what is asked for
    SCORES = 1
    LAW = 2
    DECISION = 3


cdef np.ndarray context_of(object context, Py_ssize_t p, Py_ssize_t n)
cdef double prediction_of(bint logistic, double m, double y, double *loss) noexcept nogil


cdef class RewardEngine(RowEngine):
    # Regressions that learn numbers: the form is a Regressions.
    cdef bint logistic         # rewards lie in [0, 1]
    cdef bint modest           # weights are at most 1: the width of the theory wants it
    # A number of its own for each stretch of examples in which nothing but learning has changed
    # the form; no engine ever has that of another. No part of any state.
    cdef int64_t era

    cdef double target_of(self, object value, str name) except? -1.0
    cdef double weight_of(self, object value) except -1.0
    cdef void new_era(self) noexcept
    cdef Regressions copied(self)
    cdef tuple examples_of(self, object y, object weight, Py_ssize_t n)
    cdef int mend(self) except -1


cdef class BanditEngine(RewardEngine):
    # What waits for its reward: id -> (arm, row as learn takes it), the oldest first.
    cdef bint arms
    cdef Py_ssize_t contexts   # features of a context
    cdef Exploration exploration
    cdef dict waiting
    cdef int64_t decided, expired
    cdef Py_ssize_t max_pending
    cdef Choice choice

    cdef Choice borrow_choice(self, Workspace ws)
    cdef int offer(self, object X, object allowed, object context, Workspace ws,
                   Choice at) except -1
    cdef int read_offer(self, Workspace ws, Choice at, bint widths) except? -1000
    cdef int refuse_actions(self, Py_ssize_t n, str name) except -1
    cdef object ask(self, object X, object allowed, object context, int what, object k,
                    object samples)
    cdef object answer(self, Workspace ws, Choice at)
    cdef object act(self, Workspace ws, Choice at)
    cdef int score(self, Workspace ws, Choice at, Chance chance) except -1
    cdef Py_ssize_t place(self, Choice at) except -1
    cdef int law(self, Workspace ws, Choice at) except -1
    cdef object decide_now(self, Workspace ws, Choice at)
    cdef int know_for(self, Choice at) except -1
    cdef object remember(self, Choice at, Workspace ws, Py_ssize_t i, double probability)
    cdef tuple kept(self, Workspace ws, Choice at, Py_ssize_t i)
    cdef int forget_oldest(self) except -1
    cdef int refuse_id(self, Py_ssize_t id) except -1
    cdef int learn_crossed(self, object x, double y, double weight, object context) except -1
    cdef int refuse_pairs(self) except -1
    cdef np.ndarray written_out(self, object x, str name)
    cdef dict waiting_of(self, State state, Py_ssize_t k, Py_ssize_t d, int64_t decided)


cdef class BanditRounds(Run):
    # Rounds of a bandit, wherever they come from: `seen` are the actions of one round (arms: its one
    # row), and `at` says of how many of them and under which context.
    cdef Rows seen
    cdef bint arms
    cdef Workspace ws
    cdef Choice at
    cdef Regressions form
    cdef Exploration exploration
    cdef Chance chance

    cdef int begin_rounds(self, BanditEngine engine) except -1
    cdef int read(self, Regressions form, Exploration rule, Workspace ws, Choice at,
                  Chance chance) noexcept nogil
    cdef int teach(self, Regressions form, Workspace ws, Choice at, Py_ssize_t i,
                   double reward) noexcept nogil
