"""The multiclass learners: thin classes over the engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arrays import plain
from .._typing import Precision, Progress, Real, RowsLike, Vector
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import choice, count, number, precision_of, switch
from ..learner._random import make_generator
from ..metric import _forms as forms
from . import _rules as rules
from ._history import MulticlassHistory

MOST = 2**60  # of anything that is counted: memory ends long before


class MulticlassLearner(Learner):
    """What all multiclass learners have in common."""

    last_history: MulticlassHistory | None
    _shaping: tuple[str, ...] = ("n_classes", "max_features")
    _draws = False

    def _build(self, parameters):
        given = dict(parameters)
        n_classes = count("n_classes", given.pop("n_classes"), least=2, most=MOST)
        most = given.pop("max_features")
        if given.get("covariance", "diagonal") != "diagonal" and most is not None:
            raise ValueError('max_features goes with covariance="diagonal" only')
        most = 0 if most is None else count("max_features", most, least=1, most=MOST)
        first = make_generator(given.pop("seed")) if "seed" in given else None
        make = self._rule(n_classes, **given)
        chance = Chance(first) if self._has_chance(parameters) else None
        return {"make": make, "chance": chance, "most": most,
                "unit_rows": parameters.get("normalize", False)}

    def _has_chance(self, parameters):
        """Whether anything is ever drawn: the generator is then part of the state."""
        return self._draws

    def _rule(self, n_classes, **parameters):
        """Checks the parameters; returns a function that makes a fresh rule."""
        raise NotImplementedError

    # --- many rows --------------------------------------------------------------------------

    def decision_function(self, X: RowsLike) -> Vector:
        """The scores of pure exploitation.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            A row an example.

        Returns
        -------
        ndarray of float64, shape (n, K)
            The score of each class for each row; nothing is drawn and no width is added.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassPerceptron(2)
        >>> learner.learn([1.0, 2.0], 1)
        >>> learner.decision_function([[1.0, 0.0], [0.0, 1.0]])
        array([[-1.,  1.],
               [-2.,  2.]])
        """
        return self._scores(X)

    def predict(self, X: RowsLike) -> NDArray[np.intp]:
        """The labels of pure exploitation: the best score of each row, ties to the lower label.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            A row an example.

        Returns
        -------
        ndarray of intp, shape (n,)
            The label with the largest score, the lowest one where several are.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassPerceptron(2)
        >>> learner.learn([1.0, 2.0], 1)
        >>> learner.predict([[1.0, 0.0], [-1.0, 0.0]])
        array([1, 0])
        """
        return self._best(X)

    def run(self, X: RowsLike, y: ArrayLike, *, epochs: SupportsIndex = 1, label_noise: Real = 0.0,
            noise_seed: Any = None, chances: ArrayLike | None = None,
            progress: Progress = None) -> MulticlassHistory:
        """Chooses and learns, row by row: the loop of single calls, bit for bit, but compiled.

        Parameters
        ----------
        X : array_like of shape (n, d) or scipy.sparse matrix
            A row an example.
        y : array_like of int, shape (n,)
            The right labels.
        epochs : int, default 1
            How many times the rows are gone through, in their order.
        label_noise : float, default 0.0
            The probability with which a label is replaced by one drawn uniformly from all K,
            once for the whole run: all epochs see the same labels.
        noise_seed : optional
            Where that chance comes from: what `numpy.random.default_rng` takes.
        chances : array_like of shape (n, K), optional
            The chance of each label for each row (before any noise), where the model that made
            the labels is known: for the history's regret. See `data.make_confidit`.
        progress : bool or callable, optional
            True shows a bar; a callable is called now and then as ``progress(done, total)`` and
            may read the learner.

        Returns
        -------
        MulticlassHistory
            Also kept as ``learner.last_history``, where an interrupted run leaves its rounds so
            far. A bad row or label is refused before anything is learned; rows before one that
            is finite, but too large for what follows from it, are learned.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> X, y, _ = cf.data.make_multiclass(n_rows=1000, seed=1)
        >>> learner = cf.Confidit(5, covariance="full", eta=0.1)
        >>> history = learner.run(X, y)
        >>> bool(history.error_rate[-1] < 0.25), len(history)
        (True, 1000)
        """
        noise = number("label_noise", label_noise, least=0.0, most=1.0)
        rng = make_generator(noise_seed, "noise_seed")
        run = rules.MulticlassRun(
            X, y, self.n_classes, lambda n: count("epochs", epochs, most=MOST // max(n, 1)),
            lambda labels: _noisy(labels, noise, rng, self.n_classes), chances)
        return run.play(self, progress)

    # --- what was learned -------------------------------------------------------------------

    def add_class(self) -> int:
        """One class more, as fresh as all were at the start.

        `reset` takes it away again.

        Returns
        -------
        int
            Its label.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassPerceptron(2)
        >>> learner.add_class(), learner.n_classes
        (2, 3)
        """
        return self._add_answer()

    @property
    def n_classes(self) -> int:
        """How many classes there are now."""
        return self._answers

    @property
    def rounds(self) -> int:
        """How many rounds were learned."""
        return self._rounds

    @property
    def weights(self) -> Vector:
        """The weights, a copy of shape (K, d); (K, 0) before the first round."""
        return self._read("weights")


def _noisy(labels, noise, rng, n_classes):
    if noise == 0.0:
        return labels
    replaced = rng.random(len(labels)) < noise
    return np.where(replaced, rng.integers(n_classes, size=len(labels)), labels).astype(np.intp)


class Banditron(MulticlassLearner, rules.BanditFeedback):
    """The Perceptron that is only told right or wrong, and explores by chance.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    gamma : float, default 0.05
        How much it explores, in (0, 1].
    max_features : int, optional
        Rows may be of any width up to this, and wider ones than before add features. None: all
        rows are as wide as the first that was learned.
    seed : optional
        What `numpy.random.default_rng` takes.

    See Also
    --------
    Confidit : Explores by confidence, not by chance.

    Notes
    -----
    With ``best = argmax_r w_r.x``, label r is chosen with probability
    ``p_r = (1 - gamma) [r = best] + gamma / K``. `choose` draws, and so changes the generator;
    `learn` works p out again: ``w_r += x ([right] [r = label] / p_r - [r = best])``.

    References
    ----------
    S. M. Kakade, S. Shalev-Shwartz, A. Tewari. Efficient bandit algorithms for online multiclass
    prediction. ICML 2008.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.Banditron(2, gamma=0.5, seed=0)
    >>> [learner.choose([1.0]) for _ in range(5)]
    [0, 0, 0, 0, 1]
    >>> learner.learn([3.0], 1, True)
    >>> learner.weights
    array([[-3.],
           [12.]])
    """

    _draws = True

    def __init__(self, n_classes: SupportsIndex, *, gamma: Real = 0.05,
                 max_features: SupportsIndex | None = None, seed: Any = None) -> None:
        self._begin(**locals())

    def _rule(self, n_classes, gamma):
        gamma = number("gamma", gamma, above=0.0, most=1.0)
        return lambda: rules.Banditron(n_classes, gamma)


class Newtron(MulticlassLearner, rules.BanditFeedback):
    """Newton steps on the logistic loss, told right or wrong only; it explores by chance.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    covariance : {"diagonal", "full"}, default "diagonal"
        What is kept of A: its diagonal (sparse rows of any width: O(nnz K) a row), or all of it,
        over all classes and features: O((K d)^2) a row and ``14 (K d)^2`` bytes.
    alpha : float, default 10.0
        How sharply scores part the labels, > 0.
    beta : float, default 0.01
        How much curvature the estimates are given, > 0.
    gamma : float, default 0.05
        How much it explores, in (0, 1].
    norm_bound : float, default 10.0
        D > 0: ``A = I / D`` at first, and the full form keeps ``||W|| <= D``.
    max_features : int, optional
        For the diagonal, see `Banditron`.
    seed : optional
        What `numpy.random.default_rng` takes.

    See Also
    --------
    Confidit : Explores by confidence; as a rule a fraction of the time.

    Notes
    -----
    A round is, with W the weights of all classes together:

    1. ``p_i`` is in proportion to ``exp(alpha w_i.x)``, ``p'_i = (1 - gamma) p_i + gamma / K``;
       `choose` draws a label from p', and so changes the generator. `learn` works both out again.
    2. ``g = c (e_label - 1/K) x^T``. Right: ``c = (p_label - 1) / p'_label`` and ``h = beta
       p'_label``. Wrong: ``c = p_label / p'_label`` and ``h = beta``. The mean of g is the
       gradient of ``-log(p_y) / alpha``.
    3. ``A += h g g^T``, and W minimises ``sum_s (g_s.W + h_s (g_s.(W - W_s))^2 / 2) + ||W||^2 /
       (2 D)`` over ``||W|| <= D``, where W_s are the weights that round s began with: the
       projection of the minimiser, in the norm of A.

    The diagonal form takes of each square the terms of the single weights, which makes step 3
    ``a += h g^2``, ``w -= g / a``, and leaves the projection out: it would touch all features in
    every round. D is then no more than the length of the first steps, and p can become far more
    certain than the labels are.

    The regret on ``-log(p_y) / alpha`` is proved for the full form, with gamma and beta set for
    it: O(log T) for a constant alpha, at most O(T^(2/3)) for any. That loss is not the number of
    mistakes, which `Confidit` and `Banditron` are about.

    References
    ----------
    E. Hazan, S. Kale. Newtron: an efficient bandit algorithm for online multiclass prediction. NIPS
    2011.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.Newtron(2, gamma=0.5, seed=0)
    >>> [learner.choose([1.0]) for _ in range(5)]
    [1, 0, 0, 0, 1]
    >>> learner.learn([1.0], 1, True)
    >>> learner.weights.round(3)
    array([[-4.938],
           [ 4.938]])
    """

    _draws = True
    _shaping = (*MulticlassLearner._shaping, "covariance", "norm_bound")

    def __init__(self, n_classes: SupportsIndex, *,
                 covariance: Literal["diagonal", "full"] = "diagonal", alpha: Real = 10.0,
                 beta: Real = 0.01, gamma: Real = 0.05, norm_bound: Real = 10.0,
                 max_features: SupportsIndex | None = None, seed: Any = None) -> None:
        self._begin(**locals())

    def _rule(self, n_classes, covariance, alpha, beta, gamma, norm_bound):
        given = {
            "whole": choice("covariance", covariance, ("diagonal", "full")) == "full",
            "alpha": number("alpha", alpha, above=0.0, most=1e150),
            "beta": number("beta", beta, least=1e-150, most=1e150),
            "gamma": number("gamma", gamma, above=0.0, most=1.0),
            "bound": number("norm_bound", norm_bound, least=1e-150, most=1e150),
        }
        return lambda: rules.Newtron(n_classes, **given)


class MulticlassPerceptron(MulticlassLearner, rules.LabelFeedback):
    """The multiclass Perceptron; it is told the right label.

    It chooses ``argmax_i w_i.x``. Where that is another label than y, ``w_y += x`` and
    ``w_chosen -= x``.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    max_features : int, optional
        See `Banditron`.

    See Also
    --------
    MulticlassAROW : Second order; fewer mistakes.
    Banditron : Needs no labels.

    References
    ----------
    K. Crammer, Y. Singer. Ultraconservative online algorithms for multiclass problems. Journal of
    Machine Learning Research 3, 2003.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.MulticlassPerceptron(2)
    >>> learner.learn([1.0, 2.0], 1)
    >>> learner.weights
    array([[-1., -2.],
           [ 1.,  2.]])
    """

    def __init__(self, n_classes: SupportsIndex, *,
                 max_features: SupportsIndex | None = None) -> None:
        self._begin(**locals())

    def _rule(self, n_classes):
        return lambda: rules.Perceptron(n_classes)


class _Spread:
    """Learners that keep a variance, or a matrix, beside each class's weights."""

    def inverse(self, i: SupportsIndex) -> Vector:
        """``A_i^-1``, a copy: its diagonal, or all of it where all is kept. Not with a kernel.

        Parameters
        ----------
        i : int
            The class.

        Returns
        -------
        ndarray of float64, shape (d,) or (d, d)
            Empty before the first round.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassSecondOrderPerceptron(2)
        >>> learner.learn([1.0, 2.0], 1)
        >>> learner.inverse(0)
        array([0.5, 0.2])
        """
        return self._read("inverse", i)

    def information(self) -> Vector:
        """``log det A_i`` minus its value at the start: how much each class knows.

        Full matrices and kernels keep it, as the sum of the ``log(1 + q)`` of what each class has
        learned; for diagonals it is worked out from them, O(K d).

        Returns
        -------
        ndarray of float64, shape (K,)
            A number a class.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(2, covariance="full")
        >>> learner.learn([2.0, 0.0], 1, True)
        >>> learner.information().round(3)
        array([0.   , 0.693])
        """
        return self._read("information")


