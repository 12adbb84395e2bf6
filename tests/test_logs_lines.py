"""Rows a line, features by name: the compiled reader against its twin, and in any pieces."""

import io

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import example, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from coactive_fast import _memory  # noqa: E402
from coactive_fast.logs import _compiled, _vw  # noqa: E402
from coactive_fast.reference import logs_read  # noqa: E402


def read(data, bare, piece=1 << 18):
    """What `rows_from_lines` answers, by the compiled reader."""
    names, found = _vw.Names(True), []
    lines = _compiled.Lines(io.BytesIO(data), "x", names.table, bare, piece)
    while lines.advance():
        names.grow("x")
        begin = 0
        for (head, _), line, end in zip(lines.heads(), lines.lines.tolist(),
                                        lines.row_ends.tolist(), strict=True):
            row = {}
            for number, value in zip(lines.names[begin:end].tolist(), lines.values[begin:end],
                                     strict=True):
                text = names.texts[number]
                row[text] = row.get(text, 0.0) + float(value)
            found.append((line, head.decode(), row))
            begin = end
    return found


def outcome(read):
    try:
        return read()
    except (ValueError, UnicodeDecodeError):
        return None


pieces = st.sampled_from(["a", "b", "é", "1", "2.5", "0", "-1e3", "nan", "1e999", ":", ":", " ",
                          " ", "\t", "\r", "\n", "\n", "|", "#", "qid:", "'tag", "x y", ",",
                          "sport", "goal:2", "|f a:1", "w:word", "\ufeff"])


@settings(max_examples=400, deadline=None)
@given(st.lists(pieces, max_size=25).map("".join), st.booleans(), st.integers(1, 40))
@example("sport qid:7 goal:2 c#:1 ball # why | not\n1:0.5 a\n", True, 3)
@example("3 2.0 'tag|u:2 age:31 new |e :4\n\n|u old\n", False, 5)
@example("qid:1 qid:2 a:1\n", True, 40)
@example("a qid:1 qid:2:3\n", True, 40)
def test_the_compiled_reader_is_its_twin(text, bare, piece):
    data = text.encode()
    expected = outcome(lambda: logs_read.rows_from_lines(data, bare=bare))
    for size in (1 << 18, piece):
        found = outcome(lambda size=size: read(data, bare, size))
        assert found == expected, (found, expected)


def test_by_hand():
    assert read(b"# none\nsport,sea qid:3 goal:2 ball goal:1 x:y # why\n\n1:0.5\n", True) == [
        (2, "sport,sea qid:3", {"goal": 3.0, "ball": 1.0, "x^y": 1.0}), (4, "", {"1": 0.5})]
    assert read(b"3 1 'd7 |user:2 age:31 |item red\n|user:2 age:0\n", False) == [
        (1, "3 1 'd7", {"user^age": 62.0, "item^red": 1.0}), (2, "", {})]


def test_columns_are_those_of_the_table_of_vw():
    names = _vw.Names(True)
    lines = _compiled.Lines(io.BytesIO(b"1 | a b:2 7:1\n2 |f a w:x\n"), "x", names.table, False)
    assert lines.advance()
    names.grow("x")
    hashed = _vw.Hashed(12)
    hashed.grow(0, names)
    features = [("", "a", None), ("", "b", None), ("", "7", None), ("f", "a", None),
                ("f", "w", "x")]
    np.testing.assert_array_equal(hashed.take(lines.names, names)[0], [
        logs_read.column_of(*one, 12, True) for one in features])


@pytest.mark.parametrize("text, bare, expected", [
    ("1 a:1\n2 b:1x\n", True, "x: line 2: field 'b': expected name, name:number or name:word"),
    ("1 |f a\n", True, "x: line 1: field '|'"), ("1 a:inf\n", True, "field 'a': NaN or infinity"),
    ("1 |f a:\n", False, "x: line 1: field 'a'"), ("1 |f:x a\n", False, "field 'f'")])
def test_what_is_refused(text, bare, expected):
    with pytest.raises(ValueError) as caught:
        read(text.encode(), bare)
    assert expected in str(caught.value)


def test_a_line_that_does_not_end(monkeypatch):
    assert _memory.longest_line == 1 << 26
    lines = _compiled.Lines(Endless(), "x", _vw.Names(True).table, True, 1 << 22)
    with pytest.raises(ValueError, match="x: line 1: a line is longer than 64 MiB"):
        lines.advance()


class Endless:
    def readinto(self, view):
        view[:] = b"a" * len(view)
        return len(view)
