"""The tour: the example in the docstring of every kernel, then its speed.

Beside each kernel stands the way one would write it in NumPy, plainly; both run in the same
process on the same data, in turn, and their results are compared before they are timed.
"""

import copy
import functools
import inspect
import os
import sys
import textwrap

import numpy as np

from . import kernels, metric
from .testing import measure_ratio

# --- the NumPy way --------------------------------------------------------------------------


def numpy_top_k(scores, k):
    """What reaches the k-th best maximum of a block; argpartition takes three times as long."""
    blocks = np.maximum.reduceat(scores, np.arange(0, scores.size, 256))
    reach = np.flatnonzero(scores >= np.partition(blocks, blocks.size - k)[blocks.size - k])
    return reach[np.argsort(-scores[reach], kind="stable")][:k]


def numpy_rank(X, w, k):
    return np.argsort(-(X @ w), kind="stable")[:k]


def numpy_ranking_features(X, ranking, k=5):
    discount = np.log2(np.arange(2, k + 2))
    return (X[ranking[:k]] / discount[:, None]).sum(axis=0)


def numpy_inverse_update(Ainv, x, c=1.0):
    v = Ainv @ x
    q = x @ v
    Ainv -= np.outer(v, v) * (c / (1.0 + c * q))
    return q


def numpy_project_scores(z, q, total):
    order = np.argsort(-z / q)
    zs, qs = z[order], q[order]
    lam = (total - zs.cumsum()) / qs.cumsum()
    last = np.flatnonzero(zs + lam * qs > 0.0)[-1]
    return np.maximum(0.0, z + lam[last] * q)


def numpy_project_ball(z, Ainv, radius):
    d, Q = np.linalg.eigh(Ainv)
    b = Q.T @ z
    lam = 0.0
    for _ in range(100):  # Newton on 1/||w|| = 1/radius, from the left
        w = b / (1.0 + lam * d)
        norm = np.linalg.norm(w)
        if norm <= radius * (1.0 + 1e-12):
            break
        lam += (norm / radius - 1.0) * norm**2 / (w @ (d * w / (1.0 + lam * d)))
    return Q @ w


def numpy_descent(nearest, z, Ainv, *limits):
    """Accelerated projected gradient; ``nearest(z, *limits)`` projects in the usual norm."""
    A = np.linalg.inv(Ainv)
    step = 1.0 / np.linalg.eigvalsh(A)[-1]
    w = y = nearest(z, *limits)
    t = 1.0
    for _ in range(100_000):
        before, w = w, nearest(y - step * (A @ (y - z)), *limits)
        if np.abs(w - before).max() < 1e-11:
            break
        if (y - w) @ (w - before) > 0.0:  # overshot: start the momentum anew
            t = 1.0
        t, s = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0, t
        y = w + (s - 1.0) / t * (w - before)
    return w


def nearest_on_simplex(z, total=1.0):
    return numpy_project_scores(z, np.ones_like(z), total)


def nearest_in_l1(z, radius):
    size = np.abs(z)
    return z if size.sum() <= radius else np.sign(z) * nearest_on_simplex(size, radius)


def numpy_exponentiated_weights(theta):
    top = np.abs(theta).max()
    up, down = np.exp(theta - top), np.exp(-theta - top)
    return (up - down) / (up + down).sum()


def numpy_full(X):
    Ainv = np.eye(X.shape[1])
    return np.array([numpy_inverse_update(Ainv, x) for x in X])


def numpy_diagonal(a, x):
    q = x @ (x / a)
    a += x * x
    return q


def numpy_dual(X, gamma):
    """The Gram matrix of the rows so far, solved afresh for every row."""
    quads = []
    for t, x in enumerate(X):
        k = np.exp(-gamma * ((X[:t] - x) ** 2).sum(axis=1))
        square = ((X[:t, None] - X[None, :t]) ** 2).sum(axis=2)
        G = np.exp(-gamma * square)
        quads.append(1.0 - k @ np.linalg.solve(np.eye(t) + G, k))
    return np.array(quads)


def fast_dual(X, gamma):
    m = metric.Dual(kernel="rbf", kernel_params={"gamma": gamma})
    return np.array([m.update(x) for x in X])


# --- the comparison -------------------------------------------------------------------------


def contest(name, size, way, kernel, plain, *arguments):
    """Both on the same data, the NumPy way on a copy: some change what they are given."""
    return (name, size, way, functools.partial(kernel, *arguments),
            functools.partial(plain, *copy.deepcopy(arguments)))


