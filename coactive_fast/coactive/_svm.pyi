from typing import Any

from ._learners import CoactiveLearner

class RankingSVM(CoactiveLearner):
    def __init__(self, task: Any) -> None: ...
