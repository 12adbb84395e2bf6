"""Price relatives: what portfolios are chosen by."""

import csv
import io
import math
from typing import NamedTuple

import numpy as np

from ._open import opened


class Prices(NamedTuple):
    """Price relatives and whose they are.

    Attributes
    ----------
    relatives : ndarray of float64, shape (periods, shares)
        Price at a period's end over that at its beginning.
    names : tuple of str
        One a share.
    """

    relatives: np.ndarray
    names: tuple[str, ...]


def load_prices(path):
    """Read price relatives: a CSV file with a row a period and a column a share.

    The first line holds the shares' names unless all of it are numbers; the shares are then called
    "0", "1", ... Blank lines are skipped. ``coactive_fast.losses.PortfolioReturn`` takes the
    relatives as they are, or less 1 for rates.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes.

    Returns
    -------
    Prices
        ``relatives`` of shape (periods, shares), finite and > 0, and ``names``.

    Raises
    ------
    ValueError
        For a bad line, with its number and text.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> prices = data.load_prices(io.BytesIO(b"acme,zinc\\n1.01,0.99\\n1.0,1.02\\n"))
    >>> prices.names, prices.relatives
    (('acme', 'zinc'), array([[1.01, 0.99],
           [1.  , 1.02]]))
    """
    with opened(path) as (file, name):
        try:
            text = file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} must be text in UTF-8: {error}") from None
    lines = csv.reader(io.StringIO(text, newline=""))
    names, rows = None, []
    for fields in lines:
        if not any(field.strip() for field in fields):
            continue
        if names is None:
            header = _names(fields)
            names = header or tuple(str(i) for i in range(len(fields)))
            if header:
                continue
        rows.append(_row(fields, len(names), f"{name}, line {lines.line_num}"))
    if not rows:
        raise ValueError(f"{name} must hold at least one row of price relatives")
    return Prices(np.array(rows), names)


def _names(fields):
    """The names in a first line; None where it is a row of numbers."""
    if all(_number(field) is not None for field in fields):
        return None
    names = tuple(field.strip() for field in fields)
    if len(set(names)) < len(names):
        twice = next(n for n in names if names.count(n) > 1)
        raise ValueError(f"the names of the shares must differ, got {twice!r} twice")
    return names


def _number(field):
    try:
        return float(field)
    except ValueError:
        return None


def _row(fields, width, where):
    if len(fields) != width:
        raise ValueError(f"{where}: expected {width} values, got {len(fields)}")
    row = [_number(field) for field in fields]
    for field, value in zip(fields, row, strict=True):
        if value is None or not (0.0 < value < math.inf):
            raise ValueError(f"{where}: a price relative must be a finite number > 0, got "
                             f"{field.strip()[:40]!r}")
    return row
