"""Learning from the labels of what was forwarded."""

from ._filters import PerceptronFilter, SimpleFilter
from ._history import FilteringHistory
from ._ridge_filters import ProbabilisticRidgeFilter, RidgeFilter
from ._tasting import AppleTasting
from ._topics import run_topics

__all__ = [
    "AppleTasting",
    "FilteringHistory",
    "PerceptronFilter",
    "ProbabilisticRidgeFilter",
    "RidgeFilter",
    "SimpleFilter",
    "run_topics",
]
