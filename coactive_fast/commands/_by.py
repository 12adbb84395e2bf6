"""``coactive-fast train LEARNER FILE --by KEY_COLUMN``: a model for each key, in a fleet's file."""

import contextlib
import functools
import itertools
import os
import re
import sys

import numpy as np

import coactive_fast as cf
from coactive_fast.fleet._fleet import beside_of, create
from coactive_fast.logs import _table as _columns
from coactive_fast.logs._table import matrix, required

from . import (
    Trouble,
    _learners,
    _rows,
    _streams,
    refuse_options,
    stoppable,
    troubles,
    warn,
)
from ._board import Board, Forwarded, refuse_second_pass

QUERY = "qid"  # the key of svmlight text
TABLE = "table"
CAPACITY = 1 << 10  # models that fit at first
WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")
NOT_HERE = ("clicks", "documents", "features", "first_label", "format", "hash_bits", "held_out",
            "k", "names", "no_scale", "radius", "shuffle", "text", "user")


# --- what is learned, and what is counted ---------------------------------------------------------


class Regression:
    """Targets, and the squared errors of what was predicted before each."""

    what = "loss/row"

    def __init__(self, options):
        if options.relevant is not None:
            raise Trouble(f"--relevant is for ridge-filter, and {options.learner} has targets")

    def answers(self, batch, column):
        return required(batch, column)

    def play(self, fleet, keys, X, y):
        return fleet.run(keys, X, y).loss

    def summary(self):
        return None


class Rewards(Regression):
    """Rewards of the rows that were chosen; a learner of them predicts nothing as it learns."""

    what = "reward/row"

    def play(self, fleet, keys, X, y):
        fleet.run(keys, X, y)
        return y


class Relevance:
    """Which rows are relevant, and the wrong decisions."""

    what = "wrong/row"

    def __init__(self, options):
        self.relevant, self.found = options.relevant, Forwarded()

    def answers(self, batch, column):
        if isinstance(self.relevant, str):
            return np.array([str(one) == self.relevant for one in batch.keys(column).tolist()])
        values = required(batch, column)
        return values > 0.0 if self.relevant is None else values == self.relevant

    def play(self, fleet, keys, X, y):
        return self.found.add(fleet.run(keys, X, y).forwarded, y)

    def summary(self):
        return self.found.summary()


KINDS = {cf.OnlineRidge: Regression, cf.LinearBandit: Rewards, cf.RidgeFilter: Relevance}
CLASSES = {_learners.kebab(cls.__name__): cls for cls in KINDS}


def class_of(name):
    plain = name if name in CLASSES else _learners.kebab(name)
    if plain not in CLASSES:
        raise Trouble(f"LEARNER {name}: with --by it is one of {', '.join(CLASSES)}")
    return CLASSES[plain]


# --- blocks of rows -------------------------------------------------------------------------------


class Table:
    """The rows of a table, or of JSON objects a line.

    `known`: what the fleet's file says of its columns; None of a new one.
    """

    def __init__(self, options, kind, stack, known):
        self.source = source_of(options.file, stack)
        self.name, self.names = _streams.name_of(options.file), self.source.names
        self.key, self.label = options.by, options.label or (known or {}).get("label", "label")
        self._has("by", self.key)
        self._has("label", self.label)
        if self.label == self.key:
            raise Trouble(f"--label {self.label}: it is the column of --by")
        self.columns = [name for name in self.names if name not in (self.key, self.label)]
        asked = None if options.columns is None else options.columns.split(",")
        if known is not None:
            if asked not in (None, known["columns"]):
                raise Trouble(f"--columns {options.columns}: {options.start} has learned from "
                              f"{','.join(known['columns'])}")
            asked = known["columns"]
        if asked is not None:
            for column in asked:
                self._has("columns" if options.columns is not None else "from", column)
                if column in (self.key, self.label):
                    raise Trouble(f"--columns: {column!r} is the column of "
                                  f"--{'by' if column == self.key else 'label'}")
            if len(set(asked)) < len(asked):
                raise Trouble(f"--columns {options.columns}: a column stands there twice")
            self.columns = asked
        if not self.columns:
            raise Trouble(f"{self.name}: there is no column of features")
        self.kind, self.width, self.expected = kind, None, None

    def _has(self, option, column):
        if column not in self.names:
            raise Trouble(f"--{option} {column}: {self.name} has the columns "
                          f"{', '.join(map(str, self.names))[:200]}")

    def header(self):
        """What goes into the fleet's file."""
        return {"kind": TABLE, "columns": self.columns, "label": self.label}

    def blocks(self):
        """``(keys, X, answers, place)`` of some rows; `place` says where one of them stands."""
        for batch in self.source.batches([self.key, self.label, *self.columns]):
            if len(batch):
                self.expected = self.source.rows
                yield (batch.keys(self.key), matrix(batch, self.columns, np.dtype(np.float64))[0],
                       self.kind.answers(batch, self.label), batch.place)


