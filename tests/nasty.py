"""One generator of nasty arguments, and the comparison of a fast function with its slow twin.

Everything is yielded as ``(name, value)`` so that a failing test says what it was given.
"""

import re

import numpy as np
import pytest

# Every dimension up to 40 (all remainders of the vector widths, twice), and the block borders.
SIZES = [*range(1, 41), 63, 64, 65, 127, 128, 129, 200]


def layouts(values):
    """The same numbers in every form memory allows."""
    values = np.array(values, dtype=np.float64)
    yield "plain", values.copy()
    yield "list", values.tolist()
    yield "byte-swapped", values.astype(values.dtype.newbyteorder())
    yield "F-order", np.asfortranarray(values)
    wide = np.full([2 * n + 1 for n in values.shape], np.nan)
    wide[tuple(slice(0, 2 * n, 2) for n in values.shape)] = values
    yield "strided", wide[tuple(slice(0, 2 * n, 2) for n in values.shape)]
    yield "negative strides", np.flip(np.flip(values).copy())
    yield "transposed", values.T.copy().T
    padded = np.full([n + 3 for n in values.shape], np.nan)
    padded[tuple(slice(1, n + 1) for n in values.shape)] = values
    yield "inside a larger array", padded[tuple(slice(1, n + 1) for n in values.shape)]
    frozen = values.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    raw = np.zeros(values.nbytes + 1, dtype=np.uint8)
    unaligned = raw[1:].view(np.float64).reshape(values.shape)
    unaligned[...] = values
    yield "unaligned", unaligned
    yield "long double", values.astype(np.longdouble)


def contents(shape, rng):
    """Arrays of finite numbers that any function of well scaled numbers must take."""
    normal = rng.standard_normal(shape)
    yield "normal", normal
    yield "float32", normal.astype(np.float32)
    yield "float32 strided", np.repeat(normal.astype(np.float32), 2, axis=-1)[..., ::2]
    yield "float32 byte-swapped", normal.astype(np.dtype(np.float32).newbyteorder())
    yield "float16", normal.astype(np.float16)
    for dtype in (np.int64, np.int32, np.int8, np.uint8, np.uint64):
        yield np.dtype(dtype).name, rng.integers(0, 5, shape).astype(dtype)
    yield "int32 byte-swapped", rng.integers(0, 5, shape).astype(np.dtype("i4").newbyteorder())
    yield "ties", rng.integers(-1, 2, shape).astype(float)
    yield "all equal", np.full(shape, 0.25)
    yield "zeros", np.zeros(shape)
    yield "both zeros", np.where(rng.random(shape) < 0.5, 0.0, -0.0)
    yield "subnormal", normal * 5e-320
    yield "tiny", normal * 1e-200
    yield "small", normal * 1e-6
    yield "large", normal * 1e6


def extremes(shape, rng):
    """Finite numbers whose squares or sums leave the range of float64 if taken carelessly."""
    normal = rng.standard_normal(shape)
    yield "huge", normal * 1e300
    yield "square overflows", normal * 1e170
    yield "all magnitudes", normal * 10.0 ** rng.integers(-300, 300, shape)
    yield "mixed magnitudes", normal * 10.0 ** rng.integers(-12, 12, shape)


def infinities(shape, rng):
    """No NaN, but not finite."""
    normal = rng.standard_normal(shape)
    yield "minus infinity mask", np.where(rng.random(shape) < 0.5, -np.inf, normal)
    yield "all minus infinity", np.full(shape, -np.inf)
    mixed = normal.copy()
    mixed.flat[0], mixed.flat[-1] = np.inf, -np.inf
    yield "both infinities", mixed
    single = normal.astype(np.float32)
    single.flat[-1] = np.inf
    yield "float32 infinity", single


