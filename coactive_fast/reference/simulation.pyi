from dataclasses import dataclass
from typing import Any, Protocol, SupportsIndex, type_check_only

from numpy.typing import ArrayLike

from ..metric._rows import _Vector
from .coactive_baselines import DuelingBandit
from .coactive_learner import DeltaLearner
from .coactive_tasks import Items
from .multiclass_shell import _Seed
from .users import _User

@type_check_only
class _Queries(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...

@dataclass(eq=False)
class History:
    regret: _Vector
    utility: _Vector
    optimal_utility: _Vector
    regret_per_user: _Vector | None
    @property
    def cumulative_regret(self) -> _Vector: ...
    @property
    def average_regret(self) -> _Vector: ...

def simulate(
    learner: DeltaLearner | DuelingBandit,
    data: _Queries,
    user: _User,
    *,
    order: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    seed: _Seed = None,
) -> History: ...
def simulate_items(
    learner: DeltaLearner | DuelingBandit,
    items: ArrayLike | Items,
    weights: ArrayLike,
    user: _User,
    *,
    rounds: SupportsIndex = 1500,
    ratings: Any = None,
    n_jobs: SupportsIndex = 1,
    seed: _Seed = None,
) -> History: ...
