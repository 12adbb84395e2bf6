"""Apple tasting: a filter made of any learner that wants every label."""

import copy
import threading

import numpy as np

from ..convex._chance import Chance
from ..learner._check import count, number
from ..learner._random import make_generator
from ._engine import FilterEngine
from ._filters import Filter


class _TastingEngine:
    """Chance and counts around a classifier of one's own; see learner/_base.py."""

    def __init__(self, given, explore, chance):
        self.given, self.classifier = given, copy.deepcopy(given)
        self.explore, self.chance = explore, chance
        self.rounds = self.learned = 0
        self.lock = threading.RLock()  # for what changes; a round is a call of the user's code
        self.threshold = 0.0

    @property
    def fresh(self):
        return self.rounds == 0 and self.learned == 0

    def state(self):
        with self.lock:
            return {"rounds": self.rounds, "learned": self.learned,
                    "chance": self.chance.state(), "classifier": copy.deepcopy(self.classifier)}

    def restore(self, state):
        if not isinstance(state, dict):
            raise TypeError(f"state must be a dict, got {type(state).__name__}")
        try:
            rounds, learned = count("rounds", state["rounds"]), count("learned", state["learned"])
            classifier = copy.deepcopy(state["classifier"])
            if not isinstance(state["chance"], dict):
                raise TypeError("chance of the state must be a dict")
            chance = Chance.restored(state["chance"])
        except KeyError as error:
            raise ValueError(f"state must hold {error}") from None
        if type(classifier) is not type(self.given):
            raise TypeError("classifier of the state must be of the type of the one given, "
                            f"{type(self.given).__name__}")
        with self.lock:
            self.rounds, self.learned = rounds, learned
            self.classifier, self.chance = classifier, chance

    def reset(self):
        with self.lock:
            self.classifier, self.chance = copy.deepcopy(self.given), self.chance.fresh()
            self.rounds = self.learned = 0

    def adopt(self, other, changed):
        with self.lock:
            self.explore = other.explore
            if "seed" in changed:
                self.chance = other.chance

    def margin(self, x):
        return number("the margin of classifier", self.classifier.margin(x))

    def forward(self, x):
        with self.lock:
            margin = self.margin(x)
            forwarded = margin >= 0.0 or bool(self.chance.generator.random() < self.explore)
            self.rounds += 1
            return forwarded

    def learn(self, x, relevant):
        if not isinstance(relevant, (bool, np.bool_)):
            raise TypeError(f"relevant must be True or False, got {relevant!r}")
        with self.lock:
            self.classifier.learn(x, bool(relevant))
            self.learned += 1

    def play(self, run, report):
        """A whole stream: compiled where the classifier is a filter of this package."""
        inner = getattr(self.classifier, "_engine", None)
        with self.lock:
            if type(inner) is not FilterEngine or not _is_plain(type(self.classifier)):
                run.loop(self, report)
                return
            engine = inner.tasting(self.explore, self.chance)
            before = inner.learned
            try:
                run.run(engine, report)
            finally:
                inner.sharing(engine)
                self.rounds += engine.rounds
                self.learned += inner.learned - before


def _is_plain(kind):
    """Whether margin and learn are those of this package."""
    return (issubclass(kind, Filter) and kind.margin is Filter.margin
            and kind.learn is Filter.learn)


class AppleTasting(Filter):
    """Makes a filter of a learner that wants every label, by chance alone.

    Forwards where the classifier's margin is at least 0, else all the same with probability
    `explore`; the classifier learns what was forwarded. Its own threshold, `forward` and count of
    rounds are not used, and x is handed to it as it comes.

    Parameters
    ----------
    classifier : object
        Has ``margin(x)`` and ``learn(x, relevant)``. It is copied: `classifier` is the copy that
        learns, and `reset` returns to what was given.
    explore : float
        p, in [0, 1].
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. A coin is drawn where
        the margin is negative, and only there.

    Notes
    -----
    Over a filter of this package `run` is one compiled loop. A classifier of your own gets the
    rows of `run` one by one, ``X[t]`` (of a sparse X a CSR of one row); a learner over it cannot
    be saved.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.AppleTasting(cf.PerceptronFilter(), 0.0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0]), learner.classifier.rounds
    (False, 0)
    """

    _shaping = ("classifier",)

    def __init__(self, classifier, explore, *, seed=None):
        self._begin(classifier=classifier, explore=explore, seed=seed)

    def _build(self, given):
        classifier = given["classifier"]
        if isinstance(classifier, type):
            raise TypeError("classifier must be an object, got the class "
                            f"{classifier.__name__} itself")
        for name in ("margin", "learn"):
            if not callable(getattr(classifier, name, None)):
                raise TypeError(f"classifier must have the method {name}: "
                                f"{type(classifier).__name__} has not")
        explore = number("explore", given["explore"], least=0.0, most=1.0)
        return _TastingEngine(copy.deepcopy(classifier), explore,
                             Chance(make_generator(given["seed"])))

    @property
    def classifier(self):
        """The copy of the classifier that learns."""
        return self._engine.classifier

    def _play(self, run, report):
        self._engine.play(run, report)
