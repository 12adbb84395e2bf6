"""Learners in files: what can be stored and how it is spelled.

The container (`_file`) holds JSON and arrays. Everything else becomes a JSON object with one key
that begins with "@": arrays, infinite floats, tuples, generators, tasks and sets, other learners.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from .._version import __version__
from . import _file, _random

if TYPE_CHECKING:
    from ._base import Learner

Class = TypeVar("Class", bound=type)
Kind = TypeVar("Kind", bound="Learner")

PACKAGE = __name__.split(".")[0]
SIZES = ("n_classes", "n_arms", "dimension")  # parameters by which a new engine takes its memory
BESIDE = "beside: "  # begins the names of arrays that are no part of the learner

_learners: dict[str, type] = {}  # by class name: the learners that this package offers
_things: dict[str, type] = {}  # of a task, a set, ...: rebuilt from the fields in `_stored`


def register(cls: Class) -> Class:
    """Takes note of a learner's class, to be found again by its name.

    That is a class of this package without an underscore that has an `__init__` of its own: what
    is a base for others leaves that to them. Classes of users are none of these, so that no file
    depends on what somebody's process happens to have defined.
    """
    public = not cls.__name__.startswith("_") and "__init__" in vars(cls)
    if public and cls.__module__.split(".")[0] == PACKAGE:
        _learners[cls.__name__] = cls
    return cls


def learners(family: str | None = None) -> dict[str, type[Any]]:
    """All learners that this package offers; every list of them begins here.

    Parameters
    ----------
    family : {"coactive", "multiclass", "filtering", "convex"}, optional
        Only those of this family, which is the name of the folder they live in.

    Returns
    -------
    dict of str to type
        Class names and classes.
    """
    return {name: cls for name, cls in _learners.items() if family in (None, family_of(cls))}


def family_of(cls: type) -> str | None:
    """The family of a learner's class, or of one that a user derived from it; None of others."""
    for base in cls.__mro__:
        if _learners.get(base.__name__) is base:
            return base.__module__.split(".")[1]
    return None


def storable(cls: Class) -> Class:
    """A class whose objects are rebuilt by ``cls(**fields)`` from the attributes in `_stored`."""
    _things[cls.__name__] = cls
    return cls


# --- to plain ---------------------------------------------------------------------------------


def _array(value, arrays):
    name = f"a{len(arrays)}"
    arrays[name] = value
    return {"@array": name}


