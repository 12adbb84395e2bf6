from typing import Any

import numpy as np

from ._filters import Filter

class AppleTasting(Filter):
    def __init__(
        self,
        classifier: Any,
        explore: float | np.floating[Any] | np.integer[Any],
        *,
        seed: Any = None,
    ) -> None: ...
    @property
    def classifier(self) -> Any: ...
