from typing import Any, ClassVar

import numpy as np
from typing_extensions import Self

class User:
    rankings: ClassVar[bool]
    items: ClassVar[bool]
    def respond(self, query: Any, presented: Any) -> Any: ...

class ChanceUser(User):
    rng: np.random.Generator
    def reset(self) -> Self: ...
