"""The multiclass learners: golden vectors, what holds for all, chance, rows, errors.

What is Confidit's alone is tested in test_multiclass_confidit.py and _confidit_more.py.
"""

import copy

import numpy as np
import pytest
from multiclass_cases import (
    BANDITS,
    DRAWN,
    LEARNERS,
    MODULES,
    build,
    is_bandit,
    problem,
    readings,
    teach,
    trained,
    unchanged,
)
from row_cases import (
    bad_rows,
    close,
    golden,
    golden_names,
    out_of_range,
    sparse_forms,
    with_holes,
)

learners = pytest.mark.parametrize("name", LEARNERS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


# --- golden vectors -------------------------------------------------------------------------


def golden_learner(module, meta):
    return getattr(module, meta["learner"])(meta["n_classes"], **meta["arguments"])


def final_readings(learner, a, meta):
    close(learner.decision_function(a["Z"]), a["decision"], meta["tolerance"])
    if meta["arguments"].get("covariance") == "kernel":
        return
    close(learner.weights, a["weights"], meta["tolerance"])
    if "inverse" in a:
        found = [learner.inverse(i) for i in range(learner.n_classes)]
        close(found, a["inverse"], meta["tolerance"])


@pytest.mark.parametrize("name", golden_names("multiclass", logged=False))
def test_golden_run(module, name):
    a, meta = golden(name)
    learner = golden_learner(module, meta)
    history = learner.run(a["X"], a["y"])
    np.testing.assert_array_equal(history.choices, a["choices"])
    np.testing.assert_array_equal(history.mistakes, a["mistakes"])
    np.testing.assert_array_equal(history.explored, a.get("explored", np.zeros(len(a["y"]))))
    assert learner.rounds == len(a["y"])
    final_readings(learner, a, meta)


@pytest.mark.parametrize("name", golden_names("multiclass"))
def test_golden_rounds(module, name):
    """One call at a time, with a look inside after some of them."""
    a, meta = golden(name)
    learner = golden_learner(module, meta)
    labels = a.get("labels", a["choices"])
    for t, (x, label, right) in enumerate(zip(a["X"], labels, a["y"], strict=True)):
        assert learner.choose(x) == a["choices"][t]
        if meta["learner"] in BANDITS:
            learner.learn(x, label, label == right)
        else:
            learner.learn(x, right)
        for place in np.flatnonzero(a.get("rounds", np.zeros(0)) == t + 1):
            if "weights_at" in a and meta["arguments"].get("covariance") != "kernel":
                close(learner.weights, a["weights_at"][place], meta["tolerance"])
            if "decision_row0_at" in a:
                scores = learner.decision_function(a["X"][:1])[0]
                close(scores, a["decision_row0_at"][place], meta["tolerance"])
    final_readings(learner, a, meta)


@pytest.mark.parametrize("name", golden_names("multiclass", logged=True))
def test_golden_log_without_choosing(module, name):
    a, meta = golden(name)
    asked, silent = golden_learner(module, meta), golden_learner(module, meta)
    for x, label, right in zip(a["X"], a["labels"], a["y"], strict=True):
        asked.choose(x)
        for learner in (asked, silent):
            learner.learn(x, label, label == right)
    np.testing.assert_equal(readings(asked, a["Z"]), readings(silent, a["Z"]))
    final_readings(silent, a, meta)


# --- what holds for all of them -------------------------------------------------------------


@learners
def test_run_is_the_loop_of_single_calls(module, name, rng):
    X, y = problem(rng)
    whole, single = build(module, name), build(module, name)
    history = whole.run(X, y)
    assert history.mistakes.dtype == history.explored.dtype == bool
    assert history.choices.dtype == np.intp
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        label = single.choose(x)
        assert type(label) is int and label == history.choices[t]
        assert history.mistakes[t] == (label != right)
        teach(single, name, x, label, right)
    np.testing.assert_equal(readings(whole, X), readings(single, X))
    assert whole.rounds == len(X)


@learners
def test_something_is_learned(module, name, rng):
    """Two runs over an easy problem leave few of its labels wrong."""
    X, y = problem(rng, T=120, d=4, noise=0.0)
    learner = build(module, name)
    first = learner.run(X, y)
    learner.run(X, y)
    assert np.mean(learner.predict(X) != y) < 0.35
    assert first.explored.any() == is_bandit(name)


@learners
def test_reading_changes_nothing(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        for x in X:
            if name not in DRAWN:  # its `choose` draws
                learner.choose(x)
        for value in readings(learner, X).values():
            for array in value if isinstance(value, list) else [value]:
                if isinstance(array, np.ndarray):
                    array[...] = -7


@learners
def test_ties_go_to_the_lower_label(module, name):
    learner, x = build(module, name, n_classes=4), np.array([0.6, 0.8])
    if name in DRAWN:
        assert learner.predict([x])[0] == 0
        return
    assert learner.choose(x) == 0
    teach(learner, name, x, 0, 2)  # now 0 has lost, and those that know nothing are alike
    assert learner.choose(x) == (1 if is_bandit(name) else 2)


@learners
def test_null_rows_only_count(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng)
    zero, before = np.zeros(5), readings(learner, X)
    if name == "rbf":  # k(0, 0) = 1: a row like any other
        learner.learn(zero, 1, True)
        assert learner.decision_function([zero])[0, 1] != 0.0
        return
    draws = copy.deepcopy(learner)
    assert learner.predict([zero])[0] == 0
    if name not in DRAWN:
        assert learner.choose(zero) == 0
    for label in range(3):
        teach(learner, name, zero, label, 1)
    after = readings(learner, X)
    assert after.pop("rounds") == before.pop("rounds") + 3
    np.testing.assert_equal(after, before)
    if name.endswith("alpha") or name in DRAWN:
        # the coins that follow are those that would have followed
        np.testing.assert_array_equal(learner.run(X, y).choices, draws.run(X, y).choices)


@learners
@pytest.mark.parametrize("form", ["int32", "int64", "unsorted", "duplicates", "array", "csc"])
def test_sparse_rows_are_dense_rows(module, name, form, rng):
    X, y = problem(rng)
    X = with_holes(X, rng)
    sparse = dict(sparse_forms(X))[form]
    dense, thin = build(module, name), build(module, name)
    np.testing.assert_equal(vars(thin.run(sparse, y)), vars(dense.run(X, y)))
    np.testing.assert_equal(readings(thin, sparse), readings(dense, X))
    row = sparse.tocsr()[3:4]  # one at a time, in the three shapes of one row
    for learner, x in ((thin, row), (dense, X[3])):
        learner.choose(x)
        teach(learner, name, x, 1, 1)
    np.testing.assert_equal(readings(thin, X[3:4]), readings(dense, row))


@learners
def test_a_row_may_be_a_table_of_one_row_or_a_list(module, name, rng):
    plain = trained(module, name, rng)
    other = copy.deepcopy(plain)
    x = np.arange(5.0).astype(np.float32)
    assert plain.choose(x) == other.choose(x[None])
    teach(plain, name, x, 1, 1)
    teach(other, name, x.tolist(), np.int16(1), np.uint8(1))
    np.testing.assert_equal(readings(plain, np.eye(5)), readings(other, np.eye(5)))


@learners
def test_reset_and_copies_of_the_generator(module, name, rng):
    X, y = problem(rng)
    source = np.random.default_rng(5)
    changes = {"seed": source} if is_bandit(name) else {}
    learner = build(module, name, **changes)
    fresh = readings(learner, X)
    first = learner.run(X, y)
    added = learner.add_class()
    assert added == 3 and learner.n_classes == 4
    learner.reset()
    assert learner.n_classes == 3
    np.testing.assert_equal(readings(learner, X), fresh)
    np.testing.assert_equal(vars(learner.run(X, y)), vars(first))
    learner.reset()
    learner.run(X[:, :2], y)  # another dimension
    assert source.random() == np.random.default_rng(5).random(), "the seed itself has moved"


@learners
def test_before_the_first_round(module, name, rng):
    learner = build(module, name)
    assert learner.rounds == 0
    for d in (2, 7):  # a reading fixes no dimension
        assert learner.predict(np.ones((3, d))).tolist() == [0, 0, 0]
        np.testing.assert_array_equal(learner.decision_function(np.ones((2, d))), np.zeros((2, 3)))
        learner.choose(np.ones(d))
    found = readings(learner, np.ones((1, 2)))
    assert "weights" not in found or found["weights"].shape == (3, 0)
    assert all(np.size(inverse) == 0 for inverse in found.get("inverse", []))
    np.testing.assert_array_equal(found.get("information", np.zeros(3)), np.zeros(3))
    empty = learner.run(np.zeros((0, 4)), [])
    assert empty.choices.shape == (0,) and learner.rounds == 0


@learners
def test_an_added_class_is_one_that_was_never_seen(module, name, rng):
    """Four classes of which one is never learned, or three and a fourth that comes later."""
    X, y = problem(rng, noise=0.0)
    projects = "v1" in name or "v4" in name or "projection" in name
    if name in DRAWN or projects:  # there the number of classes changes every round
        learner = trained(module, name, rng)
        kept = learner.decision_function(X)
        assert learner.add_class() == 3
        scores = learner.decision_function(X)
        np.testing.assert_array_equal(scores[:, :3], kept)
        np.testing.assert_array_equal(scores[:, 3], 0.0)
        learner.run(X, np.full(len(X), 3))
        assert learner.decision_function(X)[:, 3].any()
        return
    early, late = build(module, name, n_classes=4), build(module, name)
    if not is_bandit(name):  # what none of them knows is no rival: the fourth loses on its own
        early = build(module, name)
    for learner in (early, late):
        for t, (x, right) in enumerate(zip(X, y, strict=True)):
            teach(learner, name, x, t % 3, right)
    assert late.add_class() == 3
    if not is_bandit(name):
        early.add_class()
    for learner in (early, late):
        assert learner.n_classes == 4
        for t, x in enumerate(X):
            teach(learner, name, x, t % 4, 3)
    np.testing.assert_equal(readings(late, X), readings(early, X))


# --- Banditron ------------------------------------------------------------------------------


def test_banditron_draws(module, rng):
    """One uniform draw a `choose`, and the chances that it is meant to have."""
    learner = module.Banditron(4, gamma=0.4, seed=9)
    draws = np.random.default_rng(9)
    learner.learn([1.0], 2, True)
    assert learner.predict([[1.0]])[0] == 2
    p = np.array([0.1, 0.1, 0.7, 0.1])
    counts = np.zeros(4)
    for t in range(4000):
        label = learner.choose([1.0])
        u = draws.random()
        near = np.abs(np.cumsum(p) - u).min() < 1e-12
        assert near or label == np.searchsorted(np.cumsum(p), u, side="right")
        counts[label] += 1
        if t % 100 == 0:  # learning draws nothing
            learner.learn([0.0], label, False)
    assert (np.abs(counts / 4000 - p) < 4.0 * np.sqrt(p * (1.0 - p) / 4000)).all()


def test_banditron_is_the_perceptron_on_average(module, rng):
    """Over its own choices the expected step is that of the multiclass Perceptron."""
    base, x, K = trained(module, "Banditron", rng), rng.standard_normal(5), 3
    best = base.predict([x])[0]
    p = np.full(K, 0.1)
    p[best] += 0.7
    for right in range(K):
        mean = np.zeros((K, 5))
        for label in range(K):
            learner = copy.deepcopy(base)
            learner.learn(x, label, label == right)
            mean += p[label] * (learner.weights - base.weights)
        expected = np.outer(np.eye(K)[right] - np.eye(K)[best], x)
        np.testing.assert_allclose(mean, expected, atol=1e-12)


# --- the learners that see the label --------------------------------------------------------


def test_the_perceptrons_move_on_mistakes_alone(module, rng):
    X, y = problem(rng)
    for name in ("Perceptron", "second-order"):
        learner = trained(module, name, rng)
        for x, right in zip(X, y, strict=True):
            before, label = learner.weights, learner.choose(x)
            learner.learn(x, right)
            expected = np.outer(np.eye(3)[right] - np.eye(3)[label], x)
            np.testing.assert_allclose(learner.weights - before, expected, atol=1e-12)


def test_second_order_scores_count_the_row_itself(module, rng):
    learner, x = trained(module, "second-order", rng), rng.standard_normal(5)
    A = np.array([1.0 / learner.inverse(i) for i in range(3)]) + x**2
    scores = np.sum(learner.weights / A * x, axis=1)
    np.testing.assert_allclose(learner.decision_function([x])[0], scores, rtol=1e-12)


def test_arow(module, rng):
    """It acts below margin 1, on the label and its best rival, and variances only fall."""
    learner, (X, y) = trained(module, "AROW", rng), problem(rng)
    acted = 0
    for x, right in zip(X, y, strict=True):
        scores = learner.decision_function([x])[0]
        before = readings(learner, X)
        learner.learn(x, right)
        margin = scores[right] - np.delete(scores, right).max()
        moved = np.flatnonzero((learner.weights != before["weights"]).any(axis=1))
        if margin >= 1.0:
            assert moved.size == 0
            continue
        acted += 1
        rival = int(np.argmax(np.where(np.arange(3) == right, -np.inf, scores)))
        assert moved.tolist() == sorted([right, rival])
        after = np.array([learner.inverse(i) for i in range(3)])
        assert (after <= before["inverse"]).all() and (after > 0.0).all()
        grown = learner.decision_function([x])[0]
        assert grown[right] - grown[rival] > margin
    assert acted > 0


# --- errors ---------------------------------------------------------------------------------


@learners
def test_after_an_error_the_learner_is_as_before(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        for _, x in bad_rows(5):
            for do in (learner.choose, lambda x: teach(learner, name, x, 1, 0)):
                with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
                    do(x)
        for X_bad in (X[:, 1:], X[0], np.where(X == X[3, 2], np.nan, X), out_of_range(5), "rows"):
            for do in (learner.predict, learner.decision_function, lambda X: learner.run(X, y)):
                with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
                    do(X_bad)
        for y_bad in (y[1:], y[None], np.full(20, 3), np.full(20, -1), y + 0.5, y == 1):
            with pytest.raises((ValueError, TypeError), match=r"\by\b"):
                learner.run(X, y_bad)


@learners
def test_refused_labels_and_answers(module, name, rng):
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        for label in (-1, 3, 2**70, 1.5, "1", None, True, [1]):
            arguments = (label, True) if is_bandit(name) else (label,)
            with pytest.raises((ValueError, TypeError), match=r"\blabel\b|\by\b"):
                learner.learn(X[0], *arguments)
        for correct in (-2, 2, 0.5, "True", None):
            if is_bandit(name):
                with pytest.raises((ValueError, TypeError), match=r"\bcorrect\b"):
                    learner.learn(X[0], 1, correct)


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in ("rbf", "v5 alpha")])
def test_a_row_beyond_the_range_of_float64(module, name, rng):
    """Its square, its scores or what is learned from it would be infinite."""
    learner, (X, y) = trained(module, name, rng), problem(rng, T=20)
    with unchanged(learner, X, y):
        with pytest.raises(ValueError, match=r"\bx\b|kernel"):
            teach(learner, name, np.full(5, 1e308), 1, 1)


REFUSED = [
    ("Confidit", "n_classes", {"n_classes": 1}),
    ("Confidit", "n_classes", {"n_classes": 2.0}),
    ("Confidit", "n_classes", {"n_classes": True}),
    ("Confidit", "covariance", {"covariance": "half"}),
    ("Confidit", "confidence", {"confidence": None}),
    ("Confidit", "eta", {"eta": 0.0}),
    ("Confidit", "eta", {"eta": -1.0}),
    ("Confidit", "eta", {"eta": np.nan}),
    ("Confidit", "alpha", {"alpha": -1.0}),
    ("Confidit", "alpha", {"alpha": 1.0000001}),
    ("Confidit", "alpha", {"alpha": "1"}),
    ("Confidit", "projection", {"projection": "yes"}),
    ("Confidit", "norm_bound", {"norm_bound": -1.0}),
    ("Confidit", "delta", {"delta": 0.0}),
    ("Confidit", "delta", {"delta": 1.5}),
    ("Confidit", "approximation_error", {"approximation_error": -0.1}),
    ("Confidit", "approximation_error", {"approximation_error": "0.1"}),
    ("Confidit", "approximation_error", {"approximation_error": None}),
    ("Confidit", "diagonal_step", {"diagonal_step": "exact"}),
    ("Confidit", "normalize", {"normalize": 3}),
    ("Confidit", "kernel", {"kernel": "rbf"}),
    ("Confidit", "kernel", {"kernel": "cubic", "covariance": "kernel"}),
    ("Confidit", "kernel", {"kernel": 3, "covariance": "kernel"}),
    ("Confidit", "kernel_params", {"covariance": "kernel", "kernel_params": {"gama": 1.0}}),
    ("Confidit", "seed", {"seed": "later"}),
    ("Confidit", "seed", {"seed": -1}),
    ("Banditron", "n_classes", {"n_classes": 0}),
    ("Banditron", "gamma", {"gamma": 0.0}),
    ("Banditron", "gamma", {"gamma": 1.5}),
    ("Newtron", "covariance", {"covariance": "kernel"}),
    ("Newtron", "alpha", {"alpha": 0.0}),
    ("Newtron", "beta", {"beta": -1.0}),
    ("Newtron", "gamma", {"gamma": 1.01}),
    ("Newtron", "norm_bound", {"norm_bound": np.inf}),
    ("MulticlassPerceptron", "n_classes", {"n_classes": -3}),
    ("MulticlassSecondOrderPerceptron", "a", {"a": 0.0}),
    ("MulticlassSecondOrderPerceptron", "a", {"a": 1e-320}),
    ("MulticlassAROW", "r", {"r": -1.0}),
    ("MulticlassAROW", "r", {"r": np.inf}),
]


@pytest.mark.parametrize("kind, named, arguments", REFUSED)
def test_refused_parameters(module, kind, named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        getattr(module, kind)(**{"n_classes": 3, **arguments})


@pytest.mark.parametrize("kind", sorted({kind for kind, _ in LEARNERS.values()}))
def test_parameters_with_a_default_go_by_name(module, kind):
    with pytest.raises(TypeError):
        getattr(module, kind)(3, 1.0)


def test_a_class_that_is_not_there(module, rng):
    for name in ("v5", "AROW", "second-order"):
        learner = trained(module, name, rng)
        for i in (-1, 3, 0.0):
            with pytest.raises((ValueError, TypeError), match=r"\bi\b"):
                learner.inverse(i)
