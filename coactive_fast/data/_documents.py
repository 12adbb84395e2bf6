"""Documents as counts of their terms: the files the text sets of the papers are handed out as."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from .._typing import Source
from . import _check
from ._open import as_paths, opened, opened_lines
from ._svmlight import load_svmlight

MARK = "#label#:"


class Documents(NamedTuple):
    """Documents of one class each.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix, shape (documents, terms)
        How often each term stands in each document.
    labels : ndarray of int64
        From 0, places in `names`.
    names : tuple of str
        The classes, in the order of the alphabet.
    terms : tuple of str
        The columns, in the order in which they first occur.
    """

    X: scipy.sparse.csr_matrix
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    terms: tuple[str, ...]


class TopicDocuments(NamedTuple):
    """Documents of any number of topics.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix, shape (documents, terms)
        How often each term stands in each document, or its weight as the file gives it.
    topics : scipy.sparse.csr_matrix of bool, shape (documents, topics)
        Which topics each document has.
    names : tuple of str
        The topics.
    ids : ndarray of int64
        What the documents are called in the files.
    terms : tuple of str or None
        The columns, in the order in which they first occur; None for vectors, which are numbered.
    """

    X: scipy.sparse.csr_matrix
    topics: scipy.sparse.csr_matrix
    names: tuple[str, ...]
    ids: NDArray[np.int64]
    terms: tuple[str, ...] | None

    def single(self, names: Sequence[str]) -> tuple[scipy.sparse.csr_matrix, NDArray[np.int64]]:
        """The documents that have exactly one of these topics.

        Parameters
        ----------
        names : sequence of str
            Topics.

        Returns
        -------
        X : scipy.sparse.csr_matrix
            A row a document.
        labels : ndarray of int64
            The place of its topic in `names`, from 0.

        Examples
        --------
        >>> import io
        >>> from coactive_fast import data
        >>> text = b".I 3\\n.W\\noil tax\\n\\n.I 5\\n.W\\ntax\\n"
        >>> topics = b"A 3 1\\nB 3 1\\nB 5 1\\n"
        >>> found = data.load_rcv1(io.BytesIO(text), io.BytesIO(topics))
        >>> X, labels = found.single(["A", "B"])
        >>> X.toarray(), labels
        (array([[0., 1.]]), array([1]))
        """
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise ValueError(f"names must be topics of the documents, got {unknown[0]!r}")
        has = self.topics[:, [self.names.index(name) for name in names]].toarray()
        rows = np.flatnonzero(has.sum(axis=1) == 1)
        return self.X[rows], has[rows].argmax(axis=1).astype(np.int64)


class _Table:
    """Rows of counts by terms, which get their numbers as they come."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.places, self.values, self.ends = array("q"), array("d"), array("q", [0])

    def add(self, counts: Mapping[str, float]):
        numbers = self.numbers
        row = sorted((numbers.setdefault(term, len(numbers)), value)
                     for term, value in counts.items())
        self.places.extend(place for place, _ in row)
        self.values.extend(value for _, value in row)
        self.ends.append(len(self.places))

    def __len__(self) -> int:
        return len(self.ends) - 1

    def finish(self, dtype):
        pairs = np.asarray(self.values, dtype), np.asarray(self.places), np.asarray(self.ends)
        return scipy.sparse.csr_matrix(pairs, (len(self), len(self.numbers)))


