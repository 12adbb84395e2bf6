"""Columns of any scale: what is read is right to six digits, or refused; never wrong.

The exact values are followed in 60 digits (scaled_streams.py).
"""

import copy
import pickle

import numpy as np
import pytest

import coactive_fast as cf

mp = pytest.importorskip("mpmath")

from scaled_streams import DIGITS, Exact, exactly, off, relative, streams  # noqa: E402

NAMES = list(streams(2, 2))
RIDGES = (1e-3, 1.0, 10.0)
MOST = 1e-6
SIZES = ((2, 2), (2, 30), (3, 5), (8, 12))


@pytest.fixture(autouse=True)
def many_digits():
    with mp.workdps(DIGITS):
        yield


class Case:
    """A stream, its targets and labels, and the rows that are read after it."""

    def __init__(self, d, rows, name, ridge):
        X = streams(d, rows)[name]
        rng = np.random.default_rng([d, rows])
        self.d, self.ridge, self.X, self.read = d, ridge, X[:rows], X[[rows, rows - 1, 0]]
        self.y = 3.0 + rng.standard_normal(rows)
        self.relevant = rng.random(rows) < 0.5

    def __iter__(self):
        return zip(self.X, self.y.tolist(), self.relevant.tolist(), strict=True)


def sign(relevant):
    return 1 if relevant else -1


def full_metric(case, **given):
    m, exact = cf.metric.Full(case.d, ridge=case.ridge, **given), Exact(case.d, case.ridge)
    for x, _, _ in case:
        assert relative(m.update(x), exact.quad(x)) < MOST
        exact.step(x, 0)
    many = m.quad_many(case.read)
    for x, q in zip(case.read, many, strict=True):
        assert m.quad(x) == q
        yield relative(q, exact.quad(x))
    yield relative(m.logdet, mp.log(mp.det(exact.A)))


def online_ridge(case):
    learner, exact = cf.OnlineRidge(ridge=case.ridge), Exact(case.d, case.ridge)
    for x, y, _ in case:
        learner.learn(x, y)
        exact.step(x, y)
    means, widths = learner.predict(case.read, return_std=True)
    for x, m, s in zip(case.read, means, widths, strict=True):
        yield from (off(m, exact.mean(x)), relative(s, mp.sqrt(exact.quad(x))))


def logistic(case):
    learner = cf.OnlineRidge(ridge=case.ridge, link="logistic")
    exact = Exact(case.d, case.ridge)
    for x, _, relevant in case:
        learner.learn(x, float(relevant))
        exact.logistic_step(x, int(relevant))
    for x, p in zip(case.read, learner.predict(case.read), strict=True):
        yield off(p, 1 / (1 + mp.exp(-exact.mean(x))))


def forgetting_ridge(case):
    learner = cf.OnlineRidge(ridge=case.ridge, forget=0.9)
    exact = Exact(case.d, case.ridge)
    for number, (x, y, _) in enumerate(case):
        learner.learn(x, y)
        exact.fade(0.9, number)
        exact.step(x, y)
    means, widths = learner.predict(case.read, return_std=True)
    for x, m, s in zip(case.read, means, widths, strict=True):
        yield from (off(m, exact.mean(x)), relative(s, mp.sqrt(exact.quad(x))))


def linear_bandit(case):
    bandit, exact = cf.LinearBandit(ridge=case.ridge), Exact(case.d, case.ridge)
    for x, y, _ in case:
        bandit.learn(x, y)
        exact.step(x, y)
    means, widths = bandit.scores(case.read)
    for x, m, s in zip(case.read, means, widths, strict=True):
        yield from (off(m, exact.mean(x)), relative(s, mp.sqrt(exact.quad(x))))
    rows = np.concatenate((case.read, np.resize(case.X, (30, case.d))))  # so many are bounded
    bounds = [exact.mean(x) + mp.sqrt(exact.quad(x)) for x in rows]
    for items in (rows, cf.Catalogue(rows)):
        yield off(bounds[bandit.choose(items)], max(bounds))


