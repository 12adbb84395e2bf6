"""The generator of multiclass problems."""

import numpy as np
import pytest

from coactive_fast import data


def test_the_shape_of_the_paper():
    X, y, weights = data.make_multiclass()
    assert X.shape == (1000, 9) and y.shape == (1000,) and weights.shape == (5, 9)
    assert y.dtype == np.intp and set(y) == set(range(5))
    assert not weights[:, 5:].any() and weights[:, :5].all()
    np.testing.assert_array_equal((X @ weights.T).argmax(axis=1), y)
    assert abs(X.mean()) < 0.05 and abs(X.std() - 1.0) < 0.05


def test_rows_of_length_one_have_the_same_labels():
    plain, unit = (data.make_multiclass(normalize=flag, seed=3) for flag in (False, True))
    np.testing.assert_allclose(np.linalg.norm(unit.features, axis=1), 1.0)
    np.testing.assert_array_equal(unit.labels, plain.labels)
    np.testing.assert_array_equal(unit.weights, plain.weights)


def test_seeds():
    for a, b in ((0, 0), (np.random.default_rng(4), np.random.default_rng(4))):
        first, second = data.make_multiclass(seed=a), data.make_multiclass(seed=b)
        np.testing.assert_array_equal(first.features, second.features)
    assert (data.make_multiclass(seed=1).labels != data.make_multiclass(seed=2).labels).any()
    assert data.make_multiclass(n_rows=0).features.shape == (0, 9)


@pytest.mark.parametrize("name, value", [
    ("n_rows", -1), ("n_features", 0), ("n_informative", 10), ("n_informative", 0),
    ("n_classes", 1), ("n_classes", 2.0), ("normalize", 1), ("seed", "x"),
])
def test_refused(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        data.make_multiclass(**{name: value})
