# Fleets of perceptrons over rankings: part of _engine.pyx; see _engine.pxd.


@cython.final
cdef class VectorFleet(StreamingFleet):
    """Preference perceptrons by key: w and the mean of the weights, with a batch also the sum of
    the unfinished one, whose rounds stand in LEARNED of the block.

    Parameters
    ----------
    batch : int
    unfed : Learner
        The model that nobody has fed.
    others
        As for `FleetEngine`.
    """

    def __init__(self, Records records, make, *, Py_ssize_t slots, bint keep, Py_ssize_t batch, unfed):
        self.batch, self.unfed = batch, unfed
        FleetEngine.__init__(self, records, make, slots=slots, keep=keep)

    cdef Worker new_worker(self):
        cdef Worker w = Worker()
        w.rule = Perceptron(self.batch)
        return w

    cdef void sit(self, Perceptron rule, const uint64_t *record,
                  const uint64_t *block) noexcept nogil:
        """The numbers of a record into a rule."""
        cdef const double *numbers = <const double *>(block + <int>CF_FLEET_NUMBERS)
        cdef size_t size = <size_t>rule.n * sizeof(double)
        rule.rounds = <int64_t>record[<int>CF_FLEET_ROUNDS]
        memcpy(rule.w, numbers, size)
        memcpy(rule.mean, numbers + rule.n, size)
        if self.batch > 1:
            rule.waiting = <Py_ssize_t>block[<int>CF_FLEET_LEARNED]
            memcpy(rule.sum, numbers + 2 * rule.n, size)

    cdef int step(self, Worker w, PackedForm form, Perceptron rule, uint64_t *record,
                  uint64_t *block, double y, bint null, int what, double *m) noexcept nogil:
        cdef double *numbers = <double *>(block + <int>CF_FLEET_NUMBERS)
        cdef size_t size = <size_t>rule.n * sizeof(double)
        cdef int status
        self.sit(rule, record, block)
        status = rule.step(w.x)
        if status == CF_OK:
            record[<int>CF_FLEET_ROUNDS] = <uint64_t>rule.rounds
            memcpy(numbers, rule.w, size)
            memcpy(numbers + rule.n, rule.mean, size)
            if self.batch > 1:
                block[<int>CF_FLEET_LEARNED] = <uint64_t>rule.waiting
                memcpy(numbers + 2 * rule.n, rule.sum, size)
        return status

    cdef object choose(self, object key, object x, object allowed, object k, object context):
        """The documents in their order."""
        cdef CoactiveEngine engine
        cdef np.ndarray desk
        cdef uint64_t *r
        cdef Key at
        refuse_words(("allowed", "context"), (allowed, context), "a perceptron")
        key_of(key, &at)
        learner = self.make()  # of its own: what x runs may come back here
        engine = <CoactiveEngine>learner._engine
        if not self.is_laid():
            return self.unfed.present(x, k=k)
        self.records.check_kind(at.is_text, "key")
        desk = <np.ndarray>numpy.zeros(self.records.core.record, dtype=numpy.int64)
        r = <uint64_t *>np.PyArray_DATA(desk)
        if not self.records.read(&at, r):
            memcpy(r, self.records.core.fresh, <size_t>self.records.core.record * 8)
        engine.rule.start(self.records.d)
        self.sit(<Perceptron>engine.rule, r, r + self.records.core.head)
        return learner.present(x, k=k)

    cdef int learn(self, object key, object x, tuple answers, object weight,
                   object context) except -1:
        """Delta by an engine that knows nothing, then the step of the record."""
        cdef CoactiveEngine engine
        cdef np.ndarray delta
        cdef Key at
        cdef double m
        refuse_words(("weight", "context"), (weight, context), "a perceptron")
        if len(answers) != 2:
            raise TypeError("learn takes a key, documents, what was presented and what is better, "
                            f"got {len(answers)} arguments behind the documents")
        key_of(key, &at)
        self.refuse_writing()
        engine = <CoactiveEngine>self.make()._engine
        engine.learn(x, answers[0], answers[1])
        delta = new_vector(engine.rule.n)
        memcpy(data_of(delta), engine.bench.delta, <size_t>engine.rule.n * sizeof(double))
        return self.learn_row(&at, delta, None, 0, 0.0, 1.0, 0, &m)

    cdef Stream stream_of(self, object keys, object X, tuple answers, object weight,
                          object context):
        cdef Stream s = Stream()
        refuse_words(("weight", "context"), (weight, context), "a perceptron")
        if len(answers) != 0:
            raise TypeError("run takes keys and rows Delta = phi(better) - phi(presented), got "
                            f"{len(answers)} arguments more")
        s.keys, s.rows = keys_of(keys), rows_of(X, "X")
        return s
