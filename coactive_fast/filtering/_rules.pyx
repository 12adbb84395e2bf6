"""How filters decide and learn, their engines and runs (DEFINITIONS 4)."""

import copy

import numpy

cimport cython
cimport numpy as np
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, copysign, fabs, sqrt
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_flag, as_number, data_of, finite_vector, new_doubles, new_vector, refuse,
)
from coactive_fast._lock cimport cf_flag_clear, cf_flag_set
from coactive_fast._table cimport (
    CF_ENOMEM, CF_ENONFINITE, CF_OK, cf_get_library, cf_get_table, cf_library, cf_row, cf_table,
)
from coactive_fast.learner._chance cimport Chance
from coactive_fast.learner._engine cimport Engine, Form, RowEngine, Rule
from coactive_fast.learner._run cimport MORE, RowRun
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._forms cimport Single, linear, read_topics, learn_topics
from coactive_fast.rows._rows cimport RowBuffer, Rows, Workspace, place_of, rows_of

from coactive_fast.filtering._history import history_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()
KINDS = {"falling": FALLING, "ucb": UPPER, "dgs": TEACHER, "bbq": NOVEL, "sign": SIGN,
         "coin": COIN}


cdef class Decision:
    """Which rows are forwarded, and the parameters of that.

    Parameters
    ----------
    kind : {"falling", "ucb", "dgs", "bbq", "sign", "coin"}
    tau : float
        The margin from which on all is forwarded.
    scale, delta, width, power, explore : float
        Of the rules "falling"; "ucb" and "dgs" (both `delta` and `width`); "bbq"; "coin". A
        `width` or `explore` below 0 stands for that of the theory and that of the round.
    floor : float
        The share of rounds forwarded while nothing relevant was learned.
    """

    def __init__(self, kind, *, double tau=0.0, double scale=0.0, double delta=0.5,
                 double width=-1.0, double power=0.5, double explore=0.0, double floor=0.0):
        self.kind, self.tau, self.scale, self.delta = KINDS[kind], tau, scale, delta
        self.width, self.power, self.explore, self.floor = width, power, explore, floor
        self.counts = floor > 0.0 or self.kind == TEACHER

    cdef double threshold(self, Form form, Tally *tally) noexcept nogil:
        if self.kind == SIGN or self.kind == COIN:
            return self.tau
        if form.learned == 0:
            return -INFINITY
        if self.kind == NOVEL:
            return self.tau
        if self.kind == FALLING:
            return -(sqrt(self.scale * K.log_one(<double>(tally.rounds + 1)) / form.learned)
                     - self.tau)
        return -self.half_width(form, tally)

    cdef double half_width(self, Form form, Tally *tally) noexcept nogil:
        """What multiplies sqrt(q) where the width of x counts."""
        cdef double t = <double>(tally.rounds + 1)
        if self.kind == UPPER:
            if self.width >= 0.0:
                return self.width
            return (sqrt(max((<Single>form).information(), 0.0) - 2.0 * K.log_one(self.delta))
                    + 1.0)
        if self.width >= 0.0:
            return self.width * sqrt(K.log_one(1.0 + t))
        return sqrt(1.0 + 4.0 * tally.known + 36.0 * (K.log_one(t) - K.log_one(self.delta)))

    cdef double exploration_probability(self, int64_t rounds) noexcept nogil:
        """That of the round to come."""
        cdef double root
        if self.explore >= 0.0:
            return self.explore
        root = 1.0 / sqrt(<double>(rounds + 1))
        return min(0.5, 0.5 * (1.0 + root) * root)

    cdef bint decide(self, Form form, Tally *tally, bitgen_t *rng, double m,
                     double q) noexcept nogil:
        cdef double limit = self.threshold(form, tally), t
        if (self.kind == UPPER or self.kind == TEACHER) and form.learned:
            if m - self.tau >= sqrt(q) * limit:
                return True
        elif m / (1.0 + q) >= limit:
            return True
        if self.kind == COIN:
            return rng.next_double(rng.state) < self.exploration_probability(tally.rounds)
        t = <double>(tally.rounds + 1)
        if self.kind == NOVEL and q / (1.0 + q) > K.exp_one(-self.power * K.log_one(t)):
            return True
        return (self.floor > 0.0 and tally.relevant == 0
                and <double>form.learned < self.floor * t)

    cdef double target(self, double m, double q, double y) noexcept nogil:
        """DGS first moves w to the nearest one (in the norm of A) of which |w.x| <= 1; what is
        learned then is the step from w itself towards another target."""
        if self.kind != TEACHER or not fabs(m) > 1.0 or not q > 0.0:
            return y
        return y - (m - copysign(1.0, m)) / q


