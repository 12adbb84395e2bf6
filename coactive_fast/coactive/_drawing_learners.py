"""The learners that draw what they present and hold it until it is answered."""

from __future__ import annotations

from collections.abc import Set
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Real
from ..learner._chance import Chance
from ..learner._check import number, switch
from ..learner._random import make_generator
from ._clicks import DuelingEngine, PairwiseEngine, PDGDEngine
from ._learners import CoactiveLearner
from ._tasks import Items, Ranking
from ._user import in_order


class DrawingLearner(CoactiveLearner):
    """What learners share that draw what they present and hold it until it is answered."""

    def learn_clicks(self, x: ArrayLike, shown: ArrayLike,
                     clicked: ArrayLike | Set[int]) -> None:
        """Ends what is pending, which is one round; see the class for what clicks mean.

        Parameters
        ----------
        x : array_like
            The documents' features, as for `present`.
        shown : array_like of int
            What `present` returned last, or its first places.
        clicked : sequence or set of int
            Documents of `shown`, none if there was no click; a repeated click counts once.
        """
        if not isinstance(self.task, Ranking):
            raise TypeError(f"learn_clicks is for rankings, and task is {self.task!r}")
        self._engine.learn_clicks(x, shown, in_order(clicked))

    def _warn_of_clicks(self):
        """Nothing to warn of: what is shown is drawn so that clicks can be told from places."""

    @property
    def rng(self) -> np.random.Generator:
        """The generator as it stands, a copy."""
        return self._engine.rng


class DuelingBandit(DrawingLearner):
    """Dueling bandit gradient descent: w against ``w' = w + explore u``, u a random direction.

    What coactive learning is compared with where two objects are compared.

    A round is a comparison: `present` draws u and holds the comparison until `learn` ends it
    with ``w += step u`` if w' won; a tie keeps w. The pending comparison is part of the state.

    Rankings: what is presented is the team-draft interleaving of the two orderings, and that one
    wins which brought more of the first k documents of the feedback; `learn_clicks`: more of the
    clicked documents, so that no click moves nothing. Items: what is presented is
    the array of the two best items, w's first (they may be the same), and `better` is one of
    them.

    Parameters
    ----------
    task : Ranking or Items
        What is presented.
    explore : float, default 1.0
        How far w' lies from w.
    step : float, default 0.01
        How far the weights go towards the direction that won.
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

    See Also
    --------
    PDGD : Learns faster from the same clicks.

    References
    ----------
    Y. Yue, T. Joachims. Interactively optimizing information retrieval systems as a dueling
    bandits problem. ICML 2009.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.DuelingBandit(cf.Items([[1.0, 0.0], [0.0, 1.0]]), step=0.5, seed=4)
    >>> pair = learner.present(None)
    >>> pair
    array([0, 1])
    >>> learner.learn(None, pair, 1)
    >>> learner.weights.round(3)
    array([-0.483, -0.129])
    """

    def __init__(self, task: Ranking | Items, *, explore: Real = 1.0, step: Real = 0.01,
                 seed: Any = None) -> None:
        self._begin(task=task, explore=explore, step=step, seed=seed)

    def _build(self, parameters):
        task = parameters["task"]
        if not isinstance(task, (Ranking, Items)):
            raise TypeError(f"task must be Ranking or Items, got {type(task).__name__}")
        return DuelingEngine(task, number("explore", parameters["explore"], above=0.0),
                             number("step", parameters["step"], above=0.0),
                             Chance(make_generator(parameters["seed"])))

    def present(self, x: ArrayLike | None, *, k: SupportsIndex | None = None,
                average: bool = False) -> Any:
        """Starts a comparison; one that was pending is dropped.

        Parameters
        ----------
        x : array_like
            Ranking: the documents' features, shape (n, N). Items: the array of candidate indices,
            None for all.
        k : int, optional
            Rankings: only the first k places.
        average : bool, default False
            The plain ranking, or the one item, by `average_weights`: no comparison.

        Returns
        -------
        ndarray of int
            Ranking: the interleaved ordering of the documents. Items: two items.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(), seed=0)
        >>> learner.present([[1.0], [2.0], [3.0]])
        array([0, 2, 1])
        """
        if average is False or not switch("average", average):
            return self._engine.present(x, k)
        return self._engine.present_by_mean(x, k)

    def learn(self, x: ArrayLike, y: ArrayLike, better: ArrayLike) -> None:
        """Ends the comparison, which is one round.

        Parameters
        ----------
        x : array_like
            As for `present`.
        y : array_like of int
            What `present` returned last. Rankings: or its first places.
        better : array_like of int, or int
            Rankings: the user's ordering. Items: the preferred one of the two.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(k=1), seed=1)
        >>> x = [[1.0], [2.0], [3.0]]
        >>> learner.learn(x, learner.present(x), [2, 1, 0])
        >>> learner.weights
        array([0.01])
        """
        self._engine.learn(x, y, better)

    def update(self, delta: object) -> None:
        """Always a `TypeError`: comparisons have no difference of features to learn from.

        Parameters
        ----------
        delta : object
            Not looked at.
        """
        raise TypeError("DuelingBandit learns from comparisons alone: call present, then learn")


