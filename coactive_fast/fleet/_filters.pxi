# Fleets of filters: part of _engine.pyx; see _engine.pxd.

cdef enum:
    DECIDE = 1       # what a step does: decide, learn, or learn what it forwards
    TEACH = 2
    FORWARD = 3
    EVERY = 4        # decide, and learn whatever comes
    COUNTED = 2      # words of a head where the rule goes by a tally


@cython.final
cdef class FilterFleet(StreamingFleet):
    """Ridge filters by key. ROUNDS of a record counts the rounds, LEARNED of its block what was
    learned.

    Parameters
    ----------
    make_form : callable
    full : bool
        feedback="full": a run learns every label.
    others
        As for `FleetEngine`.
    """

    def __init__(self, Records records, make, make_form, *, Py_ssize_t slots, bint keep, bint full):
        self.make_form, self.full = make_form, full
        self.filter = <FilterEngine>make()._engine
        self.extra = COUNTED if self.filter.rule.counts else 0
        FleetEngine.__init__(self, records, make, slots=slots, keep=keep)

    cdef Worker new_worker(self):
        cdef Worker w = Worker()
        w.form = self.make_form()
        return w

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        form.sit(block)
        return self.play_round(self.filter.rule, form, record, w.x, y, what, m)

    cdef int play_round(self, FilterRule rule, PackedForm form, uint64_t *record, const double *x,
                        double y, int what, double *m) noexcept nogil:
        """m[0]: the margin; m[1]: 1 where x is forwarded. y is 1 or -1."""
        cdef uint64_t *counted = record + <int>CF_FLEET_EXTRA
        cdef Tally tally
        cdef double q, mean, seen
        cdef bint forwarded = True
        cdef int status = CF_OK
        memset(&tally, 0, sizeof(Tally))
        tally.rounds = <int64_t>record[<int>CF_FLEET_ROUNDS]
        if rule.counts:
            tally.relevant = <int64_t>counted[0]
            memcpy(&tally.known, counted + 1, sizeof(double))
        mean = K.dot(form.d, form.w, x)
        q = K.packed_look(form.d, form.diagonal, form.u, x, form.f)
        if not (q <= DBL_MAX and fabs(mean) <= DBL_MAX):
            return CF_ENONFINITE
        m[0], m[1] = mean / (1.0 + q), 1.0
        if what != TEACH:
            forwarded = rule.decide(form, &tally, NULL, mean, q)
            m[1] = 1.0 if forwarded else 0.0
            record[<int>CF_FLEET_ROUNDS] += 1
        if what == DECIDE or (what == FORWARD and not forwarded):
            return CF_OK
        status = form.take_row(x, rule.target(mean, q, y), False, &seen)
        if status == CF_OK and rule.counts:
            if rule.floor > 0.0:
                tally.relevant += y > 0.0
            if rule.kind == TEACHER:
                tally.known += q / (1.0 + q)
            counted[0] = <uint64_t>tally.relevant
            memcpy(counted + 1, &tally.known, sizeof(double))
        return status

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        """Whether x is forwarded; counts the round, unless this process only reads."""
        cdef double m[2]
        cdef Key at
        refuse_words(("allowed", "k", "context"), (allowed, k, context), "a filter")
        key_of(key, &at)
        if self.closed is None:
            self.learn_row(&at, x, None, 0, 0.0, 1.0, DECIDE, m)
        else:
            self.look_only(&at, x, m)
        return m[1] > 0.0

    cdef int look_only(self, Key *key, object x, double *m) except -1:
        cdef RowBuffer buffer = RowBuffer()
        cdef np.ndarray desk
        cdef uint64_t *r
        cdef cf_row row
        cdef Worker w = self.new_worker()
        m[0], m[1] = 0.0, 1.0
        row_of(x, "x", buffer, &row, self.records.d)
        if not self.is_laid():
            return 0  # nothing was learned: all is forwarded
        self.refuse_width(row.n, "x")
        self.records.check_kind(key.is_text, "key")
        w.fit(self.records.d, 0)
        desk = <np.ndarray>numpy.zeros(self.records.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(desk)
        if not self.records.read(key, r):
            memcpy(r, self.records.core.fresh, <size_t>self.records.core.record * 8)
        self.lay(&row, None, 0, w.x)
        status = self.step(w, w.form, None, r, r + self.records.core.head, 0.0, False, DECIDE, m)
        return 0 if status == CF_OK else self.fail(status, "x")

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        cdef double m[2]
        cdef double y
        cdef Key at
        refuse_words(("weight", "context"), (weight, context), "a filter")
        if len(answers) != 1:
            raise TypeError("learn takes a key, a row and whether it was relevant, got "
                            f"{len(answers)} arguments behind the row")
        key_of(key, &at)
        y = 1.0 if as_flag(answers[0], "relevant") else -1.0
        return self.learn_row(&at, x, None, 0, y, 1.0, TEACH, m)

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        cdef Stream s = Stream()
        refuse_words(("weight", "context"), (weight, context), "a filter")
        if len(answers) != 1:
            raise TypeError("run takes keys, rows and which of them are relevant, got "
                            f"{len(answers)} arguments behind the rows")
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        flags = flags_of(answers[0], "relevant", s.rows.n)
        s.y = <np.ndarray>numpy.where(flags, 1.0, -1.0)
        s.weight = <np.ndarray>numpy.ones(s.rows.n)
        s.m = new_vector(s.rows.n)
        s.forwarded = <np.ndarray>numpy.zeros(s.rows.n, dtype=bool)
        s.what = EVERY if self.full else FORWARD
        return s

    cdef object told(self, Stream s):
        return history_of(s.forwarded, s.m, <object>s.y > 0.0)
