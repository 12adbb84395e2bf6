"""Documents of many queries: one array of features, cut by offsets; the sets of the field."""

from __future__ import annotations

import dataclasses
import operator
import os
from collections.abc import Iterator, Sequence
from pathlib import Path as Folder
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._arrays import finite_vector, indices_of, reals
from .._initialized import Initialized
from .._typing import Path, Self, Source, Vector, Whole
from ..learner import _check as parameter
from . import _check
from ._ratings import least_squares
from ._svmlight import Scan, ZeroBased, load_dense

KIND = "RankingData"

Floats: TypeAlias = NDArray[np.float32] | NDArray[np.float64]


@dataclasses.dataclass(eq=False, repr=False, slots=True)
class Query(Initialized):
    """One query of a `RankingData`.

    Attributes
    ----------
    features : ndarray of float32 or float64, shape (documents, N)
        A row a document; a view.
    relevance : ndarray of float64, shape (documents,)
        The grade of each document; a view.
    index : int
        Its place in the data.
    largest_grade : float
        The largest relevance of all the data it comes from.

    Examples
    --------
    >>> from coactive_fast.data import RankingData
    >>> RankingData([[1.0], [2.0], [3.0]], [0, 0, 1], [0, 2, 3])[1]
    Query(index=1, documents=1)
    """

    features: Floats
    relevance: Vector
    index: int
    largest_grade: float

    def __len__(self) -> int:
        return len(self.relevance)

    def __repr__(self) -> str:
        return f"Query(index={self.index}, documents={len(self)})"