def source_of(path, stack):
    """A source of batches, as `logs` has them."""
    stdin = _streams.is_stdin(path)
    if _streams.start_of(path).removeprefix(_streams.BOM).lstrip().startswith(b"{"):
        return Objects(stack.enter_context(_streams.source(path)))
    source = _columns.source_of(stack.enter_context(_streams.source(path)) if stdin else path,
                                None, stack)
    if stdin:
        source.name = _streams.name_of(path)
    return source


class Objects:
    """JSON objects a line, whose members are the columns; the first one says which there are."""

    rows = None

    def __init__(self, stream):
        self.name = stream.name
        objects = ((number, found) for number, _, found in _streams.objects(stream))
        first = next(objects, None)
        if first is None:
            raise Trouble(f"{self.name} holds no rows")
        self.objects, self.names = itertools.chain([first], objects), list(first[1])

    def batches(self, needed):
        while some := list(itertools.islice(self.objects, _columns.ROWS)):
            for number, found in some:
                absent = next((name for name in needed if name not in found), None)
                if absent is not None:
                    raise Trouble(f"{self.name}: line {number}: there is no {absent!r}")
            yield _ObjectBatch(self.name, some)


class _ObjectBatch(_columns.LineBatch):
    def __init__(self, name, some):
        lines, self.objects = zip(*some, strict=True)
        super().__init__(name, lines, self._column)

    def _column(self, name):
        values = [found[name] for found in self.objects]
        missing = np.array([value is None for value in values])
        return np.array(values, dtype=object), missing

    def numbers(self, column):
        values, missing = self._column(column)
        for row, value in enumerate(values.tolist()):
            if value is not None and not isinstance(value, (bool, int, float)):
                raise ValueError(f"{self.place(row)}: column {column!r}: expected a number, got "
                                 f"{value!r:.60}")
        return np.where(missing, 0.0, values).astype(np.float64), missing


class Queries:
    """svmlight text, whose keys are what stands behind ``qid:``."""

    def __init__(self, options, kind, width, known):
        refuse_options(options, ("columns", "label"),
                       f"is for tables, and {options.file} is svmlight text")
        self.path, self.name, self.kind = options.file, _streams.name_of(options.file), kind
        self.zero_based = options.zero_based
        if known is not None:
            if self.zero_based and not known["zero_based"]:
                raise Trouble(f"--zero-based: the features of {options.start} count from 1")
            self.zero_based = known["zero_based"]
        self.width, self.expected = width, None
        if width is None:
            if _streams.is_stdin(self.path):
                raise Trouble("standard input is not read twice, and how many columns there are "
                              "must be known: save it as a file, or go on with --from")
            self.expected = 0
            for piece, _ in self._pieces():
                self.width = max(self.width or 1, piece.X.shape[1])
                self.expected += len(piece)

    def header(self):
        return {"kind": QUERY, "zero_based": self.zero_based}

    def _pieces(self):
        width = None if self.expected == 0 else self.width  # 0: they are being counted
        for reader in _rows.parsed(self.path, width, self.zero_based, queries=True):
            yield _rows.copied_piece(reader), reader.queries.copy()

    def blocks(self):
        for piece, queries in self._pieces():
            labels = piece.labels, np.zeros(len(piece), bool)
            batch = _columns.LineBatch(self.name, piece.lines, {"label": labels}.__getitem__)
            yield (queries, piece.widened(self.width).X, self.kind.answers(batch, "label"),
                   batch.place)


# --- keys -----------------------------------------------------------------------------------------


class Keys:
    """Whole numbers or texts: as --keys says, as the fleet has them, or as the first rows are."""

    def __init__(self, options, fleet):
        self.text = {"number": False, "text": True}.get(options.keys)
        known = next(iter(fleet), None)
        if known is not None:
            if self.text is not None and self.text != isinstance(known, str):
                raise Trouble(f"--keys {options.keys}: the keys of {options.start} are "
                              f"{'texts' if isinstance(known, str) else 'whole numbers'}")
            self.text = isinstance(known, str)

    def of(self, found, place):
        """The keys of a block, as a fleet wants them."""
        if found.dtype.kind in "iu":
            self.text = bool(self.text)
            return [str(key) for key in found.tolist()] if self.text else found
        found = found.tolist()
        odd = next((row for row, key in enumerate(found)
                    if isinstance(key, bool) or not isinstance(key, (int, str))), None)
        if odd is not None:
            raise Trouble(f"{place(odd)}: a key must be a whole number or a text, got "
                          f"{found[odd]!r:.60}")
        numbers = [isinstance(key, int) or WHOLE.fullmatch(key) is not None for key in found]
        if self.text is None:
            self.text = not all(numbers)
        if self.text:
            return list(map(str, found))
        if not all(numbers):
            row = numbers.index(False)
            raise Trouble(f"{place(row)}: the keys so far are whole numbers, got {found[row]!r:.60}"
                          ": --keys text takes all of them as texts, from the start")
        return np.array(found, dtype=np.int64)


# --- the training ---------------------------------------------------------------------------------


