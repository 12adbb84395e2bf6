"""Price relatives: what portfolios are chosen by."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Source, Vector
from ..learner import _check as parameter
from ._fields import Columns, checked_delimiter, cut, number
from ._open import opened_lines


class Prices(NamedTuple):
    """Price relatives and whose they are.

    Attributes
    ----------
    relatives : ndarray of float64, shape (periods, shares)
        Price at a period's end over that at its beginning.
    names : tuple of str
        One a share.
    """

    relatives: Vector
    names: tuple[str, ...]


def load_prices(path: Source, *, prices: bool = False, drop: Sequence[int | str] = (),
                delimiter: str | None = None) -> Prices:
    """Read price relatives, or prices: a plain table with a row a period and a column a share.

    The first line holds the shares' names unless all of it are numbers; the shares are then called
    "0", "1", ... Blank lines are skipped. ``coactive_fast.losses.PortfolioReturn`` takes the
    relatives as they are, or less 1 for rates. So are read the sets of the portfolio papers (TSE,
    NYSE, ...), and closing prices as exchanges tell them (SSE).

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes.
    prices : bool, default=False
        The table holds prices: a relative is a row over the one before, one period less.
    drop : sequence of int or str, default=()
        Columns that are no shares, as dates, by their places or names.
    delimiter : {",", ";", "\\t", " "}, optional
        Between the fields; " " means any blanks. None: the first line tells.

    Returns
    -------
    Prices
        ``relatives`` of shape (periods, shares), finite and > 0, and ``names``.

    Raises
    ------
    ValueError
        For a bad line, with its number, the share and the text.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> prices = data.load_prices(io.BytesIO(b"acme,zinc\\n1.01,0.99\\n1.0,1.02\\n"))
    >>> prices.names, prices.relatives
    (('acme', 'zinc'), array([[1.01, 0.99],
           [1.  , 1.02]]))
    >>> text = b"day acme\\nMon 4\\nTue 5\\nWed 6\\n"
    >>> data.load_prices(io.BytesIO(text), prices=True, drop=["day"]).relatives.ravel()
    array([1.25, 1.2 ])
    """
    prices = parameter.switch("prices", prices)
    delimiter = checked_delimiter(delimiter)
    plan, values = None, array("d")
    with opened_lines(path) as (lines, name):
        for at, fields in cut(lines, delimiter, name):
            if plan is None:
                plan = Columns(fields, None, drop, name)
                if plan.header:
                    continue
            values.extend(_row(fields, plan, f"{name}: line {at}", prices))
    if plan is None or len(values) < (2 if prices else 1) * len(plan.features):
        raise ValueError(f"{name} must hold at least one row of price relatives"
                         + (", so two of prices" if prices else ""))
    relatives = np.frombuffer(values).reshape(-1, len(plan.features)).copy()
    if prices:
        with np.errstate(over="ignore", under="ignore"):
            relatives = relatives[1:] / relatives[:-1]
        if not (np.isfinite(relatives) & (relatives > 0.0)).all():
            raise ValueError(f"{name}: the ratio of two prices is beyond the range of float64")
    return Prices(relatives, plan.names)


def _row(fields, plan, where, prices):
    if len(fields) != plan.width:
        raise ValueError(f"{where}: expected {plan.width} values, got {len(fields)}")
    row = [number(fields[i]) for i in plan.features]
    for i, value in zip(plan.features, row, strict=True):
        if value is None or not (0.0 < value < math.inf):
            raise ValueError(f"{where}: {plan.called(i)}: a price{'' if prices else ' relative'} "
                             f"must be a finite number > 0, got {fields[i][:40]!r}")
    return row
