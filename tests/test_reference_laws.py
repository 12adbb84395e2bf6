"""The slow twins against truths of their own: brute force over faces, rational arithmetic, laws."""

import itertools
import math
from fractions import Fraction

import nasty
import numpy as np
import pytest

from coactive_fast import kernels, reference


def test_every_function_has_an_example():
    for name in reference.__all__:
        thing = getattr(reference, name)
        methods = []
        if isinstance(thing, type):
            methods = [value for key, value in vars(thing).items() if not key.startswith("_")
                       and (callable(value) or isinstance(value, property))]
        for documented in (thing, *methods):
            assert ">>>" in documented.__doc__, (name, documented)


def exact(matrix):
    return [[Fraction(value) for value in row] for row in np.asarray(matrix).tolist()]


def exact_inverse(matrix):
    """Gauss-Jordan elimination in rational numbers (the pivots of a definite matrix are > 0)."""
    n = len(matrix)
    rows = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[n:] for row in rows]


def test_top_k_by_sorting_pairs(rng):
    for n in (1, 5, 40):
        scores = rng.integers(0, 4, n)
        pairs = sorted((-score, i) for i, score in enumerate(scores.tolist()))
        assert reference.top_k(scores, 3).tolist() == [i for _, i in pairs[:3]]


def test_rank_by_exact_sums(rng):
    X, w = rng.standard_normal((30, 11)), rng.standard_normal(11)
    scores = [math.fsum(row * w) for row in X]
    assert reference.rank(X, w, 30).tolist() == sorted(range(30), key=lambda i: -scores[i])


