# Fleets of regressions and bandits: part of _engine.pyx; see _engine.pxd.

# --- a learner over a record --------------------------------------------------------------------


cdef class Seat:
    """A learner whose numbers are those of a record.

    Parameters
    ----------
    learner : Learner
        Fresh, and owned from now on.
    """

    def __init__(self, learner):
        self.learner, self.engine, self.forms = learner, learner._engine, []

    cdef int lay_out(self, Records records, object make_form) except -1:
        """Memory for a record of this layout."""
        cdef Regressions model = <Regressions>self.engine.model
        cdef PackedForm form
        cdef Py_ssize_t i
        self.desk = <np.ndarray>numpy.zeros(records.core.record, dtype=numpy.int64)
        model.fresh = make_form
        forms = [make_form() for _ in range(records.core.k)]
        for form in forms:
            form.know(records.d)
        model.take_forms(forms)
        self.forms = forms
        return 0

    cdef int sit(self, Records records, const uint64_t *record) except -1:
        """The model of a record; NULL: it stands on the desk."""
        cdef uint64_t *desk = <uint64_t *>np.PyArray_DATA(self.desk)
        cdef Py_ssize_t i
        if record != NULL:
            memcpy(desk, record,
                   <size_t>(records.core.head + records.core.k * records.core.block) * 8)
        for i in range(records.core.k):
            (<PackedForm>self.forms[i]).sit(desk + records.core.head + i * records.core.block)
        return self.count(records.d, <int64_t>desk[<int>CF_FLEET_ROUNDS])

    cdef int count(self, Py_ssize_t d, int64_t rounds) except -1:
        self.engine.model.d, self.engine.model.learned = d, rounds
        return 0


# --- their fleet --------------------------------------------------------------------------------


