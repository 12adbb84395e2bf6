# The Preference Perceptron in the feature space of a kernel (DEFINITIONS 2, "Kernels"): part of
# _engine.pyx.
#
# The score of a document z is sum_s c_s k(x_s, z) over the rows kept. A round adds the rows whose
# places the feedback changed, equal ones joined, with what they gained in 1/log2(place + 1). What
# is learned is a value that is never changed: a round makes the next one beside it, at the price of
# a copy of the rows, less than what one document's score costs several times over.

cdef Py_ssize_t MOST_ROUNDS = <Py_ssize_t>1 << 53  # that a state may tell of


cdef class Expansion:
    # Invariants: never changed; `kept` holds a dense row for each of `coefficients`, none of which
    # is 0; `sizes` are the rows of each round that has some, oldest first, in all as many.
    cdef Kept kept
    cdef np.ndarray coefficients
    cdef list sizes

    def __init__(self, kernel, kernel_params, rows, coefficients, sizes):
        self.kept = Kept(kernel, kernel_params)
        if len(rows):
            self.kept.restore(opened({"n": rows.shape[0], "d": rows.shape[1], "form": DENSE,
                               "rows": rows}, "rows"))
        self.coefficients, self.sizes = coefficients, sizes

    def rows(self, d):
        """A copy of the rows, of d features."""
        return self.kept.state()["rows"] if self.kept.n else numpy.empty((0, d))

    cdef int score(self, const cf_row *z, Forms forms, double *values,
                   double *out) noexcept nogil:
        cdef int status = self.kept.values(z, forms, 0, values)
        if status == CF_OK:
            out[0] = K.dot(self.kept.n, data_of(self.coefficients), values)
        return status


cdef class KernelEngine(CoactiveEngine):
    """A Perceptron over rankings, with a kernel.

    Parameters
    ----------
    task : Ranking
    kernel, kernel_params
        As `Kept` takes them.
    budget : int
        So many rows are kept at most, or (0) all.
    """

    cdef object kernel, params
    cdef Py_ssize_t budget, d      # d: features, 0 before the first round
    cdef Expansion learned

    def __init__(self, task, kernel, kernel_params, Py_ssize_t budget):
        self.kernel, self.params, self.budget = kernel, kernel_params, budget
        self.learned = self.expansion(numpy.empty((0, 0)), numpy.empty(0), [])
        CoactiveEngine.__init__(self, task, lambda: Perceptron(1))  # which counts the rounds

    def expansion(self, rows, coefficients, sizes):
        return Expansion(self.kernel, self.params, rows, coefficients, sizes)

    # --- what every engine has ----------------------------------------------------------------

    @property
    def compiled(self):
        return False  # runs are the loop of single calls

    @property
    def rows_kept(self):
        return self.learned.kept.n

    cdef dict told(self):
        return {"n": self.d, "rounds": self.rule.rounds, "rows": self.learned.rows(self.d),
                "coefficients": self.learned.coefficients,
                "sizes": numpy.array(self.learned.sizes, dtype=numpy.int64)}

    cdef int take_state(self, State state) except -1:
        cdef Rule rule = self.make()
        cdef Py_ssize_t d = state.count("n"), rounds = state.count("rounds", 0, MOST_ROUNDS), m
        if (d == 0) != (rounds == 0):
            state.refuse("rounds", "0 exactly where the number of features is not known", rounds)
        m = numpy.size(state.get("coefficients"))
        coefficients, rows = state.vector("coefficients", m), state.table("rows", m, d)
        sizes = state.counts("sizes", numpy.size(state.get("sizes")), 1, 2 * self.k)
        if sizes.sum() != m or len(sizes) > rounds:
            state.refuse("sizes", "the rows of each round")
        if not coefficients.all():
            state.refuse("coefficients", "other than 0")
        learned = self.expansion(rows, coefficients, sizes.tolist())
        self.guard.settle_write()
        rule.rounds = rounds
        self.rule, self.learned, self.d = rule, learned, d
        return 0

    def reset(self):
        cdef Rule rule = self.make()
        learned = self.expansion(numpy.empty((0, 0)), numpy.empty(0), [])
        self.guard.settle_write()
        self.rule, self.learned, self.d = rule, learned, 0

    def adopt(self, CoactiveEngine other, changed):
        self.guard.settle_write()
        self.budget = (<KernelEngine?>other).budget

    # --- reading ------------------------------------------------------------------------------

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        cdef np.ndarray out = <np.ndarray>numpy.zeros(np.PyArray_DIM(a, 0)), values
        cdef np.ndarray rows = <np.ndarray>numpy.ascontiguousarray(a, dtype=numpy.float64)
        cdef Expansion learned
        cdef Forms forms = Forms()
        cdef Matrix x = matrix_of(rows)
        cdef int status = CF_OK
        if mean:
            raise ValueError("average needs weights, and a kernel has none")
        if not finite_rows(&x):
            refuse_non_finite(a, "x")
        self.guard.begin_read()
        try:
            learned = self.learned
            if self.d and x.d != self.d:
                self.refuse_dimension(x.d, "x")
            values = new_vector(learned.kept.n)
            if learned.kept.n:
                with nogil:
                    status = score_all(learned, &x, forms, data_of(values), data_of(out))
        finally:
            self.guard.end_read()
        if status != CF_OK:
            learned.kept.raise_error()
            refuse(status, "the scores of x")
        if not K.all_finite(x.n, data_of(out)):
            raise ValueError("x gives scores that overflow")
        return out

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.d} features, as what was learned before, got {n}")

    # --- learning -----------------------------------------------------------------------------

    def update(self, delta):
        raise ValueError("update needs a delta of features, and a kernel has none: use learn")

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = indices_of(y, "y"), wanted = indices_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Matrix rows = matrix_of(a)
        cdef Py_ssize_t p, q
        self.guard.begin_write()
        try:
            if self.d and rows.d != self.d:
                self.refuse_dimension(rows.d, "x")
            self.bench.fit(rows.n, 1, self.k)
            p = self.bench.take_places(shown, "y", rows.n, self.k, self.bench.presented)
            q = self.bench.take_places(wanted, "better", rows.n, self.k, self.bench.better)
            refuse_short(p, q)
            if not finite_rows(&rows):
                refuse_non_finite(a, "x")
            learned = self.grown(self.learned, *moves(
                numpy.asarray(a, dtype=numpy.float64),
                [self.bench.better[i] for i in range(q)],
                [self.bench.presented[i] for i in range(p)]))
            self.rule.rounds += 1
            self.learned, self.d = learned, rows.d
        finally:
            self.guard.end_write()
        return 0

    def grown(self, Expansion before, rows, coefficients):
        """A round more; the oldest leave whole for the budget."""
        cdef Expansion after
        if not len(rows):
            return before
        new = len(rows)
        sizes = [*before.sizes, new]
        rows = numpy.concatenate([before.rows(rows.shape[1]), rows])
        coefficients = numpy.concatenate([before.coefficients, coefficients])
        while self.budget and len(rows) > self.budget:
            gone = sizes.pop(0)
            rows, coefficients = rows[gone:], coefficients[gone:]
        after = self.expansion(rows, coefficients, sizes)
        refuse_bad_rows(after.kept, <np.ndarray>numpy.ascontiguousarray(rows[-new:]))
        return after


