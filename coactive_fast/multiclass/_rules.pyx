"""How multiclass learners decide and learn, their engine and its runs (DEFINITIONS 3)."""

import numpy

cimport cython
cimport numpy as np
from libc.math cimport sqrt
from libc.stddef cimport size_t
from libc.string cimport memcpy

from coactive_fast._arrays cimport (
    as_flag, as_label, as_number, data_of, labels_of, new_doubles, new_indices, plain, product_of,
)
from coactive_fast._lock cimport cf_number_get
from coactive_fast._table cimport (
    CF_ENONFINITE, CF_EVALUE, CF_FULL_FAST, CF_FULL_STEEP, CF_OK, cf_change, cf_get_library,
    cf_get_table, cf_library, cf_newton, cf_pad, cf_table,
)

from coactive_fast.learner._engine cimport Engine, RowEngine, Rule
from coactive_fast.learner._run cimport RowRun
from coactive_fast.learner._state cimport State, vector_of
from coactive_fast.metric._forms cimport Lines, Ridges, settled
from coactive_fast.metric._metrics cimport Stored
from coactive_fast.rows._rows cimport Rows, Workspace, place_of, rows_of

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.metric._metrics import Full
from coactive_fast.multiclass._history import MulticlassHistory, regret_of

np.import_array()

cdef const cf_table *K = cf_get_table()
cdef const cf_library *L = cf_get_library()

cdef enum Width:
    CONSTANT
    THEORY
    SELF_NORMALIZED

WIDTHS = {"constant": CONSTANT, "theory": THEORY, "selfnormalized": SELF_NORMALIZED}


# --- rules without a confidence ---------------------------------------------------------------


cdef class LineRule(Rule):
    # The best score, of one weight vector a class.
    cdef Lines lines           # the form

    cdef int use(self, Lines lines) except -1:
        self.form = self.lines = lines
        return 0

    cdef int choose(self, Workspace ws) noexcept nogil:
        self.lines.read_scores(ws)
        ws.greedy = ws.label = K.best_label(self.lines.k, ws.score)
        return CF_OK if ws.label >= 0 else CF_ENONFINITE

    cdef inline int count(self, Workspace ws, int status) noexcept nogil:
        """After an update with this status."""
        if status == CF_OK:
            self.lines.count(ws.row.n)
        return status


cdef void draw(Workspace ws, Py_ssize_t k) noexcept nogil:
    """The first label at which the probabilities in ws.temp so far exceed one uniform draw."""
    cdef double u = ws.rng.next_double(ws.rng.state), reached = 0.0
    cdef Py_ssize_t i
    ws.label = k - 1
    for i in range(k):
        reached += ws.temp[i]
        if reached > u:
            ws.label = i
            return


@cython.final
cdef class Perceptron(LineRule):
    """On a mistake ``w_y += x`` and ``w_chosen -= x``; with `a`, the second-order Perceptron's, also
    ``S += x^2`` for both, a + S being the second values."""

    def __init__(self, Py_ssize_t k, double a=0.0):
        self.use(Lines(k, a, a != 0.0))

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef cf_change change
        cdef int status = CF_OK if ws.is_read else self.choose(ws)
        if status == CF_OK and ws.label != i:
            change.first_class, change.second_class = i, ws.label
            change.first_step, change.second_step = 1.0, -1.0
            status = K.lines_add(&self.lines.core, &ws.row, &change, self.lines.core.second != 0)
        return self.count(ws, status)


