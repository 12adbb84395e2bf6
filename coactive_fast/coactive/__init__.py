"""Learning from an improved object: a ranking or an item is presented, a user makes it better."""

from ._dueling import DuelingBandit
from ._item_simulation import simulate_items
from ._learners import (
    ConvexPreferencePerceptron,
    CustomPreferencePerceptron,
    ExponentiatedPreferencePerceptron,
    PreferencePerceptron,
    SecondOrderPreferencePerceptron,
)
from ._simulation import simulate
from ._svm import RankingSVM
from ._tasks import Items, Ranking

__all__ = [
    "ConvexPreferencePerceptron",
    "CustomPreferencePerceptron",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "Items",
    "PreferencePerceptron",
    "Ranking",
    "RankingSVM",
    "SecondOrderPreferencePerceptron",
    "simulate",
    "simulate_items",
]
