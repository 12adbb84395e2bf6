"""Logs in the two formats of Vowpal Wabbit: dsjson lines and cb_adf text."""

from __future__ import annotations

import io
import os
from collections import Counter

import numpy as np
import scipy.sparse

from .._memory import refuse_beyond_limit
from ..data import _check
from ..data._open import as_paths, opened
from ..data._svmlight import Grown, Pairs
from ..data._tables import distinct, strings
from ..learner import _check as parameter
from ..learner._progress import reporter
from . import _compiled

FORMATS = ("auto", "dsjson", "cb")
NARROW = 64  # columns up to which a matrix is dense unless asked otherwise
NAMED = 20  # bits of a table up to which its columns have names


def read(path, *, format, hash_bits, context_bits, chain_hash, names, context_names, dense, dtype,
         unlabelled, progress):
    """What `BanditLog.from_vw` makes a log of, and what was left out."""
    text = {"auto": None, "dsjson": False, "cb": True}[parameter.choice("format", format, FORMATS)]
    skip = parameter.choice("unlabelled", unlabelled, ("refuse", "skip")) == "skip"
    dtype = _check.float_dtype("dtype", dtype)
    if dense is not None:
        dense = parameter.switch("dense", dense)
    chain_hash = parameter.switch("chain_hash", chain_hash)
    rounds = _Rounds(_columns("hash_bits", hash_bits, "names", names),
                     _columns("context_bits", context_bits, "context_names", context_names),
                     chain_hash)
    paths = as_paths(path)
    if not paths:
        raise ValueError("path must name at least one file")
    with reporter(progress) as report:
        known = report is not None and not any(hasattr(path, "readinto") for path in paths)
        sizes = [os.stat(path).st_size for path in paths] if known else []
        for i, one in enumerate(paths):
            with opened(one) as (file, name):
                rounds.take(file, name, text, skip, _listener(report, file, sizes, i))
    return rounds.finish(dense, dtype)


def _columns(bits_name, bits, names_name, names):
    if bits is not None and names is not None:
        raise ValueError(f"{bits_name} and {names_name} both say what the columns are: give one")
    if bits is not None:
        return Hashed(parameter.count(bits_name, bits, least=1, most=31))
    if names is None:
        return Vocabulary()
    return Given(distinct(strings(names_name, names), "columns", names_name))


def _listener(report, file, sizes, i):
    """Called behind each piece of file number i: reports how many bytes of all files were read,
    where that can be told."""
    below = getattr(file, "fileobj", file)  # gzip's; those of bzip2 and xz have none to ask
    if not sizes or not isinstance(below, io.FileIO):
        return lambda: None
    return lambda: report(sum(sizes[:i]) + below.tell(), sum(sizes))


# --- columns --------------------------------------------------------------------------------------


class Vocabulary:
    """A column a name, in the order in which they come."""

    def __init__(self):
        self.column = np.empty(0, np.int32)  # of each number of a name; -1 before its first round
        self.order: list[int] = []

    def grow(self, begin, all_names):
        more = np.full(len(all_names.texts) - begin, -1, np.int32)
        self.column = np.concatenate([self.column, more])

    def take(self, numbers, all_names):
        """Their columns, and which of them have one: None where all have."""
        _compiled.number_columns(numbers, all_names.same, self.column, self.order)
        return numbers, None

    def width(self):
        return len(self.order)

    def names(self, all_names):
        return tuple(all_names.texts[i] for i in self.order)


class Given:
    """The columns of another log, and one a new name, in the order in which they come, until there
    are `most`; features without a column are left out."""

    def __init__(self, names, most=0):
        self.most, self.column = most, np.empty(0, np.int32)
        self.place = {name: i for i, name in enumerate(names)}

    def grow(self, begin, all_names):
        texts = all_names.texts[begin:]
        for text in texts:
            if text is not None and len(self.place) < self.most:
                self.place.setdefault(text, len(self.place))
        more = [self.place.get(text, -1) for text in texts]
        self.column = np.concatenate([self.column, np.array(more, np.int32)])

    def take(self, numbers, all_names):
        found = self.column[numbers]
        kept = found >= 0
        return (found, None) if kept.all() else (found[kept], kept)

    def width(self):
        return len(self.place)

    def names(self, all_names):
        return tuple(self.place)


class Hashed:
    """The 2**bits columns of VW's table. A column's name is that of what fell into it, with |
    between several."""

    def __init__(self, bits):
        self.bits, self.column = bits, np.empty(0, np.int32)

    def grow(self, begin, all_names):
        more = all_names.table.columns(begin, self.bits, all_names.chain).astype(np.int32)
        self.column = np.concatenate([self.column, more])

    def take(self, numbers, all_names):
        return self.column[numbers], None

    def width(self):
        return 1 << self.bits

    def names(self, all_names):
        if self.bits > NAMED:
            return None
        found = [""] * self.width()
        for text, column in zip(all_names.texts, self.column.tolist(), strict=True):
            if text is not None:
                found[column] = f"{found[column]}|{text}" if found[column] else text
        return tuple(found)


