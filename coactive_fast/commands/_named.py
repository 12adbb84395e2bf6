"""Rows whose labels or features are words: ``label name:value ...`` a line, or VW's text.

Features are read as those of logs are (cf_log.h), and become columns in one of three ways: by their
names, in the order in which they come; by VW's hash of the name; or, where they are whole numbers,
as indices.
"""

import re
from typing import NamedTuple

import numpy as np
import scipy.sparse

from coactive_fast._memory import refuse_beyond_limit
from coactive_fast.data import RankingData
from coactive_fast.logs import _scan, _vw

from . import Trouble, _labels, _rows, _streams

LOOKED = 64  # lines that tell whether labels or features are words
HEADS = 1 << 16  # different heads of lines that are remembered
WHOLE = re.compile("[0-9]{1,18}")
MOST = 1 << 31  # columns
COPIES = 3  # of the dense rows of a ranking at once, while its weights are fitted


# --- which form a file has ------------------------------------------------------------------------


class Look(NamedTuple):
    """What the first lines say."""

    vw: bool
    labels: bool  # whether a label is a word
    features: bool  # whether a feature has a name
    converted: bool = False


def look(start):
    """The form of a file that is neither converted nor JSON, by its first bytes."""
    whole = start.removeprefix(_streams.BOM).split(b"\n")
    if len(start) >= _streams.START and len(whole) > 1:
        whole.pop()  # it may be cut in two
    lines = [line.partition(b" #")[0].split() for line in whole
             if line.strip() and not line.lstrip().startswith(b"#")][:LOOKED]
    if lines and b"|" in b" ".join(lines[0]):
        return Look(True, False, True)
    labels = features = False
    for tokens in lines:
        if b":" not in tokens[0]:
            labels = labels or not all(_is_number(one) for one in tokens[0].split(b","))
            tokens = tokens[1:]
        features = features or any(not _is_number(one.partition(b":")[0]) for one in tokens
                                   if not one.startswith((b"qid:", b":")))
    return Look(False, labels, features)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- columns --------------------------------------------------------------------------------------


class Growing(_vw.Given):
    """A column a name, in the order in which they come, up to `most`; of more names than these
    those that come later are left out."""

    def __init__(self, names, most):
        super().__init__(())
        self.place = {name: i for i, name in enumerate(names)}
        self.most = MOST if most is None else most

    def grow(self, begin, all_names):
        for text in all_names.texts[begin:]:
            if text is not None and len(self.place) < self.most:
                self.place.setdefault(text, len(self.place))
        super().grow(begin, all_names)

    def width(self):
        return len(self.place)

    def names(self, all_names=None):
        return list(self.place)


class Indexed(Growing):
    """The columns of features that are indices."""

    def __init__(self, name, first, most):
        super().__init__((), most)
        self.name, self.first, self.last = name, first, -1

    def grow(self, begin, all_names):
        for told in all_names.table.told(begin):
            if told is not None:
                text, line = told
                at = int(text) - self.first if WHOLE.fullmatch(text) else -1
                if not 0 <= at < self.most:
                    last = "" if self.most == MOST else f" ... {self.most - 1 + self.first}"
                    raise Trouble(f"{self.name}: line {line}: expected the index of a feature, "
                                  f"{self.first}{last or ' or more'}, got {text!r:.60} (--names: "
                                  "features have names)")
                self.place[text] = at
                self.last = max(self.last, at)
        _vw.Given.grow(self, begin, all_names)

    def width(self):
        return self.last + 1


# --- rows -----------------------------------------------------------------------------------------


