from dataclasses import dataclass, field
from typing import Any, SupportsIndex

from typing_extensions import Self

from ..metric._rows import _Row, _Vector
from .coactive_tasks import _Task

@dataclass
class State:
    weights: _Vector
    rounds: int
    memory: dict[str, Any] = field(default_factory=dict)

class Learner:
    task: _Task
    def __init__(self, task: _Task) -> None: ...
    def reset(self) -> Self: ...
    @property
    def rounds(self) -> int: ...
    @property
    def weights(self) -> _Vector: ...
    @property
    def average_weights(self) -> _Vector: ...
    def present(self, x: Any, *, k: SupportsIndex | None = None) -> Any: ...
    def scores(self, x: Any) -> _Vector: ...

class DeltaLearner(Learner):
    def learn(self, x: Any, y: Any, better: Any) -> None: ...
    def update(self, delta: _Row) -> None: ...
