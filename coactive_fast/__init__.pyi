from . import data as data
from . import kernels as kernels
from . import metric as metric
from . import metrics as metrics
from . import reference as reference
from . import users as users
from ._config import get_include as get_include
from ._config import show_config as show_config
from .coactive import ConvexPreferencePerceptron as ConvexPreferencePerceptron
from .coactive import CustomPreferencePerceptron as CustomPreferencePerceptron
from .coactive import ExponentiatedPreferencePerceptron as ExponentiatedPreferencePerceptron
from .coactive import Items as Items
from .coactive import PreferencePerceptron as PreferencePerceptron
from .coactive import Ranking as Ranking
from .coactive import SecondOrderPreferencePerceptron as SecondOrderPreferencePerceptron
from .coactive import simulate as simulate
from .coactive import simulate_items as simulate_items
from .learner import load as load

__version__: str
__all__ = [
    "ConvexPreferencePerceptron",
    "CustomPreferencePerceptron",
    "ExponentiatedPreferencePerceptron",
    "Items",
    "PreferencePerceptron",
    "Ranking",
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