def encode(value: Any, arrays: dict[str, Any], where: str) -> Any:
    """JSON for `value`; arrays go into `arrays`. `where` names it in an error."""
    if isinstance(value, (np.bool_, np.integer, np.floating)):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"@float": repr(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return _array(value, arrays)
    if isinstance(value, (list, tuple)):
        items = [encode(v, arrays, f"{where}[{i}]") for i, v in enumerate(value)]
        return items if isinstance(value, list) else {"@tuple": items}
    if isinstance(value, dict):
        return {"@dict": [[encode(k, arrays, where), encode(v, arrays, f"{where}[{k!r}]")]
                          for k, v in value.items()]}
    return _encode_object(value, arrays, where)


def _encode_object(value, arrays, where):
    if isinstance(value, np.random.BitGenerator):
        value = np.random.Generator(value)
    if isinstance(value, np.random.Generator):
        plain, own = _random.pack(value)
        return {"@generator": plain, "arrays": {k: _array(v, arrays) for k, v in own.items()}}
    if isinstance(value, np.random.SeedSequence):
        parts = [getattr(value, k) for k in ("entropy", "spawn_key", "pool_size",
                                             "n_children_spawned")]
        _random.sequence(*parts)  # which may refuse it
        return {"@seeds": [encode(part, arrays, where) for part in parts]}
    name = type(value).__name__
    if _things.get(name) is type(value):
        return {"@thing": name, "fields": {f: encode(getattr(value, f), arrays, f"{where}.{f}")
                                           for f in value._stored}}
    if _learners.get(name) is type(value):
        return {"@learner": name, **_learner_parts(value, arrays, where)}
    raise ValueError(f"{where} cannot be saved: {value!r} is of a kind that only its own code "
                     "can rebuild")


def _learner_parts(learner, arrays, where):
    parameters = {}
    for name, value in learner._parameters.items():
        try:
            parameters[name] = encode(value, arrays, f"{where}{name}")
        except ValueError:
            if name != "task":
                raise
            parameters[name] = {"@missing": type(value).__name__}
    return {"parameters": parameters,
            "state": encode(learner._engine._state(), arrays, f"{where}state")}


# --- and back ---------------------------------------------------------------------------------


def decode(plain: Any, arrays: dict[str, Any], task: object = None) -> Any:
    """The value that `encode` made `plain` from."""
    if isinstance(plain, list):
        return [decode(v, arrays, task) for v in plain]
    if not isinstance(plain, dict):
        return plain
    kind = next((k for k in plain if k.startswith("@")), None)
    if kind not in _DECODERS:
        raise ValueError(f"unknown entry {sorted(plain)}")
    return _DECODERS[kind](plain, arrays, task)


def _thing(plain, arrays, task):
    if plain["@thing"] not in _things:
        raise ValueError(f"unknown kind {plain['@thing']!r}")
    return _things[plain["@thing"]](
        **{k: decode(v, arrays, task) for k, v in plain["fields"].items()})


def _learner(plain, arrays, task):
    from ._base import _restored

    name = plain["@learner"]
    if name not in _learners:
        raise ValueError(f"{name!r} is no learner of this version of coactive_fast")
    parameters = {k: decode(v, arrays, task) for k, v in plain["parameters"].items()}
    if task is not None and "task" in parameters:
        parameters["task"] = task
    state = decode(plain["state"], arrays)
    longest = _longest(state)
    for size in SIZES:
        if type(parameters.get(size)) is int and parameters[size] > longest:
            raise ValueError(f"{size} is {parameters[size]}, and nothing in the state is so long")
    return _restored(_learners[name], parameters, state)


def _longest(state):
    """Of the arrays and lists of a state."""
    if isinstance(state, np.ndarray):
        return max(state.shape, default=0)
    if isinstance(state, (dict, list, tuple)):
        inner = state.values() if isinstance(state, dict) else state
        return max([0 if isinstance(state, dict) else len(state), *map(_longest, inner)])
    return 0


def _missing(plain, arrays, task):
    if task is None:
        raise ValueError(f"task must be given: the file was saved with one of type "
                         f"{plain['@missing']}, which only your code can rebuild")
    return task


_DECODERS = {
    "@array": lambda p, a, t: a.pop(p["@array"]),  # each stands once, whoever wrote the file
    "@float": lambda p, a, t: float(p["@float"]),
    "@tuple": lambda p, a, t: tuple(decode(v, a, t) for v in p["@tuple"]),
    "@dict": lambda p, a, t: {decode(k, a, t): decode(v, a, t) for k, v in p["@dict"]},
    "@generator": lambda p, a, t: _random.unpack(
        p["@generator"], {k: decode(v, a) for k, v in p["arrays"].items()}),
    "@seeds": lambda p, a, t: _random.sequence(*(decode(v, a) for v in p["@seeds"])),
    "@thing": _thing,
    "@learner": _learner,
    "@missing": _missing,
}


# --- files ------------------------------------------------------------------------------------


def save(learner: Any, path: str | os.PathLike[str],
         beside: tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]] | None = None) -> None:
    """Puts a learner into a file.

    `beside` is ``(head, arrays)`` of something that goes with it and that `load` does not look at,
    as how its rows are made from text; `loaded` answers both.
    """
    arrays: dict[str, Any] = {}
    parts = _learner_parts(learner, arrays, "")
    name = type(learner).__name__
    if _learners.get(name) is not type(learner):
        raise ValueError(f"{name} cannot be saved: it is no class of coactive_fast")
    head = {"package": __version__, "learner": {"@learner": name, **parts}}
    if beside is not None:
        head["beside"] = beside[0]
        arrays.update({BESIDE + key: array for key, array in beside[1].items()})
    _file.write(path, head, arrays)


@overload
def load(path: str | os.PathLike[str], *, task: object = None, kind: type[Kind]) -> Kind: ...
@overload
def load(path: str | os.PathLike[str], *, task: object = None, kind: None = None) -> Learner: ...


def load(path: str | os.PathLike[str], *, task: object = None,
         kind: type[Any] | None = None) -> Any:
    """The learner that `save` wrote.

    Parameters
    ----------
    path : str or path-like
        A file that a learner's `save` wrote.
    task : object, optional
        A task of your own, which no file can hold; it also takes the place of a stored one.
    kind : type, optional
        The class that the learner must be of; a file that holds another one is refused. To type
        checkers and editors the result is of this class.

    Returns
    -------
    Learner
        It goes on bit for bit as the saved one would have.

    Raises
    ------
    ValueError
        Where the file is damaged, or holds something else than was asked for.

    Examples
    --------
    >>> import os, tempfile
    >>> import coactive_fast as cf
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=1))
    >>> learner.learn([[1.0, 0.0], [0.0, 1.0]], [0, 1], [1, 0])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.cf")
    >>> learner.save(path)
    >>> cf.load(path).weights
    array([-1.,  1.])
    >>> cf.load(path, kind=cf.PreferencePerceptron).rounds
    1
    """
    if not isinstance(kind, type | None):
        raise TypeError(f"kind must be a class of learners or None, got {kind!r}")
    learner = loaded(path, task)[0]
    if kind is not None and not isinstance(learner, kind):
        raise ValueError(f"{path}: kind is {kind.__name__}, and the file holds a "
                         f"{type(learner).__name__}")
    return learner


def loaded(path: str | os.PathLike[str], task: object = None) -> tuple[Any, Any]:
    """``(learner, beside)`` of a file; the latter is None where `save` was given nothing."""
    head, arrays = _file.read(path)
    try:
        if not isinstance(head.get("learner"), dict) or "@learner" not in head["learner"]:
            raise ValueError("it holds no learner")
        beside = None
        if "beside" in head:
            beside = head["beside"], {name.removeprefix(BESIDE): array
                                      for name, array in arrays.items() if name.startswith(BESIDE)}
        learner = decode(head["learner"], arrays, task)
        if _learners.get(type(learner).__name__) is not type(learner):
            raise ValueError("it holds no learner")
        return learner, beside
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError,
            RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
