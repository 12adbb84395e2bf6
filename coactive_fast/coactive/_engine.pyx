"""The engine of the coactive family; see _engine.pxd. _kernel.pxi has the one over a kernel."""

import math

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_count, data_of, is_plain, new_indices, new_vector, plain, product_of, refuse,
    refuse_non_finite, row_stride, take_scratch,
)
from coactive_fast._table cimport (
    CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_pad, cf_row, cf_table,
    cf_top_k_scratch,
)
from coactive_fast.coactive._rules cimport Matrix, Perceptron, Rule
from coactive_fast.learner._engine cimport Engine
from coactive_fast.learner._state cimport State, opened
from coactive_fast.metric._dual cimport DENSE, Kept
from coactive_fast.rows._rows cimport Forms, table_of, written_out

from coactive_fast.coactive._tasks import Items, Ranking

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef Py_ssize_t ALL = numpy.iinfo(numpy.intp).max

cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


# --- arguments --------------------------------------------------------------------------------


cdef np.ndarray indices_of(object value, str name):
    """One-dimensional contiguous intp; the caller's own array where it is that."""
    if is_plain(value, np.NPY_INTP):
        return <np.ndarray>value
    given = <object>plain(value, name)
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size == 0:
        given = given.astype(numpy.intp)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {given.dtype}")
    if given.dtype.kind == "u" and (given > numpy.iinfo(numpy.intp).max).any():
        raise ValueError(f"{name} must hold indices, got {given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


def index_array(value, str name, Py_ssize_t n, str of):
    """A copy of indices in 0 ... n - 1, for Python modules."""
    cdef np.ndarray found = <np.ndarray>indices_of(value, name).copy()
    cdef const Py_ssize_t *at = <const Py_ssize_t *>np.PyArray_DATA(found)
    cdef Py_ssize_t i
    for i in range(np.PyArray_DIM(found, 0)):
        if not 0 <= at[i] < n:
            refuse_index(at[i], name, n, of)
    return found


cdef int refuse_index(Py_ssize_t got, str name, Py_ssize_t n, str of) except -1:
    raise ValueError(f"{name} must be in 0 ... {n - 1} ({n} {of}), got {got}")


cdef np.ndarray documents_of(object x):
    """The matrix of a query's documents: at least one, with at least one feature."""
    cdef np.ndarray a = table_of(x, "x")
    if np.PyArray_DIM(a, 0) == 0 or np.PyArray_DIM(a, 1) == 0:
        raise ValueError("x must have at least one document and one feature, got shape "
                         f"{(<object>a).shape}")
    return a


# --- rows -------------------------------------------------------------------------------------


cdef Matrix matrix_of(np.ndarray a) noexcept:
    cdef Matrix x
    x.n, x.d, x.step = np.PyArray_DIM(a, 0), np.PyArray_DIM(a, 1), row_stride(a)
    x.floats = np.PyArray_TYPE(a) == np.NPY_FLOAT
    x.rows = <const char *>np.PyArray_DATA(a)
    return x


cdef bint finite_rows(const Matrix *x) noexcept nogil:
    cdef Py_ssize_t n = x.n, d = x.d, i
    if x.step == d:
        d, n = n * d, 1
    for i in range(n):
        if x.floats:
            if not K.all_finite_f32(d, <const float *>x.rows + i * x.step):
                return False
        elif not K.all_finite(d, <const double *>x.rows + i * x.step):
            return False
    return True


cdef void scores_of(const Matrix *x, const double *w, double *out) noexcept nogil:
    if x.floats:
        K.scores_f32(x.n, x.d, <const float *>x.rows, x.step, w, out)
    else:
        K.scores(x.n, x.d, <const double *>x.rows, x.step, w, out)


cdef void both_scores(const Matrix *x, const double *w, const double *other_w, double *out,
                      double *other) noexcept nogil:
    """By two weights, in one reading of the rows."""
    if x.floats:
        K.two_scores_f32(x.n, x.d, <const float *>x.rows, x.step, w, other_w, out, other)
    else:
        K.two_scores(x.n, x.d, <const double *>x.rows, x.step, w, other_w, out, other)


cdef void change(Bench b, Py_ssize_t m, const Matrix *x) noexcept nogil:
    """delta += sum of weight (x_plus - x_minus)"""
    if x.floats:
        K.change_of_features_f32(m, b.n, <const float *>x.rows, x.step, b.plus, b.minus, b.weight,
                                 b.delta)
    else:
        K.change_of_features(m, b.n, <const double *>x.rows, x.step, b.plus, b.minus, b.weight,
                             b.delta)


cdef void places(Bench b, Py_ssize_t first, Py_ssize_t last, const ptrdiff_t *ranking, double a,
                 const Matrix *x) noexcept nogil:
    """delta += a times the features of some places of a ranking"""
    if x.floats:
        K.features_f32(last - first, b.n, <const float *>x.rows, x.step, ranking + first, a,
                       b.discount + first, b.delta)
    else:
        K.features(last - first, b.n, <const double *>x.rows, x.step, ranking + first, a,
                   b.discount + first, b.delta)


cdef Py_ssize_t changed_places(Bench b, Py_ssize_t k, const ptrdiff_t *presented,
                               const ptrdiff_t *better) noexcept nogil:
    """plus, minus and weight of the places that hold another document; their number."""
    cdef Py_ssize_t r, m = 0
    for r in range(k):  # stored always, counted where they differ
        b.plus[m] = better[r]
        b.minus[m] = presented[r]
        b.weight[m] = b.discount[r]
        m += better[r] != presented[r]
    return m


cdef void ranking_delta(Bench b, Py_ssize_t p, const ptrdiff_t *presented, Py_ssize_t q,
                        const ptrdiff_t *better, const Matrix *x) noexcept nogil:
    """delta = phi(better) - phi(presented), of q and p places; place by place, so that equal
    documents that changed places leave nothing behind."""
    cdef Py_ssize_t both = min(p, q), m = changed_places(b, both, presented, better)
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, m, x)
    if p != q:
        places(b, both, q, better, 1.0, x)
        places(b, both, p, presented, -1.0, x)


