"""Packages that are not needed to compute, imported where they are used."""

import importlib


def require(module, extra, what):
    """The module, or an `ImportError` that names the extra which brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f'{what} needs {module}: pip install "coactive_fast[{extra}]"', name=module
        ) from error
