"""scipy.sparse of any format as CSR, its index arrays looked at first.

scipy does not look at indices when it converts: what points outside its arrays is read there.
"""

import numpy as np


def as_csr(x, name):
    """x as CSR. The places and ends of a CSR itself are left to whoever reads them.

    Raises
    ------
    ValueError, TypeError
        Naming the argument, where the parts of x do not fit together.
    """
    form = getattr(x, "format", "")
    if form == "csr":
        return x
    if form not in _CHECKS:
        raise TypeError(f"{name} has the sparse format {form!r}: expected one of csr, "
                        f"{', '.join(_CHECKS)}")
    try:
        _CHECKS[form](x, x.shape, name)
    except (AttributeError, IndexError) as error:
        raise ValueError(f"{name} is no whole {form} matrix: {error}") from None
    if len(x.shape) == 1:
        x = x.reshape((1, x.shape[0]))
    return x.tocsr()


def checked_csr(x, name):
    """x as CSR whose own places and ends were looked at, too; for who leaves it to scipy."""
    x = as_csr(x, name)
    _ends(x.indptr, x.shape[0], min(len(x.indices), len(x.data)), name)
    _within(x.indices, x.shape[1], name)
    return x


def _integers(values, name):
    values = np.asarray(values)
    if values.size and values.dtype.kind not in "iu":
        raise TypeError(f"{name} must have integers as indices, got dtype {values.dtype}")
    return values


def _within(places, limit, name):
    places = _integers(places, name)
    if places.size and (places.min() < 0 or places.max() >= limit):
        raise ValueError(f"{name} has an index outside 0 ... {limit - 1}")
    return places


def _ends(ends, lines, entries, name):
    """The ends of the lines ascend from 0 and stay within the entries."""
    ends = _integers(ends, name)
    if (ends.ndim != 1 or len(ends) != lines + 1 or ends[0] != 0 or ends[-1] > entries
            or (np.diff(ends) < 0).any()):
        raise ValueError(f"{name} has an indptr that does not go with its entries")


def _coo(x, shape, name):
    coords = x.coords if hasattr(x, "coords") else (x.row, x.col)
    if len(coords) != len(shape) or any(np.shape(c) != np.shape(x.data) for c in coords):
        raise ValueError(f"{name} must have one value for each of its coordinates")
    for places, limit in zip(coords, shape, strict=True):
        _within(places, limit, name)


def _csc(x, shape, name):
    _ends(x.indptr, shape[1], min(len(x.indices), len(x.data)), name)
    _within(x.indices, shape[0], name)


def _bsr(x, shape, name):
    rows, columns = x.data.shape[1:]
    if x.data.ndim != 3 or rows < 1 or columns < 1 or shape[0] % rows or shape[1] % columns:
        raise ValueError(f"{name} has blocks that do not go with its shape")
    _ends(x.indptr, shape[0] // rows, min(len(x.indices), len(x.data)), name)
    _within(x.indices, shape[1] // columns, name)


def _dia(x, shape, name):
    if x.data.ndim != 2 or len(_integers(x.offsets, name)) != len(x.data):
        raise ValueError(f"{name} must have one diagonal for each offset")


def _lil(x, shape, name):
    if len(x.rows) != shape[0] or len(x.data) != shape[0]:
        raise ValueError(f"{name} must have one list for each row")
    for places, values in zip(x.rows, x.data, strict=True):
        if len(places) != len(values):
            raise ValueError(f"{name} must have one value for each index")
        _within(places, shape[1], name)


def _dok(x, shape, name):
    for key in x.keys():
        key = key if isinstance(key, tuple) else (key,)
        if len(key) != len(shape) or any(not 0 <= k < n for k, n in zip(key, shape, strict=True)):
            raise ValueError(f"{name} has an index outside its shape {shape}: {key}")


_CHECKS = {"coo": _coo, "csc": _csc, "bsr": _bsr, "dia": _dia, "lil": _lil, "dok": _dok}