class RankingData(_check.ReadOnly):
    """Queries with documents, their features and their relevance.

    ``len(data)`` is the number of queries, ``data[i]`` one of them with ``features``,
    ``relevance`` and ``index``, ``data[a:b]`` a run of them; all of these are views.

    Parameters
    ----------
    features : array_like, shape (documents, N)
        The documents of all queries, one query behind the other. A C-contiguous array of float32
        or float64 is kept without a copy and must not change; the rest is converted to float64.
    relevance : array_like, shape (documents,)
        Finite real grades; kept as float64.
    offsets : array_like of int, shape (queries + 1,)
        The documents of query i are ``offsets[i]:offsets[i + 1]``. Ascending strictly (no query is
        empty) from 0 to the number of documents.
    query_ids : array_like of int, shape (queries,), optional
        What the queries are called elsewhere.

    Attributes
    ----------
    features, relevance, offsets, query_ids : ndarray
        Read-only. query_ids is None where none were given.
    dimension, n_documents : int
        Features of a document, and documents of all queries together.

    See Also
    --------
    make_ranking : Generated data of this kind.
    load_letor : The sets of the field.

    Examples
    --------
    >>> from coactive_fast.data import RankingData
    >>> data = RankingData([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 2, 1], [0, 2, 3])
    >>> data
    RankingData(2 queries, 3 documents, 2 features, float64)
    >>> data[0].relevance
    array([0., 2.])
    >>> [len(query) for query in data]
    [2, 1]
    """

    features: Floats
    relevance: Vector
    offsets: NDArray[np.int64]
    query_ids: NDArray[np.int64] | None
    _weights: Vector | None
    _largest: float | None

    def __init__(self, features: ArrayLike, relevance: ArrayLike, offsets: ArrayLike, *,
                 query_ids: ArrayLike | None = None) -> None:
        features = reals(features, "features", 2, True)
        if features.shape[1] == 0:
            raise ValueError("features must have at least one column")
        relevance = finite_vector(relevance, "relevance", len(features), "features")
        offsets = _check.offsets("offsets", offsets, len(features), "documents")
        if query_ids is not None:
            query_ids = indices_of(query_ids, "query_ids", offsets.size - 1, "offsets")
        self._fill(features, relevance, offsets, query_ids)

    def _fill(self, features, relevance, offsets, query_ids):
        self._set(features=features, relevance=relevance, offsets=offsets, query_ids=query_ids,
                  _weights=None, _largest=None)

    @classmethod
    def _of(cls, *arrays):
        """From arrays that are known to be right."""
        data = cls.__new__(cls)
        data._fill(*arrays)
        return data

    @property
    def dimension(self) -> int:
        """The number of features."""
        return self.features.shape[1]

    @property
    def n_documents(self) -> int:
        """The number of documents of all queries."""
        return len(self.features)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: Whole) -> Query: ...
    def __getitem__(self, index: slice | Whole) -> Self | Query:
        if isinstance(index, slice):
            return self._run(index)
        try:
            i = operator.index(index)
        except TypeError:
            kind = type(index).__name__
            raise TypeError(f"a query is chosen by an integer or a slice, got {kind}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"query {i} is out of range: there are {len(self)} queries")
        i %= len(self)
        begin, end = self.offsets[i], self.offsets[i + 1]
        if self._largest is None:
            self._largest = float(self.relevance.max())
        return Query(self.features[begin:end], self.relevance[begin:end], i, self._largest)

    def __iter__(self) -> Iterator[Query]:
        return map(self.__getitem__, range(len(self)))

    def _run(self, index):
        first, last, step = index.indices(len(self))
        if step != 1:
            return self.take(range(first, last, step))
        if first >= last:
            raise ValueError(f"the slice [{first}:{last}] holds no query")
        offsets = self.offsets[first:last + 1]
        begin, end = offsets[0], offsets[-1]
        ids = None if self.query_ids is None else self.query_ids[first:last]
        return self._of(self.features[begin:end], self.relevance[begin:end], offsets - begin,
                        ids)

    def take(self, queries: ArrayLike) -> Self:
        """A copy with these queries in this order; repeats are allowed.

        Parameters
        ----------
        queries : array_like of int
            Places of queries, at least one.

        Returns
        -------
        RankingData
            With arrays of its own.

        Examples
        --------
        >>> from coactive_fast.data import RankingData
        >>> data = RankingData([[1.0], [2.0], [3.0]], [0, 0, 1], [0, 2, 3])
        >>> data.take([1, 0]).features.ravel()
        array([3., 1., 2.])
        """
        queries = indices_of(queries, "queries")
        if queries.size == 0:
            raise ValueError("queries must name at least one query")
        wrong = queries[(queries < 0) | (queries >= len(self))]
        if wrong.size:
            raise ValueError(f"queries must lie in 0 ... {len(self) - 1}, got {wrong[0]}")
        lengths = np.diff(self.offsets)[queries]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.repeat(self.offsets[queries] - offsets[:-1], lengths)
        places += np.arange(places.size)
        ids = None if self.query_ids is None else self.query_ids[queries]
        return self._of(self.features[places], self.relevance[places], offsets, ids)

    def __repr__(self) -> str:
        return (f"{type(self).__name__}({len(self)} queries, {self.n_documents} documents, "
                f"{self.dimension} features, {self.features.dtype})")

    def fit_weights(self) -> Vector:
        """The weights whose scores come nearest to the relevance (least squares, no intercept).

        Where several do, the shortest of them. Computed in float64 by a QR factorisation block by
        block, so that no second copy of the features is made: 2 documents N^2 flops, N^2 numbers.
        The result is kept for the next call.

        Returns
        -------
        weights : ndarray of float64, shape (N,)
            Without an intercept, of least norm where several fit equally well.

        Examples
        --------
        >>> from coactive_fast.data import RankingData
        >>> RankingData([[1.0, 0.0], [2.0, 0.0]], [1, 2], [0, 2]).fit_weights().round(12)
        array([1., 0.])
        """
        if self._weights is None:
            self._weights = least_squares(self.features, self.relevance)
        return self._weights.copy()

    @classmethod
    def from_svmlight(cls, path: Source | Sequence[Source], *, n_features: Whole | None = None,
                      dtype: DTypeLike = np.float32, zero_based: ZeroBased = False,
                      group: bool = False, into: Path | None = None) -> Self:
        """Read LETOR files: lines of ``grade qid:query index:value``, any number of the last.

        Parameters
        ----------
        path : str, os.PathLike, binary file object, or a sequence of these
            Several files are read as if they were one.
        n_features
            As for `load_svmlight`.
        dtype : float32 or float64, default=float32
            Of the features.
        zero_based
            As for `load_svmlight`.
        group : bool, default=False
            Gather the documents of a query from all over the files (the order of queries is that
            of their first documents). False: a query that comes back after another is an error.
        into : path, optional
            A file that takes the place of memory: the text is gone through twice, the features go
            into the file piece by piece, and the result is what `load` maps of it. For sets larger
            than the memory; the files must be given by name, and not need to be gathered.

        Returns
        -------
        RankingData
            The queries in the order of the files.

        Examples
        --------
        >>> import io
        >>> from coactive_fast.data import RankingData
        >>> text = b"2 qid:7 1:0.5 2:1 # first\\n0 qid:7 1:1\\n1.5 qid:9 2:0.25\\n"
        >>> data = RankingData.from_svmlight(io.BytesIO(text))
        >>> data, data.query_ids
        (RankingData(2 queries, 3 documents, 2 features, float32), array([7, 9]))
        """
        blocks, rules = _Blocks(bool(group)), (n_features, zero_based, dtype)
        if into is None:
            features, relevance = load_dense(path, *rules, blocks.append)
        else:
            scan = Scan(path, *rules, blocks.append)
            features, relevance = scan.streamed(), scan.labels
        if 0 in features.shape:
            raise ValueError(f"{path!r} holds no "
                             f"{'features' if features.shape[0] else 'documents'}")
        offsets, ids, order = blocks.finish(features.shape[0])
        if into is not None:
            if order is not None:
                raise ValueError("group=True cannot gather documents of large files: with `into` "
                                 "those of a query must stand together")
            _write(into, features, relevance, offsets, ids)
            return cls.load(into)
        if order is not None:
            features, relevance = features[order], relevance[order]
        return cls._of(features, relevance, offsets, ids)

    def save(self, path: Path) -> None:
        """Put everything into one file, which is replaced at once or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            The file, for `load`.

        Examples
        --------
        >>> import os, tempfile
        >>> from coactive_fast.data import RankingData
        >>> data = RankingData([[1.0], [2.0]], [0, 1], [0, 2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     data.save(os.path.join(folder, "data.cf"))
        ...     RankingData.load(os.path.join(folder, "data.cf"))
        RankingData(1 queries, 2 documents, 1 features, float64)
        """
        _write(path, np.asarray(self.features), self.relevance, self.offsets, self.query_ids)

    @classmethod
    def load(cls, path: Path, *, mmap: bool = True) -> Self:
        """What `save` put into a file.

        Parameters
        ----------
        path : str or os.PathLike
            A file that `save` or ``from_svmlight(into=...)`` made.
        mmap : bool, default=True
            Leave the features in the file and map them into memory: loading takes no time, and
            data larger than the memory can be used. The checksum is then not looked at.

        Returns
        -------
        RankingData
            As it was saved.

        Raises
        ------
        ValueError
            For a file of another kind, one that is truncated, and (with ``mmap=False``) one whose
            checksum is wrong.
        """
        from ._map import read

        head, arrays = read(path, mmap)
        names = {"relevance", "offsets", "features"}
        if head.get("kind") != KIND or not names <= set(arrays) <= names | {"query_ids"}:
            raise ValueError(f"{path!r} does not hold ranking data")
        features, offsets = arrays["features"], np.array(arrays["offsets"])
        relevance, ids = np.array(arrays["relevance"]), arrays.get("query_ids")
        if (features.dtype not in _check.FLOATS or features.ndim != 2 or features.shape[1] == 0
                or relevance.dtype != np.float64 or relevance.shape != features.shape[:1]
                or offsets.dtype.kind != "i"
                or not np.isfinite(relevance).all()
                or (ids is not None and (ids.dtype.kind != "i"
                                         or ids.shape != (offsets.size - 1,)))):
            raise ValueError(f"{path!r} is damaged: its arrays do not go together")
        offsets = _check.offsets(f"{path!r}: offsets", offsets, len(features), "documents")
        return cls._of(features, relevance, offsets, None if ids is None else np.array(ids))


class _Blocks:
    """Where queries begin, gathered while a file is read."""

    def __init__(self, group):
        self.group = group
        self.ids, self.begins = [], []  # of the blocks of one query
        self.seen = set()
        self.n_rows = 0

    def append(self, rows, name):
        queries = rows.queries
        if queries.size == 0:
            return
        begins = np.flatnonzero(queries[1:] != queries[:-1]) + 1
        if not self.ids or queries[0] != self.ids[-1]:
            begins = np.concatenate(([0], begins))
        for at in begins.tolist():
            query = int(queries[at])
            if query in self.seen and not self.group:
                raise ValueError(f"{name}: line {rows.lines[at]}: query {query} comes back after "
                                 f"another (group=True gathers its documents)")
            self.seen.add(query)
            self.ids.append(query)
            self.begins.append(self.n_rows + at)
        self.n_rows += queries.size

    def finish(self, n_documents):
        """Offsets, ids, and the order of the documents (None: as they are)."""
        offsets = np.array([*self.begins, n_documents], dtype=np.intp)
        ids = np.array(self.ids, dtype=np.int64)
        if len(self.seen) == ids.size:
            return offsets, ids, None
        found, first, number = np.unique(ids, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))  # of a query, by where it first began
        blocks = rank[number]
        order = np.argsort(np.repeat(blocks, np.diff(offsets)), kind="stable")
        lengths = np.bincount(blocks, weights=np.diff(offsets)).astype(np.intp)
        return np.concatenate(([0], np.cumsum(lengths))), found[np.argsort(first)], order