def train(options):
    """Trains a model for each key; returns how many rows were learned."""
    cls = class_of(options.learner)
    refuse_options(options, NOT_HERE, "does not go with --by")
    if options.skip and options.passes > 1:
        raise Trouble("--skip and --passes: say one of them")
    refuse_second_pass(options)
    kind = KINDS[cls](options)
    path = options.model if options.start is None else options.start
    with contextlib.ExitStack() as stack:
        signals = stack.enter_context(stoppable())
        if options.start is None:
            source = source_for(options, kind, stack, None, None)
            fleet = stack.enter_context(begun(options, cls, source.header()))
        else:
            fleet = stack.enter_context(gone_on(options, cls))
            source = source_for(options, kind, stack, known_of(options, fleet),
                                fleet.health()["features"] or None)
        work = Work(options, fleet, kind, signals)
        try:
            work.one_pass(source)
            for _ in range(1, options.passes):
                work.one_pass(source_for(options, kind, stack, source.header(), source.width))
            work.board.end()
        except KeyboardInterrupt:
            fleet.flush()
            if path is not None and work.rows:
                print(f"interrupted: {path} has learned {work.rows:,} rows; --from {path} --skip "
                      f"{options.skip + work.rows} goes on behind them", file=sys.stderr)
            raise
        finally:
            if options.start is None and path is not None and work.rows == 0:
                fleet.close()
                os.unlink(path)  # nothing is in it, and it would stand in the way of a new one
        fleet.flush()
        print(f"{len(fleet):,} models" + (f"; {kind.summary()}" if kind.summary() else ""))
    if path is not None:
        print(f"saved: {path}")
    return work.rows


class Work:
    """What goes on while blocks of rows are learned."""

    def __init__(self, options, fleet, kind, signals):
        self.options, self.fleet, self.kind, self.signals = options, fleet, kind, signals
        self.keys, self.board = Keys(options, fleet), Board(kind.what)
        self.rows, self.skip = 0, options.skip

    def one_pass(self, source):
        options = self.options
        for block in source.blocks():
            self.block(*block)
            if options.report is not None and source.expected:
                options.report(self.board.rounds, source.expected * options.passes)

    def block(self, found, X, answers, place):
        skipped = min(self.skip, X.shape[0])
        self.skip -= skipped
        keys = self.keys.of(found, place)
        for begin, end in self.board.stretches(X.shape[0] - skipped):
            begin, end = begin + skipped, end + skipped
            if self.rows == 0 and self.options.model is None and self.options.start is None:
                warn("train", "these models are not kept: --model OUT saves them")
            with self.signals():
                with troubles(f"{place(begin)} and on"):
                    counted = self.kind.play(self.fleet, keys[begin:end], X[begin:end],
                                             answers[begin:end])
                self.rows += end - begin
            self.board.add(counted)


def source_for(options, kind, stack, known, width):
    """The rows of the file."""
    if options.by == QUERY and _streams.kind_of(options.file) == "ranking":
        wanted, source = QUERY, functools.partial(Queries, options, kind, width)
    else:
        wanted, source = TABLE, functools.partial(Table, options, kind, stack)
    if known is not None and known["kind"] != wanted:
        raise Trouble(f"--from {options.start} has learned from "
                      f"{'a table' if wanted == QUERY else 'svmlight text'}, and "
                      f"{_streams.name_of(options.file)} is none")
    return source(known)


def known_of(options, fleet):
    """What the fleet's file says of its columns; None where it says nothing."""
    known = beside_of(fleet)
    if known is None:
        return None
    columns, zero_based = known.get("columns"), known.get("zero_based")
    if not (known.get("kind") == TABLE and isinstance(columns, list)
            and all(isinstance(name, str) for name in [*columns, known.get("label")])
            or known.get("kind") == QUERY and isinstance(zero_based, bool)):
        raise Trouble(f"--from {options.start}: what it says of its columns is damaged")
    return known


def begun(options, cls, beside):
    """A new fleet."""
    template = _learners.build(cls, _learners.parameters(cls, options.set))
    if options.model is not None:
        if os.path.isfile(options.model) and os.path.getsize(options.model):
            raise Trouble(f"--model {options.model} is there already: --from {options.model} goes "
                          "on with it, another name begins a new one")
        _streams.check_target("--model", options.model, options.file)
    with troubles(f"LEARNER {options.learner}", (TypeError, ValueError)):
        return create(options.model, template, CAPACITY, beside)


def gone_on(options, cls):
    """The fleet of --from, which goes on where it stands."""
    if options.set:
        raise Trouble("--set is for a new fleet: that of --from has its own parameters")
    if options.model is not None and os.path.realpath(options.model) \
            != os.path.realpath(options.start):
        raise Trouble(f"--model {options.model}: a fleet goes on where it stands, in the file of "
                      "--from: copy it first to keep what it was")
    with troubles("--from"):
        fleet = cf.Fleet(options.start, mode="r+")
    if type(fleet.template) is not cls:
        fleet.close()
        raise Trouble(f"--from {options.start} has models of {type(fleet.template).__name__}, not "
                      f"of {cls.__name__}")
    return fleet