cdef class Share(Single):
    """The share of relevant labels, less one half."""

    cdef int64_t relevant

    cdef double cost(self, Py_ssize_t nnz) noexcept nogil:
        return 1.0

    cdef int read(self, Workspace ws) noexcept nogil:
        ws.quad[0] = 0.0
        ws.score[0] = <double>self.relevant / self.learned - 0.5 if self.learned else 0.0
        return CF_OK

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        self.relevant += y > 0.0
        self.learned += 1
        return CF_OK

    cdef dict get_extra(self):
        return {"relevant": self.relevant}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        self.relevant, self.d = state.count("relevant", 0, self.learned), d
        return 0


cdef class Perceptron(Single):
    """w += y x on a mistake."""

    cdef double *next          # behind w, which is owned: room for the entries of one row

    def __dealloc__(self):
        L.free(self.w)

    cdef int start(self, Py_ssize_t n) except -1:
        self.w = new_doubles(2, n, f"the weights of {n} features")
        self.next = self.w + n
        return 0

    cdef int read(self, Workspace ws) noexcept nogil:
        ws.score[0] = ws.quad[0] = 0.0
        return linear(&ws.row, self.w, ws.score) if self.d else CF_OK

    cdef int update(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef Py_ssize_t e
        if (ws.score[0] >= 0.0) != (y > 0.0):
            for e in range(ws.row.nnz):
                self.next[e] = self.w[place_of(&ws.row, e)] + y * ws.row.value[e]
            if not K.all_finite(ws.row.nnz, self.next):
                return CF_ENONFINITE
            K.ridge_place(&ws.row, self.next, self.w)
        self.learned += 1
        return CF_OK

    cdef dict get_extra(self):
        return {"w": vector_of(self.w, self.d)}

    cdef int set_extra(self, State state, Py_ssize_t d) except -1:
        state.vector("w", d)  # vouches for d before memory is taken
        self.resize(1, d)
        return state.load("w", d, self.w)


@cython.final
cdef class Fit:
    """Isotonic regression of the labels learned on their margins (pool adjacent violators: Ayer,
    Brunk, Ewing, Reid and Silverman, "An empirical distribution function for sampling with
    incomplete information", 1955), linear between its knots and constant beyond.

    An example is noted in O(1), 16 bytes; the fit is made when it is asked for (32 bytes more).
    """

    # Invariants. `n` examples in margin and label (0 or 1), `room` for more; the first `fitted` of
    # them are in ascending order of the margin. knot and value have `knots` entries: the fit of
    # those, whose knots ascend strictly. What is in order and what is fitted is a cache: the state
    # is the examples, in whatever order.
    cdef double *margin        # owned, as the next one; label stands behind it
    cdef double *label
    cdef double *knot
    cdef double *value
    cdef double *weight        # scratch of `pool`, as the next one
    cdef double *span
    cdef Py_ssize_t n, room, fitted, knots, knot_room

    def __dealloc__(self):
        L.free(self.margin)
        L.free(self.knot)

    cdef bint has_room(self) noexcept nogil:
        return self.n < self.room

    cdef int reserve(self, Py_ssize_t room) except -1:
        cdef double *block = new_doubles(2, room, f"the margins of {room} learned examples")
        if self.n:
            memcpy(block, self.margin, <size_t>self.n * sizeof(double))
            memcpy(block + room, self.label, <size_t>self.n * sizeof(double))
        L.free(self.margin)
        self.margin, self.label, self.room = block, block + room, room
        return 0

    cdef void add(self, double margin, bint relevant) noexcept nogil:
        self.margin[self.n], self.label[self.n] = margin, 1.0 if relevant else 0.0
        self.n += 1

    # --- the fit ------------------------------------------------------------------------------

    cdef int refresh(self) except -1:
        cdef np.ndarray margins, labels
        cdef double *block
        if self.fitted == self.n:
            return 0
        if self.knot_room < self.n:
            block = new_doubles(4, self.room, f"the fit of {self.n} learned examples")
            L.free(self.knot)
            self.knot, self.value, self.knot_room = block, block + self.room, self.room
            self.weight, self.span = block + 2 * self.room, block + 3 * self.room
        margins, labels = vector_of(self.margin, self.n), vector_of(self.label, self.n)
        order = numpy.argsort(margins, kind="stable")  # O(n) where all but the last are in order
        margins, labels = margins[order], labels[order]
        memcpy(self.margin, data_of(margins), <size_t>self.n * sizeof(double))
        memcpy(self.label, data_of(labels), <size_t>self.n * sizeof(double))
        with nogil:
            self.pool()
        self.fitted = self.n
        return 0

    cdef void pool(self) noexcept nogil:
        """Equal margins are one knot; where the mean of a pool of knots is not above that of the
        one before, the two become one. Pools stand at the front of value (sums), weight and span
        (knots), and are then written out from the back."""
        cdef Py_ssize_t i, k = 0, last = -1
        cdef double mean
        for i in range(self.n):
            if k and self.knot[k - 1] == self.margin[i]:
                self.value[k - 1] += self.label[i]
                self.weight[k - 1] += 1.0
            else:
                self.knot[k], self.value[k], self.weight[k] = self.margin[i], self.label[i], 1.0
                k += 1
        self.knots = k
        for i in range(k):
            last += 1
            self.value[last], self.weight[last] = self.value[i], self.weight[i]
            self.span[last] = 1.0
            while last and (self.value[last - 1] * self.weight[last]
                            >= self.value[last] * self.weight[last - 1]):
                last -= 1
                self.value[last] += self.value[last + 1]
                self.weight[last] += self.weight[last + 1]
                self.span[last] += self.span[last + 1]
        while last >= 0:
            mean = self.value[last] / self.weight[last]
            for i in range(<Py_ssize_t>self.span[last]):
                k -= 1
                self.value[k] = mean
            last -= 1

    cdef double at(self, double margin) noexcept nogil:
        cdef Py_ssize_t low = 0, high = self.knots - 1, middle
        cdef double part
        if high < 0:
            return min(max((1.0 + margin) / 2.0, 0.0), 1.0)
        if margin <= self.knot[0]:
            return self.value[0]
        if margin >= self.knot[high]:
            return self.value[high]
        while high - low > 1:  # knot[low] < margin < knot[high], or it is one of the two
            middle = (low + high) // 2
            if self.knot[middle] <= margin:
                low = middle
            else:
                high = middle
        part = (margin - self.knot[low]) / (self.knot[high] - self.knot[low])
        return self.value[low] + part * (self.value[high] - self.value[low])

    # --- state --------------------------------------------------------------------------------

    cdef dict get_state(self):
        """In the order of the margins, so that a reading before does not show."""
        cdef np.ndarray margins = vector_of(self.margin, self.n)
        cdef np.ndarray labels = vector_of(self.label, self.n)
        order = numpy.lexsort((labels, margins))
        return {"margins": margins[order], "relevant": labels[order].astype(numpy.int64)}

    @staticmethod
    cdef Fit restored(State state, Py_ssize_t learned):
        cdef Fit fit = Fit()
        cdef np.ndarray margins = state.vector("margins", learned)
        cdef np.ndarray labels = state.counts("relevant", learned, 0, 1)
        cdef Py_ssize_t i
        fit.reserve(learned + 64)
        for i in range(learned):
            fit.add(data_of(margins)[i], (<const int64_t *>np.PyArray_DATA(labels))[i])
        return fit


@cython.final
cdef class FilterRule(Rule):
    """One regression, the decisions by it, and the counts that they go by.

    Parameters
    ----------
    form : Form
    decision : Decision
    calibrate : bool
        Whether the margins of what is learned are kept, with the labels.
    """

    cdef Decision decision
    cdef Tally tally
    cdef Fit fit               # of what was learned on its margins, or None

    def __init__(self, Form form, Decision decision, bint calibrate=False):
        self.form, self.decision, self.counts = form, decision, True
        self.fit = Fit() if calibrate else None

    cdef int choose(self, Workspace ws) noexcept nogil:
        """ws.label is 1 where the row is forwarded; counts the round."""
        cdef int status = self.form.read(ws)
        if status == CF_OK:
            ws.label = self.decision.decide(self.form, &self.tally, ws.rng, ws.score[0], ws.quad[0])
            self.tally.rounds += 1
        return status

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef double m, q
        cdef int status = CF_OK if ws.is_read else self.form.read(ws)
        if status == CF_OK and not self.decision.counts and self.fit is None:
            return self.form.update(ws, 0, y)
        if status == CF_OK and self.fit is not None and not self.fit.has_room():
            with gil:
                status = self.grow_fit()
        if status != CF_OK:
            return status
        m, q = ws.score[0], ws.quad[0]
        status = self.form.update(ws, 0, self.decision.target(m, q, y))
        if status != CF_OK:
            return status
        if self.decision.floor > 0.0:
            self.tally.relevant += y > 0.0
        if self.decision.kind == TEACHER:
            self.tally.known += q / (1.0 + q)
        if self.fit is not None:
            self.fit.add(m / (1.0 + q), y > 0.0)
        return status

    cdef int grow_fit(self) noexcept:
        try:
            self.fit.reserve(self.fit.room + self.fit.room // 2 + 64)
        except BaseException as raised:
            self.raised = raised
            return CF_ENOMEM
        return CF_OK

    cdef int set_options(self, Rule other) except -1:
        Rule.set_options(self, other)
        self.decision = (<FilterRule?>other).decision
        return 0

    cdef dict get_state(self):
        found = {"rounds": self.tally.rounds, "relevant": self.tally.relevant,
                 "known": self.tally.known, "model": self.form.get_state()}
        if self.fit is not None:
            found["fit"] = self.fit.get_state()
        return found

    cdef int set_state(self, State state) except -1:
        cdef int64_t learned
        self.form.set_state(state.part("model"))
        learned = self.form.learned
        self.tally.rounds = state.count("rounds")
        self.tally.relevant = state.count("relevant", 0, learned)
        self.tally.known = state.number("known", 0.0, learned)
        if self.fit is not None:
            self.fit = Fit.restored(state.part("fit"), learned)
        return 0


cdef class FilterEngine(RowEngine):
    """The engine of the filters, and their base class; its rule is a `FilterRule`, for whose coin
    the generator is."""

    cdef inline FilterRule filter_rule(self):
        """With the lock held, or where nobody else may have the object."""
        return <FilterRule>self.rule

    cdef FilterRule current_rule(self):
        cdef FilterRule rule
        while not cf_flag_set(&self.replacing):
            pass
        rule = <FilterRule>self.rule
        cf_flag_clear(&self.replacing)
        return rule

    @property
    def _decision(self):
        return self.current_rule().decision

    cdef bint is_fresh(self) except -1:
        return self.filter_rule().tally.rounds == 0 and self.form.learned == 0

    @property
    def _rounds(self):
        self.lock.check_open()
        return self.current_rule().tally.rounds

    cdef dict get_state(self):
        found = self.rule.get_state()
        if self.chance is not None:
            found["chance"] = self.chance.state()
        return found

    cdef int set_state(self, State state) except -1:
        cdef Rule rule = self.new_rule()
        cdef Chance chance = self.chance_of(state)
        rule.set_state(state)
        self.begin(rule, chance)
        return 0

    cdef Chance chance_of(self, State state):
        cdef State part
        if self.chance is None:
            return None
        part = state.part("chance")
        return Chance.restored({"seed": part.get("seed"), "rng": part.get("rng")})

    # --- the calls ----------------------------------------------------------------------------

    cdef int choose_locked(self, Workspace ws, bint alone) except? -1000:
        """A row that is refused is no first one, from which the number of features is known."""
        cdef bint unknown = self.form.d == 0
        try:
            return RowEngine.choose_locked(self, ws, alone)
        except BaseException:
            if unknown:
                self.begin(self.new_rule(), self.chance)
            raise

    cdef int learn_locked(self, Workspace ws, Py_ssize_t i, double y, str name) except -1:
        cdef bint unknown = self.form.d == 0
        try:
            return RowEngine.learn_locked(self, ws, i, y, name)
        except BaseException:
            if unknown:
                self.begin(self.new_rule(), self.chance)
            raise

    cdef double read_margin(self, Workspace ws) except? -1.0:
        """m / (1 + q), with the lock held."""
        cdef bint known = ws.matches(&ws.given, self.form.learned, self.stamp)
        cdef int status = CF_OK
        self.reserve(ws, False)
        if not known or ws.known_round != self.form.learned:  # its memory may have grown
            ws.forget()
            ws.writing = False
            if ws.brief:
                status = self.form.read(ws)
            else:
                with nogil:
                    status = self.form.read(ws)
        if status != CF_OK:
            self.fail(status, "x")
        return ws.score[0] / (1.0 + ws.quad[0])

    def margin(self, x):
        """What is compared with the threshold; changes nothing.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.

        Returns
        -------
        float
            Positive where x looks relevant; 0 before anything was learned.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.PerceptronFilter()
        >>> learner.learn([1.0, 0.0], False)
        >>> learner.margin([2.0, 5.0])
        -2.0
        """
        return self.margin_of(x)

    cdef double margin_of(self, object x) except? -1.0:
        cdef Workspace ws = self.borrow()
        try:
            self.set_row(x, ws)
            self.lock.acquire_shared()
            try:
                return self.read_margin(ws)
            finally:
                self.lock.release_shared()
        finally:
            self.give_back(ws)

    def _probability(self, x):
        """How probable it is that x is relevant. The fit is brought up to date first, for which
        the object is locked."""
        cdef Workspace ws
        cdef Fit fit
        self.lock.check_open()
        if self.current_rule().fit is None:
            return min(max((1.0 + self.margin_of(x)) / 2.0, 0.0), 1.0)
        ws = self.borrow()
        try:
            self.set_row(x, ws)
            self.lock.acquire()
            try:
                fit = self.filter_rule().fit
                fit.refresh()
                return fit.at(self.read_margin(ws))
            finally:
                self.lock.release()
        finally:
            self.give_back(ws)

    def _margins(self, X):
        """The margins of all rows of X, of one state of the filter; signals are looked at."""
        cdef Rows rows = rows_of(X, "X")
        cdef Workspace ws = Workspace()
        cdef np.ndarray out = new_vector(rows.n)
        cdef Single form
        cdef Py_ssize_t t = 0, done
        cdef int status = CF_OK
        self.lock.acquire_shared()
        try:
            form = self.form
            self.check_width(rows.d, "X")
            ws.reserve_for(rows)
            form.reserve(ws)
            form.reserve_many(ws)
            while t < rows.n and status == CF_OK:
                with nogil:
                    done = form.read_many(rows, t, ws, data_of(out) + t, &status)
                t += done
                PyErr_CheckSignals()
        finally:
            self.lock.release_shared()
        if status != CF_OK:
            self.fail(status, f"row {t} of X")
        return out

    def forward(self, x):
        """Whether x is forwarded; counts the round.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The first row fixes d.

        Returns
        -------
        bool
            Whether x is forwarded; only then may its label be learned.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.forward([1.0, 0.0]), learner.rounds  # nothing is known yet
        (True, 1)
        """
        return self.choose_row(x) != 0

    def learn(self, x, relevant):
        """Takes in the label of x, whether x was forwarded before or not.

        What `forward` computed for the same x just before is used again, with the same result.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        relevant : bool
            Its label.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.RidgeFilter()
        >>> learner.learn([1.0, 0.0], True)
        >>> learner.learned, learner.rounds
        (1, 0)
        """
        self.learn_row(x, 0, 1.0 if as_flag(relevant, "relevant") else -1.0, 1.0, "x")

    @property
    def _threshold(self):
        self.lock.acquire_shared()
        try:
            return self.filter_rule().decision.threshold(self.form, &self.filter_rule().tally)
        finally:
            self.lock.release_shared()

    @property
    def _left_out(self):
        self.lock.acquire_shared()
        try:
            return (<Single?>self.form).missed
        finally:
            self.lock.release_shared()


cdef class TastingEngine(FilterEngine):
    """A generator and counts around a classifier; its model only counts what was learned.

    Besides those of a filter it starts from: given, which has ``margin(x)`` and ``learn(x,
    relevant)``, and a copy of which learns; compiled, whether both are those of this package.
    """

    cdef object given, classifier
    cdef bint compiled

    cdef int start(self, dict parts) except -1:
        classifier = copy.deepcopy(parts["given"])
        FilterEngine.start(self, parts)
        self.given, self.compiled = parts["given"], parts["compiled"]
        self.classifier = classifier
        return 0

    @property
    def _classifier(self):
        self.lock.check_open()
        return self.classifier

    cdef dict get_state(self):
        return {"rounds": self._rounds, "learned": self.form.learned,
                "chance": self.chance.state(), "classifier": copy.deepcopy(self.classifier)}

    cdef int set_state(self, State state) except -1:
        cdef FilterRule rule = <FilterRule>self.new_rule()
        cdef Chance chance = self.chance_of(state)
        rule.tally.rounds = state.count("rounds")
        rule.form.learned = state.count("learned")
        classifier = copy.deepcopy(state.get("classifier"))
        if type(classifier) is not type(self.given):
            raise TypeError("classifier of the state must be of the type of the one given, "
                            f"{type(self.given).__name__}")
        self.begin(rule, chance)
        self.classifier = classifier
        return 0

    cdef int begin_again(self) except -1:
        classifier = copy.deepcopy(self.given)
        FilterEngine.begin_again(self)
        self.classifier = classifier
        return 0

    cdef FilterEngine inner(self):
        """The classifier's engine, where a stream can run through it without Python."""
        if self.compiled and not isinstance(self.classifier, TastingEngine):
            return <FilterEngine>self.classifier
        return None

    # --- parts of a round, with the lock held ---------------------------------------------------

    cdef double ask(self, object x) except? -1.0:
        return as_number(self.classifier.margin(x), "the margin of classifier")

    cdef bint toss(self, double margin) except -1:
        cdef FilterRule rule = self.filter_rule()
        return rule.decision.decide(self.form, &rule.tally, self.chance.bits, margin, 0.0)

    cdef int teach(self, object x, bint relevant) except -1:
        self.classifier.learn(x, True if relevant else False)
        self.form.learned += 1
        return 0

    # --- the calls ----------------------------------------------------------------------------

    cdef double margin_of(self, object x) except? -1.0:
        self.lock.acquire_shared()
        try:
            return self.ask(x)
        finally:
            self.lock.release_shared()

    cdef Py_ssize_t choose_row(self, object x) except -1:
        cdef FilterRule rule
        cdef bint forwarded
        self.lock.acquire()
        try:
            rule = self.filter_rule()
            forwarded = self.toss(self.ask(x))
            rule.tally.rounds += 1
            return forwarded
        finally:
            self.lock.release()

    cdef int learn_row(self, object x, Py_ssize_t i, double y, double weight, str name) except -1:
        self.lock.acquire()
        try:
            return self.teach(x, y > 0.0)
        finally:
            self.lock.release()


# --- whole streams ----------------------------------------------------------------------------


@cython.final
cdef class Stream:
    """Checked rows.

    Parameters
    ----------
    X : array_like or scipy.sparse matrix of shape (T, d)
    name : str
        What they are called where they are refused.
    """

    # Checked rows, which several runs may read at once.
    cdef Rows rows
    cdef object given          # as they came

    def __init__(self, X, str name="X"):
        self.rows, self.given = rows_of(X, name), X

    def __len__(self):
        return self.rows.n

    @property
    def d(self):
        return self.rows.d

    def products(self, u):
        """u.x of every row."""
        cdef np.ndarray v = finite_vector(u, "u", self.rows.d, "X"), out = new_vector(self.rows.n)
        cdef RowBuffer buffer = RowBuffer()
        cdef cf_row x
        cdef Py_ssize_t t
        buffer.reserve(self.rows.most)
        with nogil:
            for t in range(self.rows.n):
                self.rows.at(t, buffer, &x)
                data_of(out)[t] = K.ridge_dot(&x, data_of(v))
        if not K.all_finite(self.rows.n, data_of(out)):
            raise ValueError("u is too large: u.x overflows")
        return out


@cython.final
cdef class FilterRun(RowRun):
    """One stream for one filter: what was decided, and how far it is.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool
    full : bool
        Whether every label is learned.
    projection : ndarray, optional
        u.x of each row, where the true rule is known.
    teaching : bool
        Whether the rows are learned, every one, without rounds.
    """

    cdef Stream stream
    cdef object table          # the rows for loops that are Python's, made when there is one
    cdef np.ndarray relevant, forwarded, margins, projection
    cdef bint full
    cdef bint teaching         # rows are learned, no rounds played
    cdef bint decided          # the round `done` was decided, but is not over
    cdef bint over             # it is a call of Python's, and is over
    # Of the engine's coin: the generator at the last `begin`, how often rounds that are over have
    # drawn since, and whether the round `done` has.
    cdef object before
    cdef Py_ssize_t tosses
    cdef bint tossed
    cdef FilterEngine target   # whose model is at work; None: the rounds are calls of Python's
    cdef bint unknown          # that model did not know its dimension

    def __init__(self, Stream stream, relevant, bint full, projection=None, bint teaching=False):
        self.stream, self.projection, self.teaching = stream, projection, teaching
        self.full = full or teaching
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.set_rows(stream.rows, 1, False)
        self.forwarded = numpy.zeros(self.total, dtype=numpy.uint8)
        self.margins = numpy.zeros(self.total)

    def admit(self, FilterEngine engine):
        """Refuses, as a whole, rows that the filter cannot take."""
        cdef FilterEngine target = self.target_of(engine)
        if target is not None and self.total:
            target.lock.acquire_shared()
            try:
                target.check_width(self.stream.rows.d, "X")
            finally:
                target.lock.release_shared()

    def history(self):
        return history_of(self.forwarded[:self.done].astype(bool), self.margins[:self.done],
                          self.relevant[:self.done].astype(bool), self.projection)

    cdef FilterEngine target_of(self, FilterEngine engine):
        return (<TastingEngine>engine).inner() if isinstance(engine, TastingEngine) else engine

    cdef int begin(self, Engine given) except -1:
        """The lock of a classifier's own engine comes last."""
        cdef FilterEngine engine = <FilterEngine>given, target = self.target_of(engine)
        if engine.filter_rule().decision.kind == COIN:
            self.before, self.tosses = engine.chance.generator.bit_generator.state, 0
        self.target = target
        if target is None:
            if self.table is None:
                X = self.stream.given
                self.table = X.tocsr() if hasattr(X, "tocsr") else numpy.asarray(X)
            return 0
        if target is not engine:
            target.lock.acquire()
        try:
            self.unknown = self.unknown or target.form.d == 0
            self.begin_rows(target)
            self.ws.rng = NULL if engine.chance is None else engine.chance.bits
            target.ws.forget()
        except BaseException:
            self.end(engine, MORE)
            raise
        return 0

    cdef int end(self, Engine engine, int status) except -1:
        """Of a round that is not over nothing stays: neither its draw nor, where it would have been
        the first, the number of features."""
        cdef FilterEngine target = self.target
        cdef Py_ssize_t i
        try:
            if self.tossed:
                engine.chance.generator.bit_generator.state = self.before
                for i in range(self.tosses):
                    engine.chance.bits.next_double(engine.chance.bits.state)
                self.tossed = False
            if (status != CF_OK and target is not None and self.unknown and self.done == 0
                    and target.form.learned == 0):
                target.begin(target.new_rule(), target.chance)
        finally:
            if target is not None:
                RowRun.end(self, target, status)
            if target is not None and target is not engine:
                target.lock.release()
        return 0

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(<FilterRule>(<FilterEngine>engine).rule, self.rule, self.form, self.ws)

    cdef int one(self, FilterRule outer, Rule rule, Form form, Workspace ws) noexcept nogil:
        """`outer` decides and counts the rounds, `rule` over the form learns: for AppleTasting they
        are two."""
        cdef Py_ssize_t t = self.done
        cdef int status = CF_OK
        if self.target is None:
            self.over = not self.over
            return MORE if self.over else CF_OK
        if not self.decided:
            status = self.decide(outer, form, ws, t)
        if status == CF_OK and (self.full
                                or (<uint8_t *>np.PyArray_DATA(self.forwarded))[t]):
            status = rule.learn(
                ws, 0, 1.0 if (<uint8_t *>np.PyArray_DATA(self.relevant))[t] else -1.0)
            if status == CF_OK and outer.form is not form:
                outer.form.learned += 1
        if status == CF_OK:
            self.count(outer)
        self.decided = False
        return status

    cdef void count(self, FilterRule outer) noexcept nogil:
        """The round is over. Nothing that may fail comes behind this."""
        outer.tally.rounds += not self.teaching
        self.tosses += self.tossed
        self.tossed = False

    cdef int decide(self, FilterRule outer, Form form, Workspace ws, Py_ssize_t t) noexcept nogil:
        """The round up to its decision."""
        cdef int status = self.read_ahead(form, ws)
        if status != CF_OK:
            return status
        data_of(self.margins)[t] = ws.score[0] / (1.0 + ws.quad[0])
        if not self.teaching:
            self.tossed = outer.decision.tosses(ws.score[0], ws.quad[0])
            (<uint8_t *>np.PyArray_DATA(self.forwarded))[t] = outer.decision.decide(
                form, &outer.tally, ws.rng, ws.score[0], ws.quad[0])
        self.decided = True
        return CF_OK

    cdef int supply(self, Engine engine) except -1:
        """A round of a classifier that is Python's."""
        return self.call(<TastingEngine>engine)

    cdef int call(self, TastingEngine engine) except -1:
        cdef Py_ssize_t t = self.done
        x = self.table[t] if isinstance(self.table, numpy.ndarray) else self.table[t:t + 1]
        self.over = False  # until it is: an error leaves the round undone
        if not self.teaching:
            data_of(self.margins)[t] = engine.ask(x)
            self.tossed = engine.filter_rule().decision.tosses(data_of(self.margins)[t], 0.0)
            self.forwarded[t] = engine.toss(data_of(self.margins)[t])
        if self.full or self.forwarded[t]:
            engine.teach(x, self.relevant[t])
        self.count(engine.filter_rule())
        self.over = True
        return 0

    cdef int fail(self, Engine engine, int status) except -1:
        self.form.raise_error(status)  # which the target may have no more
        return self.target.fail(status, f"x = X[{self.done}]")


@cython.final
cdef class TopicsRun(RowRun):
    """One stream for all topics, whose filters learn every row: one factor serves them.

    Parameters
    ----------
    stream : Stream
    relevant : ndarray of bool, shape (T, topics)
    model : TopicRidge
        That of these topics; it learns.
    tau : float
        The threshold.
    """

    cdef np.ndarray relevant, margins
    cdef double tau
    cdef Single topics
    cdef bint decided

    def __init__(self, Stream stream, relevant, Single form, double tau):
        self.set_rows(stream.rows, 1, False)
        self.relevant = numpy.ascontiguousarray(relevant).view(numpy.uint8)
        self.margins = numpy.zeros(relevant.shape)
        self.topics, self.tau = form, tau

    def histories(self):
        """Those of all topics."""
        margins, relevant = self.margins[:self.done], self.relevant[:self.done].astype(bool)
        return [history_of(margins[:, k] >= self.tau, margins[:, k].copy(), relevant[:, k])
                for k in range(margins.shape[1])]

    def alone(self, report):
        """All rounds; the model is this run's own."""
        engine = RowEngine()
        engine._start({"make": lambda: Rule(self.topics)})
        self.run(engine, report)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.topics, self.ws)

    cdef int one(self, Single form, Workspace ws) noexcept nogil:
        cdef Py_ssize_t t = self.done, topics = np.PyArray_DIM(self.margins, 1)
        cdef int status
        if not self.decided:
            status = self.read_ahead(form, ws)
            if status == CF_OK:
                status = read_topics(form, ws.quad[0], data_of(self.margins) + t * topics)
            if status != CF_OK:
                return status
            self.decided = True
        self.decided = False
        return learn_topics(form, ws,
                           <const uint8_t *>np.PyArray_DATA(self.relevant) + t * topics)

    cdef int fail(self, Engine engine, int status) except -1:
        self.topics.raise_error(status)
        return refuse(status, f"x = X[{self.done}]")
