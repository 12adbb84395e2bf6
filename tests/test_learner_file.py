"""The state file: what goes in comes out, what cannot or is damaged is refused."""

import hashlib
import json
import os
import struct
import tracemalloc

import numpy as np
import pytest
from state_files import assert_state, same

from coactive_fast.learner import _file

HEAD = {"name": "x", "rounds": 3, "rate": 0.1, "on": True, "none": None, "list": [1, [2.5]],
        "inner": {}}
ARRAYS = {"w": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False, True]),
          "one": np.array(7, np.int32), "none": np.empty((0, 4))}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.cf"


# --- round trips ----------------------------------------------------------------------------


def test_round_trip(path):
    _file.write(path, HEAD, ARRAYS)
    assert_state(path, HEAD, ARRAYS)
    assert list(path.parent.iterdir()) == [path]


def test_empty_state(path):
    _file.write(path, {}, {})
    assert _file.read(path) == ({}, {})


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("kind", ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8",
                                  "f2", "f4", "f8"])
def test_dtypes(path, kind, order):
    array = np.arange(-3, 4).astype(kind).astype(np.dtype(kind).newbyteorder(order))
    if kind[0] == "f":
        array[:3] = np.inf, -0.0, np.nan
    before = array.tobytes()
    _file.write(path, {}, {"a": array})
    assert array.tobytes() == before
    got = _file.read(path)[1]["a"]
    assert same(got, array.astype(kind))
    assert got.dtype.isnative


@pytest.mark.parametrize("array", [
    np.array(2.5), np.array(True), np.empty(0), np.empty((3, 0, 2), np.int8),
    np.arange(24.0).reshape(2, 3, 4).T, np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(20.0)[::-3], np.broadcast_to(np.arange(3.0), (4, 3)), np.zeros((1,) * 20),
    np.arange(10, dtype=">i4")[1::2],
], ids=lambda a: f"{a.dtype.str}{a.shape}")
def test_forms(path, array):
    _file.write(path, {}, {"a": array})
    got = _file.read(path)[1]["a"]
    assert got.shape == array.shape
    np.testing.assert_array_equal(got, array)
    assert got.flags.writeable and got.flags.aligned and got.flags.c_contiguous
    got[...] = 1  # its own memory: nothing but the array is changed
    np.testing.assert_array_equal(_file.read(path)[1]["a"], array)


def test_memory_mapped_array(tmp_path, path):
    np.save(tmp_path / "a.npy", np.arange(100.0))
    mapped = np.load(tmp_path / "a.npy", mmap_mode="r")
    _file.write(path, {}, {"a": mapped})
    got = _file.read(path)[1]["a"]
    assert same(got, np.arange(100.0))
    assert type(got) is np.ndarray and got.flags.writeable


def test_arrays_of_several_chunks(path, monkeypatch, rng):
    monkeypatch.setattr(_file, "CHUNK", 100)
    arrays = {"a": rng.standard_normal(1000), "b": rng.integers(0, 9, (7, 11), dtype=np.int8)}
    _file.write(path, HEAD, arrays)
    assert_state(path, HEAD, arrays)


def test_numbers_come_back_exactly(path):
    head = {"big": [2**128 - 1, -(2**200)], "text": "ä\0\ud800\n", "": {"": []},
            "small": [5e-324, 0.1, 1 / 3, -0.0, 1.7976931348623157e308]}
    _file.write(path, head, {"ä.b\n": np.zeros(1)})
    got, arrays = _file.read(path)
    assert got == head
    assert str(got["small"]) == str(head["small"])  # the sign of zero too
    assert list(arrays) == ["ä.b\n"]


def test_layout(path):
    """As the module's text says it, read without its help."""
    _file.write(path, HEAD, ARRAYS)
    data = path.read_bytes()
    magic, number, length = struct.unpack("<8sIQ", data[:20])
    assert (magic, number) == (b"\x89COACT\r\n", 1)
    assert data[-32:] == hashlib.sha256(data[:-32]).digest()
    header = json.loads(data[20 : 20 + length].decode())
    assert header["head"] == HEAD
    begin = (20 + length + 63) // 64 * 64
    end = 20 + length
    for entry, (name, array) in zip(header["arrays"], ARRAYS.items(), strict=True):
        start = begin + entry["offset"]
        assert start % 64 == 0 and start >= end
        assert not any(data[end:start])
        end = start + entry["nbytes"]
        got = np.frombuffer(data[start:end], entry["dtype"]).reshape(entry["shape"])
        assert entry["name"] == name and entry["order"] == "C"
        assert same(got, array)
    assert end == len(data) - 32


