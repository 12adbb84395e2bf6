"""Learning from an improved object: a ranking or an item is presented, a user makes it better."""

from ._learners import (
    PDGD,
    ConvexPreferencePerceptron,
    CustomPreferencePerceptron,
    DuelingBandit,
    ExponentiatedPreferencePerceptron,
    PairwisePerceptron,
    PreferencePerceptron,
    SecondOrderPreferencePerceptron,
)
from ._simulation import simulate, simulate_items
from ._svm import RankingSVM
from ._tasks import Items, Ranking
from ._user import feedback_from_clicks

__all__ = ["ConvexPreferencePerceptron", "CustomPreferencePerceptron", "DuelingBandit",
           "ExponentiatedPreferencePerceptron", "Items", "PDGD", "PairwisePerceptron",
           "PreferencePerceptron", "Ranking", "RankingSVM", "SecondOrderPreferencePerceptron",
           "feedback_from_clicks", "simulate", "simulate_items"]
