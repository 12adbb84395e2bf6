"""What each kind of model keeps in a record, and the way between records and learners.

A record keeps a regression as ``A^-1 = U D U^T``, and so does a learner of the robust form. One of
the fast form keeps A and its inverse; LAPACK makes one of the other: with ``A = L L^T``,
``U = (L / diag L)^-T`` and ``D = 1 / diag(L)^2``.
"""

from typing import NamedTuple

import numpy as np

from ..coactive import Ranking
from ..learner import _store
from ..metric._forms import Moving
from . import _chance
from ._engine import FilterFleet, PackedForm, RewardFleet, VectorFleet, bits_of

ROUNDS, EXTRA = 3, 5  # words of a head
LEARNED, NUMBERS = 1, 2  # words of a block
CORRELATED = 1e8  # of A_ii (A^-1)_ii, beyond which A has lost digits (CF_FULL_CORRELATED)


class Regression(NamedTuple):
    """What one regression has learned; A has ``share`` of the regulariser."""

    learned: int
    w: np.ndarray
    U: np.ndarray
    D: np.ndarray
    share: float

    def weighed(self, ridge, f):
        """``A <- ridge I + f (A - share ridge I)`` and ``A w <- f A w``."""
        metric = self.metric(ridge, "auto")
        d, added = len(self.w), (1.0 - f * self.share) * ridge
        if metric.health()["precision"] == "fast":
            A = f * metric.matrix() + added * np.eye(d)
            w = np.linalg.solve(A, f * (metric.matrix() @ self.w))
            return Regression(self.learned, w, *factors(A), 1.0)
        metric.decay(f)
        for unit in np.eye(d) if self.share < 1.0 else ():
            metric.update(unit, c=(1.0 - self.share) * ridge)
        return Regression(self.learned, self.w - added * metric.solve(self.w),
                          *metric._factors(), 1.0)

    def metric(self, ridge, precision):
        """The full metric of a learner; "auto" takes the robust form where A has lost digits."""
        A = matrix(self.U, self.D)
        inflation = np.diag(A) * ((self.U * self.U) @ self.D)
        if precision == "robust" or (precision == "auto" and not inflation.max() <= CORRELATED):
            return Moving._from_factors(self.U, self.D, A, self.share * ridge, precision)
        return Moving.from_matrix(A, self.share * ridge, precision=precision)

    def as_state(self, ridge, precision):
        """As the state of a learner has it."""
        return {"d": len(self.w), "learned": self.learned, "w": self.w, "scale": 1.0,
                "share": self.share, "metric": self.metric(ridge, precision).state()}


def regression_of(form):
    """Of a learner's state."""
    metric = Moving.from_state(form["metric"])
    if metric.health()["precision"] == "robust":
        U, D = metric._factors()
        D = D / form["scale"]
    else:
        U, D = factors(metric.matrix() * form["scale"])
    return Regression(form["learned"], form["w"], U, D, form["share"])


def factors(A):
    """``(U, D)``."""
    from scipy.linalg import solve_triangular

    try:
        lower = np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        raise ValueError("the learner's A is not positive definite in float64") from None
    diagonal = np.diag(lower).copy()
    U = solve_triangular(lower / diagonal, np.eye(len(A)), lower=True, unit_diagonal=True).T
    return U, diagonal**-2.0


def matrix(U, D):
    """A of the factors of its inverse."""
    from scipy.linalg import solve_triangular

    inner = solve_triangular(U, np.eye(len(D)), unit_diagonal=True)
    A = inner.T @ (inner / D[:, None])
    return (A + A.T) / 2.0


