"""What a run leaves behind: small frozen records of arrays, one value a round."""

import dataclasses

import numpy as np

from ._extras import require

__all__ = ["CoactiveHistory", "History"]

# every history: equality and repr are those of `History`, since arrays need their own
record = dataclasses.dataclass(frozen=True, eq=False, repr=False)


def column(dtype, ndim=1, **default):
    """A field of a history: an array of that dtype whose last axis is the rounds."""
    return dataclasses.field(metadata={"dtype": np.dtype(dtype), "ndim": ndim}, **default)


def note():
    """A field that is no array: plain data about the run as a whole, or None."""
    return dataclasses.field(metadata={"note": True}, default=None)


def mean_over_users(values):
    """Of (users, T) the mean over the users still there (not NaN); NaN where none is."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    total = values.sum(axis=0, where=there)
    return np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)


class History:
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
    _derived = ()  # properties that are arrays over the rounds
    _scalars = ()  # properties that are one number for the whole run
    _curve = None  # the field or property that `plot` draws

    def __post_init__(self):
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

    def __len__(self):
        return getattr(self, dataclasses.fields(self)[0].name).shape[-1]

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        mine, others = self.to_dict(), other.to_dict()
        return mine.keys() == others.keys() and all(
            _same(value, others[name]) for name, value in mine.items())

    __hash__ = None

    def __repr__(self):
        last = {name: column[-1] for name, column in self._columns().items() if len(self)}
        last |= {name: getattr(self, name) for name in self._scalars}
        values = ", ".join(f"{name}={_short(value)}" for name, value in last.items())
        return f"<{type(self).__name__} of {len(self)} rounds{': ' if values else ''}{values}>"

    def to_dict(self):
        """The fields by name: the history's own arrays and notes, those that are None left out.

        Returns
        -------
        dict of str to ndarray (or a note)
            ``type(history)(**history.to_dict())`` equals the history.
        """
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: array for name, array in fields.items() if array is not None}

    def to_dataframe(self):
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

    def plot(self, ax=None, *, log_x=False, **line):
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

    regret: np.ndarray = column(np.float64)
    utility: np.ndarray = column(np.float64)
    optimal_utility: np.ndarray = column(np.float64)
    regret_per_user: np.ndarray | None = column(np.float64, ndim=2, default=None)

    _derived = ("average_regret", "cumulative_regret")
    _curve = "average_regret"

    @property
    def cumulative_regret(self):
        """Sum of the rounds up to each one."""
        return np.cumsum(self.regret)

    @property
    def average_regret(self):
        """Mean of the rounds up to each one."""
        return self.cumulative_regret / np.arange(1, len(self) + 1)