def load_terms(path: Source | Mapping[str, Source], *, labels: Source | None = None,
               dtype: DTypeLike = np.float64) -> Documents:
    """Read documents as terms with their counts: lines of ``term:count``, then ``#label#:name``.

    That is how the reviews of Amazon (Blitzer, Dredze, Pereira 2007), the folders of Enron and the
    articles of the New York Times are handed on among the authors of the Confidit paper. A term
    may hold colons; what stands behind the last one is its count. Blank lines are skipped.

    Parameters
    ----------
    path : str, os.PathLike, binary file object, or a mapping of class to one of these
        Of a mapping, the documents of a file have the class that it is named by, and a
        ``#label#:`` of theirs counts for nothing: so the kinds of products are told apart, whose
        files tell the polarity. Packed files (gzip, bzip2, xz) are told by their first bytes.
    labels : path or binary file object, optional
        A file with a class a line, for a file of terms without.
    dtype : float32 or float64, default=float64
        Of the values of X.

    Returns
    -------
    Documents
        With `X`, `labels` and what their columns and numbers mean.

    Raises
    ------
    ValueError
        With the file, the line and the field: a count that is no finite number, a term twice in a
        document, a document without a class, files of labels and terms that differ in length.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> text = b"good:2 oil:1 #label#:up\\nbad:1 oil:3 #label#:down\\n"
    >>> found = data.load_terms(io.BytesIO(text))
    >>> found.names, found.labels, found.terms
    (('down', 'up'), array([1, 0]), ('good', 'oil', 'bad'))
    >>> found.X.toarray()
    array([[2., 1., 0.],
           [0., 3., 1.]])
    """
    dtype = _check.float_dtype("dtype", dtype)
    table = _Table()
    classes: list[str] = []
    if isinstance(path, Mapping):
        if labels is not None:
            raise ValueError("labels must be None where path maps classes to files")
        for name, one in path.items():
            _read_terms(one, table)
            classes += [str(name)] * (len(table) - len(classes))
    elif labels is None:
        classes = _read_terms(path, table, wanted=True)
    else:
        if any(_read_terms(path, table)):
            raise ValueError("path must be a file of terms without #label#: where labels are given")
        with opened_lines(labels) as (lines, name):
            classes = [line for _, line in lines]
        if len(classes) != len(table):
            raise ValueError(f"{name} has {len(classes)} labels, and there are {len(table)} "
                             "documents")
    if not len(table):
        raise ValueError(f"{path!r} holds no documents")
    names, numbers = np.unique(classes, return_inverse=True)
    return Documents(table.finish(dtype), numbers.astype(np.int64), tuple(names.tolist()),
                     tuple(table.numbers))


def _read_terms(path, table, wanted=False):
    """The documents of one file into the table; their classes, None where a line tells none."""
    classes = []
    with opened_lines(path) as (lines, name):
        for number, line in lines:
            fields, label = line.split(), None
            if fields[-1].startswith(MARK):
                label = fields.pop()[len(MARK):]
            if wanted and not label:
                raise ValueError(f"{name}: line {number}: expected {MARK}name at the end, got "
                                 f"{line[-40:]!r}")
            table.add(_counts(fields, f"{name}: line {number}"))
            classes.append(label)
    return classes


def _counts(fields, where):
    found = {}
    for field in fields:
        term, colon, count = field.rpartition(":")
        try:
            value = float(count) if colon and term else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise ValueError(f"{where}: expected term:count, got {field[:40]!r}")
        if term in found:
            raise ValueError(f"{where}: the term {term[:40]!r} occurs twice")
        found[term] = value
    return found


# --- RCV1-v2 --------------------------------------------------------------------------------------


def load_rcv1(path: Source | Sequence[Source], topics: Source, *,
              names: Iterable[str] | None = None,
              dtype: DTypeLike = np.float64) -> TopicDocuments:
    """Read RCV1-v2: token files or vector files, and the list of topics.

    A token file holds, for each document, ``.I number``, ``.W`` and lines of stemmed tokens, of
    which the counts are taken; a vector file ``number  term:weight ...`` a line, its terms numbered
    from 1. The list of topics has ``topic number 1`` a line. All may be packed.

    D. D. Lewis, Y. Yang, T. G. Rose, F. Li, RCV1: a new benchmark collection for text
    categorization research, 2004.

    Parameters
    ----------
    path : str, os.PathLike, binary file object that can seek, or a sequence of these
        The training file and the four test files, or some of them; their order is that of the
        documents. All are of tokens, or all of vectors.
    topics : str, os.PathLike or binary file object
        Its lines about other documents count for nothing. A document may have no topic.
    names : iterable of str, optional
        The topics that are wanted, in this order. None: all that the documents have, in the order
        of the alphabet.
    dtype : float32 or float64, default=float64
        Of the values of X.

    Returns
    -------
    TopicDocuments
        ``.single(["CCAT", "ECAT", "GCAT", "MCAT"])`` is the Confidit paper's set: 685,071 documents
        of all 804,414.

    Raises
    ------
    ValueError
        With the file, the line and the field of what is wrong; also for a document that comes
        twice.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> text, topics = b"3  1:0.5 4:0.5\\n5  2:1\\n", b"GOIL 3 1\\nTAX 3 1\\nTAX 5 1\\nTAX 99 1\\n"
    >>> found = data.load_rcv1(io.BytesIO(text), io.BytesIO(topics))
    >>> found.X.shape, found.ids, found.names
    ((2, 4), array([3, 5]), ('GOIL', 'TAX'))
    >>> found.topics.toarray()
    array([[ True,  True],
           [False,  True]])
    """
    dtype = _check.float_dtype("dtype", dtype)
    read = _Tokens(), _Vectors(dtype)
    for one in as_paths(path):
        read[not _is_tokens(one)].take(one)
    if all(len(part.ids) for part in read):
        raise ValueError("path must name files of tokens or files of vectors, got both")
    part = read[0] if len(read[0].ids) else read[1]
    if not len(part.ids):
        raise ValueError(f"{path!r} holds no documents")
    has, found = _topics_of(topics, part.ids, None if names is None else list(names))
    return TopicDocuments(part.finish(dtype), has, found,
                          np.array(list(part.ids), dtype=np.int64), part.terms)


