"""The engines that all families share; see _engine.pxd."""

import numpy

cimport cython
cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport as_count, data_of, refuse
from coactive_fast._lock cimport Lock
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_ENOTPOSITIVE, CF_EVALUE, CF_OK, cf_get_table, cf_table,
)
from coactive_fast.learner._state cimport VERSION, versioned


np.import_array()

cdef const cf_table *K = cf_get_table()


cdef class Engine:
    def __cinit__(self):
        self.lock = Lock()
        self.lock.close(type(self))

    cdef dict told(self):
        raise NotImplementedError

    cdef int take_state(self, State state) except -1:
        raise NotImplementedError

    cdef int start(self, dict parts) except -1:
        raise NotImplementedError

    cdef bint is_fresh(self) except -1:
        raise NotImplementedError

    cdef int begin_again(self) except -1:
        raise NotImplementedError

    cdef int set_options(self, dict parts, list changed) except -1:
        raise NotImplementedError

    @property
    def _engine(self):
        """What of a learner is its engine: the learner itself."""
        return self

    @property
    def _fresh(self):
        """Whether nothing was learned, and no answer added."""
        self.lock.check_open()
        return self.is_fresh()

    def _start(self, dict parts):
        """From checked parameters; once more for an object whose `__init__` is called again."""
        if self.lock.closed is not None:
            self.start(parts)
            self.lock.open()
        else:
            self._change(parts, [], [], True)

    def _change(self, dict parts, list changed, list shaping, bint anew=False):
        """Other parameters. What was learned stays, and does not allow those that shape it."""
        if shaping and "make" in parts:
            parts["make"]()  # refuses what is wrong with them, whatever was learned
        self.lock.acquire()
        try:
            if anew or self.is_fresh():
                self.start(parts)
            elif shaping:
                raise ValueError(f"{shaping[0]} shapes what was learned in {self._rounds} "
                                 f"rounds: call reset() before changing it")
            else:
                self.set_options(parts, changed)
        finally:
            self.lock.release()

    def _state(self):
        """Everything that learning has changed, as plain arrays and numbers."""
        self.lock.acquire_shared()
        try:
            return {"version": VERSION, **self.told()}
        finally:
            self.lock.release_shared()

    def _restore(self, state):
        """The reverse of `_state`; checked before anything is changed."""
        cdef State given = versioned(state)
        self.lock.acquire()
        try:
            self.take_state(given)
        finally:
            self.lock.release()

    def _reset(self):
        """Back to the beginning."""
        self.lock.acquire()
        try:
            self.begin_again()
        finally:
            self.lock.release()


# --- learners of rows -------------------------------------------------------------------------


cdef class Model:
    cdef int fit(self, Scratch s) except -1:
        return s.fit(self.k, 0)

    cdef int know(self, Py_ssize_t n) except -1:
        return 0

    cdef int widen(self, Py_ssize_t k) except -1:
        raise NotImplementedError

    cdef int adopt(self, Model other) except -1:
        self.most = other.most
        return 0

    cdef int make_room(self, Scratch s) except -1:
        return 0

    cdef int raise_error(self, int status) except -1:
        return 0

    cdef dict told(self):
        raise NotImplementedError

    cdef int restore(self, State state) except -1:
        raise NotImplementedError

    cdef np_weights(self):
        raise NotImplementedError

    cdef np_inverse(self, Py_ssize_t i):
        raise NotImplementedError

    cdef np_information(self):
        raise NotImplementedError

    cdef dict health(self):
        return {}

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return <double>nnz * self.k

    cdef void prepare(self, Scratch s) noexcept nogil:
        pass

    cdef int read_scores(self, Scratch s) noexcept nogil:
        return CF_EVALUE

    cdef int read(self, Scratch s) noexcept nogil:
        """The best score; enough for those that neither explore nor need more."""
        cdef int status = self.read_scores(s)
        if status != CF_OK:
            return status
        s.exploit = s.label = K.best_label(self.k, s.m)
        return CF_OK if s.label >= 0 else CF_ENONFINITE

    cdef int look(self, Scratch s) noexcept nogil:
        return self.read(s)

    cdef int look_at(self, Scratch s, Py_ssize_t i) noexcept nogil:
        return self.look(s)

    cdef void draw(self, Scratch s) noexcept nogil:
        pass

    cdef int repair(self, Scratch s) noexcept nogil:
        return CF_ENOTPOSITIVE

    cdef Py_ssize_t ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, Scratch s) noexcept nogil:
        return count

    cdef int look_ahead(self, Scratch s, Py_ssize_t i) noexcept nogil:
        return self.look(s)

    cdef bint has_room(self, Scratch s) noexcept nogil:
        return True

    cdef int take(self, Scratch s, Py_ssize_t i, double y) noexcept nogil:
        return CF_EVALUE

    cdef void settle(self) noexcept nogil:
        pass