def _write(path, features, relevance, offsets, ids):
    """The file of `save`: features last, since they are what is mapped."""
    from coactive_fast.learner import _file

    arrays = {"relevance": relevance, "offsets": offsets, "query_ids": ids}
    arrays = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    _file.write(path, {"kind": KIND}, {**arrays, "features": features})


# --- the sets of the field ------------------------------------------------------------------------


PACKED = ("", ".gz", ".bz2", ".xz")
YAHOO_PARTS = ("train", "valid", "test")
YAHOO_FEATURES = 700  # of both sets together: 519 of the first and 596 of the second are in use
LETOR_PARTS = ("train", "vali", "test")


def load_yahoo(folder: Path, *, set: Whole = 1, parts: Sequence[str] = YAHOO_PARTS,
               dtype: DTypeLike = np.float32, into: Path | None = None) -> RankingData:
    """Read the Yahoo! Learning to Rank Challenge sets (C14): ``set1.train.txt`` and the like.

    Both sets get the same 700 columns, so that a model of one reads the other. Set 1 has 29,921
    queries with 709,877 documents, which are 2 GB of float32; with `into` they lie in a file and
    not in memory. O. Chapelle and Y. Chang, Yahoo! Learning to Rank Challenge overview, 2011.

    Parameters
    ----------
    folder : path
        Of the text files, which may be packed (.gz, .bz2, .xz).
    set : {1, 2}, default=1
        Which of the two sets of the challenge.
    parts : sequence of str, default=("train", "valid", "test")
        One behind the other.
    dtype : float32 or float64, default=float32
        Of the features.
    into : path, optional
        As for `RankingData.from_svmlight`.

    Returns
    -------
    RankingData
        With the queries' numbers of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> from coactive_fast import data
    >>> folder = tempfile.mkdtemp()
    >>> with open(os.path.join(folder, "set1.train.txt"), "w") as file:
    ...     _ = file.write("2 qid:1 10:0.5 699:1\\n0 qid:1 3:0.25\\n")
    >>> data.load_yahoo(folder, parts=("train",))
    RankingData(1 queries, 2 documents, 700 features, float32)
    """
    number = parameter.count("set", set, least=1, most=2)
    parts = _checked_parts(parts, YAHOO_PARTS)
    paths = [_there(folder, f"set{number}.{part}.txt", "C14") for part in parts]
    return RankingData.from_svmlight(paths, n_features=YAHOO_FEATURES, dtype=dtype, into=into)


