"""What an object says whose ``__init__`` was not called.

That is one of ``cls.__new__(cls)``, or of a subclass that forgets ``super().__init__()``.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

PACKAGE = __name__.split(".")[0]


def not_initialized(kind: type) -> str:
    """What is wrong with such an object of this class, as the text of an error."""
    return (f"{kind.__name__} is not initialized: __init__ was not called "
            "(a subclass calls super().__init__)")


class Initialized:
    """Base of classes that annotate what `__init__` sets (``name: type`` in the class).

    To read, copy or pickle an object that lacks one of these is a RuntimeError. Python asks
    `__getattr__` only for what is missing, so that no other access costs anything.
    """

    __slots__ = ()

    def _missing(self, name: str) -> Any:
        if name in _annotated(type(self)):
            raise RuntimeError(not_initialized(type(self)))
        return object.__getattribute__(self, name)  # Python's own error

    if not TYPE_CHECKING:  # which would take any name for an attribute
        __getattr__ = _missing

    def __reduce_ex__(self, protocol: Any) -> Any:
        for name in _annotated(type(self)):
            getattr(self, name)
        return super().__reduce_ex__(protocol)


def _annotated(kind):
    """The names that classes of this package annotate; those of a user's are the user's."""
    return {name for cls in kind.__mro__ if cls.__module__.split(".")[0] == PACKAGE
            for name in inspect.get_annotations(cls)}