def moves(table, better, presented):
    """The rows that gained or lost places, equal ones joined, and what they gained.

    Counted by place before anything is added up, so that what returns to its place gains 0.
    """
    found = {}
    places = max(len(better), len(presented))
    for sign, ordering in ((1, better), (-1, presented)):
        for place, document in enumerate(ordering):
            at = found.setdefault(tuple(table[document].tolist()), [0] * places)
            at[place] += sign
    gains = {row: math.fsum(count / math.log2(place + 2) for place, count in enumerate(at))
             for row, at in found.items()}
    rows = [row for row, gain in gains.items() if gain != 0.0]
    return numpy.array(rows, dtype=numpy.float64), numpy.array([gains[row] for row in rows])


cdef int refuse_bad_rows(Kept kept, np.ndarray rows) except -1:
    """What the kernel has against a row it says now."""
    cdef Matrix x = matrix_of(rows)
    cdef cf_row row
    cdef double square
    cdef Py_ssize_t i
    cdef int status
    for i in range(x.n):
        row = row_at(&x, i)
        status = kept.own(&row, &square)
        if status != CF_OK:
            kept.raise_error()
            refuse(status, "the kernel of a row of x with itself")
    return 0


cdef cf_row row_at(const Matrix *x, Py_ssize_t i) noexcept nogil:
    """Row i of float64."""
    cdef cf_row row
    row.n = row.nnz = x.d
    row.i32, row.i64 = NULL, NULL
    row.value = <const double *>x.rows + i * x.step
    return row


cdef int score_all(Expansion learned, const Matrix *x, Forms forms, double *values,
                   double *out) noexcept nogil:
    cdef Py_ssize_t i
    cdef cf_row row
    cdef int status = CF_OK
    for i in range(x.n):
        row = row_at(x, i)
        status = learned.score(&row, forms, values, out + i)
        if status != CF_OK:
            break
    return status