def load_letor(folder: Path, *, fold: Whole | None = 1, parts: Sequence[str] = LETOR_PARTS,
               n_features: Whole | None = None, dtype: DTypeLike = np.float32,
               into: Path | None = None) -> RankingData:
    """Read a LETOR 3.0, LETOR 4.0 or MSLR-WEB set from its folder.

    The folder holds ``Fold1`` ... ``Fold5``, each with ``train.txt``, ``vali.txt`` and
    ``test.txt``; or the five parts ``S1.txt`` ... ``S5.txt``, of which a fold takes three, one and
    one. Any fold with all of its parts is the whole set. MSLR-WEB30K has 31,531 queries with
    3,771,125 documents of 136 features: 2 GB of float32, which with `into` lie in a file and not
    in memory.

    T. Qin, T.-Y. Liu, Introducing LETOR 4.0 datasets, 2013.

    Parameters
    ----------
    folder : path
        The files may be packed (.gz, .bz2, .xz).
    fold : int, default=1
        1 ... 5. None: the folder itself holds the parts.
    parts : sequence of str, default=("train", "vali", "test")
        One behind the other.
    n_features : int, optional
        The number of columns; None: the largest index decides.
    dtype : float32 or float64, default=float32
        Of the features.
    into : path, optional
        As for `RankingData.from_svmlight`.

    Returns
    -------
    RankingData
        The queries of all files asked for, in the order of the files.

    Examples
    --------
    >>> import os, tempfile
    >>> from coactive_fast import data
    >>> folder = tempfile.mkdtemp()
    >>> for i in range(1, 6):
    ...     with open(os.path.join(folder, f"S{i}.txt"), "w") as file:
    ...         _ = file.write(f"1 qid:{i} 1:0.5 2:{i}\\n")
    >>> data.load_letor(folder, fold=2, parts=("vali", "test")).query_ids
    array([5, 1])
    """
    parts = _checked_parts(parts, LETOR_PARTS)
    names = [f"{part}.txt" for part in parts]
    if fold is not None:
        fold = parameter.count("fold", fold, least=1, most=5)
        if _find(folder, "S1.txt") is not None:
            names = [f"S{i}.txt" for part in parts for i in _fifths(fold, part)]
        else:
            folder = Folder(os.fsdecode(folder), f"Fold{fold}")
    paths = [_there(folder, name, "LETOR") for name in names]
    return RankingData.from_svmlight(paths, n_features=n_features, dtype=dtype, into=into)


def _fifths(fold, part):
    """Which of S1 ... S5 a part of a fold is made of: three in turn from the fold's own on, then
    one, then one."""
    order = [(fold - 1 + i) % 5 + 1 for i in range(5)]
    return {"train": order[:3], "vali": order[3:4], "test": order[4:]}[part]


def _checked_parts(parts: Any, known: Any) -> list[str]:
    parts = [parts] if isinstance(parts, str) else list(parts)
    if not parts:
        raise ValueError("parts must name at least one part")
    return [parameter.choice("parts", part, known) for part in parts]


def _find(folder, name):
    for ending in PACKED:
        path = Folder(os.fsdecode(folder), name + ending)
        if path.is_file():
            return path
    return None


def _there(folder, name, what):
    path = _find(folder, name)
    if path is None:
        raise FileNotFoundError(f"{os.fsdecode(folder)!r} holds no {name}, packed or not: expected "
                                f"the folder of a {what} set")
    return path
