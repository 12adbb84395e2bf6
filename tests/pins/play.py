"""Plays a stream, and records the package's own warnings too."""

import warnings

from .notes import Notes, plain


def played(stream):
    notes = Notes()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        stream(notes)
    for warning in seen:
        if issubclass(warning.category, UserWarning):
            notes.add("warnings", f"{warning.category.__name__}: {plain(str(warning.message))}")
    return notes.finished()
