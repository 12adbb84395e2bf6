"""Confidit: the thin class over its models."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import plain
from .._typing import Precision, Real, Vector
from ..learner._check import choice, number, precision_of, switch
from ..metric._forms import DiagonalRidges, DualRidges, FullRidges
from ._learners import MulticlassLearner, _Spread
from ._rules import Confidit as ConfiditModel
from ._rules import ToldRightOrWrong

COVARIANCES = ("diagonal", "full", "kernel")
CONFIDENCES = ("constant", "theory", "selfnormalized")


class Confidit(_Spread, MulticlassLearner, ToldRightOrWrong):
    """Multiclass learning from right or wrong: a ridge regression a class, and optimism.

    The label with the best optimistic score is tried.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    covariance : {"diagonal", "full", "kernel"}, default "diagonal"
        What is kept of every A_i: its diagonal (sparse rows of any width: O(nnz K) a row), all
        of it (O(K d^2) a row, ``28 K d^2`` bytes), or the Gram matrix of the rows that the class
        has learned (O(t^2) a row for t of them).
    confidence : {"constant", "theory", "selfnormalized"}, default "constant"
        The width of the confidence interval, see below.
    eta : float, default 1.0
        The constant of ``confidence="constant"``, > 0.
    alpha : float, default 1.0
        How close to each other the scores are taken to be, in (-1, 1].
    projection : bool, default False
        Project the scores of each round first. With a kernel every class then has a coefficient
        for every row: 8 K bytes a row, and one more triangular solve a class and round.
    norm_bound : float, default 1.0
        >= 0. For "theory" ||U||, the length of all true weights together; for "selfnormalized"
        that of the longest u_i, of any one class.
    delta : float, default 0.05
        Probability with which the theory may fail, in (0, 1); for both.
    approximation_error : float, array_like or callable, default 0.0
        How far from linear the classes may be, >= 0; for "theory". (With it this is Modified
        Confidit.) A number: in every round. A sequence: of rounds 1, 2, ..., and 0 after its end.
        A callable is asked once for each round learned, by its number, counted from 1; a learner
        that has one cannot be saved.
    diagonal_step : {"residual", "printed"}, default "residual"
        For the diagonal: the step of the full matrix taken from its diagonal, or the one printed
        in the paper, each feature by itself.
    normalize : bool, default False
        Divide every row by its length.
    kernel : {"linear", "rbf", "poly"} or callable, default "linear"
        For ``covariance="kernel"``, as for `metric.Dual`; a callable gets two 1-D rows.
    kernel_params : dict, optional
        Parameters of the kernel, by scikit-learn's names: ``gamma``, ``degree``, ``coef0``.
    max_features : int, optional
        For the diagonal: rows may be of any width up to this, and wider ones than before add
        features. None: all rows are as wide as the first that was learned.
    precision : {"auto", "fast", "robust"}, default "auto"
        How the inverse of the full covariance is kept, as in `metric.Full`: "auto" begins with the
        fast form and converts to the robust one, which is right whatever the scales of the
        columns, as soon as that matters; `health` says which form is in use.
    seed : optional
        What `numpy.random.default_rng` takes; there is chance where alpha < 1.

    See Also
    --------
    Banditron : O(d) memory a class, explores by chance.
    MulticlassAROW : Where the label itself is seen.

    Notes
    -----
    At the start ``A_i = (1 + alpha)^2 I`` and ``w_i = 0``. A round is:

    1. ``v_i = A_i^-1 x``, ``q_i = x.v_i``, ``m_i = w_i.x``.
    2. With projection ``w_i += c_i v_i`` for every class, such that the new ``m_i + alpha`` are
       the projection of the old ones onto ``{v >= 0, sum v = 1 + alpha}`` with weights q_i.
    3. ``label = argmax_i m_i + eps_i``, ties to the lower one, where ``eps_i^2`` is ``eta q_i``
       (constant) or ``2 q_i eta_t`` (theory). In round t, with C = 4::

           eta_t = (1 + alpha)^2 ||U||^2 / 2 + (C / 2) sum_{s < t} q_s / (1 + q_s)
                   + 9 C log((t + 4) / delta) + C sum_{s < t} approximation_error_s

       where q_s is that of the label learned in round s, in its matrix before that round.
       Self-normalised, each class has a width of its own::

           eps_i = sqrt(q_i) (sqrt(log det A_i - log det (first A_i) + 2 log(K / delta))
                              + (1 + alpha) norm_bound)
    4. Right: ``beta = 1``. Wrong: ``beta = -1`` with probability ``(1 + alpha) / 2``, else 1. With
       ``alpha = 1`` and for right answers no coin is drawn.
    5. For the class of the label alone: ``A += x x^T``, ``w += A^-1 x (beta - w.x)``.

    With probability ``1 - delta`` the self-normalised interval holds the true ``u_i.x`` in all
    rounds and classes at once, for full matrices and kernels without projection, under the model
    ``P(y = i | x) = (alpha + u_i.x) / (1 + alpha)``. (A wrong answer is learned as a beta of mean
    ``u_i.x`` within [-1, 1], so that its noise is 1-sub-Gaussian, and the bound for one class is
    taken K times.) It needs no projection and is far narrower than the paper's; the best constant
    is narrower still. With projection the same widths stand around the projected scores, and for
    the diagonal A_i is that diagonal: nothing is proved of either.

    `choose` does steps 1 to 3 and changes nothing; `learn` does all but the choice, and takes
    over what `choose` worked out for the same x. A row that is null (in the feature space of the
    kernel) gets label 0 and only counts as a round. `decision_function` and `predict` use the
    ``w_i.x`` as they are, without projection.

    The full matrices are watched: A itself is kept beside its inverse, drift is probed for and
    repaired, see `health`.

    References
    ----------
    K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive
    regularization. Machine Learning 90, 2013.
    Y. Abbasi-Yadkori, D. Pál, C. Szepesvári. Improved algorithms for linear stochastic bandits.
    NIPS 2011 (the self-normalised width).

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.Confidit(3)
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

    _bandit = True
    _shaping = (*MulticlassLearner._shaping, "covariance", "alpha", "kernel", "kernel_params",
                "precision")

    def __init__(self, n_classes: SupportsIndex, *,
                 covariance: Literal["diagonal", "full", "kernel"] = "diagonal",
                 confidence: Literal["constant", "theory", "selfnormalized"] = "constant",
                 eta: Real = 1.0, alpha: Real = 1.0, projection: bool = False,
                 norm_bound: Real = 1.0, delta: Real = 0.05,
                 approximation_error: ArrayLike | Callable[[int], Real] = 0.0,
                 diagonal_step: Literal["residual", "printed"] = "residual",
                 normalize: bool = False,
                 kernel: Literal["linear", "rbf", "poly"] | Callable[..., Real] = "linear",
                 kernel_params: Mapping[str, Any] | None = None,
                 max_features: SupportsIndex | None = None, precision: Precision = "auto",
                 seed: Any = None) -> None:
        self._begin(
            n_classes=n_classes, covariance=covariance, confidence=confidence, eta=eta,
            alpha=alpha, projection=projection, norm_bound=norm_bound, delta=delta,
            approximation_error=approximation_error, diagonal_step=diagonal_step,
            normalize=normalize, kernel=kernel, kernel_params=kernel_params,
            max_features=max_features, precision=precision, seed=seed)

    def _build(self, parameters):
        if parameters["covariance"] != "diagonal" and parameters["max_features"] is not None:
            raise ValueError('max_features goes with covariance="diagonal" only')
        return super()._build(parameters)

    def _has_chance(self, parameters):
        return parameters["alpha"] != 1.0

    def _model(self, n_classes, covariance, kernel, kernel_params, diagonal_step, precision,
               **parameters):
        covariance = choice("covariance", covariance, COVARIANCES)
        precision = precision_of(precision, covariance)
        printed = choice("diagonal_step", diagonal_step, ("residual", "printed")) == "printed"
        given = _checked(**parameters)
        ridge = (1.0 + given["alpha"]) ** 2
        if covariance == "kernel":
            def ridges():
                return DualRidges(n_classes, ridge, kernel, kernel_params, given["projection"])
        elif kernel != "linear" or kernel_params:
            raise ValueError('kernel and kernel_params have no meaning with '
                             f'covariance="{covariance}"')
        elif covariance == "full":
            def ridges():
                return FullRidges(n_classes, ridge, precision)
        else:
            def ridges():
                return DiagonalRidges(n_classes, ridge, printed)
        return lambda: ConfiditModel(ridges(), **given)

    def health(self) -> dict[str, NDArray[Any]]:
        """What the watch over rounding errors has seen, for ``covariance="full"``.

        Returns
        -------
        dict of str to ndarray of shape (K,)
            For each class: precision ("fast" or "robust", the form in use); updates; probes of the
            drift; renewals of the inverse from A; repairs (renewals because some ``x^T A^-1 x``
            was not positive); failed (renewals that were not possible); last_residual and
            worst_residual of the probes. Empty for other covariances.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(2, covariance="full")
        >>> learner.learn([2.0, 0.0], 1, True)
        >>> learner.health()["updates"]
        array([0, 1])
        """
        return self._engine.tell("health")

    @property
    def weights(self) -> Vector:
        """The weights, a copy of shape (K, d); (K, 0) before the first round. Not with a kernel."""
        if self.covariance == "kernel":
            raise AttributeError('there are no weights with covariance="kernel"')
        return self._engine.tell("weights")


