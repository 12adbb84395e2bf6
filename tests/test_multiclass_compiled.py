"""What only the compiled multiclass learners have: bits, layouts, pruning, growth, states."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from multiclass_cases import (
    DRAWN,
    LEARNERS,
    build,
    is_bandit,
    loop,
    problem,
    same_state,
    state,
    stream,
    teach,
)
from row_cases import sparse_forms, unit_rows

import coactive_fast as cf

learners = pytest.mark.parametrize("name", LEARNERS)
FULL = [name for name, (_, arguments) in LEARNERS.items() if arguments.get("covariance") == "full"]


# --- the same bits whatever the form and the way --------------------------------------------


@learners
@pytest.mark.parametrize("d, n_classes", [(6, 3), (33, 9), (40, 20), (9, 40)])
def test_a_run_is_the_loop_to_the_bit(name, d, n_classes, rng):
    X, y = stream(rng, T=120, d=d, n_classes=n_classes)
    whole, single = build(cf, name, n_classes), build(cf, name, n_classes)
    history = whole.run(X, y, epochs=2)
    choices = loop(single, name, np.vstack((X, X)), np.tile(y, 2))
    np.testing.assert_array_equal(history.choices, choices)
    assert whole.rounds == 240
    same_state(whole, single)
    np.testing.assert_array_equal(whole.decision_function(X), single.decision_function(X))


@learners
@pytest.mark.parametrize("n_classes", [3, 20, 70])
def test_the_form_of_the_rows_changes_no_bit(name, n_classes, rng):
    if name in ("linear", "rbf") and n_classes > 3:
        pytest.skip("its rows are written out anyway")
    if name == "Newtron full" and n_classes > 20:
        pytest.skip("a matrix of order 2800 a round")
    d = 8 if name == "Newtron full" else 40
    X, y = stream(rng, d=d, n_classes=n_classes)
    X = X.astype(np.float32).astype(np.float64)  # so that float32 holds the same rows
    forms = {**dict(sparse_forms(X)), "fortran": np.asfortranarray(X), "float32": X.astype("f"),
             "sparse float32": scipy.sparse.csr_matrix(X.astype("f")),
             "strided": np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
             "backwards": X[::-1][::-1]}
    plain = build(cf, name, n_classes)
    expected = plain.run(X, y)
    for form, rows in forms.items():
        other = build(cf, name, n_classes)
        assert other.run(rows, y) == expected, form
        same_state(other, plain)
        if form in ("int32", "int64", "unsorted", "duplicates", "sparse float32", "float32"):
            single = build(cf, name, n_classes)
            ones = [rows[t:t + 1] for t in range(len(y))]
            np.testing.assert_array_equal(loop(single, name, ones, y), expected.choices)
            same_state(single, plain)
        np.testing.assert_array_equal(other.decision_function(rows), plain.decision_function(X))


@learners
@pytest.mark.parametrize("d", [6, 40])
def test_what_choose_leaves_changes_no_bit(name, d, rng):
    """Asked before, asked about something else in between, by others, or not at all."""
    X, y = stream(rng, d=d)
    asked, confused, silent = (build(cf, name) for _ in range(3))
    for x, right in zip(X, y, strict=True):
        label = int(rng.integers(3))
        if name not in DRAWN:
            asked.choose(x)
            confused.choose(x)
            confused.choose(-x)
            confused.choose(scipy.sparse.csr_matrix(x))
            confused.predict(x[None])
        for learner in (asked, confused, silent):
            teach(learner, name, x, label, right)
    same_state(asked, silent)
    same_state(confused, silent)


def test_a_row_that_changes_after_choose_is_another_row(rng):
    learner, other = cf.Confidit(3, eta=0.5), cf.Confidit(3, eta=0.5)
    X, y = stream(rng)
    learner.run(X, y)
    other.run(X, y)
    x = X[0].copy()
    learner.choose(x)
    x[:] = X[1]
    learner.learn(x, 1, False)
    other.learn(X[1], 1, False)
    same_state(learner, other)
    row = scipy.sparse.csr_matrix(X[2])
    learner.choose(row)
    row.indices[:2] = row.indices[1::-1].copy()  # the same values at other places
    learner.learn(row, 1, True)
    other.learn(row.toarray()[0], 1, True)
    same_state(learner, other)


def test_parameters_between_choose_and_learn(rng):
    """set_params, add_class and reset throw away what choose has left."""
    X, y = stream(rng)
    for change in (lambda m: m.set_params(projection=True), lambda m: m.add_class(),
                   lambda m: m.set_params(normalize=True)):
        asked, silent = cf.Confidit(3), cf.Confidit(3)
        for learner in (asked, silent):
            learner.run(X, y)
        asked.choose(X[0])
        for learner in (asked, silent):
            change(learner)
            learner.learn(X[0], 2, True)
        same_state(asked, silent)


# --- what a row may be ----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_tables_of_every_make(rng, tmp_path):
    X, y = stream(rng)
    learner = cf.Confidit(3, eta=0.5)
    learner.run(X, y)
    expected = learner.decision_function(X)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    shifted = np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    forms = [mapped, frozen, X.astype(">f8"), X.astype(np.longdouble), X.tolist(), np.asmatrix(X),
             shifted.reshape(X.shape), X[:, None, :][:, 0]]
    for form in forms:
        np.testing.assert_array_equal(learner.decision_function(form), expected)
        assert learner.choose(form[3]) == learner.choose(X[3])
    for kind in (bool, np.int8, np.uint64, np.float16):
        small = np.rint(X).astype(np.int8).astype(kind)
        forms = [small] if kind is np.float16 else [small, scipy.sparse.csr_matrix(small)]
        for form in forms:
            np.testing.assert_array_equal(learner.decision_function(form),
                                          learner.decision_function(small.astype(float)))
            assert learner.choose(form[2]) == learner.choose(small[2].astype(float))


def test_data_frames(rng):
    pandas = pytest.importorskip("pandas")
    X, y = stream(rng)
    learner = cf.Confidit(3)
    frame = pandas.DataFrame(X)
    assert learner.run(frame, pandas.Series(y)) == cf.Confidit(3).run(X, y)
    np.testing.assert_array_equal(learner.decision_function(frame), learner.decision_function(X))
    assert learner.choose(frame.iloc[4]) == learner.choose(X[4])


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", ["matrix", "array"])
def test_sparse_formats(form, kind, rng):
    X, y = stream(rng)
    rows = getattr(scipy.sparse, f"{form}_{kind}")(X)
    learner, plain = cf.Confidit(3), cf.Confidit(3)
    assert learner.run(rows, y) == plain.run(X, y)
    one = getattr(scipy.sparse, f"{form}_{kind}")(X[5:6])
    learner.learn(one, 1, True)
    plain.learn(X[5], 1, True)
    same_state(learner, plain)


@pytest.mark.parametrize("places", [np.int32, np.int64, np.uint8, np.uint64, ">i4", list])
@pytest.mark.parametrize("values", [np.float64, np.float32, ">f8", int, list])
def test_pairs_of_every_kind(places, values, rng):
    """The same bits as the vector; nothing of the caller's is written to."""
    X = rng.integers(-3, 4, size=(20, 9)).astype(float)
    learner, plain = cf.Confidit(3, normalize=True), cf.Confidit(3, normalize=True)
    for one in (learner, plain):
        one.learn(X[0], 1, True)
    for t, x in enumerate(X[1:]):
        index = np.flatnonzero(x)
        if t % 3 == 0:  # in any order, and a feature in two parts
            index = np.append(rng.permutation(index), index[:1])
        value = x[index]
        if t % 3 == 0 and len(index):
            value[-1] -= 2.0
            value[0 if index[0] == index[-1] else index.tolist().index(index[-1])] = 2.0
        index = index.tolist() if places is list else index.astype(places)
        value = value.tolist() if values is list else value.astype(values)
        before = copy.deepcopy((index, value))
        assert learner.choose((index, value)) == plain.choose(x)
        learner.learn((index, value), t % 3, t % 2 == 0)
        plain.learn(x, t % 3, t % 2 == 0)
        np.testing.assert_equal((index, value), before)
    np.testing.assert_allclose(learner.weights, plain.weights, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("most", [None, 20])
@pytest.mark.parametrize("pair", [
    ([2**63 - 1], [1.0]), (np.array([2**64 - 1], np.uint64), [1.0]), ([10**30], [1.0]),
    (np.array([2**63 - 1]), np.ones(1)), (np.array([-(2**63)]), np.ones(1)), ([-1], [1.0]),
    (np.array([1, 2], np.int32), np.ones(1)), ([1.0], [1.0]), ([True], [1.0]), ([25], [1.0]),
    (np.array([1, 1], np.int32), np.full(2, 1e308)), (np.array([1]), np.array([np.nan])),
    (np.ma.array([1]), [1.0]), ([1], np.ma.array([1.0])), ([[1]], [[1.0]]), (["a"], [1.0]),
], ids=repr)
def test_pairs_that_are_refused(pair, most):
    learner = cf.Confidit(3, max_features=most)
    learner.learn(np.ones(9), 1, True)
    before = state(learner)
    for do in (lambda: learner.choose(pair), lambda: learner.learn(pair, 1, True)):
        with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
            do()
    np.testing.assert_equal(state(learner), before)


def broken_rows():
    """CSR matrices whose arrays were changed behind scipy's back."""
    def csr():
        return scipy.sparse.csr_matrix(np.arange(1.0, 13.0).reshape(2, 6))

    for name, value in (("indices", -1), ("indices", 6), ("indptr", 99), ("indptr", -1),
                        ("data", np.nan), ("data", np.inf)):
        X = csr()
        getattr(X, name)[1] = value
        yield pytest.param(X, id=f"{name}-{value}")
    for name, value in (("indices", np.arange(5)), ("data", np.ones(3)),
                        ("indptr", np.array([0, 12])), ("data", np.ones(12, dtype=complex)),
                        ("indices", np.ones(12))):
        X = csr()
        setattr(X, name, value)
        yield pytest.param(X, id=f"{name}-{value.dtype}-{value.size}")
    X = csr()
    X.indices[:], X.data[:] = 2, 1e308
    yield pytest.param(X, id="sum-overflows")


@pytest.mark.parametrize("X", list(broken_rows()))
def test_broken_rows_are_refused(X):
    learner = cf.Confidit(3)
    learner.learn(np.ones(6), 1, True)
    before = state(learner)
    for do in (lambda: learner.run(X, [0, 1]), lambda: learner.predict(X)):
        with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
            do()
    row = scipy.sparse.csr_matrix(np.arange(1.0, 7.0))
    row.data, row.indices, row.indptr = X.data, X.indices, X.indptr[:2]
    if X.indptr[1] == 6 and X.data.size == 3:
        row.indptr = np.array([0, 6])
    if len(X.indptr) == 3 and not (X.indptr[1] == 6 and X.indices.size == 5):
        with pytest.raises((ValueError, TypeError), match=r"\bx\b"):
            learner.choose(row)
    np.testing.assert_equal(state(learner), before)


def test_masked_values_are_refused():
    learner = cf.Confidit(3)
    with pytest.raises(ValueError, match=r"\bx\b.*masked"):
        learner.choose(np.ma.masked_array([1.0, 2.0], mask=[True, False]))


def test_rows_are_the_callers():
    """No row is changed, none is kept."""
    learner = cf.Confidit(3, normalize=True)
    x, row = np.array([3.0, 4.0]), scipy.sparse.csr_matrix([[0.0, 2.0]])
    learner.choose(x)
    learner.learn(x, 1, True)
    learner.learn(row, 1, True)
    learner.run(np.vstack((x, x)), [0, 1])
    np.testing.assert_array_equal(x, [3.0, 4.0])
    assert row.data.tolist() == [2.0]
    weights = learner.weights
    x[:] = row.data[:] = np.nan
    np.testing.assert_array_equal(learner.weights, weights)


# --- pruning --------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", ["constant", "theory"])
@pytest.mark.parametrize("eta", [0.01, 1.0, 25.0])
@pytest.mark.parametrize("d, n_classes", [(33, 5), (50, 20), (64, 9)])
def test_pruning_is_exact(confidence, eta, d, n_classes, rng):
    X, y = problem(rng, T=250, d=d, n_classes=n_classes, noise=0.01)
    X[::7] *= rng.random((len(X[::7]), 1)) * 100.0
    arguments = {"covariance": "full", "confidence": confidence, "eta": eta, "alpha": 0.5,
                 "norm_bound": 0.1, "seed": 1}
    pruned, plain = (cf.Confidit(n_classes, **arguments) for _ in range(2))
    plain._engine._pruning = False
    assert pruned._engine._pruning and not plain._engine._pruning
    assert pruned.run(X, y, epochs=2) == plain.run(X, y, epochs=2)
    same_state(pruned, plain)
    for x in X[:50]:
        assert pruned.choose(x) == plain.choose(x)
        pruned.learn(x, 3, False)  # whether its class was looked at or not
        plain.learn(x, 3, False)
    same_state(pruned, plain)


def test_pruning_is_exact_where_inverses_drift(rng):
    """Ill-conditioned matrices, widths near their bound: directions that were hardly seen."""
    X, y = problem(rng, T=400, d=40, n_classes=12, noise=0.01)
    X *= np.logspace(0, -5, 40)
    pruned, plain = (cf.Confidit(12, covariance="full", alpha=-0.99, seed=2, eta=1e-3)
                     for _ in range(2))
    plain._engine._pruning = False
    assert pruned.run(X, y, epochs=5) == plain.run(X, y, epochs=5)
    same_state(pruned, plain)


def test_pruning_keeps_ties_with_the_lower_label(rng):
    learner = cf.Confidit(20, covariance="full")
    x = unit_rows(rng, 1, 40)[0]
    learner.learn(x, 0, False)
    for label in range(1, 20):  # classes that know nothing have the same bits
        assert learner.choose(x) == label
        learner.learn(x, label, False)
    assert learner.choose(x) == 0


# --- growth ---------------------------------------------------------------------------------

GROWING = ["v5", "v5 alpha", "printed", "diagonal projection", "Banditron", "Newtron",
           "Perceptron", "second-order", "AROW"]


@pytest.mark.parametrize("name", GROWING)
@pytest.mark.parametrize("sparse", [False, True])
def test_features_may_grow(name, sparse, rng):
    """As if the width had been known from the start; narrow rows go on being welcome."""
    X, y = stream(rng, d=12)
    widths = np.minimum(12, 2 + np.arange(len(X)) // 4 + rng.integers(-1, 3, len(X)))
    X[np.arange(12) >= widths[:, None]] = 0.0
    grown, wide = build(cf, name, max_features=12), build(cf, name)
    seen = 0
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        part = x[:widths[t]]
        form = scipy.sparse.csr_matrix(part) if sparse else part
        assert grown.choose(form) == wide.choose(x)
        np.testing.assert_array_equal(grown.decision_function(form[None] if not sparse else form),
                                      wide.decision_function(x[None]))
        label = int(rng.integers(3))
        teach(grown, name, form, label, right)
        teach(wide, name, x, label, right)
        seen = max(seen, widths[t])
        assert grown.weights.shape == (3, seen)
    np.testing.assert_array_equal(grown.weights, wide.weights[:, :seen])
    same = copy.deepcopy(grown)
    with pytest.raises(ValueError, match="12.*13|13.*12"):
        grown.choose(np.ones(13))
    with pytest.raises(ValueError, match="12.*13|13.*12"):
        grown.run(np.ones((2, 13)), [0, 1])
    same_state(grown, same)
    grown.run(X, y)
    wide.run(X, y)
    np.testing.assert_array_equal(grown.weights, wide.weights)


def test_max_features_is_for_what_can_grow():
    for covariance in ("full", "kernel"):
        with pytest.raises(ValueError, match="max_features"):
            cf.Confidit(3, covariance=covariance, max_features=5)
    for wrong in (0, -1, 2.5, "3", True):
        with pytest.raises((ValueError, TypeError), match="max_features"):
            cf.MulticlassPerceptron(3, max_features=wrong)
    fixed = cf.MulticlassPerceptron(3)
    fixed.learn([1.0, 2.0], 1)
    with pytest.raises(ValueError, match=r"\bx\b.*2.*3"):
        fixed.learn([1.0, 2.0, 3.0], 1)


@learners
@pytest.mark.parametrize("d", [5, 40])
def test_many_classes_more(name, d, rng):
    """Beyond a vector of eight, one at a time; copies and states go along."""
    X, y = stream(rng, d=d)
    learner = build(cf, name)
    learner.run(X, y)
    kept = learner.decision_function(X)
    for k in range(3, 20):
        assert learner.add_class() == k and learner.n_classes == k + 1
        scores = learner.decision_function(X)
        np.testing.assert_array_equal(scores[:, :3], kept)
        assert not scores[:, 3:].any()
    other = pickle.loads(pickle.dumps(learner))
    assert other.n_classes == 20
    for one in (learner, other):
        one.run(X, (y + 15) % 20)
        for x, right in zip(X, y, strict=True):
            teach(one, name, x, 15 + right, 15 + right)
    same_state(learner, other)
    assert learner.decision_function(X)[:, 15:18].any(axis=0).all()
    assert learner.reset().n_classes == 3


def test_an_added_class_is_there_before_the_first_round():
    learner = cf.Confidit(2, covariance="full")
    learner.add_class()
    learner.set_params(eta=0.5)
    assert learner.n_classes == 3 and learner.weights.shape == (3, 0)
    learner.learn([1.0, 0.0], 2, True)
    assert learner.predict([[1.0, 0.0]])[0] == 2


# --- states ---------------------------------------------------------------------------------


@learners
@pytest.mark.parametrize("d, n_classes", [(6, 3), (40, 10)])
def test_what_was_loaded_goes_on_bit_for_bit(name, d, n_classes, rng, tmp_path):
    X, y = stream(rng, T=90, d=d, n_classes=n_classes)
    learner = build(cf, name, n_classes)
    learner.run(X[:50], y[:50])
    learner.choose(X[0])
    learner.save(tmp_path / "learner.cf")
    copies = [cf.load(tmp_path / "learner.cf"), copy.copy(learner), copy.deepcopy(learner),
              pickle.loads(pickle.dumps(learner))]
    expected = learner.run(X[50:], y[50:])
    for other in copies:
        assert other.rounds == 50
        assert other.run(X[50:], y[50:]) == expected
        same_state(other, learner)


@pytest.mark.parametrize("kind", ["MulticlassPerceptron", "MulticlassSecondOrderPerceptron"])
def test_damaged_states_are_refused(kind, rng):
    learner = getattr(cf, kind)(3)
    learner.run(*stream(rng))
    whole = state(learner)
    for key in whole:
        for damage in (None, "text", np.full(3, np.nan), -1):
            with pytest.raises((TypeError, ValueError)):
                learner._engine._restore({**whole, key: damage})
        with pytest.raises(ValueError, match=key):
            learner._engine._restore({k: v for k, v in whole.items() if k != key})
    np.testing.assert_equal(state(learner), whole)


def test_no_labels_for_no_rows():
    for empty in ([], np.empty(0, int), np.empty(0, object), np.empty(0, bool)):
        for classes in (2, 3):
            if classes == 3 and np.asarray(empty).dtype.kind == "b":
                continue
            assert len(cf.Confidit(classes).run(np.ones((0, 4)), empty)) == 0


def test_a_callable_kernel_cannot_be_saved(tmp_path):
    learner = cf.Confidit(2, covariance="kernel", kernel=lambda x, y: float(x @ y))
    with pytest.raises(ValueError, match="kernel"):
        learner.save(tmp_path / "learner.cf")


# --- the watch over the matrices ------------------------------------------------------------


@pytest.mark.parametrize("d", [5, 40])
@pytest.mark.parametrize("how", ["choose", "learn", "run"])
def test_damage_is_repaired_and_told(d, how, rng):
    """An inverse that is not positive: who first sees it has it made anew from A."""
    X, y = stream(rng, d=d)
    x = np.eye(d)[0] - np.eye(d)[1]
    learner, sound = cf.Confidit(3, covariance="full"), cf.Confidit(3, covariance="full")
    for one in (learner, sound):
        one.run(X, y)
    damaged = state(learner)
    damaged["classes"][1]["memory"][8] = 100.0  # element (1, 0) of the inverse of class 1
    learner._engine._restore(damaged)
    assert x @ learner.inverse(1) @ x < 0.0
    for one in (learner, sound):
        if how == "choose":
            one._engine._pruning = False
            one.choose(x)
        elif how == "learn":
            one.learn(x, 1, True)
        else:
            one._engine._pruning = False
            one.run([x], [1])
    np.testing.assert_allclose(learner.inverse(1), sound.inverse(1), atol=1e-12)
    np.testing.assert_allclose(learner.weights, sound.weights, atol=1e-12)
    assert learner.health()["repairs"].tolist() == [0, 1, 0]
    assert sound.health()["repairs"].tolist() == [0, 0, 0]


def test_damage_beyond_repair_is_an_error(rng):
    """Neither the inverse nor A is positive definite: nothing is learned from such a state."""
    X, y = stream(rng, d=5)
    learner = cf.Confidit(3, covariance="full")
    learner.run(X, y)
    damaged = state(learner)
    memory = damaged["classes"][1]["memory"]
    memory[8] = memory[64 + 8] = 1e6  # of both
    learner._engine._restore(damaged)
    before = state(learner)
    x = np.eye(5)[0] - np.eye(5)[1]
    for do in (lambda: learner.choose(x), lambda: learner.learn(x, 1, True),
               lambda: learner.run([x], [1])):
        with pytest.raises(ValueError, match="repair"):
            do()
    after = state(learner)
    assert after["rounds"] == before["rounds"]
    np.testing.assert_array_equal(after["weights"], before["weights"])
    assert (learner.health()["failed"] > 0).tolist() == [False, True, False]


@pytest.mark.parametrize("d", [7, 40])
def test_the_inverse_stays_that_of_the_matrix(d, rng):
    X = unit_rows(rng, 400, d) * np.logspace(0, -4, d)
    y = rng.integers(0, 3, 400)
    learner = cf.Confidit(3, covariance="full", alpha=-0.99, seed=0)
    learner.run(X, y, epochs=5)
    health = learner.health()
    assert health["updates"].sum() == 2000 and health["probes"].sum() > 0
    assert (health["renewals"] > 0).all() and health["repairs"].sum() == 0
    assert health["worst_residual"].max() < 1e-4
    A = [np.eye(d) * 0.01**2 for _ in range(3)]
    other = cf.Confidit(3, covariance="full", alpha=-0.99, seed=0)
    for label, x in zip(other.run(X, y, epochs=5).choices, np.tile(X, (5, 1)), strict=True):
        A[label] = A[label] + np.outer(x, x)
    for i in range(3):
        product = learner.inverse(i) @ A[i]
        assert np.abs(product - np.eye(d)).max() < 1e-6


@pytest.mark.parametrize("name", FULL)
def test_rows_of_another_class_of_sizes(name, rng):
    """Rows so small that they change no digit of A, and so large that they nearly overflow."""
    learner, twin = build(cf, name, alpha=1.0), build(cf.reference, name, alpha=1.0)
    for scale in (1e-3, 1e3, 1e-8, 1.0):
        for x in scale * unit_rows(rng, 5, 4):
            label = twin.choose(x)
            assert learner.choose(x) == label
            for one in (learner, twin):
                one.learn(x, label, False)
    np.testing.assert_allclose(learner.weights, twin.weights, rtol=1e-7, atol=1e-12)


# --- against the twin, where its own tests are small ----------------------------------------


@learners
@pytest.mark.parametrize("d, n_classes", [(33, 9), (12, 30)])
def test_the_twin_agrees(name, d, n_classes, rng):
    if is_bandit(name) and name not in DRAWN:
        arguments = {"alpha": 1.0}
    else:
        arguments = {}
    T = 15 if name == "Newtron full" else 80  # whose twin inverts a matrix over all classes
    X, y = stream(rng, T=T, d=d, n_classes=n_classes)
    learner, twin = (build(module, name, n_classes, **arguments) for module in (cf, cf.reference))
    for t, (x, right) in enumerate(zip(X, y, strict=True)):
        teach(learner, name, x, t % n_classes, right)
        teach(twin, name, x, t % n_classes, right)
    scores = twin.decision_function(X)
    np.testing.assert_allclose(learner.decision_function(X), scores,
                               atol=1e-9 * np.abs(scores).max())
    if hasattr(twin, "information"):
        np.testing.assert_allclose(learner.information(), twin.information(), atol=1e-9)


@pytest.mark.parametrize("entries", [1, 2, 127, 128, 129, 400])
def test_rows_in_any_order(entries):
    """Short ones are put in order otherwise than long ones; what comes twice is added in turn."""
    rng = np.random.default_rng(entries)
    places, values = rng.integers(0, 300, entries), rng.standard_normal(entries)
    order = np.argsort(places, kind="stable")
    row = scipy.sparse.csr_matrix((values, places, [0, entries]), shape=(1, 300))
    added = np.zeros(300)
    np.add.at(added, places[order], values[order])
    one, other = (cf.MulticlassAROW(3) for _ in "12")
    for label in (1, 0, 2, 1):
        one.learn(row, label)
        other.learn(added, label)
        np.testing.assert_array_equal(one.decision_function(row),
                                      other.decision_function(added[None, :]))
