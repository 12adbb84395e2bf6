# The bandits: part of _engine.pyx; see _engine.pxd.

cdef class BanditEngine(RewardEngine):
    """A bandit over actions with features or over arms.

    Parameters
    ----------
    make, chance, most, logistic, modest
        As for `RewardEngine`.
    rule : Rule
    max_pending : int
    """

    def __init__(self, make, Chance chance, Rule rule, *, Py_ssize_t max_pending, **words):
        self.rule, self.max_pending, self.waiting = rule, max_pending, {}
        self.choice = Choice()
        RewardEngine.__init__(self, make, chance, **words)

    @property
    def fresh(self):
        return self.decided == 0 and RewardEngine.fresh.__get__(self)

    @property
    def pending(self):
        return len(self.waiting)

    @property
    def expired(self):
        return self.expired

    def adopt(self, RowEngine other, changed):
        cdef BanditEngine o = <BanditEngine?>other
        RewardEngine.adopt(self, other, changed)
        self.rule, self.max_pending = o.rule, o.max_pending
        self.forget_oldest()

    cdef void begin(self, Model model, Chance chance) noexcept:
        RewardEngine.begin(self, model, chance)
        self.waiting, self.decided, self.expired = {}, 0, 0

    # --- one question -------------------------------------------------------------------------

    cdef Choice borrow_choice(self, Scratch s):
        """That of the engine for who has its scratch."""
        return self.choice if s is self.scratch else Choice()

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        """The arguments as C values."""
        raise NotImplementedError

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        """m and q of all actions, or what else the rule compares, with the lock held; a status."""
        raise NotImplementedError

    cdef object ask(self, object X, object allowed, object context, int what, object k,
                    object samples):
        cdef Scratch s = self.borrow()
        cdef Choice at = Choice() if isinstance(X, Catalogue) else self.borrow_choice(s)
        try:
            s.forget()
            self.offer(X, allowed, context, s, at)
            return self.answer(s, at, what, k, samples)
        finally:
            at.context = None
            if at.rows is not None:
                at.rows.held = None
            self.give_back(s)

    cdef object answer(self, Scratch s, Choice at, int what, object k, object samples):
        cdef Py_ssize_t places = 0, times = 0
        cdef bint writes = what == DECISION or (what != SCORES and self.rule.draws())
        cdef int turn, status = CF_OK
        if k is not None:
            places = as_count(k, "k")
            if places == 0:
                raise ValueError("k must be >= 1, got 0")
        if samples is not None:
            times = as_count(samples, "samples")
            if times == 0:
                raise ValueError("samples must be >= 1, got 0")
        if what == LAW and times == 0 and self.rule.kind == THOMPSON:
            raise ValueError("samples must be given: the law of thompson has no closed form")
        for turn in range(2):
            if writes:
                self.guard.begin_write()
            else:
                self.guard.begin_read()
            try:
                found = self.attempt(s, at, what, places, times, &status)
                if status == CF_OK:
                    return found
            finally:
                if writes:
                    self.guard.end_write()
                else:
                    self.guard.end_read()
            if status != CF_ENOTPOSITIVE or turn:
                break
            self.mend(s)
        self.fail(status, "x" if at.arms else "X")

    cdef object attempt(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples,
                        int *status):
        """The answer, with the lock held; a status tells why there is none."""
        status[0] = self.read_offer(s, at, what == SCORES or k > 1)
        return self.act(s, at, what, k, samples) if status[0] == CF_OK else None

    cdef object act(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples):
        """The answer, from m and q."""
        cdef np.ndarray out
        cdef Py_ssize_t i, wanted
        if what == SCORES:
            return self.told_scores(at)
        if what == LAW:
            self.law(s, at, samples)
            out = new_vector(at.n)
            memcpy(data_of(out), at.p, <size_t>at.n * sizeof(double))
            return out
        if what == DECISION:
            return self.decide_now(s, at, samples)
        self.score(s, at, self.chance)
        if k == 0:
            return self.place(at)
        wanted = min(k, at.count)
        out = <np.ndarray>numpy.empty(wanted, dtype=numpy.intp)
        for i in range(wanted):
            (<Py_ssize_t *>np.PyArray_DATA(out))[i] = self.place(at)
        return out

    cdef tuple told_scores(self, Choice at):
        cdef np.ndarray m = new_vector(at.n), q = new_vector(at.n)
        cdef Py_ssize_t i
        memcpy(data_of(m), at.m, <size_t>at.n * sizeof(double))
        for i in range(at.n):
            data_of(q)[i] = sqrt(at.q[i])
        return m, q

    cdef Py_ssize_t place(self, Choice at) except -1:
        """The action for one place, which is then taken."""
        cdef Py_ssize_t i = self.rule.place(at, self.model.learned, self.chance.bits)
        at.left[i] = 0
        at.count -= 1
        return i

    cdef int score(self, Scratch s, Choice at, Chance chance) except -1:
        """z: what is compared. Thompson draws, which takes long where there is a factor to make."""
        cdef Regressions model = <Regressions>self.model
        cdef int status
        if self.rule.kind != THOMPSON or at.arms or model.cost(at.d) < BUSY:
            status = self.rule.score(model, s, at, chance)
        else:
            with chance.generator.bit_generator.lock:
                with nogil:
                    status = self.rule.score(model, s, at, chance)
        return 0 if status == CF_OK else self.fail(status, "x" if at.arms else "X")

    cdef int law(self, Scratch s, Choice at, Py_ssize_t samples) except -1:
        """The law of the first place, into p; thompson: from draws of a generator of its own."""
        cdef Py_ssize_t turn
        cdef Chance child
        if self.rule.kind != THOMPSON:
            self.score(s, at, self.chance)
            self.rule.law(at, self.model.learned)
            return 0
        child = Chance(self.chance.generator.spawn(1)[0])
        memset(at.p, 0, <size_t>at.n * sizeof(double))
        for turn in range(samples):
            PyErr_CheckSignals()
            self.score(s, at, child)
            at.p[at.best(at.z)] += 1.0
        self.rule.mix(at, samples)
        return 0

    # --- the calls ----------------------------------------------------------------------------

    def scores(self, X, context):
        return self.ask(X, None, context, SCORES, None, None)

    def probabilities(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, LAW, None, samples)

    def decide(self, X, allowed, context, samples):
        return self.ask(X, allowed, context, DECISION, None, samples)

    # --- decisions ----------------------------------------------------------------------------

    cdef object decide_now(self, Scratch s, Choice at, Py_ssize_t samples):
        """A choice that is remembered."""
        cdef double probability = numpy.nan
        cdef np.ndarray law = None
        cdef Py_ssize_t i
        if self.rule.kind != THOMPSON or samples:
            self.law(s, at, samples)
            law = new_vector(at.n)
            memcpy(data_of(law), at.p, <size_t>at.n * sizeof(double))
        self.know_for(at)
        try:
            self.score(s, at, self.chance)
            i = self.place(at)
        except BaseException:
            self.model.raise_error(CF_OK)  # this was no dimension
            raise
        if law is not None:
            probability = data_of(law)[i]
        return self.remember(at, s, i, probability)

    cdef int know_for(self, Choice at) except -1:
        """Memory for what is to be decided."""
        try:
            self.model.know(at.d)
        except BaseException:
            self.model.raise_error(CF_OK)
            raise
        return 0

    cdef object remember(self, Choice at, Scratch s, Py_ssize_t i, double probability):
        """The decision for action i, which waits from now on."""
        self.waiting[self.decided] = self.kept(s, at, i)
        self.model.d = max(self.model.d, at.d)
        self.decided += 1
        self.forget_oldest()
        return Decision(self.decided - 1, i, probability)

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        """(arm, row): copies."""
        raise NotImplementedError

    cdef int forget_oldest(self) except -1:
        while len(self.waiting) > self.max_pending:
            del self.waiting[next(iter(self.waiting))]
            self.expired += 1
        return 0

    cdef int refuse_id(self, Py_ssize_t id) except -1:
        if id not in self.waiting:
            raise ValueError(f"id must be that of a pending decision, got {id}")
        return 0

    def reward(self, id, r, weight):
        """Learns what came back for a decision, and forgets the decision."""
        cdef Py_ssize_t found = as_count(id, "id")
        cdef double y = self.target_of(r, "r"), c = self.weight_of(weight)
        cdef Scratch s = self.borrow()
        try:
            self.guard.begin_write()  # no other thread may learn from it, too
            try:
                self.refuse_id(found)
                arm, row = self.waiting[found]
                self.take_row(row, s)
                s.weight = c
                self.look_back(s, arm, "arm")
                self.carry_out(s, arm, y)
                del self.waiting[found]
            finally:
                self.guard.end_write()
        finally:
            self.give_back(s)

    def drop(self, id):
        cdef Py_ssize_t found = as_count(id, "id")
        self.guard.settle_write()
        self.refuse_id(found)
        del self.waiting[found]

    # --- states -------------------------------------------------------------------------------

    cdef dict told(self):
        return {**RewardEngine.told(self), "decided": self.decided, "expired": self.expired,
                "waiting": self.told_waiting()}

    cdef dict told_waiting(self):
        """The decisions one after another; places of sparse rows alone."""
        values, places, lengths, arms, thin = [], [], [], [], []
        for arm, row in self.waiting.values():
            sparse = type(row) is tuple
            arms.append(arm)
            thin.append(1 if sparse else 0)
            values.append(row[1] if sparse else row)
            lengths.append(len(values[-1]))
            if sparse:
                places.append(row[0])
        return {"ids": whole_numbers(list(self.waiting)), "arms": whole_numbers(arms),
                "sparse": whole_numbers(thin), "lengths": whole_numbers(lengths),
                "values": numpy.concatenate([numpy.zeros(0), *values]),
                "places": numpy.concatenate([whole_numbers([]), *places])}

    cdef int take_state(self, State state) except -1:
        cdef Regressions model = <Regressions>self.new_model()
        cdef Chance chance = Chance.restored(state.given)
        cdef int64_t decided = state.count("decided"), expired = state.count("expired")
        model.restore(state)
        waiting = self.waiting_of(state.part("waiting"), model.k, model.d, decided)
        self.guard.settle_write()
        self.begin(model, chance)
        self.waiting, self.decided, self.expired = waiting, decided, expired
        return 0

    cdef dict waiting_of(self, State state, Py_ssize_t k, Py_ssize_t d, int64_t decided):
        cdef Py_ssize_t n = len(state.get("ids")), at = 0, place = 0, length, i
        ids = <object>state.counts("ids", n, 0, decided - 1)
        arms = <object>state.counts("arms", n, 0, k - 1)
        thin = <object>state.counts("sparse", n, 0, 1)
        lengths = <object>state.counts("lengths", n, 0, d)
        values = <object>state.vector("values", lengths.sum())
        places = <object>state.counts("places", lengths[thin == 1].sum(), 0, d - 1)
        found = {}
        if n and not (numpy.diff(ids) > 0).all():
            state.refuse("ids", "ascending")
        for i in range(n):
            length = lengths[i]
            row = values[at:at + length].copy()
            if thin[i]:
                row = (places[place:place + length].copy(), row)
                if length > 1 and not (numpy.diff(row[0]) > 0).all():
                    state.refuse("places", "ascending in each row")
                place += length
            elif length == 0 or (length < d and not self.most):
                state.refuse("lengths", f"{d} for a dense row", length)
            at += length
            found[int(ids[i])] = (int(arms[i]), row)
        return found


