from typing import SupportsIndex

from ..metric._rows import _Real
from .convex_sets import Feasible
from .convex_shell import Bandit, FullInformation, _Seed

UNIT: float

class ONSEG(Bandit):
    delta: float
    gamma: float
    beta: float
    epsilon: float
    def __init__(
        self,
        dimension: SupportsIndex,
        feasible: Feasible,
        *,
        horizon: SupportsIndex | None = None,
        loss_bound: _Real = 1.0,
        niceness: _Real = 1.0,
        lipschitz: _Real | None = None,
        beta: _Real | None = None,
        delta: _Real | None = None,
        gamma: _Real | None = None,
        epsilon: _Real | None = None,
        baseline: bool = False,
        seed: _Seed = None,
    ) -> None: ...

class OGDEG(Bandit):
    delta: float
    gamma: float
    def __init__(
        self,
        dimension: SupportsIndex,
        feasible: Feasible,
        *,
        loss_bound: _Real = 1.0,
        delta: _Real | None = None,
        gamma: _Real | None = None,
        horizon: SupportsIndex | None = None,
        seed: _Seed = None,
    ) -> None: ...

class ONS(FullInformation):
    beta: float
    epsilon: float
    def __init__(
        self,
        dimension: SupportsIndex,
        feasible: Feasible,
        beta: _Real,
        *,
        epsilon: _Real | None = None,
    ) -> None: ...

class OGD(FullInformation):
    gradient_bound: float
    def __init__(
        self, dimension: SupportsIndex, feasible: Feasible, gradient_bound: _Real
    ) -> None: ...
