"""Lines of plain tables, cut into fields: by commas, semicolons, tabs or blanks."""

import csv
from collections import Counter

import numpy as np

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.learner import _check as parameter

DELIMITERS = (",", ";", "\t")
MISSING = ("", "?", "NA", "nan", "NaN")
LONG = 1 << 20  # characters of a line from which on its fields are counted before it is cut
FIELD = 200  # bytes that one takes, as a string in lists and sets


def number(field):
    """A float; None for what is none."""
    try:
        return float(field)
    except ValueError:
        return None


def cut(lines, delimiter, name):
    """(line number, fields) of numbered lines of text; a line is a row, quotes or not.

    `delimiter` None: the first line tells, whose first comma, semicolon or tab it is; else blanks.
    `name` is what messages call the file.
    """
    for at, line in lines:
        if delimiter is None:
            delimiter = next((mark for mark in DELIMITERS if mark in line), " ")
        if len(line) > LONG:
            marks = " \t" if delimiter == " " else delimiter
            refuse_beyond_limit(float(FIELD) * (sum(map(line.count, marks)) + 1),
                                f"{name}: line {at}: a row of so many fields", "fewer take less")
        if delimiter == " ":
            yield at, line.split()
            continue
        try:
            fields = next(csv.reader([line], delimiter=delimiter))
        except csv.Error as error:
            raise ValueError(f"{name}: line {at}: expected fields with {delimiter!r} between, got "
                             f"{line[:40]!r}: {_reason(line, error)}") from None
        yield at, [field.strip() for field in fields]


def _reason(line, error):
    """Why the csv module refuses a line; what it says of a carriage return is advice on files."""
    return "a carriage return stands inside of it" if "\r" in line else str(error)


def checked_delimiter(delimiter):
    if delimiter is not None and delimiter not in (*DELIMITERS, " "):
        raise ValueError("delimiter must be ',', ';', a tab, ' ' (any blanks) or None, got "
                         f"{delimiter!r}")
    return delimiter


def distinct(names, what, where):
    """The names themselves, none of them twice."""
    if len(set(names)) < len(names):
        counts = Counter(names)
        twice = next(n for n in names if counts[n] > 1)
        raise ValueError(f"{where}: the names of the {what} must differ, got {twice!r} twice")
    return tuple(names)


def finite(field, where, column):
    """A finite number, or an error that tells its place."""
    value = number(field)
    if value is None or not np.isfinite(value):
        raise ValueError(f"{where}: {column}: expected a finite number, got {field[:40]!r}")
    return value


class Columns:
    """Which column is what: by the first line."""

    def __init__(self, first, target, drop, name):
        self.width, self.file = len(first), name
        self.first = first
        by_name = any(isinstance(which, str) for which in (target, *drop))
        self.target = None if target is None else self.place("target", target)
        dropped = {self.place("drop", which) for which in drop}
        self.features = [i for i in range(self.width) if i != self.target and i not in dropped]
        if not self.features:
            raise ValueError(f"{name} must have a column besides the target and what is dropped")
        self.header = by_name or any(number(first[i]) is None and first[i] not in MISSING
                                     for i in self.features)
        names = first if self.header else [str(i) for i in range(self.width)]
        self.names = distinct([names[i] for i in self.features], "columns", name)

    def place(self, what, which):
        if isinstance(which, str):
            if which not in self.first:
                raise ValueError(f"{what} must name a column of {self.file}, which has "
                                 f"{', '.join(self.first)[:200]}, got {which!r}")
            return self.first.index(which)
        at = parameter.count(what, which, least=-self.width, most=self.width - 1)
        return at % self.width

    def called(self, i):
        return f"column {i + 1}" + (f" ({self.first[i]})" if self.header else "")
