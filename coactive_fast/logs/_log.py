"""A log of decisions: arrays that were checked together, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from .._arrays import refuse_masked
from .._typing import RowsLike, Vector
from ..data import _check
from ..rows._formats import checked_csr

if TYPE_CHECKING:
    from typing_extensions import Self

Table: TypeAlias = Any  # dense float32 or float64, or CSR


class BanditLog:
    """What a policy met and did, round by round.

    Round t offered the actions ``features[offsets[t]:offsets[t + 1]]``, took number ``chosen[t]``
    of them with probability ``probability[t]``, and ``reward[t]`` came back. ``len(log)`` is the
    number of rounds, ``log[a:b]`` a run of them.

    Parameters
    ----------
    features : array_like or scipy.sparse matrix, shape (actions, d)
        The actions of all rounds, one round behind the other. A C-contiguous array of float32 or
        float64 is kept without a copy and must not change; so are the parts of a CSR matrix with
        sorted indices. The rest is converted.
    offsets : array_like of int, shape (n + 1,)
        Ascending strictly (no round is without actions) from 0 to the number of actions.
    chosen : array_like of int, shape (n,)
        Counted within the round, from 0.
    reward : array_like of float, shape (n,)
    probability : array_like of float, shape (n,)
        In (0, 1]: with which the logged choice was made.
    context : array_like or scipy.sparse matrix, shape (n, p), optional
        A row a round: for policies that read one. Kept as `features` are.
    groups : array_like of int or str, shape (n,), optional
        Which rounds belong together, as those of one session or user: they share a fold, and
        standard errors are clustered by them.
    feature_names, context_names : sequence of str, optional
        One a column.

    Attributes
    ----------
    features, context
        float32 or float64, read-only, or a `scipy.sparse.csr_array`; context may be None.
    offsets, chosen : ndarray of int64, read-only
    reward, probability : ndarray of float64, read-only
    groups : ndarray of int64, uint64 or str, read-only, or None
    feature_names, context_names : tuple of str, or None
    n_features, n_context : int
    n_actions : int
        Of all rounds together.

    Examples
    --------
    >>> from coactive_fast.logs import BanditLog
    >>> log = BanditLog([[1.0], [2.0], [3.0]], [0, 2, 3], [1, 0], [0.5, 1.0], [0.25, 1.0])
    >>> log, len(log)
    (BanditLog(2 rounds, 3 actions, 1 features, float64), 2)
    >>> log[1:].reward
    array([1.])
    """

    def __init__(self, features: RowsLike, offsets: ArrayLike, chosen: ArrayLike,
                 reward: ArrayLike, probability: ArrayLike, *, context: RowsLike | None = None,
                 groups: ArrayLike | None = None, feature_names: Sequence[str] | None = None,
                 context_names: Sequence[str] | None = None) -> None:
        features = _rows("features", features)
        offsets = _check.offsets("offsets", offsets, features.shape[0], "actions", "round",
                                 "rounds").copy()  # places: nobody may change them later
        n = offsets.size - 1
        chosen = _lasting("chosen", _check.whole("chosen", chosen), n).copy()
        wrong = np.flatnonzero((chosen < 0) | (chosen >= np.diff(offsets)))
        if wrong.size:
            t = int(wrong[0])
            raise ValueError(f"chosen must lie in 0 ... {offsets[t + 1] - offsets[t] - 1} in round "
                             f"{t}, got {chosen[t]}")
        reward = _lasting("reward", _check.vector("reward", reward), n)
        probability = _lasting("probability", _check.vector("probability", probability), n)
        wrong = np.flatnonzero(~((probability > 0.0) & (probability <= 1.0)))
        if wrong.size:
            t = int(wrong[0])
            raise ValueError(f"probability must lie in (0, 1], got {probability[t]} in round {t}")
        if context is not None:
            context = _rows("context", context)
            _check.same_length("context", context.shape[0], n, "offsets")
        groups = None if groups is None else _lasting("groups", _groups(groups), n)
        self._set(features, offsets, chosen, reward, probability, context, groups,
                  _names("feature_names", feature_names, features),
                  _names("context_names", context_names, context))

    def _set(self, features, offsets, chosen, reward, probability, context, groups,
             feature_names, context_names):
        self._features, self._context = _read_only(features), _read_only(context)
        self._offsets, self._chosen = _read_only(offsets), _read_only(chosen)
        self._reward, self._probability = _read_only(reward), _read_only(probability)
        self._groups = _read_only(groups)
        self._feature_names, self._context_names = feature_names, context_names

    @property
    def features(self) -> Table:
        return self._features

    @property
    def offsets(self) -> NDArray[np.int64]:
        return self._offsets

    @property
    def chosen(self) -> NDArray[np.int64]:
        return self._chosen

    @property
    def reward(self) -> Vector:
        return self._reward

    @property
    def probability(self) -> Vector:
        return self._probability

    @property
    def context(self) -> Table | None:
        return self._context

    @property
    def groups(self) -> NDArray[Any] | None:
        return self._groups

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        return self._feature_names

    @property
    def context_names(self) -> tuple[str, ...] | None:
        return self._context_names

    @property
    def n_features(self) -> int:
        """Columns of `features`."""
        return self._features.shape[1]

    @property
    def n_context(self) -> int:
        """Columns of `context`; 0 where there is none."""
        return 0 if self._context is None else self._context.shape[1]

    @property
    def n_actions(self) -> int:
        """Rows of `features`."""
        return self._features.shape[0]

    def __len__(self) -> int:
        return self._offsets.size - 1

    def __getitem__(self, rounds: slice) -> Self:
        """A run of rounds; views, where `features` and `context` are dense."""
        if not isinstance(rounds, slice):
            raise TypeError(f"rounds are taken by a slice, got {type(rounds).__name__}")
        first, last, step = rounds.indices(len(self))
        if step != 1:
            raise ValueError(f"a slice of rounds must have step 1, got {step}")
        if first >= last:
            raise ValueError(f"the slice [{first}:{last}] holds no round")
        begin, end = self._offsets[first], self._offsets[last]
        part = type(self).__new__(type(self))
        part._set(self._features[begin:end], self._offsets[first:last + 1] - begin,
                  self._chosen[first:last], self._reward[first:last],
                  self._probability[first:last],
                  None if self._context is None else self._context[first:last],
                  None if self._groups is None else self._groups[first:last],
                  self._feature_names, self._context_names)
        return part

    def __repr__(self):
        more = "" if self._context is None else f", {self.n_context} of context"
        sparse = ", sparse" if scipy.sparse.issparse(self._features) else ""
        return (f"{type(self).__name__}({len(self)} rounds, {self.n_actions} actions, "
                f"{self.n_features} features{more}, {self._features.dtype}{sparse})")


def _rows(name, value):
    """A table of finite rows: dense float32 or float64, or CSR of such with sorted indices."""
    if not scipy.sparse.issparse(value):
        table = _check.reals(name, value, 2)
    else:
        table = scipy.sparse.csr_array(checked_csr(value, name))
        if table.dtype.kind not in "fiub":
            raise TypeError(f"{name} must hold real numbers, got dtype {table.dtype}")
        if table.dtype not in _check.FLOATS:
            table = table.astype(np.float64)
        if not table.has_canonical_format:
            table = table.copy()
            table.sum_duplicates()
        _check.finite(name, table.data)
    if table.shape[1] == 0:
        raise ValueError(f"{name} must have at least one column")
    return table


def _lasting(name, array, n):
    _check.same_length(name, array.size, n, "offsets")
    return array


def _groups(value):
    """Integers or strings."""
    refuse_masked(value, "groups")
    array = np.asarray(value) if hasattr(value, "dtype") else np.asarray(value, dtype=object)
    if array.dtype.kind == "O":  # a list, or a column of a data frame
        kinds = {int if isinstance(item, np.integer) else type(item)
                 for item in array.ravel().tolist()}
        if kinds not in ({str}, {int}):
            raise TypeError("groups must hold integers or strings, one kind throughout, got "
                            f"{', '.join(sorted(kind.__name__ for kind in kinds))}")
        array = np.array(array.tolist())
    if array.dtype.kind not in "iuU":
        raise TypeError(f"groups must hold integers or strings, got dtype {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"groups must have 1 dimension, got shape {array.shape}")
    if array.dtype.kind == "U":
        return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array, dtype=np.uint64 if array.dtype.kind == "u" else np.int64)


def _names(name, value, table):
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{name} must be a sequence of strings, got a str")
    names = tuple(value)
    if not all(isinstance(item, str) for item in names):
        raise TypeError(f"{name} must be a sequence of strings")
    columns = 0 if table is None else table.shape[1]
    if len(names) != columns:
        raise ValueError(f"{name} must have {columns} names, one a column, got {len(names)}")
    return names


def _read_only(array):
    """A view that cannot be written to; of CSR, of its parts."""
    if array is None:
        return None
    if scipy.sparse.issparse(array):
        parts = tuple(_read_only(part) for part in (array.data, array.indices, array.indptr))
        return scipy.sparse.csr_array(parts, shape=array.shape, copy=False)
    view = array.view()
    view.flags.writeable = False
    return view
