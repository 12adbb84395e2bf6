from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from ..learner import CoactiveHistory

_Progress: TypeAlias = bool | Callable[[int, int], object] | None

def simulate(
    learner: Any,
    data: Any,
    user: Any,
    *,
    order: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    seed: Any = None,
    progress: _Progress = None,
) -> CoactiveHistory: ...
