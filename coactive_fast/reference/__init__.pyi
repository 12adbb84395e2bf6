# The twins have the names and signatures of what they define.
from ..kernels import exp as exp
from ..kernels import exponentiated_weights as exponentiated_weights
from ..kernels import inverse_update as inverse_update
from ..kernels import log as log
from ..kernels import project_ball as project_ball
from ..kernels import project_box as project_box
from ..kernels import project_l1 as project_l1
from ..kernels import project_scores as project_scores
from ..kernels import project_simplex as project_simplex
from ..kernels import rank as rank
from ..kernels import ranking_features as ranking_features
from ..kernels import top_k as top_k
from ..metric import Diagonal as Diagonal
from ..metric import Dual as Dual
from ..metric import Full as Full
from . import losses as losses
from . import metrics as metrics
from . import users as users
from .coactive_baselines import DuelingBandit as DuelingBandit
from .coactive_baselines import RankingSVM as RankingSVM
from .coactive_rules import ConvexPreferencePerceptron as ConvexPreferencePerceptron
from .coactive_rules import CustomPreferencePerceptron as CustomPreferencePerceptron
from .coactive_rules import ExponentiatedPreferencePerceptron as ExponentiatedPreferencePerceptron
from .coactive_rules import PreferencePerceptron as PreferencePerceptron
from .coactive_rules import SecondOrderPreferencePerceptron as SecondOrderPreferencePerceptron
from .coactive_tasks import Items as Items
from .coactive_tasks import Ranking as Ranking
from .convex import OGD as OGD
from .convex import OGDEG as OGDEG
from .convex import ONS as ONS
from .convex import ONSEG as ONSEG
from .convex_barrier import DikinFTRL as DikinFTRL
from .convex_sets import Ball as Ball
from .convex_sets import Box as Box
from .convex_sets import FeasibleSet as FeasibleSet
from .convex_sets import L1Ball as L1Ball
from .convex_sets import Simplex as Simplex
from .filtering import AppleTasting as AppleTasting
from .filtering import PerceptronFilter as PerceptronFilter
from .filtering import ProbabilisticRidgeFilter as ProbabilisticRidgeFilter
from .filtering import RidgeFilter as RidgeFilter
from .filtering import SimpleFilter as SimpleFilter
from .multiclass import Banditron as Banditron
from .multiclass import MulticlassAROW as MulticlassAROW
from .multiclass import MulticlassPerceptron as MulticlassPerceptron
from .multiclass import MulticlassSecondOrderPerceptron as MulticlassSecondOrderPerceptron
from .multiclass_confidit import Confidit as Confidit
from .simulation import History as History
from .simulation import simulate as simulate
from .simulation import simulate_items as simulate_items

__all__ = [
    "AppleTasting",
    "Ball",
    "Banditron",
    "Box",
    "Confidit",
    "ConvexPreferencePerceptron",
    "CustomPreferencePerceptron",
    "Diagonal",
    "DikinFTRL",
    "Dual",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "FeasibleSet",
    "Full",
    "History",
    "Items",
    "L1Ball",
    "MulticlassAROW",
    "MulticlassPerceptron",
    "MulticlassSecondOrderPerceptron",
    "OGD",
    "OGDEG",
    "ONS",
    "ONSEG",
    "PerceptronFilter",
    "PreferencePerceptron",
    "ProbabilisticRidgeFilter",
    "Ranking",
    "RankingSVM",
    "RidgeFilter",
    "SecondOrderPreferencePerceptron",
    "SimpleFilter",
    "Simplex",
    "exp",
    "exponentiated_weights",
    "inverse_update",
    "log",
    "losses",
    "metrics",
    "project_ball",
    "project_box",
    "project_l1",
    "project_scores",
    "project_simplex",
    "rank",
    "ranking_features",
    "simulate",
    "simulate_items",
    "top_k",
    "users",
]
