"""The tour: every kernel on an example small enough to check by hand, then its speed.

Beside each kernel stands the way one would write it in NumPy, plainly; both run in the same
process on the same data, and their results are compared before they are timed.
"""

import ast
import os
import sys
import time

import numpy as np

from . import kernels, metric

# (what it is, what it does, statements to run and show)
EXAMPLES = [
    (
        "top_k - the best of many scores",
        "Best first, ties to the lower index; -inf masks an entry.",
        "kernels.top_k([0.5, 2.0, 2.0, -np.inf], 3)",
    ),
    (
        "rank - score the rows of X by w and keep the best, in one call",
        "The same as top_k(X @ w, k).",
        "X = np.array([[1., 0.], [0., 3.], [2., 0.]])\nkernels.rank(X, [1.0, 1.0], 2)",
    ),
    (
        "ranking_features - an ordering as one vector",
        "The sum of x_{y_i} / log2(i + 1) over the places i = 1 ... k.",
        "kernels.ranking_features(X, [1, 2, 0], k=2)",
    ),
    (
        "inverse_update - the inverse of A after A += c x x^T, in place",
        "Returns q = x^T A^-1 x from before the update.",
        "Ainv = np.eye(2)\nkernels.inverse_update(Ainv, [1.0, 0.0])\nAinv",
    ),
    (
        "project_scores - the nearest v >= 0 with sum(v) = total",
        "Distances are weighted by 1/q; the multiplier comes along.",
        "kernels.project_scores([1.0, 0.0, -3.0], [1.0, 1.0, 1.0], 2.0)",
    ),
    (
        "project_ball - the nearest w with ||w|| <= radius, in the norm of A",
        "Given the inverse of A; the multiplier comes along.",
        "kernels.project_ball([3.0, 4.0], np.diag([1.0, 0.5]), 1.0)",
    ),
    (
        "project_simplex, project_box, project_l1 - other sets, same norm",
        "w >= 0 with sum(w) = total; lower <= w <= upper; sum|w| <= radius.",
        "Ainv = np.array([[1.0, 0.5], [0.5, 1.0]])\n"
        "kernels.project_simplex([1.0, -1.0], Ainv)\n"
        "kernels.project_box([2.0, 0.0], Ainv, -1.0, 1.0)\n"
        "kernels.project_l1([2.0, -1.0], Ainv, 1.0)",
    ),
    (
        "exponentiated_weights - multiplicative weights from their logarithms",
        "Of either sign, or all positive; never overflows.",
        "kernels.exponentiated_weights([0.0, 1000.0])\n"
        "kernels.exponentiated_weights([0.0, 0.0], both_signs=False)",
    ),
    (
        "exp, log - elementwise, within 1 ulp, the same bits on every CPU with FMA",
        "",
        "kernels.exp([0.0, 1.0])\nkernels.log([1.0, 2.0])",
    ),
    (
        "metric.Full - A = ridge I + sum c x x^T and its inverse, kept for long runs",
        "It watches its own rounding error and repairs it.",
        "m = metric.Full(2, ridge=1.0)\nm.update([1.0, 1.0])\nm.inverse()\nm.quad([1.0, 0.0])\n"
        "m.health()['residual'] < 1e-12",
    ),
    (
        "metric.Diagonal - only the diagonal of A, for many features",
        "scipy.sparse rows cost what they hold.",
        "m = metric.Diagonal(3)\nm.update([1.0, 2.0, 0.0])\nm.matrix()",
    ),
    (
        "metric.Dual - A in the space of a kernel, through the rows it was made of",
        "linear, rbf, poly or your own function; with a window or a budget of rows.",
        'm = metric.Dual(kernel="rbf", kernel_params={"gamma": 1.0}, window=100)\n'
        "m.update([0.0, 0.0])\n"
        "m.quad([0.0, 0.0]), m.quad([3.0, 0.0])",
    ),
]


# --- the NumPy way --------------------------------------------------------------------------


def numpy_top_k(scores, k):
    """What reaches the k-th best maximum of a block; argpartition takes three times as long."""
    blocks = np.maximum.reduceat(scores, np.arange(0, scores.size, 256))
    reach = np.flatnonzero(scores >= np.partition(blocks, blocks.size - k)[blocks.size - k])
    return reach[np.argsort(-scores[reach], kind="stable")][:k]


def numpy_rank(X, w, k):
    return np.argsort(-(X @ w), kind="stable")[:k]


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
           lambda: kernels.rank(X, w, 5), lambda: numpy_rank(X, w, 5))
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
    yield ("log", "1 000", "np.log",
           lambda: kernels.log(positive), lambda: np.log(positive))
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


def seconds_of(call, budget):
    """The best of some batches of calls, seconds a call."""
    begin = time.perf_counter()
    call()
    once = time.perf_counter() - begin
    batch = max(1, int(budget / 15 / max(once, 1e-7)))
    best, end = once, time.perf_counter() + budget
    while time.perf_counter() < end:
        begin = time.perf_counter()
        for _ in range(batch):
            call()
        best = min(best, (time.perf_counter() - begin) / batch)
    return best


def told(seconds):
    """A time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def told_ratio(ratio):
    return f"{ratio:.3g}x" if ratio < 100.0 else f"{ratio:.0f}x"


def show_examples():
    names = {"np": np, "kernels": kernels, "metric": metric}
    for title, text, source in EXAMPLES:
        print(f"\n{title}")
        if text:
            print(f"  {text}")
        for statement in ast.parse(source).body:
            line = ast.get_source_segment(source, statement)
            print(f"    >>> {line}")
            if isinstance(statement, ast.Expr):
                value = eval(line, names)
                print("    " + repr(value).replace("\n", "\n    "))
            else:
                exec(line, names)


def show_speed(seconds):
    print(f"{'':22}{'size':16}{'NumPy way':16}{'NumPy':>8}{'here':>9}{'ratio':>8}")
    for name, size, way, ours, theirs in contests():
        if not np.allclose(ours(), theirs(), rtol=1e-6, atol=1e-7):
            raise AssertionError(f"{name} and its NumPy form disagree")
        slow, fast = seconds_of(theirs, seconds), seconds_of(ours, seconds)
        times = f"{told(slow):>8}{told(fast):>9}{told_ratio(slow / fast):>8}"
        print(f"{name:22}{size:16}{way:16}{times}", flush=True)


def show(seconds):
    from ._table import isa

    print("coactive_fast: compiled kernels for learning from weak feedback")
    print("\n\n1. What there is\n")
    print("    >>> import numpy as np")
    print("    >>> from coactive_fast import kernels, metric")
    with np.printoptions(precision=4, suppress=True):
        show_examples()
    print(f"\n\n2. How fast (instruction set {isa()['chosen']}, NumPy {np.__version__})\n")
    print("Best time of a call; one thread each, in the same process, on the same data.\n")
    show_speed(seconds)


def main(seconds=0.15):
    """Print the tour, with so many seconds for each time."""
    try:
        show(seconds)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