def refused(shape, rng):
    """What no function takes in the place of an array of real numbers of this shape."""
    normal = rng.standard_normal(shape)
    for place in (0, -1):
        holed = normal.copy()
        holed.flat[place] = np.nan
        yield f"NaN at {place}", holed
    mixed = np.full(shape, np.inf)
    mixed.flat[0] = -np.inf
    mixed.flat[-1] = np.nan
    yield "NaN among infinities", mixed
    yield "all NaN", np.full(shape, np.nan, dtype=np.float32)
    yield "complex", normal.astype(complex)
    yield "strings", np.full(shape, "1.0")
    yield "objects", normal.astype(object)
    yield "dates", np.zeros(shape, dtype="datetime64[s]")
    yield "None", None
    yield "a string", "1.0"
    yield "0-d", np.array(1.0)
    yield "a number", 1.0
    yield "one dimension more", normal[None]
    if len(shape) > 1:
        yield "one dimension less", normal[0]
    yield "ragged", [[1.0, 2.0], [3.0]]


# The contents whose squares are no longer normal numbers.
OUT_OF_SCALE = {"huge", "square overflows", "all magnitudes", "tiny", "subnormal"}


def vectors(n, seed=0):
    """Everything that may be handed over where a vector of n >= 4 numbers is expected."""
    rng = np.random.default_rng(seed)
    yield from layouts(rng.standard_normal(n))
    yield from contents((n,), rng)
    yield from extremes((n,), rng)
    yield from infinities((n,), rng)
    yield from refused((n,), rng)
    yield "empty", np.zeros(0)
    yield "too short", rng.standard_normal(n - 1)
    yield "too long", rng.standard_normal(n + 1)


def vectors_in_scale(n, seed=0):
    """The same without the vectors for which ``x^T A^-1 x`` overflows or vanishes."""
    return ((name, value) for name, value in vectors(n, seed) if name not in OUT_OF_SCALE)


def matrices(shape, seed=0):
    """Everything that may be handed over where a matrix of this shape is expected."""
    rng = np.random.default_rng(seed)
    yield from layouts(rng.standard_normal(shape))
    yield from contents(shape, rng)
    yield from extremes(shape, rng)
    yield from infinities(shape, rng)
    yield from refused(shape, rng)
    yield "no rows", np.zeros((0, shape[1]))
    yield "no columns", np.zeros((shape[0], 0))
    yield "empty", np.zeros((0, 0))
    yield "a column missing", rng.standard_normal((shape[0], shape[1] - 1))


def inverses(n, seed=0):
    """Everything that may be handed over where the inverse of a metric is expected."""
    rng = np.random.default_rng(seed)
    good = spd(n, rng)
    yield from layouts(good)
    yield "float32", good.astype(np.float32)
    yield "integers", 2 * np.eye(n, dtype=np.int64)
    yield "identity", np.eye(n)
    upper = np.triu_indices(n, 1)
    for name, value in (("NaN", np.nan), ("infinity", np.inf), ("rubbish", 1e5)):
        above = good.copy()
        above[upper] = value
        yield f"{name} above the diagonal", above
    for name, value in (("NaN", np.nan), ("infinity", np.inf)):
        for place in ((0, 0), (n - 1, 0), (n - 1, n - 1)):
            holed = good.copy()
            holed[place] = value
            yield f"{name} at {place}", holed
    yield from refused((n, n), rng)
    yield "not square", np.ones((n, n + 1))
    yield "smaller", np.eye(n - 1)
    yield "larger", np.eye(n + 1)
    yield "empty", np.zeros((0, 0))


def scalars():
    """Everything that may be handed over where one positive number is expected."""
    for value in (1.0, 0.25, np.float32(0.5), np.float64(3.0), np.int8(2), 2, np.array(1.5)):
        yield f"{type(value).__name__} {value}", value
    for value in (0.0, -0.0, -1.0, np.nan, np.inf, -np.inf, None, "1.0", 1j):
        yield f"refused {value!r}", value


def counts():
    """Everything that may be handed over where a count is expected."""
    for value in (0, 1, 3, np.int8(2), np.uint64(5), 10**4, 2**40, 2**70):
        yield f"{type(value).__name__} {value}", value
    for value in (-1, -(2**70), np.int16(-3), True, False, np.True_, 1.0, np.float64(2.0), "3",
                  None, 1j, [2]):
        yield f"refused {value!r}", value


