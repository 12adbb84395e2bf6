"""Plain tables: numbers with a column of labels, and price relatives.

A line is cut into fields by commas, semicolons, tabs or blanks.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._arrays import refuse_non_finite
from .._memory import refuse_beyond_limit
from .._typing import Source, Vector
from ..learner import _check as parameter
from . import _check
from ._open import opened_lines
from ._svmlight import load_svmlight

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
        except csv.Error as error:  # which of a carriage return gives advice on files
            why = "a carriage return stands inside of it" if "\r" in line else error
            raise ValueError(f"{name}: line {at}: expected fields with {delimiter!r} between, got "
                             f"{line[:40]!r}: {why}") from None
        yield at, [field.strip() for field in fields]


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


def strings(name, values):
    """A tuple of strings."""
    if isinstance(values, str):
        raise TypeError(f"{name} must be a sequence of strings, got a str")
    found = tuple(values)
    if not all(isinstance(item, str) for item in found):
        raise TypeError(f"{name} must be a sequence of strings")
    return found


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


def _rows(numbered, name, target, drop, what):
    """(columns, place for messages, fields) of each row below the names; `what` a field is."""
    plan = None
    for at, fields in numbered:
        where = f"{name}: line {at}"
        if plan is None:
            plan = Columns(fields, target, drop, name)
            if plan.header:
                continue
        if len(fields) != plan.width:
            raise ValueError(f"{where}: expected {plan.width} {what}, got {len(fields)}")
        yield plan, where, fields


# --- tables ---------------------------------------------------------------------------------------


class Table(NamedTuple):
    """A table of numbers, and the column that is told apart.

    Attributes
    ----------
    X : ndarray, shape (rows, columns)
        The columns but for the target, in the order of the file.
    y : ndarray of float64, or of int64 for classes; None where no target was asked for
        The target of each row.
    names : tuple of str
        Of the columns of X: those of the first line, else "0", "1", ... by their place in the file.
    classes : tuple of str or None
        Where the target is words: y holds places in it, from 0, in the order of the alphabet.
    """

    X: Vector
    y: NDArray[Any] | None
    names: tuple[str, ...]
    classes: tuple[str, ...] | None


def load_table(path: Source, *, target: int | str | None = -1, drop: Sequence[int | str] = (),
               delimiter: str | None = None, missing: str = "refuse",
               dtype: DTypeLike = np.float64) -> Table:
    """Read a plain table: CSV, or numbers with blanks between.

    So come the robot arms of the kin family (Delve, 1996; 8 numbers and the distance, which is the
    last), frames of vowels (Vocal Joystick, 2006; numbers and the vowel), and most sets of the UCI
    repository.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Text in UTF-8, a row a line; blank lines are skipped. The first line holds names if a field
        of it, other than the target or what is dropped, is neither a number nor missing. Packed
        files (gzip, bzip2, xz) are told by their first bytes.
    target : int, str or None, default=-1
        The column of labels, by its place (negative: from the right) or its name. None: there is
        none.
    drop : sequence of int or str, default=()
        Columns that are left out, as numbers of rows and dates.
    delimiter : {",", ";", "\\\\t", " "}, optional
        Between the fields; " " means any blanks. None: the first line tells.
    missing : {"refuse", "drop"}, default="refuse"
        What becomes of a row with a field that is empty, ``?``, ``NA`` or ``nan``: an error, or
        the row is left out.
    dtype : float32 or float64, default=float64
        Of X.

    Returns
    -------
    Table
        Rows and target as arrays, with the names of the columns and classes.

    Raises
    ------
    ValueError
        With the file, the line and the column of what is wrong.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> table = data.load_table(io.BytesIO(b"speed,size,kind\\n1.5,2,ship\\n3,4,boat\\n"))
    >>> table.X, table.y, table.names, table.classes
    (array([[1.5, 2. ],
           [3. , 4. ]]), array([1, 0]), ('speed', 'size'), ('boat', 'ship'))
    >>> data.load_table(io.BytesIO(b"7 1 2\\n8 3 4\\n"), drop=[0]).y
    array([2., 4.])
    """
    dtype = _check.float_dtype("dtype", dtype)
    parameter.choice("missing", missing, ("refuse", "drop"))
    delimiter = checked_delimiter(delimiter)
    plan, values = None, array("d")
    labels: list[str] = []
    with opened_lines(path) as (lines, name):
        for plan, where, fields in _rows(cut(lines, delimiter, name), name, target, drop, "fields"):
            _take(plan, fields, where, missing, values, labels)
    if plan is None or not labels:
        raise ValueError(f"{name} holds no rows")
    with np.errstate(over="ignore"):  # told as an error
        X = np.frombuffer(values).astype(dtype).reshape(len(labels), len(plan.features))
    refuse_non_finite(X, f"{name}: the rows as {dtype}")
    y, classes = (None, None) if plan.target is None else _labels(labels)
    return Table(X, y, plan.names, classes)


def _take(plan, fields, where, missing, values, labels):
    """One row into the arrays, all of it or nothing."""
    wanted = plan.features if plan.target is None else [*plan.features, plan.target]
    lacking = next((i for i in wanted if fields[i] in MISSING), None)
    if lacking is not None:
        if missing == "drop":
            return
        raise ValueError(f"{where}: {plan.called(lacking)}: nothing there, got {fields[lacking]!r} "
                         "(missing='drop' leaves such rows out)")
    row = [finite(fields[i], where, plan.called(i)) for i in plan.features]
    values.extend(row)
    labels.append("" if plan.target is None else fields[plan.target])


def _labels(labels):
    """(y, classes) of the target's fields."""
    numbers = [number(label) for label in labels]
    if all(value is not None and np.isfinite(value) for value in numbers):
        return np.array(numbers), None
    classes, y = np.unique(labels, return_inverse=True)
    return y.astype(np.int64), tuple(classes.tolist())


