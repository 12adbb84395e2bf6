"""Slow twin of Confidit: multiclass learning from right or wrong with upper confidence bounds."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Kernel, Real, RowsLike, Seed, Vector

from . import _check as check
from ._ridge import COVARIANCES, fresh, kernel_of
from .multiclass_shell import MulticlassLearner
from .projections import project_scores

CONFIDENCES = ("constant", "theory", "selfnormalized")


class Confidit(MulticlassLearner):
    """One ridge regression a class; the parameters are those of `coactive_fast.Confidit`.

    Notes
    -----
    Every matrix is solved with afresh. At the start ``A_i = (1 + alpha)^2 I`` and ``w_i = 0``.
    A round is:

    1. ``v_i = A_i^-1 x``, ``q_i = x.v_i``, ``m_i = w_i.x``.
    2. With projection ``w_i += c_i v_i`` for every class, such that the new ``m_i + alpha`` are
       the projection of the old ones onto ``{v >= 0, sum v = 1 + alpha}`` with weights q_i. In
       the kernel form x joins the rows of every w_i then, but of no A_i.
    3. ``label = argmax_i m_i + eps_i``, ties to the lower one, where ``eps_i^2`` is ``eta q_i``
       (constant), ``2 q_i eta_t`` (theory), or, self-normalised, ``q_i (sqrt(log(det A_i / det
       (first A_i)) + 2 log(K / delta)) + (1 + alpha) ||u||)^2``. In round t, with C = 4::

           eta_t = (1 + alpha)^2 ||U||^2 / 2 + (C / 2) sum_{s < t} q_s / (1 + q_s)
                   + 9 C log((t + 4) / delta) + C sum_{s < t} error_s

       where q_s is that of the label learned in round s, in its matrix before that round, and
       error_s the approximation error of round s: a number for all rounds, entry s - 1 of an
       array (0 beyond its end), or what a callable says of s; it is asked once, as round s ends.
    4. Right: ``beta = 1``. Wrong: ``beta = -1`` with probability ``(1 + alpha) / 2``, else 1. With
       ``alpha = 1`` and for right answers no coin is drawn.
    5. For the class of the label alone: ``A += x x^T``, ``w += A^-1 x (beta - w.x)``.

    `choose` does steps 1 to 3 and changes nothing; `learn` does all but the choice. A row that is
    null (in the feature space of the kernel) gets label 0 and only counts as a round.
    `decision_function` and `predict` use the ``w_i.x`` as they are, without projection.

    Differs: no `max_features`, and no `health`.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> learner = reference.Confidit(3)
    >>> learner.choose([1.0, 0.0])
    0
    >>> learner.learn([1.0, 0.0], 0, False)
    >>> learner.choose([1.0, 0.0])
    1
    >>> learner.weights
    array([[-0.2,  0. ],
           [ 0. ,  0. ],
           [ 0. ,  0. ]])
    """

    _full_information = False

    def __init__(self, n_classes: SupportsIndex, *,
                 covariance: Literal["diagonal", "full", "kernel"] = "diagonal",
                 confidence: Literal["constant", "theory", "selfnormalized"] = "constant",
                 eta: Real = 1.0, alpha: Real = 1.0, projection: bool = False,
                 norm_bound: Real = 1.0, delta: Real = 0.05,
                 approximation_error: ArrayLike | Callable[[int], float] = 0.0,
                 diagonal_step: Literal["residual", "printed"] = "residual",
                 normalize: bool = False, kernel: Kernel = "linear",
                 kernel_params: Mapping[str, Any] | None = None, seed: Seed = None) -> None:
        self.covariance = check.choice("covariance", covariance, COVARIANCES)
        self.confidence = check.choice("confidence", confidence, CONFIDENCES)
        self.eta = check.positive("eta", eta)
        self.alpha = check.within("alpha", alpha, "(-1, 1]")
        self.projection = check.flag("projection", projection)
        self.norm_bound = check.within("norm_bound", norm_bound, "[0, inf)")
        self.delta = check.within("delta", delta, "(0, 1)")
        self.approximation_error = _errors(approximation_error)
        self.diagonal_step = check.choice("diagonal_step", diagonal_step, ("residual", "printed"))
        self.normalize = check.flag("normalize", normalize)
        self.kernel, self.kernel_params = kernel, kernel_params
        self._kernel = kernel_of(covariance, kernel, kernel_params)
        super().__init__(n_classes, seed)

    def _start(self):
        super()._start()
        self._explained = 0.0  # sum of the q / (1 + q) of the labels learned
        self._told = 0.0  # sum of what a callable said of the rounds so far

    def choose(self, x: RowsLike) -> int:
        """The label with the best score plus width; a pure reading.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Confidit(2, covariance="full", projection=True).choose([1.0, 0.0])
        0
        """
        return int(np.argmax(self._bounds(self._row(x))))

    def learn(self, x: RowsLike, label: SupportsIndex, correct: bool | np.bool_) -> None:
        """Takes in that `label` was right or wrong for x; the label need not be that of `choose`.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.Confidit(2)
        >>> learner.learn([2.0], 1, True)
        >>> learner.weights
        array([[0.  ],
               [0.25]])
        """
        x, label = self._row(x), self._label(label)
        correct = check.answer("correct", correct)
        classes = self._projected(self._before(x), x)
        told = self._told
        if callable(self.approximation_error):
            told += _one_error(self.approximation_error(self.rounds + 1))
        if classes[label].ignores(x):
            self._told = told
            self._after(x, {})
            return
        rng = self._rng
        if correct:
            beta = 1.0
        elif self.alpha == 1.0:
            beta = -1.0
        else:  # the draw is from a copy until nothing can go wrong any more
            rng = copy.deepcopy(rng)
            beta = -1.0 if rng.random() < (1.0 + self.alpha) / 2.0 else 1.0
        _, q = classes[label].read(x)
        changed = dict(enumerate(classes))
        changed[label] = classes[label].learned(x, beta)
        self._rng, self._told = rng, told
        self._explained += q / (1.0 + q)
        self._after(x, changed)

    def inverse(self, i: SupportsIndex) -> Vector:
        """``A_i^-1``: a matrix, for the diagonal a vector; empty before the first round.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.Confidit(2, covariance="full")
        >>> learner.learn([1.0, 0.0], 0, True)
        >>> learner.inverse(0)
        array([[0.2 , 0.  ],
               [0.  , 0.25]])
        """
        i = check.index("i", i, self.n_classes)
        if self.covariance == "kernel":
            raise ValueError('there is no inverse with covariance="kernel"')
        classes = self._classes or [self._fresh(0)] * self.n_classes
        return classes[i].inverse

    def information(self) -> Vector:
        """``log det A_i`` minus its value at the start for every class, shape (K,).

        For full and kernel that is the sum of the ``log(1 + q)`` of what the class has learned.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.Confidit(2)
        >>> learner.learn([1.0, 0.0], 1, True)
        >>> learner.information().round(3)
        array([0.   , 0.223])
        """
        classes = self._classes or [self._fresh(0)] * self.n_classes
        return np.array([one.information for one in classes])

    @property
    def weights(self) -> Vector:
        """One row a class, shape (K, d); (K, 0) before the first round. Not with a kernel.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Confidit(3).weights.shape
        (3, 0)
        """
        if self.covariance == "kernel":
            raise AttributeError('there are no weights with covariance="kernel"')
        return super().weights

    def _row(self, x):
        x = super()._row(x)
        if not self.normalize or not x.any():
            return x
        x = x / np.abs(x).max()  # no square overflows or vanishes
        return x / math.sqrt(float(x @ x))

    def _fresh(self, d):
        ridge = (1.0 + self.alpha) ** 2
        return fresh(self.covariance, d, ridge, self.diagonal_step, self._kernel)

    def _margin(self, one, x):
        return one.read(x)[0]

    def _weight(self, one):
        return one.weights

    def _exploit(self, classes, x):
        return super()._exploit(self._projected(classes, x), x)

    def _bounds(self, x):
        """The upper confidence bound of every class; zeros for a row that is null."""
        classes = self._projected(self._before(x), x)
        if classes[0].ignores(x):
            return np.zeros(self.n_classes)
        m, q = _read(classes, x)
        return m + self._widths(q)

    def _projected(self, classes, x):
        """Step 2: the classes after the projection of their scores for x."""
        if not self.projection or classes[0].ignores(x):
            return classes
        m, q = _read(classes, x)
        if (q <= 0.0).any():
            raise ValueError("x is too small to be projected: its x^T A^-1 x is zero")
        z = m + self.alpha
        v, _ = project_scores(z, q, 1.0 + self.alpha)
        return [one.moved(x, c) for one, c in zip(classes, (v - z) / q, strict=True)]

    def _widths(self, q):
        """Step 3: the eps_i of the round to come."""
        if self.confidence == "constant":
            return np.sqrt(self.eta * q)
        if self.confidence == "selfnormalized":
            chance = math.log(self.n_classes) - math.log(self.delta)
            noise = np.sqrt(self.information() + 2.0 * chance)
            return np.sqrt(q) * (noise + (1.0 + self.alpha) * self.norm_bound)
        t = self.rounds + 1
        C = 4.0  # (1 + alpha)^2 at alpha = 1; below that 1 - w.x can still reach 2
        eta_t = (
            (1.0 + self.alpha) ** 2 * self.norm_bound * self.norm_bound / 2.0
            + C / 2.0 * self._explained
            + 9.0 * C * (math.log(t + 4) - math.log(self.delta))
            + C * self._error_so_far()
        )
        return np.sqrt(2.0 * q * eta_t)

    def _error_so_far(self):
        """The sum of the approximation errors of the rounds learned."""
        if callable(self.approximation_error):
            return self._told
        if np.ndim(self.approximation_error):
            return math.fsum(self.approximation_error[: self.rounds])
        return self.rounds * self.approximation_error


def _errors(value):
    """The approximation error as given: a function, a vector of its own, or a float."""
    if callable(value):
        return value
    if check.array("approximation_error", value).ndim == 0:
        return _one_error(value)
    errors = check.vector("approximation_error", value).copy()
    if (errors < 0.0).any():
        raise ValueError("approximation_error must be >= 0 in every round")
    return errors


def _one_error(value):
    return check.within("approximation_error", value, "[0, inf)")


def _read(classes, x):
    """All ``w_i.x`` and all ``x^T A_i^-1 x``."""
    m, q = np.array([one.read(x) for one in classes]).T
    return m, q
