"""coactive_fast: a compiled engine for learning from weak feedback.

``kernels``    array functions that any NumPy code can call
``metric``     A = ridge I + sum c x x^T and its inverse under rank-one updates
``reference``  the same in plain NumPy, as definition and oracle (slow)
"""

from . import _table, kernels, metric
from ._config import get_include, show_config
from ._version import __version__

__all__ = ["__version__", "get_include", "kernels", "metric", "reference", "show_config"]

del _table


def __getattr__(name):
    # the slow twins are not needed to use the fast ones: loaded when first asked for
    if name == "reference":
        import importlib

        return importlib.import_module("coactive_fast.reference")
    raise AttributeError(f"module 'coactive_fast' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), "reference"})