@cython.final
cdef class Banditron(LineRule):
    """``w_r += x ([right] [r = label] / p_r - [r = best])``; the choice is drawn."""

    cdef double gamma

    def __init__(self, Py_ssize_t k, double gamma):
        self.gamma, self.draws = gamma, True
        self.use(Lines(k))

    cdef int set_options(self, Rule other) except -1:
        self.gamma = (<Banditron?>other).gamma
        return Rule.set_options(self, other)

    cdef int choose(self, Workspace ws) noexcept nogil:
        cdef Py_ssize_t i, k = self.lines.k
        cdef int status = LineRule.choose(self, ws)
        if status == CF_OK:
            for i in range(k):
                ws.temp[i] = self.probability(ws, i)
            draw(ws, k)
        return status

    cdef double probability(self, Workspace ws, Py_ssize_t label) noexcept nogil:
        cdef double p = self.gamma / self.lines.k
        return p + (1.0 - self.gamma) if label == ws.greedy else p

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef double step = 0.0
        cdef cf_change change
        cdef int status = CF_OK if ws.is_read else LineRule.choose(self, ws)
        if status != CF_OK:
            return status
        if y > 0.0:
            step = 1.0 / self.probability(ws, i)
        change.first_class, change.second_class = ws.greedy, -1
        change.first_step, change.second_step = -1.0, step
        if i == ws.greedy:
            change.first_step += step
        elif y > 0.0:
            change.second_class = i
        return self.count(ws, K.lines_add(&self.lines.core, &ws.row, &change, 0))


