"""The learners of online convex optimisation: thin classes over their engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

from .._arrays import finite_vector
from .._memory import refuse_beyond_limit
from .._typing import Feasible, Progress, Real, Seed, Self, Values, Vector
from ..learner._base import Learner
from ..learner._chance import Chance
from ..learner._check import answering, choice, count, invertible, number, switch
from ..learner._random import make_generator
from . import _constants as constants
from ._history import ConvexHistory
from ._rules import BanditEngine, Barrier, ConvexRun, Descent, GradientEngine, Newton, region_of
from ._sets import METHODS, Simplex

MOST_DIMENSIONS = 2**40  # a few vectors of that length can be counted in bytes
MOST_ROUNDS = 2**56
VECTORS = 20  # of the dimension's length, that a learner without a matrix takes


class ConvexLearner(Learner):
    """What all learners of online convex optimisation have in common."""

    last_history: ConvexHistory | None
    if TYPE_CHECKING:  # parameters
        dimension: int
    _shaping: tuple[str, ...] = ("dimension", "feasible")
    _sees: tuple[str, ...] = ()  # methods that a run asks of its losses

    def _constant(self, name):
        """The parameter where it was given, else what its formula gave."""
        given = self._parameters[name]
        return getattr(self._rule, name) if given is None else given

    def run(self, losses: Values | Callable[[int, Vector], Real], rounds: SupportsIndex, *,
            progress: Progress = None) -> ConvexHistory:
        """Plays against a sequence of losses: the loop of `ask` and `tell`, bit for bit.

        With losses and sets of this package it is one compiled loop without the GIL; with your
        own the loop is Python's. It starts at row 0 of the losses, whatever was played before.

        Parameters
        ----------
        losses : object or callable
            One of ``coactive_fast.losses``, or an object with ``value(t, x)`` (and ``gradient(t,
            x)`` for ONS and OGD), or, where no gradient is needed, a function ``losses(t, x)``;
            t counts the rounds of this run from 0. An attribute ``scaling`` goes into the record.
        rounds : int
            How many.
        progress : bool or callable, optional
            True shows a bar; a callable is called now and then as ``progress(done, total)``.

        Returns
        -------
        ConvexHistory
            Also kept as ``last_history``, where an interrupted run leaves its rounds so far; the
            learner then stands between two rounds. With losses or sets of your own it may have
            asked for the point of the next one, which `ask` gives again.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> losses = cf.losses.Squared([[1.0], [2.0]], [1.0, 2.0])
        >>> cf.OGD(1, cf.Ball(2.0), gradient_bound=8.0).run(losses, 3).loss.round(3)
        array([0.5  , 0.5  , 0.021])
        """
        from .. import losses as own

        rounds = count("rounds", rounds, most=MOST_ROUNDS)
        classifies = bool(getattr(losses, "classifies", False))
        value = _value_of(losses, (*self._sees, "mistake") if classifies else self._sees)
        dimension = self._parameters["dimension"]
        length = getattr(losses, "dimension", dimension)
        if length != dimension:
            raise ValueError(f"losses have rows of length {length}, but the learner has dimension "
                             f"{dimension}")
        rows = getattr(losses, "_rows", None) if type(losses) in own.COMPILED else None
        return ConvexRun(losses, value, rows, rounds, classifies).play(self, progress)


def _value_of(losses, needed):
    """The function of losses, which must have the methods needed."""
    if needed == ("value",) and callable(losses) and not hasattr(losses, "value"):
        return losses
    return answering("losses", losses, needed).value


class Place:
    """Dimension and feasible set of a learner, checked."""

    def __init__(self, dimension: SupportsIndex, feasible: Feasible) -> None:
        self.n = count("dimension", dimension, least=1, most=MOST_DIMENSIONS)
        refuse_beyond_limit(8.0 * VECTORS * self.n, f"dimension={self.n}",
                            "a learner holds some vectors of that length")
        self.feasible = answering("feasible", feasible, METHODS)
        self.D = constants.diameter_of(feasible, self.n)
        self.origin = finite_vector(feasible.center(self.n), "feasible.center()", self.n,
                                    "the dimension").copy()
        self.whole: Any = region_of(feasible, self.n)

    def shrunk(self, gamma: float) -> Any:
        smaller = self.feasible.shrunk(gamma, self.n)
        return region_of(answering("feasible.shrunk()", smaller, METHODS), self.n)


class GradientLearner(ConvexLearner, GradientEngine):
    """Learners that see the gradient at the point they play, which is the centre itself."""

    if TYPE_CHECKING:  # parameters
        feasible: Feasible
    _sees = ("value", "gradient")


class BanditLearner(ConvexLearner, BanditEngine):
    """Learners that see loss values only."""

    if TYPE_CHECKING:  # parameters
        loss_bound: float
        horizon: int | None
        seed: Seed
    _sees = ("value",)

    def _parts(self, place, make, parameters):
        baseline = switch("baseline", parameters.get("baseline", False))
        feedback = choice("feedback", parameters.get("feedback", "value"), ("value", "residual"))
        if baseline and feedback == "residual":
            raise ValueError('baseline must be False with feedback="residual", which subtracts '
                             "the loss before")
        return {"make": make, "origin": place.origin,
                "chance": Chance(make_generator(parameters["seed"])),
                "bound": number("loss_bound", parameters["loss_bound"], above=0.0),
                "subtracted": "mean" if baseline else
                              "previous" if feedback == "residual" else "nothing"}


# --- the learners ---------------------------------------------------------------------------------


class _Sphere(BanditLearner):
    """ONSEG and OGDEG: ``x = y + delta v`` with v uniform on the sphere, y in ``(1 - gamma) P``."""

    if TYPE_CHECKING:  # parameters
        feasible: Feasible
    _shaping = ("dimension", "feasible", "gamma", "epsilon")
    _deciding = {"dimension", "feasible", "horizon", "lipschitz", "delta", "gamma"}

    @property
    def delta(self) -> float:
        """Length of the random step."""
        return self._constant("delta")

    @property
    def gamma(self) -> float:
        """By how much the feasible set is shrunk for the centre."""
        return self._constant("gamma")

    def set_params(self, **parameters: Any) -> Self:
        """Changes parameters; what was learned stays, the next round uses the new values.

        After the first round gamma stays (also where another parameter decides it) until
        `reset`, since the centre lies in the set that it shrinks, and delta until the point that
        was asked for is told.

        Parameters
        ----------
        **parameters
            By the names of the constructor.

        Returns
        -------
        self
            The learner with the new parameters.
        """
        super().set_params(**parameters)
        if not self._deciding.isdisjoint(parameters):
            constants.warn(self._exploration(self._parameters)[2].warning)
        return self

    def _exploration(self, parameters):
        """The place, its size, delta and gamma, and what is wrong with the horizon."""
        place = Place(parameters["dimension"], parameters["feasible"])
        size = constants.size_of(place.feasible, place.n)
        names = ("horizon", "loss_bound", "lipschitz", "delta", "gamma")
        return place, size, constants.exploration(
            size, **{name: parameters[name] for name in names if name in parameters})


class ONSEG(_Sphere):
    """Online Newton step with estimated gradient: sees one loss value a round.

    Each round plays ``x = y + delta v``, v uniform on the unit sphere, y in ``(1 - gamma) P``, and
    then does, with d the dimension that counts (n - 1 for the simplex)::

        g = (d / delta) f(x) v
        A <- A + g g^T                                 (epsilon I at first)
        y <- projection of y - A^-1 g / beta on (1 - gamma) P in the norm of A

    Parameters
    ----------
    dimension : int
        Length of a point.
    feasible : Ball, Simplex, Box, L1Ball, or a set of your own (see `FeasibleSet`)
        The set P to choose from, with an in-radius > 0. The first centre is its own.
    horizon : int, optional
        Number of rounds T (>= 2) for the theorem's constants; not needed with `delta` and
        `gamma`.
    loss_bound : float, default 1.0
        F, a bound on the absolute losses. Losses beyond it are used, with one warning.
    niceness : float, default 1.0
        How strongly convex the losses are (sigma).
    lipschitz : float, optional
        L, a Lipschitz constant of the losses: the constants are then those of Theorem 2.
    beta, delta, gamma, epsilon : float, optional
        Inverse step size, length of the random step, share by which P is shrunk, and A at the
        start; each instead of its formula. ``gamma < 1`` and ``delta <= gamma r`` are demanded.
        As attributes: the constants in use.
    baseline : bool, default False
        Subtract the mean of all earlier losses from each loss. The estimate keeps its mean (the
        baseline is known before v is drawn) and varies less.
    feedback : {"value", "residual"}, default "value"
        "residual": what the step sees of a loss is by how much it exceeds the one before it,
        see below; not with `baseline`.
    seed : optional
        What `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

    Warns
    -----
    UserWarning
        When the horizon is too short for the theorem's delta and gamma, with the smallest one that
        is not: then ``gamma = 1/2`` and delta is at most gamma r, for which nothing is proved.

    See Also
    --------
    OGDEG : O(d) a round.
    ONS : Where gradients can be had.

    Notes
    -----
    Constants. Theorem 1: ``delta = (25 d^4 D^2 ln^2 T r / (3 T^2))^(1/3)``, ``gamma = (15 d^2 D ln
    T / (r T))^(1/3)``; Theorem 2: ``delta = sqrt(10 d^2 F D r ln T / (3 (L r + F) T))``, ``gamma =
    delta / r``; ``beta = min(delta / (4 d F D), sigma delta^2 / (d F)^2) / 2``, ``epsilon = 1 /
    (beta D)^2``.

    What is proved: g is an unbiased estimate of the gradient of f smoothed over a ball of radius
    delta (of f itself where f is linear). What the paper only claims: Theorem 1's regret of order
    T^(2/3) leaves out the theorem's own last term, 5 d ln T / alpha, which with its delta grows
    like T^(4/3); the best delta for the bound as it stands gives T^(4/5). Theorem 2 likewise gives
    T^(2/3) instead of T^(1/2). The proof builds A from gradients where the algorithm has only
    estimates, and takes niceness for strong convexity on all of P, which it is near the minimiser
    alone: read sigma as a global constant of strong convexity. Linear losses (the portfolio's)
    have none and are outside both theorems. In high dimension the constants exist for enormous
    horizons only (d = 94: 3e8 rounds).

    What the experiments used: delta of Theorem 1 and beta by hand, 3.3e-6 (abalone), 1.5e-5 (kin),
    9.2e-5 (ionosphere), 1.1e-5 (cancer), 8.7e-5 (94 shares, where Theorem 1's gamma is 55 and the
    points could not have been feasible).

    Residual feedback (Zhang, Zhou, Ji and Zavlanos) still asks for one value a round: ``g = (d /
    delta) (f_t(x_t) - f_{t-1}(x_{t-1})) v_t``, and the first round of a learner moves nothing.
    What is subtracted is known before v is drawn, so that g keeps its mean; where f changes slowly
    and is smooth the difference is as small as the steps are, and g does not grow like ``F /
    delta``. `loss_bound` should then bound the differences. After `tell_pair`, which is as ever,
    the mean of its two losses is the one before. Nothing is proved of it with Newton steps.

    A round costs one pass over a triangle of the inverse, and the projection where it is active;
    memory is about ``30 n^2`` bytes.

    References
    ----------
    B. Liu, J. Li, Y. Song, X. Liang, L. Jian, H. Liu. Online Newton step algorithm with estimated
    gradient. arXiv 1811.09955, 2018.
    Y. Zhang, Y. Zhou, K. Ji, M. M. Zavlanos. A new one-point residual-feedback oracle for black-box
    learning and control. Automatica 136, 2022.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ONSEG(2, cf.Ball(1.0), delta=0.1, gamma=0.2, beta=0.01, epsilon=1e4, seed=0)
    >>> for _ in range(200):
    ...     x = learner.ask()
    ...     learner.tell((x[0] - 0.5) ** 2 + x[1] ** 2)
    >>> learner.rounds, learner.center.round(1)
    (200, array([0.5, 0. ]))
    """

    if TYPE_CHECKING:  # parameters
        niceness: float
        lipschitz: float | None
        baseline: bool

    @property
    def beta(self) -> float:
        """Inverse step size."""
        return self._constant("beta")

    @property
    def epsilon(self) -> float:
        """What A begins with on its diagonal."""
        return self._constant("epsilon")

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, *,
                 horizon: SupportsIndex | None = None, loss_bound: Real = 1.0, niceness: Real = 1.0,
                 lipschitz: Real | None = None, beta: Real | None = None, delta: Real | None = None,
                 gamma: Real | None = None, epsilon: Real | None = None, baseline: bool = False,
                 feedback: Literal["value", "residual"] = "value", seed: Seed = None) -> None:
        self._begin(**locals())
        constants.warn(self._exploration(self._parameters)[2].warning)

    def _build(self, parameters):
        place, size, found = self._exploration(parameters)
        beta = constants.inverse_step(size, loss_bound=float(parameters["loss_bound"]),
                                      niceness=parameters["niceness"], delta=found.delta,
                                      beta=parameters["beta"])
        epsilon = constants.start_of_metric(place.D, beta=beta, epsilon=parameters["epsilon"])
        shrunk, rate = place.shrunk(found.gamma), size.d / found.delta
        return self._parts(
            place, lambda: Newton(place.whole, shrunk, rate, beta, epsilon, delta=found.delta,
                                  gamma=found.gamma), parameters)


class OGDEG(_Sphere):
    """Online gradient descent with estimated gradient (Flaxman, Kalai, McMahan).

    Each round plays ``x = y + delta v`` as `ONSEG` does, and then ``y <- projection of y - nu_t
    f(x) v on (1 - gamma) P`` (Euclidean) with ``nu_t = D / (F sqrt(t))``.

    Parameters
    ----------
    dimension : int
        Length of a point.
    feasible : Ball, Simplex, Box, L1Ball, or a set of your own (see `FeasibleSet`)
        The set P to choose from, with an in-radius > 0.
    loss_bound : float, default 1.0
        F, a bound on the absolute losses. Losses beyond it are used, with one warning.
    delta, gamma, horizon
        As for `ONSEG`, always by Theorem 1.
    feedback : {"value", "residual"}, default "value"
        "residual": ``f_t(x_t) - f_{t-1}(x_{t-1})`` stands for f, 0 in the first round; see `ONSEG`.
    seed
        As for `ONSEG`.

    See Also
    --------
    ONSEG : Steps of Newton's kind.
    OGD : Where gradients can be had.

    Notes
    -----
    The step size belongs to ``f v``: on the estimate ``g = (d / delta) f v`` it is ``D / (G
    sqrt(t))`` with ``G = d F / delta``, the bound on g. With `tell_pair`, ``(f+ - f-) / 2``
    stands for f: F should then bound that difference. Proved for convex losses with a delta and
    gamma of its own (regret T^(3/4)); those of Theorem 1 are what the ONSEG paper ran it with.
    A round costs O(n).

    References
    ----------
    A. D. Flaxman, A. T. Kalai, H. B. McMahan. Online convex optimization in the bandit setting:
    gradient descent without a gradient. SODA 2005.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.OGDEG(2, cf.Ball(1.0), delta=0.1, gamma=0.2, seed=0)
    >>> _ = learner.ask()
    >>> learner.tell(0.25)
    >>> learner.center.round(3)
    array([-0.345,  0.362])
    """

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, *, loss_bound: Real = 1.0,
                 delta: Real | None = None, gamma: Real | None = None,
                 horizon: SupportsIndex | None = None,
                 feedback: Literal["value", "residual"] = "value", seed: Seed = None) -> None:
        self._begin(**locals())
        constants.warn(self._exploration(self._parameters)[2].warning)

    def _build(self, parameters):
        place, _, found = self._exploration(parameters)
        shrunk = place.shrunk(found.gamma)
        rate = constants.step_size(place.D, "loss_bound", parameters["loss_bound"])
        return self._parts(
            place, lambda: Descent(place.whole, shrunk, rate, delta=found.delta,
                                   gamma=found.gamma), parameters)


class DikinFTRL(BanditLearner):
    """Bandit learner for the simplex that samples in the ellipsoid of the log barrier.

    A ball within the simplex is tiny (in-radius about 1/n). The ellipsoid of the barrier ``- sum
    ln y_i`` reaches far along the simplex and never beyond it: no projection, no shrunk set, and
    a round costs O(n). With ``m = n - 1``, u uniform on the unit sphere of ``sum y_i u_i = 0`` and
    the baseline b::

        x_i = y_i (1 + delta u_i)
        g_i = (m / delta) (f(x) - b) u_i / y_i
        G <- G + eta g
        y_i = 1 / (G_i + nu), nu such that they sum to 1

    Parameters
    ----------
    dimension : int
        Length of a point, >= 2.
    horizon : int, optional
        Number of rounds T (>= 2), for `eta`.
    loss_bound : float, default 1.0
        F, a bound on the absolute losses. Losses beyond it are used, with one warning; refused is
        one so far beyond it (with the default eta, some 1000 times at least) that it, or ordinary
        losses after it, could leave coordinates that are no numbers > 0.
    eta : float, optional
        Learning rate, instead of ``(delta / (m F)) min(1/4, sqrt(n ln T / (2 T)))``. As an
        attribute: the one in use.
    delta : float, default 0.9
        Size of the random step, > 0 and < 1.
    baseline : bool, default True
        Subtract the mean of all earlier losses from each loss.
    seed : optional
        As for `ONSEG`.

    See Also
    --------
    ONSEG : Steps of Newton's kind.

    Notes
    -----
    For a linear loss the mean of g is its gradient but for a constant in every coordinate, which
    no direction of the simplex sees. In the local norm g is at most ``m F / delta`` long (``b =
    0``), and while ``eta m F / delta <= 1/4`` the regret of this barrier method on linear losses is
    at most ``n ln T / eta + 2 eta T (m F / delta)^2`` plus a constant: the default eta makes the
    two equal. An eta by hand far beyond ``delta / (m F)`` drives coordinates towards 0 until a
    round is refused. In some tens of dimensions one loss value a round teaches
    little, whatever the method; where the gradient is known (portfolios), `ONS` and `OGD` use it.

    References
    ----------
    J. Abernethy, E. Hazan, A. Rakhlin. Competing in the dark: an efficient algorithm for bandit
    linear optimization. COLT 2008.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.DikinFTRL(3, eta=0.05, seed=0)
    >>> for _ in range(300):
    ...     x = learner.ask()
    ...     learner.tell(x[0] + x[1])
    >>> bool(learner.center[2] > 0.8)
    True
    """

    if TYPE_CHECKING:  # parameters
        delta: float
        baseline: bool
    _shaping = ("dimension",)

    @property
    def eta(self) -> float:
        """Learning rate."""
        return self._constant("eta")

    def __init__(self, dimension: SupportsIndex, *, horizon: SupportsIndex | None = None,
                 loss_bound: Real = 1.0, eta: Real | None = None, delta: Real = 0.9,
                 baseline: bool = True, seed: Seed = None) -> None:
        self._begin(**locals())

    def _build(self, parameters):
        place = Place(count("dimension", parameters["dimension"], least=2), Simplex())
        size = constants.size_of(place.feasible, place.n)
        delta = number("delta", parameters["delta"], above=0.0, below=1.0)
        bound = number("loss_bound", parameters["loss_bound"], above=0.0)
        eta = constants.barrier_rate(size, horizon=parameters["horizon"], loss_bound=bound,
                                     delta=delta, eta=parameters["eta"])
        return self._parts(place, lambda: Barrier(place.whole, delta, eta), parameters)


class ONS(GradientLearner):
    """Online Newton step: sees the gradient of each loss.

    From the centre of P on, with the gradient g and ``A = epsilon I`` at first::

        A <- A + g g^T
        y <- projection of y - A^-1 g / beta on P in the norm of A

    Parameters
    ----------
    dimension : int
        Length of a point.
    feasible : Ball, Simplex, Box, L1Ball, or a set of your own (see `FeasibleSet`)
        The set P to choose from.
    beta : float
        Inverse step size, > 0.
    epsilon : float, optional
        A at the start, instead of ``1 / (beta D)^2``. As an attribute: the one in use.

    See Also
    --------
    ONSEG : From loss values alone.
    OGD : O(d) a round.

    Notes
    -----
    For exp-concave losses its regret grows like ln T with ``beta = min(1/(4 G D), alpha)/2``, G
    the bound on the gradients and alpha the exp-concavity (Hazan, Agarwal, Kale). A round costs one
    pass over a triangle of the inverse, and the projection where it is active.

    References
    ----------
    E. Hazan, A. Agarwal, S. Kale. Logarithmic regret algorithms for online convex optimization.
    Machine Learning 69, 2007.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.ONS(2, cf.Ball(1.0), 0.5)
    >>> for _ in range(50):
    ...     y = learner.ask()
    ...     learner.tell(2.0 * (y - [0.5, 0.0]))
    >>> learner.center.round(2)
    array([0.5, 0. ])
    """

    if TYPE_CHECKING:  # parameters
        beta: float
    _shaping = ("dimension", "feasible", "epsilon")

    @property
    def epsilon(self) -> float:
        """What A begins with on its diagonal."""
        return self._constant("epsilon")

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, beta: Real, *,
                 epsilon: Real | None = None) -> None:
        self._begin(**locals())

    def _build(self, parameters):
        place = Place(parameters["dimension"], parameters["feasible"])
        beta = invertible("beta", parameters["beta"])
        epsilon = constants.start_of_metric(place.D, beta=beta, epsilon=parameters["epsilon"])
        return {"make": lambda: Newton(None, place.whole, 1.0, beta, epsilon),
                "origin": place.origin}


class OGD(GradientLearner):
    """Online gradient descent: sees the gradient of each loss.

    From the centre of P on, ``y <- projection of y - g D / (G sqrt(t)) on P`` (Euclidean).

    Parameters
    ----------
    dimension : int
        Length of a point.
    feasible : Ball, Simplex, Box, L1Ball, or a set of your own (see `FeasibleSet`)
        The set P to choose from.
    gradient_bound : float
        G, a bound on the length of the gradients.

    See Also
    --------
    OGDEG : From loss values alone.
    ONS : For exp-concave losses.

    Notes
    -----
    For convex losses its regret is at most ``3/2 G D sqrt(T)`` (Zinkevich). A round costs O(n).

    References
    ----------
    M. Zinkevich. Online convex programming and generalized infinitesimal gradient ascent. ICML
    2003.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.OGD(2, cf.Ball(1.0), 4.0)
    >>> _ = learner.ask()
    >>> learner.tell([1.0, 0.0])
    >>> learner.center
    array([-0.5,  0. ])
    """

    if TYPE_CHECKING:  # parameters
        gradient_bound: float

    def __init__(self, dimension: SupportsIndex, feasible: Feasible, gradient_bound: Real) -> None:
        self._begin(**locals())

    def _build(self, parameters):
        place = Place(parameters["dimension"], parameters["feasible"])
        rate = constants.step_size(place.D, "gradient_bound", parameters["gradient_bound"])
        return {"make": lambda: Descent(None, place.whole, rate), "origin": place.origin}
