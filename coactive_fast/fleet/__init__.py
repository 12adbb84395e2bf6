"""Very many small models in one file."""

from ._fleet import Fleet

__all__ = ["Fleet"]
