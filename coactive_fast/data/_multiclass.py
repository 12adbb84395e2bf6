"""Synthetic multiclass data: the problem of the Confidit paper's figure 2, at any size."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coactive_fast._typing import Vector, Whole
from coactive_fast.learner import _check as parameter
from coactive_fast.learner._random import make_generator


class MulticlassData(NamedTuple):
    """Rows and their labels.

    Attributes
    ----------
    features : ndarray of float64, shape (n, d)
        A row an example.
    labels : ndarray of intp, shape (n,)
        From 0 to K - 1.
    weights : ndarray of float64, shape (K, d)
        The linear models that made the labels: ``labels[t] = argmax_i weights[i] . features[t]``.
    """

    features: Vector
    labels: NDArray[np.intp]
    weights: Vector


def make_multiclass(*, n_rows: Whole = 1000, n_features: Whole = 9, n_informative: Whole = 5,
                    n_classes: Whole = 5, normalize: bool = False,
                    seed: Any = 0) -> MulticlassData:
    """Rows whose first features decide the label, by random linear models; the others are noise.

    The defaults are the Confidit paper's: 1,000 rows, 9 features, 5 of them informative, K = 5.
    It does not give the distributions; here all features and the weights of the informative ones
    are standard normal. ``np.linalg.norm(data.weights)`` is ||U||.

    Parameters
    ----------
    n_rows, n_features : int
        How many rows, and columns of each.
    n_informative : int, default 5
        At most `n_features`.
    n_classes : int, default 5
        K, at least 2.
    normalize : bool, default False
        Rows of length 1, as the theory wants them; the labels are the same.
    seed : int, Generator, ..., default 0
        What `numpy.random.default_rng` takes; the same seed gives the same data.

    Returns
    -------
    MulticlassData
        The rows, their labels, and the weights that made the labels.

    Examples
    --------
    >>> from coactive_fast import data
    >>> X, y, weights = data.make_multiclass(n_rows=20)
    >>> X.shape, y.shape, weights.shape
    ((20, 9), (20,), (5, 9))
    >>> bool(((X @ weights.T).argmax(axis=1) == y).all())
    True
    """
    n_rows = parameter.count("n_rows", n_rows)
    n_features = parameter.count("n_features", n_features, least=1)
    n_informative = parameter.count("n_informative", n_informative, least=1)
    if n_informative > n_features:
        raise ValueError(f"n_informative must be <= n_features = {n_features}, got "
                         f"{n_informative}")
    n_classes = parameter.count("n_classes", n_classes, least=2)
    normalize = parameter.switch("normalize", normalize)
    rng = make_generator(seed)
    weights = np.zeros((n_classes, n_features))
    weights[:, :n_informative] = rng.standard_normal((n_classes, n_informative))
    features = rng.standard_normal((n_rows, n_features))
    labels = (features @ weights.T).argmax(axis=1).astype(np.intp, copy=False)
    if normalize:
        features /= np.linalg.norm(features, axis=1, keepdims=True)
    return MulticlassData(features, labels, weights)
