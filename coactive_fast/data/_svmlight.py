"""svmlight files as CSR matrices or dense rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, overload

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from .._memory import refuse_beyond_limit
from .._typing import Source, Vector, Whole
from ..learner import _check as parameter
from ..learner import _file
from . import _check, _compiled
from ._open import as_paths, opened

if TYPE_CHECKING:
    _Yes: TypeAlias = Literal[True]
    _No: TypeAlias = Literal[False]

CSR: TypeAlias = scipy.sparse.csr_matrix
Wholes: TypeAlias = NDArray[np.int64]
ZeroBased: TypeAlias = bool | Literal["auto"]

GROWTH = 1.25  # of arrays that grow at their end: what they take at most beyond their content


@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _No = False, query_id: _No = False,
                  integer_labels: _No = False) -> tuple[CSR, Vector]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _Yes, query_id: _No = False,
                  integer_labels: _No = False) -> tuple[CSR, list[tuple[float, ...]]]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _No = False, query_id: _Yes,
                  integer_labels: _No = False) -> tuple[CSR, Vector, Wholes]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _Yes, query_id: _Yes,
                  integer_labels: _No = False) -> tuple[CSR, list[tuple[float, ...]], Wholes]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _No = False, query_id: _No = False,
                  integer_labels: _Yes) -> tuple[CSR, Wholes]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _Yes, query_id: _No = False,
                  integer_labels: _Yes) -> tuple[CSR, list[tuple[int, ...]]]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _No = False, query_id: _Yes,
                  integer_labels: _Yes) -> tuple[CSR, Wholes, Wholes]: ...
@overload
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: _Yes, query_id: _Yes,
                  integer_labels: _Yes) -> tuple[CSR, list[tuple[int, ...]], Wholes]: ...
def load_svmlight(path: Source, *, n_features: Whole | None = None, zero_based: ZeroBased = False,
                  dtype: DTypeLike = np.float64, multilabel: bool = False, query_id: bool = False,
                  integer_labels: bool = False) -> tuple[Any, ...]:
    """Read a file in svmlight (LIBSVM, LETOR) text format.

    A row is ``label [qid:query] index:value ... [# comment]``. Blank lines and lines of comment
    are skipped; Windows line ends are read; indices need not be sorted. Numbers are those of
    Python's `float`, to the last bit.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes. The file is read once, piece
        by piece: memory is that of the result and a quarter of it.
    n_features : int, optional
        The number of columns; an index beyond it is an error. None: the largest index decides.
    zero_based : bool or "auto", default=False
        Whether the first feature has index 0 in the file. "auto": it has where an index 0 occurs.
    dtype : float32 or float64, default=float64
        Of the values of X. A value beyond the range of float32 is an error.
    multilabel : bool, default=False
        A row has any number of labels, with commas between. A row that begins with its first
        ``index:value`` has none.
    query_id : bool, default=False
        Return the numbers behind ``qid:`` too; a row without one is then an error.
    integer_labels : bool, default=False
        Return labels as int64, as the multiclass learners want them; a label that is no integer
        below 2**53 in size is then an error.

    Returns
    -------
    X : scipy.sparse.csr_matrix, shape (rows, columns)
        Sorted indices, of 32 bits where they suffice. Zeros that stand in the file are stored.
    y : ndarray of float64, or list of tuples of float (ascending) for `multilabel`
        With `integer_labels` int64, or tuples of int.
    query_id : ndarray of int64
        Where asked for.

    Raises
    ------
    ValueError
        For a bad line, with its number and text: NaN, infinity, a number too large, an index twice
        in a row, or what is no pair. Also for a packed file that is damaged.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> X, y = data.load_svmlight(io.BytesIO(b"2 qid:1 1:0.5 3:1 # a\\n0 qid:1 2:-1\\n"))
    >>> X.toarray()
    array([[ 0.5,  0. ,  1. ],
           [ 0. , -1. ,  0. ]])
    >>> y
    array([2., 0.])
    >>> data.load_svmlight(io.BytesIO(b"1 3:1\\n2 1:1\\n"), integer_labels=True)[1]
    array([1, 2])
    """
    integer_labels = parameter.switch("integer_labels", integer_labels)
    rules = _checked(dtype, n_features, zero_based)
    pairs, queries, label_ends = Pairs(rules[0]), Grown(np.int64), Grown(np.intp)
    seen = _Seen(rules)
    for rows, name in pieces([path], rules, bool(multilabel), bool(query_id)):
        if integer_labels:
            _refuse_fractions(rows, name)
        if multilabel:
            label_ends.append(rows.label_ends + seen.labels.size)
        pairs.append(rows.indices, rows.values, rows.row_ends, rows.most)
        seen.take(rows, name)
        if query_id:
            queries.append(rows.queries)
    X, labels = pairs.finish(*seen.columns()), seen.labels
    y = labels.finish()
    if integer_labels:
        y = y.astype(np.int64)
    if multilabel:
        y = [tuple(sorted(one.tolist())) for one in np.split(y, label_ends.finish())[:-1]]
    return (X, y, queries.finish()) if query_id else (X, y)


def load_dense(path, n_features=None, zero_based=False, dtype=np.float32, listen=None):
    """The same of several files as ``(features, labels)``, the features dense, with no sparse form
    in between.

    `listen` is called with the reader behind each piece.
    """
    rules = _checked(dtype, n_features, zero_based)
    dense = Dense(rules[0])
    seen = _Seen(rules)
    for rows, name in pieces(as_paths(path), rules):
        seen.take(rows, name, listen)
        dense.append(rows)
    return dense.finish(*seen.columns()), seen.labels.finish()


class Scan:
    """Dense rows of several files that are never in memory together: read once to know their
    number and labels, and once more to be handed on.

    Attributes
    ----------
    labels : ndarray of float64
        Those of all rows, one after the other.
    """

    def __init__(self, path, n_features=None, zero_based=False, dtype=np.float32, listen=None):
        paths = as_paths(path)
        if any(hasattr(path, "readinto") for path in paths):
            raise TypeError("path must name files: they are read twice")
        self.paths, self.rules = paths, _checked(dtype, n_features, zero_based)
        seen = _Seen(self.rules)
        for rows, name in pieces(paths, self.rules):
            seen.take(rows, name, listen)
        self.labels, (self.columns, self.skip) = seen.labels.finish(), seen.columns()

    def streamed(self):
        """All rows, for `_file.write`; a file that changed between the readings is an error."""
        return _file.Streamed(self.rules[0], (self.labels.size, self.columns), self._blocks())

    def _blocks(self):
        dtype, _, zero_based = self.rules
        width = self.columns + self.skip
        for rows, _ in pieces(self.paths, (dtype, width, zero_based)):
            block = np.zeros(rows.n_rows * width, dtype)
            rows.scatter(block, 0, width)
            yield np.ascontiguousarray(block.reshape(-1, width)[:, self.skip:])


class _Seen:
    """The labels of several files, and the range of their indices, counted from 0."""

    def __init__(self, rules):
        _, self.n_features, self.zero_based = rules
        self.least, self.most, self.name = None, -1, ""
        self.labels = Grown(np.float64)

    def take(self, rows, name, listen=None):
        """Adds what the reader has found in a piece of a file; `listen` is called with both."""
        self.labels.append(rows.labels)
        if listen is not None:
            listen(rows, name)
        if rows.most > self.most:
            self.most, self.name = rows.most, name
        if rows.least is not None:
            self.least = rows.least if self.least is None else min(self.least, rows.least)

    def columns(self):
        """How many columns there are, and how many of those that were read come before the first.
        """
        skip = 1 if self.zero_based == "auto" and self.least != 0 else 0
        columns = self.most + 1 - skip if self.most >= 0 else 0
        if self.n_features is None:
            return columns, skip
        if columns > self.n_features:
            raise ValueError(f"{self.name}: index {self.most} is out of range "
                             f"(0 ... {self.n_features - 1}): the file is zero-based, since index "
                             "0 occurs")
        return self.n_features, skip


def pieces(paths, rules, multilabel=False, query=True):
    """The reader behind each piece of each file, and the file's name."""
    dtype, n_features, zero_based = rules
    last = n_features - 1 if n_features is not None and zero_based is True else n_features
    for path in paths:
        with opened(path) as (file, name):
            rows = _compiled.Rows(file, name, int(zero_based is False), last, dtype, multilabel,
                                  query)
            while rows.advance():
                yield rows, name


def _checked(dtype, n_features, zero_based):
    dtype = _check.float_dtype("dtype", dtype)
    if n_features is not None:
        n_features = parameter.count("n_features", n_features, least=1)
        if n_features > np.iinfo(np.int64).max:
            raise ValueError(f"n_features must lie below 2**63, got {n_features}")
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}")
    return dtype, n_features, zero_based