def test_ranking_features_by_exact_sums(rng):
    X, ranking = rng.standard_normal((9, 4)), rng.permutation(9)
    for k in (0, 1, 5, 9, 12):
        discounts = [1.0 / math.log2(place + 2) for place in range(min(k, 9))]
        terms = [d * X[i] for d, i in zip(discounts, ranking, strict=False)]
        phi = [math.fsum(term[j] for term in terms) for j in range(4)]
        np.testing.assert_allclose(reference.ranking_features(X, ranking, k=k), phi, atol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_inverse_update_in_rational_numbers(n, rng):
    A = nasty.spd(n, rng).round(3) + np.eye(n)
    x, c = rng.standard_normal(n).round(2), 0.375
    B = exact_inverse(exact(A))
    Ainv = np.array([[float(value) for value in row] for row in B])
    xs = [Fraction(value) for value in x.tolist()]
    q = sum(xs[i] * B[i][j] * xs[j] for i in range(n) for j in range(n))
    after = exact_inverse(
        [[a + Fraction(c) * xs[i] * xs[j] for j, a in enumerate(row)]
         for i, row in enumerate(exact(A))]
    )
    assert reference.inverse_update(Ainv, x, c=c) == pytest.approx(float(q), rel=1e-14)
    np.testing.assert_allclose(Ainv, [[float(v) for v in row] for row in after], atol=1e-14)


@pytest.mark.parametrize("K", [1, 2, 3, 4, 5, 6, 7])
def test_project_scores_by_all_active_sets(K, rng):
    for scale in (1.0, 1e8, 1e200):
        z = scale * rng.integers(-2, 3, K).astype(float)
        q = 2.0 ** rng.integers(-3, 4, K)
        total = Fraction(3, 2)
        found = []
        for active in itertools.product((False, True), repeat=K):
            if any(active):
                zs = [Fraction(v) for v, on in zip(z.tolist(), active, strict=True) if on]
                qs = [Fraction(v) for v, on in zip(q.tolist(), active, strict=True) if on]
                lam = (total - sum(zs)) / sum(qs)
                moved = [Fraction(a) + lam * Fraction(b)
                         for a, b in zip(z.tolist(), q.tolist(), strict=True)]
                if all((v > 0) == on for v, on in zip(moved, active, strict=True)):
                    found.append((lam, [float(max(v, 0)) for v in moved]))
        ((lam, v_true),) = found  # the optimality conditions have one solution
        v, got = reference.project_scores(z, q, float(total))
        assert v.tolist() == v_true and got == float(lam)


def test_project_scores_with_a_multiplier_beyond_float64():
    v, lam = reference.project_scores([1e300, 1e300], [1e-300, 1e-300], 1.0)
    assert v.tolist() == [0.5, 0.5] and lam == -math.inf


def test_project_ball_finds_the_root_to_the_last_bits(rng):
    for _ in range(20):
        z = rng.standard_normal(4)
        beta = 10.0 ** rng.uniform(-3, 3, 4)
        radius = math.hypot(*z) * rng.uniform(0.01, 0.999)
        w, lam = reference.project_ball(z, np.diag(beta), radius)

        def excess(lam, z=z, beta=beta, radius=radius):
            lengths = [
                (Fraction(a) / (1 + Fraction(lam) * Fraction(b))) ** 2
                for a, b in zip(z.tolist(), beta.tolist(), strict=True)
            ]
            return sum(lengths) - Fraction(radius) ** 2

        assert excess(lam * (1 - 1e-11)) > 0 > excess(lam * (1 + 1e-11))
        np.testing.assert_allclose(w, z / (1 + lam * beta), rtol=1e-13)


def test_project_ball_of_a_rotated_problem(rng):
    for n in (2, 7, 30):
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        beta, z = 10.0 ** rng.uniform(-2, 2, n), rng.standard_normal(n)
        straight, lam = reference.project_ball(z, np.diag(beta), 0.4)
        rotated, same = reference.project_ball(Q @ z, (Q * beta) @ Q.T, 0.4)
        np.testing.assert_allclose(rotated, Q @ straight, atol=1e-12)
        assert same == pytest.approx(lam, rel=1e-11)


def best_face(z, A, candidates):
    """The candidate with the smallest distance in the norm of A."""
    return min(candidates, key=lambda w: (w - z) @ A @ (w - z))


def face(z, A, free, fixed, normal=None, value=0.0):
    """Minimiser of ``||w - z||_A`` with some coordinates fixed and ``normal . w = value``."""
    on = np.flatnonzero(free)
    w = np.where(free, 0.0, fixed)
    rows = [(A[i, on], A[i] @ (z - w)) for i in on]
    if normal is None:
        system = np.array([left for left, _ in rows]).reshape(len(on), len(on))
        right = np.array([right for _, right in rows])
    else:
        system = np.array([[*left, normal[i]] for (left, _), i in zip(rows, on, strict=True)]
                          + [[*normal[on], 0.0]])
        right = np.array([right for _, right in rows] + [value - normal @ w])
    w[on] = np.linalg.solve(system, right)[: len(on)]
    return w


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("condition", [1.0, 10.0, 1e3])
def test_projections_by_all_faces(n, condition, rng):
    for trial in range(6):
        B = nasty.spd(n, rng, condition)
        A = np.linalg.inv(B)
        A = (A + A.T) / 2
        z = rng.integers(-2, 3, n) / 2.0 if trial % 2 else 2.0 * rng.standard_normal(n)
        slack = 1e-12
        subsets = [np.array(s) for s in itertools.product((False, True), repeat=n)]
        signs = [np.array(s, dtype=float) for s in itertools.product((-1, 0, 1), repeat=n)]

        simplex = [face(z, A, s, 0.0, np.ones(n), 1.0) for s in subsets if s.any()]
        simplex = [w for w in simplex if (w >= -slack).all()]
        np.testing.assert_allclose(
            reference.project_simplex(z, B), best_face(z, A, simplex), atol=1e-10
        )

        lower, upper = -0.25, rng.uniform(-0.25, 1.0, n)
        box = [face(z, A, s == 0, np.where(s < 0, lower, upper)) for s in signs]
        box = [w for w in box if (w >= lower - slack).all() and (w <= upper + slack).all()]
        np.testing.assert_allclose(
            reference.project_box(z, B, lower, upper), best_face(z, A, box), atol=1e-10
        )

        ball = [face(z, A, s != 0, 0.0, s, 1.0) for s in signs if s.any()]
        ball = [w for w in [*ball, z] if np.abs(w).sum() <= 1.0 + slack]
        np.testing.assert_allclose(
            reference.project_l1(z, B, 1.0), best_face(z, A, ball), atol=1e-10
        )


BOTH_MODULES = pytest.mark.parametrize("module", [kernels, reference], ids=["kernels", "reference"])


@BOTH_MODULES
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 129])
def test_exponentiated_weights_by_the_formula(module, n, rng):
    theta = rng.uniform(-5, 5, n)
    total = math.fsum(math.cosh(t) for t in theta)
    signed = [math.sinh(t) / total for t in theta]
    np.testing.assert_allclose(module.exponentiated_weights(theta), signed, rtol=1e-13)
    total = math.fsum(math.exp(t) for t in theta)
    plain = [math.exp(t) / total for t in theta]
    got = module.exponentiated_weights(theta, both_signs=False)
    np.testing.assert_allclose(got, plain, rtol=1e-13)
    assert got.sum() == pytest.approx(1.0, abs=1e-15 * n)


