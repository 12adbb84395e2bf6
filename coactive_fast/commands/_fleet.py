"""``coactive-fast train LEARNER FILE --by KEY_COLUMN``: a model for each key, in a fleet's file;
and ``coactive-fast fleet``: what is in that file."""

import contextlib
import itertools
import os
import re
import sys

import numpy as np

import coactive_fast as cf
from coactive_fast.fleet._fleet import beside_of, create
from coactive_fast.logs import _table
from coactive_fast.logs._table import matrix, required

from . import Trouble, _learners, _rows, _streams, refuse_options, stoppable, troubles, warn
from ._board import Board, Decisions, refuse_second_pass

QUERY = "qid"  # the key of svmlight text
TABLE = "table"
CAPACITY = 1 << 10  # models that fit at first
WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")
NOT_HERE = ("clicks", "documents", "features", "first_label", "format", "hash_bits", "held_out",
            "k", "names", "no_scale", "radius", "shuffle", "text", "user")
FEW = 8  # weights of a line
UNITS = {"models": "", "capacity": "", "features": "", "record": " bytes",
         "index": " bytes a model", "file": " bytes", "free": " slots of deleted models",
         "damaged": " records"}
COUNTED = {cf.OnlineRidge: "loss/row", cf.LinearBandit: "reward/row", cf.RidgeFilter: "wrong/row"}
CLASSES = {_learners.kebab(cls.__name__): cls for cls in COUNTED}


# --- blocks of rows -------------------------------------------------------------------------------


def source_of(options, stack, known=None, width=None):
    """The rows of the file.

    `known` is what the fleet's file says of its columns, and `width` how many features its models
    have; None of a new one.
    """
    by_query = options.by == QUERY and _streams.kind_of(options.file) == "ranking"
    if known is not None and known["kind"] != (QUERY if by_query else TABLE):
        raise Trouble(f"--from {options.start} has learned from "
                      f"{'a table' if by_query else 'svmlight text'}, and "
                      f"{_streams.name_of(options.file)} is none")
    return Queries(options, known, width) if by_query else Table(options, known, stack)


class Table:
    """The rows of a table, or of JSON objects a line.

    Attributes
    ----------
    header : dict
        What the fleet's file keeps.
    label : str
        The column of the answers.
    rows : int or None
        How many there are, where that is known.
    width : None
        The features are those of `header`.
    """

    width = None

    def __init__(self, options, known, stack):
        path = options.file
        if _streams.kind_of(path) == "clicks":
            self.source = Objects(stack.enter_context(_streams.source(path)))
        else:
            file = stack.enter_context(_streams.source(path)) if _streams.is_stdin(path) else path
            self.source = _table.source_of(file, None, stack)
        self.name, self.rows = _streams.name_of(path), self.source.rows
        columns, names = None if known is None else known["columns"], self.source.names
        self.key, self.label = options.by, options.label or (known or {}).get("label", "label")
        asked = columns if options.columns is None else options.columns.split(",")
        if columns not in (None, asked):
            raise Trouble(f"--columns {options.columns}: {options.start} has learned from "
                          f"{','.join(columns)}")
        option = "from" if options.columns is None else "columns"
        for what, name in [("by", self.key), ("label", self.label),
                           *((option, name) for name in asked or ())]:
            if name not in names:
                raise Trouble(f"--{what} {name}: {self.name} has the columns "
                              f"{', '.join(map(str, names))[:200]}")
            if what == option and name in (self.key, self.label):
                raise Trouble(f"--columns: {name!r} is the column of "
                              f"--{'by' if name == self.key else 'label'}")
        if self.label == self.key:
            raise Trouble(f"--label {self.label}: it is the column of --by")
        if asked is None:
            asked = [name for name in names if name not in (self.key, self.label)]
        elif len(set(asked)) < len(asked):
            raise Trouble(f"--columns {options.columns}: a column stands there twice")
        if not asked:
            raise Trouble(f"{self.name}: there is no column of features")
        self.header = {"kind": TABLE, "columns": asked, "label": self.label}

    def blocks(self):
        """``(keys, X, batch)`` of some rows; the batch has their answers and their places."""
        columns = self.header["columns"]
        for batch in self.source.batches([self.key, self.label, *columns]):
            if len(batch):
                X, _ = matrix(batch, columns, np.dtype(np.float64))
                yield batch.keys(self.key), X, batch


class Objects:
    """JSON objects a line, as a source of batches (see `logs._table.source_of`): their members are
    the columns, and the first object says which there are."""

    rows = None

    def __init__(self, stream):
        objects = _streams.objects(stream)
        first = next(objects, None)
        if first is None:
            raise Trouble(f"{stream.name} holds no rows")
        self.name, self.names = stream.name, list(first[2])
        self.objects = itertools.chain([first], objects)

    def batches(self, needed):
        while some := list(itertools.islice(self.objects, _table.ROWS)):
            for _, where, found in some:
                absent = next((name for name in needed if name not in found), None)
                if absent is not None:
                    raise Trouble(f"{where}: there is no {absent!r}")
            lines, _, objects = zip(*some, strict=True)
            yield _ObjectBatch(self.name, lines, objects)


