"""Rows of files: svmlight text piece by piece, converted files, and text whose labels or features
are words, ``label name:value ...`` a line or VW's.

Features with names are read as those of logs are (cf_log.h), and become columns in one of three
ways: by their names, in the order in which they come; by VW's hash of the name; or, where they are
whole numbers, as indices.
"""

import functools
import math
import re
from typing import NamedTuple

import numpy as np
import scipy.sparse

from coactive_fast._arrays import refuse_non_finite
from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.data import RankingData
from coactive_fast.data._map import read
from coactive_fast.data._svmlight import Grown, Pairs, pieces
from coactive_fast.data._tables import number
from coactive_fast.learner import _file
from coactive_fast.logs import _vw
from coactive_fast.logs._compiled import Lines

from . import Trouble, _clicks, _streams, troubles

KEEP = 1 << 28  # bytes of rows that stay in memory, so that their text is parsed only once
KIND = "Rows"
MODELS = ", as the model's classes are"
UNKNOWN = -1.0  # a name that is none of those known, where no new one may come
HEADS = 1 << 16  # different heads of lines that are remembered
WHOLE = re.compile("[0-9]{1,18}")
MOST = 1 << 31  # columns
COPIES = 3  # of the dense rows of a ranking at once, while its weights are fitted


# --- labels ---------------------------------------------------------------------------------------


class Labels:
    """The labels of a stream, which are all names or all numbers.

    Parameters
    ----------
    names : list of str
        Those known already, by their numbers.
    most : int, optional
        No more classes than these.
    named : bool, optional
        Whether they are names; None: as the first one is.
    closed : bool
        A name that is not known is `UNKNOWN`, instead of a new one or an error.
    why : str, optional
        Why they are names or numbers, for messages.
    """

    def __init__(self, names=(), *, most=None, named=None, closed=False, why=None):
        self.numbers = {name: i for i, name in enumerate(names)}
        self.most, self.named, self.closed = most, True if self.numbers else named, closed
        self.why = why or (", as the other labels are" if named is None else "")

    @property
    def names(self):
        """By their numbers; none where labels are numbers."""
        return list(self.numbers)

    def of(self, one):
        """The number of a label: a str is a name."""
        if self.named is None:
            self.named = isinstance(one, str)
        elif self.named != isinstance(one, str):
            raise ValueError(f"expected a {'name' if self.named else 'number'}{self.why}, got "
                             f"{one!r:.60}")
        if not self.named:
            return float(one)
        if one not in self.numbers:
            if self.closed:
                return UNKNOWN
            if self.most is not None and len(self.numbers) >= self.most:
                raise ValueError(f"{one!r:.60} is none of the model's classes: "
                                 f"{', '.join(self.numbers)[:200]}")
        return float(self.numbers.setdefault(one, len(self.numbers)))


def read_label(text):
    """A label as it is written in a row: a finite number, or a name."""
    value = number(text)
    if value is None and not text.isprintable():
        raise ValueError(f"expected a label that can be printed, got {text!r:.60}")
    if value is not None and not math.isfinite(value):
        raise ValueError(f"expected a label that is a finite number or a name, got {text!r}")
    return text if value is None else value