class NamedRows(_rows.Rows):
    """The rows of such a file or of standard input, as `_rows.Rows`.

    Parameters
    ----------
    path : str
    table : Growing, Indexed or logs._vw.Hashed
        The columns; a first reading adds to the first two.
    columns : int, optional
        How many there are; None: as many as there come.
    vw : bool
        Whether the lines are VW's.
    labels : Labels, optional
        None: labels are not looked at.
    single : str, optional
        As in `Rows`.
    """

    def __init__(self, path, table, columns=None, *, vw=False, labels=None, single=None):
        self.path, self.name, self.unit = path, _streams.name_of(path), "line"
        self.table, self.columns, self.vw = table, columns, vw
        self.labels, self.single, self.kept = labels, single, None
        self.left_out = 0  # features without a column, in the last reading
        self.queries = None  # of ranking: the query of each row

    def _parsed(self):
        names, known, self.left_out = _vw.Names(True), {}, 0
        self.table.column = np.empty(0, np.int32)  # the numbers of names begin anew
        with _streams.source(self.path) as file:
            reader = _scan.Lines(file, file.name, names.table, not self.vw)
            while reader.advance():
                self.table.grow(names.grow(file.name), names)
                piece = self._piece(reader, names, known)
                if len(piece):
                    yield self._checked(piece)

    def _piece(self, reader, names, known):
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
        if self.labels is None:
            if self.queries is not None:
                self.queries.extend(_query(head.split()) for head, _ in reader.heads())
            return _rows.Piece(X, np.zeros(lines.size), None, lines)
        return self._labelled(X, lines, reader.heads(), known)

    def _labelled(self, X, lines, heads, known):
        """The piece with its labels; rows of weight 0 are left out."""
        if len(known) > HEADS:  # tags may all differ
            known.clear()
        rows = []
        for head, line in zip(heads, lines.tolist(), strict=True):
            if head not in known:
                known[head] = self._head(*head, f"{self.name}: line {line}")
            rows.append(known[head])
        flat = np.array([label for labels, _, _ in rows for label in labels], dtype=np.float64)
        counts = np.array([len(labels) for labels, _, _ in rows])
        piece = _rows.Piece(X, flat, None if (counts == 1).all() else np.cumsum(counts), lines)
        if self.queries is not None:
            self.queries.extend(query for _, _, query in rows)
        weights = np.array([weight for _, weight, _ in rows])
        if weights.all():
            return piece
        return piece.take(np.flatnonzero(weights)) if weights.any() else piece.cut(0, 0)

    def _head(self, head, touches, where):
        """``(labels, weight, query)`` of what stands in front of a row's features."""
        try:
            words = head.decode().split()
        except UnicodeDecodeError:
            raise Trouble(f"{where}: a label must be text in UTF-8, got {head!r:.60}") from None
        if self.vw:
            return self._vw_head(words, touches, where)
        query = _query(head.split())
        return self._labels_of(words[:-1] if query is not None else words, where), 1.0, query

    def _vw_head(self, words, touches, where):
        if touches and words and not words[-1].startswith("'"):
            tag = words.pop()  # so says VW; but nobody means a label by it
            if not words:
                raise Trouble(f"{where}: put a blank in front of the |: what touches it is a tag, "
                              f"and no label, got {tag!r:.60}")
        words = [word for word in words if not word.startswith("'")]
        if len(words) > 2:
            raise Trouble(f"{where}: expected a label, a weight and a tag in front of the |, got "
                          f"{' '.join(words)!r:.60}")
        if words and (words[0] == "shared" or ":" in words[0]):
            raise Trouble(f"{where}: expected a label, got {words[0]!r:.60}: decisions with costs "
                          "are for `replay`")
        weight = _labels.read(words[1], where) if len(words) == 2 else 1.0
        if weight != 1.0 and (weight != 0.0 or self.queries is not None):
            raise Trouble(f"{where}: expected a weight of 1, or of 0 for a row that is left out "
                          f"(not of a query): rows all count the same, got {words[1]!r:.60}")
        return self._labels_of(words[:1], where), weight, None

    def _labels_of(self, words, where):
        return [self.labels.of(_labels.read(one, where), where)
                for one in ",".join(words).split(",") if words]


def _query(words):
    """What stands behind qid: at the end of a head; None where there is none."""
    found = words and words[-1].startswith(b"qid:")
    return words[-1][4:].decode(errors="replace") if found else None


# --- queries --------------------------------------------------------------------------------------


def ranking_data(rows, columns=None):
    """`RankingData` of rows with grades: the lines of a query have the same qid:, or in VW's text
    stand together, a blank line behind the last."""
    rows.queries = []
    pieces = list(rows.pieces(None))
    if not pieces:
        raise Trouble(f"{rows.name} holds no rows")
    width = columns or max(piece.X.shape[1] for piece in pieces)
    whole = _rows.Piece.joined([piece.widened(width) for piece in pieces])
    _rows._check_single(whole.counts, lambda row: rows.place(whole, row),
                        "the grade of a document")
    ids = None
    if rows.vw:
        begins = np.diff(whole.lines, prepend=-1) != 1
    else:
        ids = np.array([_query_of(query, rows.place(whole, row))
                        for row, query in enumerate(rows.queries)])
        begins = np.diff(ids, prepend=ids[0] - 1) != 0
    offsets = np.append(np.flatnonzero(begins), len(whole))
    refuse_beyond_limit(COPIES * 8.0 * len(whole) * width,
                        f"{rows.name}: {len(whole):,} documents of {width:,} columns",
                        "rankings want dense rows: --hash-bits makes them narrower")
    return RankingData(whole.X.toarray(), whole.labels, offsets,
                       query_ids=None if ids is None else ids[offsets[:-1]])


def _query_of(text, where):
    if text is None or not re.fullmatch("-?[0-9]{1,18}", text):
        raise Trouble(f"{where}: expected qid: and a whole number behind the grade, got {text!r}")
    return int(text)
