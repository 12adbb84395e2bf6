"""Logs in tables: CSV, Parquet, Arrow, data frames, dicts of columns, batch by batch."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping

import numpy as np
import scipy.sparse

from .._memory import refuse_beyond_limit
from ..data import _check
from ..data._open import opened, opened_lines
from ..data._svmlight import Grown
from ..data._tables import MISSING, checked_delimiter, cut, distinct, number
from ..learner import _check as parameter
from ..learner._extras import require
from ..learner._progress import reporter

ROWS = 1 << 14  # that are looked at in one go
TAKEN = "a path, a binary file object, a pandas or pyarrow table, or a dict of columns"
FLAGS = {"true": 1.0, "false": 0.0}


def source_of(table, delimiter, stack):
    """What has a `name` for messages, the `names` of its columns, how many `rows` it has (None
    where only reading shows it), and ``batches(needed)``."""
    package = type(table).__module__.partition(".")[0]
    if package == "polars":
        raise TypeError(f"table must be {TAKEN}, got a polars {type(table).__name__} "
                        "(its to_arrow() gives a pyarrow table)")
    if package == "pyarrow" and hasattr(table, "to_batches"):
        return _Arrow("the table", table.schema.names, table.num_rows,
                      lambda needed: table.select(needed).to_batches(ROWS))
    if isinstance(table, Mapping) or hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return _Frame(table)
    if not hasattr(table, "readinto"):
        try:
            name = os.fsdecode(table)
        except TypeError:
            raise TypeError(f"table must be {TAKEN}, got {type(table).__name__}") from None
        with opened(table) as (file, _):
            start = file.read(8)
        if start.startswith(b"PAR1"):
            return _parquet(name, stack)
        if start.startswith(b"ARROW1") or name.endswith((".arrow", ".feather", ".arrows")):
            return _arrow(name, stack)
    return _Text(*stack.enter_context(opened_lines(table)), delimiter)


def _parquet(name, stack):
    found = require("pyarrow.parquet", "arrow", "a Parquet file")
    pyarrow = require("pyarrow", "arrow", "a Parquet file")
    try:
        file = stack.enter_context(found.ParquetFile(name))
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{name!r} is truncated or damaged: {error}") from None
    return _Arrow(repr(name), file.schema_arrow.names, file.metadata.num_rows,
                  lambda needed: _sound(file.iter_batches(ROWS, columns=needed), name, pyarrow))


def _arrow(name, stack):
    pyarrow = require("pyarrow", "arrow", "an Arrow file")
    ipc = require("pyarrow.ipc", "arrow", "an Arrow file")
    file = stack.enter_context(pyarrow.memory_map(name))
    try:
        try:
            reader = ipc.open_file(file)
            batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
        except pyarrow.ArrowInvalid:  # the form without an end, as it is sent
            file.seek(0)
            batches = reader = ipc.open_stream(file)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{name!r} is truncated or damaged: {error}") from None
    return _Arrow(repr(name), reader.schema.names, None,
                  lambda needed: (batch.select(needed)
                                  for batch in _sound(batches, name, pyarrow)))


def _sound(batches, name, pyarrow):
    """The batches; damage that is found on the way is told."""
    try:
        yield from batches
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{name!r} is truncated or damaged: {error}") from None


class _Batch:
    """Some rows of a table."""

    def __init__(self, name, first, count, column):
        self.name, self.first, self.count, self.column = name, first, count, column

    def __len__(self):
        return self.count

    def place(self, row):
        return f"{self.name}: row {self.first + row}, counted from 0"

    def refuse(self, bad, column, says):
        """An error about the first bad row, if there is one, of which it says ``says(row)``."""
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(f"{self.place(row)}: column {column!r}: {says(row)}")

    def table(self, column):
        """The numbers of a column of lists, a row a row; None of any other column."""
        return None

    def numbers(self, column):
        """``(values, missing)``: float64, with 0 or NaN where there is nothing."""
        values, missing = self.column(column)
        if values.dtype.kind not in "biuf":
            raise ValueError(f"{self.place(0)}: column {column!r}: expected numbers, got "
                             f"{values.dtype}")
        values = values.astype(np.float64, copy=False)
        return values, missing | np.isnan(values)

    def keys(self, column):
        """Integers or strings, none missing."""
        values, missing = self.column(column)
        bad = missing | (values != values) if values.dtype.kind == "f" else missing
        self.refuse(bad, column, lambda row: "nothing there")
        if values.dtype.kind == "f" and (values == np.floor(values)).all():
            values = values.astype(np.int64)
        if values.dtype.kind not in "iuUO":
            raise ValueError(f"{self.place(0)}: column {column!r}: expected integers or strings, "
                             f"got {values.dtype}")
        return values


class _Frame:
    """A data frame, or a dict of columns."""

    def __init__(self, table):
        self.table, self.name = table, "the table"
        self.names = list(table) if isinstance(table, Mapping) else list(table.columns)
        self.rows = max((len(table[name]) for name in self.names), default=0)

    def batches(self, needed):
        columns = {}
        for name in needed:
            columns[name] = _column_of(self.table[name])
            if columns[name][0].shape != (self.rows,):
                raise ValueError(f"column {name!r} must have {self.rows} rows, as the others, got "
                                 f"shape {columns[name][0].shape}")
        for first in range(0, self.rows, ROWS):
            end = min(self.rows, first + ROWS)
            part = {name: (values[first:end], missing[first:end])
                    for name, (values, missing) in columns.items()}
            yield _Batch(self.name, first, end - first, part.__getitem__)


def _column_of(column):
    """``(values, missing)`` of a series or an array."""
    missing = np.asarray(column.isna(), bool) if hasattr(column, "isna") else None
    if hasattr(column, "to_numpy") and hasattr(getattr(column, "dtype", None), "kind"):  # pandas
        own = not isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
        column = column.to_numpy(np.float64, na_value=np.nan) if own else column.to_numpy()
    values = np.asarray(column)
    return values, np.zeros(values.shape, bool) if missing is None else missing


class _ArrowBatch(_Batch):
    def __init__(self, name, first, batch):
        super().__init__(name, first, batch.num_rows, self._column)
        self.batch = batch

    def _array(self, name):
        found = self.batch.column(name)
        return found.dictionary_decode() if hasattr(found, "dictionary_decode") else found

    def _column(self, name):
        array = self._array(name)
        if str(array.type) == "bool":
            array = array.cast("uint8")
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return array.to_numpy(zero_copy_only=False), missing

    def table(self, column):
        array = self._array(column)
        if not str(array.type).startswith(("list<", "large_list<", "fixed_size_list<")):
            return None
        values = array.flatten().to_numpy(zero_copy_only=False)
        width, rest = divmod(values.size, max(self.count, 1))
        lengths = np.asarray(array.value_lengths().fill_null(0))
        if rest or (lengths != width).any() or values.dtype.kind not in "biuf":
            bad = int((lengths != lengths[0]).argmax())
            raise ValueError(f"{self.place(bad)}: column {column!r}: expected lists of numbers, "
                             f"all of one length, got length {lengths[bad]}")
        return values.reshape(self.count, width).astype(np.float64)


class _Arrow:
    """Parquet or Arrow, or a table in memory, batch by batch."""

    def __init__(self, name, names, rows, batches):
        self.name, self.names, self.rows, self.of = name, list(names), rows, batches

    def batches(self, needed):
        first = 0
        for batch in self.of(needed):
            yield _ArrowBatch(self.name, first, batch)
            first += batch.num_rows


class LineBatch(_Batch):
    """Rows that stand on these lines of a file."""

    def __init__(self, name, lines, column):
        super().__init__(name, 0, len(lines), column)
        self.lines = lines

    def place(self, row):
        return f"{self.name}: line {self.lines[row]}"


class _TextBatch(LineBatch):
    """Columns of fields as they stand there."""

    def numbers(self, column):
        fields = self.column(column)
        try:
            return np.array(list(map(float, fields))), np.zeros(self.count, bool)
        except ValueError:
            pass
        missing = np.array([field in MISSING for field in fields])
        values = np.zeros(self.count)
        for i in np.flatnonzero(~missing).tolist():
            flag = FLAGS.get(fields[i].lower())
            value = number(fields[i]) if flag is None else flag
            if value is None:
                raise ValueError(f"{self.place(i)}: column {column!r}: expected a number, got "
                                 f"{fields[i][:40]!r}")
            values[i] = value
        return values, missing

    def keys(self, column):
        fields = np.array(self.column(column), dtype=object)
        self.refuse(fields == "", column, lambda row: "nothing there")
        return fields


class _Text:
    """CSV, whose first line holds the names of the columns."""

    rows = None

    def __init__(self, lines, name, delimiter):
        self.name, self.lines = name, cut(lines, delimiter, name)
        _, first = next(self.lines, (0, None))
        if first is None:
            raise ValueError(f"{name} holds no rows")
        self.names = list(distinct(first, "columns", name))

    def batches(self, needed):
        places, width = {name: self.names.index(name) for name in needed}, len(self.names)
        while some := list(itertools.islice(self.lines, ROWS)):
            for at, fields in some:
                if len(fields) != width:
                    raise ValueError(f"{self.name}: line {at}: expected {width} fields, got "
                                     f"{len(fields)}")
            part = {name: [fields[at] for _, fields in some] for name, at in places.items()}
            yield _TextBatch(self.name, [at for at, _ in some], part.__getitem__)


SOME = 200  # characters of a list of names in a message


def read(table, *, round, chosen, reward, probability, action, n_actions, features, context, group,
         delimiter, dtype, progress):
    """What `BanditLog.from_table` makes a log of."""
    dtype = _check.float_dtype("dtype", dtype)
    if n_actions is not None:
        n_actions = parameter.count("n_actions", n_actions, least=1)
        if action is None:
            raise ValueError("n_actions goes with action")
    delimiter = checked_delimiter(delimiter)
    told = {"reward": reward, "probability": probability, "group": group}
    if action is None:
        told |= {"round": round, "chosen": chosen}
    elif features is not None:
        raise ValueError("features must be None with action: a row is a round, and an action has "
                         "no columns of its own")
    else:
        told["action"] = action
    with contextlib.ExitStack() as stack:
        source = source_of(table, delimiter, stack)
        plan = _Plan(source, told, features, context)
        report = stack.enter_context(reporter(progress))
        rounds = _Actions(plan, dtype) if action is None else _Choices(plan, dtype, n_actions)
        done = 0
        for batch in source.batches(plan.needed):
            rounds.take(batch)
            done += len(batch)
            if report is not None and source.rows is not None:
                report(done, source.rows)
        return rounds.finish()


class _Plan:
    """Which column is what."""

    def __init__(self, source, told, features, context):
        self.name, names = source.name, source.names
        self.told = {what: self._known(what, column, names)
                     for what, column in told.items() if column is not None}
        for what in ("reward", "probability", "round", "chosen", "action"):
            if told.get(what, "") is None:
                raise TypeError(f"{what} must name a column, got None")
        lists = {"features": features, "context": context}
        found = {what: self._several(what, columns, names) for what, columns in lists.items()
                 if columns is not None}
        used = {*self.told.values(), *found.get("features", ()), *found.get("context", ())}
        rest = [name for name in names if name not in used]
        by_round = "action" in self.told
        self.features = () if by_round else found.get("features", rest)
        self.context = found.get("context", rest if by_round else ())
        self.needed = list(dict.fromkeys([*self.told.values(), *self.features, *self.context]))
        if not by_round and not self.features:
            raise ValueError(f"{self.name}: there is no column of features")

    def _known(self, what, column, names):
        if column not in names:
            listed = ", ".join(map(str, names))
            raise ValueError(f"{what} must name a column of {self.name}, which has "
                             f"{listed[:SOME]}, got {column!r}")
        return column

    def _several(self, what, columns, names):
        if isinstance(columns, str):
            raise TypeError(f"{what} must be a sequence of names of columns, got a str")
        return [self._known(what, column, names)
                for column in distinct(tuple(columns), "columns", what)]


# --- numbers of a batch --------------------------------------------------------------------------


def matrix(batch, columns, dtype):
    """Their numbers, a row a row, and the names of the parts."""
    parts, names = [], []
    for column in columns:
        values = batch.table(column)
        if values is None:
            parts.append(required(batch, column)[:, None])
            names.append(str(column))
        else:
            parts.append(values)
            names += [f"{column}[{i}]" for i in range(values.shape[1])]
    with np.errstate(over="ignore"):
        found = (np.concatenate(parts, axis=1) if parts
                 else np.empty((len(batch), 0))).astype(dtype, copy=False)
    bad = np.argwhere(~np.isfinite(found))
    if bad.size:
        row, j = bad[0].tolist()
        raise ValueError(f"{batch.place(row)}: column {names[j]!r}: expected a finite number "
                         f"of {dtype}")
    return found, names


def required(batch, column, where=None):
    """The numbers of a column; none may be missing (of these rows)."""
    values, missing = batch.numbers(column)
    bad = missing | ~np.isfinite(values)
    if where is not None:
        bad &= where
    batch.refuse(bad, column, lambda row: "expected a finite number, got "
                 + ("nothing" if missing[row] else f"{values[row]}"))
    return values


# --- a row an action ------------------------------------------------------------------------------


class _Rounds:
    """What both layouts share."""

    def __init__(self, plan, dtype):
        self.plan, self.dtype, self.rows = plan, dtype, 0
        self.context, self.contexts = Grown(dtype), None
        self.reward, self.probability = Grown(np.float64), Grown(np.float64)
        self.groups: list[object] = []

    def outcome(self, batch, rows):
        """Reward and probability of some rows of a batch, by a mask."""
        plan = self.plan
        reward = required(batch, plan.told["reward"], rows)[rows]
        probability = required(batch, plan.told["probability"], rows)
        bad = rows & ~((probability > 0.0) & (probability <= 1.0))
        batch.refuse(bad, plan.told["probability"],
                     lambda row: f"must lie in (0, 1], got {probability[row]}")
        self.reward.append(reward)
        self.probability.append(probability[rows])

    def group(self, batch, rows):
        if "group" in self.plan.told:
            self.groups.extend(batch.keys(self.plan.told["group"])[rows].tolist())

    def shared(self):
        """The columns of the log that both have."""
        found = {"reward": self.reward.finish(), "probability": self.probability.finish()}
        if self.contexts:
            found |= {"context": self.context.finish().reshape(-1, len(self.contexts)),
                      "context_names": self.contexts}
        if self.groups:
            found["groups"] = self.groups
        return found


class _Actions(_Rounds):
    """A row an action; those of a round follow each other."""

    def __init__(self, plan, dtype):
        super().__init__(plan, dtype)
        self.features, self.names = Grown(dtype), None
        self.begins, self.chosen = Grown(np.int64), Grown(np.int64)  # rows
        self.ids = Grown(np.int64)
        # of the round that may go on: its id, its context, how many were chosen, its last row
        self.last, self.before, self.open, self.where = None, None, 0, ""

    def take(self, batch):
        plan, count = self.plan, len(batch)
        if not count:
            return
        keys = batch.keys(plan.told["round"])
        begins = np.ones(count, bool)
        begins[1:] = keys[1:] != keys[:-1]
        begins[0] = self.last is None or keys[0] != self.last[0]
        features, self.names = matrix(batch, plan.features, self.dtype)
        flags = required(batch, plan.told["chosen"])
        batch.refuse((flags != 0.0) & (flags != 1.0), plan.told["chosen"],
                     lambda row: f"expected 0 or 1, got {flags[row]}")
        chosen = flags == 1.0
        self._one_each(batch, begins, chosen)
        self.outcome(batch, chosen)
        self._same_in_round(batch, begins)
        self.group(batch, begins)
        self.ids.append(_numbers_of(keys[begins]))
        self.features.append(features.reshape(-1))
        self.begins.append(np.flatnonzero(begins) + self.rows)
        self.chosen.append(np.flatnonzero(chosen) + self.rows)
        self.rows += count
        self.last, self.where = (keys[-1],), batch.place(count - 1)

    def _one_each(self, batch, begins, chosen):
        """Each round that ends in this batch has one chosen row; the open one goes on."""
        number = np.cumsum(begins) - begins[0]  # of the round, 0 being the one that goes on
        counts = np.bincount(number, chosen, number[-1] + 1)
        if not begins[0]:
            counts[0] += self.open
        elif self.last is not None and self.open != 1:
            self._refuse_count(self.open, self.where)
        bad = np.flatnonzero(counts[:-1] != 1)
        if bad.size:
            self._refuse_count(counts[bad[0]], batch.place(int(np.flatnonzero(
                number == bad[0])[-1])))
        self.open = counts[-1]

    def _refuse_count(self, count, where):
        raise ValueError(f"{where}: column {self.plan.told['chosen']!r}: expected one chosen "
                         f"action in the round that ends here, got {int(count)}")

    def _same_in_round(self, batch, begins):
        """The context: that of a round's first row, which the others repeat."""
        if not self.plan.context:
            return
        found, self.contexts = matrix(batch, self.plan.context, self.dtype)
        first = np.maximum.accumulate(np.where(begins, np.arange(len(batch)), -1))
        expected = found[first]
        expected[first < 0] = self.before
        bad = np.argwhere(found != expected)
        if bad.size:
            row, j = bad[0].tolist()
            raise ValueError(f"{batch.place(row)}: column {self.contexts[j]!r}: expected what the "
                             f"round's first row has, {expected[row, j]}, got {found[row, j]}")
        self.context.append(found[begins].reshape(-1))
        self.before = expected[-1]

    def finish(self):
        name = self.plan.name
        if not self.rows:
            raise ValueError(f"{name} holds no rows")
        if self.open != 1:
            self._refuse_count(self.open, self.where)
        begins, ids = self.begins.finish(), self.ids.finish()
        order = np.argsort(ids, kind="stable")
        again = np.flatnonzero(ids[order][1:] == ids[order][:-1])
        if again.size:
            row = begins[order[again + 1].min()]
            raise ValueError(f"{name}: the rows of a round must follow each other: one that had "
                             f"ended goes on with row {row}, counted from 0")
        return {"features": self.features.finish().reshape(self.rows, -1),
                "offsets": np.append(begins, self.rows), "chosen": self.chosen.finish() - begins,
                "feature_names": self.names, **self.shared()}


