"""The examples in the docstrings of every module of the package, a case a module."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import coactive_fast

# What a module needs that comes with an extra.
NEEDS = {f"coactive_fast.adapters.{name}": name for name in ("dask", "river", "sklearn")}


def names():
    """All modules of the package, but for `__main__`, which runs the command line."""
    found = pkgutil.walk_packages(coactive_fast.__path__, f"{coactive_fast.__name__}.")
    return [coactive_fast.__name__, *(module.name for module in found
                                      if not module.name.endswith(".__main__"))]


@pytest.mark.parametrize("name", names())
def test_examples(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    module = importlib.import_module(name)
    outcome = doctest.testmod(module)
    assert outcome.failed == 0
    written = [thing.__doc__ or "" for thing in vars(module).values() if inspect.isclass(thing)
               or inspect.isroutine(thing) if thing.__module__ == name]
    assert outcome.attempted or not any(">>> " in doc for doc in written)