class MulticlassSecondOrderPerceptron(_Spread, MulticlassLearner, rules.LabelFeedback):
    """The second-order Perceptron with diagonal matrices; it is told the right label.

    The score of class i is ``b_i . (a + S_i + x^2)^-1 x``: the x that is asked about counts in
    the matrix. On a mistake ``b_y += x``, ``b_chosen -= x``, and ``x^2`` is added to ``S_y`` and
    ``S_chosen``. `weights` are the b, `inverse` is ``1 / (a + S_i)``.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    a : float, default 1.0
        > 0 (at least 1e-300).
    max_features : int, optional
        See `Banditron`.

    See Also
    --------
    MulticlassAROW : A second order with confidence in each class.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile. A second-order Perceptron algorithm. SIAM Journal on
    Computing 34, 2005.
    K. Crammer, C. Gentile. Multiclass classification with bandit feedback using adaptive
    regularization. Machine Learning 90, 2013.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.MulticlassSecondOrderPerceptron(2)
    >>> learner.learn([1.0, 2.0], 1)
    >>> learner.weights, learner.inverse(0)
    (array([[-1., -2.],
           [ 1.,  2.]]), array([0.5, 0.2]))
    """

    _shaping = (*MulticlassLearner._shaping, "a")

    def __init__(self, n_classes: SupportsIndex, *, a: Real = 1.0,
                 max_features: SupportsIndex | None = None) -> None:
        self._begin(**locals())

    def _rule(self, n_classes, a):
        a = number("a", a, least=1e-300)  # 1 / a is the first variance
        return lambda: rules.Perceptron(n_classes, a)


