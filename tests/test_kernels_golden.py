"""Golden vectors: inputs and expected outputs made by independent oracles.

They are read from the folder named by the environment variable COACTIVE_VECTORS. The expected
numbers hold for the compiled kernels and for their slow twins alike.
"""


import numpy as np
import pytest
from coactive_cases import FOLDER, load

import coactive_fast as cf

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="COACTIVE_VECTORS does not name the folder of the golden vectors"
)
modules = pytest.mark.parametrize(
    "module", [cf.kernels, cf.reference], ids=["kernels", "reference"]
)


def close(got, expected, tolerance, case):
    """Equal to `tolerance` relative to the largest expected entry."""
    error = np.abs(np.asarray(got) - expected).max(initial=0.0)
    assert np.shape(got) == np.shape(expected), case
    assert error <= tolerance * np.abs(expected).max(initial=0.0), (case, error)


@modules
def test_top_k(module):
    for case, a in load("top_k").items():
        got = module.top_k(a["scores"], int(a["k"]))
        np.testing.assert_array_equal(got, a["expected"], case)


@modules
def test_rank(module):
    for case, a in load("rank").items():
        got = module.rank(a["X"], a["w"], int(a["k"]))
        np.testing.assert_array_equal(got, a["expected"], case)


@modules
def test_ranking_features(module):
    for case, a in load("ranking_features").items():
        got = module.ranking_features(a["X"], a["ranking"], k=int(a["k"]))
        close(got, a["expected"], 1e-12, case)


@modules
@pytest.mark.parametrize("triangle", ["both", "lower"])
def test_inverse_update(module, triangle):
    for case, a in load("inverse_update").items():
        Ainv = a["Ainv"].copy()
        q = module.inverse_update(Ainv, a["x"], c=float(a["c"]), triangle=triangle)
        close(q, a["q"], 1e-10, case)
        close(np.tril(Ainv), np.tril(a["after"]), 1e-10, case)
        upper = a["after"] if triangle == "both" else a["Ainv"]
        close(np.triu(Ainv, 1), np.triu(upper, 1), 1e-10, case)


@modules
def test_project_scores(module):
    for case, a in load("project_scores").items():
        v, lam = module.project_scores(a["z"], a["q"], float(a["total"]))
        np.testing.assert_allclose(v, a["v"], rtol=0, atol=a["tolerance"], err_msg=case)
        close(lam, a["lam"], 1e-9, case)


@modules
def test_project_ball(module):
    for case, a in load("project_ball").items():
        w, lam = module.project_ball(a["z"], a["Ainv"], float(a["radius"]))
        if a["lam"] == 0.0:
            assert w.tobytes() == a["z"].tobytes(), case
        np.testing.assert_allclose(w, a["w"], rtol=0, atol=a["tolerance"], err_msg=case)
        close(lam, a["lam"], 1e-8, case)


@modules
@pytest.mark.parametrize(
    "name, limits",
    [
        ("project_simplex", ["total"]),
        ("project_box", ["lower", "upper"]),
        ("project_l1", ["radius"]),
    ],
)
def test_project_faces(module, name, limits):
    for case, a in load(name).items():
        w = getattr(module, name)(a["z"], a["Ainv"], **{limit: a[limit] for limit in limits})
        np.testing.assert_allclose(w, a["w"], rtol=0, atol=a["tolerance"], err_msg=case)


@pytest.mark.parametrize("form", ["", "diag_"])
@pytest.mark.parametrize("module", [cf.metric, cf.reference], ids=["metric", "reference"])
def test_metric(module, form):
    for case, a in load("metric").items():
        build = module.Diagonal if form else module.Full
        m = build(a["X"].shape[1], ridge=float(a["ridge"]))
        for x, c, q, logdet in zip(
            a["X"], a["c"], a[form + "q"], a[form + "logdet"], strict=True
        ):
            close(m.update(x, c=float(c)), q, 1e-9, case)
            close(m.logdet, logdet, 1e-9, case)
        close(m.inverse(), a[form + "inverse"], 1e-9, case)
        close(m.matrix(), a[form + "matrix"], 1e-9, case)
        close(m.solve(a["probe"]), a[form + "solve"], 1e-9, case)
        close(m.quad(a["probe"]), a[form + "quad"], 1e-9, case)


def test_dual_of_the_metric_vectors():
    for case, a in load("metric").items():
        m = cf.metric.Dual(ridge=float(a["ridge"]))
        start = a["X"].shape[1] * np.log(a["ridge"])
        for x, c, q, logdet in zip(a["X"], a["c"], a["q"], a["logdet"], strict=True):
            close(m.update(x, c=float(c)), q, 1e-8, case)
            close(m.logdet + start, logdet, 1e-8, case)
        close(m.quad(a["probe"]), a["quad"], 1e-8, case)


def test_robust_precision_of_the_metric_vectors():
    for case, a in load("metric").items():
        m = cf.metric.Full(a["X"].shape[1], ridge=float(a["ridge"]), precision="robust")
        for x, c, q in zip(a["X"], a["c"], a["q"], strict=True):
            close(m.update(x, c=float(c)), q, 1e-9, case)
        close(m.inverse(), a["inverse"], 1e-9, case)
        close(m.logdet, a["logdet"][-1], 1e-9, case)