class PairwisePerceptron(DrawingLearner):
    """3PR: neighbours in the ranking change places at random, so that clicks compare them fairly.

    `present` takes the ranking by w, and its places in pairs (1, 2), (3, 4), ... or, as likely,
    (2, 3), (4, 5), ...; each pair is swapped with probability `swap`. `learn_clicks` changes the
    places in each pair whose lower document was clicked and whose upper was not: the feedback.
    ``w += phi(feedback) - phi(shown)``. `learn` takes any other feedback to what was
    shown, which is over then.

    `present` draws one number (from 1/2 on: the second set of pairs) and one for each pair of the
    whole ordering, from the top (below `swap`: swapped). What it drew is part of the state.

    Parameters
    ----------
    task : Ranking
        How many places of a ranking count.
    swap : float, default 0.5
        In [0, 1].
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

    See Also
    --------
    PDGD : Draws the whole ranking; learns faster.

    References
    ----------
    K. Raman, T. Joachims, P. Shivaswamy, T. Schnabel. Stable coactive learning via perturbation.
    ICML 2013.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> documents = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> learner = cf.PairwisePerceptron(cf.Ranking(k=2), seed=0)
    >>> shown = learner.present(documents)
    >>> shown
    array([0, 2, 1])
    >>> learner.learn_clicks(documents, shown, [1])
    >>> learner.rounds, learner.weights.round(3)
    (1, array([-0.315,  0.315]))
    """

    def __init__(self, task: Ranking, *, swap: Real = 0.5, seed: Any = None) -> None:
        self._begin(task=task, swap=swap, seed=seed)

    def _build(self, parameters):
        return PairwiseEngine(_rankings(parameters["task"]),
                              number("swap", parameters["swap"], least=0.0, most=1.0),
                              Chance(make_generator(parameters["seed"])))


class PDGD(DrawingLearner):
    """Pairwise differentiable gradient descent: preferences of clicks, each weighed by its bias.

    `present` draws the first k places from the Plackett-Luce model of the scores s; the rest
    follows by score. By `learn_clicks` each clicked document is preferred to each one above the
    last click that was not clicked, and to the first one below it. For each such pair (i, j) ::

        w += rate rho e^{s_i} e^{s_j} / (e^{s_i} + e^{s_j})^2 (x_i - x_j)
        rho = P(R*) / (P(R) + P(R*))

    R is the ranking, R* the one with i and j changed, P the probability of its first k places, and
    s are the scores of the presentation. All of it in logarithms: nothing overflows.

    `present` draws one number u a document, in the order of x; the first k places are those of the
    k largest ``s - log(-log(u))``. What it drew is part of the state.

    Parameters
    ----------
    task : Ranking
        How many places of a ranking are drawn and count.
    rate : float, default 0.1
        Length of the gradient step.
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

    See Also
    --------
    PairwisePerceptron : What is shown stays near the best known ranking.

    References
    ----------
    H. Oosterhuis, M. de Rijke. Differentiable unbiased online learning to rank. CIKM 2018.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> documents = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> learner = cf.PDGD(cf.Ranking(k=2), rate=1.0, seed=0)
    >>> shown = learner.present(documents)
    >>> shown
    array([0, 1, 2])
    >>> learner.learn_clicks(documents, shown, [1])
    >>> learner.weights
    array([-0.1875,  0.1875])
    >>> learner.present(documents, average=True)  # the ranking to deploy: nothing is drawn
    array([1, 2, 0])
    """

    def __init__(self, task: Ranking, *, rate: Real = 0.1, seed: Any = None) -> None:
        self._begin(task=task, rate=rate, seed=seed)

    def _build(self, parameters):
        return PDGDEngine(_rankings(parameters["task"]),
                          number("rate", parameters["rate"], above=0.0),
                          Chance(make_generator(parameters["seed"])))

    def learn(self, x: ArrayLike, y: ArrayLike, better: ArrayLike) -> None:
        """Always a `TypeError`: what it learns from is clicks, by `learn_clicks`.

        Parameters
        ----------
        x, y, better : object
            Not looked at.
        """
        raise TypeError("PDGD learns from clicks alone: call present, then learn_clicks")


def _rankings(task):
    if not isinstance(task, Ranking):
        raise TypeError(f"task must be a Ranking, got {type(task).__name__}")
    return task
