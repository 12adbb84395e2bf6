# Engines that draw what they present and remember it until it is answered, and their runs.

cimport numpy as np

from coactive_fast.coactive._engine cimport Bench, CoactiveEngine
from coactive_fast.coactive._rules cimport Matrix
from coactive_fast.coactive._simulate cimport RankingRun
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._state cimport State


cdef class PendingEngine(CoactiveEngine):
    # What is pending, part of the state: `presented` (rankings: all n documents) and what a family
    # holds beside it. None where nothing is. Arrays are never changed in place.
    cdef np.ndarray presented

    # What a learner says itself. `draw` draws for documents or candidates and holds the outcome;
    # it is called with the guard held, and when it fails the generator is wound back.
    cdef int draw(self, np.ndarray a) except -1
    cdef int hold(self, tuple parts) except -1       # as `checked` gives them; None: nothing
    cdef dict held(self)                             # plain arrays and numbers, by name
    cdef tuple checked(self, State pending, State state)
    cdef int make_room(self, Py_ssize_t n) except -1 # for an answer about n documents
    # The round that ends what is pending: m places shown, of which bench.clicked are marked.
    cdef int answer(self, Bench b, const Matrix *x, Py_ssize_t m) noexcept nogil

    cdef np.ndarray drawn(self, np.ndarray a)
    cdef int refuse_unpaired(self, str name) except -1
    cdef Py_ssize_t take_shown(self, np.ndarray a, np.ndarray shown, str name) except -1
    cdef int take_clicks(self, np.ndarray clicked, Py_ssize_t m) except -1


cdef class PendingRun(RankingRun):
    cdef Py_ssize_t begun      # the first round since the last pause,
    cdef dict before           # and the generator's state then

    cdef int fit(self, PendingEngine engine) except -1
    cdef int redraw(self, generator, Py_ssize_t n) except -1   # what a round over n documents draws


cdef np.ndarray ordering_of(State pending)           # "presented": all documents, each once