class _ObjectBatch(_table.LineBatch):
    def __init__(self, name, lines, objects):
        super().__init__(name, lines, self._column)
        self.objects = objects

    def _column(self, name):
        values = np.fromiter((found[name] for found in self.objects), object, len(self.objects))
        return values, np.equal(values, None).astype(bool)

    def numbers(self, column):
        values, missing = self._column(column)
        numeric = [isinstance(value, (bool, int, float)) for value in values]
        self.refuse(~(missing | numeric), column,
                    lambda row: f"expected a number, got {values[row]!r:.60}")
        return np.where(missing, 0.0, values).astype(np.float64), missing


class Queries:
    """svmlight text, whose keys are what stands behind ``qid:``; attributes as of `Table`, but for
    `width`: the number of columns."""

    label, rows = "label", None

    def __init__(self, options, known, width):
        refuse_options(options, ("columns", "label"),
                       f"is for tables, and {options.file} is svmlight text")
        self.path, self.width = options.file, width
        zero_based = options.zero_based
        if known is not None:
            if zero_based and not known["zero_based"]:
                raise Trouble(f"--zero-based: the features of {options.start} count from 1")
            zero_based = known["zero_based"]
        self.header = {"kind": QUERY, "zero_based": zero_based}
        if width is None:
            if _streams.is_stdin(self.path):
                raise Trouble("standard input is not read twice, and how many columns there are "
                              "must be known: save it as a file, or go on with --from")
            self.rows, columns = 0, 1
            for reader in self._readers():
                self.rows, columns = self.rows + reader.n_rows, max(columns, reader.most + 1)
            self.width = columns

    def _readers(self):
        return _rows.parsed(self.path, self.width, self.header["zero_based"], queries=True)

    def blocks(self):
        for reader in self._readers():
            X, labels, _, lines = _rows.copied_piece(reader).widened(self.width)
            column = labels, np.zeros(len(labels), bool)
            batch = _table.LineBatch(_streams.name_of(self.path), lines,
                                     {self.label: column}.__getitem__)
            yield reader.queries.copy(), X, batch


# --- the training ---------------------------------------------------------------------------------


def train(options):
    """Trains a model for each key."""
    cls = CLASSES.get(_learners.kebab(options.learner))
    if cls is None:
        raise Trouble(f"LEARNER {options.learner}: with --by it is one of {', '.join(CLASSES)}")
    refuse_options(options, NOT_HERE, "does not go with --by")
    if options.relevant is not None and cls is not cf.RidgeFilter:
        raise Trouble(f"--relevant is for ridge-filter, and {options.learner} has targets")
    if options.skip and options.passes > 1:
        raise Trouble("--skip and --passes: say one of them")
    refuse_second_pass(options)
    path = options.model if options.start is None else options.start
    options.skip = options.skip or 0
    with contextlib.ExitStack() as stack:
        held_back = stack.enter_context(stoppable())
        if options.start is None:
            source = source_of(options, stack)
            fleet = stack.enter_context(begun(options, cls, source.header))
        else:
            fleet = stack.enter_context(gone_on(options, cls))
            source = source_of(options, stack, known_of(options, fleet),
                               fleet.health()["features"] or None)
        training = Training(options, fleet, source, held_back)
        try:
            for number in range(options.passes):
                if number > 0:
                    source = source_of(options, stack, source.header, source.width)
                for block in source.blocks():
                    training.learn(*block)
            training.board.end()
        except KeyboardInterrupt:
            fleet.flush()
            if path is not None and training.rows:
                print(f"interrupted: {path} has learned {training.rows:,} rows; --from {path} "
                      f"--skip {options.skip + training.rows} goes on behind them",
                      file=sys.stderr)
            raise
        finally:
            if options.start is None and path is not None and training.rows == 0:
                fleet.close()
                os.unlink(path)  # nothing is in it, and it would stand in the way of a new one
        fleet.flush()
        summary = f"; {training.decisions.summary()}" if cls is cf.RidgeFilter else ""
        print(f"{len(fleet):,} models{summary}")
    if path is not None:
        print(f"saved: {path}")


