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
``logs``       recorded decisions: what another policy would have earned, and replay
``reference``  the same in plain NumPy, as definition and oracle (slow)
``testing``    streams and ratios for the benchmarks of other projects

..
  PYTEST_DONT_REWRITE (for a plugin comes with the package, which may be imported before pytest)
"""

from typing import TYPE_CHECKING

try:
    from . import _table
except ImportError as _error:
    if _error.name != __name__:  # it is there, and does not load
        raise
    raise ImportError(
        f"the compiled modules of coactive_fast are not in {__path__[0]!r}. If that is its source "
        "folder: start Python in another folder, so that the installed package is found, or build "
        "them where they are with `python setup.py build_ext --inplace`") from _error
from . import kernels, losses, metric, users
from ._config import get_include, show_config
from ._version import __version__
from .coactive import (
    PDGD,
    ConvexPreferencePerceptron,
    CustomPreferencePerceptron,
    DuelingBandit,
    ExponentiatedPreferencePerceptron,
    Items,
    PairwisePerceptron,
    PreferencePerceptron,
    Ranking,
    RankingSVM,
    SecondOrderPreferencePerceptron,
    feedback_from_clicks,
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
from .fleet import Fleet
from .learner import load
from .multiclass import (
    Banditron,
    Confidit,
    MulticlassAROW,
    MulticlassPerceptron,
    MulticlassSecondOrderPerceptron,
    Newtron,
)
from .rewards import (
    ArmBandit,
    Catalogue,
    Decision,
    LinearBandit,
    LinearRewards,
    OnlineRidge,
    RewardTable,
    simulate_bandit,
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
    "DikinFTRL",
    "DuelingBandit",
    "ExponentiatedPreferencePerceptron",
    "FeasibleSet",
    "Fleet",
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
    "__version__",
    "data",
    "feedback_from_clicks",
    "get_include",
    "kernels",
    "load",
    "logs",
    "losses",
    "metric",
    "metrics",
    "reference",
    "run_topics",
    "show_config",
    "simulate",
    "simulate_bandit",
    "simulate_items",
    "testing",
    "users",
]

_LATER = ("data", "logs", "metrics", "reference", "testing")  # loaded when first asked for

if TYPE_CHECKING:
    from . import data, logs, metrics, reference, testing
else:
    def __getattr__(name):
        if name in _LATER:
            import importlib

            return importlib.import_module(f"coactive_fast.{name}")
        raise AttributeError(f"module 'coactive_fast' has no attribute {name!r}")


del TYPE_CHECKING, _table


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
