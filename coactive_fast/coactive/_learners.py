"""The learners of the coactive family: thin classes over their engines."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Set
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Real, Vector
from ..convex._sets import Ball, Box, L1Ball, Simplex
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import choice, count, invertible, number, switch
from ..learner._history import CoactiveHistory
from ..learner._random import make_generator
from . import _rules as rules
from ._tasks import Items, Ranking
from ._user import feedback_from_clicks


class CoactiveLearner(Learner, rules.CoactiveEngine):
    """What all learners from an improved object have in common."""

    last_history: CoactiveHistory | None
    if TYPE_CHECKING:  # parameters
        task: Any
    _shaping: tuple[str, ...] = ("task",)

    def _build(self, parameters):
        task = parameters["task"]
        return {"make": self._maker(**parameters), "task": task,
                "dimension": rules.dimension_of(task)}

    def _maker(self, task, **parameters):
        """Checks the parameters; a function that makes a fresh update."""
        raise NotImplementedError

    def learn_clicks(self, x: ArrayLike, shown: ArrayLike, clicked: ArrayLike | Set[int]) -> None:
        """One round of rankings, from clicks: they stand for the feedback that puts them in front.

        That is ``learn(x, shown, feedback_from_clicks(shown, clicked))``. Clicks favour what stood
        on top, and this learner believes them: it can end below a random order, of which a warning
        tells once a learner. `PDGD` and `PairwisePerceptron` account for it.

        Parameters
        ----------
        x : array_like
            The documents' features.
        shown : array_like of int
            What was presented, or its first places.
        clicked : sequence or set of int
            Documents, none if there was no click.
        """
        task = self._parameters["task"]
        if not isinstance(task, Ranking):
            raise TypeError(f"learn_clicks is for rankings, and task is {task!r}")
        better = feedback_from_clicks(shown, clicked)
        self._warn_of_clicks()
        self.learn(x, shown, better)

    _warned: bool = False

    def _warn_of_clicks(self):
        if not self._warned:
            self._warned = True
            warnings.warn(f"{type(self).__name__} learns from raw clicks, which favour what stood "
                          "on top: use PDGD or PairwisePerceptron", stacklevel=3)


class PreferencePerceptron(CoactiveLearner):
    """Preference Perceptron: ``w += phi(x, better) - phi(x, y)``.

    Algorithm 1, in batches Algorithm 2, of the paper (2015).

    Parameters
    ----------
    task : Ranking, Items or object
        An object of your own has `dimension`, ``features(x, y)`` and ``argmax(w, x)``.
    batch : int, default 1
        The weights stay for so many rounds, after whose last one all their differences are
        added. An unfinished batch is part of the state and moves nothing yet.
    kernel : {"linear", "rbf", "poly"} or callable, optional
        Rankings only, and no batches: a document scores by its kernel values with the documents
        that feedback moved (section 5.1.2 of the paper of 2012). There are no weights. A callable
        gets two vectors and the parameters as keywords; `save` refuses it.
    kernel_params : dict, optional
        As scikit-learn's: gamma, coef0, degree.
    budget : int, optional
        So many documents are kept at most, at least 2k; the oldest round leaves whole.

    See Also
    --------
    SecondOrderPreferencePerceptron : Fewer rounds, O(N^2) each.
    PDGD : For clicks, which mislead this one.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.
    P. Shivaswamy, T. Joachims. Online structured prediction via coactive learning. ICML 2012.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> documents = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]])
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=2))
    >>> y = learner.present(documents)
    >>> y
    array([0, 1, 2])
    >>> learner.learn(documents, y, [1, 2, 0])  # the user prefers document 1, then 2
    >>> learner.present(documents)
    array([1, 2, 0])
    """

    _shaping = ("task", "kernel", "kernel_params")

    def __init__(self, task: Any, *, batch: SupportsIndex = 1,
                 kernel: str | Callable[..., float] | None = None,
                 kernel_params: dict[str, Any] | None = None,
                 budget: SupportsIndex | None = None) -> None:
        self._begin(**locals())

    def _maker(self, task, batch, kernel, kernel_params, budget):
        batch = count("batch", batch, least=1)
        if kernel is None:
            if kernel_params is not None or budget is not None:
                raise ValueError("kernel_params and budget go with a kernel only")
            return partial(rules.Perceptron, batch)
        if not isinstance(task, Ranking):
            raise ValueError(f"task must be a Ranking to go with a kernel, got {task!r}")
        if batch > 1:
            raise ValueError(f"batch must be 1 to go with a kernel, got {batch}")
        budget = 0 if budget is None else count("budget", budget, least=2 * task.k)
        return partial(rules.KernelPerceptron, kernel, kernel_params, budget, task.k)

    @property
    def rows_kept(self) -> int:
        """With a kernel: how many documents the scores are made of; 0 without."""
        return self._rows_kept


class ExponentiatedPreferencePerceptron(CoactiveLearner):
    """Weights that grow by the factor ``exp(eta_t Delta)`` and always sum to one.

    With ``signed`` every feature has a positive and a negative weight, 2N in all from 1/(2N) on;
    `weights` are their differences. They are kept as one logarithm a feature: nothing is
    doubled, nothing overflows.

    Parameters
    ----------
    task : Ranking, Items or object
        What is presented and by which features; an object of your own has ``dimension``,
        ``features(x, y)`` and ``argmax(w, x)``.
    scale : float, default 1.0
        S, a bound on the largest entry of the features; the rate is ``1 / (2 S sqrt(t))``.
    horizon : int, optional
        The number of rounds T, when it is known: the rate is then ``1 / (2 S sqrt(T))`` always.
    signed : bool, default True
        False: N weights that are never negative, from 1/N on.

    See Also
    --------
    PreferencePerceptron : Additive steps.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.
    J. Kivinen, M. K. Warmuth. Exponentiated gradient versus gradient descent for linear
    predictors. Information and Computation 132, 1997.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ExponentiatedPreferencePerceptron(cf.Ranking(k=1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.231,  0.231])
    """

    _shaping = ("task", "signed")

    def __init__(self, task: Any, *, scale: Real = 1.0, horizon: SupportsIndex | None = None,
                 signed: bool = True) -> None:
        self._begin(**locals())

    def _maker(self, task, scale, horizon, signed):
        scale = number("scale", scale, above=0.0)
        over = 0 if horizon is None else count("horizon", horizon, least=1)
        signed = switch("signed", signed)
        return partial(rules.Exponentiated, scale, over, signed)


class _GivesWay(float):
    """The default of a radius: who gives a set in its place has not given both."""


RADIUS = _GivesWay(100.0)


class BoundedLearner(CoactiveLearner):
    """What learners share whose weights stay in a ball or another set; see `_ball_or_set`."""

    _method: str      # of a set, beside `contains`
    _most = math.inf   # the largest radius

    def _build(self, parameters):
        radius, feasible = parameters["radius"], parameters["feasible"]
        if feasible is None and (radius is None or radius == RADIUS):
            parameters["radius"] = RADIUS
        elif feasible is not None and type(radius) is _GivesWay:
            parameters["radius"] = None
        elif feasible is not None and radius is not None:
            raise ValueError("give one of radius and feasible: radius=r is feasible=Ball(r)")
        return super()._build(parameters)

    def _ball_or_set(self, radius, feasible):
        """The radius of a ball, or 0 and the set; and whether all of it is compiled."""
        if feasible is None:
            return number("radius", radius, above=0.0, most=self._most), None, True
        if type(feasible) is Ball:
            return number("the radius of feasible", feasible.radius, most=self._most), None, True
        for name in ("contains", self._method):
            if isinstance(feasible, type) or not callable(getattr(feasible, name, None)):
                raise TypeError("feasible must be a Ball, Box or L1Ball, or an object with "
                                f"contains and {self._method}; {feasible!r} has no {name}")
        if not isinstance(feasible, (Box, L1Ball, Simplex)):
            return 0.0, feasible, False  # asked about 0 once the dimension is known
        n = max(np.size(getattr(feasible, name, 0.0)) for name in ("lower", "upper"))
        return 0.0, feasible, bool(rules.region_around_zero(feasible, n).compiled)


class ConvexPreferencePerceptron(BoundedLearner):
    """Convex Preference Perceptron: steps of ``slope / sqrt(t)``, weights in a ball or a set.

    For convex losses of the utility. In the paper of 2015 the slope is 1; that of 2012 has the
    loss's slope bound G in its place.

    Parameters
    ----------
    task : Ranking, Items or object
        What is presented and by which features; an object of your own has ``dimension``,
        ``features(x, y)`` and ``argmax(w, x)``.
    radius : float, default 100.0
        Of the ball around 0; the same as ``feasible=Ball(radius)``.
    slope : float, default 1.0
        The weights of round t move by ``slope / sqrt(t)`` times delta.
    feasible : set, optional
        In place of a radius: `Ball`, `Box`, `L1Ball`, or an object of your own with
        ``contains(x)`` and ``project(z)``. It must hold 0, where the weights start. `save`
        refuses a set of your own.

    See Also
    --------
    SecondOrderPreferencePerceptron : For strongly convex losses.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.
    P. Shivaswamy, T. Joachims. Online structured prediction via coactive learning. ICML 2012.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ConvexPreferencePerceptron(cf.Ranking(k=1), radius=0.5)
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.354,  0.354])
    >>> positive = cf.ConvexPreferencePerceptron(cf.Ranking(k=1), feasible=cf.Box(0.0, 1.0))
    >>> positive.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> positive.weights
    array([0., 1.])
    """

    _shaping = ("task", "feasible")
    _method, _most = "project", 1e300

    def __init__(self, task: Any, *, radius: Real | None = RADIUS, slope: Real = 1.0,
                 feasible: Any = None) -> None:
        self._begin(**locals())

    def _maker(self, task, radius, slope, feasible):
        radius, feasible, compiled = self._ball_or_set(radius, feasible)
        slope = number("slope", slope, above=0.0)
        return partial(rules.Convex, radius, slope, feasible, compiled)


class SecondOrderPreferencePerceptron(BoundedLearner):
    """Second-order: ``A += gamma Delta Delta^T``, ``w += A^-1 Delta``, projected.

    For strongly convex losses of the utility. The projection onto the ball, or the set, is in the
    norm of A. That onto the ball takes O(N^2) by Lanczos steps on the inverse, as does the update;
    memory is about ``30 N^2`` bytes.

    Parameters
    ----------
    task : Ranking, Items or object
        What is presented and by which features; an object of your own has ``dimension``,
        ``features(x, y)`` and ``argmax(w, x)``.
    radius : float, default 100.0
        Of the ball around 0; the same as ``feasible=Ball(radius)``.
    gamma : float, default 1.0
        The quotient lambda / G of the loss.
    epsilon : float, default 1.0
        A starts at ``epsilon I``.
    feasible : set, optional
        In place of a radius: `Ball`, `Box`, `L1Ball`, or an object of your own with
        ``contains(x)`` and ``project_in(z, Ainv)``. It must hold 0, where the weights start.
        `save` refuses a set of your own.
    projection : {"exact", "deferred"}, default "exact"
        "deferred", for balls, lets the point move in the ball of twice the radius, shows its
        nearest point of the ball, and projects in the norm of A only when it leaves the larger
        one: far fewer projections and in our trials no more regret, but not the paper's
        algorithm.

    See Also
    --------
    PreferencePerceptron : O(N) a round.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(k=1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights.round(3)
    array([-0.333,  0.333])
    >>> positive = cf.SecondOrderPreferencePerceptron(cf.Ranking(k=1), feasible=cf.Box(0.0, 1.0))
    >>> positive.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> positive.weights.round(3)
    array([0. , 0.5])
    """

    _shaping = ("task", "epsilon", "feasible", "projection")
    _method, _most = "project_in", 1e150

    def __init__(self, task: Any, *, radius: Real | None = RADIUS, gamma: Real = 1.0,
                 epsilon: Real = 1.0, feasible: Any = None,
                 projection: Literal["exact", "deferred"] = "exact") -> None:
        self._begin(**locals())

    def _maker(self, task, radius, gamma, epsilon, feasible, projection):
        radius, feasible, compiled = self._ball_or_set(radius, feasible)
        gamma = number("gamma", gamma, above=0.0)
        epsilon = invertible("epsilon", epsilon)
        deferred = choice("projection", projection, ("exact", "deferred")) == "deferred"
        if deferred and feasible is not None:
            raise ValueError('projection="deferred" is for balls alone, not for feasible')
        return partial(rules.SecondOrder, radius, gamma, epsilon, deferred, feasible, compiled)


class CustomPreferencePerceptron(CoactiveLearner):
    """A rule of your own in the same shell.

    Parameters
    ----------
    task : Ranking, Items or object
        What is presented and by which features; an object of your own has ``dimension``,
        ``features(x, y)`` and ``argmax(w, x)``.
    rule : callable
        ``rule(state, delta) -> weights``: the new weights from ``state.weights`` (a copy of the
        present ones, zeros at first), ``state.rounds`` (learned before this one),
        ``state.memory`` (a dictionary that the rule may fill and finds again) and the round's
        ``delta = phi(better) - phi(y)``. If it raises, the learner is as before.

    See Also
    --------
    PreferencePerceptron : The rule ``w + Delta``, compiled.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> def slowing(state, delta):
    ...     return state.weights + delta / (1 + state.rounds)
    >>> learner = cf.CustomPreferencePerceptron(cf.Ranking(k=1), slowing)
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> learner.weights
    array([-1.,  1.])
    """

    def __init__(self, task: Any, rule: Callable[[Any, Vector], ArrayLike]) -> None:
        self._begin(**locals())

    def _maker(self, task, rule):
        if not callable(rule):
            raise TypeError(f"rule must be callable, got {type(rule).__name__}")
        return partial(rules.Custom, rule)


# --- learners that draw what they present and hold it until it is answered ------------------------


class DrawingLearner(CoactiveLearner):
    """What learners share that draw what they present and hold it until it is answered."""

    # Python makes an object by the first base whose compiled part is the largest: that must be the
    # engine of the learner's own, and so no other `PendingEngine` may come before it.
    learn_clicks = rules.PendingEngine.learn_clicks

    _tasks: tuple[type, ...] = (Ranking,)

    def _build(self, parameters):
        task = parameters["task"]
        if not isinstance(task, self._tasks):
            allowed = "a Ranking" if len(self._tasks) == 1 else "Ranking or Items"
            raise TypeError(f"task must be {allowed}, got {type(task).__name__}")
        explore, rate = self._numbers(parameters)
        return {**super()._build(parameters), "explore": explore, "rate": rate,
                "chance": Chance(make_generator(parameters["seed"]))}

    def _maker(self, task, **parameters):
        return partial(rules.Perceptron, 1)

    def _numbers(self, parameters):
        """How far or how likely what is presented leaves the best, and the length of a step."""
        raise NotImplementedError


class DuelingBandit(DrawingLearner, rules.DuelingEngine):
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
        self._begin(**locals())

    _tasks = (Ranking, Items)

    def _numbers(self, parameters):
        return (number("explore", parameters["explore"], above=0.0),
                number("step", parameters["step"], above=0.0))

    def update(self, delta: object) -> None:
        """Always a `TypeError`: comparisons have no difference of features to learn from.

        Parameters
        ----------
        delta : object
            Not looked at.
        """
        raise TypeError("DuelingBandit learns from comparisons alone: call present, then learn")


class PairwisePerceptron(DrawingLearner, rules.PairwiseEngine):
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
        self._begin(**locals())

    def _numbers(self, parameters):
        return number("swap", parameters["swap"], least=0.0, most=1.0), 0.0


class PDGD(DrawingLearner, rules.PDGDEngine):
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
        self._begin(**locals())

    def _numbers(self, parameters):
        return 0.0, number("rate", parameters["rate"], above=0.0)

    def learn(self, x: ArrayLike, y: ArrayLike, better: ArrayLike) -> None:
        """Always a `TypeError`: what it learns from is clicks, by `learn_clicks`.

        Parameters
        ----------
        x, y, better : object
            Not looked at.
        """
        raise TypeError("PDGD learns from clicks alone: call present, then learn_clicks")