def bandit_with_context(case):
    bandit = cf.LinearBandit(ridge=case.ridge, context_features=1)
    exact = Exact(2 * case.d, case.ridge)
    for x, y, _ in case:
        bandit.learn(x, y, context=[0.5])
        exact.step(np.concatenate((x, 0.5 * x)), y)
    means, widths = bandit.scores(case.read, context=[0.5])
    for x, m, s in zip(case.read, means, widths, strict=True):
        x = np.concatenate((x, 0.5 * x))
        yield from (off(m, exact.mean(x)), relative(s, mp.sqrt(exact.quad(x))))


def arm_bandit(case):
    bandit = cf.ArmBandit(2, ridge=case.ridge)
    exact = [Exact(case.d, case.ridge) for _ in range(2)]
    for number, (x, y, _) in enumerate(case):
        bandit.learn(x, number % 2, y)
        exact[number % 2].step(x, y)
    for x in case.read:
        for one, m, s in zip(exact, *bandit.scores(x), strict=True):
            yield from (off(m, one.mean(x)), relative(s, mp.sqrt(one.quad(x))))


def ridge_filter(case, **given):
    """The regulariser of this filter is 1."""
    learner, exact = cf.RidgeFilter(**given), Exact(case.d, 1.0)
    taught = list(case)
    for x, _, relevant in taught:
        learner.learn(x, relevant)
    for number, (x, _, relevant) in enumerate(taught[-given.get("window", 99):]):
        if "forget" in given:
            exact.fade(given["forget"], number)
        exact.step(x, sign(relevant))
    for x, found in zip(case.read, learner.margins(case.read), strict=True):
        assert learner.margin(x) == found
        yield off(found, exact.margin(x))


def filter_with_window(case):
    return ridge_filter(case, window=4)


def filter_that_forgets(case):
    return ridge_filter(case, forget=0.8)


def probabilistic_filter(case):
    learner = cf.ProbabilisticRidgeFilter(a=case.ridge, explore=1.0, seed=0)
    exact = Exact(case.d, case.ridge)
    for x, _, relevant in case:
        learner.learn(x, relevant)
        exact.step(x, sign(relevant))
        exact.into_ball()
    for x in case.read:
        yield off(learner.margin(x), exact.mean(x))


def confidit(case):
    """Whose regulariser is 4; every class in turn, so that one of them may convert alone."""
    learner, exact = cf.Confidit(3, covariance="full"), [Exact(case.d, 4.0) for _ in range(3)]
    for number, (x, _, relevant) in enumerate(case):
        learner.learn(x, number % 3, relevant)
        exact[number % 3].step(x, sign(relevant))
    scores = learner.decision_function(case.read)
    for x, found in zip(case.read, scores, strict=True):
        for one, m in zip(exact, found, strict=True):
            yield off(m, one.mean(x))
        bounds = [one.mean(x) + mp.sqrt(one.quad(x)) for one in exact]
        yield off(bounds[learner.choose(x)], max(bounds))


def newtron(case):
    """Refuses rows that take too many digits."""
    learner = cf.Newtron(2, covariance="full", alpha=0.1, beta=0.5, norm_bound=1.0)
    exact = Exact(2 * case.d, 1.0)
    b = mp.zeros(2 * case.d, 1)
    for number, (x, _, relevant) in enumerate(case):
        label = number % 2
        try:
            learner.learn(x, label, relevant)
        except ValueError as error:  # what follows is without that row
            assert "the columns must be scaled" in str(error)
            continue
        x = exactly(x)
        m = [mp.fdot(exact.w[:case.d], x), mp.fdot(exact.w[case.d:], x)]
        p = [mp.exp(mp.mpf(0.1) * (one - max(m))) for one in m]
        p = [one / sum(p) for one in p]
        mixed = (1 - mp.mpf(0.05)) * p[label] + mp.mpf(0.05) / 2
        step = ((p[label] - 1) if relevant else p[label]) / mixed
        h = mp.mpf(0.5) * (mixed if relevant else 1)
        g = mp.matrix([*(x * (step / 2)), *(x * (-step / 2))])
        if label:
            g = -g
        b += h * mp.fdot(g, exact.w) * g - g
        exact.A += h * g * g.T
        exact.w = exact.solve(b)
        exact.into_ball(1)
    for x, found in zip(case.read, learner.decision_function(case.read), strict=True):
        for i in range(2):
            yield off(found[i], mp.fdot(exact.w[i * case.d:(i + 1) * case.d], exactly(x)))