def _is_tokens(path):
    """Whether a file is one of tokens, by its first bytes; a file object is left where it was."""
    with opened(path) as (file, _):
        start = file.read(2048)
        if file is path:
            file.seek(0)
    return start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b".")


def _new(ids, number, where):
    if number in ids:
        raise ValueError(f"{where}: the document {number} comes twice")
    ids[number] = len(ids)


class _Tokens(_Table):
    """Documents as lists of tokens, of any number of files."""

    def __init__(self):
        super().__init__()
        self.ids = {}

    def take(self, path):
        counts, expected = None, ".I number"  # of the open document; its next line
        with opened_lines(path) as (lines, name):
            for number, line in lines:
                where = f"{name}: line {number}"
                if line.split(None, 1)[0] == ".I":
                    if counts is not None:
                        self.add(counts)
                    _new(self.ids, _whole(line[2:].strip(), where, ".I number"), where)
                    counts, expected = {}, ".W"
                elif line == expected:
                    expected = None
                elif expected is not None:
                    raise ValueError(f"{where}: expected {expected}, got {line[:40]!r}")
                else:
                    for token in line.split():
                        counts[token] = counts.get(token, 0.0) + 1.0
        if counts is not None:
            self.add(counts)

    @property
    def terms(self):
        return tuple(self.numbers)


class _Vectors:
    """Documents as vectors that somebody else made, of any number of files."""

    terms = None

    def __init__(self, dtype):
        self.parts, self.ids, self.dtype = [], {}, dtype

    def take(self, path):
        X, numbers = load_svmlight(path, dtype=self.dtype, integer_labels=True)
        name = getattr(path, "name", "the file") if hasattr(path, "read") else repr(str(path))
        for row, number in enumerate(numbers.tolist(), 1):
            _new(self.ids, number, f"{name}: document {row}")
        self.parts.append(X)

    def finish(self, dtype):
        columns = max(part.shape[1] for part in self.parts)
        for part in self.parts:
            part.resize(part.shape[0], columns)
        return scipy.sparse.vstack(self.parts, format="csr", dtype=dtype)


def _topics_of(path, ids, wanted):
    """(documents × topics as CSR of bool, names)."""
    numbers = {} if wanted is None else {name: i for i, name in enumerate(wanted)}
    rows, columns = array("q"), array("q")
    with opened_lines(path) as (lines, name):
        for number, line in lines:
            fields, where = line.split(), f"{name}: line {number}"
            if len(fields) != 3 or fields[2] != "1":
                raise ValueError(f"{where}: expected topic number 1, got {line[:40]!r}")
            row = ids.get(_whole(fields[1], where, "a document's number"))
            if row is not None and (wanted is None or fields[0] in numbers):
                rows.append(row)
                columns.append(numbers.setdefault(fields[0], len(numbers)))
    names = tuple(sorted(numbers)) if wanted is None else tuple(numbers)
    place = np.empty(len(numbers), dtype=np.int64)
    place[[numbers[name] for name in names]] = np.arange(len(numbers))
    at = np.array(rows, dtype=np.int64), place[np.array(columns, dtype=np.int64)]
    has = scipy.sparse.csr_matrix((np.ones(len(rows), dtype=bool), at), (len(ids), len(names)))
    has.sum_duplicates()
    return has.astype(bool), names


def _whole(text, where, what):
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError(f"{where}: expected {what}, got {text[:40]!r}")
    return int(text)
