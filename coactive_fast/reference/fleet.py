"""Slow twin of the fleet: a dict of learners of their own."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator
from typing import Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real, RowsLike

from . import _check as check

MOST_BYTES = 63
DECISION = {"LinearBandit": "choose", "ArmBandit": "choose", "OnlineRidge": "predict",
            "RidgeFilter": "forward", "PreferencePerceptron": "present"}


class Fleet:
    """One model of the template's kind for each key, in memory.

    The parameters are those of `coactive_fast.Fleet`, which also keeps the models in a file. Here
    the template and the prior are twins, and every model is a copy of the prior that has learned
    the rows of its key.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> fleet = reference.Fleet(None, reference.LinearBandit(), 10)
    >>> fleet.learn("anna", [1.0, 0.0], 4.0)
    >>> fleet["anna"].weights, "ben" in fleet
    (array([2., 0.]), False)
    """

    def __init__(self, path: None, template: Any, capacity: SupportsIndex, *, prior: Any = None,
                 prior_weight: Real = 1.0) -> None:
        check.positive_count("capacity", capacity)
        weight = check.positive("prior_weight", prior_weight)
        if type(template).__name__ not in DECISION:
            raise TypeError(f"template must be one of {', '.join(DECISION)}, got "
                            f"{type(template).__name__}")
        self._unfed = copy.deepcopy(template)
        if prior is not None:
            if type(prior) is not type(template):
                raise TypeError(f"prior must be a {type(template).__name__}")
            self._unfed = weighed(copy.deepcopy(prior), weight)
        self._asked: dict[int | str, Any] = {}  # models that were asked but have not learned
        self._models: dict[int | str, Any] = {}

    def choose(self, key: int | str, x: Any, **words: Any) -> Any:
        """What the model of a key decides.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Fleet(None, reference.LinearBandit(), 10).choose(3, [[1.0], [2.0]])
        1
        """
        key = checked(key)
        model = self._models.get(key)
        if model is None:
            model = self._asked.setdefault(key, copy.deepcopy(self._unfed))
        if type(model).__name__ == "RidgeFilter":  # the round is counted: the model is there
            self._models[key] = model
        return getattr(model, DECISION[type(model).__name__])(x, **words)

    def learn(self, key: int | str, x: Any, *answers: Any, **words: Any) -> None:
        """One example for the model of a key.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> fleet = reference.Fleet(None, reference.OnlineRidge(), 10)
        >>> fleet.learn(3, [1.0], 4.0)
        >>> fleet.choose(3, [[1.0]])
        array([2.])
        """
        key = checked(key)
        model = self._models.get(key)
        if model is None:
            model = copy.deepcopy(self._asked.get(key, self._unfed))
        model.learn(x, *answers, **words)
        self._models[key] = model
        self._asked.pop(key, None)

    def run(self, keys: ArrayLike, X: RowsLike, *answers: ArrayLike,
            weight: ArrayLike | None = None) -> None:
        """Row t is learned by the model of ``keys[t]``.

        Of a filter where it forwards it, of a perceptron as ``phi(better) - phi(presented)``.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> fleet = reference.Fleet(None, reference.OnlineRidge(), 10)
        >>> fleet.run([3, 4], [[1.0], [2.0]], [4.0, 5.0])
        >>> list(fleet), fleet[4].weights
        ([3, 4], array([2.]))
        """
        kind = type(self._unfed).__name__
        for t, key in enumerate(np.asarray(keys).tolist()):
            words = {} if weight is None else {"weight": np.asarray(weight)[t]}
            row, given = np.asarray(X)[t], [np.asarray(one)[t].item() for one in answers]
            if kind == "PreferencePerceptron":
                self._models.setdefault(key, copy.deepcopy(self._unfed)).update(row)
            elif kind != "RidgeFilter" or self.choose(key, row) or self._unfed.feedback == "full":
                self.learn(key, row, *given, **words)

    def __getitem__(self, key: int | str) -> Any:
        return copy.deepcopy(self._models.get(checked(key), self._unfed))

    def __setitem__(self, key: int | str, learner: Any) -> None:
        if type(learner) is not type(self._unfed):
            raise TypeError(f"learner must be a {type(self._unfed).__name__}")
        self._models[checked(key)] = copy.deepcopy(learner)

    def __delitem__(self, key: int | str) -> None:
        del self._models[checked(key)]

    def __contains__(self, key: object) -> bool:
        return key in self._models

    def __len__(self) -> int:
        return len(self._models)

    def __iter__(self) -> Iterator[int | str]:
        return iter(self._models)


def checked(key):
    """A whole number of 64 bits or a text of at most 63 bytes."""
    if isinstance(key, str):
        if len(key.encode("utf-8")) > MOST_BYTES:
            raise ValueError(f"key must have at most {MOST_BYTES} bytes of UTF-8")
        return key
    if isinstance(key, (bool, np.bool_)) or not hasattr(key, "__index__"):
        raise TypeError(f"key must be an int or a str, got {type(key).__name__}")
    if not -(2**63) <= key.__index__() < 2**63:
        raise ValueError("key must be in -2**63 ... 2**63 - 1")
    return key.__index__()


def weighed(learner, f):
    """The learner with its evidence counted f times.

    ``A <- ridge I + f (A - rho ridge I)`` and ``b <- f b`` in every regression; weights that stand
    alone, their mean and the sum of an unfinished batch are multiplied.
    """
    if hasattr(learner, "_models"):
        if learner._models is not None:
            learner._models = [model.decayed(f) for model in learner._models]
    elif hasattr(learner, "_model"):
        learner._model = None if learner._model is None else learner._model.decayed(f)
    elif learner._state is not None and f != 1.0:
        state = learner._state
        memory = {name: f * value if isinstance(value, np.ndarray) else value
                  for name, value in state.memory.items()}
        learner._state = dataclasses.replace(state, weights=f * state.weights, memory=memory)
        learner._total = f * learner._total
    return learner