def fill(block, d, regression, ridge, forgets):
    """The words of a block; None: a regression that has learned nothing."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    learned, w, packed, diagonal, share = 0, 0.0, 0.0, 1.0 / ridge, 1.0
    if regression is not None:
        learned, w, share = regression.learned, regression.w, regression.share
        above = np.tril_indices(d, -1)  # (j, i) with i < j: the columns of U, one by one
        packed, diagonal = regression.U.T[above], regression.D
    block[LEARNED] = learned
    numbers[:d], numbers[d:2 * d], numbers[2 * d:2 * d + size] = w, diagonal, packed
    if forgets:
        numbers[2 * d + size] = share


def taken(block, d, forgets):
    """The regression of a block."""
    numbers = block[NUMBERS:].view(np.float64)
    size = d * (d - 1) // 2
    share = float(numbers[2 * d + size]) if forgets else 1.0
    U = np.eye(d)
    U.T[np.tril_indices(d, -1)] = numbers[2 * d:2 * d + size]
    return Regression(int(block[LEARNED]), numbers[:d].copy(), U, numbers[d:2 * d].copy(), share)


# --- kinds ----------------------------------------------------------------------------------------


class Kind:
    """A template with its prior.

    Parameters
    ----------
    template : Learner
        Fresh.
    prior : Learner or None
    weight : float
        How many times the prior's evidence counts.
    """

    extra = 0

    def __init__(self, template, prior, weight):
        self.template, self.parameters = template, template._parameters
        self.prior = prior if prior is not None and self.dimension(prior) else None
        self.weight = weight
        self.begin()
        self.first = None if self.prior is None else self.content(self.prior, weight)

    def refuse_width(self, d):
        wanted = 0 if self.prior is None else self.dimension(self.prior)
        if wanted and d != wanted:
            raise ValueError(f"x must have {wanted} features, as the prior has, got {d}")

    def has_made(self, layout):
        """Whether records of this layout can be of this kind."""
        return (layout.head == EXTRA + self.extra + layout.text
                and layout.block == NUMBERS + self.numbers(layout.d)
                and layout.k == getattr(self.template, "n_arms", 1))

    def fresh(self, layout):
        """The record of a model that nobody has fed."""
        self.refuse_width(layout.d)
        return self.written(layout, self.first)

    def record(self, layout, learner):
        """The record of a learner, but for its key."""
        return self.written(layout, self.content(learner, 1.0))

    def unfed(self):
        """The model that nobody has fed, as an ordinary learner."""
        learner = self.template.clone()
        if self.first is not None:
            self.give(learner, self.first)
        return learner

    def learner(self, layout, record):
        """An ordinary learner of a record."""
        return self.give(self.template.clone(), self.read(layout, record))

    def blocks(self, layout, record):
        return [record[layout.head + i * layout.block:][:layout.block] for i in range(layout.k)]


class Regressions(Kind):
    """What kinds of regressions share: the content is a dict with `rounds`, `regressions` and
    `extra`, the words of their own."""

    def begin(self):
        self.ridge = float(self.parameters.get("ridge", 1.0))
        self.forgets = float(self.parameters["forget"]) < 1.0

    def form(self):
        return PackedForm(self.ridge, float(self.parameters["forget"]),
                          self.parameters.get("link") == "logistic")

    def dimension(self, learner):
        return learner._engine._dimension

    def numbers(self, d):
        return 2 * d + d * (d - 1) // 2 + self.forgets

    def weighed(self, regressions, weight):
        if weight == 1.0:
            return regressions
        return [one.weighed(self.ridge, weight) for one in regressions]

    def written(self, layout, content):
        record = np.zeros(layout.record, dtype=np.int64)
        regressions = [None] * layout.k
        if content is not None:
            record[ROUNDS], regressions = content["rounds"], content["regressions"]
            record[EXTRA:EXTRA + self.extra] = content["extra"][:self.extra]
        for block, one in zip(self.blocks(layout, record), regressions, strict=True):
            fill(block, layout.d, one, self.ridge, self.forgets)
        return record

    def read(self, layout, record):
        found = [taken(block, layout.d, self.forgets) for block in self.blocks(layout, record)]
        return {"rounds": int(record[ROUNDS]), "regressions": found,
                "extra": record[EXTRA:EXTRA + self.extra]}


class Rewards(Regressions):
    """Regressions and bandits; the words of their own are a generator."""

    fleet = RewardFleet

    def begin(self):
        super().begin()
        self.start = None
        drawn = self.parameters.get("explore") in ("thompson", "squarecb")
        if drawn or self.parameters.get("floor", 0.0) > 0.0:
            self.start = _chance.start_of(self.parameters, bits_of(self.template._engine))
            self.extra = 5

    def content(self, learner, weight):
        state = learner._engine._state()
        drawn = self.extra and learner is not self.prior
        return {"rounds": state["learned"],
                "regressions": self.weighed([regression_of(one) for one in state["forms"]],
                                            weight),
                "extra": (_chance.words_of(bits_of(learner._engine).state) if drawn
                          else np.zeros(self.extra, dtype=np.int64))}

    def give(self, learner, content):
        state = learner._engine._state()
        precision = self.parameters["precision"]
        forms = [one.as_state(self.ridge, precision) for one in content["regressions"]]
        state.update(k=len(forms), d=forms[0]["d"], learned=content["rounds"], forms=forms)
        learner._engine._restore(state)
        if content["extra"].any():
            bits_of(learner._engine).state = _chance.state_from(content["extra"])
        return learner

    @staticmethod
    def refuse(parameters):
        if parameters["covariance"] != "full":
            raise ValueError('template must have covariance="full", got '
                             f'{parameters["covariance"]!r}')


class Filters(Regressions):
    """Ridge filters; the words of their own are what some rules count."""

    fleet = FilterFleet

    def begin(self):
        super().begin()
        if self.parameters["floor"] > 0.0 or self.parameters["rule"] == "dgs":
            self.extra = 2

    def content(self, learner, weight):
        state = learner._engine._state()
        known = np.array([state["known"]], dtype=np.float64).view(np.int64)
        return {"rounds": state["rounds"], "extra": np.array([state["relevant"], *known]),
                "regressions": self.weighed([regression_of(state["model"])], weight)}

    def give(self, learner, content):
        state = learner._engine._state()
        regression, = content["regressions"]
        state.update(rounds=content["rounds"], model=regression.as_state(
            self.ridge, self.parameters["precision"]))
        if content["extra"].size:
            relevant, known = content["extra"]
            state.update(relevant=int(relevant), known=float(known.view(np.float64)))
        learner._engine._restore(state)
        return learner

    @staticmethod
    def refuse(parameters):
        for name, wanted in (("covariance", "full"), ("window", None), ("calibrate", False)):
            if parameters[name] != wanted:
                raise ValueError(f"template must have {name}={wanted!r}, got {parameters[name]!r}")


class Perceptrons(Kind):
    """Preference perceptrons over rankings."""

    fleet, form = VectorFleet, None

    def begin(self):
        self.batch = int(self.parameters["batch"])
        self.vectors = ("w", "mean", "sum") if self.batch > 1 else ("w", "mean")

    def numbers(self, d):
        return len(self.vectors) * d

    def dimension(self, learner):
        return len(learner.weights)

    def content(self, learner, weight):
        state = learner._engine._state()
        return {**state, **{name: weight * state[name] for name in ("w", "mean", "sum")}}

    def written(self, layout, content):
        record = np.zeros(layout.record, dtype=np.int64)
        if content is not None:
            block, = self.blocks(layout, record)
            record[ROUNDS], block[LEARNED] = content["rounds"], content["waiting"]
            numbers = block[NUMBERS:].view(np.float64)
            numbers[:] = np.concatenate([content[name] for name in self.vectors])
        return record

    def read(self, layout, record):
        d, (block,) = layout.d, self.blocks(layout, record)
        vectors = block[NUMBERS:].view(np.float64).copy().reshape(-1, d)
        return {"n": d, "rounds": int(record[ROUNDS]), "waiting": int(block[LEARNED]),
                "sum": np.zeros(d), **dict(zip(self.vectors, vectors, strict=True))}

    def give(self, learner, content):
        learner._engine._restore({**learner._engine._state(), **content})
        return learner

    @staticmethod
    def refuse(parameters):
        if not isinstance(parameters["task"], Ranking):
            raise ValueError(f"template must have a Ranking as task, got {parameters['task']!r}")
        if parameters["kernel"] is not None:
            raise ValueError(f"template must have kernel=None, got {parameters['kernel']!r}")


KINDS = {"LinearBandit": Rewards, "ArmBandit": Rewards, "OnlineRidge": Rewards,
         "RidgeFilter": Filters, "PreferencePerceptron": Perceptrons}


def kind_of(template):
    """The class of a template's kind; what cannot be one is refused."""
    name = type(template).__name__
    if name not in KINDS or _store.learners().get(name) is not type(template):
        raise TypeError(f"template must be one of {', '.join(KINDS)}, got {name}")
    KINDS[name].refuse(template._parameters)
    if not template._engine._fresh:
        raise ValueError("template must not have learned anything: give it as prior")
    return KINDS[name]


def refuse_other(learner, template, name):
    """A learner of another kind or with other parameters."""
    if type(learner) is not type(template):
        raise TypeError(f"{name} must be a {type(template).__name__}, as the fleet's models are, "
                        f"got {type(learner).__name__}")
    for parameter, value in template._parameters.items():
        given = learner._parameters[parameter]
        if parameter != "seed" and repr(given) != repr(value):
            raise ValueError(f"{name} must have {parameter}={value!r}, as the fleet has, got "
                             f"{given!r}")
