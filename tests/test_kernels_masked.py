"""Masked arrays: what is masked is no number, and every kernel function says so by name."""

import inspect

import numpy as np
import pytest

import coactive_fast as cf

SQUARE = np.eye(3)
VECTOR = np.array([0.5, -0.25, 2.0])
# Of each function: good arguments, of which every array and every number is masked in turn.
GOOD = {
    "exp": {"x": VECTOR},
    "exponentiated_weights": {"theta": VECTOR, "both_signs": True},
    "inverse_update": {"Ainv": SQUARE, "x": VECTOR, "c": 1.0},
    "log": {"x": VECTOR},
    "project_ball": {"z": VECTOR, "Ainv": SQUARE, "radius": 1.0},
    "project_box": {"z": VECTOR, "Ainv": SQUARE, "lower": -VECTOR**2, "upper": VECTOR**2},
    "project_l1": {"z": VECTOR, "Ainv": SQUARE, "radius": 1.0},
    "project_scores": {"z": VECTOR, "q": VECTOR**2, "total": 1.0},
    "project_simplex": {"z": VECTOR, "Ainv": SQUARE, "total": 1.0},
    "rank": {"X": SQUARE, "w": VECTOR, "k": 2},
    "ranking_features": {"X": SQUARE, "ranking": np.array([2, 0]), "k": 2},
    "top_k": {"scores": VECTOR, "k": 2},
}
ARGUMENTS = [(function, name) for function, good in GOOD.items() for name in good]


def masked_forms(value):
    mask = np.zeros(np.shape(value), dtype=bool)
    mask.flat[0] = True
    yield np.ma.array(value, mask=mask)
    yield np.ma.array(value)  # nothing is masked: still a class of its own
    if np.ndim(value) and np.asarray(value).dtype == np.float64:
        yield np.ma.array(value, mask=mask, dtype=np.float32)
    if np.ndim(value) == 0:
        yield np.ma.masked


def test_every_function_is_here():
    assert set(GOOD) == set(cf.kernels.__all__)
    for function, good in GOOD.items():
        names = set(inspect.signature(getattr(cf.kernels, function)).parameters)
        assert set(good) == names - {"triangle"}, function
        getattr(cf.kernels, function)(**{name: copied(value) for name, value in good.items()})


def copied(value):
    return value.copy() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize(("function", "name"), ARGUMENTS)
def test_masked_arguments_are_refused(function, name):
    for masked in masked_forms(GOOD[function][name]):
        arguments = {other: copied(value) for other, value in GOOD[function].items()}
        before = {other: copied(value) for other, value in arguments.items()}
        arguments[name] = masked
        with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
            getattr(cf.kernels, function)(**arguments)
        for other, value in before.items():
            if other != name:
                np.testing.assert_array_equal(arguments[other], value)


@pytest.mark.parametrize("bound", ["lower", "upper"])
def test_a_masked_number_as_bound_of_a_box(bound):
    for masked in (np.ma.masked, np.ma.array(1.0, mask=True)):
        with pytest.raises(ValueError, match=f"{bound} must not be a masked array"):
            cf.kernels.project_box(VECTOR, SQUARE, **{"lower": -1.0, "upper": 1.0, bound: masked})