def load_breast_cancer(path: Source) -> tuple[Vector, NDArray[np.int64]]:
    """Read the Wisconsin breast cancer set (original), 683 rows of 9 features and no gaps.

    Either form: that of the UCI repository (``number,9 features,2 or 4``; 16 of its 699 rows have a
    ``?`` and are left out) or that of the LIBSVM page (``2 1:number 2:feature ...``). The patient's
    number is dropped in both.

    W. H. Wolberg, O. L. Mangasarian, Multisurface method of pattern separation, 1990.

    Parameters
    ----------
    path : str, os.PathLike or binary file object that can seek
        The file, in either form.

    Returns
    -------
    X : ndarray of float64, shape (rows, 9)
        The nine measurements of each sample, from 1 to 10.
    y : ndarray of int64
        1 for malignant, -1 for benign.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> text = b"10,5,1,1,1,2,1,3,1,1,2\\n11,8,7,5,10,7,9,5,5,4,4\\n12,1,1,1,1,2,?,3,1,1,2\\n"
    >>> X, y = data.load_breast_cancer(io.BytesIO(text))
    >>> X.shape, y
    ((2, 9), array([-1,  1]))
    """
    if _is_svmlight(path):
        rows, labels = load_svmlight(path, n_features=10)
        X, column = rows.toarray()[:, 1:], "label"
    else:
        X, told, *_ = load_table(path, drop=[0], missing="drop", delimiter=",")
        labels, column = np.asarray(told), "column 11"
    name = repr(path)
    if X.shape[1] != 9:
        raise ValueError(f"{name}: expected 11 columns, got {X.shape[1] + 2}")
    bad = np.flatnonzero((labels != 2) & (labels != 4))
    if bad.size:
        raise ValueError(f"{name}: row {bad[0] + 1} of those without gaps: {column}: expected 2 or "
                         f"4, got {labels[bad[0]]:g}")
    return X, np.where(labels == 4, 1, -1)


def _is_svmlight(path):
    with opened_lines(path) as (lines, _):
        first = next((line for _, line in lines), "")
    if hasattr(path, "seek"):
        path.seek(0)
    return ":" in first


# --- prices ---------------------------------------------------------------------------------------


class Prices(NamedTuple):
    """Price relatives and whose they are.

    Attributes
    ----------
    relatives : ndarray of float64, shape (periods, shares)
        Price at a period's end over that at its beginning.
    names : tuple of str
        One a share.
    """

    relatives: Vector
    names: tuple[str, ...]


def load_prices(path: Source, *, prices: bool = False, drop: Sequence[int | str] = (),
                delimiter: str | None = None) -> Prices:
    """Read price relatives, or prices: a plain table with a row a period and a column a share.

    The first line holds the shares' names unless all of it are numbers; the shares are then called
    "0", "1", ... Blank lines are skipped. ``coactive_fast.losses.PortfolioReturn`` takes the
    relatives as they are, or less 1 for rates. So are read the sets of the portfolio papers (TSE,
    NYSE, ...), and closing prices as exchanges tell them (SSE).

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes.
    prices : bool, default=False
        The table holds prices: a relative is a row over the one before, one period less.
    drop : sequence of int or str, default=()
        Columns that are no shares, as dates, by their places or names.
    delimiter : {",", ";", "\\t", " "}, optional
        Between the fields; " " means any blanks. None: the first line tells.

    Returns
    -------
    Prices
        ``relatives`` of shape (periods, shares), finite and > 0, and ``names``.

    Raises
    ------
    ValueError
        For a bad line, with its number, the share and the text.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> prices = data.load_prices(io.BytesIO(b"acme,zinc\\n1.01,0.99\\n1.0,1.02\\n"))
    >>> prices.names, prices.relatives
    (('acme', 'zinc'), array([[1.01, 0.99],
           [1.  , 1.02]]))
    >>> text = b"day acme\\nMon 4\\nTue 5\\nWed 6\\n"
    >>> data.load_prices(io.BytesIO(text), prices=True, drop=["day"]).relatives.ravel()
    array([1.25, 1.2 ])
    """
    prices = parameter.switch("prices", prices)
    delimiter = checked_delimiter(delimiter)
    plan, values = None, array("d")
    with opened_lines(path) as (lines, name):
        for plan, where, fields in _rows(cut(lines, delimiter, name), name, None, drop, "values"):
            values.extend(_relatives(plan, fields, where, prices))
    if plan is None or len(values) < (2 if prices else 1) * len(plan.features):
        raise ValueError(f"{name} must hold at least one row of price relatives"
                         + (", so two of prices" if prices else ""))
    relatives = np.frombuffer(values).reshape(-1, len(plan.features)).copy()
    if prices:
        with np.errstate(over="ignore", under="ignore"):
            relatives = relatives[1:] / relatives[:-1]
        if not (np.isfinite(relatives) & (relatives > 0.0)).all():
            raise ValueError(f"{name}: the ratio of two prices is beyond the range of float64")
    return Prices(relatives, plan.names)


def _relatives(plan, fields, where, prices):
    row = [number(fields[i]) for i in plan.features]
    for i, value in zip(plan.features, row, strict=True):
        if value is None or not (0.0 < value < math.inf):
            raise ValueError(f"{where}: {plan.called(i)}: a price{'' if prices else ' relative'} "
                             f"must be a finite number > 0, got {fields[i][:40]!r}")
    return row
