"""Every public name, for the tests of the docs: what stands in ``__all__``, and public members."""

import importlib
import importlib.util
import inspect

ROOMS = ("", "coactive", "convex", "data", "filtering", "fleet", "kernels", "learner", "logs",
         "losses", "metric", "metrics", "multiclass", "reference", "rewards", "testing", "users")
FRAMEWORKS = {"adapters.dask": "distributed", "adapters.mabwiser": "numpy",
              "adapters.river": "river", "adapters.sklearn": "sklearn"}


def modules():
    """The public modules that can be imported here."""
    there = [name for name, needs in FRAMEWORKS.items() if importlib.util.find_spec(needs)]
    return [importlib.import_module(f"coactive_fast.{name}".rstrip(".")) for name in
            (*ROOMS, *there)]


def objects():
    """{full name: object}; an object of two names has the one that comes first."""
    found, seen = {}, set()
    for module in modules():
        for name in module.__all__:
            value = getattr(module, name)
            if name.startswith("_") or inspect.ismodule(value) or id(value) in seen:
                continue
            seen.add(id(value))
            found[f"{module.__name__}.{name}"] = value
    return found


def members(cls):
    """{name: function, property or class} of what a class of this package brings its users."""
    found = {}
    for base in reversed(cls.__mro__):
        if base.__module__.split(".")[0] == "coactive_fast":
            found |= {name: bound(cls, name, value) for name, value in vars(base).items()
                      if not name.startswith("_") and described(value)
                      and not (name.startswith("set_") and name.endswith("_request"))}
    return found  # those requests are scikit-learn's, as are their docstrings


def bound(cls, name, value):
    return getattr(cls, name) if isinstance(value, (classmethod, staticmethod)) else value


def described(value):
    return inspect.isroutine(value) or inspect.isclass(value) or inspect.isdatadescriptor(value)


def everything():
    """`objects` and the public members of the classes among them."""
    found = {}
    for name, value in objects().items():
        found[name] = value
        if inspect.isclass(value):
            found |= {f"{name}.{member}": part for member, part in members(value).items()}
    return found