def contests():
    """(name, size, the NumPy way, the kernel, the NumPy code), on the same data."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal

    def inverse(n):
        factor = normal((2 * n, n))
        return np.linalg.inv(factor.T @ factor / n)

    s = normal(100_000)
    yield contest("top_k", "100 000, k = 5", "block maxima", kernels.top_k, numpy_top_k, s, 5)
    X, w = normal((24, 700)), normal(700)
    yield contest("rank", "24 x 700, k = 5", "X @ w, argsort", kernels.rank, numpy_rank, X, w, 5)
    order = rng.permutation(24)
    yield contest("ranking_features", "24 x 700, k = 5", "divide and sum",
                  kernels.ranking_features, numpy_ranking_features, X, order)
    for n in (16, 128, 512):
        x = normal(n)
        yield contest("inverse_update", f"{n} x {n}", "product, outer", kernels.inverse_update,
                      numpy_inverse_update, np.eye(n), x)
    for n in (20, 100_000):
        z, q = normal(n), rng.uniform(0.1, 1.0, n)
        yield contest("project_scores", f"{n:,}".replace(",", " "), "sort, cumsum",
                      lambda *given: kernels.project_scores(*given)[0], numpy_project_scores,
                      z, q, 1.0)
    z, B = normal(500), inverse(500)
    yield contest("project_ball", "500", "eigh, Newton",
                  lambda *given: kernels.project_ball(*given)[0], numpy_project_ball,
                  z, B, 0.5 * np.linalg.norm(z))
    y, C = normal(94), inverse(94)
    for name, nearest, limits in (
            ("project_simplex", nearest_on_simplex, ()), ("project_box", np.clip, (-0.5, 0.5)),
            ("project_l1", nearest_in_l1, (5.0,))):
        yield contest(name, "94", "gradient steps", getattr(kernels, name),
                      functools.partial(numpy_descent, nearest), y, C, *limits)
    theta = normal(1000)
    yield contest("exponentiated_weights", "1 000", "two exp, a sum",
                  kernels.exponentiated_weights, numpy_exponentiated_weights, theta)
    yield contest("exp", "1 000", "np.exp", kernels.exp, np.exp, theta)
    yield contest("log", "1 000", "np.log", kernels.log, np.log, np.abs(theta))
    yield contest("metric.Full", "256, 200 rows", "product, outer",
                  lambda rows: metric.Full(256).update_many(rows), numpy_full, normal((200, 256)))
    long = normal(100_000)
    yield contest("metric.Diagonal", "100 000, 1 row", "divide and dot",
                  metric.Diagonal(long.size).update,
                  functools.partial(numpy_diagonal, np.ones(long.size)), long)
    yield contest("metric.Dual", "rbf, 100 rows", "Gram and solve", fast_dual, numpy_dual,
                  normal((100, 20)), 0.05)


def with_unit(seconds):
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def show_examples():
    for module in (kernels, metric):
        for name in module.__all__:
            text = inspect.getdoc(getattr(module, name))
            examples = text.partition("Examples\n--------\n")[2].partition("\n\n")[0]
            print(f"\n{module.__name__.rpartition('.')[2]}.{name}")
            print(textwrap.indent(textwrap.fill(text.partition("\n\n")[0], 76), "  "))
            for line in examples.splitlines():
                wrapped = textwrap.wrap(line, 76, subsequent_indent="...     ")
                print(textwrap.indent("\n".join(wrapped), "    "))


def show_speed(seconds):
    print(f"{'':22}{'size':16}{'NumPy way':16}{'NumPy':>8}{'here':>9}{'ratio':>8}")
    for name, size, way, ours, theirs in contests():
        found = measure_ratio(ours, theirs, rtol=1e-6, atol=1e-7, budget=2.0 * seconds, series=1)
        slow, fast = with_unit(found.theirs.seconds), with_unit(found.ours.seconds)
        ratio = format(found.value, ".3g" if found.value < 100.0 else ".0f") + "x"
        print(f"{name:22}{size:16}{way:16}{slow:>8}{fast:>9}{ratio:>8}", flush=True)


def main(seconds=0.15):
    """Print the tour, with so many seconds for each time."""
    from ._table import isa

    try:
        print("coactive_fast: compiled kernels for learning from weak feedback")
        print("\n\n1. What there is\n")
        show_examples()
        print(f"\n\n2. How fast (instruction set {isa()['chosen']}, NumPy {np.__version__})\n")
        print("Median time of a call; one thread each, in turn, on the same data.\n")
        show_speed(seconds)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
