"""`inverse_update` against its slow twin, against a dense inverse, and what it leaves alone."""

import itertools

import nasty
import numpy as np
import pytest

import coactive_fast as cf

BOTH_MODULES = pytest.mark.parametrize(
    "module", [cf.kernels, cf.reference], ids=["kernels", "reference"]
)


def updated(module):
    """`inverse_update` of the module on a copy, so that it can be compared as a plain function."""

    def function(Ainv, x, **kwargs):
        Ainv = Ainv.copy(order="C") if isinstance(Ainv, np.ndarray) else Ainv
        q = module.inverse_update(Ainv, x, **kwargs)
        assert isinstance(q, float)
        return np.array(q), Ainv.copy()

    return function


def compare(got, expected):
    nasty.within(1e-12)(got[0], expected[0])
    nasty.within(1e-11)(got[1], expected[1])


def check(Ainv, x, **kwargs):
    names = ("Ainv", "x", "c", "triangle")
    functions = updated(cf.kernels), updated(cf.reference)
    return nasty.agree(*functions, (Ainv, x), compare, names, **kwargs)


@pytest.mark.parametrize("triangle", ["both", "lower"])
@pytest.mark.parametrize("d", nasty.SIZES)
def test_sizes(d, triangle, rng):
    for c in (1.0, 0.3, 1e3):
        Ainv = nasty.spd(d, rng)
        assert check(Ainv, rng.standard_normal(d), c=c, triangle=triangle) is not None
        one = np.zeros(d)
        one[rng.integers(d)] = -2.0
        assert check(Ainv, one, c=c, triangle=triangle) is not None


@pytest.mark.parametrize("triangle", ["both", "lower"])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 16, 17, 33, 64, 100])
def test_many_updates_give_the_inverse_of_the_sum(d, triangle, rng):
    Ainv, A = np.eye(d), np.eye(d)
    for _ in range(200):
        x, c = rng.standard_normal(d), rng.uniform(0.1, 2.0)
        q = cf.kernels.inverse_update(Ainv, x, c=c, triangle=triangle)
        assert q == pytest.approx(x @ np.linalg.solve(A, x), rel=1e-9)
        A += c * np.outer(x, x)
    lower = np.tril(Ainv)
    whole = lower + np.tril(lower, -1).T
    np.testing.assert_allclose(whole @ A, np.eye(d), atol=1e-10)


@BOTH_MODULES
@pytest.mark.parametrize("d", [1, 2, 5, 8, 16, 17, 65, 129])
def test_triangles(module, d, rng):
    Ainv, x = nasty.spd(d, rng), rng.standard_normal(d)
    upper = np.triu_indices(d, 1)
    lower_only, both = Ainv.copy(), Ainv.copy()
    # rubbish above the diagonal is never taken for the matrix
    lower_only[upper], both[upper] = np.nan, np.nan
    module.inverse_update(lower_only, x, triangle="lower")
    module.inverse_update(both, x, triangle="both")
    assert np.isnan(lower_only[upper]).all()
    np.testing.assert_array_equal(both, both.T)
    np.testing.assert_allclose(np.tril(lower_only), np.tril(both), rtol=0, atol=1e-13)


@BOTH_MODULES
def test_the_upper_triangle_keeps_its_very_bytes(module, rng):
    Ainv = rng.standard_normal((20, 20))
    Ainv[np.tril_indices(20)] = nasty.spd(20, rng)[np.tril_indices(20)]
    upper = np.triu_indices(20, 1)
    before = Ainv[upper].tobytes()
    module.inverse_update(Ainv, rng.standard_normal(20), triangle="lower")
    assert Ainv[upper].tobytes() == before


@pytest.mark.parametrize("x", **nasty.cases(nasty.vectors(6)))
def test_nasty_x(x, rng):
    check(nasty.spd(6, rng), x)


@pytest.mark.parametrize("c", **nasty.cases(nasty.scalars()))
def test_nasty_c(c, rng):
    check(nasty.spd(6, rng), rng.standard_normal(6), c=c)


# The layouts that copying does not straighten out are tested further down, in place.
@pytest.mark.parametrize("Ainv", **nasty.cases(nasty.inverses(6)))
def test_nasty_inverse(Ainv, rng):
    check(Ainv, rng.standard_normal(6))


@BOTH_MODULES
def test_a_view_with_contiguous_rows_is_updated_in_place(module, rng):
    big = np.full((9, 12), 7.0)
    view, Ainv, x = big[2:8, 3:9], nasty.spd(6, rng), rng.standard_normal(6)
    view[...] = Ainv
    q = module.inverse_update(view, x)
    v = Ainv @ x
    assert q == pytest.approx(x @ v, rel=1e-13)
    np.testing.assert_allclose(view, Ainv - np.outer(v, v) / (1 + x @ v), atol=1e-14)
    big[2:8, 3:9] = 7.0
    assert (big == 7.0).all(), "something outside the view was written"