class Names:
    """All names that were seen, as text by their numbers."""

    def __init__(self, chain):
        self.table, self.chain = _compiled.Names(), chain
        self.texts: list[str | None] = []
        self.first: dict[str, int] = {}  # by text, the first number with it
        self.same = np.empty(0, np.int32)  # of each number, the first one with its text

    def grow(self, file):
        """Takes over the new ones; returns how many there were before."""
        begin = len(self.texts)
        more = list(range(begin, len(self.table)))
        for i, entry in enumerate(self.table.since(begin)):
            text = None
            if entry is not None:
                text, line = entry
                if isinstance(text, bytes):
                    raise ValueError(f"{file}: line {line}: a name must be text in UTF-8, got "
                                     f"{text!r:.60}")
                more[i] = self.first.setdefault(text, begin + i)
            self.texts.append(text)
        self.same = np.concatenate([self.same, np.array(more, np.int32)])
        return begin


# --- rounds ---------------------------------------------------------------------------------------


def pairs_of(columns, numbers, values, ends, all_names):
    """Columns, values and ends of rows whose features are these numbers of names; what has no
    column is left out."""
    found, kept = columns.take(numbers, all_names)
    if kept is not None:
        values, ends = values[kept], np.concatenate([[0], np.cumsum(kept)])[ends]
    return found, values, ends


class _Matrix:
    """Rows of one kind, as they come."""

    def __init__(self, columns):
        self.columns, self.left_out, self.pairs = columns, 0, Pairs(np.float64)

    def take(self, numbers, values, ends, all_names):
        given = numbers.size
        found, values, ends = pairs_of(self.columns, numbers, values, ends, all_names)
        self.left_out += int(given - found.size)
        self.pairs.append(found, values, ends)

    def finish(self, dense, dtype):
        """Dense, or CSR; features that stand twice in a row add up."""
        ends, width = self.pairs.ends.finish(), self.columns.width()
        values = self.pairs.values.finish()
        if values.size <= np.iinfo(np.int32).max:  # else scipy makes the indices as wide
            ends = ends.astype(np.int32)
        with np.errstate(over="ignore"):  # told as an error
            values = values.astype(dtype, copy=False)
        matrix = scipy.sparse.csr_array((values, self.pairs.indices.finish(), ends),
                                        shape=(ends.size - 1, width), copy=False)
        matrix.sum_duplicates()
        if dense is None:
            dense = width <= NARROW
        if not dense:
            return matrix
        refuse_beyond_limit(float(ends.size) * width * dtype.itemsize, "the matrix",
                            "dense=False keeps what is not 0")
        return matrix.toarray()


class _Rounds:
    """What the files say, one behind the other."""

    def __init__(self, actions, shared, chain):
        self.actions, self.shared = _Matrix(actions), _Matrix(shared)
        self.names, self.rows = Names(chain), 0
        self.last, self.text = None, None  # the file before, the format of all
        self.left_out: Counter[str] = Counter()
        self.files: list[str] = []
        self.offsets, self.chosen = Grown(np.int64), Grown(np.int64)
        self.reward, self.probability = Grown(np.float64), Grown(np.float64)
        self.offsets.append([0])

    def take(self, file, name, text, skip, listen):
        self.files.append(name)
        piece = _compiled.Rounds(file, name, self.names.table, text, skip, self.last)
        while piece.advance():
            if piece.text is not None:  # of nothing but blanks
                if self.text not in (None, piece.text):
                    raise ValueError(f"{name}: expected the format of the files before it")
                self.text = piece.text
                self.names.chain = self.names.chain or piece.text
            self._take(piece, name)
            listen()
        self.left_out.update(piece.left_out)
        self.last = piece

    def _take(self, piece, file):
        begin = self.names.grow(file)
        for matrix in (self.actions, self.shared):
            matrix.columns.grow(begin, self.names)
        self.actions.take(piece.actions, piece.action_values, piece.row_ends, self.names)
        self.shared.take(piece.shared, piece.shared_values, piece.shared_ends, self.names)
        self.offsets.append(piece.round_ends + self.rows)
        self.rows += piece.row_ends.size
        self.chosen.append(piece.chosen)
        self.reward.append(0.0 - piece.costs)
        self.probability.append(piece.probabilities)

    def finish(self, dense, dtype):
        """The arguments of `BanditLog`, and what was left out."""
        what = ", ".join(self.files)
        if self.chosen.size == 0:
            raise ValueError(f"{what}: there is no round{told(self.left_out)}")
        if self.actions.columns.width() == 0:
            raise ValueError(f"{what}: no action has a feature")
        self.left_out["features"] = self.actions.left_out + self.shared.left_out
        found = {
            "features": self.actions.finish(dense, dtype), "offsets": self.offsets.finish(),
            "chosen": self.chosen.finish(), "reward": self.reward.finish(),
            "probability": self.probability.finish(),
            "feature_names": self.actions.columns.names(self.names)}
        if self.shared.columns.width() > 0:
            found["context"] = self.shared.finish(dense, dtype)
            found["context_names"] = self.shared.columns.names(self.names)
        return found, {name: count for name, count in self.left_out.items() if count}


def told(left_out):
    """``" (left out: 3 dangling)"``; nothing where nothing was."""
    parts = ", ".join(f"{count:,} {name}" for name, count in left_out.items() if count)
    return f" (left out: {parts})" if parts else ""
