"""MovieLens files."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import DTypeLike, NDArray

from .._typing import Source
from . import _check, _compiled
from ._open import opened
from ._svmlight import Grown

Ratings: TypeAlias = tuple[scipy.sparse.csr_matrix, NDArray[np.int64], NDArray[np.int64]]


def load_movielens(path: Source, *, dtype: DTypeLike = np.float64) -> Ratings:
    """Read ratings: ``user::item::rating::timestamp`` a line.

    What comes behind the rating is not looked at. A comma or a tab may stand for the two colons
    (ml-100k, ml-20m), and a first line that begins with a letter is skipped.

    Parameters
    ----------
    path : str, os.PathLike or binary file object
        Packed files (gzip, bzip2, xz) are told by their first bytes.
    dtype : float32 or float64, default=float64
        Of the ratings.

    Returns
    -------
    ratings : scipy.sparse.csr_matrix, shape (users, items)
        Users and items that occur, in ascending order of their ids.
    user_ids, item_ids : ndarray of int64
        The file's own number of each row and of each column.

    Raises
    ------
    ValueError
        For a bad line, with its number and text, and for a pair that is rated twice.

    Examples
    --------
    >>> import io
    >>> from coactive_fast import data
    >>> ratings, users, items = data.load_movielens(io.BytesIO(b"7::3::4::0\\n2::3::1::0\\n"))
    >>> ratings.toarray(), users, items
    (array([[1.],
           [4.]]), array([2, 7]), array([3]))
    """
    dtype = _check.float_dtype("dtype", dtype)
    users, items, ratings = Grown(np.int64), Grown(np.int64), Grown(dtype)
    with opened(path) as (file, name):
        lines = _compiled.Ratings(file, name)
        while lines.advance():
            users.append(lines.users)
            items.append(lines.items)
            ratings.append(lines.ratings)
    user_ids, rows = np.unique(users.finish(), return_inverse=True)
    item_ids, columns = np.unique(items.finish(), return_inverse=True)
    matrix = scipy.sparse.coo_matrix((ratings.finish(), (rows, columns)),
                                     shape=(user_ids.size, item_ids.size))
    result = scipy.sparse.csr_matrix(matrix)  # sums what occurs twice
    result.sort_indices()
    if result.nnz != matrix.nnz:
        pairs, counts = np.unique(np.stack([rows, columns]), axis=1, return_counts=True)
        row, column = pairs[:, counts > 1][:, 0]
        raise ValueError(f"{name}: user {user_ids[row]} rates item {item_ids[column]} twice")
    return result, user_ids, item_ids
