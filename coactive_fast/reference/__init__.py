"""The slow twins: all that is compiled, written in plain NumPy as its definition.

Nothing here is fast and nothing here is clever. Each function says in its docstring what is
computed and then computes it by the shortest safe road: full sorts, dense solves, exact
rational arithmetic where rounding would blur the answer. The compiled package is tested against
these functions, and they are the place to look up what a result means.

Names and signatures are those of `coactive_fast.kernels`, `coactive_fast.metric`, the learners,
the simulated users and the simulations, and what a parameter means is said there, at the class or
function of the same name. A twin's docstring says what is computed, and where it differs.

Examples
--------
>>> from coactive_fast import reference
>>> reference.top_k([0.5, 2.0, 2.0], 2)
array([1, 2])
"""

from typing import TYPE_CHECKING

from . import logs, losses, metrics, users
from .coactive_baselines import DuelingBandit, RankingSVM
from .coactive_clicks import PDGD, PairwisePerceptron
from .coactive_rules import (
    ConvexPreferencePerceptron,
    CustomPreferencePerceptron,
    ExponentiatedPreferencePerceptron,
    PreferencePerceptron,
    SecondOrderPreferencePerceptron,
)
from .coactive_tasks import Items, Ranking
from .convex import OGD, OGDEG, ONS, ONSEG
from .convex_barrier import DikinFTRL
from .convex_sets import Ball, Box, FeasibleSet, L1Ball, Simplex
from .filtering import AppleTasting, PerceptronFilter, SimpleFilter, run_topics
from .filtering_ridge import ProbabilisticRidgeFilter, RidgeFilter
from .fleet import Fleet
from .multiclass import (
    Banditron,
    MulticlassAROW,
    MulticlassPerceptron,
    MulticlassSecondOrderPerceptron,
)
from .multiclass_confidit import Confidit
from .multiclass_newtron import Newtron
from .rewards import ArmBandit, LinearBandit
from .rewards_bandit import Decision
from .rewards_catalogue import Catalogue
from .rewards_ridge import OnlineRidge
from .rewards_simulation import LinearRewards, RewardTable, simulate_bandit
from .simulation import History, simulate, simulate_items

if TYPE_CHECKING:  # typed as what they define
    from ..kernels import (
        exp,
        exponentiated_weights,
        inverse_update,
        log,
        project_ball,
        project_box,
        project_l1,
        project_scores,
        project_simplex,
        rank,
        ranking_features,
        top_k,
    )
    from ..metric import Diagonal, Dual, Full
else:
    from .dual import Dual
    from .elementary import exp, log
    from .exponentiated import exponentiated_weights
    from .kernels import inverse_update, rank, ranking_features, top_k
    from .metric import Diagonal, Full
    from .projections import (
        project_ball,
        project_box,
        project_l1,
        project_scores,
        project_simplex,
    )

__all__ = [
    "AppleTasting",
    "ArmBandit",
    "Ball",
    "Banditron",
    "Box",
    "Catalogue",
    "Confidit",
    "ConvexPreferencePerceptron",
    "CustomPreferencePerceptron",
    "Decision",
    "Diagonal",
    "DikinFTRL",
    "Dual",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "FeasibleSet",
    "Fleet",
    "Full",
    "History",
    "Items",
    "L1Ball",
    "LinearBandit",
    "LinearRewards",
    "MulticlassAROW",
    "MulticlassPerceptron",
    "MulticlassSecondOrderPerceptron",
    "Newtron",
    "OGD",
    "OGDEG",
    "ONS",
    "ONSEG",
    "OnlineRidge",
    "PDGD",
    "PairwisePerceptron",
    "PerceptronFilter",
    "PreferencePerceptron",
    "ProbabilisticRidgeFilter",
    "Ranking",
    "RankingSVM",
    "RewardTable",
    "RidgeFilter",
    "SecondOrderPreferencePerceptron",
    "SimpleFilter",
    "Simplex",
    "exp",
    "exponentiated_weights",
    "inverse_update",
    "log",
    "logs",
    "losses",
    "metrics",
    "project_ball",
    "project_box",
    "project_l1",
    "project_scores",
    "project_simplex",
    "rank",
    "ranking_features",
    "run_topics",
    "simulate",
    "simulate_bandit",
    "simulate_items",
    "top_k",
    "users",
]