# --- rows -----------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Some rows of a file."""

    X: object  # CSR
    labels: np.ndarray  # of all rows
    ends: np.ndarray  # where a row's labels end
    lines: np.ndarray  # the number of each row in its file

    def __len__(self):
        return self.X.shape[0]

    @property
    def counts(self):
        """How many labels each row has."""
        return np.diff(self.ends, prepend=0)

    @property
    def single(self):
        """Whether each row has one label."""
        return bool((self.counts == 1).all())

    @classmethod
    def of(cls, X, labels, lines):
        """Of the list of labels of each row."""
        flat = np.array([label for own in labels for label in own], dtype=np.float64)
        return cls(X, flat, np.cumsum([len(own) for own in labels], dtype=np.intp), lines)

    @classmethod
    def joined(cls, pieces):
        """All rows of some pieces, as wide as the widest."""
        pairs, labels, columns = Pairs(np.float64), Grown(np.float64), 0
        counts, lines = Grown(np.intp), Grown(np.intp)
        for piece in pieces:
            columns = max(columns, piece.X.shape[1])
            pairs.append(piece.X.indices, piece.X.data, piece.X.indptr[1:], columns - 1)
            labels.append(piece.labels)
            counts.append(piece.counts)
            lines.append(piece.lines)
        return cls(pairs.finish(columns, 0), labels.finish(), np.cumsum(counts.finish()),
                   lines.finish())

    def widened(self, columns):
        """The same numbers, as a matrix of so many columns."""
        if columns == self.X.shape[1]:
            return self
        X = _csr(self.X.data, self.X.indices, self.X.indptr, columns)
        return Piece(X, self.labels, self.ends, self.lines)  # _replace would count fields with len

    def reordered(self, order):
        """The rows in this order."""
        counts = self.counts[order]
        ends = np.cumsum(counts)
        at = np.repeat(self.ends[order] - ends, counts)  # how far each label moves
        return Piece(self.X[order], self.labels[at + np.arange(at.size)], ends, self.lines[order])

    def cut(self, begin, end):
        """A run of rows; their numbers are not copied."""
        ends = self.X.indptr[begin:end + 1]
        part = slice(ends[0], ends[-1])
        X = _csr(self.X.data[part], self.X.indices[part], ends - ends[0], self.X.shape[1])
        first = self.ends[begin - 1] if begin else 0
        return Piece(X, self.labels[first:self.ends[end - 1]], self.ends[begin:end] - first,
                     self.lines[begin:end])

    def singly(self):
        """Row by row: one matrix, whose place in the numbers moves on; making many is slow."""
        row = _csr(self.X.data[:0], self.X.indices[:0], np.zeros(2, self.X.indptr.dtype),
                   self.X.shape[1])
        row.data, row.indices = self.X.data, self.X.indices
        for t in range(len(self)):
            row.indptr = self.X.indptr[t:t + 2]
            yield row

    def holds(self, label):
        """For each row, whether this label is one of its own."""
        counts = np.concatenate(([0], np.cumsum(self.labels == label)))
        return counts[self.ends] > counts[self.ends - self.counts]


def _csr(values, indices, ends, columns):
    return scipy.sparse.csr_matrix((values, indices, ends), (len(ends) - 1, columns), copy=False)


class Scan(NamedTuple):
    """What a first reading of all rows has found."""

    rows: int
    columns: int
    least: float  # label
    most: float
    ordered: bool  # whether labels differ and never fall from row to row
    found: bool  # whether a row has the label that was asked for
    fraction: str | None  # a label that is no whole number, and its place