@BOTH_MODULES
def test_exponentiated_weights_of_extreme_steps(module):
    got = module.exponentiated_weights([1e308, 0.0, -1e308])
    np.testing.assert_array_equal(got, [0.5, 0.0, -0.5])
    got = module.exponentiated_weights([-1e5, -1e5, -2e5], both_signs=False)
    np.testing.assert_array_equal(got, [0.5, 0.5, 0.0])
    # the 2N weights all start at 1 / (2N), so nothing is said about any feature
    np.testing.assert_array_equal(module.exponentiated_weights(np.zeros(3)), np.zeros(3))


@pytest.mark.parametrize("theta", **nasty.cases(nasty.vectors(9)))
@pytest.mark.parametrize("signed", [True, False])
def test_exponentiated_weights_of_nasty_steps(theta, signed):
    functions = kernels.exponentiated_weights, reference.exponentiated_weights
    nasty.agree(*functions, (theta,), nasty.within(1e-14), ("theta",), both_signs=signed)


def stream(rng, T, n):
    return rng.standard_normal((T, n)), rng.uniform(0.1, 2.0, T)


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_full_is_ridge_plus_the_sum(ridge, rng):
    X, c = stream(rng, 12, 5)
    m, logdet = reference.Full(5, ridge=ridge), 5 * math.log(ridge)
    for x, weight in zip(X, c, strict=True):
        q = m.update(x, c=weight)
        logdet += math.log1p(weight * q)
        assert m.quad(x) == pytest.approx(q / (1 + weight * q), rel=1e-11)
    np.testing.assert_allclose(m.matrix(), ridge * np.eye(5) + (X.T * c) @ X, rtol=1e-13)
    np.testing.assert_allclose(m.inverse() @ m.matrix(), np.eye(5), atol=1e-11)
    assert m.logdet == pytest.approx(logdet, rel=1e-11)
    assert m.updates == 12


def test_diagonal_keeps_the_diagonal(rng):
    X, c = stream(rng, 12, 5)
    full, diagonal = reference.Full(5, ridge=0.5), reference.Diagonal(5, ridge=0.5)
    for x, weight in zip(X, c, strict=True):
        q = diagonal.quad(x)
        assert diagonal.update(x, c=weight) == q
        full.update(x, c=weight)
    a = np.diag(full.matrix())
    np.testing.assert_allclose(diagonal.matrix(), a, rtol=1e-13)
    np.testing.assert_allclose(diagonal.inverse(), 1 / a, rtol=1e-13)
    np.testing.assert_allclose(diagonal.solve(X[0]), X[0] / a, rtol=1e-13)
    assert diagonal.logdet == pytest.approx(np.log(a).sum(), rel=1e-12)


