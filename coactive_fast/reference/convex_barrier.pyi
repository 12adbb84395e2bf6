from typing import SupportsIndex

from ..metric._rows import _Real
from .convex_shell import Bandit, _Seed

class DikinFTRL(Bandit):
    delta: float
    eta: float
    def __init__(
        self,
        dimension: SupportsIndex,
        *,
        horizon: SupportsIndex | None = None,
        loss_bound: _Real = 1.0,
        eta: _Real | None = None,
        delta: _Real = 0.9,
        baseline: bool = True,
        seed: _Seed = None,
    ) -> None: ...
