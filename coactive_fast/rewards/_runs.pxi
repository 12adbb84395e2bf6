# Whole streams of rounds through a bandit: part of _engine.pyx; see _engine.pxd.


cdef class BanditRounds(Run):
    """The parts of a round that are the same wherever its actions come from."""

    cdef object lock(self, Engine engine):
        return engine.chance.generator.bit_generator.lock

    cdef int at_hand(self, BanditEngine engine) except -1:
        """Everything for rounds with the model of this engine."""
        cdef Scratch s = self.scratch
        cdef Py_ssize_t p = self.at.by.p
        if self.arms:
            engine.width(self.seen.d, "X")
        else:
            (<LinearEngine>engine).refuse_actions(self.seen.d, "X")
        self.model, self.rule, self.chance = <Regressions>engine.model, engine.rule, engine.chance
        self.at.d = max(self.model.d, (p + 1) * self.seen.d)
        self.model.know(self.at.d)
        s.expect(self.seen)
        s.row.n = s.row.nnz = self.at.d
        self.model.fit(s)
        self.model.fit_known(self.seen, self.at.by, s,
                             self.rule.kind == THOMPSON and not self.arms)
        self.at.fit_draws(self.at.d)
        s.scaled.fit(self.at.d)
        self.mask = 15 if self.at.n * self.model.cost(self.at.d) < 1e5 else 0
        return 0

    cdef int supply(self, Engine engine) except -1:
        return self.model.make_room(self.scratch)

    cdef int read(self, Regressions model, Rule rule, Scratch s, Choice at,
                  Chance chance) noexcept nogil:
        """The scores of what is seen, as `place` and `law` want them."""
        cdef Py_ssize_t turn
        cdef int status = CF_OK
        for turn in range(2):
            if self.arms:
                s.take_from(self.seen, 0)
            status = model.read_offer(s, at, self.seen, rule, False)
            if status != CF_ENOTPOSITIVE or model.repair(s) != CF_OK:
                break
        return rule.score(model, s, at, chance) if status == CF_OK else status

    cdef int teach(self, Regressions model, Scratch s, Choice at, Py_ssize_t i,
                   double reward) noexcept nogil:
        """One round of `learn`."""
        cdef Py_ssize_t arm = i if self.arms else 0
        cdef int status
        s.take_from(self.seen, 0 if self.arms else i)
        if at.by.p and not crossed(&s.row, at.by, s.scaled):
            return CF_ENONFINITE
        s.weight = 1.0
        model.prepare(s)
        status = model.look_at(s, arm)
        if status == CF_ENOTPOSITIVE and model.repair(s) == CF_OK:
            status = model.look_at(s, arm)
        return model.take(s, arm, reward) if status == CF_OK else status

    cdef int fail(self, Engine engine, int status) except -1:
        return (<BanditEngine>engine).fail(status, f"round {self.done} of X")


