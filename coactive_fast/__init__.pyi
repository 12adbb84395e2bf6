from . import data as data
from . import kernels as kernels
from . import losses as losses
from . import metric as metric
from . import metrics as metrics
from . import reference as reference
from . import users as users
from ._config import get_include as get_include
from ._config import show_config as show_config
from .coactive import ConvexPreferencePerceptron as ConvexPreferencePerceptron
from .coactive import CustomPreferencePerceptron as CustomPreferencePerceptron
from .coactive import DuelingBandit as DuelingBandit
from .coactive import ExponentiatedPreferencePerceptron as ExponentiatedPreferencePerceptron
from .coactive import Items as Items
from .coactive import PreferencePerceptron as PreferencePerceptron
from .coactive import Ranking as Ranking
from .coactive import RankingSVM as RankingSVM
from .coactive import SecondOrderPreferencePerceptron as SecondOrderPreferencePerceptron
from .coactive import simulate as simulate
from .coactive import simulate_items as simulate_items
from .convex import OGD as OGD
from .convex import OGDEG as OGDEG
from .convex import ONS as ONS
from .convex import ONSEG as ONSEG
from .convex import Ball as Ball
from .convex import Box as Box
from .convex import DikinFTRL as DikinFTRL
from .convex import FeasibleSet as FeasibleSet
from .convex import L1Ball as L1Ball
from .convex import Simplex as Simplex
from .filtering import AppleTasting as AppleTasting
from .filtering import PerceptronFilter as PerceptronFilter
from .filtering import ProbabilisticRidgeFilter as ProbabilisticRidgeFilter
from .filtering import RidgeFilter as RidgeFilter
from .filtering import SimpleFilter as SimpleFilter
from .filtering import run_topics as run_topics
from .learner import load as load
from .multiclass import Banditron as Banditron
from .multiclass import Confidit as Confidit
from .multiclass import MulticlassAROW as MulticlassAROW
from .multiclass import MulticlassPerceptron as MulticlassPerceptron
from .multiclass import MulticlassSecondOrderPerceptron as MulticlassSecondOrderPerceptron

__version__: str
__all__ = [
    "AppleTasting",
    "Ball",
    "Banditron",
    "Box",
    "Confidit",
    "ConvexPreferencePerceptron",
    "CustomPreferencePerceptron",
    "DikinFTRL",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "FeasibleSet",
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
    "__version__",
    "data",
    "get_include",
    "kernels",
    "load",
    "losses",
    "metric",
    "metrics",
    "reference",
    "run_topics",
    "show_config",
    "simulate",
    "simulate_items",
    "users",
]
