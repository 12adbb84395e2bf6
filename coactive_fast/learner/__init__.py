"""The shell that every learner wears: parameters, copies, files, histories."""

from ._base import Learner
from ._history import CoactiveHistory, History
from ._store import load

__all__ = ["CoactiveHistory", "History", "Learner", "load"]