cdef class BanditRun(BanditRounds):
    """Chooses and learns in an environment; it is the loop of single calls, bit for bit.

    Parameters
    ----------
    engine : BanditEngine
    rounds : int
    X : ndarray of float64 or None
        Rows of a table, (T, d) for arms, else (n, d) or (T n, d); None: they are drawn.
    n : int
        Actions a round.
    d : int
    T : int
        Round t is row t mod T of the table.
    same : bool
        All rounds have the same actions.
    rewards : ndarray of shape (T, n) or None
    weights : ndarray or None
        Where there are no rewards: (d,), or (arms, d).
    noise : float
    contexts : ndarray of shape (T, p) or None
    world : Chance or None
        Where rows and noise are drawn from.
    """

    def __init__(self, BanditEngine engine, Py_ssize_t rounds, X, *, Py_ssize_t n, Py_ssize_t d,
                 Py_ssize_t T, bint same, rewards, weights, double noise, contexts, Chance world):
        self.arms, self.period, self.total = isinstance(engine, ArmEngine), T, rounds
        self.rewards, self.weights, self.contexts = rewards, weights, contexts
        self.noise, self.world = noise, world
        if X is None:
            self.drawn = <np.ndarray>numpy.zeros((1 if self.arms else n, d))
            X = self.drawn
        self.table, self.seen = rows_of(X, "X"), rows_of(X, "X")
        self.seen.n = 1 if self.arms else n
        self.same = same or self.drawn is not None
        self.means = new_vector(n)
        self.reward, self.regret = new_vector(rounds), new_vector(rounds)
        self.probability, self.choice = new_vector(rounds), new_indices(rounds)
        self.scratch, self.at = Scratch(), Choice()
        self.at.fit(n)
        self.at.arms, self.at.rows = self.arms, self.seen

    def history(self):
        return BanditHistory(reward=self.reward[:self.done], regret=self.regret[:self.done],
                             choice=self.choice[:self.done],
                             probability=self.probability[:self.done])

    cdef int begin(self, Engine engine) except -1:
        if self.arms and (<BanditEngine>engine).model.k != self.at.n:
            raise ValueError(f"rewards must have {(<BanditEngine>engine).model.k} columns, one an "
                             "arm: arms were added during the run")
        self.at.by.p = 0 if self.contexts is None else np.PyArray_DIM(self.contexts, 1)
        return self.at_hand(<BanditEngine>engine)

    cdef int round(self, Engine engine) noexcept nogil:
        return self.one(self.model, self.rule, self.scratch, self.at)

    cdef int one(self, Regressions model, Rule rule, Scratch s, Choice at) noexcept nogil:
        cdef Py_ssize_t i, j, t = self.done
        cdef int status
        cdef double best = -INFINITY, reward
        if not model.has_room(s):
            return MORE
        self.show(self.seen, s, at, self.world)
        status = self.decide(model, rule, s, at, self.chance)
        if status != CF_OK:
            return status
        i = (<Py_ssize_t *>np.PyArray_DATA(self.choice))[t]
        for j in range(at.n):
            best = max(best, data_of(self.means)[j])
        reward = data_of(self.means)[i]
        if self.world is not None:
            self.world.normals(1, at.z)
            reward += self.noise * at.z[0]
        data_of(self.reward)[t], data_of(self.regret)[t] = reward, best - data_of(self.means)[i]
        return self.teach(model, s, at, i, reward)

    cdef int show(self, Rows seen, Scratch s, Choice at, Chance world) noexcept nogil:
        """The actions of this round, and their mean rewards."""
        cdef Py_ssize_t t = self.done % self.period, d = seen.d, n = at.n, i, j
        cdef double *rows
        cdef double length
        if not self.same:
            seen.value = self.table.value + t * seen.n * seen.row_step
        if self.contexts is not None:
            at.by.c = data_of(self.contexts) + t * at.by.p
        rows = <double *>seen.value
        if self.drawn is not None:
            world.normals(seen.n * d, rows)
            for i in range(seen.n):
                length = sqrt(K.dot(d, rows + i * d, rows + i * d))
                for j in range(d):
                    rows[i * d + j] /= length
        for i in range(n):
            if self.rewards is not None:
                data_of(self.means)[i] = data_of(self.rewards)[t * n + i]
            elif self.arms:
                data_of(self.means)[i] = K.dot(d, data_of(self.weights) + i * d, rows)
            else:
                data_of(self.means)[i] = K.dot(d, data_of(self.weights), rows + i * d)
        return CF_OK

    cdef int decide(self, Regressions model, Rule rule, Scratch s, Choice at,
                    Chance chance) noexcept nogil:
        cdef Py_ssize_t i
        cdef int status
        at.allow_all()
        status = self.read(model, rule, s, at, chance)
        if status != CF_OK:
            return status
        i = rule.place(at, model.learned, chance.bits)
        (<Py_ssize_t *>np.PyArray_DATA(self.choice))[self.done] = i
        data_of(self.probability)[self.done] = NAN
        if rule.kind != THOMPSON:
            data_of(self.probability)[self.done] = rule.probability(at, model.learned, i)
        return CF_OK