def _numbers_of(keys):
    """Numbers that differ where keys do, but for a chance of 2**-64 a pair."""
    if keys.dtype.kind in "iu":
        return keys.astype(np.int64)
    return np.fromiter(map(hash, keys.tolist()), np.int64, keys.size)


# --- a row a round --------------------------------------------------------------------------------


class _Choices(_Rounds):
    """A row a round: its actions are always the same, and a column says which was chosen."""

    def __init__(self, plan, dtype, n_actions):
        super().__init__(plan, dtype)
        self.chosen, self.n_actions = Grown(np.int64), n_actions

    def take(self, batch):
        column = self.plan.told["action"]
        values = required(batch, column)
        wrong = (values < 0.0) | (values != np.floor(values)) | (values >= 2.0**31)
        batch.refuse(wrong, column,
                     lambda row: f"expected a whole number from 0 on, got {values[row]}")
        every = np.ones(len(batch), bool)
        self.outcome(batch, every)
        found, self.contexts = matrix(batch, self.plan.context, self.dtype)
        self.context.append(found.reshape(-1))
        self.group(batch, every)
        self.chosen.append(values.astype(np.int64))

    def finish(self):
        chosen = self.chosen.finish()
        if not chosen.size:
            raise ValueError(f"{self.plan.name} holds no rows")
        where, most = f"{self.plan.name}: column {self.plan.told['action']!r}", int(chosen.max())
        n_actions = most + 1 if self.n_actions is None else self.n_actions
        if most >= n_actions:
            raise ValueError(f"{where}: n_actions is {n_actions}, got the action {most}")
        rows = chosen.size * n_actions
        refuse_beyond_limit(40.0 * rows, f"{where}: {n_actions} actions in each of "
                            f"{chosen.size} rounds", "actions count from 0, without gaps")
        every = np.tile(np.arange(n_actions, dtype=np.int32), chosen.size)
        features = scipy.sparse.csr_array((np.ones(rows, self.dtype), every, np.arange(rows + 1)),
                                          shape=(rows, n_actions))
        return {"features": features, "offsets": np.arange(0, rows + 1, n_actions),
                "chosen": chosen, **self.shared()}