class Rows:
    """The rows of a file or of standard input; `TextRows` are those of plain text, `NamedRows`
    those of labels or features that are words.

    Parameters
    ----------
    path : str
    columns : int, optional
        An index beyond them is an error. None: those of the file.
    zero_based : bool
    labels : Labels, optional
        What the labels mean; None: they are not asked for.
    single : str, optional
        Each row must have one label; an error says this about it.
    """

    unit = "line"  # of the numbers of rows
    kept = None  # all pieces, once they were read and are not too much
    left_out = 0  # features whose names have no column, in the last reading

    def __init__(self, path, columns=None, *, zero_based=False, labels=None, single=None):
        self.path, self.name = path, _streams.name_of(path)
        self.columns, self.zero_based = columns, zero_based
        self.labels, self.single = labels, single
        if _streams.kind_of(path) == "converted":
            self.unit = "row"
            self.kept = [converted_rows(path)]
            width = self.kept[0].X.shape[1]
            if columns is not None and width > columns:
                raise Trouble(f"{path} has {width} columns, expected {columns} at most")

    def number_of(self, relevant):
        """The number of the label that --relevant names."""
        labels = self.labels
        if relevant is None or isinstance(relevant, float) and not labels.named:
            return relevant
        if isinstance(relevant, str) and labels.named is False:
            raise Trouble(f"--relevant {relevant}: expected a number: {self.name} has no names of "
                          "labels")
        name = f"{relevant:.10g}" if isinstance(relevant, float) else relevant
        return float(labels.numbers.setdefault(name, len(labels.numbers)))

    def place(self, piece, row):
        """Where a row of a piece stands."""
        return f"{self.name}: {self.unit} {piece.lines[row]}"

    def fraction(self, piece):
        """The first label that is no whole number, with its place; None where all are whole."""
        labels = piece.labels
        broken = np.flatnonzero(labels != np.rint(labels))
        if broken.size == 0 or not piece.single:
            return None
        return f"{self.place(piece, broken[0])}: the label {labels[broken[0]]:.10g}"

    def scan(self, label=None):
        """Reads everything once, and keeps what is not too much."""
        kept, size = [], 0
        rows, columns, least, most = 0, 0, np.inf, -np.inf
        ordered, last, found, fraction = True, -np.inf, False, None
        for piece in self.pieces():
            rows, columns = rows + len(piece), max(columns, piece.X.shape[1])
            labels = piece.labels
            if labels.size:
                ordered = (ordered and piece.single
                           and bool((np.diff(labels, prepend=last) >= 0).all()))
                least, most, last = min(least, labels.min()), max(most, labels.max()), labels[-1]
            found = found or label is not None and bool((labels == label).any())
            fraction = fraction or self.fraction(piece)
            X = piece.X
            size += sum(part.nbytes for part in (X.data, X.indices, X.indptr, *piece[1:]))
            if size > KEEP and not _streams.is_stdin(self.path):  # which has no second reading
                kept = None
            elif kept is not None:
                kept.append(piece)
        self.kept = kept
        return Scan(rows, columns, float(least), float(most), ordered and least < most, found,
                    fraction)

    def pieces(self, columns=None):
        """The pieces as matrices of so many columns; None: each as wide as it comes."""
        for piece in self._parsed() if self.kept is None else self.kept:
            if self.single is not None:
                self.check_single(piece, self.single)
            yield piece if columns is None else piece.widened(columns)

    @functools.cached_property
    def whole(self):
        """All rows as one piece; it replaces what was kept."""
        whole = Piece.joined(self.pieces())
        if len(whole) == 0:
            raise Trouble(f"{self.name} holds no rows")
        self.kept = [whole]
        return whole

    def _parsed(self):
        for reader in parsed(self.path, self.columns, self.zero_based):
            yield copied_piece(reader)

    def check_single(self, piece, why, least=1):
        """Each row has one label, or with ``least=0`` at most one; an error names one that has
        not."""
        wrong = np.flatnonzero((piece.counts < least) | (piece.counts > 1))
        if wrong.size:
            raise Trouble(f"{self.place(piece, wrong[0])}: expected one label, got "
                          f"{piece.counts[wrong[0]]}: {why}")


def parsed(path, columns, zero_based, queries=False):
    """The compiled reader of svmlight text behind each piece; with `queries` rows have one label,
    and the number behind ``qid:``."""
    rules = np.float64, columns, bool(zero_based)
    with _streams.source(path) as file:
        for reader, _ in pieces([file], rules, not queries, queries):
            yield reader


def copied_piece(reader):
    """What the reader holds, which the next piece overwrites."""
    small = np.int32 if reader.most <= np.iinfo(np.int32).max else np.int64
    ends = np.concatenate(([0], reader.row_ends)).astype(small)
    X = _csr(reader.values.copy(), reader.indices.astype(small), ends, reader.most + 1)
    return Piece(X, reader.labels.copy(), reader.label_ends.copy(), reader.lines.copy())


# --- converted files ------------------------------------------------------------------------------


def convert(options):
    """Puts svmlight or LETOR text into one file of arrays, which train, rank, choose and forward
    take in the place of the text: it is mapped into memory, where text is parsed. Also a log of
    clicks that names documents instead of repeating their features, for train.

      coactive-fast convert queries.txt.gz queries.cf
    """
    path, out = options.file, options.out
    if _streams.is_stdin(path):
        raise Trouble("convert reads a file, not standard input")
    _, labels, features, kind = _streams.form_of(_streams.start_of(path))
    if kind == "converted":
        raise Trouble(f"{path} is converted already: only text is")
    if labels or features:
        raise Trouble(f"{path} has names of labels or features: what is converted has numbers and "
                      "indices")
    _streams.check_target("OUT", out, path)
    if kind == "clicks":
        print(f"{out}: {_clicks.write_log(path, out):,} queries of a log")
    elif kind == "ranking":  # not in memory: the text is gone through twice
        found = RankingData.from_svmlight(path, zero_based=options.zero_based, into=out)
        print(f"{out}: {found!r}")
    else:
        why = None if options.multilabel else "--multilabel takes rows of any number of labels"
        X, labels, ends, _ = Rows(path, zero_based=options.zero_based, single=why).whole
        arrays = {"indptr": X.indptr, "labels": labels, "indices": X.indices, "data": X.data}
        if options.multilabel:
            arrays["ends"] = ends
        _file.write(out, {"kind": KIND, "columns": X.shape[1]}, arrays)
        print(f"{out}: {X.shape[0]:,} rows, {X.shape[1]:,} columns")


