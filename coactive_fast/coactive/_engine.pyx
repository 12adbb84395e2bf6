"""The engine of the coactive family; see _engine.pxd."""

import numpy

cimport numpy as np
from libc.stddef cimport size_t
from libc.string cimport memcpy, memset

from coactive_fast._arrays cimport (
    as_count, as_rows, as_vector, data_of, is_plain_vector, new_indices, new_vector, refuse, refuse_non_finite,
    row_stride, take_scratch,
)
from coactive_fast._table cimport (
    CF_OK, cf_candidate, cf_get_library, cf_get_table, cf_library, cf_pad, cf_table,
    cf_top_k_scratch,
)
from coactive_fast.coactive._rules cimport Custom, Rule
from coactive_fast.learner._engine cimport Engine

from coactive_fast.coactive._tasks import Items, Ranking

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum:
    BUSY = 1 << 15  # values read from which the GIL is let go: some microseconds


# --- arguments --------------------------------------------------------------------------------


cdef np.ndarray indices_of(object value, str name):
    """One-dimensional contiguous intp."""
    cdef np.ndarray a
    if type(value) is np.ndarray:
        a = <np.ndarray>value
        if np.PyArray_NDIM(a) == 1 and np.PyArray_TYPE(a) == np.NPY_INTP \
                and np.PyArray_ISCARRAY_RO(a):
            return a
    try:
        given = numpy.asarray(value)
    except (ValueError, TypeError) as error:
        raise TypeError(f"{name} must be a sequence of indices: {error}") from None
    if given.ndim != 1:
        raise ValueError(f"{name} must have 1 dimension, got shape {given.shape}")
    if given.size == 0:
        given = given.astype(numpy.intp)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers, got dtype {given.dtype}")
    if given.dtype.kind == "u" and (given > numpy.iinfo(numpy.intp).max).any():
        raise ValueError(f"{name} must hold indices, got {given.max()}")
    return <np.ndarray>numpy.ascontiguousarray(given, dtype=numpy.intp)


cdef int refuse_index(Py_ssize_t got, str name, Py_ssize_t n, str of) except -1:
    raise ValueError(f"{name} must be in 0 ... {n - 1} ({n} {of}), got {got}")


cdef np.ndarray ranking_of(object value, str name, Py_ssize_t n):
    """Different documents out of n: the whole ordering or its first places."""
    cdef np.ndarray a = indices_of(value, name)
    cdef Py_ssize_t m = np.PyArray_DIM(a, 0), i
    cdef const Py_ssize_t *y = <const Py_ssize_t *>np.PyArray_DATA(a)
    cdef unsigned char few[256]
    cdef unsigned char *seen = few
    cdef Py_ssize_t wrong = -1
    cdef bint again = False
    if m == 0:
        raise ValueError(f"{name} must list at least one document")
    if n > 256:
        seen = <unsigned char *>take_scratch(n, 1)
    memset(seen, 0, <size_t>n)
    for i in range(m):
        if not 0 <= y[i] < n:
            wrong = y[i]
            break
        if seen[y[i]]:
            wrong = y[i]
            again = True
            break
        seen[y[i]] = 1
    else:
        wrong = -1
        i = m
    if seen != few:
        L.free(seen)
    if i < m:
        if again:
            raise ValueError(f"{name} must list each document once, {wrong} is repeated")
        refuse_index(wrong, name, n, "documents")
    return a


cdef np.ndarray row_of(object value, str name):
    """One row of numbers: a vector, a matrix of one row, or a sparse one."""
    cdef object shape
    if not isinstance(value, np.ndarray) and hasattr(value, "toarray") and hasattr(value, "nnz"):
        value = value.toarray()
    if not is_plain_vector(value):
        shape = numpy.shape(value)
        if len(shape) == 2 and shape[0] == 1:
            value = numpy.asarray(value)[0]
    return as_vector(value, name)