cdef void item_delta(Bench b, ptrdiff_t presented, ptrdiff_t better,
                     const Matrix *x) noexcept nogil:
    """delta = x_better - x_presented"""
    b.plus[0] = better
    b.minus[0] = presented
    b.weight[0] = 1.0
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, better != presented, x)


# --- scratch ----------------------------------------------------------------------------------


cdef class Bench:
    def __dealloc__(self):
        L.free(self.memory)

    cdef int fit(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places) except -1:
        """Room for so many documents, features and places (in all at most `docs`); what was there
        is lost, but not where memory runs out."""
        cdef Py_ssize_t wide, deep, sorting, total
        cdef double *at
        places = min(places, docs)
        if docs <= self.docs and n == self.n and places <= self.places:
            return 0
        docs, places = max(docs, self.docs), max(places, self.places)
        product_of(20, docs, "scratch")
        product_of(20, n, "scratch")
        wide, deep = cf_pad(docs), cf_pad(places)
        sorting = max(cf_top_k_scratch(docs, places), 2 * places + 8)
        sorting *= <Py_ssize_t>(sizeof(cf_candidate) // sizeof(double))
        total = cf_pad(n) + 4 * wide + cf_pad(5 * docs) + 7 * deep + sorting
        at = <double *>take_scratch(total, sizeof(double))  # ptrdiff_t are as long
        L.free(self.memory)
        self.memory = at
        memset(at, 0, <size_t>cf_pad(n) * sizeof(double))
        self.delta, at = at, at + cf_pad(n)
        self.score, self.utility, self.own = at, at + wide, at + 2 * wide
        self.place, at = <ptrdiff_t *>(at + 3 * wide), at + 4 * wide
        memset(self.place, 0, <size_t>docs * sizeof(ptrdiff_t))
        self.drawn, at = <ptrdiff_t *>at, at + cf_pad(5 * docs)
        self.presented, self.better = <ptrdiff_t *>at, <ptrdiff_t *>(at + deep)
        self.plus, self.minus = <ptrdiff_t *>(at + 2 * deep), <ptrdiff_t *>(at + 3 * deep)
        self.weight, self.discount = at + 4 * deep, at + 5 * deep
        self.clicked, self.sorting = <ptrdiff_t *>(at + 6 * deep), at + 7 * deep
        K.discounts(places, self.discount)
        self.docs, self.n, self.places = docs, n, places
        return 0

    cdef Py_ssize_t take_places(self, np.ndarray given, str name, Py_ssize_t n, Py_ssize_t most,
                                ptrdiff_t *out) except -1:
        cdef const ptrdiff_t *y
        cdef Py_ssize_t m, i, j, document = 0
        cdef bint again = False
        if not is_plain(given, np.NPY_INTP):
            raise ValueError(f"{name} was changed while it was read")
        y, m = <const ptrdiff_t *>np.PyArray_DATA(given), np.PyArray_DIM(given, 0)
        if m == 0:
            raise ValueError(f"{name} must list at least one document")
        for i in range(m):
            document = y[i]
            if not 0 <= document < n or self.place[document]:
                again = 0 <= document < n
                break
            self.place[document] = 1
            if i < most:
                out[i] = document
        else:
            i = m
        for j in range(i):
            self.place[y[j]] = 0
        if i < m and again:
            raise ValueError(f"{name} must list each document once, {document} is repeated")
        if i < m:
            refuse_index(document, name, n, "documents")
        return min(m, most)


# --- the engine -------------------------------------------------------------------------------


cdef class CoactiveEngine(Engine):
    """One task and one rule.

    Parameters
    ----------
    task : Ranking, Items or an object with `dimension`, `features(x, y)` and `argmax(w, x)`
    make : callable
        A fresh rule.
    """

    def __init__(self, task, make):
        self.make, self.task, self.bench = make, task, Bench()
        self.rule = make()
        if isinstance(task, Ranking):
            self.kind, self.k = RANKING, task.k
        elif isinstance(task, Items):
            self.kind, self.items = ITEMS, task.features[:]
            self.rule.start(task.dimension)
        else:
            self.kind = OWN
            self.rule.start(dimension_of(task))

    # --- what every engine has --------------------------------------------------------------

    @property
    def fresh(self):
        return self.rule.rounds == 0

    @property
    def rounds(self):
        return self.rule.rounds

    def fresh_rule(self):
        """A rule of this learner that has learned nothing."""
        return self.make()

    @property
    def compiled(self):
        return self.rule.compiled and self.kind != OWN

    cdef dict told(self):
        return self.rule.told()

    cdef int take_state(self, State state) except -1:
        cdef Rule rule = self.make()
        if self.kind != RANKING and state.count("n") != self.rule.n:
            raise ValueError(f"state has {state.count('n')} features, but task has {self.rule.n}")
        rule.restore(state)
        self.guard.settle_write()
        self.rule = rule
        return 0

    cdef Rule fresh_rule_of(self, Py_ssize_t n):
        """A fresh rule, which knows the dimension n (0: not yet)."""
        cdef Rule rule = self.make()
        if n:
            rule.start(n)
        return rule

    def reset(self):
        cdef Rule rule = self.fresh_rule_of(0 if self.kind == RANKING else self.rule.n)
        self.guard.settle_write()
        self.rule = rule

    def adopt(self, CoactiveEngine other, changed):
        self.guard.settle_write()
        self.make = other.make
        self.rule.adopt(other.rule)

    # --- reading ----------------------------------------------------------------------------

    @property
    def weights(self):
        return self.vector(False)

    @property
    def average_weights(self):
        return self.vector(True)

    def vector(self, bint mean):
        cdef np.ndarray out
        cdef Rule rule
        self.guard.settle_read()  # no Python from here on: the rule stays what it is
        rule = self.rule
        out = new_vector(0 if mean and rule.rounds == 0 else rule.n)
        if np.PyArray_DIM(out, 0):
            memcpy(data_of(out), rule.mean if mean else rule.w, <size_t>rule.n * sizeof(double))
        return out

    def present(self, x, k=None):
        """The best object of context x by the present weights."""
        cdef Py_ssize_t places
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            return self.rank(documents_of(x), places)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            return self.best_item(self.candidates(x))
        return self.task.argmax(self.weights, x)

    def present_by_mean(self, x, k=None):
        """The best object by the mean of the weights; nothing is drawn."""
        cdef Py_ssize_t places
        if self.kind == RANKING:
            places = ALL if k is None else as_count(k, "k")
            return ranked(self.scored(documents_of(x), True), places)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            return self.best_by_score(self.candidates(x), True)
        return self.task.argmax(self.scoring(True), x)

    def scores(self, x, bint average=False):
        """Scores of a query's documents or of candidates."""
        cdef np.ndarray c
        if self.kind == RANKING:
            return self.scored(documents_of(x), average)
        if self.kind == ITEMS:
            c = self.candidates(x)
            return self.scored(self.items if c is None else <np.ndarray>self.items[c], average)
        if not hasattr(self.task, "scores"):
            raise TypeError(f"task must have scores(w, x) for this; {self.task!r} has not")
        return self.task.scores(self.scoring(average), x)

    def scoring(self, bint average):
        """What scores are made with: the weights, or their mean where there is one."""
        found = self.vector(average)
        return found if found.size else self.weights

    cdef np.ndarray scored(self, np.ndarray a, bint mean):
        """Scores of rows; before the first round all weights are alike."""
        cdef np.ndarray out = new_vector(np.PyArray_DIM(a, 0))
        cdef Matrix x = matrix_of(a)
        cdef double *to = data_of(out)
        cdef double *alike = NULL
        cdef const double *w
        cdef Rule rule
        cdef Py_ssize_t i
        self.guard.settle_read()  # no Python from here on: the rule stays what it is
        rule = self.rule
        w = rule.mean if mean and rule.rounds else rule.w
        if rule.n == 0:
            alike = <double *>take_scratch(x.d, sizeof(double))
            for i in range(x.d):
                alike[i] = rule.initial(x.d)
            scores_of(&x, alike, to)
            L.free(alike)
        elif x.d != rule.n:
            self.refuse_dimension(x.d, "x")
        elif x.n * x.d < BUSY:
            scores_of(&x, w, to)
        else:
            self.guard.begin_read()
            w = rule.mean if mean and rule.rounds else rule.w  # a step exchanges the two
            with nogil:
                scores_of(&x, w, to)
            self.guard.end_read()
        if not K.all_finite(x.n, to):  # so does any NaN or infinity in x
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return out

    cdef object rank(self, np.ndarray a, Py_ssize_t k):
        return ranked(self.scored(a, False), k)

    cdef np.ndarray candidates(self, x):
        """The candidates' indices, a copy; None stays None: all."""
        cdef np.ndarray c
        if x is None:
            return None
        c = <np.ndarray>index_array(x, "x", np.PyArray_DIM(self.items, 0), "items")
        if np.PyArray_DIM(c, 0) == 0:
            raise ValueError("x must hold at least one candidate")
        return c

    cdef Py_ssize_t item_at(self, object value, str name, np.ndarray candidates) except -1:
        """An item's index; one of the candidates, unless those are all."""
        cdef Py_ssize_t i = as_count(value, name), n = np.PyArray_DIM(self.items, 0)
        if i >= n:
            refuse_index(i, name, n, "items")
        if candidates is not None and not (candidates == i).any():
            raise ValueError(f"{name} must be one of the candidates in x, {i} is not")
        return i

    cdef object best_item(self, np.ndarray candidates):
        return self.best_by_score(candidates, False)

    cdef object best_by_score(self, np.ndarray candidates, bint mean):
        cdef np.ndarray score
        cdef ptrdiff_t best
        if candidates is None:
            score = self.scored(self.items, mean)
            K.top_k(np.PyArray_DIM(score, 0), data_of(score), 1, &best, NULL)
            return best
        score = self.scored(<np.ndarray>self.items[candidates], mean)
        # ties go to the lower item, wherever it stands among the candidates
        return int(candidates[score == score.max()].min())

    # --- changing ---------------------------------------------------------------------------

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.rule.n} features, as what was learned before, "
                         f"got {n}")

    cdef int know(self, Py_ssize_t n, str what) except -1:
        """The dimension is n from now on, or was before; the lock is held."""
        if self.rule.n == 0:
            self.rule = self.fresh_rule_of(n)
        elif n != self.rule.n:
            self.refuse_dimension(n, what)
        return 0

    cdef int step(self, Py_ssize_t n, str what) except -1:
        """One round by the bench's delta; all or nothing, of a dimension that it brings too.

        `settle_write` was called, and nothing that runs Python since.
        """
        cdef Rule rule = self.rule
        cdef int status
        if rule.n and n * n < BUSY and rule.compiled:
            status = rule.step(self.bench.delta)
            return 0 if status == CF_OK else rule.fail(status, what)
        self.guard.begin_write()
        try:
            if rule.n == 0:
                rule = self.fresh_rule_of(n)
            with nogil:
                status = rule.step(self.bench.delta)
            if status != CF_OK:
                rule.fail(status, what)
            self.rule = rule
        finally:
            self.guard.end_write()
        return 0

    def learn(self, x, y, better):
        """One round: the user improved y to `better`."""
        cdef np.ndarray shown, wanted
        if self.kind == RANKING:
            self.learn_ranking(x, y, better)
        elif self.kind == ITEMS:
            self.learn_item(x, y, better)
        else:
            own, n = self.task.features, self.rule.n
            shown = written_out(own(x, y), "task.features(x, y)", n)
            wanted = written_out(own(x, better), "task.features(x, better)", n)
            for phi, name in ((shown, "y"), (wanted, "better")):
                if phi.size != n:
                    self.refuse_dimension(phi.size, f"task.features(x, {name})")
            self.learn_vector(<np.ndarray>numpy.subtract(wanted, shown), "the step")

    def update(self, delta):
        """One round with Delta itself."""
        self.learn_vector(written_out(delta, "delta", self.rule.n), "delta")

    cdef int learn_vector(self, np.ndarray v, str what) except -1:
        cdef Py_ssize_t n = np.PyArray_DIM(v, 0)
        self.guard.settle_write()
        if not K.all_finite(n, data_of(v)):
            refuse_non_finite(v, what)
            raise ValueError(f"{what} was changed while it was read")
        if self.rule.n and n != self.rule.n:
            self.refuse_dimension(n, what)
        self.bench.fit(1, n, 1)
        memcpy(self.bench.delta, data_of(v), <size_t>n * sizeof(double))
        return self.step(n, what)

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray shown = indices_of(y, "y"), wanted = indices_of(better, "better")
        cdef np.ndarray a = documents_of(x)
        cdef Bench b = self.bench
        cdef Matrix rows
        cdef Py_ssize_t p, q
        self.guard.settle_write()
        rows = matrix_of(a)
        if self.rule.n and rows.d != self.rule.n:
            self.refuse_dimension(rows.d, "x")
        b.fit(rows.n, rows.d, self.k)
        p = b.take_places(shown, "y", rows.n, self.k, b.presented)
        q = b.take_places(wanted, "better", rows.n, self.k, b.better)
        if q < p:
            refuse_short(p, q)
        if not finite_rows(&rows):
            refuse_non_finite(a, "x")
            raise ValueError("x was changed while it was read")
        ranking_delta(b, p, b.presented, q, b.better, &rows)
        if not K.all_finite(rows.d, b.delta):
            raise ValueError("x gives a step that overflows")
        return self.step(rows.d, "x")

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef Py_ssize_t i = self.item_at(y, "y", c), j = self.item_at(better, "better", c)
        cdef Matrix rows = matrix_of(self.items)
        self.guard.settle_write()
        self.bench.fit(1, rows.d, 1)
        item_delta(self.bench, i, j, &rows)
        return self.step(rows.d, "the round")


