from typing import Any, SupportsIndex

from numpy.typing import ArrayLike

from .._typing import Real

class FleetCalls:
    def choose(self, key: int | str, x: Any, *, allowed: ArrayLike | None = None,
               k: SupportsIndex | None = None, context: ArrayLike | None = None) -> Any: ...
    def learn(self, key: int | str, x: Any, *answers: Any, weight: Real | None = None,
              context: ArrayLike | None = None) -> None: ...