def converted_rows(path):
    """The rows that `convert` wrote, mapped into memory, as one piece.

    A mapped file's checksum is not checked, and the compiled loops trust a piece's indices: one
    pass over them here keeps a damaged file from reading beyond the ends of arrays.
    """
    head, arrays = read(path, True)
    if head.get("kind") != KIND:
        raise Trouble(f"{path} holds {head.get('kind')}, not rows")
    with troubles(f"{path} is damaged", (KeyError, TypeError, ValueError, OverflowError)):
        n = arrays["indptr"].size - 1
        X = scipy.sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]),
                                    (n, head["columns"]), copy=False)
        X.check_format(full_check=True)
        labels, lines = arrays["labels"], np.arange(1, n + 1)
        ends = arrays.get("ends", lines)
        if (labels.ndim != 1 or ends.shape != (n,) or ends.dtype.kind != "i"
                or (ends[-1:] != labels.size).any() or (np.diff(ends, prepend=0) < 0).any()):
            raise ValueError("its labels do not go with its rows")
        refuse_non_finite(labels, "its labels")
        refuse_non_finite(X.data, "its values")
        return Piece(X, labels, ends, lines)


# --- columns --------------------------------------------------------------------------------------


class Indexed(_vw.Given):
    """The columns of features that are indices, counted from `first`."""

    def __init__(self, name, first, most):
        super().__init__(())
        self.name, self.first, self.columns = name, first, most or MOST

    def grow(self, begin, all_names):
        for name in all_names.table.since(begin):
            if name is not None:
                text, line = name
                at = int(text) - self.first if WHOLE.fullmatch(text) else -1
                if not 0 <= at < self.columns:
                    last = (" or more" if self.columns == MOST else
                            f" ... {self.columns - 1 + self.first}")
                    raise Trouble(f"{self.name}: line {line}: expected the index of a feature, "
                                  f"{self.first}{last}, got {text!r:.60} (--names: features have "
                                  "names)")
                self.place[text] = at
        super().grow(begin, all_names)

    def width(self):
        return int(self.column.max(initial=-1)) + 1


# --- rows with names ------------------------------------------------------------------------------


