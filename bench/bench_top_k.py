"""top_k: the k best of n scores."""

import contenders as others
import limits
import memory
import numpy as np
from ratio import Case, Contender, Plan, player, takes_at_most, times_faster

from coactive_fast import reference
from coactive_fast.kernels import top_k

NUMPY = {"numpy argsort": others.top_k_argsort, "numpy argpartition": others.top_k_argpartition,
         "numpy k times argmax": others.top_k_argmax,
         "numpy partition, then flatnonzero": others.top_k_threshold}
NUMBA = "numba insertion list"


def numba_contender(arrays, k):
    import contenders_numba

    values, places = np.empty(k), np.empty(k, dtype=np.int64)
    for s in arrays:
        contenders_numba.top_k_insertion(s, k, values, places)
        assert (places == reference.top_k(s, k)).all()
    return Contender(NUMBA, player("f(s, k, v, p)", "s", arrays, k=k, v=values, p=places,
                                   f=contenders_numba.top_k_insertion))


def case(n, k, copies, dtype=np.float64, targets=()):
    rng = np.random.default_rng(n)
    arrays = [memory.placed(rng.standard_normal(n).astype(dtype)) for _ in range(copies)]
    rivals = []
    for name, f in NUMPY.items():
        for s in arrays:
            assert (f(s, k) == reference.top_k(s, k)).all(), name
        if name != "numpy argsort" or n <= 1000:
            rivals.append(Contender(name, player("f(s, k)", "s", arrays, f=f, k=k)))
    for s in arrays:
        assert (top_k(s, k) == reference.top_k(s, k)).all()
    if others.have("numba"):
        rivals.append(numba_contender(arrays, k))
    nbytes = arrays[0].nbytes
    ours = Contender("coactive_fast", player("f(s, k)", "s", arrays, f=top_k, k=k))
    name = f"n={n} k={k} {np.dtype(dtype).name}, {copies} arrays in turn"
    return Case("top_k", name, ours, rivals, limits.read(nbytes, copies), targets,
                (top_k, (arrays[0], k)))


def plans():
    asked = (takes_at_most(5e-6), times_faster(10, "numpy", *NUMPY),
             times_faster(5, "numba", NUMBA))
    return [
        Plan("n=100", lambda: case(100, 5, 32)),
        Plan("n=1000", lambda: case(1000, 5, 32), smoke=False),
        Plan("n=1e5", lambda: case(100_000, 5, 1, targets=asked)),
        Plan("n=1e5 beyond L2", lambda: case(100_000, 5, 4), smoke=False),
        Plan("n=1e5 float32", lambda: case(100_000, 5, 1, np.float32), smoke=False),
        Plan("n=1e5 k=100", lambda: case(100_000, 100, 1), smoke=False),
    ]


def test_top_k(compare, plan):
    compare(plan)
