"""Multiclass learning from right or wrong: a label is tried, and one bit comes back."""

from ._history import MulticlassHistory
from ._learners import (
    Banditron,
    Confidit,
    MulticlassAROW,
    MulticlassPerceptron,
    MulticlassSecondOrderPerceptron,
    Newtron,
)

__all__ = ["Banditron", "Confidit", "MulticlassAROW", "MulticlassHistory", "MulticlassPerceptron",
           "MulticlassSecondOrderPerceptron", "Newtron"]
