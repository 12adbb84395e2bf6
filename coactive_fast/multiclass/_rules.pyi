from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

_Row: TypeAlias = ArrayLike | Any  # or a scipy.sparse row

class MulticlassEngine:
    def choose(self, x: _Row) -> int: ...

class BanditFeedback(MulticlassEngine):
    def learn(self, x: _Row, label: SupportsIndex, correct: bool | np.bool_) -> None: ...

class LabelFeedback(MulticlassEngine):
    def learn(self, x: _Row, y: SupportsIndex) -> None: ...
