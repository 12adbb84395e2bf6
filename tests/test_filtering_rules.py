"""The rules of the ridge filter beyond the paper's: widths, BBQ, DGS, and the floor."""

import math

import numpy as np
import pytest
from filtering_cases import MODULES, all_of, learn_all, problem, unchanged

import coactive_fast as cf

RULES = {
    "ucb": {"rule": "ucb", "width": 0.5},
    "ucb theory": {"rule": "ucb", "delta": 0.2},
    "bbq": {"rule": "bbq", "power": 0.4},
    "dgs": {"rule": "dgs", "width": 0.2},
    "dgs theory": {"rule": "dgs", "delta": 0.3},
}
rules = pytest.mark.parametrize("rule", RULES)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


class Explicit:
    """A filter of dense rows, by the formulas."""

    def __init__(self, d, tau, rule, width=None, power=0.5, delta=0.05):
        self.A, self.b, self.N, self.t, self.known = np.eye(d), np.zeros(d), 0, 0, 0.0
        self.tau, self.rule, self.width, self.power, self.delta = tau, rule, width, power, delta

    def forward(self, x):
        self.t += 1
        v = np.linalg.solve(self.A, x)
        m, q = self.b @ v, x @ v
        if self.N == 0:
            return True
        if self.rule == "bbq":
            return m / (1.0 + q) >= self.tau or q / (1.0 + q) > self.t**-self.power
        if self.rule == "ucb":
            information = np.linalg.slogdet(self.A)[1]
            c = math.sqrt(information - 2.0 * math.log(self.delta)) + 1.0
            c = c if self.width is None else self.width
        elif self.width is None:
            c = math.sqrt(1.0 + 4.0 * self.known + 36.0 * math.log(self.t / self.delta))
        else:
            c = self.width * math.sqrt(math.log(1.0 + self.t))
        return m + c * math.sqrt(q) >= self.tau

    def learn(self, x, y):
        v = np.linalg.solve(self.A, x)
        w, q = np.linalg.solve(self.A, self.b), x @ v
        if self.rule == "dgs":  # first w onto the set |w.x| <= 1, in the norm of A
            w = w - math.copysign(max(abs(w @ x) - 1.0, 0.0), w @ x) / q * v
        self.b = self.A @ w + y * x
        self.A = self.A + np.outer(x, x)
        self.known += x @ np.linalg.solve(self.A, x)
        self.N += 1


@rules
@pytest.mark.parametrize("rho", [0.5, 1.0, 3.0])
def test_decisions_are_those_of_the_formulas(module, rule, rho, rng):
    X, y = problem(rng, T=150, d=4)
    learner = module.RidgeFilter(cost_ratio=rho, **RULES[rule])
    expected = Explicit(4, (rho - 1.0) / (rho + 1.0), **RULES[rule])
    for x, relevant in zip(X, y, strict=True):
        forwarded = learner.forward(x)
        assert forwarded == expected.forward(x)
        if forwarded:
            learner.learn(x, bool(relevant))
            expected.learn(x, 1.0 if relevant else -1.0)


@rules
def test_rules_hold_something_back(module, rule, rng):
    """Where the theory's width is no use for 400 unit rows, a number is."""
    X, y = problem(rng, T=400, d=4)
    held = 400 - module.RidgeFilter(cost_ratio=2.0, **RULES[rule]).run(X, y).forwarded.sum()
    assert held > 30 or "theory" in rule


def test_a_confident_mistake_is_learned_from_the_nearer_side(module):
    """w.x = 3 before: DGS takes it for 1, so that the step is shorter."""
    plain, clipped = module.RidgeFilter(), module.RidgeFilter(rule="dgs")
    for learner in (plain, clipped):
        for _ in range(200):
            learner.learn([1.0], True)
    # q = 1/201; w.x is 200/201 (no clipping so far), and 3 times that on a row three times as long
    x, q, m = [3.0], 9.0 / 201.0, 600.0 / 201.0
    for learner, start in ((plain, m), (clipped, 1.0)):
        learner.learn(x, False)
        after = start + q / (1.0 + q) * (-1.0 - start)
        q_after = q / (1.0 + q)
        assert learner.margin(x) == pytest.approx(after / (1.0 + q_after), rel=1e-9)


