from typing import Any, SupportsIndex

from typing_extensions import Self

from ._sets import Feasible, _Real
from ._shell import BanditLearner, GradientLearner, _Seed

class _Sphere(BanditLearner):
    feasible: Feasible
    horizon: int | None
    def set_params(self, **parameters: Any) -> Self: ...
    @property
    def delta(self) -> float: ...
    @property
    def gamma(self) -> float: ...

class ONSEG(_Sphere):
    niceness: float
    lipschitz: float | None
    baseline: bool
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
    @property
    def beta(self) -> float: ...
    @property
    def epsilon(self) -> float: ...

class OGDEG(_Sphere):
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

class DikinFTRL(BanditLearner):
    horizon: int | None
    delta: float
    baseline: bool
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
    @property
    def eta(self) -> float: ...

class ONS(GradientLearner):
    beta: float
    def __init__(
        self,
        dimension: SupportsIndex,
        feasible: Feasible,
        beta: _Real,
        *,
        epsilon: _Real | None = None,
    ) -> None: ...
    @property
    def epsilon(self) -> float: ...

class OGD(GradientLearner):
    gradient_bound: float
    def __init__(
        self, dimension: SupportsIndex, feasible: Feasible, gradient_bound: _Real
    ) -> None: ...
