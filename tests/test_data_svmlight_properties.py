"""The svmlight reader against Python's own float, and a slow twin, on generated files."""

import io
import math
import struct

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import example, given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from coactive_fast import data  # noqa: E402

digits = st.text("0123456789", min_size=1, max_size=30)
sign = st.sampled_from(["", "+", "-"])
exponent = st.one_of(st.just(""), st.builds("{}{}{}".format, st.sampled_from("eE"), sign,
                                            st.integers(0, 400)))
decimal = st.one_of(
    st.builds("{}{}{}".format, sign, digits, exponent),
    st.builds("{}{}.{}{}".format, sign, digits, digits, exponent),
    st.builds("{}{}.{}".format, sign, digits, exponent),
    st.builds("{}.{}{}".format, sign, digits, exponent),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.builds("{:.{}g}".format, st.floats(allow_nan=False, allow_infinity=False),
              st.integers(1, 40)),
)


@given(st.lists(decimal, min_size=1, max_size=20))
@example(["2.4703282292062327208299e-324", "2.4703282292062327e-324", "1.7976931348623158e308"])
@example(["9007199254740993", "9007199254740992.99999999999999999999", "-0.0", "0e999999"])
@example(["179769313486231580793e289", "1e-400", "0." + "0" * 400 + "1e400"])
def test_numbers_are_those_of_python(texts):
    good = [text for text in texts if math.isfinite(float(text))]
    line = "0 " + " ".join(f"{i + 1}:{text}" for i, text in enumerate(good)) + "\n"
    X, _ = data.load_svmlight(io.BytesIO(line.encode()))
    assert X.data.tobytes() == struct.pack(f"{len(good)}d", *map(float, good))
    for text in set(texts) - set(good):  # beyond the range
        with pytest.raises(ValueError, match="not a finite number"):
            data.load_svmlight(io.BytesIO(f"0 1:{text}\n".encode()))


@given(st.text("0123456789+-.eE_xnaif ", min_size=1, max_size=12))
def test_what_is_a_number_is_one_for_python_too(text):
    try:
        X, _ = data.load_svmlight(io.BytesIO(f"0 1:{text}\n".encode()))
    except ValueError:
        plain = not set(text) & set("_xnaif ")  # Python's float takes more: 1_0, inf, " 1"
        with pytest.raises((ValueError, AssertionError)):
            assert plain and math.isfinite(float(text))
    else:
        assert X.data.tolist() == [float(text)]


blank = st.sampled_from([" ", "  ", "\t", " \t "])
end = st.sampled_from(["\n", "\r\n", " \n", " # c 1:x\n", "#c\n"])
values = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def files(draw):
    """The text of a file, and what is in it."""
    text, rows = "", []
    for _ in range(draw(st.integers(0, 8))):
        text += draw(st.sampled_from(["", "\n", "# 1 1:1\n", " \t\n"]))
        label, query = draw(values), draw(st.integers(-2**63 + 1, 2**63 - 1))
        pairs = draw(st.dictionaries(st.integers(1, 40), values, max_size=6))
        order = draw(st.permutations(sorted(pairs)))
        parts = [draw(st.sampled_from(["", " "])), repr(label), draw(blank), f"qid:{query}"]
        for index in order:
            parts += [draw(blank), f"{index}:{pairs[index]!r}"]
        text += "".join(parts) + draw(end)
        rows.append((label, query, pairs))
    return text[:-1] if text and draw(st.booleans()) else text, rows


@given(files(), st.integers(1, 60))
def test_files(file, cut):
    text, rows = file

    class Cut(io.BytesIO):
        def readinto(self, buffer):
            return super().readinto(memoryview(buffer)[:cut])

    X, y, queries = data.load_svmlight(Cut(text.encode()), query_id=True)
    width = max((index for _, _, pairs in rows for index in pairs), default=0)
    expected = np.zeros((len(rows), width))
    for row, (_, _, pairs) in zip(expected, rows, strict=True):
        for index, value in pairs.items():
            row[index - 1] = value
    assert X.nnz == sum(len(pairs) for _, _, pairs in rows)
    np.testing.assert_array_equal(X.toarray(), expected)
    np.testing.assert_array_equal(y, [label for label, _, _ in rows])
    np.testing.assert_array_equal(queries, [query for _, query, _ in rows])


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(content):
    for options in ({}, {"multilabel": True}, {"query_id": True}, {"zero_based": "auto"}):
        try:
            X = data.load_svmlight(io.BytesIO(content), **options)[0]
        except ValueError as error:
            assert "line " in str(error)
        else:
            assert np.isfinite(X.data).all() and X.has_canonical_format
