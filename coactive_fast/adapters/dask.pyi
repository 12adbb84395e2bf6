from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self

from coactive_fast.coactive import PreferencePerceptron
from coactive_fast.learner._history import CoactiveHistory

__all__ = ["Workers", "decision_function", "distributed_simulate", "predict", "rank"]

_Collection = TypeVar("_Collection")

RETRIES: int

class Workers:
    cluster: Any
    timeout: float
    client: Any
    jobs: int
    stopped: bool
    def __init__(self, cluster: Any, *, timeout: float = 10.0) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def each(self, tasks: Sequence[Any], sets: Any) -> Iterator[tuple[int, Any]]: ...
    def stop(self) -> None: ...

def distributed_order(sizes: ArrayLike, batch: int) -> NDArray[np.intp]: ...
def distributed_simulate(
    learner: PreferencePerceptron,
    partitions: Sequence[Any],
    user: Any,
    batch: int,
    client: Any,
    *,
    weights: ArrayLike | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
) -> CoactiveHistory: ...
def predict(learner: Any, X: _Collection) -> _Collection: ...
def decision_function(learner: Any, X: _Collection) -> _Collection: ...
def rank(learner: Any, queries: _Collection, *, k: int | None = None) -> _Collection: ...
