"""A log of decisions: arrays that were checked together, once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, DTypeLike, NDArray

from .._arrays import finite_vector, indices_of, reals, refuse_masked
from .._typing import Progress, RowsLike, Self, Source, Vector, Whole
from ..data import _check
from ..data._tables import strings
from ..learner._base import parameters_of
from . import _table, _vw

Table: TypeAlias = Any  # dense float32 or float64, or CSR

BY_ROUND = ("chosen", "reward", "probability", "context", "groups")


class BanditLog(_check.ReadOnly):
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
        What the chosen action earned in each round.
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
        Where the actions of each round begin among the rows, and which of them was chosen.
    reward, probability : ndarray of float64, read-only
        What the chosen action of each round earned, and the chance with which it was chosen.
    groups : ndarray of int64, uint64 or str, read-only, or None
        What of each round stays together in one fold, a user say.
    feature_names, context_names : tuple of str, or None
        Names of the columns, where the log's source had some.
    n_features, n_context : int
        Columns of an action's row, and of a round's context.
    n_actions : int
        Of all rounds together.
    left_out : dict of str to int
        What a file held that is not part of the log, by kind. Empty where nothing was left out.

    See Also
    --------
    evaluate : What another policy would have earned in it.
    replay : Learners that live through it.

    Examples
    --------
    >>> from coactive_fast.logs import BanditLog
    >>> log = BanditLog([[1.0], [2.0], [3.0]], [0, 2, 3], [1, 0], [0.5, 1.0], [0.25, 1.0])
    >>> log, len(log)
    (BanditLog(2 rounds, 3 actions, 1 features, float64), 2)
    >>> log[1:].reward
    array([1.])
    """

    _left_out: dict[str, int] = {}
    features: Table
    context: Table | None
    offsets: NDArray[np.int64]
    chosen: NDArray[np.int64]
    reward: Vector
    probability: Vector
    groups: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    context_names: tuple[str, ...] | None

    def __init__(self, features: RowsLike, offsets: ArrayLike, chosen: ArrayLike,
                 reward: ArrayLike, probability: ArrayLike, *, context: RowsLike | None = None,
                 groups: ArrayLike | None = None, feature_names: Sequence[str] | None = None,
                 context_names: Sequence[str] | None = None) -> None:
        features = _rows("features", features)
        offsets = _check.offsets("offsets", offsets, features.shape[0], "actions", "round",
                                 "rounds").copy()  # places: nobody may change them later
        n = offsets.size - 1
        chosen = indices_of(chosen, "chosen", n, "offsets").copy()
        wrong = np.flatnonzero((chosen < 0) | (chosen >= np.diff(offsets)))
        if wrong.size:
            t = int(wrong[0])
            raise ValueError(f"chosen must lie in 0 ... {offsets[t + 1] - offsets[t] - 1} in round "
                             f"{t}, got {chosen[t]}")
        reward = finite_vector(reward, "reward", n, "offsets")
        probability = finite_vector(probability, "probability", n, "offsets")
        wrong = np.flatnonzero(~((probability > 0.0) & (probability <= 1.0)))
        if wrong.size:
            t = int(wrong[0])
            raise ValueError(f"probability must lie in (0, 1], got {probability[t]} in round {t}")
        if context is not None:
            context = _rows("context", context)
            _check.same_length("context", context.shape[0], n, "offsets")
        if groups is not None:
            groups = _groups(groups)
            _check.same_length("groups", groups.size, n, "offsets")
        self._set(features=features, offsets=offsets, chosen=chosen, reward=reward,
                  probability=probability, context=context, groups=groups,
                  feature_names=_names("feature_names", feature_names, features),
                  context_names=_names("context_names", context_names, context))

    @classmethod
    def from_vw(cls, path: Source | Sequence[Source], *,
                format: Literal["auto", "dsjson", "cb"] = "auto", hash_bits: Whole | None = None,
                context_bits: Whole | None = None, chain_hash: bool = False,
                names: Sequence[str] | None = None, context_names: Sequence[str] | None = None,
                dense: bool | None = None, dtype: DTypeLike = np.float64,
                unlabelled: Literal["refuse", "skip"] = "refuse",
                progress: Progress = None) -> Self:
        """Read a log of Vowpal Wabbit's: dsjson lines, or cb_adf text.

        The reward is the cost's negative. The features of the actions become `features`, those
        that the actions of a round share become `context`.

        **dsjson**: a JSON object a line. The cost is ``_label_cost``, the probability
        ``_label_probability`` (else the first of ``p``), the chosen action ``_labelIndex``,
        counted from 0 (else ``_label_Action`` or the first of ``a``, counted from 1); ``c`` holds
        the shared features and the list ``_multi`` of the actions. Below these a number is the
        feature of its key, true is 1, a string is the feature ``key^string`` (blanks, ``|`` and
        ``:`` in it are ``_``); an object's key is the namespace of what it holds, of the innermost
        one only; an array's key is that of its objects and of its numbers, which are the features
        ``[0]``, ``[1]``, ...; each word of ``_text`` is a feature. Other keys that begin with
        ``_`` are passed over, as are false, null, and what else stands at the top.
        Lines without ``c`` (outcomes whose decision is missing) and those with a true
        ``_skipLearn`` are left out and counted. ``pdrop`` must be the same throughout: rounds
        have no weights here.

        **cb_adf text**: a line an action, ``action:cost:probability`` (the first number plays no
        part) before the chosen one, a line ``shared |...`` in front of them or none, a blank line
        behind the last. ``|namespace:weight name name:number name:word :number`` as often as
        wanted; the last form has the name ``[0]``, ``[1]``, ...

        Names are ``namespace^name`` and ``namespace^name^word``, without the namespace where it
        has no name. As VW has it, what is 0 is no feature, and what stands twice adds up; the
        constant that VW adds to each action is not added.

        Parameters
        ----------
        path : str, os.PathLike or binary file object, or a sequence of them
            Packed files (gzip, bzip2, xz) are told by their first bytes. Files are read once, piece
            by piece; several are one log, with one format.
        format : {"auto", "dsjson", "cb"}, default="auto"
            "auto": dsjson where the file begins with a brace.
        hash_bits, context_bits : int, optional
            The columns of features and context are the ``2**bits`` of VW's table: MurmurHash3 (32
            bits) of the name under the hash of its namespace, or the number that a name consists
            of plus that hash, and of that the lowest bits. They are the same for every log. None:
            a column a name, in the order in which the names come.
        chain_hash : bool, default=False
            How VW's table has ``key^word`` of dsjson: False, its default, by the hash of both
            written as one; True (``--chain_hash``), word by the hash of key. In text it is always
            the latter.
        names, context_names : sequence of str, optional
            The columns: those of the log that a model was trained on. Other features are left out
            and counted. An empty `context_names` leaves out the context.
        dense : bool, optional
            Whether features and context are dense; else CSR. None: those of up to 64 columns.
        dtype : float32 or float64, default=float64
            Of the features.
        unlabelled : {"refuse", "skip"}, default="refuse"
            What becomes of rounds without cost and probability: an error, or they are left out and
            counted.
        progress : bool or callable, optional
            True draws a bar; a callable is called with the bytes read and all bytes of the file.

        Returns
        -------
        BanditLog
            With `feature_names` and `context_names` (of a table the names that fell into a column,
            with ``|`` between; None beyond 2**20 columns), and with `left_out`.

        Raises
        ------
        ValueError
            For a bad line, with file, number and field: what is no JSON, a number that is not
            finite, a probability outside (0, 1], a chosen action that is not there, a label that is
            missing; several decisions in a line (``_slots``, ``_outcomes``). Also for a packed
            file that is damaged, and a line longer than 64 MiB.

        References
        ----------
        J. Langford, L. Li, A. Strehl: Vowpal Wabbit online learning project, 2007.

        Examples
        --------
        >>> import io
        >>> from coactive_fast.logs import BanditLog
        >>> log = BanditLog.from_vw(io.BytesIO(
        ...     b"shared |user age:0.3\\n0:-1:0.5 |item red size:2\\n|item blue\\n"))
        >>> log.features, log.feature_names
        (array([[1., 2., 0.],
               [0., 0., 1.]]), ('item^red', 'item^size', 'item^blue'))
        >>> log.context, log.reward, log.probability, log.chosen
        (array([[0.3]]), array([1.]), array([0.5]), array([0]))
        >>> line = b'{"_label_cost":0,"_label_probability":0.8,"_labelIndex":1,"c":{"_multi":[' \\
        ...        b'{"item":{"colour":"red"}},{"item":{"colour":"blue"}}]}}'
        >>> BanditLog.from_vw(io.BytesIO(line)).feature_names
        ('item^colour^red', 'item^colour^blue')
        """
        return cls._made(*_vw.read(**parameters_of(locals())))

    @classmethod
    def from_table(cls, table: Any, *, round: str = "round", chosen: str = "chosen",
                   reward: str = "reward", probability: str = "probability",
                   action: str | None = None, n_actions: Whole | None = None,
                   features: Sequence[str] | None = None, context: Sequence[str] | None = None,
                   group: str | None = None, delimiter: str | None = None,
                   dtype: DTypeLike = np.float64, progress: Progress = None) -> Self:
        """Read a log from a table: CSV, Parquet, Arrow, a data frame.

        Either **a row is an action**, and those of a round follow each other: `round` names the
        column of what they have in common, `chosen` that of a 1 (true) at the one that was chosen
        and 0 at the others; reward and probability count in the chosen row alone. Or, with
        `action`, **a row is a round** over actions that are always the same, and that column says
        which was chosen, from 0: its features are then n_actions columns, a 1 in that of the
        action, as `ArmBandit` and the multiclass learners, who go by the context, do not mind.

        Parameters
        ----------
        table : path, binary file object, pandas or pyarrow table, or dict of columns
            A path: Parquet and Arrow are told by their first bytes and need the extra ``arrow``;
            all else is text in UTF-8, whose first line names the columns, packed or not, as is a
            file object. Files are read batch by batch.
        round, chosen, reward, probability, action : str
            Names of columns.
        n_actions : int, optional
            With `action`: how many there are. None: those up to the largest.
        features : sequence of str, optional
            The columns of the actions. None: all that are not named otherwise.
        context : sequence of str, optional
            The columns of the round, the same in all of its rows. None: with `action` all that are
            not named otherwise, else none.
        group : str, optional
            The column that goes into `groups`: integers or strings.
        delimiter : {",", ";", "\\t", " "}, optional
            Of text; " " means any blanks. None: the first line tells.
        dtype : float32 or float64, default=float64
            Of features and context.
        progress : bool or callable, optional
            True draws a bar; a callable is called with the rows read and all rows, of what knows
            them.

        Returns
        -------
        BanditLog
            With the names of its columns. Those of an Arrow column of lists are ``name[0]``, ...

        Raises
        ------
        ValueError
            With the place and the column of what is wrong: nothing there, no finite number, a
            round without one chosen row or in several pieces, a probability outside (0, 1].

        Examples
        --------
        >>> import io
        >>> from coactive_fast.logs import BanditLog
        >>> text = b"round,chosen,reward,probability,price\\n7,0,,,2.5\\n7,1,1,0.5,3\\n8,1,0,1,4\\n"
        >>> log = BanditLog.from_table(io.BytesIO(text))
        >>> log.features.ravel(), log.offsets, log.chosen, log.feature_names
        (array([2.5, 3. , 4. ]), array([0, 2, 3]), array([1, 0]), ('price',))
        >>> log = BanditLog.from_table({"arm": [1, 0], "reward": [1, 0], "probability": [0.5, 0.5],
        ...                             "age": [31, 54]}, action="arm")
        >>> log.context.ravel(), log.offsets, log.chosen
        (array([31., 54.]), array([0, 2, 4]), array([1, 0]))
        """
        return cls._made(_table.read(**parameters_of(locals())), {})

    @classmethod
    def _made(cls, found, left_out):
        log = cls(**found)
        log._left_out = left_out
        return log

    @property
    def left_out(self) -> dict[str, int]:
        """What a file held that is not part of the log, by kind."""
        return dict(self._left_out)

    @property
    def n_features(self) -> int:
        """Columns of `features`."""
        return self.features.shape[1]

    @property
    def n_context(self) -> int:
        """Columns of `context`; 0 where there is none."""
        return 0 if self.context is None else self.context.shape[1]

    @property
    def n_actions(self) -> int:
        """Rows of `features`."""
        return self.features.shape[0]

    def __len__(self) -> int:
        return self.offsets.size - 1

    def __getitem__(self, rounds: slice) -> Self:
        """A run of rounds; views, where `features` and `context` are dense."""
        if not isinstance(rounds, slice):
            raise TypeError(f"rounds are taken by a slice, got {type(rounds).__name__}")
        first, last, step = rounds.indices(len(self))
        if step != 1:
            raise ValueError(f"a slice of rounds must have step 1, got {step}")
        if first >= last:
            raise ValueError(f"the slice [{first}:{last}] holds no round")
        begin, end = self.offsets[first], self.offsets[last]
        part = type(self).__new__(type(self))
        columns = {name: getattr(self, name) for name in BY_ROUND}
        part._set(features=self.features[begin:end], offsets=self.offsets[first:last + 1] - begin,
                  feature_names=self.feature_names, context_names=self.context_names,
                  **{name: column if column is None else column[first:last]
                     for name, column in columns.items()})
        return part

    def __repr__(self) -> str:
        more = "" if self.context is None else f", {self.n_context} of context"
        sparse = ", sparse" if scipy.sparse.issparse(self.features) else ""
        return (f"{type(self).__name__}({len(self)} rounds, {self.n_actions} actions, "
                f"{self.n_features} features{more}, {self.features.dtype}{sparse})")


def _rows(name, value):
    """A table of finite rows: dense float32 or float64, or CSR of such with sorted indices."""
    if not scipy.sparse.issparse(value):
        table = reals(value, name, 2, True)
    else:
        table = _check.csr(name, value, _check.FLOATS)
    if table.shape[1] == 0:
        raise ValueError(f"{name} must have at least one column")
    return table


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
    names = strings(name, value)
    columns = 0 if table is None else table.shape[1]
    if len(names) != columns:
        raise ValueError(f"{name} must have {columns} names, one a column, got {len(names)}")
    return names
