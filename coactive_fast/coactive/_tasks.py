"""What is presented: a ranking of a query's documents, an item of a catalogue."""

import numpy as np

from .. import kernels
from ..learner._check import count
from ..learner._store import storable


@storable
class Ranking:
    """Orderings of a query's documents.

    The context x is a matrix of n documents by N features, y an ordering of them, best first, and
    ``features(x, y) = sum over the first k places of x[y_i] / log2(i + 1)``, i = 1 ... k.

    Parameters
    ----------
    k : int, default 5
        Only so many places count.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PreferencePerceptron(cf.Ranking(k=2))
    >>> documents = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> learner.present(documents)
    array([0, 1, 2])
    >>> learner.learn(documents, [0, 1, 2], [2, 1, 0])
    >>> learner.present(documents)
    array([1, 2, 0])
    """

    _stored = ("k",)

    def __init__(self, *, k=5):
        self._k = count("k", k, least=1)

    @property
    def k(self):
        """How many places count."""
        return self._k

    def features(self, x, y):
        """The feature vector of ordering y.

        Parameters
        ----------
        x : array_like of shape (n, N)
        y : array_like of int
            All documents or only the first places.

        Returns
        -------
        ndarray of shape (N,)
        """
        return kernels.ranking_features(x, y, k=self._k)

    def argmax(self, w, x):
        """All documents by decreasing score, ties to the lower index.

        Parameters
        ----------
        w : array_like of shape (N,)
        x : array_like of shape (n, N)

        Returns
        -------
        ndarray of int
        """
        return kernels.rank(x, w, len(x))

    def __repr__(self):
        return f"Ranking(k={self._k})"

    def __eq__(self, other):
        return isinstance(other, Ranking) and other._k == self._k

    def __hash__(self):
        return hash((Ranking, self._k))


@storable
class Items:
    """Items of one catalogue; a context is the array of the candidates' indices (None: all).

    Parameters
    ----------
    features : array_like of shape (n, N)
        A row an item. A copy is kept (float32 stays float32) and never changes, so learners
        and their copies share it.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.PreferencePerceptron(cf.Items([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]))
    >>> learner.present(None)
    0
    >>> learner.learn(None, 0, 2)
    >>> learner.present([1, 2])
    1
    """

    _stored = ("features",)

    def __init__(self, features):
        given = np.asarray(features)
        if given.dtype.kind not in "fiub":
            raise TypeError(f"features must hold real numbers, got dtype {given.dtype}")
        if given.ndim != 2 or 0 in given.shape:
            raise ValueError("features must have a row an item and at least one feature, got "
                             f"shape {given.shape}")
        kind = np.float32 if given.dtype == np.float32 else np.float64
        rows = np.array(given, dtype=kind, order="C", copy=True)
        if not np.isfinite(rows).all():
            raise ValueError("features must be finite")
        rows.flags.writeable = False
        self._features = rows

    @property
    def features(self):
        """The rows, read-only."""
        return self._features

    @property
    def dimension(self):
        """The number of features."""
        return self._features.shape[1]

    def __len__(self):
        return len(self._features)

    def __repr__(self):
        return f"Items({len(self._features)} items, {self.dimension} features)"

    def __eq__(self, other):
        return isinstance(other, Items) and (
            other._features is self._features
            or (other._features.dtype == self._features.dtype
                and np.array_equal(other._features, self._features)))

    __hash__ = None

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self