def squares(x):
    """The feature map of ``(0.7 x.y + 0.3)^2`` in two dimensions, written out."""
    a, b = x * math.sqrt(0.7)
    r, s = math.sqrt(2.0), math.sqrt(0.3)
    return np.array([a * a, b * b, r * a * b, r * s * a, r * s * b, 0.3])


@pytest.mark.parametrize("kernel", ["linear", "poly", "callable"])
@pytest.mark.parametrize("ridge", [1.0, 0.1])
def test_dual_is_full_in_the_feature_space(kernel, ridge, rng):
    if kernel == "linear":
        dual, features, n = reference.Dual(ridge=ridge), lambda x: x, 2
    elif kernel == "poly":
        params = {"degree": 2, "gamma": 0.7, "coef0": 0.3}
        dual = reference.Dual(kernel="poly", kernel_params=params, ridge=ridge)
        features, n = squares, 6
    else:
        dual = reference.Dual(kernel=lambda x, y, scale: scale * (x @ y),
                              kernel_params={"scale": 4.0}, ridge=ridge)
        features, n = lambda x: 2.0 * x, 2
    full = reference.Full(n, ridge=ridge)
    X, c = stream(rng, 9, 2)
    for x, weight in zip(X, c, strict=True):
        assert dual.quad(x) == pytest.approx(full.quad(features(x)), rel=1e-10)
        q = full.update(features(x), c=weight)
        assert dual.update(x, c=weight) == pytest.approx(q, rel=1e-10)
        assert dual.logdet == pytest.approx(full.logdet - n * math.log(ridge), rel=1e-10)
    # A^-1 phi(x) from the coefficients of the stored rows
    x = rng.standard_normal(2)
    rows = np.array([features(row) for row in X])
    solved = (features(x) - (dual.solve(x) * np.sqrt(c)) @ rows) / ridge
    np.testing.assert_allclose(solved, full.solve(features(x)), atol=1e-10)
    assert len(dual) == 9


def test_rbf_of_one_row():
    dual = reference.Dual(kernel="rbf", ridge=2.0)
    x, y = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    assert dual.update(x, c=3.0) == 0.5
    k = math.exp(-1.0)  # gamma = 1/2, squared distance 2
    assert dual.quad(y) == pytest.approx((1 - 3 * k * k / 5) / 2)


def test_window_is_the_model_of_the_last_rows(rng):
    X, c = stream(rng, 12, 3)
    window = reference.Dual(kernel="rbf", window=4)
    for t, (x, weight) in enumerate(zip(X, c, strict=True)):
        rebuilt = reference.Dual(kernel="rbf")
        for s in range(max(t - 4, 0), t):
            rebuilt.update(X[s], c=c[s])
        assert window.update(x, c=weight) == pytest.approx(rebuilt.quad(x), rel=1e-12)
    assert len(window) == 4


def test_budget_with_room_for_everything_is_exact(rng):
    X, c = stream(rng, 15, 3)
    whole, budget = reference.Dual(ridge=0.5), reference.Dual(ridge=0.5, budget=9, tolerance=1e-9)
    for x, weight in zip(X, c, strict=True):
        assert budget.update(x, c=weight) == pytest.approx(whole.update(x, c=weight), rel=1e-9)
    assert len(budget) == 3, "three rows span the space"
    assert budget.logdet == pytest.approx(whole.logdet, rel=1e-9)
    assert budget.matrix().shape == (3, 3)


def test_a_full_budget_folds_rows_in(rng):
    budget = reference.Dual(kernel="rbf", kernel_params={"gamma": 2.0}, budget=5)
    whole = reference.Dual(kernel="rbf", kernel_params={"gamma": 2.0})
    for x in rng.standard_normal((40, 2)):
        budget.update(x)
        whole.update(x)
    assert len(budget) == 5 and budget.updates == 40
    # what is left out of the dictionary was never learned: quad can only be too large
    for x in rng.standard_normal((20, 2)):
        assert budget.quad(x) >= whole.quad(x) - 1e-12