@cython.final
cdef class RewardFleet(StreamingFleet):
    """Models of rewards by key.

    Parameters
    ----------
    make_form : callable
        A `PackedForm` with the template's parameters.
    contexts : int
        context_features.
    unfed : Learner
        The model that nobody has fed.
    start : tuple or None
        Where generators begin: see `first_state`. None: nothing is drawn.
    others
        As for `FleetEngine`.
    """

    def __init__(self, Records records, make, make_form, *, Py_ssize_t slots, bint keep, Py_ssize_t contexts,
                 unfed, start):
        self.make_form, self.contexts = make_form, contexts
        self.seat, self.unfed = Seat(make()), Seat(unfed)
        self.start, self.drawn = start, {}
        self.extra, self.k = 0 if start is None else GENERATOR, self.seat.engine.model.k
        self.arms = type(self.seat.engine) is ArmEngine
        FleetEngine.__init__(self, records, make, slots=slots, keep=keep)

    cdef Worker new_worker(self):
        cdef Worker w = Worker()
        w.form = self.make_form()
        return w

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        form.sit(block)
        record[<int>CF_FLEET_ROUNDS] += 1
        return form.take_row(w.x, y, null, m)

    cdef int fail(self, int status, str what) except -1:
        return self.seat.engine.fail(status, what)

    cdef int forget(self, object key) except -1:
        self.drawn.pop(key, None)
        return 0

    # --- choosing -------------------------------------------------------------------------------

    cdef Seat borrow(self):
        """For one call; a second one at the same time has another."""
        if self.busy:
            return Seat(self.make())
        self.busy = True
        return self.seat

    cdef int give_back(self, Seat seat) noexcept:
        if seat is self.seat:
            self.busy = False
        return 0

    cdef bint found(self, Seat seat, Key *key) except -1:
        """The model of a key, or of one that nobody has fed, onto the seat."""
        cdef Records records = self.records
        cdef bint there
        if not self.is_laid():
            seat.count(0, 0)
            return False
        records.check_kind(key.is_text, "key")
        if len(seat.forms) == 0:
            seat.lay_out(records, self.make_form)
        there = records.read(key, <uint64_t *>np.PyArray_DATA(seat.desk))
        seat.sit(records, NULL if there else records.core.fresh)
        return there

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        cdef Key at
        cdef Seat seat
        cdef bint there
        key_of(key, &at)
        seat = self.borrow()
        try:
            self.guard.settle_read()
            there = self.found(seat, &at)
            if self.extra:
                return self.choose_by_chance(seat, key, &at, there, x, allowed, k, context)
            return self.ask(seat if self.records.laid else self.unfed, x, allowed, k, context)
        finally:
            self.give_back(seat)

    cdef object ask(self, Seat seat, object x, object allowed, object k, object context):
        if type(seat.engine) is not RewardEngine:
            return (<BanditEngine>seat.engine).ask(x, allowed, context, PICK, k, None)
        refuse_words(("allowed", "k", "context"), (allowed, k, context), "a regression")
        return seat.learner.predict(x)

    # --- chance ---------------------------------------------------------------------------------

    cdef object choose_by_chance(self, Seat seat, object key, Key *at, bint there, object x,
                                 object allowed, object k, object context):
        """A choice that moves the generator of the model: it stands in the record or, for a key
        that nobody has fed and for readers, in the memory of this process."""
        cdef np.ndarray words
        cdef Py_ssize_t first = <int>CF_FLEET_EXTRA
        if not self.records.laid:
            seat = self.unfed
        bits = bits_of(seat.engine)
        drawn = None
        if there:
            drawn = (<object>seat.desk)[first:first + GENERATOR].copy()
            if not drawn.any():  # it has learned, but not chosen yet
                drawn = None
        if drawn is None or self.closed is not None:
            drawn = self.drawn.get(key, drawn)
        bits.state = first_state(self.start, at.word) if drawn is None else state_from(drawn)
        chosen = self.ask(seat, x, allowed, k, context)
        words = words_of(bits.state)
        if not self.store_drawn(key, at, words):
            self.drawn[key] = words
            if len(self.drawn) > REMEMBERED:
                del self.drawn[next(iter(self.drawn))]
        return chosen

    cdef bint store_drawn(self, object key, Key *at, np.ndarray words) except -1:
        """A generator into the record of its key; False where there is none, and for readers."""
        cdef uint64_t *r
        cdef uint64_t place
        cdef int64_t slot = -1
        self.guard.settle_write()
        if self.closed is None and self.records is not None and self.records.laid:
            slot = L.fleet_find(&self.records.core, at.word, at.text if at.is_text else NULL,
                                &place)
        if slot < 0:
            return False
        if L.fleet_is_kept(&self.records.core, slot):
            r = self.records.place(at)
        else:
            r = L.fleet_take(&self.records.core, 0, slot, CF_FLEET_HEAD)
        memcpy(r + <int>CF_FLEET_EXTRA, np.PyArray_DATA(words), GENERATOR * 8)
        L.fleet_put(&self.records.core, 0)
        self.drawn.pop(key, None)
        return True

    cdef int store_all_drawn(self) except -1:
        """What was drawn for keys that have a record by now."""
        cdef Key at
        for key, words in list(self.drawn.items()):
            key_of(key, &at)
            self.store_drawn(key, &at, words)
        return 0

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        cdef Key at
        cdef Py_ssize_t arm
        cdef double y, c, m
        key_of(key, &at)
        arm, y = self.answers_of(answers)
        c = 1.0 if weight is None else (<RewardEngine>self.seat.engine).weight_of(weight)
        self.learn_row(&at, x, self.context_of(context), arm, y, c, 0, &m)
        if len(self.drawn):  # the record may be new
            words = self.drawn.get(key)
            if words is not None:
                self.store_drawn(key, &at, words)
        return 0

    # --- arguments ------------------------------------------------------------------------------

    cdef np.ndarray context_of(self, object context):
        if context is None and self.contexts:
            raise ValueError(f"context must be given: {self.contexts} numbers")
        if context is not None and not self.contexts:
            raise ValueError("context has no meaning without context_features")
        if context is None:
            return None
        return finite_vector(context, "context", self.contexts, "context_features")

    cdef (Py_ssize_t, double) answers_of(self, tuple answers) except *:
        """Arm and target."""
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Py_ssize_t arm = 0
        if len(answers) != 1 + self.arms:
            raise TypeError(f"learn takes a key, a row and "
                            f"{'an arm and its reward' if self.arms else 'what came of it'}, got "
                            f"{len(answers)} arguments behind the row")
        if self.arms:
            arm = as_label(answers[0], "arm", False)
            if arm >= engine.model.k:
                engine.refuse_answer(arm, "arm")
        name = "y" if type(engine) is RewardEngine else "reward"
        return arm, engine.target_of(answers[<int>self.arms], name)

    # --- streams --------------------------------------------------------------------------------

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        """The arguments as they are learned from, all checked."""
        cdef RewardEngine engine = <RewardEngine>self.seat.engine
        cdef Stream s = Stream()
        cdef Py_ssize_t n
        self.refuse_writing()
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        n = s.rows.n
        if len(answers) != 1 + self.arms:
            raise TypeError(f"run takes keys, rows and {'arms and rewards' if self.arms else 'targets'}, "
                            f"got {len(answers)} arguments behind the rows")
        s.y = finite_vector(answers[<int>self.arms], "y", n, "X")
        s.weight = finite_vector(numpy.ones(n) if weight is None else weight, "weight", n, "X")
        s.arm = None
        if self.arms:
            s.arm = labels_of(answers[0], "arm", n, engine.model.k)
        s.context = self.contexts_of(context, n)
        s.m = new_vector(n) if type(engine) is RewardEngine else None
        if n:  # the engine has the words for what it does not take
            engine.weight_of((<object>s.weight).min())
            engine.weight_of((<object>s.weight).max())
            engine.target_of((<object>s.y).min(), "y")
            engine.target_of((<object>s.y).max(), "y")
        return s

    cdef np.ndarray contexts_of(self, object context, Py_ssize_t n):
        if context is None:
            return self.context_of(None)
        given = numpy.ascontiguousarray(numeric(context, "context", 2), dtype=numpy.float64)
        if not self.contexts or given.shape != (n, self.contexts):
            raise ValueError(f"context must have shape ({n}, {self.contexts}), got {given.shape}")
        refuse_non_finite(given, "context")
        return <np.ndarray>given

    cdef object told(self, Stream s):
        cdef Py_ssize_t t
        cdef np.ndarray loss
        cdef double m, y
        self.store_all_drawn()
        if s.m is None:
            return None
        loss = new_vector(s.rows.n)
        for t in range(s.rows.n):
            m, y = data_of(s.m)[t], data_of(s.y)[t]
            if self.hand.form.logistic:  # -y log sigma - (1 - y) log(1 - sigma)
                data_of(s.m)[t] = sigmoid(m)
                data_of(loss)[t] = max(m, 0.0) + K.log1p_one(K.exp_one(-abs(m))) - y * m
            else:
                data_of(loss)[t] = (y - m) * (y - m)
        return RegressionHistory(predictions=s.m, loss=loss)


def bits_of(RowEngine engine):
    """The bit generator that a learner's engine draws from."""
    engine.chance.give_back()
    return engine.chance.generator.bit_generator


cdef np.ndarray labels_of(object value, str name, Py_ssize_t n, Py_ssize_t k):
    """Whole numbers in 0 ... k - 1."""
    refuse_masked(value, name)
    given = numpy.asarray(value)
    if given.shape != (n,):
        raise ValueError(f"{name} must have length {n}, one a row of X, got shape {given.shape}")
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got dtype {given.dtype}")
    if n and not 0 <= given.min() <= given.max() < k:
        raise ValueError(f"{name} must be in 0 ... {k - 1}, got {given.min()} ... {given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)
