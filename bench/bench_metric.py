"""Many candidates against a metric: x^T A^-1 x and A^-1 x of a table, and rounds of sparse rows."""

import functools

import limits
import numpy as np
import scipy.sparse
from ratio import Case, Contender, Plan, times_faster

from coactive_fast.metric import Diagonal, Full

CANDIDATES = 100
SPARSE = (20, 30, 100_000)      # candidates of a round, entries of each, features
TINY = 1e-9                     # weight of an update, so that the matrix stays what it is


def full(d):
    rng = np.random.default_rng(d)
    m = Full(d)
    m.update_many(rng.standard_normal((3 * d, d)))
    return m, rng.standard_normal((CANDIDATES, d))


def contender(name, call, *arguments, own=False):
    def play(n):
        for _ in range(n):
            call(*arguments)
    return Contender(name, play, own=own)


def agree(answers, right, within=1e-10):
    for name, answer in answers.items():
        assert np.abs(np.asarray(answer) - right).max() <= within * np.abs(right).max(), name


QUADS = {
    "numpy einsum(X @ Ainv, X)": lambda x, b: np.einsum("ij,ij->i", x @ b, x),
    "numpy ((X @ Ainv) * X).sum(1)": lambda x, b: ((x @ b) * x).sum(axis=1),
    "numpy einsum('ij,jk,ik->i')": lambda x, b: np.einsum("ij,jk,ik->i", x, b, x),
}


def quad_case(d):
    m, x = full(d)
    inverse, narrow = m.inverse(), x.astype(np.float32)
    agree({name: f(x, inverse) for name, f in QUADS.items()}, m.quad_many(x))
    assert m.quad_many(x).tolist() == [m.quad(row) for row in x]
    rivals = [contender(name, f, x, inverse) for name, f in QUADS.items()]
    rivals += [contender("coactive_fast, quad_many, float32", m.quad_many, narrow, own=True),
               contender("coactive_fast, quad one by one", lambda: [m.quad(row) for row in x],
                         own=True)]
    bound = limits.flops(CANDIDATES * d * d, "half of the products")
    return Case("metric.Full.quad_many", f"{CANDIDATES} rows, d={d}",
                contender("coactive_fast, quad_many", m.quad_many, x, own=True), rivals, bound,
                [times_faster(3.0, "the best NumPy form", *QUADS)], (m.quad_many, (x,)))


def solve_case(d):
    m, x = full(d)
    inverse = m.inverse()
    agree({"X @ Ainv": x @ inverse}, m.solve_many(x))
    assert (m.solve_many(x) == [m.solve(row) for row in x]).all()
    rivals = [contender("numpy X @ Ainv", np.matmul, x, inverse),
              contender("coactive_fast, solve one by one", lambda: [m.solve(row) for row in x],
                        own=True)]
    bound = limits.flops(2 * CANDIDATES * d * d, "all products")
    return Case("metric.Full.solve_many", f"{CANDIDATES} rows, d={d}",
                contender("coactive_fast, solve_many", m.solve_many, x, own=True), rivals, bound,
                [], (m.solve_many, (x,)))


def sparse_rows():
    count, entries, d = SPARSE
    rng = np.random.default_rng(0)
    places = [np.sort(rng.choice(d, entries, replace=False)).astype(np.int32)
              for _ in range(count)]
    return [scipy.sparse.csr_matrix((rng.standard_normal(entries), p, [0, entries]), shape=(1, d))
            for p in places]


def numpy_round(rows, a):
    """A LinUCB round by fancy indexing: the widest candidate is learned."""
    widths = [np.dot(row.data / a[row.indices], row.data) for row in rows]
    best = rows[int(np.argmax(widths))]
    a[best.indices] += TINY * best.data**2
    return widths


def our_round(rows, m):
    widths = [m.quad(row) for row in rows]
    m.update(rows[int(np.argmax(widths))], c=TINY)
    return widths


def table_round(rows, table, m):
    widths = m.quad_many(table)
    m.update(rows[int(np.argmax(widths))], c=TINY)
    return widths


def sparse_case(forgotten):
    count, entries, d = SPARSE
    rows = sparse_rows()
    table = scipy.sparse.vstack(rows).tocsr()
    pairs = [(row.indices, row.data) for row in rows]
    m, a = Diagonal(d), np.ones(d)
    agree({"rows": our_round(rows, m), "table": table_round(rows, table, m),
           "pairs": our_round(pairs, m)}, numpy_round(rows, a), 1e-7)
    if forgotten:
        m.forget(0.5)
    what = " after forgetting" if forgotten else ""
    rivals = [contender("numpy, fancy indexing", numpy_round, rows, a),
              contender("coactive_fast, one quad_many of a CSR", table_round, rows, table, m,
                        own=True),
              contender("coactive_fast, pairs one by one", our_round, pairs, m, own=True)]
    return Case("metric.Diagonal", f"{count} rows of {entries} in {d}{what}, a round",
                contender("coactive_fast, CSR rows one by one", our_round, rows, m, own=True),
                rivals, None,
                [times_faster(2.0, "NumPy's fancy indexing", "numpy, fancy indexing")],
                (our_round, (rows, m)))


def plans():
    found = [Plan(f"{case.__name__[:-5]}_d={d}", functools.partial(case, d), d == 30)
             for case in (quad_case, solve_case) for d in (30, 100, 300)]
    return found + [Plan(f"sparse{'_forgotten' * forgotten}",
                         functools.partial(sparse_case, forgotten), not forgotten)
                    for forgotten in (False, True)]


def test_metric(compare, plan):
    compare(plan)
