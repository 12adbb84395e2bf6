from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from ..learner import CoactiveHistory
from ._simulation import _Progress

def simulate_items(
    learner: Any,
    items: Any,
    weights: ArrayLike,
    user: Any,
    *,
    rounds: SupportsIndex = 1500,
    ratings: Any = None,
    n_jobs: SupportsIndex = 1,
    seed: Any = None,
    progress: _Progress = None,
) -> CoactiveHistory: ...
