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

    cdef dict get_state(self):
        raise NotImplementedError

    cdef int set_state(self, State state) except -1:
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
        """Of a learner that has this as its base class."""
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
            if anew or (self.is_fresh() and "engine" not in parts):
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
            return {"version": VERSION, **self.get_state()}
        finally:
            self.lock.release_shared()

    def _restore(self, state):
        """The reverse of `_state`; checked before anything is changed."""
        cdef State given = versioned(state)
        self.lock.acquire()
        try:
            self.set_state(given)
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


cdef class Form:
    cdef int reserve(self, Workspace ws) except -1:
        return ws.reserve(self.k, 0)

    cdef int know(self, Py_ssize_t n) except -1:
        return 0

    cdef int widen(self, Py_ssize_t k) except -1:
        raise NotImplementedError

    cdef int set_options(self, Form other) except -1:
        self.most = other.most
        return 0

    cdef int reserve_update(self, Workspace ws) except -1:
        return 0

    cdef int raise_error(self, int status) except -1:
        return 0

    cdef dict get_state(self):
        raise NotImplementedError

    cdef int set_state(self, State state) except -1:
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

    cdef void prepare(self, Workspace ws) noexcept nogil:
        pass

    cdef int read_scores(self, Workspace ws) noexcept nogil:
        return CF_EVALUE

    cdef int read(self, Workspace ws) noexcept nogil:
        """The best score; enough for those that neither explore nor need more."""
        cdef int status = self.read_scores(ws)
        if status != CF_OK:
            return status
        ws.greedy = ws.label = K.best_label(self.k, ws.score)
        return CF_OK if ws.label >= 0 else CF_ENONFINITE

    cdef int look(self, Workspace ws) noexcept nogil:
        return self.read(ws)

    cdef int look_at(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        return self.look(ws)

    cdef void draw(self, Workspace ws) noexcept nogil:
        pass

    cdef int repair(self, Workspace ws) noexcept nogil:
        return CF_ENOTPOSITIVE

    cdef Py_ssize_t read_ahead(self, Rows X, Py_ssize_t t, Py_ssize_t count, Workspace ws) noexcept nogil:
        return count

    cdef int read_ahead_row(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        return self.look(ws)

    cdef bint has_room(self, Workspace ws) noexcept nogil:
        return True

    cdef int take(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        return CF_EVALUE

    cdef void flush(self) noexcept nogil:
        pass


cdef class RowEngine(Engine):
    """One model, its generator, and the parts of a round.

    The parts that it starts from: make, a function that gives a fresh model; chance, owned from
    then on, or None; most, max_features or 0; draws, whether a choice draws.
    """

    def __cinit__(self):
        self.scratch = Workspace()

    cdef int start(self, dict parts) except -1:
        cdef Form form = parts["make"]()  # what it refuses changes nothing
        form.most = parts.get("most", 0)
        self.make, self.most, self.draws = parts["make"], form.most, parts.get("draws", False)
        self.built = form.k
        self.begin(form, parts.get("chance"))
        return 0

    cdef bint is_fresh(self) except -1:
        return self.form.learned == 0 and self.form.k == self.built

    cdef Form new_model(self):
        cdef Form form = self.make()
        form.most = self.most
        return form

    # --- what every engine has ----------------------------------------------------------------

    @property
    def _rounds(self):
        """How many rounds there were: where not said otherwise, examples."""
        self.lock.check_open()
        return self.form.learned

    @property
    def _answers(self):
        """How many answers a reading has: classes, arms."""
        self.lock.check_open()
        return self.form.k

    @property
    def _learned(self):
        """How many examples were learned."""
        self.lock.check_open()
        return self.form.learned

    @property
    def _dimension(self):
        """How many features the rows have; 0 while that is not known."""
        self.lock.check_open()
        return self.form.d

    cdef dict get_state(self):
        return {**self.form.get_state(), **({} if self.chance is None else self.chance.state())}

    cdef int set_state(self, State state) except -1:
        cdef Form form = self.new_model()
        cdef Chance chance = None
        if self.chance is not None:
            chance = Chance.restored(state.given)
        form.set_state(state)
        self.begin(form, chance)
        return 0

    cdef int begin_again(self) except -1:
        cdef Form form = self.new_model()
        self.begin(form, None if self.chance is None else self.chance.fresh())
        return 0

    cdef void begin(self, Form form, Chance chance) noexcept:
        self.form, self.chance = form, chance
        self.stamp += 1

    cdef int set_options(self, dict parts, list changed) except -1:
        cdef Form form = parts["make"]()
        form.most = parts.get("most", 0)
        self.form.set_options(form)
        self.make = parts["make"]
        if "seed" in changed:
            self.chance = parts.get("chance")
        self.stamp += 1
        return 0

    def _widen(self):
        """One answer more; its number."""
        self.lock.acquire()
        try:
            self.form.widen(self.form.k + 1)
            self.stamp += 1
            return self.form.k - 1
        finally:
            self.lock.release()

    def _tell(self, str what, i=None, str name="i"):
        """weights, inverse (of answer i), information or health of the form."""
        cdef Form form
        cdef Py_ssize_t answer = as_count(i, name) if what == "inverse" else 0
        self.lock.acquire_shared()
        try:
            form = self.form
            if what == "weights":
                return form.np_weights()
            if what == "information":
                return form.np_information()
            if what == "health":
                return form.health()
            if answer >= form.k:
                raise ValueError(f"{name} must be in 0 ... {form.k - 1}, got {answer}")
            return form.np_inverse(answer)
        finally:
            self.lock.release_shared()

    def _fits(self, Py_ssize_t n, str name):
        """Refuses what has n features, where that is another number than those known."""
        self.lock.check_open()
        self.width(n, name)

    # --- parts of a round ---------------------------------------------------------------------

    cdef int refuse_width(self, Py_ssize_t n, str name) except -1:
        cdef Py_ssize_t d = self.form.d, most = self.form.most
        if most and n > most:
            raise ValueError(f"{name} must have at most {most} features (max_features), got {n}")
        if not most and d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        return 0

    cdef int refuse_answer(self, Py_ssize_t i, str name) except -1:
        raise ValueError(f"{name} must be in 0 ... {self.form.k - 1}, got {i}")

    cdef int read_now(self, Workspace ws) except -1:
        """The reading that `choose` begins with, and its draw. A short one has the lock alone, which
        costs least; where a long one finds damage, the next one has it alone and repairs it."""
        ws.forget()
        cdef bint brief = self.form.cost(ws.given.nnz) < BUSY, alone = brief or self.draws
        cdef int status
        self.lock.acquire_read(alone)
        try:
            status = self.read_locked(ws, alone, brief)
        finally:
            self.lock.release_read(alone)
        if status == CF_OK:
            return 0
        self.lock.acquire()
        try:
            return self.read_locked(ws, True, brief)
        finally:
            self.lock.release()

    @cython.final
    cdef int read_locked(self, Workspace ws, bint alone, bint brief) except? -1000:
        """CF_OK, or CF_ENOTPOSITIVE for who does not have the lock alone. The reading is kept for the
        `learn` that follows, unless a draw changes what stands in the scratch."""
        cdef Form form = self.form
        cdef int status
        self.ready(ws, False)
        if brief:
            status = form.read(ws)
        else:
            with nogil:
                status = form.read(ws)
        if status != CF_OK:
            if status == CF_ENOTPOSITIVE:
                if not alone:
                    return status
                status = look(form, ws)
            if status != CF_OK:
                self.fail(status, "x")
        if self.draws:
            form.draw(ws)
        elif ws is self.scratch and form.d:
            ws.remember(&ws.given, form.learned, self.stamp)
        return CF_OK

    cdef int learn_row(self, object x, Py_ssize_t i, double y, str name) except -1:
        """`learn`: all other arguments have become C values before x is looked at."""
        cdef Workspace ws = self.borrow()
        try:
            self.set_row(x, ws)
            return self.learn_one(ws, i, y, name)
        finally:
            self.give_back(ws)

    cdef int learn_one(self, Workspace ws, Py_ssize_t i, double y, str name) except -1:
        """`learn` of what stands in the scratch as answer i, which `name` gave."""
        self.lock.acquire()
        try:
            self.look_back(ws, i, name)
            return self.learn_locked(ws, i, y)
        finally:
            self.lock.release()

    @cython.final
    cdef int learn_locked(self, Workspace ws, Py_ssize_t i, double y) except -1:
        """The step by what `look_back` has made ready."""
        cdef Form form = self.form
        cdef int status
        if not form.has_room(ws):
            form.reserve_update(ws)
        if form.cost(ws.row.nnz) < BUSY:
            status = take(form, ws, i, y)
        else:
            with nogil:
                status = take(form, ws, i, y)
        ws.forget()
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int fail(self, int status, str what) except -1:
        self.form.raise_error(status)
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
        cdef Workspace ws = Workspace()
        cdef Form form
        cdef Py_ssize_t t = 0, k
        cdef int status = CF_OK
        cdef np.ndarray out
        cdef double *to
        self.lock.acquire_shared()
        try:
            form = self.form
            k = form.k
            self.width(rows.d, "X")
            out = <np.ndarray>numpy.empty((rows.n, k))
            ws.reserve_for(rows)
            form.reserve(ws)
            to = data_of(out)
            with nogil:
                while t < rows.n and status == CF_OK:
                    status = ws.load(rows, t)
                    if status != CF_OK:
                        break
                    form.prepare(ws)
                    status = form.read_scores(ws)
                    if status == CF_OK and not K.all_finite(k, ws.score):
                        status = CF_ENONFINITE
                    if status == CF_OK:
                        memcpy(to + t * k, ws.score, <size_t>k * sizeof(double))
                        t += 1
        finally:
            self.lock.release_shared()
        if status != CF_OK:
            self.fail(status, f"row {t} of X")
        return out


cdef int look(Form form, Workspace ws) noexcept nogil:
    cdef int status = form.look(ws)
    if status == CF_ENOTPOSITIVE:
        status = form.repair(ws)
        if status == CF_OK:
            status = form.look(ws)
    return status


cdef int take(Form form, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
    """One example; unless it is fresh, a look at this row stands in the scratch."""
    cdef int status = CF_OK
    if not ws.is_read:
        status = form.look_at(ws, i)
        if status == CF_ENOTPOSITIVE:
            status = form.repair(ws)
            if status == CF_OK:
                status = form.look_at(ws, i)
    if status == CF_OK:
        status = form.take(ws, i, y)
    form.flush()
    return status
