"""The parameters of an adapter, and the learner they make, or are given as a pattern."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from coactive_fast.learner._base import parameters_of
from coactive_fast.multiclass import Confidit
from coactive_fast.multiclass._learners import MulticlassLearner


def fresh(pattern: MulticlassLearner | None, n_classes: int) -> MulticlassLearner:
    """A learner like `pattern` (None: Confidit) that has learned nothing, of so many classes."""
    if pattern is None:
        return Confidit(n_classes)
    if not isinstance(pattern, MulticlassLearner):
        raise TypeError("learner must be a multiclass learner, as coactive_fast.Confidit(2), got "
                        f"{pattern!r}")
    return pattern.clone().set_params(n_classes=n_classes)


def store_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Keeps each argument of `__init__` as the attribute of its name, where frameworks read it.

    `given`: the ``locals()`` of `__init__`, before it has any other.
    """
    vars(estimator).update(parameters_of(given))


def own_parameters(kind: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """What a learner's class takes of an adapter's parameters."""
    return {name: given[name] for name in inspect.signature(kind).parameters if name in given}


def seeded(learner: Any, chance: np.random.RandomState) -> Any:
    """The learner, with a seed from `chance` where it draws and was given none.

    One that draws nothing takes nothing, so that `chance` gives the rows the order it always did.
    """
    parameters = learner.get_params(deep=False)
    draws = getattr(type(learner), "_has_chance", lambda *_: True)  # some only by their parameters
    if "seed" in parameters and parameters["seed"] is None and draws(learner, parameters):
        learner.set_params(seed=int(chance.randint(2**31 - 1)))
    return learner