class NamedRows(Rows):
    """The rows of such a file or of standard input, as `Rows`.

    Parameters
    ----------
    path : str
    table : Indexed, logs._vw.Given or logs._vw.Hashed
        The columns; a first reading adds to the first two.
    columns : int, optional
        How many there are; None: as many as there come.
    vw : bool
        Whether the lines are VW's.
    labels : Labels, optional
        None: labels are not read.
    single : str, optional
        As in `Rows`.
    """

    queries = None  # of ranking: the query of each row

    def __init__(self, path, table, columns=None, *, vw=False, labels=None, single=None):
        super().__init__(path, columns, labels=labels, single=single)
        self.table, self.vw = table, vw

    def _parsed(self):
        names, self.left_out = _vw.Names(True), 0
        read_head = functools.lru_cache(HEADS)(self._head)  # tags may all differ
        self.table.column = np.empty(0, np.int32)  # the numbers of names begin anew
        with _streams.source(self.path) as file:
            reader = Lines(file, file.name, names.table, not self.vw)
            while reader.advance():
                self.table.grow(names.grow(file.name), names)
                piece = self._piece(reader, names, read_head)
                if len(piece):
                    yield piece

    def _piece(self, reader, names, read_head):
        ends = np.concatenate([[0], reader.row_ends])
        found, values, ends = _vw.pairs_of(self.table, reader.names, reader.values, ends, names)
        self.left_out += reader.names.size - found.size
        X = scipy.sparse.csr_matrix((values.copy(), found, ends.astype(np.int32)),
                                    (ends.size - 1, self.columns or self.table.width()), copy=False)
        with np.errstate(over="ignore"):
            X.sum_duplicates()
        lines = reader.lines.copy()
        bad = np.flatnonzero(~np.isfinite(X.data))
        if bad.size:
            row = np.searchsorted(X.indptr, bad[0], side="right") - 1
            raise Trouble(f"{self.name}: line {lines[row]}: the values of a feature that stands "
                          "more than once sum up to no finite number")
        if self.labels is None and self.queries is None:  # heads are not read
            return Piece(X, np.zeros(lines.size), np.arange(1, lines.size + 1), lines)
        rows = []
        try:
            for head, touches in reader.heads():
                rows.append(read_head(head, touches))
        except ValueError as error:
            raise Trouble(f"{self.name}: line {lines[len(rows)]}: {error}") from error
        labels, weights, queries = zip(*rows, strict=True) if rows else ((), (), ())
        piece = Piece.of(X, labels, lines)
        if self.queries is not None:
            self.queries.extend(queries)
        return piece if all(weights) else piece.reordered(np.flatnonzero(weights))

    def _head(self, head, touches):
        """``(labels, weight, query)`` of what stands before a row's features; a row of weight 0 is
        left out."""
        if self.labels is None:
            return [0.0], 1.0, _query(head)
        try:
            words = head.decode().split()
        except UnicodeDecodeError:
            raise ValueError(f"a label must be text in UTF-8, got {head!r:.60}") from None
        weight, query = 1.0, None
        if self.vw:
            words, weight = self._vw_head(words, touches)
        elif (query := _query(head)) is not None:
            words.pop()
        labels = [self.labels.of(read_label(one)) for one in ",".join(words).split(",") if words]
        return labels, weight, query

    def _vw_head(self, words, touches):
        """The label, if there is one, and the weight."""
        if touches and words and not words[-1].startswith("'"):
            tag = words.pop()  # so says VW; but nobody means a label by it
            if not words:
                raise ValueError("put a blank in front of the |: what touches it is a tag, and no "
                                 f"label, got {tag!r:.60}")
        words = [word for word in words if not word.startswith("'")]
        if len(words) > 2:
            raise ValueError("expected a label, a weight and a tag in front of the |, got "
                             f"{' '.join(words)!r:.60}")
        if words and (words[0] == "shared" or ":" in words[0]):
            raise ValueError(f"expected a label, got {words[0]!r:.60}: decisions with costs are "
                             "for `replay`")
        weight = read_label(words[1]) if len(words) == 2 else 1.0
        if weight != 1.0 and (weight != 0.0 or self.queries is not None):
            raise ValueError("expected a weight of 1, or of 0 for a row that is left out (not of a "
                             f"query): rows all count the same, got {words[1]!r:.60}")
        return words[:1], weight


def _query(head):
    """What stands behind qid: at the end of a head; None where there is none."""
    found = re.search(rb"(?<!\S)qid:(\S*)\s*$", head)
    return found and found[1].decode(errors="replace")


# --- queries --------------------------------------------------------------------------------------


def ranking_data(rows, columns=None):
    """`RankingData` of rows with grades: the lines of a query have the same qid:, or in VW's text
    stand together, a blank line behind the last."""
    rows.queries = []
    width = columns or rows.whole.X.shape[1]
    whole = rows.whole.widened(width)
    rows.check_single(whole, "the grade of a document")
    ids = None
    if rows.vw:
        begins = np.diff(whole.lines, prepend=-1) != 1
    else:
        ids = np.empty(len(whole), np.int64)
        for row, query in enumerate(rows.queries):
            if query is None or not re.fullmatch("-?[0-9]{1,18}", query):
                raise Trouble(f"{rows.place(whole, row)}: expected qid: and a whole number behind "
                              f"the grade, got {query!r}")
            ids[row] = int(query)
        begins = np.diff(ids, prepend=ids[0] - 1) != 0
    offsets = np.append(np.flatnonzero(begins), len(whole))
    refuse_beyond_limit(COPIES * 8.0 * len(whole) * width,
                        f"{rows.name}: {len(whole):,} documents of {width:,} columns",
                        "rankings want dense rows: --hash-bits makes them narrower")
    return RankingData(whole.X.toarray(), whole.labels, offsets,
                       query_ids=None if ids is None else ids[offsets[:-1]])