def _refuse_fractions(rows, name):
    labels = rows.labels
    bad = np.flatnonzero((labels != np.rint(labels)) | (np.abs(labels) >= 2.0**53))
    if bad.size:
        row = np.searchsorted(rows.label_ends, bad[0], side="right")
        raise ValueError(f"{name}: line {rows.lines[row]}: the label {labels[bad[0]]} is no "
                         "integer")


class Grown:
    """A one-dimensional array that grows at its end, in place where the system can."""

    def __init__(self, dtype):
        self.array = np.empty(0, dtype)
        self.size = 0

    def make_room(self, size):
        if size > self.array.size:
            refuse_beyond_limit(float(size) * self.array.itemsize, f"what is read, {size} numbers,",
                                "a part of the file takes less")
            self.array.resize(max(size, int(GROWTH * self.array.size)), refcheck=False)

    def append(self, values):
        end = self.size + len(values)
        self.make_room(end)
        self.array[self.size:end] = values
        self.size = end

    def finish(self):
        self.array.resize(self.size, refcheck=False)
        return self.array


class Pairs:
    """Rows that grow at their end, as CSR."""

    def __init__(self, dtype):
        self.values, self.indices, self.ends = Grown(dtype), Grown(np.int32), Grown(np.int64)
        self.ends.append([0])

    def append(self, indices, values, ends, most=0):
        """Some rows; `most`: at least the largest index so far."""
        if most > np.iinfo(np.int32).max and self.indices.array.dtype == np.int32:
            self.indices.array = self.indices.array.astype(np.int64)
        self.ends.append(ends + self.values.size)
        self.indices.append(indices)
        self.values.append(values)

    def finish(self, columns, skip):
        ends = self.ends.finish()
        indices = self.indices.finish()
        if skip:
            indices -= 1
        return scipy.sparse.csr_matrix((self.values.finish(), indices, ends),
                                       shape=(ends.size - 1, columns), copy=False)