@BOTH_MODULES
def test_memory_that_cannot_be_updated(module, rng):
    x = rng.standard_normal(6)
    frozen = nasty.spd(6, rng)
    frozen.flags.writeable = False
    every_other = np.zeros((6, 12))[:, ::2]
    every_other[...] = nasty.spd(6, rng)
    columns = np.asfortranarray(nasty.spd(6, rng))
    backwards = np.flip(nasty.spd(6, rng), axis=1)
    refused = [
        (ValueError, frozen),
        (ValueError, every_other),
        (ValueError, columns),
        (ValueError, backwards),
        (TypeError, nasty.spd(6, rng).astype(np.float32)),
        (TypeError, nasty.spd(6, rng).astype(np.dtype(np.float64).newbyteorder())),
        (TypeError, np.eye(6, dtype=int)),
        (TypeError, nasty.spd(6, rng).tolist()),
    ]
    for kind, Ainv in refused:
        before = np.array(Ainv).tobytes()
        with pytest.raises(kind, match=r"\bAinv\b"):
            module.inverse_update(Ainv, x)
        assert np.array(Ainv).tobytes() == before


@pytest.mark.parametrize("layout", ["negative row stride", "unaligned"])
def test_odd_memory_is_updated_rightly_or_refused(layout, rng):
    Ainv, x = nasty.spd(6, rng), rng.standard_normal(6)
    if layout == "unaligned":
        odd = np.zeros(6 * 6 * 8 + 1, dtype=np.uint8)[1:].view(np.float64).reshape(6, 6)
    else:
        odd = np.zeros((6, 6))[::-1]
    odd[...] = Ainv
    expected = Ainv.copy()
    cf.reference.inverse_update(expected, x)
    try:
        cf.kernels.inverse_update(odd, x)
    except ValueError as error:
        assert "Ainv" in str(error)
        expected = Ainv
    np.testing.assert_allclose(odd, expected, atol=1e-14)


@BOTH_MODULES
def test_zero_x_changes_nothing(module, rng):
    for x in (np.zeros(5), np.array([0.0, -0.0, 0.0, -0.0, 0.0])):
        Ainv = rng.standard_normal((5, 5))
        before = Ainv.tobytes()
        assert module.inverse_update(Ainv, x) == 0.0
        assert Ainv.tobytes() == before, "not even symmetry is repaired"


def broken(rng):
    """Arguments that are refused, by the argument that is at fault."""
    good, x = nasty.spd(6, rng), rng.standard_normal(6)
    not_definite = good - 2.0 * np.eye(6)
    singular = np.zeros((6, 6))
    poisoned = [good.copy() for _ in range(3)]
    poisoned[0][3, 2], poisoned[1][5, 5], poisoned[2][0, 0] = np.nan, np.inf, np.nan
    for Ainv in (not_definite, singular, *poisoned):
        yield "Ainv", (Ainv, x, 1.0, "both")
    for place, value in itertools.product((0, 5), (np.nan, np.inf, -np.inf)):
        bad = x.copy()
        bad[place] = value
        yield "x", (good, bad, 1.0, "both")
    yield "x", (good, x[:5], 1.0, "both")
    yield "x", (good, 1e200 * x, 1.0, "both")  # q would be infinite
    for c in (0.0, -1.0, np.nan, np.inf):
        yield "c", (good, x, c, "both")
    yield "triangle", (good, x, 1.0, "upper")


@BOTH_MODULES
def test_after_an_error_every_byte_is_as_before(module, rng):
    for name, (Ainv, x, c, triangle) in broken(rng):
        work = Ainv.copy()
        with pytest.raises(ValueError, match=rf"\b{name}\b"):
            module.inverse_update(work, x, c=c, triangle=triangle)
        assert work.tobytes() == Ainv.tobytes()


@BOTH_MODULES
@pytest.mark.parametrize("d", [3, 8, 16, 17, 40])
def test_x_may_be_a_row_of_the_inverse_itself(module, d, rng):
    apart = nasty.spd(d, rng)
    together = apart.copy()
    module.inverse_update(apart, apart[1].copy())
    module.inverse_update(together, together[1])
    np.testing.assert_array_equal(together, apart)


@BOTH_MODULES
def test_scaling_x_by_a_power_of_two_and_c_by_its_inverse_square(module, rng):
    # c x x^T is the same number to the bit, so the result must be too: far from overflow in
    # every product, although x and c are extreme
    Ainv, x = nasty.spd(9, rng), rng.standard_normal(9)
    plain = Ainv.copy()
    q = module.inverse_update(plain, x, c=0.5)
    for power in (-200, -20, 1, 20, 200):
        scaled = Ainv.copy()
        got = module.inverse_update(scaled, x * 2.0**power, c=0.5 * 2.0 ** (-2 * power))
        assert got == q * 2.0 ** (2 * power)
        np.testing.assert_array_equal(scaled, plain)


@BOTH_MODULES
def test_no_overflow_where_the_result_is_ordinary(module, rng):
    # v v^T overflows, v v^T / q does not
    scale = 2.0**330
    Ainv, x = nasty.spd(9, rng), rng.standard_normal(9)
    plain, scaled = Ainv.copy(), Ainv * scale
    module.inverse_update(plain, x)
    module.inverse_update(scaled, x * scale, c=scale**-3)
    np.testing.assert_allclose(scaled / scale, plain, rtol=1e-12, atol=1e-14)


@BOTH_MODULES
def test_permuting_the_features_permutes_the_result(module, rng):
    Ainv, x, order = nasty.spd(23, rng), rng.standard_normal(23), rng.permutation(23)
    permuted = Ainv[np.ix_(order, order)].copy()
    assert module.inverse_update(Ainv, x) == pytest.approx(
        module.inverse_update(permuted, x[order]), rel=1e-13
    )
    np.testing.assert_allclose(permuted, Ainv[np.ix_(order, order)], atol=1e-14)


def test_empty():
    assert cf.kernels.inverse_update(np.zeros((0, 0)), np.zeros(0)) == 0.0