class MulticlassAROW(_Spread, MulticlassLearner, rules.LabelFeedback):
    """AROW, multiclass and with diagonal covariances; it is told the right label.

    j is the best of the wrong classes, ``M = w_y.x - w_j.x`` and
    ``V = x^T (Sigma_y + Sigma_j) x``. If ``M < 1``, with ``beta = 1 / (V + r)``::

        w_y += beta (1 - M) Sigma_y x      w_j -= beta (1 - M) Sigma_j x
        Sigma -= beta (Sigma x)^2          on the diagonal, for both

    `inverse` is ``Sigma_i``, which starts as 1.

    Parameters
    ----------
    n_classes : int
        K, at least 2.
    r : float, default 1.0
        > 0; the larger, the smaller the steps.
    max_features : int, optional
        See `Banditron`.

    See Also
    --------
    Confidit : Where only right or wrong is seen.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze. Adaptive regularization of weight vectors. NIPS 2009.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.MulticlassAROW(2)
    >>> learner.learn([1.0, 0.0], 1)
    >>> learner.weights.round(3)
    array([[-0.333,  0.   ],
           [ 0.333,  0.   ]])
    """

    def __init__(self, n_classes: SupportsIndex, *, r: Real = 1.0,
                 max_features: SupportsIndex | None = None) -> None:
        self._begin(**locals())

    def _rule(self, n_classes, r):
        r = number("r", r, above=0.0)
        return lambda: rules.Arow(n_classes, r)