def _checked(confidence, eta, alpha, projection, norm_bound, delta, approximation_error,
             normalize):
    alpha = number("alpha", alpha, above=-1.0, most=1.0)
    if (1.0 + alpha) ** 2 < 1e-280:
        raise ValueError(f"alpha must be farther from -1, got {alpha}")
    delta = number("delta", delta, above=0.0)
    if delta >= 1.0:
        raise ValueError(f"delta must be < 1, got {delta}")
    return {
        "alpha": alpha,
        "eta": number("eta", eta, above=0.0),
        "confidence": choice("confidence", confidence, CONFIDENCES),
        "projection": switch("projection", projection),
        "norm_bound": number("norm_bound", norm_bound, least=0.0, most=math.sqrt(1e300)),
        "delta": delta,
        "error": _error(approximation_error),
        "normalize": switch("normalize", normalize),
    }


def _error(given):
    """One number, one a round, or a function of the round, which is asked as the rounds come."""
    if callable(given):
        return given
    if not isinstance(given, (list, tuple)) and np.ndim(given) == 0:
        return number("approximation_error", given, least=0.0, most=1e280)
    errors = plain(given, "approximation_error").astype(np.float64)
    if errors.ndim != 1:
        raise ValueError("approximation_error must be a number, a sequence of them or callable, "
                         f"got shape {errors.shape}")
    if not ((errors >= 0.0) & (errors <= 1e280)).all():
        raise ValueError("approximation_error must hold finite numbers >= 0")
    return errors