cdef np.ndarray documents_of(object x):
    """The matrix of a query's documents: at least one, with at least one feature."""
    cdef np.ndarray a
    if not isinstance(x, np.ndarray) and hasattr(x, "toarray") and hasattr(x, "nnz"):
        x = x.toarray()
    a = as_rows(x, "x")
    if np.PyArray_DIM(a, 0) == 0 or np.PyArray_DIM(a, 1) == 0:
        raise ValueError("x must have at least one document and one feature, got shape "
                         f"{(<object>a).shape}")
    return a


cdef bint is_float32(np.ndarray a):
    return np.PyArray_TYPE(a) == np.NPY_FLOAT


cdef bint rows_finite(np.ndarray a) noexcept:
    cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1), stride = row_stride(a), i
    cdef bint floats = np.PyArray_TYPE(a) == np.NPY_FLOAT
    if stride == d:
        d, n = n * d, 1
    for i in range(n):
        if floats:
            if not K.all_finite_f32(d, <const float *>np.PyArray_DATA(a) + i * stride):
                return False
        elif not K.all_finite(d, data_of(a) + i * stride):
            return False
    return True


cdef void scores_of(np.ndarray a, const double *w, double *out) noexcept nogil:
    cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1), stride = row_stride(a)
    if np.PyArray_TYPE(a) == np.NPY_FLOAT:
        K.scores_f32(n, d, <const float *>np.PyArray_DATA(a), stride, w, out)
    else:
        K.scores(n, d, data_of(a), stride, w, out)


def item_utilities(np.ndarray items, np.ndarray weights):
    """The scores of all items by the weights of one user."""
    cdef np.ndarray out = new_vector(np.PyArray_DIM(items, 0))
    scores_of(items, data_of(weights), data_of(out))
    if not K.all_finite(np.PyArray_DIM(out, 0), data_of(out)):
        raise ValueError("weights give utilities that overflow")
    return out


cdef void change(Bench b, Py_ssize_t m, const void *rows, bint floats,
                 Py_ssize_t stride) noexcept nogil:
    """delta += sum of weight (x_plus - x_minus)"""
    if floats:
        K.change_of_features_f32(m, b.n, <const float *>rows, stride, b.plus, b.minus, b.weight,
                                 b.delta)
    else:
        K.change_of_features(m, b.n, <const double *>rows, stride, b.plus, b.minus, b.weight,
                             b.delta)


cdef void places(Bench b, Py_ssize_t first, Py_ssize_t last, const ptrdiff_t *ranking, double a,
                 const void *rows, bint floats, Py_ssize_t stride) noexcept nogil:
    """delta += a times the features of some places of a ranking"""
    if floats:
        K.features_f32(last - first, b.n, <const float *>rows, stride, ranking + first, a,
                       b.discount + first, b.delta)
    else:
        K.features(last - first, b.n, <const double *>rows, stride, ranking + first, a,
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
                        const ptrdiff_t *better, const void *rows, bint floats,
                        Py_ssize_t stride) noexcept nogil:
    """delta = phi(better) - phi(presented), of q and p places; place by place, so that equal
    documents that changed places leave nothing behind."""
    cdef Py_ssize_t both = min(p, q), m = changed_places(b, both, presented, better)
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, m, rows, floats, stride)
    if p != q:
        places(b, both, q, better, 1.0, rows, floats, stride)
        places(b, both, p, presented, -1.0, rows, floats, stride)


cdef void item_delta(Bench b, ptrdiff_t presented, ptrdiff_t better, const void *rows,
                     bint floats) noexcept nogil:
    """delta = x_better - x_presented"""
    b.plus[0] = better
    b.minus[0] = presented
    b.weight[0] = 1.0
    memset(b.delta, 0, <size_t>b.n * sizeof(double))
    change(b, better != presented, rows, floats, b.n)


# --- scratch ----------------------------------------------------------------------------------