class Training:
    """Learns blocks of rows, counts them, and prints how the learners do."""

    def __init__(self, options, fleet, source, held_back):
        self.options, self.fleet, self.held_back = options, fleet, held_back
        self.cls, self.label = type(fleet.template), source.label
        self.board = Board(COUNTED[self.cls], report=options.report,
                           expected=source.rows and source.rows * options.passes)
        self.decisions, self.rows, self.skip = Decisions(), 0, options.skip
        self.text = {"number": False, "text": True}.get(options.keys)  # None: as the first rows
        known = next(iter(fleet), None)
        if known is not None:
            if self.text not in (None, isinstance(known, str)):
                raise Trouble(f"--keys {options.keys}: the keys of {options.start} are "
                              f"{'texts' if isinstance(known, str) else 'whole numbers'}")
            self.text = isinstance(known, str)

    def learn(self, found, X, batch):
        """A block of rows."""
        skipped = min(self.skip, len(batch))
        self.skip -= skipped
        keys, answers = self._keys(found, batch), self._answers(batch)
        for begin, end in self.board.stretches(len(batch) - skipped):
            rows = slice(skipped + begin, skipped + end)
            if self.rows == 0 and self.options.model is None and self.options.start is None:
                warn("train", "these models are not kept: --model OUT saves them")
            with self.held_back():
                with troubles(f"{batch.place(rows.start)} and on"):
                    counted = self._run(keys[rows], X[rows], answers[rows])
                self.rows += end - begin
            self.board.add(counted)

    def _run(self, keys, X, answers):
        """Learns some rows; what is counted of each."""
        history = self.fleet.run(keys, X, answers)
        if self.cls is cf.LinearBandit:  # it predicts nothing as it learns
            return answers
        return self.decisions.add(history) if self.cls is cf.RidgeFilter else history.loss

    def _answers(self, batch):
        """Targets or rewards; of a filter, which rows are relevant."""
        relevant = self.options.relevant
        if isinstance(relevant, str):
            return np.array([str(one) == relevant for one in batch.keys(self.label).tolist()])
        answers = required(batch, self.label)
        if self.cls is not cf.RidgeFilter:
            return answers
        return answers > 0.0 if relevant is None else answers == relevant

    def _keys(self, found, batch):
        """Whole numbers or texts: as --keys says, as the fleet has them, or as the first rows are.
        """
        if found.dtype.kind in "iu" and not self.text:
            self.text = False
            return found
        keys, other = found.tolist(), None
        for row, key in enumerate(keys):
            if isinstance(key, bool) or not isinstance(key, (int, str)):
                raise Trouble(f"{batch.place(row)}: a key must be a whole number or a text, got "
                              f"{key!r:.60}")
            if other is None and isinstance(key, str) and not WHOLE.fullmatch(key):
                other = row
        if self.text is None:
            self.text = other is not None
        if self.text:
            return list(map(str, keys))
        if other is not None:
            raise Trouble(f"{batch.place(other)}: the keys so far are whole numbers, got "
                          f"{keys[other]!r:.60}: --keys text takes all of them as texts, from the "
                          "start")
        return np.array(keys, dtype=np.int64)


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


def begun(options, cls, header):
    """A new fleet."""
    template = _learners.build(cls, _learners.parameters(cls, options.set))
    if options.model is not None:
        if os.path.isfile(options.model) and os.path.getsize(options.model):
            raise Trouble(f"--model {options.model} is there already: --from {options.model} goes "
                          "on with it, another name begins a new one")
        _streams.check_target("--model", options.model, options.file)
    with troubles(f"LEARNER {options.learner}", (TypeError, ValueError)):
        return create(options.model, template, CAPACITY, header)


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


# --- what is in the file --------------------------------------------------------------------------


def show(options):
    """Tells how many models the file of a fleet (coactive_fast.Fleet) holds, how large it is, and
    whether all records are whole; a writer may be at work meanwhile. With --key it shows the model
    of that key.

      coactive-fast fleet users.fleet
      coactive-fast fleet users.fleet --key 1729
    """
    with cf.Fleet(options.file, mode="r") as fleet:
        if options.key is not None:
            show_model(fleet, options.key)
            return
        health = fleet.health()
        print(f"{'models of':12} {fleet.template!r}")
        for name, unit in UNITS.items():
            print(f"{name:12} {health['bytes' if name == 'file' else name]:,}{unit}")
        if health["damaged"]:
            raise Trouble(f"{options.file}: {health['damaged']} records have a wrong checksum")


def show_model(fleet, text):
    """The model of a key, a whole number or the text itself."""
    learner = None
    for kind in (str, int):
        with contextlib.suppress(ValueError):
            learner = fleet[kind(text)] if kind(text) in fleet else learner
    if learner is None:
        raise Trouble(f"{text!r} has no model: it is the prior")
    print(f"{'model':12} {learner!r}")
    for name in ("rounds", "learned"):
        if hasattr(learner, name):
            print(f"{name:12} {getattr(learner, name):,}")
    for i, row in enumerate(np.atleast_2d(getattr(learner, "weights", np.empty((0, 0))))):
        for j in range(0, len(row), FEW):
            name = "" if j or i else "weights"
            print(f"{name:12} {' '.join(f'{w:.6g}' for w in row[j:j + FEW])}")
