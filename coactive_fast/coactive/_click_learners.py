"""The learners of rankings from clicks: what they present is drawn, so that clicks compare."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from .._typing import Real
from ..learner._chance import Chance
from ..learner._check import number
from ..learner._random import make_generator
from ._clicks import PairwiseEngine, PDGDEngine
from ._learners import DrawingLearner
from ._tasks import Ranking


class PairwisePerceptron(DrawingLearner):
    """3PR: neighbours in the ranking change places at random, so that clicks compare them fairly.

    Karthik Raman, Thorsten Joachims, Pannaga Shivaswamy and Tobias Schnabel, "Stable Coactive
    Learning via Perturbation" (2013).

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
    swap : float, default 0.5
        In [0, 1].
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

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

    Harrie Oosterhuis and Maarten de Rijke, "Differentiable Unbiased Online Learning to Rank"
    (2018).

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
    rate : float, default 0.1
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

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
        """Always a `TypeError`: what it learns from is clicks."""
        raise TypeError("PDGD learns from clicks alone: call present, then learn_clicks")


def _rankings(task):
    if not isinstance(task, Ranking):
        raise TypeError(f"task must be a Ranking, got {type(task).__name__}")
    return task