# --- what is refused on the way in ----------------------------------------------------------


@pytest.mark.parametrize("array", [
    np.array(["a"]), np.array([None]), np.array([1j]), np.array([b"a"]),
    np.zeros(2, [("a", "f8")]), np.array(["2020-01-01"], "M8[D]"), [1.0], np.float64(1.0),
    np.ma.masked_array([1.0], [True]), None,
], ids=repr)
def test_refused_arrays(path, array):
    with pytest.raises(TypeError, match="'bad'"):
        _file.write(path, {}, {"good": np.zeros(2), "bad": array})
    assert not path.exists()


def test_long_double_is_refused(path):
    if np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("a long double is a double here")
    with pytest.raises(TypeError, match="'bad'.*8 bytes"):
        _file.write(path, {}, {"bad": np.zeros(2, np.longdouble)})


@pytest.mark.parametrize("value", [
    np.int64(1), np.float32(1.0), 1j, b"a", {1, 2}, object(), np.zeros(2), {1: 2}, {"x": {(): 1}},
], ids=lambda value: type(value).__name__)
def test_refused_heads(path, value):
    with pytest.raises(TypeError, match=r"head\['a'\]\[1\]"):
        _file.write(path, {"a": [0, value]}, {})
    assert not path.exists()


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_numbers_that_json_has_not(path, value):
    with pytest.raises(ValueError, match=r"head\['a'\]\['b'\] must be finite"):
        _file.write(path, {"a": {"b": float(value)}}, {})


def test_refused_names(path):
    with pytest.raises(TypeError, match="names that are strings, got 3"):
        _file.write(path, {}, {3: np.zeros(2)})
    with pytest.raises(TypeError, match="head must be a dict"):
        _file.write(path, [], {})


# --- damage ---------------------------------------------------------------------------------


def refused(path, data, match):
    path.write_bytes(data)
    with pytest.raises(ValueError, match=match) as caught:
        _file.read(path)
    assert str(path) in str(caught.value)


@pytest.fixture
def saved(path):
    _file.write(path, HEAD, ARRAYS)
    return path.read_bytes()


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_every_byte_counts(path, saved, mask):
    for i in range(len(saved)):
        refused(path, saved[:i] + bytes([saved[i] ^ mask]) + saved[i + 1 :], "is|has")


def test_every_truncation(path, saved):
    for length in range(len(saved)):
        refused(path, saved[:length], "truncated" if length else "only 0 bytes")


def test_too_long(path, saved):
    refused(path, saved + b"\0", "1 bytes too many")


def test_checksum(path, saved):
    refused(path, saved[:-1] + bytes([saved[-1] ^ 1]), "checksum is wrong")
    position = saved.rindex(ARRAYS["w"].tobytes())
    refused(path, saved[:position] + b"\1" + saved[position + 1 :], "checksum is wrong")


def test_other_formats(path, saved):
    def numbered(number):
        body = saved[:8] + struct.pack("<I", number) + saved[12:-32]
        return body + hashlib.sha256(body).digest()

    refused(path, numbered(2), "format 2, .* reads formats up to 1: .*newer version")
    refused(path, numbered(0), "no format 0")


@pytest.mark.parametrize("data", [
    b"hello, world, this is text", b"\x93NUMPY\x01\0", b"PK\x03\x04" + bytes(100),
    b"\x80\x04K\x01.", b"\x89COACT\n" + bytes(100),  # the carriage return was lost
], ids=["text", "npy", "npz", "pickle", "text-mode"])
def test_foreign_files(path, data):
    refused(path, data, "not a file saved by coactive_fast")


def test_no_file(tmp_path, path):
    with pytest.raises(FileNotFoundError):
        _file.read(path)
    with pytest.raises(IsADirectoryError if os.name == "posix" else OSError):
        _file.read(tmp_path)


ENTRY = {"name": "a", "dtype": "<f8", "shape": [2], "order": "C", "offset": 0, "nbytes": 16}