# --- Confidit -------------------------------------------------------------------------------------


COVARIANCES = ("diagonal", "full", "kernel")
CONFIDENCES = ("constant", "theory", "selfnormalized")


class Confidit(_Spread, MulticlassLearner, rules.BanditFeedback):
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
        self._begin(**locals())

    def _has_chance(self, parameters):
        return parameters["alpha"] != 1.0

    def _rule(self, n_classes, covariance, confidence, eta, alpha, projection, norm_bound, delta,
              approximation_error, diagonal_step, normalize, kernel, kernel_params, precision):
        covariance = choice("covariance", covariance, COVARIANCES)
        precision = precision_of(precision, covariance)
        printed = choice("diagonal_step", diagonal_step, ("residual", "printed")) == "printed"
        alpha = number("alpha", alpha, above=-1.0, most=1.0)
        ridge = (1.0 + alpha) ** 2
        if ridge < 1e-280:
            raise ValueError(f"alpha must be farther from -1, got {alpha}")
        given = {
            "alpha": alpha,
            "delta": number("delta", delta, above=0.0, below=1.0),
            "eta": number("eta", eta, above=0.0),
            "confidence": choice("confidence", confidence, CONFIDENCES),
            "projection": switch("projection", projection),
            "norm_bound": number("norm_bound", norm_bound, least=0.0, most=math.sqrt(1e300)),
            "error": _error(approximation_error),
        }
        switch("normalize", normalize)  # an option of the engine
        if covariance == "kernel":
            ridges = partial(forms.DualRidges, n_classes, ridge, kernel, kernel_params,
                             given["projection"])
        elif kernel != "linear" or kernel_params:
            raise ValueError('kernel and kernel_params have no meaning with '
                             f'covariance="{covariance}"')
        elif covariance == "full":
            ridges = partial(forms.FullRidges, n_classes, ridge, precision)
        else:
            ridges = partial(forms.DiagonalRidges, n_classes, ridge, printed)
        return lambda: rules.Confidit(ridges(), **given)

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
        return self._read("health")

    @property
    def weights(self) -> Vector:
        """The weights, a copy of shape (K, d); (K, 0) before the first round. Not with a kernel."""
        if self._parameters["covariance"] == "kernel":
            raise AttributeError('there are no weights with covariance="kernel"')
        return self._read("weights")


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