class Dense:
    """The rows as a dense array; its stride grows with the largest index."""

    def __init__(self, dtype):
        self.flat = Grown(dtype)
        self.n_rows = 0
        self.stride = 0

    def append(self, rows):
        if rows.most >= self.stride:
            # a first piece tells the width of most files
            wide = rows.most + 1 if self.n_rows == 0 else int(GROWTH * rows.most) + 1
            self._reserve(self.n_rows, wide)
            _compiled.restride(self.flat.array, self.n_rows, self.stride, wide)
            self.stride = wide
        end = self.n_rows + rows.n_rows
        self._reserve(end, self.stride)
        rows.scatter(self.flat.array, self.n_rows, self.stride)
        self.n_rows = end

    def _reserve(self, rows, stride):
        try:
            self.flat.make_room(rows * stride)
        except (MemoryError, OverflowError, ValueError):
            raise MemoryError(f"{rows} dense rows of {stride} features do not fit in memory") \
                from None

    def finish(self, columns, skip):
        if self.n_rows and self.stride < columns + skip:
            self._reserve(self.n_rows, columns + skip)
            _compiled.restride(self.flat.array, self.n_rows, self.stride, columns + skip)
            self.stride = columns + skip
        if self.stride > columns:
            _compiled.restride(self.flat.array, self.n_rows, self.stride, columns, skip)
        self.flat.size = self.n_rows * columns
        return self.flat.finish().reshape(self.n_rows, columns)
