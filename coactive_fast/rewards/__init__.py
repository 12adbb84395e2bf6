"""Learning from real rewards: a number comes back, for what was chosen alone."""

from ._history import BanditHistory, Decision, RegressionHistory
from ._learners import ArmBandit, LinearBandit, OnlineRidge
from ._rules import Catalogue
from ._simulation import LinearRewards, RewardTable, simulate_bandit

__all__ = ["ArmBandit", "BanditHistory", "Catalogue", "Decision", "LinearBandit", "LinearRewards",
           "OnlineRidge", "RegressionHistory", "RewardTable", "simulate_bandit"]
