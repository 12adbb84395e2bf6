"""What a run leaves behind: small frozen records of arrays, one value a round."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .._initialized import Initialized
from .._typing import Vector
from ._check import number, switch
from ._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame
    from typing_extensions import dataclass_transform

__all__ = ["CoactiveHistory", "History"]

def column(dtype: Any, ndim: int = 1, **default: Any) -> Any:
    """A field of a history: an array of that dtype whose last axis is the rounds."""
    return dataclasses.field(metadata={"dtype": np.dtype(dtype), "ndim": ndim}, **default)


def note(**default: Any) -> Any:
    """A field that is no array: plain data about the run as a whole."""
    return dataclasses.field(metadata={"note": True}, **default)


# every history: equality and repr are those of `History`, since arrays need their own
if TYPE_CHECKING:
    @dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(column, note))
    def record(cls: type) -> Any: ...
else:
    record = dataclasses.dataclass(frozen=True, eq=False, repr=False)


def mean_over_users(values: Vector) -> Vector:
    """Of (users, T) the mean over the users still there (not NaN); NaN where none is."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    total = values.sum(axis=0, where=there)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


class History(Initialized):
    """What the histories of all learners share.

    A history is a frozen dataclass whose fields are arrays over the rounds, and sometimes a note
    about the run as a whole; two are equal when they are of one class and all their fields are
    equal (NaN equals NaN). ``len()`` is the number of rounds.

    Examples
    --------
    >>> from coactive_fast.learner import CoactiveHistory, History
    >>> issubclass(CoactiveHistory, History)
    True
    """

    # A family's class is decorated with `record`, its fields are made by `column`, and by `note`
    # behind them, and it names:
    _derived: tuple[str, ...] = ()  # properties that are arrays over the rounds
    _scalars: tuple[str, ...] = ()  # properties that are one number for the whole run
    _curve: str  # the field or property that `plot` draws

    def __post_init__(self) -> None:
        length = None
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if "note" in field.metadata or (value is None and field.default is None):
                continue
            array = _checked(field, value)
            length = array.shape[-1] if length is None else length
            if array.shape[-1] != length:
                raise ValueError(f"{field.name} must have {length} rounds, got {array.shape[-1]}")
            object.__setattr__(self, field.name, array)

    def __len__(self) -> int:
        return getattr(self, dataclasses.fields(self)[0].name).shape[-1]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        mine, others = self.to_dict(), other.to_dict()
        return mine.keys() == others.keys() and all(
            _same(value, others[name]) for name, value in mine.items())

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        last = {name: column[-1] for name, column in self._columns().items() if len(self)}
        last |= {name: getattr(self, name) for name in self._scalars}
        values = ", ".join(f"{name}={_short(value)}" for name, value in last.items())
        return f"<{type(self).__name__} of {len(self)} rounds{': ' if values else ''}{values}>"

    def to_dict(self) -> dict[str, Any]:
        """The fields by name: the history's own arrays and notes, those that are None left out.

        Returns
        -------
        dict of str to ndarray (or a note)
            ``type(history)(**history.to_dict())`` equals the history.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: array for name, array in fields.items() if array is not None}

    def to_dataframe(self) -> DataFrame:
        """A row a round, numbered from 1; needs pandas (extra ``pandas``).

        Returns
        -------
        pandas.DataFrame
            Fields and what is derived from them; of a field with a row a user each row becomes
            a column, ``regret_per_user_0`` and so on.
        """
        pandas = require("pandas", "pandas", "to_dataframe")
        index = pandas.RangeIndex(1, len(self) + 1, name="round")
        frames = [pandas.DataFrame(self._columns(), index=index)]
        for name, table in self.to_dict().items():
            if np.ndim(table) == 2:
                names = [f"{name}_{i}" for i in range(len(table))]
                frames.append(pandas.DataFrame(table.T, index=index, columns=names))
        return pandas.concat(frames, axis=1)

    def plot(self, ax: Axes | None = None, *, log_x: bool = False, **line: Any) -> Axes:
        """Draws the history's main curve against the rounds; needs matplotlib (extra ``plot``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a figure of its own if there is none.
        log_x : bool, default False
            Rounds on a logarithmic axis.
        **line
            Handed to ``ax.plot``: ``label``, ``color``, ...

        Returns
        -------
        matplotlib Axes
            That which was drawn on.
        """
        if ax is None:
            _, ax = require("matplotlib.pyplot", "plot", "plot").subplots()
        ax.plot(np.arange(1, len(self) + 1), getattr(self, self._curve), **line)
        if log_x:
            ax.set_xscale("log")
        ax.set_xlabel("round")
        ax.set_ylabel(self._curve.replace("_", " "))
        return ax

    def _columns(self):
        """All that has one value a round, fields first."""
        columns = {name: array for name, array in self.to_dict().items() if np.ndim(array) == 1}
        return columns | {name: getattr(self, name) for name in self._derived}


def _same(a, b):
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(value, b[name]) for name, value in a.items())
    if not isinstance(a, np.ndarray):
        return a == b
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _checked(field, value):
    dtype, ndim = field.metadata["dtype"], field.metadata["ndim"]
    try:
        array = np.asarray(value)
        casting = "safe" if array.size else "unsafe"  # an empty list has no dtype of its own
        array = array.astype(dtype, casting=casting, copy=False)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{field.name} must be an array of {dtype}: {error}") from None
    if array.ndim != ndim:
        raise ValueError(f"{field.name} must have {ndim} dimension{'s' if ndim > 1 else ''}, got "
                         f"shape {array.shape}")
    return array


def _short(value):
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


@record
class CoactiveHistory(History):
    """A run of a coactive learner: its regret, round by round.

    Attributes
    ----------
    regret : ndarray of shape (T,)
        Utility of the best object less that of the presented one. Items: the mean over the users
        still there, NaN from the round on in which none is.
    utility, optimal_utility : ndarray of shape (T,)
        Of the presented object and of the best one; items: means in the same way.
    regret_per_user : ndarray of shape (users, T) or None
        Items only; NaN after a user's candidates have run out.
    feedback_utility : ndarray of shape (T,) or None
        Of the feedback; items: means in the same way.
    gain_per_user : ndarray of shape (users, T) or None
        Items only: each user's utility of the feedback less that of the presented item.
    held_out : dict of str to ndarray, or None
        By measure: what held-out queries say of the learner after `held_out_rounds`.
    held_out_rounds : ndarray of int, or None
        After which rounds the held-out queries were measured; None where there were none.
    average_regret, cumulative_regret : ndarray of shape (T,)
        Mean and sum of the rounds up to each one; NaN from where `regret` is.

    Examples
    --------
    >>> from coactive_fast.learner import CoactiveHistory
    >>> history = CoactiveHistory(regret=[3.0, 1.0], utility=[0.0, 2.0], optimal_utility=[3.0, 3.0])
    >>> history.average_regret
    array([3., 2.])
    >>> history.cumulative_regret
    array([3., 4.])
    """

    regret: Vector = column(np.float64)
    utility: Vector = column(np.float64)
    optimal_utility: Vector = column(np.float64)
    regret_per_user: Vector | None = column(np.float64, ndim=2, default=None)
    feedback_utility: Vector | None = column(np.float64, default=None)
    gain_per_user: Vector | None = column(np.float64, ndim=2, default=None)
    held_out: dict[str, Vector] | None = note(default=None)
    held_out_rounds: NDArray[np.intp] | None = note(default=None)

    _derived = ("average_regret", "cumulative_regret")
    _curve = "average_regret"

    @property
    def cumulative_regret(self) -> Vector:
        """Sum of the rounds up to each one."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self) -> Vector:
        """Mean of the rounds up to each one."""
        return self.cumulative_regret / np.arange(1, len(self) + 1)

    def slack(self, alpha: float, *, clip: bool = True) -> Vector:
        """By how much the feedback falls short of alpha-informative, round by round.

        ``alpha (U(y*) - U(y)) - (U(feedback) - U(y))`` where that is positive (Theorem 6 of
        Shivaswamy and Joachims, "Coactive Learning", 2015); over items each user's own, then the
        mean over the users still there.

        Parameters
        ----------
        alpha : float
            In [0, 1].
        clip : bool, default True
            False keeps the sign, as equation 6 and Theorem 1 do.

        Returns
        -------
        ndarray of shape (T,)
            The slack of each round.

        Examples
        --------
        >>> from coactive_fast.learner import CoactiveHistory
        >>> history = CoactiveHistory(regret=[2.0, 2.0], utility=[0.0, 0.0],
        ...                           optimal_utility=[2.0, 2.0], feedback_utility=[0.5, 1.5])
        >>> history.slack(0.5), history.slack(0.5, clip=False)
        (array([0.5, 0. ]), array([ 0.5, -0.5]))
        """
        alpha, clip = number("alpha", alpha, least=0.0, most=1.0), switch("clip", clip)
        if self.feedback_utility is None:
            raise ValueError("feedback_utility is not known, and a slack needs it")
        if self.regret_per_user is None:
            slack = alpha * self.regret - (self.feedback_utility - self.utility)
            return np.maximum(slack, 0.0) if clip else slack
        if self.gain_per_user is None:
            raise ValueError("gain_per_user is not known, and a slack over items needs it")
        slack = alpha * self.regret_per_user - self.gain_per_user
        return mean_over_users(np.maximum(slack, 0.0) if clip else slack)