cdef class Bench:
    def __dealloc__(self):
        self.drop()

    cdef void drop(self) noexcept:
        L.free(self.score)
        L.free(self.utility)
        L.free(self.place)
        L.free(self.presented)
        L.free(self.better)
        L.free(self.plus)
        L.free(self.minus)
        L.free(self.weight)
        L.free(self.discount)
        L.free(self.delta)
        L.free(self.sorting)
        L.free(self.drawn)
        self.score = self.utility = self.weight = self.discount = self.delta = NULL
        self.place = self.presented = self.better = NULL
        self.plus = self.minus = NULL
        self.sorting = NULL
        self.drawn = NULL
        self.docs = self.n = self.places = 0

    cdef int fit(self, Py_ssize_t docs, Py_ssize_t n, Py_ssize_t places) except -1:
        """Room for so many documents, features and places (in all at most `docs`)."""
        if places > docs:
            places = docs
        if docs <= self.docs and n == self.n and places <= self.places:
            return 0
        docs, places = max(docs, self.docs), max(places, self.places)
        self.drop()
        self.score = <double *>take_scratch(docs, sizeof(double))
        self.utility = <double *>take_scratch(docs, sizeof(double))
        self.place = <ptrdiff_t *>L.alloc_zero(<size_t>docs, sizeof(ptrdiff_t))
        self.presented = <ptrdiff_t *>take_scratch(places, sizeof(ptrdiff_t))
        self.better = <ptrdiff_t *>take_scratch(places, sizeof(ptrdiff_t))
        self.plus = <ptrdiff_t *>take_scratch(places, sizeof(ptrdiff_t))
        self.minus = <ptrdiff_t *>take_scratch(places, sizeof(ptrdiff_t))
        self.weight = <double *>take_scratch(places, sizeof(double))
        self.discount = <double *>take_scratch(places, sizeof(double))
        self.delta = <double *>L.alloc_zero(<size_t>cf_pad(n), sizeof(double))
        self.sorting = take_scratch(max(cf_top_k_scratch(docs, places), 2 * places + 8),
                                    sizeof(cf_candidate))
        self.drawn = <ptrdiff_t *>take_scratch(5 * docs, sizeof(ptrdiff_t))
        if self.place == NULL or self.delta == NULL:
            raise MemoryError(f"scratch for {docs} documents")
        K.discounts(places, self.discount)
        self.docs, self.n, self.places = docs, n, places
        return 0


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
        self.make = make
        self.rule = make()
        self.task = task
        self.bench = Bench()
        if isinstance(task, Ranking):
            self.kind = RANKING
            self.k = task.k
        elif isinstance(task, Items):
            self.kind = ITEMS
            self.items = task.features
            self.rule.start(task.dimension)
        else:
            self.kind = OWN
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
            self.rule.start(n)

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

    def state(self):
        self.guard.begin_read()
        try:
            return self.rule.state()
        finally:
            self.guard.end_read()

    def restore(self, state):
        cdef Rule rule = self.make()
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        try:
            rule.restore(state)
        except KeyError as error:
            raise ValueError(f"state must hold {error}") from None
        if self.kind != RANKING and rule.n != self.rule.n:
            raise ValueError(f"state has {rule.n} features, but task has {self.rule.n}")
        self.guard.settle_write()
        self.rule = rule

    def reset(self):
        cdef Rule rule = self.make()
        if self.kind != RANKING:
            rule.start(self.rule.n)
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
        self.guard.settle_read()
        out = new_vector(0 if mean and self.rule.rounds == 0 else self.rule.n)
        if np.PyArray_DIM(out, 0):
            memcpy(data_of(out), self.rule.mean if mean else self.rule.w,
                   <size_t>self.rule.n * sizeof(double))
        return out

    def present(self, x, k=None):
        """The best object of context x by the present weights."""
        if self.kind == RANKING:
            return self.rank(x, k)
        if k is not None:
            raise ValueError("k goes with a Ranking task only")
        if self.kind == ITEMS:
            return self.best_item(x)
        return self.task.argmax(self.weights, x)

    cdef object scores_under_lock(self, np.ndarray a):
        """Scores of rows; before the first round all weights are alike."""
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1)
        cdef np.ndarray out = new_vector(n), first
        cdef double *to = data_of(out)
        cdef const double *w
        self.guard.settle_read()
        if self.rule.n == 0:
            self.rule.n = d  # what initial() may need
            first = <np.ndarray>numpy.full(d, self.rule.initial())
            self.rule.n = 0
            scores_of(a, data_of(first), to)
        else:
            if d != self.rule.n:
                self.refuse_dimension(d, "x")
            w = self.rule.w
            if n * d < BUSY:
                scores_of(a, w, to)
            else:
                self.guard.begin_read()
                with nogil:
                    scores_of(a, w, to)
                self.guard.end_read()
        if not K.all_finite(n, to):  # so does any NaN or infinity in x
            refuse_non_finite(a, "x")
            raise ValueError("x gives scores that overflow")
        return out

    cdef object rank(self, x, k):
        cdef np.ndarray a = documents_of(x), score, out
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0)
        cdef Py_ssize_t wanted = n if k is None else as_count(k, "k")
        cdef void *scratch
        score = <np.ndarray>self.scores_under_lock(a)
        wanted = min(wanted, n)
        out = new_indices(wanted)
        scratch = take_scratch(cf_top_k_scratch(n, wanted), sizeof(cf_candidate))
        K.top_k(n, data_of(score), wanted, <ptrdiff_t *>np.PyArray_DATA(out),
                <cf_candidate *>scratch)
        L.free(scratch)
        return out

    cdef np.ndarray candidates(self, x):
        """The candidates' indices; None stays None: all."""
        cdef np.ndarray a
        cdef Py_ssize_t i, m, n = np.PyArray_DIM(self.items, 0)
        cdef const Py_ssize_t *c
        if x is None:
            return None
        a = indices_of(x, "x")
        m = np.PyArray_DIM(a, 0)
        c = <const Py_ssize_t *>np.PyArray_DATA(a)
        if m == 0:
            raise ValueError("x must hold at least one candidate")
        for i in range(m):
            if not 0 <= c[i] < n:
                refuse_index(c[i], "x", n, "items")
        return a

    cdef object best_item(self, x):
        cdef np.ndarray c = self.candidates(x)
        cdef np.ndarray score = <np.ndarray>self.item_scores(c)
        cdef ptrdiff_t best
        if c is None:
            K.top_k(np.PyArray_DIM(score, 0), data_of(score), 1, &best, NULL)
            return best
        # ties go to the lower item, wherever it stands among the candidates
        top = score.max()
        return int(c[score == top].min())

    cdef object item_scores(self, np.ndarray c):
        if c is None:
            return self.scores_under_lock(self.items)
        return self.scores_under_lock(<np.ndarray>self.items[c])

    def scores(self, x):
        """Scores of a query's documents or of candidates."""
        if self.kind == RANKING:
            return self.scores_under_lock(documents_of(x))
        if self.kind == ITEMS:
            return self.item_scores(self.candidates(x))
        if not hasattr(self.task, "scores"):
            raise TypeError(f"task must have scores(w, x) for this; {self.task!r} has not")
        return self.task.scores(self.weights, x)

    # --- changing ---------------------------------------------------------------------------

    cdef int refuse_dimension(self, Py_ssize_t n, str what) except -1:
        raise ValueError(f"{what} must have {self.rule.n} features, as what was learned before, "
                         f"got {n}")

    cdef int know(self, Py_ssize_t n, str what) except -1:
        """The dimension is n from now on, or was before."""
        if self.rule.n == 0:
            self.rule.start(n)
        elif n != self.rule.n:
            self.refuse_dimension(n, what)
        return 0

    cdef int step(self, const double *delta, str what) except -1:
        """One round; other threads are kept out where the GIL may change hands."""
        cdef int status
        if self.rule.n * self.rule.n < BUSY and self.rule.compiled:
            status = self.rule.step(delta)
        else:
            self.guard.begin_write()
            try:
                with nogil:
                    status = self.rule.step(delta)
            finally:
                self.guard.end_write()
        if status != CF_OK:
            if isinstance(self.rule, Custom) and (<Custom>self.rule).error is not None:
                error, (<Custom>self.rule).error = (<Custom>self.rule).error, None
                raise error
            refuse(status, what)
        return 0

    def learn(self, x, y, better):
        """One round: the user improved y to `better`."""
        if self.kind == RANKING:
            self.learn_ranking(x, y, better)
        elif self.kind == ITEMS:
            self.learn_item(x, y, better)
        else:
            own = self.task.features
            shown = row_of(own(x, y), "task.features(x, y)")
            self.update(numpy.subtract(row_of(own(x, better), "task.features(x, better)"),
                                       shown))

    cdef int learn_ranking(self, x, y, better) except -1:
        cdef np.ndarray a = documents_of(x)
        cdef Py_ssize_t n = np.PyArray_DIM(a, 0), d = np.PyArray_DIM(a, 1)
        cdef np.ndarray shown = ranking_of(y, "y", n), wanted = ranking_of(better, "better", n)
        cdef Bench b = self.bench
        if not rows_finite(a):
            refuse_non_finite(a, "x")
        self.guard.settle_write()
        if self.rule.n and d != self.rule.n:
            self.refuse_dimension(d, "x")
        b.fit(n, d, self.k)
        ranking_delta(b, min(np.PyArray_DIM(shown, 0), self.k),
                      <const ptrdiff_t *>np.PyArray_DATA(shown),
                      min(np.PyArray_DIM(wanted, 0), self.k),
                      <const ptrdiff_t *>np.PyArray_DATA(wanted),
                      np.PyArray_DATA(a), is_float32(a), row_stride(a))
        if not K.all_finite(d, b.delta):
            raise ValueError("x gives a step that overflows")
        return self.first_step(d, "x")

    cdef int first_step(self, Py_ssize_t d, str what) except -1:
        """The step by the bench's delta; a dimension that it brings is forgotten if it fails."""
        cdef bint unknown = self.rule.n == 0
        self.know(d, what)
        try:
            self.step(self.bench.delta, what)
        except BaseException:
            if unknown:
                self.rule = self.make()
            raise
        return 0

    cdef int learn_item(self, x, y, better) except -1:
        cdef np.ndarray c = self.candidates(x)
        cdef Py_ssize_t n = np.PyArray_DIM(self.items, 0), i, j
        cdef Bench b = self.bench
        i, j = as_count(y, "y"), as_count(better, "better")
        if i >= n:
            refuse_index(i, "y", n, "items")
        if j >= n:
            refuse_index(j, "better", n, "items")
        if c is not None:
            for name, item in (("y", i), ("better", j)):
                if not (c == item).any():
                    raise ValueError(f"{name} must be one of the candidates in x, {item} is not")
        self.guard.settle_write()
        b.fit(1, self.rule.n, 1)
        item_delta(b, i, j, np.PyArray_DATA(self.items), is_float32(self.items))
        return self.step(b.delta, "the round")

    def update(self, delta):
        """One round with Delta itself."""
        cdef np.ndarray v = row_of(delta, "delta")
        cdef Py_ssize_t n = np.PyArray_DIM(v, 0)
        cdef Bench b = self.bench
        if n == 0:
            raise ValueError("delta must have at least one feature")
        if not K.all_finite(n, data_of(v)):
            refuse_non_finite(v, "delta")
        self.guard.settle_write()
        if self.rule.n and n != self.rule.n:
            self.refuse_dimension(n, "delta")
        b.fit(1, n, 1)
        memcpy(b.delta, data_of(v), <size_t>n * sizeof(double))
        self.first_step(n, "delta")