@cython.final
cdef class Arow(LineRule):
    """Below margin 1: ``w_y += a Sigma_y x``, ``w_j -= a Sigma_j x``, less variance for both."""

    cdef double r

    def __init__(self, Py_ssize_t k, double r):
        self.r = r
        self.use(Lines(k, 1.0))

    cdef int set_options(self, Rule other) except -1:
        self.r = (<Arow?>other).r
        return Rule.set_options(self, other)

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK if ws.is_read else self.choose(ws)
        return self.count(ws, self.shrink(ws, i) if status == CF_OK else status)

    cdef int shrink(self, Workspace ws, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j, rival = -1
        cdef double margin, V, Vj, unused, beta
        cdef cf_change change
        for j in range(self.lines.k):
            if j != i and (rival < 0 or ws.score[j] > ws.score[rival]):
                rival = j
        margin = ws.score[i] - ws.score[rival]
        if not margin < 1.0:
            return CF_OK
        K.lines_read_one(&self.lines.core, &ws.row, i, &unused, &V)
        K.lines_read_one(&self.lines.core, &ws.row, rival, &unused, &Vj)
        V += Vj
        beta = 1.0 / (V + self.r)
        if not (V - V == 0.0 and margin - margin == 0.0):
            return CF_ENONFINITE
        change.first_class, change.second_class = i, rival
        change.first_step = beta * (1.0 - margin)
        change.second_step = -change.first_step
        return K.lines_shrink(&self.lines.core, &ws.row, &change, beta)


# --- Confidit ---------------------------------------------------------------------------------


@cython.final
cdef class Confidit(Rule):
    """Upper confidence bounds over k ridge regressions, told right or wrong.

    Parameters
    ----------
    ridges : Ridges
        With ridge (1 + alpha)^2.
    alpha, eta, confidence, projection, norm_bound, delta
        Those of DEFINITIONS 3.
    error : float, ndarray or callable
        The approximation error of every round, of round t, or a function of t, t from 1.
    """

    # Ridge regressions of any form, the parameters of DEFINITIONS 3, and what the widths sum up.
    # Theory: q / (1 + q) of the labels learned, and the errors of the rounds so far. These are
    # numbers (`error` times the rounds), sums of an array (`errors`), or what a function has
    # answered. Self-normalised: in `logdets` log det A_i of each class, less its first value.
    cdef Ridges ridges         # the form
    cdef double alpha, eta, norm_bound
    cdef double doubt          # -log delta
    cdef Width width
    cdef bint projection
    cdef double explained
    cdef double error
    cdef np.ndarray errors     # errors[j]: of rounds 1 ... j; or None
    cdef object error_of       # round -> error, or None
    cdef double erred          # what it has answered so far, summed
    cdef np.ndarray logdets    # k; kept up while the width is self-normalised

    def __init__(self, Ridges ridges, *, double alpha, double eta, str confidence,
                 bint projection, double norm_bound, double delta, error):
        self.form = self.ridges = ridges
        self.logdets = <np.ndarray>numpy.zeros(ridges.k)
        self.alpha, self.eta, self.projection = alpha, eta, projection
        self.width = WIDTHS[confidence]
        self.norm_bound, self.doubt = norm_bound, -K.log_one(delta)
        if callable(error):
            self.error_of, self.calls_python = error, True
        elif isinstance(error, numpy.ndarray):
            self.errors = <np.ndarray>numpy.concatenate(([0.0], numpy.cumsum(error)))
        else:
            self.error = error

    cdef int set_options(self, Rule other) except -1:
        """Everything but alpha, which shapes A, and what was learned."""
        cdef Confidit o = <Confidit?>other
        cdef np.ndarray logdets = self.logdets
        if o.width == SELF_NORMALIZED and self.width != SELF_NORMALIZED:
            logdets = <np.ndarray>self.ridges.np_information()
        self.ridges.set_options(o.ridges)
        self.logdets = logdets
        self.eta, self.width, self.projection = o.eta, o.width, o.projection
        self.norm_bound, self.doubt = o.norm_bound, o.doubt
        self.error, self.errors, self.error_of = o.error, o.errors, o.error_of
        self.calls_python = o.calls_python
        return 0

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        cdef Py_ssize_t more = k - self.ridges.k
        logdets = numpy.append(self.logdets, numpy.zeros(more)) if more else self.logdets
        self.ridges.resize(k, d)
        self.logdets = <np.ndarray>logdets
        return 0

    # --- choosing -----------------------------------------------------------------------------

    cdef double error_so_far(self) noexcept nogil:
        """The approximation errors of the rounds so far, summed."""
        if self.error_of is not None:
            return self.erred
        if self.errors is not None:
            return data_of(self.errors)[min(self.ridges.learned,
                                             np.PyArray_DIM(self.errors, 0) - 1)]
        return self.ridges.learned * self.error

    cdef double factor(self) noexcept nogil:
        """f of the width sqrt(f q): eta, or 2 eta_t in round t = learned + 1, with C = 4."""
        if self.width == CONSTANT:
            return self.eta
        return 2.0 * (self.ridges.ridge * self.norm_bound * self.norm_bound / 2.0
                      + 2.0 * self.explained
                      + 36.0 * (K.log_one(self.ridges.learned + 5.0) + self.doubt)
                      + 4.0 * self.error_so_far())

    cdef Py_ssize_t argmax_ucb(self, Workspace ws) noexcept nogil:
        """The label of the best score + width; self-normalised it uses ws.temp."""
        cdef double chance, reach
        cdef Py_ssize_t i, k = self.ridges.k
        if self.width != SELF_NORMALIZED:
            return K.bold_label(k, ws.score, ws.quad, self.factor())
        chance = 2.0 * (K.log_one(<double>k) + self.doubt)
        for i in range(k):
            reach = (sqrt(data_of(self.logdets)[i] + chance)
                     + (1.0 + self.alpha) * self.norm_bound)
            ws.temp[i] = ws.quad[i] * (reach * reach)
        return K.bold_label(k, ws.score, ws.temp, 1.0)

    cdef int choose(self, Workspace ws) noexcept nogil:
        """Steps 1 to 3. A row that is null gets label 0."""
        cdef int status = CF_OK
        ws.greedy = ws.label = 0
        if ws.null:
            return CF_OK
        if not self.projection and self.width != SELF_NORMALIZED:
            status = self.ridges.read_ucb(ws, self.factor())
        else:
            status = self.ridges.read(ws)
            if status == CF_OK and not ws.null:
                status = self.choose_read(ws)
        if ws.null:
            ws.greedy = ws.label = 0
        return status

    cdef int choose_read(self, Workspace ws) noexcept nogil:
        cdef Py_ssize_t k = self.ridges.k
        cdef int status = CF_OK
        if self.projection:
            status = K.project_labels(k, ws.score, ws.quad, self.alpha, ws.coef, ws.temp)
        if status != CF_OK:
            return status
        ws.greedy = K.best_label(k, ws.score)
        ws.label = self.argmax_ucb(ws)
        return CF_OK if ws.greedy >= 0 and ws.label >= 0 else CF_ENONFINITE

    # --- learning -----------------------------------------------------------------------------

    cdef double sign(self, Workspace ws, bint correct) noexcept nogil:
        """beta: the coin is drawn for wrong answers only, and not where it is certain."""
        if correct:
            return 1.0
        if self.alpha == 1.0:
            return -1.0
        return -1.0 if ws.rng.next_double(ws.rng.state) < (1.0 + self.alpha) / 2.0 else 1.0

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef double q, error = 0.0
        cdef int status = CF_OK
        if not ws.is_read:
            if self.projection or ws.null:
                status = self.choose(ws)
            else:
                status = self.ridges.read_one(ws, i)
        if status == CF_OK and self.error_of is not None:
            with gil:
                status = self.ask_error(&error)
        if status == CF_OK and not ws.null:
            status = self.ridges.check_update(ws, i, self.projection)
        if status != CF_OK:
            return status
        if not ws.null:
            q = ws.quad[i]
            if self.width == SELF_NORMALIZED:
                data_of(self.logdets)[i] += self.ridges.information_gain(ws, i)
            self.ridges.step(ws, i, self.sign(ws, y > 0.0), self.projection)
            self.explained += q / (1.0 + q)
        self.erred += error
        self.ridges.count(ws.row.n)
        return CF_OK

    cdef int ask_error(self, double *error) noexcept:
        """The user's function for this round; what it raises is kept for the engine."""
        try:
            error[0] = as_number(self.error_of(self.ridges.learned + 1), "approximation_error(t)")
            if error[0] < 0.0:
                raise ValueError(f"approximation_error(t) must be >= 0, got {error[0]}")
        except BaseException as raised:
            self.raised = raised
            return CF_EVALUE
        return CF_OK

    # --- states ---------------------------------------------------------------------------------

    cdef dict get_state(self):
        found = {**self.ridges.get_state(), "explained": self.explained}
        if self.erred != 0.0:  # which stays where another error replaces a function
            found["erred"] = self.erred
        if self.width == SELF_NORMALIZED:
            found["logdets"] = self.logdets.copy()
        return found

    cdef int set_state(self, State state) except -1:
        cdef double explained = state.number("explained", 0.0)
        self.erred = state.number("erred", 0.0) if state.has("erred") else 0.0
        self.ridges.set_state(state)
        self.explained = explained
        if self.width == SELF_NORMALIZED:
            self.logdets = state.vector("logdets", self.ridges.k)
            if not (<object>self.logdets).min() >= 0.0:
                state.refuse("logdets", ">= 0")
        else:
            self.logdets = <np.ndarray>numpy.zeros(self.ridges.k)
        return 0


# --- Newtron (DEFINITIONS 3): Newton steps on the logistic loss, from right or wrong ----------

cdef double MOST = 1e280       # what one round may add to A
cdef double SAME = 1.0 + 1e-6  # rounding of a length


cdef int refuse_matrix(Py_ssize_t k, Py_ssize_t d) except -1:
    refuse_beyond_limit(14.0 * (<double>k * d) ** 2,
                        f"a full matrix of {k} classes times {d} features",
                        'covariance="diagonal" takes less')
    return 0


cdef double *vectors(Py_ssize_t n) except NULL:
    return new_doubles(1, 5 * cf_pad(n) + max(L.full_scratch(n), L.newton_scratch(n)),
                       f"vectors of {n} weights")


@cython.final
cdef class Newtron(LineRule):
    """The minimiser of ``sum f_s(W) + ||W||^2 / (2 bound)``, f_s the quadratic estimate of a round.

    Parameters
    ----------
    k : int
    alpha, beta, gamma, bound : float
        Those of DEFINITIONS 3.
    whole : bool
        All of A, and W with ``||W|| <= bound``; else the diagonal of A, and W as it comes.
    """

    # A reading leaves the p of the labels in s.q. The lines have W; with diagonals also those of A
    # (W is then the minimiser itself). Whole: `metric` is A over all classes and features, class by
    # class, z the minimiser and W its projection. `held` is its features, 0 while they are not
    # known; classes that were added come into it before the next round is learned.
    cdef double alpha, beta, gamma
    cdef double bound          # of ||W||: A begins as I / bound
    cdef bint whole
    cdef Stored metric         # None while held is 0
    cdef Py_ssize_t held
    cdef double lam            # of the last projection: where the next search begins
    cdef double *memory        # owned; those that follow point into it
    cdef double *z             # cf_pad(k d) each; z and z_next change places
    cdef double *z_next
    cdef double *w_next
    cdef double *g             # zeros but for a moment
    cdef double *v
    cdef double *work

    def __init__(self, Py_ssize_t k, *, double alpha, double beta, double gamma, double bound,
                 bint whole):
        self.alpha, self.beta, self.gamma = alpha, beta, gamma
        self.bound, self.whole, self.draws = bound, whole, True
        self.use(Lines(k, 0.0 if whole else 1.0 / bound))
        self.lines.entry_work = 4.0

    def __dealloc__(self):
        L.free(self.memory)

    cdef int set_options(self, Rule other) except -1:
        """Everything but the bound, which shapes A."""
        cdef Newtron o = <Newtron?>other
        self.alpha, self.beta, self.gamma = o.alpha, o.beta, o.gamma
        return Rule.set_options(self, other)

    cdef int resize(self, Py_ssize_t k, Py_ssize_t d) except -1:
        """The metric grows for classes that were added once a row is learned again."""
        cdef Stored metric
        if self.whole and k == self.lines.k and d:
            if self.held != d:
                refuse_matrix(k, d)
                metric = Full(product_of(k, d, "a matrix"), ridge=1.0 / self.bound,
                              precision="fast")
                self.own_metric(vectors(k * d), metric, d)
            elif self.metric.core.n < k * d:
                self.enlarge()
            self.lines.work = (<double>k * d) ** 2
        return self.lines.resize(k, d)

    cdef void own_metric(self, double *block, Stored metric, Py_ssize_t d) noexcept:
        """A metric over d features and its vectors, whose memory is owned from now on."""
        cdef Py_ssize_t padded = cf_pad(metric.core.n)
        L.free(self.memory)
        self.memory = self.z = block
        self.z_next, self.w_next = block + padded, block + 2 * padded
        self.g, self.v, self.work = block + 3 * padded, block + 4 * padded, block + 5 * padded
        self.metric, self.held = metric, d

    cdef int enlarge(self) except -1:
        """For classes that were added: they stand behind the others, and A has nothing beside its
        diagonal there. O((k d)^3), once for all that came since the last round."""
        cdef Py_ssize_t n = self.metric.core.n, more = self.lines.k * self.held
        cdef double *block
        refuse_matrix(self.lines.k, self.held)
        matrix = numpy.zeros((more, more))
        numpy.fill_diagonal(matrix, 1.0 / self.bound)
        matrix[:n, :n] = self.metric.matrix()
        metric = Full.from_matrix(matrix, 1.0 / self.bound, precision="fast")
        block = vectors(more)
        memcpy(block, self.z, <size_t>n * sizeof(double))
        self.own_metric(block, <Stored>metric, self.held)
        return 0

    # --- reading ------------------------------------------------------------------------------

    cdef int choose(self, Workspace ws) noexcept nogil:
        cdef Py_ssize_t i, k = self.lines.k
        cdef int status = self.read(ws)
        if status == CF_OK:
            for i in range(k):
                ws.temp[i] = self.probability(ws, i)
            draw(ws, k)
        return status

    cdef int read(self, Workspace ws) noexcept nogil:
        """The scores, the best label, and the p of the labels in ws.quad."""
        cdef double top, sum = 0.0
        cdef Py_ssize_t i, k = self.lines.k
        cdef int status = LineRule.choose(self, ws)
        if status != CF_OK:
            return status
        top = ws.score[ws.greedy]
        for i in range(k):
            ws.quad[i] = self.alpha * (ws.score[i] - top)
        K.exp_many(k, ws.quad, ws.quad)
        for i in range(k):
            sum += ws.quad[i]
        for i in range(k):
            ws.quad[i] /= sum
        return CF_OK

    cdef double probability(self, Workspace ws, Py_ssize_t label) noexcept nogil:
        """That with which a label is chosen."""
        return (1.0 - self.gamma) * ws.quad[label] + self.gamma / self.lines.k

    # --- learning -----------------------------------------------------------------------------

    cdef int learn(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        cdef int status = CF_OK if ws.is_read else self.read(ws)
        return self.count(ws, self.step(ws, i, y) if status == CF_OK else status)

    cdef int step(self, Workspace ws, Py_ssize_t i, double y) noexcept nogil:
        """The gradient is estimated as c (x) x, ``c = slope (e_i - 1/k)``."""
        cdef double p = self.probability(ws, i), curve = self.beta, slope = ws.quad[i] / p, size
        cdef Py_ssize_t j
        cdef int status = CF_OK
        if y > 0.0:
            slope, curve = (ws.quad[i] - 1.0) / p, self.beta * p
        for j in range(self.lines.k):
            ws.coef[j] = -slope / self.lines.k
        ws.coef[i] += slope
        size = slope * slope * K.ridge_square(&ws.row)
        if not (size <= MOST and curve * size <= MOST and self.bound * size <= MOST):
            return CF_ENONFINITE
        if self.whole and curve * size * self.bound > CF_FULL_STEEP:
            with gil:
                return self.refuse_steep()
        if size > 0.0:
            status = self.along_all(ws, curve) if self.whole else self.along_lines(ws, curve)
        return status

    cdef int refuse_steep(self) noexcept:
        """The classes share each gradient, with opposite signs: what separates them is lost in the
        digits of a large one, in every form of A."""
        self.raised = ValueError(
            "x is too large: with covariance=\"full\" the columns must be scaled, such that beta "
            f"norm_bound g.g of a gradient g is at most {CF_FULL_STEEP:g}")
        return CF_EVALUE

    cdef int along_lines(self, Workspace ws, double curve) noexcept nogil:
        """``a += curve g^2``, ``w -= g / a``, each weight by itself."""
        cdef double g, x
        cdef double *w
        cdef double *a
        cdef Py_ssize_t e, j
        for e in range(ws.row.nnz):
            w = self.lines.core.data + place_of(&ws.row, e) * self.lines.core.stride
            a, x = w + self.lines.core.second, ws.row.value[e]
            for j in range(self.lines.k):
                g = ws.coef[j] * x
                a[j] += curve * (g * g)
                w[j] -= g / a[j]
        return CF_OK

    cdef int along_all(self, Workspace ws, double curve) noexcept nogil:
        """The same with all of A, and W the projection of z."""
        cdef Py_ssize_t d = ws.row.n, e, f, j
        cdef int status
        for e in range(ws.row.nnz):
            f = place_of(&ws.row, e)
            for j in range(self.lines.k):
                self.g[j * d + f] = ws.coef[j] * ws.row.value[e]
        status = self.newton(curve)
        for e in range(ws.row.nnz):
            f = place_of(&ws.row, e)
            for j in range(self.lines.k):
                self.g[j * d + f] = 0.0
        if status != CF_OK:
            return status
        self.z, self.z_next = self.z_next, self.z
        for j in range(self.lines.k):
            for f in range(d):
                self.lines.core.data[f * self.lines.core.stride + j] = self.w_next[j * d + f]
        return CF_OK

    cdef int newton(self, double curve) noexcept nogil:
        """z_next and w_next, and A by ``curve g g^T``: all or nothing. In one minimisation ``z +=
        A^-1 g (curve g.(W - z) - 1)``; the metric is read twice, once for z and once for W."""
        cdef cf_newton move
        cdef double q, ahead = -1.0, lam = self.lam
        cdef Py_ssize_t n = self.metric.core.n, d = self.held, f, j
        cdef int status = L.full_propose(&self.metric.core, K, self.g, curve, self.work, self.v, &q)
        if status != CF_OK:
            return status
        for j in range(self.lines.k):
            for f in range(d):
                ahead += curve * (self.g[j * d + f] * (
                    self.lines.core.data[f * self.lines.core.stride + j] - self.z[j * d + f]))
        move.c, move.gain, move.radius, move.limit = curve, ahead, self.bound, self.bound
        memcpy(self.z_next, self.z, <size_t>n * sizeof(double))
        K.axpy(n, ahead / (1.0 + curve * q), self.v, self.z_next)
        if not K.all_finite(n, self.z_next):
            return CF_ENONFINITE
        status = L.newton_ball(&self.metric.core, K, &move, self.g, self.z, self.w_next, &lam,
                               self.work)
        self.lam = lam if status == CF_OK else self.lam
        return status

    # --- states ---------------------------------------------------------------------------------

    cdef dict get_state(self):
        cdef dict found = self.lines.get_state()
        if self.metric is not None and self.lines.d:
            found["metric"], found["lam"] = settled(self.metric), self.lam
            found["z"] = vector_of(self.z, self.metric.core.n)
        return found

    cdef int set_state(self, State state) except -1:
        cdef State part
        cdef Stored metric
        cdef Py_ssize_t n = 0, d
        if self.whole and state.count("d"):  # the metric vouches for memory before it is taken
            d = state.count("d")
            part = state.part("metric")
            n = part.count("n", d, product_of(state.count("k", 1), d, "a matrix"))
            part.count("updates", 0, state.count("rounds"))
            metric = <Stored?>Full.from_state(part.given)
            if n % d:
                state.refuse("metric", "over whole classes")
            metric._ask_for(CF_FULL_FAST)
            self.own_metric(vectors(n), metric, d)
            state.load("z", n, self.z)
        self.lines.set_state(state)
        if n == 0:
            return 0
        self.lam = state.number("lam", 0.0)
        if not numpy.linalg.norm(self.lines.np_weights()) <= SAME * self.bound:
            state.refuse("weights", f"not longer than norm_bound = {self.bound:g}")
        return 0


# --- the engine -------------------------------------------------------------------------------


cdef class MulticlassEngine(RowEngine):
    """The engine of the multiclass learners, and their base class."""

    @property
    def _pruning(self):
        """Whether full matrices of classes that cannot win are left alone: the choices are the
        same either way."""
        return isinstance(self.rule, Confidit) and (<Confidit>self.rule).ridges.bounded

    @_pruning.setter
    def _pruning(self, bint value):
        (<Confidit?>self.rule).ridges.bounded = value

    # --- one round ----------------------------------------------------------------------------

    def choose(self, x):
        """The label for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            Also a table of one row; float32 and any strides are read without a copy of more
            than the row.

        Returns
        -------
        int
            0 ... K-1, ties to the lower one.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Confidit(3).choose([1.0, 0.0])
        0
        """
        return self.choose_row(x)

    cdef inline Py_ssize_t label_of(self, object label, str name) except -1:
        self.lock.check_open()
        return as_label(label, name, cf_number_get(&self.answers) == 2)

    # --- many rows ----------------------------------------------------------------------------

    def _scores(self, X):
        """The score of every class for every row."""
        return self.scores(rows_of(X, "X"))

    def _best(self, X):
        """The first of the best scores of each row."""
        cdef np.ndarray scores = self.scores(rows_of(X, "X")), out
        cdef Py_ssize_t n = np.PyArray_DIM(scores, 0), k = np.PyArray_DIM(scores, 1), t
        out = new_indices(n)
        for t in range(n):
            (<Py_ssize_t *>np.PyArray_DATA(out))[t] = first_best(k, data_of(scores) + t * k)
        return out


cdef Py_ssize_t first_best(Py_ssize_t k, const double *m) noexcept nogil:
    """Of k numbers without padding, which `best_label` would read."""
    cdef Py_ssize_t i, best = 0
    for i in range(1, k):
        if m[i] > m[best]:
            best = i
    return best


cdef class BanditFeedback(MulticlassEngine):
    def learn(self, x, label, correct):
        """One round: `label` was right or wrong for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        label : int
            It need not be that of `choose`.
        correct : bool
            Whether that label was right; 1 and 0 or 1 and -1 stand for it as well.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(3)
        >>> learner.learn([1.0, 0.0], 2, True)
        >>> learner.predict([[1.0, 0.0]])
        array([2])
        """
        cdef Py_ssize_t i = self.label_of(label, "label")
        self.learn_row(x, i, 1.0 if as_flag(correct, "correct") else -1.0, 1.0, "label")


cdef class LabelFeedback(MulticlassEngine):
    def learn(self, x, y):
        """One round: y is the right label of x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : int
            From 0 to K - 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassAROW(3)
        >>> learner.learn([1.0, 0.0], 2)
        >>> learner.choose([1.0, 0.0])
        2
        """
        cdef Py_ssize_t i = self.label_of(y, "y")
        self.learn_row(x, i, 1.0, 1.0, "y")


# --- whole streams ----------------------------------------------------------------------------


cdef np.ndarray chances_of(object chances, Py_ssize_t n, Py_ssize_t k):
    """The chances of k labels for each of n rows: a table of float64 of its own."""
    given = (<object>plain(chances, "chances")).astype(numpy.float64, order="C")
    if given.shape != (n, k):
        raise ValueError(f"chances must have shape {(n, k)}, a row for each of X and a column for "
                         f"each label, got {given.shape}")
    if not (numpy.isfinite(given) & (given >= 0.0)).all():
        raise ValueError("chances must be finite and >= 0")
    return <np.ndarray>given


@cython.final
cdef class MulticlassRun(RowRun):
    """Chooses and learns, row after row.

    Parameters
    ----------
    X, y
        The rows and their labels.
    k : int
        Labels there may be.
    epochs : callable(n) -> int
        How many times the n rows are gone through.
    noisy : callable(labels) -> labels
    chances : array_like of shape (n, k), optional
        Of each label for each row, where they are known.
    """

    cdef np.ndarray labels, choices, mistakes, explored
    cdef np.ndarray chances    # of each label for each row, or None: for the history alone
    cdef Py_ssize_t top        # the largest label, -1 where there is none
    cdef bint bandit

    def __init__(self, X, y, Py_ssize_t k, epochs, noisy, chances):
        cdef Rows rows = rows_of(X, "X")
        self.labels = noisy(labels_of(y, "y", rows.n, k, k == 2))
        if chances is not None:
            self.chances = chances_of(chances, rows.n, k)
        self.top = self.labels.max() if rows.n else -1
        self.set_rows(rows, epochs(rows.n), True)
        self.choices = new_indices(self.total)
        self.mistakes = <np.ndarray>numpy.empty(self.total, dtype=bool)
        self.explored = <np.ndarray>numpy.empty(self.total, dtype=bool)

    def history(self):
        return MulticlassHistory(mistakes=self.mistakes[:self.done],
                                 explored=self.explored[:self.done],
                                 choices=self.choices[:self.done],
                                 regret=regret_of(self.choices[:self.done], self.chances))

    cdef int begin(self, Engine given) except -1:
        cdef MulticlassEngine engine = <MulticlassEngine>given
        if self.top >= engine.form.k:
            raise ValueError(f"y must hold labels in 0 ... {engine.form.k - 1}, got {self.top}: "
                             "the learner has lost classes during the run")
        self.bandit = isinstance(engine, BanditFeedback)
        return RowRun.begin(self, engine)

    cdef int several(self, Engine engine, Py_ssize_t until) noexcept nogil:
        return self.play(self.rule, self.ws, until)

    cdef inline int play(self, Rule rule, Workspace ws, Py_ssize_t until) noexcept nogil:
        cdef int status = CF_OK
        while self.done < until and status == CF_OK:
            status = self.one(rule, ws)
            self.done += status == CF_OK
        return status

    cdef inline int one(self, Rule rule, Workspace ws) noexcept nogil:
        cdef Py_ssize_t label
        cdef Py_ssize_t right = (<const Py_ssize_t *>np.PyArray_DATA(self.labels))[
            self.done % self.rows.n]
        cdef int status = self.read_row(rule.form, ws)
        if status == CF_OK:
            status = rule.choose(ws)
        if status != CF_OK:
            return status
        label = ws.label
        status = rule.learn(ws, label if self.bandit else right, 1.0 if label == right else -1.0)
        if status == CF_OK:
            (<Py_ssize_t *>np.PyArray_DATA(self.choices))[self.done] = label
            (<char *>np.PyArray_DATA(self.mistakes))[self.done] = label != right
            (<char *>np.PyArray_DATA(self.explored))[self.done] = label != ws.greedy
        return status
