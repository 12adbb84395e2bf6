from . import kernels as kernels
from . import metric as metric
from . import reference as reference
from ._config import get_include as get_include
from ._config import show_config as show_config

__version__: str
__all__ = ["__version__", "get_include", "kernels", "metric", "reference", "show_config"]
