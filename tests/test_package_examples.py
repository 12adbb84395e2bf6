"""The examples in the docstrings of every module of the package, a case a module."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import coactive_fast

# What a module needs that comes with an extra, by the beginning of its name.
NEEDS = {"adapters._river": "river", "adapters.dask": "dask", "adapters.river": "river",
         "adapters._sklearn": "sklearn", "adapters.sklearn": "sklearn"}


def names():
    """All modules of the package, but for `__main__`, which runs the command line."""
    found = pkgutil.walk_packages(coactive_fast.__path__, f"{coactive_fast.__name__}.")
    return [coactive_fast.__name__, *(module.name for module in found
                                      if not module.name.endswith(".__main__"))]


@pytest.mark.parametrize("name", names())
def test_examples(name):
    for beginning, needed in NEEDS.items():
        if name.startswith(f"coactive_fast.{beginning}"):
            pytest.importorskip(needed)
    module = importlib.import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    written = [thing.__doc__ or "" for thing in vars(module).values() if inspect.isclass(thing)
               or inspect.isroutine(thing) if thing.__module__ == name]
    assert outcome.attempted or not any(">>> " in doc for doc in written)