def whole_numbers(values):
    return numpy.array(values, dtype=numpy.int64)


cdef object copy_of(const cf_row *x):
    """A row as `row_of` takes it: an array, or (places, values)."""
    cdef np.ndarray values = new_vector(x.nnz), places
    cdef Py_ssize_t e
    memcpy(data_of(values), x.value, <size_t>x.nnz * sizeof(double))
    if x.i32 == NULL and x.i64 == NULL:
        return values
    places = <np.ndarray>numpy.empty(x.nnz, dtype=numpy.int64)
    for e in range(x.nnz):
        (<int64_t *>np.PyArray_DATA(places))[e] = place_of(x, e)
    return places, values


# --- actions with features --------------------------------------------------------------------


cdef class LinearEngine(BanditEngine):
    """One regression for all actions.

    Parameters
    ----------
    context_features : int
    others
        As for `BanditEngine`.
    """

    def __init__(self, make, Chance chance, Rule rule, *, Py_ssize_t context_features, **words):
        self.contexts = context_features
        BanditEngine.__init__(self, make, chance, rule, **words)

    # --- arguments ----------------------------------------------------------------------------

    def fits(self, Py_ssize_t n, str name):
        self.refuse_actions(n, name)

    cdef object context_of(self, object context):
        """The context as a vector, None where there is none."""
        if context is None and self.contexts:
            raise ValueError(f"context must be given: {self.contexts} numbers")
        if context is not None and not self.contexts:
            raise ValueError("context has no meaning without context_features")
        if context is None:
            return None
        return finite_vector(context, "context", self.contexts, "context_features")

    cdef int refuse_actions(self, Py_ssize_t n, str name) except -1:
        """Rows of another width, where there is a context; the first, whose width with it no number
        can hold."""
        cdef Py_ssize_t d = self.model.d // (self.contexts + 1)
        if self.contexts == 0:
            return self.width(n, name)
        if d and n != d:
            raise ValueError(f"{name} must have {d} features, as what was learned before, got {n}")
        if d == 0:
            product_of(n, self.contexts + 1, f"{name} with its context")
        return 0

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        at.context = self.context_of(context)
        at.by.p = self.contexts
        at.by.c = NULL if at.context is None else data_of(<np.ndarray>at.context)
        at.arms = False
        if isinstance(X, Catalogue):
            at.items, at.mask = X, (<Catalogue>X).mask_of(allowed)
            return 0
        if at.rows is None:
            at.rows = Rows()
        fill_rows(at.rows, X, "X")
        if at.rows.n == 0:
            raise ValueError("X must have at least one row: there is no action")
        at.fit(at.rows.n)
        return at.allow(allowed)

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        cdef Regressions model = <Regressions>self.model
        cdef double cost
        cdef int status
        self.refuse_actions(at.rows.d, "X")
        at.d = max(model.d, at.rows.d * (self.contexts + 1))
        model.fit_rows(at.rows, at.by, s)
        if self.rule.kind == THOMPSON:
            at.fit_draws(at.d)
            model.fit_drawn(s)
        cost = model.cost(at.rows.most) * (1.0 if self.contexts else 0.5 * at.n)
        if cost < BUSY:
            return model.read_offer(s, at, at.rows, self.rule, widths)
        with nogil:
            status = model.read_offer(s, at, at.rows, self.rule, widths)
        return status

    cdef object attempt(self, Scratch s, Choice at, int what, Py_ssize_t k, Py_ssize_t samples,
                        int *status):
        if at.items is not None:
            return answer_items(self, s, at, what, k, samples, status)
        return BanditEngine.attempt(self, s, at, what, k, samples, status)

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        cdef cf_row row
        cdef Rows rows = at.rows
        if at.items is not None:
            rows = (<Catalogue>at.items).one(i)
            s.buffer.fit(rows.d)
            i = 0
        rows.at(i, s.buffer, &row)
        self.cross(&row, at.by, s)
        return 0, copy_of(&row)

    cdef int cross(self, cf_row *row, Crossed by, Scratch s) except -1:
        """(1, c) (x) row, in place of the row."""
        if by.p:
            s.scaled.fit((by.p + 1) * row.nnz)
            if not crossed(row, by, s.scaled):
                raise ValueError("context is too large for these features: a product overflows")
        return 0

    # --- learning -----------------------------------------------------------------------------

    cdef int learn(self, object x, object reward, object weight, object context) except -1:
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        cdef Scratch s = self.borrow()
        cdef Crossed by
        try:
            if self.contexts == 0 and context is None:
                self.take_row(x, s)
            else:
                vector = self.context_of(context)
                by.p, by.c = self.contexts, data_of(<np.ndarray>vector)
                s.given_null = row_of(x, "x", s.buffer, &s.given,
                                      self.model.d // (by.p + 1), False) == CF_ROW_NULL
                self.refuse_actions(s.given.n, "x")
                self.cross(&s.given, by, s)
            s.weight = c
            return self.learn_one(s, 0, y, "x")
        finally:
            self.give_back(s)

    # --- pairs --------------------------------------------------------------------------------

    cdef int refuse_pairs(self) except -1:
        if not self.logistic:
            raise ValueError('pairs need link="logistic"')
        if self.contexts:
            raise ValueError("pairs have no meaning with context_features")
        return 0

    def choose_pair(self, X):
        """The row of largest m, and the other one that may best beat it."""
        cdef Scratch s = self.borrow()
        cdef Choice at = self.borrow_choice(s), apart = Choice()
        cdef Py_ssize_t i, first = 0, second = -1
        cdef np.ndarray rows
        self.refuse_pairs()
        if isinstance(X, Catalogue):
            raise TypeError("X must be rows: pairs are not chosen from a Catalogue")
        try:
            s.forget()
            self.offer(X, None, None, s, at)
            if at.n < 2:
                raise ValueError(f"X must have at least two rows, got {at.n}")
            self.answer(s, at, SCORES, None, None)
            for i in range(at.n):
                if at.m[i] > at.m[first]:
                    first = i
            rows = self.differences(at, first, s)
            self.offer(rows, None, None, s, apart)
            self.answer(s, apart, SCORES, None, None)
            for i in range(at.n):
                at.z[i] = at.m[i] + self.rule.width * sqrt(apart.q[i])
                if not at.z[i] - at.z[i] == 0.0:
                    self.fail(CF_ENONFINITE, "X")
                if i != first and (second < 0 or at.z[i] > at.z[second]):
                    second = i
            return first, second
        finally:
            at.rows.held = None
            self.give_back(s)

    cdef np.ndarray differences(self, Choice at, Py_ssize_t first, Scratch s):
        """All rows less one of them, written out."""
        cdef Py_ssize_t d = at.rows.d, t, e
        cdef np.ndarray out = <np.ndarray>numpy.zeros((at.n, d))
        cdef cf_row row
        for t in range(at.n):
            at.rows.at(t, s.buffer, &row)
            for e in range(row.nnz):
                data_of(out)[t * d + place_of(&row, e)] = row.value[e]
        out = out - (<object>out)[first]
        if not numpy.isfinite(out).all():
            raise ValueError("X is too large: a difference of two rows overflows")
        return out

    def learn_pair(self, x_first, x_second, first_won):
        """The logistic step on the difference of two rows."""
        cdef bint won = as_flag(first_won, "first_won")
        self.refuse_pairs()
        a, b = self.written_out(x_first, "x_first"), self.written_out(x_second, "x_second")
        d = max(len(a), len(b))
        if len(a) != len(b) and not self.most:
            raise ValueError(f"x_second must have {len(a)} features, as x_first, got {len(b)}")
        x = numpy.pad(a, (0, d - len(a))) - numpy.pad(b, (0, d - len(b)))
        if not numpy.isfinite(x).all():
            raise ValueError("x_first - x_second is too large: it overflows")
        self.learn_weighted(x, 0, 1.0 if won else 0.0, 1.0, "x_first")

    cdef np.ndarray written_out(self, object x, str name):
        cdef Scratch s = Scratch()
        cdef cf_row row
        cdef np.ndarray out
        cdef Py_ssize_t e
        row_of(x, name, s.buffer, &row, self.model.d, self.most > 0)
        self.width(row.n, name)
        out = <np.ndarray>numpy.zeros(row.n)
        for e in range(row.nnz):
            data_of(out)[place_of(&row, e)] = row.value[e]
        return out


# --- arms -------------------------------------------------------------------------------------


cdef class ArmEngine(BanditEngine):
    """A regression an arm."""

    cdef int offer(self, object X, object allowed, object context, Scratch s,
                   Choice at) except -1:
        at.arms = True
        self.take_row(X, s)
        at.fit(self.model.k)
        return at.allow(allowed)

    cdef int read_offer(self, Scratch s, Choice at, bint widths) except? -1000:
        cdef Regressions model
        cdef int status
        self.ready(s, False)
        model = <Regressions>self.model
        if at.n != model.k:
            raise ValueError("allowed: an arm was added meanwhile")
        at.d = max(model.d, s.row.n)
        if model.cost(s.row.nnz) < BUSY:
            return model.read_offer(s, at, None, self.rule, widths)
        with nogil:
            status = model.read_offer(s, at, at.rows, self.rule, widths)
        return status

    cdef tuple kept(self, Scratch s, Choice at, Py_ssize_t i):
        return i, copy_of(&s.given)

    cdef int learn(self, object x, object arm, object reward, object weight) except -1:
        cdef Py_ssize_t i = as_label(arm, "arm", False)
        cdef double y = self.target_of(reward, "reward"), c = self.weight_of(weight)
        return self.learn_weighted(x, i, y, c, "arm")
