"""Learning from the labels of what was forwarded."""

from ._history import FilteringHistory
from ._learners import (
    AppleTasting,
    PerceptronFilter,
    ProbabilisticRidgeFilter,
    RidgeFilter,
    SimpleFilter,
    run_topics,
)

__all__ = ["AppleTasting", "FilteringHistory", "PerceptronFilter", "ProbabilisticRidgeFilter",
           "RidgeFilter", "SimpleFilter", "run_topics"]