cdef np.ndarray ranked(np.ndarray score, Py_ssize_t k):
    """The first k places by score."""
    cdef np.ndarray out
    cdef Py_ssize_t n = np.PyArray_DIM(score, 0)
    cdef void *scratch
    k = min(k, n)
    out = new_indices(k)
    scratch = take_scratch(cf_top_k_scratch(n, k), sizeof(cf_candidate))
    K.top_k(n, data_of(score), k, <ptrdiff_t *>np.PyArray_DATA(out), <cf_candidate *>scratch)
    L.free(scratch)
    return out


cdef int refuse_short(Py_ssize_t shown, Py_ssize_t better) except -1:
    """Of the places that count: feedback that ends early would take away what it does not name."""
    if better < shown:
        raise ValueError(f"better must list at least {shown} documents, as many of y count, got "
                         f"{better}")
    return 0


cdef Py_ssize_t dimension_of(object task) except -1:
    """Of a task of the user's own, which is looked at here."""
    cdef Py_ssize_t n
    if isinstance(task, type):
        raise TypeError(f"task must be an object, got the class {task.__name__}")
    for name in ("features", "argmax"):
        if not callable(getattr(task, name, None)):
            raise TypeError("task must be a Ranking, Items, or an object with dimension, "
                            f"features(x, y) and argmax(w, x); {task!r} has no {name}")
    if not hasattr(task, "dimension"):
        raise TypeError(f"task must tell its dimension; {task!r} does not")
    n = as_count(task.dimension, "task.dimension")
    if n == 0:
        raise ValueError("task.dimension must be >= 1, got 0")
    return n


include "_kernel.pxi"
