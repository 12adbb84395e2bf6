"""What all learners have: parameters, copies, and files.

A learner's class names its parameters and checks them: `_build` gives the parts that its engine
starts from. The engine, which is a base class of the learner's class, owns the state and offers

    _fresh            True until something was learned
    _state()          everything that learning has changed, as plain arrays and numbers
    _restore(state)   the reverse, checked before anything is changed
    _reset()          back to the beginning
    _change(...)      other parameters, where what was learned allows them
"""

from __future__ import annotations

import copy
import inspect
import os
from typing import TYPE_CHECKING, Any

from .._initialized import not_initialized
from .._typing import Self
from . import _store
from ._history import History


class Missing:
    """What a class has in place of an attribute that `__init__` sets."""

    def __get__(self, learner, kind):
        if learner is None:
            return self
        raise RuntimeError(not_initialized(kind))


def parameters_of(given):
    """The arguments of a method by name, given its ``locals()`` before it has any other."""
    return {name: value for name, value in given.items()
            if name not in ("self", "cls", "__class__")}


class Learner:
    """Base of all learners: parameters, copies, files.

    `load` answers one, of whatever class the file holds; `isinstance` tells which.

    See Also
    --------
    load : A learner from its file.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> from coactive_fast.learner import Learner
    >>> isinstance(cf.Confidit(3), Learner)
    True
    """

    last_history: History | None = None  # of the last run, whatever ended it
    _parameters: dict[str, Any] = Missing()  # type: ignore[assignment]
    _defaults: dict[str, Any] = {}  # of the parameters, by the constructor
    _shaping: tuple[str, ...] = ()  # parameters that shape the state: they wait for reset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        cls._defaults = {p.name: p.default for p in parameters}
        _store.register(cls)

    def _begin(self, /, **given):
        """Called once by `__init__` with all its parameters (its ``locals()``), as they were given.
        """
        parameters = parameters_of(given)
        parts = self._build(parameters)
        self._keep(parameters)
        self._start(parts)

    def _keep(self, parameters):
        """The parameters, which also read like attributes; properties of the class come first."""
        self.__dict__.update(parameters, _parameters=parameters)

    def _build(self, parameters):
        """Checks the parameters; the parts that the engine starts from."""
        raise NotImplementedError

    # --- parameters -------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as they were given.

        Parameters
        ----------
        deep : bool, default True
            Also those of parameters that are learners, as ``name__parameter``.

        Returns
        -------
        dict
            Names and values, which the constructor takes as keywords.
        """
        found = dict(self._parameters)
        if deep:
            for name, value in self._parameters.items():
                if isinstance(value, Learner):
                    found |= {f"{name}__{inner}": own for inner, own in value.get_params().items()}
        return found

    def set_params(self, **parameters: Any) -> Self:
        """Changes parameters; what was learned stays, the next round uses the new values.

        Parameters that shape the state can be changed before the first round and after `reset`.

        Parameters
        ----------
        **parameters
            By the names of the constructor.

        Returns
        -------
        self
            The learner with the new parameters.
        """
        own = {name: value for name, value in parameters.items() if "__" not in name}
        for name in own:
            if name not in self._parameters:
                raise ValueError(f"{name} is no parameter of {type(self).__name__}; it has "
                                 f"{', '.join(self._parameters) or 'none'}")
        for name, value in parameters.items():
            outer, inner, rest = name.partition("__")
            if not inner:
                continue
            learner = own.get(outer, self._parameters.get(outer))
            if not isinstance(learner, Learner):
                raise ValueError(f"{name}: {outer} is no learner among the parameters")
            own[outer] = copy.deepcopy(learner).set_params(**{rest: value})
        if own:
            self._set(own)
        return self

    def _set(self, parameters):
        changed = [name for name in parameters
                   if not _same(parameters[name], self._parameters[name])]
        merged = {**self._parameters, **parameters}
        shaping = [name for name in changed if name in self._shaping]
        self._change(self._build(merged), changed, shaping)
        self._keep(merged)

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any: ...  # parameters

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__.get("_parameters", ()):
            raise AttributeError(f"{name} is a parameter: use set_params({name}=...)")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        shown = [f"{name}={value!r}" for name, value in self._parameters.items()
                 if not _same(value, self._defaults.get(name, inspect.Parameter.empty))]
        return f"{type(self).__name__}({', '.join(shown)})"

    # --- copies -----------------------------------------------------------------------------

    def clone(self) -> Self:
        """A learner with the same parameters that has learned nothing.

        Returns
        -------
        Learner
            Of the same class, fresh.
        """
        return type(self)(**copy.deepcopy(self._parameters))

    def __sklearn_clone__(self) -> Self:
        return self.clone()

    def reset(self) -> Self:
        """Forgets everything: the learner is as it was made (its generator too).

        Returns
        -------
        self
            The learner itself, so that calls can follow one another.
        """
        if self._parameters is not None:  # an error of its own where __init__ was not called
            self._reset()
        return self

    def __copy__(self) -> Self:
        return _restored(type(self), dict(self._parameters), self._state())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        parameters = copy.deepcopy(self._parameters, memo)
        return _restored(type(self), parameters, copy.deepcopy(self._state(), memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._parameters, self._state())

    # --- files ------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the learner to a file from which `coactive_fast.load` brings it back.

        One file without pickle, with a format version and a checksum, written beside the target
        and put in its place when complete: whatever happens, the old or the new one is there.
        A learner that was loaded goes on bit for bit as this one would.

        Parameters
        ----------
        path : str or path-like
            The file; what is there is replaced.
        """
        _store.save(self, path)


def _restored(cls, parameters, state):
    """The learner of these parameters and this state; what an older version did not know yet has
    its default."""
    unknown = set(parameters) - set(cls._defaults)
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {', '.join(sorted(unknown))}")
    parameters = {name: parameters[name] if name in parameters else default
                  for name, default in cls._defaults.items()}
    learner = cls.__new__(cls)
    learner._begin(**parameters)
    learner._restore(state)
    return learner


def _same(a, b):
    if a is b:
        return True
    try:
        return bool(type(a) is type(b) and a == b)
    except (TypeError, ValueError):  # arrays have no single answer
        return False
