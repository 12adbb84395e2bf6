"""`exp` and `log` against their twins, and what every function takes for a number."""

import math

import nasty
import numpy as np
import pytest

import coactive_fast as cf

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, 2.2e-308, 1.8e308,
           709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412]


def within_an_ulp(got, expected):
    assert got.dtype == np.float64 and got.shape == expected.shape
    usual = np.isfinite(expected)
    np.testing.assert_array_equal(got[~usual], expected[~usual])
    ulp = np.spacing(np.abs(expected[usual]))
    assert (np.abs(got[usual] - expected[usual]) <= 2 * ulp).all()  # the twin has one of its own


@pytest.mark.parametrize("name", ["exp", "log"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 64, 1000, 40_000])
def test_values(name, n, rng):
    values = {
        "exp": rng.uniform(-745.0, 709.0, n),
        "log": 10.0 ** rng.uniform(-300.0, 300.0, n),
    }[name]
    within_an_ulp(getattr(cf.kernels, name)(values), getattr(cf.reference, name)(values))


@pytest.mark.parametrize("name", ["exp", "log"])
def test_special_values(name):
    within_an_ulp(getattr(cf.kernels, name)(SPECIAL), getattr(cf.reference, name)(SPECIAL))


@pytest.mark.parametrize("name", ["exp", "log"])
@pytest.mark.parametrize("x", **nasty.cases(nasty.refused((6,), np.random.default_rng(0))))
def test_nasty_x(name, x):
    functions = getattr(cf.kernels, name), getattr(cf.reference, name)
    nasty.agree(*functions, (x,), within_an_ulp, ("x",))


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2.5, True, np.int8(3), np.uint64(4), np.float32(0.5),
                                    np.float64(0.25), np.longdouble(2), np.array(1.5)], ids=repr)
def test_numbers(number):
    assert cf.metric.Full(1).update([1.0], c=number) == 1.0
    assert cf.metric.Diagonal(1, ridge=number).ridge == float(number)


@pytest.mark.parametrize("value", [
    np.complex64(1 + 2j), 1j, np.complex128(1.0), np.array("2.0"), np.str_("2.0"), "2.0", b"2",
    bytearray(b"2"), np.array(2.0, dtype=object), np.datetime64(2, "s"), np.array([2.0]), [2.0],
    None, 10**400, {}, np.array([1.0, 2.0]), [[1.0], 2.0],
], ids=lambda value: type(value).__name__)
def test_what_is_no_number(value):
    for call in (lambda: cf.metric.Full(1).update([1.0], c=value),
                 lambda: cf.metric.Diagonal(1).update([1.0], c=value),
                 lambda: cf.metric.Dual().update([1.0], c=value),
                 lambda: cf.kernels.inverse_update(np.eye(1), [1.0], c=value),
                 lambda: cf.reference.inverse_update(np.eye(1), [1.0], c=value)):
        with pytest.raises(TypeError, match=r"\bc\b"):
            call()


# --- names ------------------------------------------------------------------------------------


def test_what_has_a_default_goes_by_its_name():
    for module in (cf.kernels, cf.reference):
        for call in (lambda m: m.inverse_update(np.eye(1), [1.0], 2.0),
                     lambda m: m.ranking_features(np.eye(2), [0], 1),
                     lambda m: m.exponentiated_weights([0.0], False)):
            with pytest.raises(TypeError, match="positional"):
                call(module)
    for module in (cf.metric, cf.reference):
        for call in (lambda m: m.Full(2, 1.0), lambda m: m.Diagonal(2, 1.0),
                     lambda m: m.Dual("rbf"), lambda m: m.Full(1).update([1.0], 2.0),
                     lambda m: m.Diagonal(1).update([1.0], 2.0),
                     lambda m: m.Dual().update([1.0], 2.0)):
            with pytest.raises(TypeError, match="positional"):
                call(module)
