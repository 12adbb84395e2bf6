"""Tables as batches of columns: CSV, Parquet, Arrow, data frames, dicts of columns."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping

import numpy as np

from ..data._open import opened, opened_lines
from ..data._tables import MISSING, cut, distinct
from ..learner._extras import require

ROWS = 1 << 14  # that are looked at in one go
TAKEN = "a path, a binary file object, a pandas or pyarrow table, or a dict of columns"
FLAGS = {"true": 1.0, "false": 0.0}


def source_of(table, delimiter, stack):
    """What has a `name` for messages, the `names` of its columns, ``batches(needed)``, and
    ``done()``: how many rows of how many, or None where that cannot be told."""
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
        self.at = 0

    def done(self):
        return self.at, self.rows

    def batches(self, needed):
        columns = {}
        for name in needed:
            columns[name] = _column_of(self.table[name])
            if columns[name][0].shape != (self.rows,):
                raise ValueError(f"column {name!r} must have {self.rows} rows, as the others, got "
                                 f"shape {columns[name][0].shape}")
        for first in range(0, self.rows, ROWS):
            self.at = min(self.rows, first + ROWS)
            part = {name: (values[first:self.at], missing[first:self.at])
                    for name, (values, missing) in columns.items()}
            yield _Batch(self.name, first, self.at - first, part.__getitem__)


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
        self.at = 0

    def done(self):
        return None if self.rows is None else (self.at, self.rows)

    def batches(self, needed):
        for batch in self.of(needed):
            first, self.at = self.at, self.at + batch.num_rows
            yield _ArrowBatch(self.name, first, batch)


class _TextBatch(_Batch):
    """Fields, and the number of each row's line."""

    def __init__(self, name, rows, places, lines):
        self.name, self.count, self.rows = name, len(rows), rows
        self.places, self.lines = places, lines

    def place(self, row):
        return f"{self.name}: line {self.lines[row]}"

    def numbers(self, column):
        at = self.places[column]
        fields = [row[at] for row in self.rows]
        try:
            return np.array(list(map(float, fields))), np.zeros(self.count, bool)
        except ValueError:
            pass
        missing = np.array([field in MISSING for field in fields])
        values = np.zeros(self.count)
        for i in np.flatnonzero(~missing).tolist():
            try:
                values[i] = FLAGS[fields[i].lower()] if fields[i].lower() in FLAGS \
                    else float(fields[i])
            except ValueError:
                raise ValueError(f"{self.place(i)}: column {column!r}: expected a number, got "
                                 f"{fields[i][:40]!r}") from None
        return values, missing

    def keys(self, column):
        at = self.places[column]
        fields = [row[at] for row in self.rows]
        if "" in fields:
            raise ValueError(f"{self.place(fields.index(''))}: column {column!r}: nothing there")
        return np.array(fields, dtype=object)


class _Text:
    """CSV, whose first line holds the names of the columns."""

    def __init__(self, lines, name, delimiter):
        self.name, self.lines = name, cut(lines, delimiter, name)
        try:
            _, first = next(self.lines)
        except StopIteration:
            raise ValueError(f"{name} holds no rows") from None
        self.names = list(distinct(first, "columns", name))

    def done(self):
        return None

    def batches(self, needed):
        places, width = {name: self.names.index(name) for name in needed}, len(self.names)
        while some := list(itertools.islice(self.lines, ROWS)):
            lines = [at for at, _ in some]
            rows = [fields for _, fields in some]
            for at, fields in some:
                if len(fields) != width:
                    raise ValueError(f"{self.name}: line {at}: expected {width} fields, got "
                                     f"{len(fields)}")
            yield _TextBatch(self.name, rows, places, lines)