def cases(generator):
    """The arguments of `pytest.mark.parametrize` for a generator of (name, value)."""
    listed = list(generator)
    return {"argvalues": [value for _, value in listed], "ids": [name for name, _ in listed]}


def spd(n, rng, condition=100.0):
    """A symmetric positive definite matrix with eigenvalues from 1 down to 1 / condition."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    matrix = (Q * np.geomspace(1.0, 1.0 / condition, n)) @ Q.T
    return (matrix + matrix.T) / 2.0


def learned_inverse(n, rng, updates, ridge=1.0):
    """The inverse of ``ridge I`` plus a few outer products: what an online run produces."""
    X = rng.standard_normal((updates, n)) * np.geomspace(1.0, 0.01, n)
    inverse = np.linalg.inv(ridge * np.eye(n) + X.T @ X)
    return (inverse + inverse.T) / 2.0


def agree(fast, slow, args, compare, names=(), **kwargs):
    """`fast` does what `slow` does: equal by `compare(got, expected)`, or both raise the same type.

    The message of an error must contain one of `names`. Neither may change its arguments, and no
    array of the result may share memory with one. Returns the expected result, None if refused.
    """
    arrays = [value for value in args if isinstance(value, np.ndarray)]
    before = [array.tobytes() for array in arrays]
    try:
        expected = slow(*args, **kwargs)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        with pytest.raises(kind) as caught:
            fast(*args, **kwargs)
        for message in (str(error), str(caught.value)):
            named = any(re.search(rf"\b{name}\b", message) for name in names)
            assert named, f"{message!r} names none of {names}"
        expected = None
    else:
        got = fast(*args, **kwargs)
        compare(got, expected)
        for part in got if isinstance(got, tuple) else (got,):
            fresh = not any(np.shares_memory(part, array) for array in arrays)
            assert fresh, "a result shares memory with an argument"
    for array, bytes_before in zip(arrays, before, strict=True):
        assert array.tobytes() == bytes_before, "an argument was changed"
    return expected


def exactly(got, expected):
    """Equal arrays of the same type."""
    assert type(got) is type(expected)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def within(tolerance):
    """A comparison: float64 arrays, equal to `tolerance` relative to the largest entry."""

    def compare(got, expected):
        assert got.dtype == np.float64 and got.shape == expected.shape
        assert np.isfinite(got).all()
        error = np.abs(got - expected).max(initial=0.0)
        assert error <= tolerance * np.abs(expected).max(initial=0.0), error

    return compare


def number_within(tolerance):
    """A comparison: Python floats, equal to `tolerance` relative."""

    def compare(got, expected):
        assert isinstance(got, float) and isinstance(expected, float)
        assert got == pytest.approx(expected, rel=tolerance)

    return compare


def frozen(metric):
    """The state of a metric as something that can be compared to the byte."""
    return _frozen(metric.state())


def _frozen(value):
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return type(value).__name__, repr(value)


def readings(metric, x):
    """Everything a metric can be asked, with x as the question."""
    return {
        "quad": np.array(metric.quad(x)),
        "solve": metric.solve(x),
        "inverse": metric.inverse(),
        "matrix": metric.matrix(),
        "logdet": np.array(metric.logdet),
    }


def same_readings(got, expected, x, tolerance):
    """Both metrics answer alike, relative to the largest entry of each answer.

    A log-determinant is compared absolutely, by the sum of the relative errors it stands for.
    """
    got, expected = readings(got, x), readings(expected, x)
    size = max(len(expected["matrix"]), 1)
    assert abs(got.pop("logdet") - expected.pop("logdet")) <= tolerance * size
    for name, answer in expected.items():
        assert got[name].shape == answer.shape and got[name].dtype == np.float64, name
        error = np.abs(got[name] - answer).max(initial=0.0)
        assert error <= tolerance * np.abs(answer).max(initial=0.0), name
