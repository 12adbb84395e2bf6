"""Random histories: whatever a multiclass learner has gone through, it is what its twin is."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from multiclass_cases import DRAWN, LEARNERS, build, is_bandit, teach

import coactive_fast as cf
from coactive_fast.reference.multiclass_confidit import _read

CLASSES, FEATURES = [2, 3, 8, 9, 17, 33], [1, 2, 8, 31, 33, 65]


def arguments(name, rng):
    """Some of Confidit's parameters at random, where it is a Confidit that has them."""
    if not is_bandit(name) or name in DRAWN:
        return {}
    found = {"alpha": float(rng.choice([1.0, 0.3, 0.0, -0.7])), "seed": int(rng.integers(99)),
             "confidence": str(rng.choice(["constant", "theory", "selfnormalized"])),
             "eta": float(10.0 ** rng.uniform(-3.0, 1.0)),
             "norm_bound": float(rng.choice([0.0, 1.0, 3.0])),
             "approximation_error": float(rng.choice([0.0, 0.1])),
             "normalize": bool(rng.random() < 0.3)}
    if name not in ("linear", "rbf"):
        found["projection"] = bool(rng.random() < 0.5)
    return found


def row_in_some_form(x, rng):
    forms = [lambda: x, lambda: x[None], lambda: scipy.sparse.csr_matrix(x),
             lambda: scipy.sparse.csr_array(x[None]), lambda: np.repeat(x, 2)[::2]]
    form = forms[rng.integers(len(forms))]()
    if scipy.sparse.issparse(form) and rng.random() < 0.5:
        form.indices, form.indptr = form.indices.astype(np.int64), form.indptr.astype(np.int64)
    return form


def optimistic(twin, x):
    """The scores among which the twin chooses."""
    row = twin._row(x)
    classes = twin._before(row)
    if not hasattr(twin, "eta"):
        return twin._margins(classes, row)
    m, q = _read(twin._projected(classes, row), row)
    return m + twin._widths(q)


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("case", range(6))
def test_any_history(name, case):
    rng = np.random.default_rng([case, list(LEARNERS).index(name)])
    K, d = int(rng.choice(CLASSES)), int(rng.choice(FEATURES))
    if name == "Newtron full":  # whose twin inverts a matrix over all classes in every round
        K, d = min(K, 9), min(d, 9)
    changes, size, x = arguments(name, rng), 10.0 ** rng.integers(-2, 3), np.zeros(d)
    learner, twin = (build(module, name, K, **changes) for module in (cf, cf.reference))
    for _ in range(30):
        if rng.random() < 0.9:  # else the row of the round before, at first the null row
            x = size * rng.standard_normal(d) * (rng.random(d) < rng.choice([0.1, 0.5, 1.0]))
        form, what = row_in_some_form(x, rng), rng.random()
        if what < 0.05:
            assert learner.add_class() == twin.add_class() == K
            K += 1
        elif what < 0.1:
            learner = pickle.loads(pickle.dumps(learner))
        label, expected = learner.choose(form), twin.choose(x)
        if label != expected and name not in DRAWN:  # rounding may part what is equal
            scores = optimistic(twin, x)
            assert scores[expected] - scores[label] <= 1e-8 * np.abs(scores).max()
        if rng.random() < 0.5:
            expected = int(rng.integers(K))
        right = int(rng.integers(K))
        teach(learner, name, form, expected, right)
        teach(twin, name, x, expected, right)
        Z = rng.standard_normal((3, d))
        scores = twin.decision_function(Z)
        np.testing.assert_allclose(learner.decision_function(Z), scores, rtol=1e-7,
                                   atol=1e-7 * np.abs(scores).max() + 1e-14)
        if hasattr(twin, "information"):
            np.testing.assert_allclose(learner.information(), twin.information(), rtol=1e-8,
                                       atol=1e-9)