def forged(header, data=bytes(16), length=None):
    """A file with a right checksum around any header."""
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    body = struct.pack("<8sIQ", _file.MAGIC, 1, len(header) if length is None else length) + header
    body += bytes(-len(body) % 64) + data
    return body + hashlib.sha256(body).digest()


def test_forged_file_is_right_but_for_what_is_changed(path):
    path.write_bytes(forged({"head": {"x": 1}, "arrays": [ENTRY]}))
    assert_state(path, {"x": 1}, {"a": np.zeros(2)})


@pytest.mark.parametrize("change", [
    {"dtype": "|O"}, {"dtype": "<c16"}, {"dtype": "<U4"}, {"dtype": "f8"}, {"dtype": ">f8"},
    {"dtype": ["<f8"]}, {"dtype": None}, {"dtype": "<f16"}, {"order": "F"}, {"order": None},
    {"shape": 2}, {"shape": [-2]}, {"shape": [-1, -2]}, {"shape": [2.0]}, {"shape": [True, 2]},
    {"shape": ["2"]}, {"shape": [2**63, 0]}, {"shape": [1] * 65}, {"shape": [3]},
    {"nbytes": 8}, {"nbytes": -16}, {"nbytes": "16"}, {"nbytes": 2**70}, {"nbytes": None},
    {"offset": 64}, {"offset": -64}, {"offset": 1}, {"offset": 2**70}, {"offset": "0"},
    {"name": 3}, {"name": None}, {"more": 1},
    {"shape": [2**62, 2**62, 0], "nbytes": 0},  # too large for an array, though empty
], ids=repr)
def test_inconsistent_table(path, change):
    refused(path, forged({"head": {}, "arrays": [ENTRY | change]}), "inconsistent header")


@pytest.mark.parametrize("shape", [[2**20], [2**40], [2**60], [2**31, 2**31], [2**62, 2**62]])
def test_sizes_beyond_the_file_take_no_memory(path, shape):
    nbytes = 8 * int(np.prod(np.array(shape, dtype=object)))
    data = forged({"head": {}, "arrays": [ENTRY | {"shape": shape, "nbytes": nbytes}]})
    tracemalloc.start()
    try:
        refused(path, data, "array 'a' ends behind the end of the file")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("length", [2**20, 2**40, 2**63, 2**64 - 1])
def test_header_beyond_the_file(path, length):
    tracemalloc.start()
    try:
        refused(path, forged({"head": {}, "arrays": []}, length=length), "its header ends behind")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_arrays_must_not_overlap(path):
    second = ENTRY | {"name": "b"}
    refused(path, forged({"head": {}, "arrays": [ENTRY, second]}), "'b' has 16 bytes at 0")
    refused(path, forged({"head": {}, "arrays": [ENTRY, second | {"offset": 64}]}),
            "array 'b' ends behind")
    refused(path, forged({"head": {}, "arrays": [ENTRY, ENTRY | {"offset": 64}]}, bytes(80)),
            "two arrays have the name 'a'")


def test_bytes_that_belong_to_no_array(path):
    refused(path, forged({"head": {}, "arrays": []}, data=b""), "too many at the end")


@pytest.mark.parametrize("header", [
    b"", b"{", b"[]", b"1", b"null", b"\xff\xfe", b"{}", b'{"head": {}}', b'{"arrays": []}',
    b'{"head": [], "arrays": []}', b'{"head": {}, "arrays": {}}',
    b'{"head": {}, "arrays": [], "more": 1}', b'{"head": {}, "arrays": [1]}',
    b'{"head": {}, "arrays": [{}]}', b'{"head": {"a": NaN}, "arrays": []}',
    b'{"head": {"a": -Infinity}, "arrays": []}', b"[" * 100_000,
    b'{"head": {"a":' + b"[" * 100_000 + b"]" * 100_000 + b'}, "arrays": []}',
], ids=lambda h: h[:40].decode("latin-1"))
def test_header_that_is_none(path, header):
    refused(path, forged(header), "header")


def test_file_that_shrinks_while_it_is_read(path, monkeypatch):
    _file.write(path, {}, {"a": np.zeros(100_000)})
    parsed = _file._Reader.parsed

    def shrinking(self, text):
        os.truncate(path, 1000)
        return parsed(self, text)

    monkeypatch.setattr(_file._Reader, "parsed", shrinking)
    with pytest.raises(ValueError, match="became shorter"):
        _file.read(path)