@rules
@pytest.mark.parametrize("form", ["full", "diagonal", "kernel"])
def test_a_run_is_its_single_calls(rule, form, rng):
    X, y = problem(rng, T=120)
    arguments = {"cost_ratio": 1.5, "covariance": form, "floor": 0.3, **RULES[rule]}
    whole, single = cf.RidgeFilter(**arguments), cf.RidgeFilter(**arguments)
    twin = cf.reference.RidgeFilter(**arguments).run(X, y)
    history = whole.run(X, y)
    for t, (x, relevant) in enumerate(zip(X, y, strict=True)):
        assert single.margin(x) == history.margins[t]
        assert single.forward(x) == history.forwarded[t]
        if history.forwarded[t]:
            single.learn(x, bool(relevant))
    assert single.threshold == whole.threshold
    np.testing.assert_array_equal(twin.forwarded, history.forwarded)
    np.testing.assert_allclose(twin.margins, history.margins, rtol=1e-9, atol=1e-12)


@rules
def test_files_go_on_bit_for_bit(rule, rng, tmp_path):
    X, y = problem(rng, T=120)
    learner = cf.RidgeFilter(floor=0.2, calibrate=True, **RULES[rule])
    learner.run(X[:60], np.zeros(60, dtype=bool) if rule == "bbq" else y[:60])
    learner.save(tmp_path / "learner.cf")
    other = cf.load(tmp_path / "learner.cf")
    assert other.threshold == learner.threshold
    for one in (learner, other):
        assert one.probability(X[0]) == learner.probability(X[0])
    np.testing.assert_equal(all_of(other.run(X[60:], y[60:])), all_of(learner.run(X[60:], y[60:])))


# --- the floor ----------------------------------------------------------------------------------


def test_a_floor_keeps_looking_while_nothing_relevant_was_found(module, rng):
    X = np.abs(problem(rng, T=400)[0])
    arguments = {"threshold_scale": 0.0, "cost_ratio": 2.0}
    never = np.zeros(400, dtype=bool)
    assert module.RidgeFilter(floor=0.0, **arguments).run(X, never).forwarded.sum() == 1
    found = module.RidgeFilter(floor=0.05, **arguments).run(X, never).forwarded
    for t in range(1, 401):  # no less than the share, and no more by more than a row
        assert 0.05 * t <= found[:t].sum() < 0.05 * t + 1.0
    late = np.arange(400) >= 200
    found = module.RidgeFilter(floor=0.05, **arguments).run(X, late).forwarded
    first = np.flatnonzero(found & late)[0]
    assert first <= 220
    plain = module.RidgeFilter(**{**arguments, "floor": 0.0})  # from then on it is the plain rule
    learn_all(plain, X[found & (np.arange(400) <= first)], late[found & (np.arange(400) <= first)])
    for t in range(first + 1, 400):
        forwarded = plain.margin(X[t]) >= 1.0 / 3.0
        assert found[t] == forwarded
        if forwarded:
            plain.learn(X[t], bool(late[t]))


@pytest.mark.parametrize("named, arguments", [
    ("rule", {"rule": "best"}),
    ("rule", {"rule": "bbq", "feedback": "full"}),
    ("rule", {"rule": "dgs", "feedback": "full"}),
    ("width", {"rule": "ucb", "width": -1.0}),
    ("width", {"rule": "ucb", "width": np.nan}),
    ("width", {"rule": "ucb", "width": "wide"}),
    ("width", {"rule": "ucb", "width": None}),
    ("power", {"rule": "bbq", "power": -0.5}),
    ("power", {"rule": "bbq", "power": "1"}),
    ("floor", {"floor": 1.5}),
    ("floor", {"floor": -0.1}),
    ("floor", {"floor": "often"}),
])
def test_refused_parameters(module, named, arguments):
    with pytest.raises((ValueError, TypeError), match=rf"\b{named}\b"):
        module.RidgeFilter(**arguments)


@rules
def test_a_refused_row_changes_nothing(rule, rng):
    X, y = problem(rng, T=40)
    learner = cf.RidgeFilter(floor=0.5, calibrate=True, **RULES[rule])
    learner.run(X, y & False)
    with unchanged(learner, X, y):
        state = str(learner._engine._state())
        for bad in (np.full(5, 1e200), np.full(5, np.nan), np.zeros(4)):
            with pytest.raises(ValueError, match=r"\bx\b"):
                learner.learn(bad, True)
        assert str(learner._engine._state()) == state