def second_order(case):
    learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(k=1), radius=0.5, epsilon=case.ridge)
    exact = Exact(case.d, case.ridge)
    for x, _, _ in case:
        learner.update(x)
        exact.A += exactly(x) * exactly(x).T
        exact.w += exact.solve(exactly(x))
        exact.into_ball(0.5)
    for x, score in zip(case.read, learner.scores(case.read), strict=True):
        yield off(score, exact.mean(x))


def online_newton(case):
    """A step is of the order of a gradient over A, whatever its scale."""
    learner = cf.ONS(case.d, cf.Ball(1.0), beta=0.5, epsilon=case.ridge)
    exact = Exact(case.d, case.ridge)
    for x, _, _ in case:
        learner.ask()
        learner.tell(x)
        exact.A += exactly(x) * exactly(x).T
        exact.w -= exact.solve(exactly(x)) / mp.mpf(0.5)
        exact.into_ball(1)
    for x in case.read:
        yield off(learner.center @ x, exact.mean(x))


LEARNERS = {
    "Full": full_metric, "Full robust": lambda case: full_metric(case, precision="robust"),
    "OnlineRidge": online_ridge, "OnlineRidge logistic": logistic,
    "OnlineRidge forget": forgetting_ridge, "LinearBandit": linear_bandit,
    "LinearBandit context": bandit_with_context, "ArmBandit": arm_bandit,
    "RidgeFilter": ridge_filter, "RidgeFilter window": filter_with_window,
    "RidgeFilter forget": filter_that_forgets, "ProbabilisticRidgeFilter": probabilistic_filter,
    "Confidit": confidit, "Newtron": newtron, "SecondOrderPreferencePerceptron": second_order,
    "ONS": online_newton,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("learner", list(LEARNERS))
def test_six_digits_are_right(learner, name):
    for d, rows in SIZES:
        for ridge in RIDGES:
            errors = list(LEARNERS[learner](Case(d, rows, name, ridge)))
            assert max(errors) < MOST, (d, rows, ridge, errors)


def test_the_readme_case_of_seconds():
    """Three rows with a time stamp: the exact prediction is 4.0000588."""
    X = [[1.0, 3.0, 1.7e9], [1.0, 5.0, 1.7e9 + 4e4], [1.0, 4.0, 1.7e9 + 9e4]]
    learner = cf.OnlineRidge()
    learner.learn(X[0], 3.0)
    learner.learn(X[1], 5.0)
    assert learner.predict([X[2]])[0] == pytest.approx(4.0000588, rel=1e-7)
    m = cf.metric.Full(3)
    m.update(X[0])
    assert m.quad(X[1]) == pytest.approx(4.99976, rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_long_streams_and_many_features(name):
    """2,000 rows of 3 features; 40 rows of 48, which stand beyond the octets."""
    for d, rows in ((3, 2000), (48, 40)):
        case = Case(d, rows, name, 1.0)
        learner, exact = cf.OnlineRidge(), Exact(d, 1.0)
        columns = [exactly(column) for column in case.X.T]
        for i in range(d):
            for j in range(i + 1):
                exact.A[i, j] += mp.fdot(columns[i], columns[j])
                exact.A[j, i] = exact.A[i, j]
        exact.w = exact.solve(mp.matrix([mp.fdot(column, exactly(case.y)) for column in columns]))
        learner.run(case.X, case.y)
        means, widths = learner.predict(case.read, return_std=True)
        for x, m, s in zip(case.read, means, widths, strict=True):
            assert off(m, exact.mean(x)) < MOST and relative(s**2, exact.quad(x)) < MOST


def test_classes_that_stand_alone():
    """More features than stand in octets, several classes, some of which convert."""
    case = Case(36, 12, "seconds", 4.0)
    assert max(confidit(case)) < MOST
    learner = cf.Confidit(3, covariance="full", projection=True)
    for number, (x, _, relevant) in enumerate(case):
        learner.learn(x if number % 3 else np.ones(36), number % 3, relevant)
    assert learner.health()["precision"].tolist() == ["fast", "robust", "robust"]


# --- which form is in use -------------------------------------------------------------------------

WITH_PRECISION = {
    "OnlineRidge": lambda **given: cf.OnlineRidge(**given),
    "LinearBandit": lambda **given: cf.LinearBandit(**given),
    "ArmBandit": lambda **given: cf.ArmBandit(2, **given),
    "Confidit": lambda **given: cf.Confidit(2, covariance="full", **given),
    "RidgeFilter": lambda **given: cf.RidgeFilter(**given),
    "RidgeFilter window": lambda **given: cf.RidgeFilter(window=5, **given),
    "ProbabilisticRidgeFilter": lambda **given: cf.ProbabilisticRidgeFilter(explore=0.5, seed=0,
                                                                            **given),
}
with_precision = pytest.mark.parametrize("kind", list(WITH_PRECISION))


def teach(learner, X):
    for t, x in enumerate(X):
        if isinstance(learner, cf.ArmBandit | cf.Confidit):
            learner.learn(x, 0, bool(t % 2))
        else:
            learner.learn(x, bool(t % 2))


def form_of(learner):
    return np.ravel(learner.health()["precision"])[0]


def state_of(learner):
    return pickle.dumps(learner._engine._state())


@with_precision
def test_auto_converts_before_the_row_that_would_lose_digits(kind, tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 3))
    learner = WITH_PRECISION[kind]()
    assert learner.precision == "auto" and form_of(learner) == "fast"
    teach(learner, X)
    assert form_of(learner) == "fast"
    before = state_of(learner)
    with pytest.raises(ValueError, match=r"\bx\b"):
        teach(learner, [np.full(3, 1e200)])
    assert state_of(learner) == before
    teach(learner, X[:1] * 1e6)
    assert form_of(learner) == "robust"
    learner.save(tmp_path / "learner.cf")
    others = (copy.deepcopy(learner), pickle.loads(pickle.dumps(learner)),
              cf.load(tmp_path / "learner.cf"))
    for one in (learner, *others):
        assert form_of(one) == "robust" and one.precision == "auto"
        teach(one, X)
        np.testing.assert_equal(one._engine._state(), learner._engine._state())
    learner.reset()
    assert form_of(learner) == "fast"


@with_precision
def test_well_scaled_streams_keep_their_bits(kind):
    """Of the fast form; the robust one has its own last digits."""
    X = 30.0 * np.random.default_rng(1).standard_normal((300, 5))
    auto, fast, robust = (WITH_PRECISION[kind](precision=precision)
                          for precision in ("auto", "fast", "robust"))
    for learner in (auto, fast, robust):
        teach(learner, X)
    assert [form_of(learner) for learner in (auto, fast, robust)] == ["fast", "fast", "robust"]
    read = [np.array(one.decision_function(X) if kind == "Confidit" else
                     one.margins(X) if "Filter" in kind else
                     one.scores(X if kind == "LinearBandit" else X[0])[0]
                     if "Bandit" in kind else one.predict(X))
            for one in (auto, fast, robust)]
    assert read[0].tobytes() == read[1].tobytes()
    np.testing.assert_allclose(read[2], read[0], rtol=1e-9, atol=1e-12)


@with_precision
def test_fast_stays_fast(kind):
    learner = WITH_PRECISION[kind](precision="fast")
    teach(learner, [[1.0, 2.0, 1e5], [3.0, 1.0, 1e5]])
    assert form_of(learner) == "fast" and learner.get_params()["precision"] == "fast"


@with_precision
def test_the_precision_is_checked_and_shapes_the_state(kind):
    with pytest.raises(ValueError, match="precision"):
        WITH_PRECISION[kind](precision="sloppy")
    learner = WITH_PRECISION[kind]()
    teach(learner, [[1.0, 2.0]])
    with pytest.raises(ValueError, match="precision"):
        learner.set_params(precision="fast")
    learner.reset()
    learner.set_params(precision="robust")
    teach(learner, [[1.0, 2.0]])
    assert form_of(learner) == "robust"


@pytest.mark.parametrize("make", [
    lambda: cf.OnlineRidge(covariance="diagonal", precision="robust"),
    lambda: cf.Confidit(2, precision="fast"),
    lambda: cf.RidgeFilter(covariance="kernel", precision="robust"),
    lambda: cf.metric.Full(3, precision="exact"),
])
def test_precision_goes_with_the_full_covariance(make):
    with pytest.raises(ValueError, match="precision"):
        make()


def test_columns_that_become_correlated_convert_at_a_renewal():
    """No row is long, but two columns stay equal to a thousandth of a thousandth."""
    rng = np.random.default_rng(0)
    m, exact = cf.metric.Full(2), Exact(2, 1.0)
    X = 1e3 * np.repeat(rng.standard_normal((300, 1)), 2, axis=1) + 1e-3 * rng.random((300, 2))
    for x in X:
        m.update(x)
    exact.A += mp.matrix(X.T.tolist()) * mp.matrix(X.tolist())
    assert m.health()["precision"] == "robust"
    for x in (X[0], np.array([1.0, -1.0])):
        assert relative(m.quad(x), exact.quad(x)) < MOST


# --- what else is done with A -------------------------------------------------------------------


def taught(learner, X, y):
    learner.run(X, y) if isinstance(learner, cf.OnlineRidge) else [
        learner.learn(x, r) for x, r in zip(X, y, strict=True)]
    return learner


@pytest.mark.parametrize("name", ["seconds", "columns", "one outlying row"])
@pytest.mark.parametrize("kind", [cf.OnlineRidge, cf.LinearBandit])
def test_merged_and_decayed(kind, name):
    case = Case(4, 30, name, 1.0)
    exact = Exact(4, 1.0)
    for x, y, _ in case:
        exact.step(x, y)
    learner = taught(kind(), case.X[:11], case.y[:11])
    learner.merge(taught(kind(), case.X[11:], case.y[11:]))
    for number in range(2):
        for x in case.read:
            m = learner.predict([x])[0] if kind is cf.OnlineRidge else learner.scores([x])[0][0]
            assert off(m, exact.mean(x)) < MOST, number
        learner.decay(0.25)
        b = exact.A * exact.w / 4
        exact.A = exact.A / 4 + 0.75 * mp.eye(4)
        exact.w = exact.solve(b)


@pytest.mark.parametrize("name", ["seconds", "columns", "one outlying row"])
def test_merged_metrics(name):
    case, exact = Case(4, 30, name, 1.0), Exact(4, 1.0)
    halves = cf.metric.Full(4), cf.metric.Full(4)
    for half, X in zip(halves, (case.X[:3], case.X[3:]), strict=True):
        half.update_many(X)
    halves[0].merge(halves[1])
    exact.A += mp.matrix(case.X.T.tolist()) * mp.matrix(case.X.tolist())
    for x in case.read:
        assert relative(halves[0].quad(x), exact.quad(x)) < MOST
    other = copy.deepcopy(halves[0])
    assert other.update(case.read[0]) == halves[0].update(case.read[0])
    halves[0].decay(0.5)
    halves[0].forget(0.5)
    assert np.isfinite(halves[0].quad(case.read[1]))


@pytest.mark.parametrize("weight", [1.0, 0.25])
@pytest.mark.parametrize("name", ["seconds", "columns", "one outlying row"])
def test_fleets_keep_the_digits_of_learners(name, weight):
    case, exact = Case(4, 20, name, 1.0), Exact(4, 1.0)
    learner = taught(cf.OnlineRidge(), case.X, case.y)
    for x, y, _ in case:
        exact.step(x, y)
    fleet = cf.Fleet(None, cf.OnlineRidge(), 4, prior=learner, prior_weight=weight)
    fleet["a"] = learner
    for found in ([fleet["a"]] if weight < 1.0 else [fleet["a"], fleet["unknown"]]):
        for x in case.read:
            m, s = found.predict([x], return_std=True)
            assert off(m[0], exact.mean(x)) < MOST and relative(s[0] ** 2, exact.quad(x)) < MOST
    b = weight * (exact.A * exact.w)
    exact.A = weight * exact.A + (1 - weight) * mp.eye(4)
    exact.w = exact.solve(b)
    for x in case.read:
        assert off(fleet["unknown"].predict([x])[0], exact.mean(x)) < MOST


@pytest.mark.parametrize("name", ["seconds", "columns"])
def test_draws_have_the_spread_that_is_read(name):
    case = Case(3, 10, name, 1.0)
    bandit = taught(cf.LinearBandit(explore="thompson", seed=0), case.X, case.y)
    means, widths = bandit.scores(case.read)
    drawn = cf.metric.Full(3)
    drawn.update_many(case.X)
    spread = (drawn.sample(20_000, 0) @ case.read.T).std(axis=0)
    np.testing.assert_allclose(spread, widths, rtol=0.03)
    chances = bandit.probabilities(case.read, samples=4000)
    rng = np.random.default_rng(1)
    root = drawn.sample(4000, rng) @ case.read.T + means
    np.testing.assert_allclose(chances, np.bincount(root.argmax(axis=1), minlength=3) / 4000,
                               atol=0.05)


# --- kernels, and what is refused -----------------------------------------------------------------


@pytest.mark.parametrize("make", [
    lambda: cf.metric.Dual(), lambda: cf.metric.Dual(budget=4), lambda: cf.metric.Dual(window=4)])
def test_dual_metrics_refuse_rows_that_take_too_many_digits(make):
    m = make()
    m.update([1.0])
    before = m.quad([1.0])
    with pytest.raises(ValueError, match="x is too large"):
        m.update([1e9])
    assert m.quad([1.0]) == before and m.updates == 1


def test_dual_metrics_refuse_readings_that_have_lost_their_digits():
    m = cf.metric.Dual()
    for _ in range(200):
        m.update([4e3, 1.0])
    with pytest.raises(ValueError, match="x has lost its digits"):
        m.quad([4e3, 1.0])
    assert m.quad([0.0, 1.0]) == pytest.approx(1.0, rel=MOST)


@pytest.mark.parametrize("learner", [
    cf.RidgeFilter(covariance="kernel"), cf.RidgeFilter(covariance="kernel", budget=4),
    cf.ProbabilisticRidgeFilter(covariance="kernel", explore=1.0, seed=0)])
def test_kernel_filters_refuse_what_they_would_learn_wrongly(learner):
    learner.learn([1.0, 2.0], True)
    before = state_of(learner)
    with pytest.raises(ValueError, match="x is too large"):
        learner.learn([1.0, 1e5], False)
    assert state_of(learner) == before


def test_kernel_confidit_refuses_what_it_would_learn_wrongly():
    learner = cf.Confidit(2, covariance="kernel")
    learner.learn([1.0, 2.0], 0, True)
    before = state_of(learner)
    with pytest.raises(ValueError, match="x is too large"):
        learner.learn([1.0, 1e5], 1, False)
    assert state_of(learner) == before
