from collections.abc import Callable
from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from ._filters import Filter
from ._history import FilteringHistory

def run_topics(
    learner: Filter,
    X: ArrayLike | Any,
    Y: ArrayLike | Any,
    *,
    n_jobs: SupportsIndex = 1,
    progress: bool | Callable[[int, int], object] | None = None,
) -> list[FilteringHistory]: ...
