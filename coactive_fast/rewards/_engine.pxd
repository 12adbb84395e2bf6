# The engines of the regression and of the bandits.

cimport cython
cimport numpy as np
from libc.stdint cimport int64_t

from coactive_fast._table cimport cf_row
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport RowEngine
from coactive_fast.learner._run cimport Run, RowRun
from coactive_fast.learner._state cimport State
from coactive_fast.metric._single cimport Crossed
from coactive_fast.rewards._policy cimport Choice, Regressions, Rule
from coactive_fast.rows._rows cimport Rows, Scratch


cdef enum:
    PICK = 0         # what `answer` is to give
    SCORES = 1
    LAW = 2
    DECISION = 3


cdef class RewardEngine(RowEngine):
    # Regressions that are told numbers: the model is a Regressions.
    cdef bint logistic         # rewards lie in [0, 1]
    cdef bint modest           # weights are at most 1: the width of the theory wants it
    # A number of its own for each stretch of examples in which nothing but learning has changed
    # the model; no engine ever has that of another. No part of any state.
    cdef int64_t era

    cdef double target_of(self, object value, str name) except? -1.0
    cdef double weight_of(self, object value) except -1.0
    cdef void new_era(self) noexcept
    cdef Regressions copied(self)
    cdef int learn_weighted(self, object x, Py_ssize_t i, double y, double weight,
                            str name) except -1
    cdef int mend(self, Scratch s) except -1


@cython.final
cdef class RidgeRun(RowRun):
    # Every row is predicted, then learned.
    cdef np.ndarray y, weights, predictions, loss
    cdef bint logistic

    cdef int one(self, Regressions model, Scratch s) noexcept nogil


cdef class BanditEngine(RewardEngine):
    # What waits for its reward: id -> (arm, row as learn takes it), the oldest first.
    cdef Rule rule
    cdef dict waiting
    cdef int64_t decided, expired
    cdef Py_ssize_t max_pending
    cdef Choice choice

    cdef Choice borrow_choice(self, Scratch s)
    cdef object ask(self, object X, object allowed, object context, int what, object k,
                    object samples)
    cdef object answer(self, Scratch s, Choice at, int what, object k, object samples)
    cdef object attempt(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples,
                        int *status)
    cdef object act(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples)
    # What the two kinds of bandits say: the arguments as C values; m and q, which answers a status;
    # what a decision has to remember.
    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1
    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000
    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i)
    cdef tuple told_scores(self, Choice at)
    cdef int score(self, Scratch s, Choice at, Chance chance) except -1
    cdef Py_ssize_t place(self, Choice at) except -1
    cdef int law(self, Scratch s, Choice at, Py_ssize_t samples) except -1
    cdef object decide_now(self, Scratch s, Choice at, Py_ssize_t samples)
    cdef int know_for(self, Choice at) except -1
    cdef object remember(self, Choice at, Scratch s, Py_ssize_t i, double probability)
    cdef int forget_oldest(self) except -1
    cdef int refuse_id(self, Py_ssize_t id) except -1
    cdef dict told_waiting(self)
    cdef dict waiting_of(self, State state, Py_ssize_t k, Py_ssize_t d, int64_t decided)


@cython.final
cdef class LinearEngine(BanditEngine):
    # One regression for all actions.
    cdef Py_ssize_t contexts   # features of a context

    cdef object context_of(self, object context)
    cdef int refuse_actions(self, Py_ssize_t n, str name) except -1
    cdef int cross(self, cf_row *row, Crossed by, Scratch s) except -1
    cdef int learn(self, object x, object reward, object weight, object context) except -1
    cdef int refuse_pairs(self) except -1
    cdef np.ndarray differences(self, Choice at, Py_ssize_t first, Scratch s)
    cdef np.ndarray written_out(self, object x, str name)


@cython.final
cdef class ArmEngine(BanditEngine):
    # A regression an arm.
    cdef int learn(self, object x, object arm, object reward, object weight) except -1


cdef class BanditRounds(Run):
    # Rounds of a bandit, wherever they come from: `seen` are the actions of one round (arms: its one
    # row), and `at` says of how many of them and under which context.
    cdef Rows seen
    cdef bint arms
    cdef Scratch scratch
    cdef Choice at
    cdef Regressions model
    cdef Rule rule
    cdef Chance chance

    cdef int at_hand(self, BanditEngine engine) except -1
    cdef int read(self, Regressions model, Rule rule, Scratch s, Choice at,
                  Chance chance) noexcept nogil
    cdef int teach(self, Regressions model, Scratch s, Choice at, Py_ssize_t i,
                   double reward) noexcept nogil


cdef class BanditRun(BanditRounds):
    # A bandit in an environment: choose, learn, round after round. Round t shows row t mod T of
    # what is given, or what is drawn. Invariants: the memory of `seen` is `drawn` or moves along the
    # table; means has the mean reward of each.
    cdef Rows table            # all rows (arms: one a round)
    cdef np.ndarray drawn, rewards, weights, contexts, means
    cdef np.ndarray reward, regret, choice, probability
    cdef bint same             # all rounds have the same actions
    cdef Py_ssize_t period     # T
    cdef double noise
    cdef Chance world          # None: nothing is drawn

    cdef int show(self, Rows seen, Scratch s, Choice at, Chance world) noexcept nogil
    cdef int decide(self, Regressions model, Rule rule, Scratch s, Choice at,
                    Chance chance) noexcept nogil
    cdef int one(self, Regressions model, Rule rule, Scratch s, Choice at) noexcept nogil
