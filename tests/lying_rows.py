"""Sparse rows whose index arrays point where there is nothing.

Each was a good matrix of scipy before one of its arrays was changed: what a program in C writes
past its end, or a file that was cut. All are one row of `D` columns (and a table of them), so that
everything that takes a row may be given one.
"""

import numpy as np
import scipy.sparse

D = 6
FAR = 2**31 - 2  # an int32 index far behind any array
GOOD = np.array([[1.0, 0.0, 2.0, 0.0, 0.0, 3.0]])


def compressed(kind, table):
    """CSR and CSC: (what is wrong, the matrix)."""
    def lie(**arrays):
        matrix = getattr(scipy.sparse, kind)(table)
        for name, change in arrays.items():
            setattr(matrix, name, change(getattr(matrix, name)))
        return matrix

    yield "index far behind", lie(indices=lambda a: with_entry(a, -1, FAR))
    yield "index behind", lie(indices=lambda a: a + D)
    yield "negative index", lie(indices=lambda a: with_entry(a, 0, -FAR))
    yield "wide negative index", lie(indices=lambda a: with_entry(a.astype(np.int64), 0, -(2**62)),
                                     indptr=lambda a: a.astype(np.int64))
    yield "wide index", lie(indices=lambda a: with_entry(a.astype(np.int64), 0, 2**62),
                            indptr=lambda a: a.astype(np.int64))
    yield "end far behind", lie(indptr=lambda a: with_entry(a, -1, FAR))
    yield "end behind", lie(indptr=lambda a: with_entry(a, -1, a[-1] + 1000))
    yield "wide end", lie(indptr=lambda a: with_entry(a.astype(np.int64), -1, 2**60),
                          indices=lambda a: a.astype(np.int64))
    yield "negative end", lie(indptr=lambda a: with_entry(a, -1, -5))
    yield "negative begin", lie(indptr=lambda a: with_entry(a, 0, -FAR))
    yield "begin in the middle", lie(indptr=lambda a: with_entry(a, 0, 1))
    yield "falling", lie(indptr=lambda a: a[::-1].copy())
    yield "too few ends", lie(indptr=lambda a: a[:1])
    yield "no ends", lie(indptr=lambda a: a[:0])
    yield "values cut", lie(data=lambda a: a[:1])
    yield "no values", lie(data=lambda a: a[:0])
    yield "indices cut", lie(indices=lambda a: a[:1])
    yield "no indices", lie(indices=lambda a: a[:0])
    yield "float indices", lie(indices=lambda a: a + 0.5)
    yield "table of indices", lie(indices=lambda a: a[None])
    yield "table of values", lie(data=lambda a: np.tile(a, (2, 1)))
    yield "small indices", lie(indices=lambda a: a.astype(np.int8) - 100)


def with_entry(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


def coordinates(table):
    def lie(**arrays):
        matrix = scipy.sparse.coo_matrix(table)
        for name, change in arrays.items():
            setattr(matrix, name, change(getattr(matrix, name)))
        return matrix

    yield "column far behind", lie(col=lambda a: with_entry(a, -1, FAR))
    yield "negative column", lie(col=lambda a: with_entry(a, 0, -FAR))
    yield "row far behind", lie(row=lambda a: with_entry(a, -1, FAR))
    yield "negative row", lie(row=lambda a: with_entry(a, 0, -FAR))
    yield "columns cut", lie(col=lambda a: a[:1])
    yield "rows cut", lie(row=lambda a: a[:1])
    yield "values cut", lie(data=lambda a: a[:1])


def blocks(table):
    def lie(**arrays):
        matrix = scipy.sparse.bsr_matrix(table, blocksize=(1, 2))
        for name, change in arrays.items():
            setattr(matrix, name, change(getattr(matrix, name)))
        return matrix

    yield "index far behind", lie(indices=lambda a: with_entry(a, -1, FAR // 4))
    yield "negative index", lie(indices=lambda a: with_entry(a, 0, -FAR // 4))
    yield "end far behind", lie(indptr=lambda a: with_entry(a, -1, FAR // 4))
    yield "negative begin", lie(indptr=lambda a: with_entry(a, 0, -FAR // 4))
    yield "values cut", lie(data=lambda a: a[:1])
    yield "indices cut", lie(indices=lambda a: a[:1])
    yield "too few ends", lie(indptr=lambda a: a[:1])


def lists(table):
    def lie(rows=None, data=None):
        matrix = scipy.sparse.lil_matrix(table)
        if rows is not None:
            matrix.rows[0] = rows
        if data is not None:
            matrix.data[0] = data
        return matrix

    yield "column far behind", lie(rows=[0, 2, FAR])
    yield "negative column", lie(rows=[-FAR, 2, 5])
    yield "columns cut", lie(rows=[0])
    yield "values cut", lie(data=[1.0])
    yield "columns are text", lie(rows=["a", "b", "c"])
    yield "values are text", lie(data=["a", "b", "c"])
    wide = lie()
    wide.rows, wide.data = wide.rows[:0], wide.data[:0]
    yield "no lists", wide


def diagonals(table):
    def lie(offsets=None, data=None):
        matrix = scipy.sparse.dia_matrix(table)
        if offsets is not None:
            matrix.offsets = offsets(matrix.offsets)
        if data is not None:
            matrix.data = data(matrix.data)
        return matrix

    yield "offsets cut", lie(offsets=lambda a: a[:1])
    yield "too many offsets", lie(offsets=lambda a: np.arange(100, dtype=a.dtype))
    yield "values cut", lie(data=lambda a: a[:1])
    yield "no values", lie(data=lambda a: a[:, :0])


def keys(table):
    for name, key in (("column far behind", (0, FAR)), ("negative column", (0, -FAR)),
                      ("row far behind", (FAR, 0)), ("negative row", (-FAR, 0))):
        matrix = scipy.sparse.dok_matrix(table)
        matrix._dict[key] = 5.0
        yield name, matrix


def lies(table=GOOD):
    """(format, what is wrong, the matrix)"""
    makers = {"csr_matrix": None, "csr_array": None, "csc_matrix": None, "csc_array": None,
              "coo": coordinates, "bsr": blocks, "lil": lists, "dia": diagonals, "dok": keys}
    for form, make in makers.items():
        for name, matrix in make(table) if make else compressed(form, table):
            yield form, name, matrix
