"""coactive_fast: a compiled engine for learning from weak feedback.

``PreferencePerceptron`` and its kin   learning from an improved ranking or item
``ONSEG`` and its kin   learning from loss values
``Confidit`` and its kin   learning from right or wrong
``RidgeFilter`` and its kin   learning from the labels of what was forwarded
``kernels``    array functions that any NumPy code can call
``metric``     A = ridge I + sum c x x^T and its inverse under rank-one updates
``users``      simulated users
``losses``     compiled losses of online convex optimisation
``data``       loaders and generators
``metrics``    measures of rankings
``reference``  the same in plain NumPy, as definition and oracle (slow)
"""

from . import _table, kernels, losses, metric, users
from ._config import get_include, show_config
from ._version import __version__
from .coactive import (
    ConvexPreferencePerceptron,
    CustomPreferencePerceptron,
    DuelingBandit,
    ExponentiatedPreferencePerceptron,
    Items,
    PreferencePerceptron,
    Ranking,
    RankingSVM,
    SecondOrderPreferencePerceptron,
    simulate,
    simulate_items,
)
from .convex import (
    OGD,
    OGDEG,
    ONS,
    ONSEG,
    Ball,
    Box,
    DikinFTRL,
    FeasibleSet,
    L1Ball,
    Simplex,
)
from .filtering import (
    AppleTasting,
    PerceptronFilter,
    ProbabilisticRidgeFilter,
    RidgeFilter,
    SimpleFilter,
    run_topics,
)
from .learner import load
from .multiclass import (
    Banditron,
    Confidit,
    MulticlassAROW,
    MulticlassPerceptron,
    MulticlassSecondOrderPerceptron,
)

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

del _table

_LATER = ("data", "metrics", "reference")  # loaded when first asked for


def __getattr__(name):
    if name in _LATER:
        import importlib

        return importlib.import_module(f"coactive_fast.{name}")
    raise AttributeError(f"module 'coactive_fast' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER})
