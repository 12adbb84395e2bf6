"""Apple tasting: a filter made of any learner that wants every label."""

from __future__ import annotations

import copy
from typing import Any

from .._typing import Real
from ..learner._chance import Chance
from ..learner._check import number
from ..learner._random import make_generator
from ._filters import Filter
from ._rules import Rule, TastingEngine


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
        Probability p in [0, 1].
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. A coin is drawn where
        the margin is negative, and only there.

    See Also
    --------
    RidgeFilter : Explores by its threshold, not by chance.

    Notes
    -----
    Over a filter of this package `run` is one compiled loop. A classifier of your own gets the
    rows of `run` one by one, ``X[t]`` (of a sparse X a CSR of one row); a learner over it cannot
    be saved.

    References
    ----------
    D. P. Helmbold, N. Littlestone, P. M. Long. Apple tasting. Information and Computation 161,
    2000.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.AppleTasting(cf.PerceptronFilter(), 0.0)
    >>> learner.learn([1.0, 0.0], False)
    >>> learner.forward([1.0, 0.0]), learner.classifier.rounds
    (False, 0)
    """

    _shaping = ("classifier",)

    def __init__(self, classifier: Any, explore: Real, *, seed: Any = None) -> None:
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
        return TastingEngine(copy.deepcopy(classifier), Rule("coin", explore=explore),
                             Chance(make_generator(given["seed"])), _is_plain(type(classifier)))

    @property
    def classifier(self) -> Any:
        """The copy of the classifier that learns."""
        return self._engine.classifier