cdef class RowEngine(Engine):
    """One model, its generator, and the parts of a round.

    The parts that it starts from: make, a function that gives a fresh model; chance, owned from
    then on, or None; most, max_features or 0; draws, whether a choice draws.
    """

    def __cinit__(self):
        self.scratch = Scratch()

    cdef int start(self, dict parts) except -1:
        cdef Model model = parts["make"]()  # what it refuses changes nothing
        model.most = parts.get("most", 0)
        self.make, self.most, self.draws = parts["make"], model.most, parts.get("draws", False)
        self.built = model.k
        self.begin(model, parts.get("chance"))
        return 0

    cdef bint is_fresh(self) except -1:
        return self.model.learned == 0 and self.model.k == self.built

    cdef Model new_model(self):
        cdef Model model = self.make()
        model.most = self.most
        return model

    # --- what every engine has ----------------------------------------------------------------

    @property
    def _rounds(self):
        """How many rounds there were: where not said otherwise, examples."""
        self.lock.check_open()
        return self.model.learned

    @property
    def _answers(self):
        """How many answers a reading has: classes, arms."""
        self.lock.check_open()
        return self.model.k

    @property
    def _learned(self):
        """How many examples were learned."""
        self.lock.check_open()
        return self.model.learned

    @property
    def _dimension(self):
        """How many features the rows have; 0 while that is not known."""
        self.lock.check_open()
        return self.model.d

    cdef dict told(self):
        return {**self.model.told(), **({} if self.chance is None else self.chance.state())}

    cdef int take_state(self, State state) except -1:
        cdef Model model = self.new_model()
        cdef Chance chance = None
        if self.chance is not None:
            chance = Chance.restored(state.given)
        model.restore(state)
        self.begin(model, chance)
        return 0

    cdef int begin_again(self) except -1:
        cdef Model model = self.new_model()
        self.begin(model, None if self.chance is None else self.chance.fresh())
        return 0

    cdef void begin(self, Model model, Chance chance) noexcept:
        self.model, self.chance = model, chance
        self.stamp += 1

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef Model model = parts["make"]()
        model.most = parts.get("most", 0)
        self.model.adopt(model)
        self.make = parts["make"]
        if "seed" in changed:
            self.chance = parts.get("chance")
        self.stamp += 1
        return 0

    def _widen(self):
        """One answer more; its number."""
        self.lock.acquire()
        try:
            self.model.widen(self.model.k + 1)
            self.stamp += 1
            return self.model.k - 1
        finally:
            self.lock.release()

    def _tell(self, str what, i=None, str name="i"):
        """weights, inverse (of answer i), information or health of the model."""
        cdef Model model
        cdef Py_ssize_t answer = as_count(i, name) if what == "inverse" else 0
        self.lock.acquire_shared()
        try:
            model = self.model
            if what == "weights":
                return model.np_weights()
            if what == "information":
                return model.np_information()
            if what == "health":
                return model.health()
            if answer >= model.k:
                raise ValueError(f"{name} must be in 0 ... {model.k - 1}, got {answer}")
            return model.np_inverse(answer)
        finally:
            self.lock.release_shared()

    def _fits(self, Py_ssize_t n, str name):
        """Refuses what has n features, where that is another number than those known."""
        self.lock.check_open()
        self.width(n, name)

    # --- parts of a round ---------------------------------------------------------------------

    cdef int refuse_width(self, Py_ssize_t n, str name) except -1:
        cdef Py_ssize_t d = self.model.d, most = self.model.most
        if most and n > most:
            raise ValueError(f"{name} must have at most {most} features (max_features), got {n}")
        if not most and d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        return 0

    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1:
        raise ValueError(f"{name} must be in 0 ... {self.model.k - 1}, got {i}")

    cdef int read_now(self, Scratch s) except -1:
        """The reading that `choose` begins with, and its draw. A short one has the lock alone, which
        costs least; where a long one finds damage, the next one has it alone and repairs it."""
        s.forget()
        cdef bint brief = self.model.cost(s.given.nnz) < BUSY, alone = brief or self.draws
        cdef int status
        self.lock.acquire_read(alone)
        try:
            status = self.read_locked(s, alone, brief)
        finally:
            self.lock.release_read(alone)
        if status == CF_OK:
            return 0
        self.lock.acquire()
        try:
            return self.read_locked(s, True, brief)
        finally:
            self.lock.release()

    @cython.final
    cdef int read_locked(self, Scratch s, bint alone, bint brief) except? -1000:
        """CF_OK, or CF_ENOTPOSITIVE for who does not have the lock alone. The reading is kept for the
        `learn` that follows, unless a draw changes what stands in the scratch."""
        cdef Model model = self.model
        cdef int status
        self.ready(s, False)
        if brief:
            status = model.read(s)
        else:
            with nogil:
                status = model.read(s)
        if status != CF_OK:
            if status == CF_ENOTPOSITIVE:
                if not alone:
                    return status
                status = look(model, s)
            if status != CF_OK:
                self.fail(status, "x")
        if self.draws:
            model.draw(s)
        elif s is self.scratch and model.d:
            s.remember(&s.given, model.learned, self.stamp)
        return CF_OK

    cdef int learn_row(self, object x, Py_ssize_t i, double y, str name) except -1:
        """`learn`: all other arguments have become C values before x is looked at."""
        cdef Scratch s = self.borrow()
        try:
            self.take_row(x, s)
            return self.learn_one(s, i, y, name)
        finally:
            self.give_back(s)

    cdef int learn_one(self, Scratch s, Py_ssize_t i, double y, str name) except -1:
        """`learn` of what stands in the scratch as answer i, which `name` gave."""
        self.lock.acquire()
        try:
            self.look_back(s, i, name)
            return self.learn_locked(s, i, y)
        finally:
            self.lock.release()

    @cython.final
    cdef int learn_locked(self, Scratch s, Py_ssize_t i, double y) except -1:
        """The step by what `look_back` has made ready."""
        cdef Model model = self.model
        cdef int status
        if not model.has_room(s):
            model.make_room(s)
        if model.cost(s.row.nnz) < BUSY:
            status = take(model, s, i, y)
        else:
            with nogil:
                status = take(model, s, i, y)
        s.forget()
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int fail(self, int status, str what) except -1:
        self.model.raise_error(status)
        if status == CF_ENOMEM:
            raise MemoryError(f"{what} to be sorted")
        if status == CF_EVALUE:
            raise ValueError(f"{what} is too small or too large for this learner: a product with "
                             "it is zero or leaves no variance")
        if status == CF_ENONFINITE:
            raise ValueError(f"{what} is too large: what follows from it is not finite")
        return refuse(status, f"A^-1 along {what}, beyond repair")

    # --- many rows ----------------------------------------------------------------------------

    cdef np.ndarray scores(self, Rows rows):
        """m of all answers for all rows, shape (n, k)."""
        cdef Scratch s = Scratch()
        cdef Model model
        cdef Py_ssize_t t = 0, k
        cdef int status = CF_OK
        cdef np.ndarray out
        cdef double *to
        self.lock.acquire_shared()
        try:
            model = self.model
            k = model.k
            self.width(rows.d, "X")
            out = <np.ndarray>numpy.empty((rows.n, k))
            s.expect(rows)
            model.fit(s)
            to = data_of(out)
            with nogil:
                while t < rows.n and status == CF_OK:
                    status = s.take_from(rows, t)
                    if status != CF_OK:
                        break
                    model.prepare(s)
                    status = model.read_scores(s)
                    if status == CF_OK and not K.all_finite(k, s.m):
                        status = CF_ENONFINITE
                    if status == CF_OK:
                        memcpy(to + t * k, s.m, <size_t>k * sizeof(double))
                        t += 1
        finally:
            self.lock.release_shared()
        if status != CF_OK:
            self.fail(status, f"row {t} of X")
        return out


cdef int look(Model model, Scratch s) noexcept nogil:
    cdef int status = model.look(s)
    if status == CF_ENOTPOSITIVE:
        status = model.repair(s)
        if status == CF_OK:
            status = model.look(s)
    return status


cdef int take(Model model, Scratch s, Py_ssize_t i, double y) noexcept nogil:
    """One example; unless it is fresh, a look at this row stands in the scratch."""
    cdef int status = CF_OK
    if s.fresh:
        status = model.look_at(s, i)
        if status == CF_ENOTPOSITIVE:
            status = model.repair(s)
            if status == CF_OK:
                status = model.look_at(s, i)
    if status == CF_OK:
        status = model.take(s, i, y)
    model.settle()
    return status
