"""The tour: the example in the docstring of every kernel, then its speed.

Beside each kernel stands the way one would write it in NumPy, plainly; both run in the same
process on the same data, in turn, and their results are compared before they are timed.
"""

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


def numpy_ranking_features(X, ranking, k):
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


def numpy_descent(z, Ainv, nearest):
    """Accelerated projected gradient; `nearest` projects on the set in the usual norm."""
    A = np.linalg.inv(Ainv)
    step = 1.0 / np.linalg.eigvalsh(A)[-1]
    w = y = nearest(z)
    t = 1.0
    for _ in range(100_000):
        before, w = w, nearest(y - step * (A @ (y - z)))
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


def contests():
    """(name, size, the NumPy way, the kernel, the NumPy code), on the same data."""
    rng = np.random.default_rng(0)
    normal = rng.standard_normal

    def inverse(n):
        factor = normal((2 * n, n))
        return np.linalg.inv(factor.T @ factor / n)

    s = normal(100_000)
    yield ("top_k", "100 000, k = 5", "block maxima",
           lambda: kernels.top_k(s, 5), lambda: numpy_top_k(s, 5))
    X, w = normal((24, 700)), normal(700)
    yield ("rank", "24 x 700, k = 5", "X @ w, argsort",
           lambda: kernels.rank(X, w, 5), lambda: np.argsort(-(X @ w), kind="stable")[:5])
    order = rng.permutation(24)
    yield ("ranking_features", "24 x 700, k = 5", "divide and sum",
           lambda: kernels.ranking_features(X, order, k=5),
           lambda: numpy_ranking_features(X, order, 5))
    for n in (16, 128, 512):
        x, ours, theirs = normal(n), np.eye(n), np.eye(n)
        yield ("inverse_update", f"{n} x {n}", "product, outer",
               lambda a=ours, x=x: kernels.inverse_update(a, x),
               lambda a=theirs, x=x: numpy_inverse_update(a, x))
    for n in (20, 100_000):
        z, q = normal(n), rng.uniform(0.1, 1.0, n)
        yield ("project_scores", f"{n:,}".replace(",", " "), "sort, cumsum",
               lambda z=z, q=q: kernels.project_scores(z, q, 1.0)[0],
               lambda z=z, q=q: numpy_project_scores(z, q, 1.0))
    z, B = normal(500), inverse(500)
    radius = 0.5 * np.linalg.norm(z)
    yield ("project_ball", "500", "eigh, Newton",
           lambda: kernels.project_ball(z, B, radius)[0],
           lambda: numpy_project_ball(z, B, radius))
    y, C = normal(94), inverse(94)
    yield ("project_simplex", "94", "gradient steps",
           lambda: kernels.project_simplex(y, C),
           lambda: numpy_descent(y, C, nearest_on_simplex))
    yield ("project_box", "94", "gradient steps",
           lambda: kernels.project_box(y, C, -0.5, 0.5),
           lambda: numpy_descent(y, C, lambda v: np.clip(v, -0.5, 0.5)))
    yield ("project_l1", "94", "gradient steps",
           lambda: kernels.project_l1(y, C, 5.0),
           lambda: numpy_descent(y, C, lambda v: nearest_in_l1(v, 5.0)))
    theta = normal(1000)
    yield ("exponentiated_weights", "1 000", "two exp, a sum",
           lambda: kernels.exponentiated_weights(theta),
           lambda: numpy_exponentiated_weights(theta))
    yield ("exp", "1 000", "np.exp", lambda: kernels.exp(theta), lambda: np.exp(theta))
    positive = np.abs(theta)
    yield ("log", "1 000", "np.log", lambda: kernels.log(positive), lambda: np.log(positive))
    rows = normal((200, 256))
    yield ("metric.Full", "256, 200 rows", "product, outer",
           lambda: metric.Full(256).update_many(rows), lambda: numpy_full(rows))
    long = normal(100_000)
    diagonal, plain = metric.Diagonal(long.size), np.ones(long.size)
    yield ("metric.Diagonal", "100 000, 1 row", "divide and dot",
           lambda: diagonal.update(long), lambda: numpy_diagonal(plain, long))
    points = normal((100, 20))
    yield ("metric.Dual", "rbf, 100 rows", "Gram and solve",
           lambda: fast_dual(points, 0.05), lambda: numpy_dual(points, 0.05))


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


def show(seconds):
    from ._table import isa

    print("coactive_fast: compiled kernels for learning from weak feedback")
    print("\n\n1. What there is\n")
    show_examples()
    print(f"\n\n2. How fast (instruction set {isa()['chosen']}, NumPy {np.__version__})\n")
    print("Median time of a call; one thread each, in turn, on the same data.\n")
    show_speed(seconds)


def main(seconds=0.15):
    """Print the tour, with so many seconds for each time."""
    try:
        show(seconds)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
