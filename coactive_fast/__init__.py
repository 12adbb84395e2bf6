"""coactive_fast: a compiled engine for learning from weak feedback.

``PreferencePerceptron`` and its kin   learning from an improved ranking or item
``kernels``    array functions that any NumPy code can call
``metric``     A = ridge I + sum c x x^T and its inverse under rank-one updates
``users``      simulated users
``data``       loaders and generators
``metrics``    measures of rankings
``reference``  the same in plain NumPy, as definition and oracle (slow)
"""

from . import _table, kernels, metric, users
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
from .learner import load

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
    "__version__",
    "data",
    "get_include",
    "kernels",
    "load",
    "metric",
    "metrics",
    "reference",
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
