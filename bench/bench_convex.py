"""Online convex optimisation: rounds of ONSEG and its kin inside `run`.

Ball: the projection is never active, a round is a direction, a loss and one pass over a triangle.
Simplex: it is active in every round; the QP solvers are given z and A for nothing and project
alone, ours plays whole rounds. Abalone: one run of 150 n rounds (real data where COACTIVE_DATA
names its folder, rows of its shape else).
"""

import functools
import os
from pathlib import Path

import contenders as others
import numpy as np
from ratio import Case, Contender, Plan, Target, player, takes_at_most, times_faster

import coactive_fast as cf
from coactive_fast import reference

OURS = "coactive_fast, run"
CALLS = "coactive_fast, ask and tell from Python"
NUMPY = "numpy, inverse by Sherman-Morrison"
FORMULAS = "numpy, as the formulas stand: A and solve"
QUADPROG, PROXSUITE = "quadprog, the projection alone", "proxsuite dense, the projection alone"
BALL = {8: 250e-9, 33: 600e-9, 94: 2.5e-6}  # what the issue asks of a round
ABALONE = (4177, 8)
WEEKS = 680


# --- the ball, projection inactive --------------------------------------------------------------


def regression(n, d):
    rng = np.random.default_rng(d)
    Z = rng.uniform(-1.0, 1.0, (n, d)) / np.sqrt(d)
    return Z, Z @ rng.uniform(-0.3, 0.3, d) + 0.1 * rng.standard_normal(n)


def ball_learner(module, d, seed=0):
    return module.ONSEG(d, module.Ball(1.0), delta=0.1, gamma=0.2, beta=1.0, epsilon=1e6,
                        loss_bound=100.0, seed=seed)


class NumpyBall:
    """The same round in the usual numpy: A itself, or its inverse by Sherman-Morrison."""

    def __init__(self, Z, y, inverse):
        self.Z, self.y, (_, self.d) = Z, y, Z.shape
        self.center, self.rng = np.zeros(self.d), np.random.default_rng(0)
        self.matrix = np.eye(self.d) * (1e-6 if inverse else 1e6)
        self.play = functools.partial(self.rounds, self.by_inverse if inverse else self.by_solve)

    def by_inverse(self, g):
        others.numpy_update(self.matrix, g, 1.0)
        return self.matrix @ g, self.matrix

    def by_solve(self, g):
        self.matrix += np.outer(g, g)
        return np.linalg.solve(self.matrix, g), None

    def rounds(self, step, n):
        delta, beta, radius = 0.1, 1.0, 0.8
        for t in range(n):
            v = self.rng.standard_normal(self.d)
            v /= np.linalg.norm(v)
            i = t % len(self.Z)
            loss = 0.5 * (self.Z[i] @ (self.center + delta * v) - self.y[i]) ** 2
            u, inverse = step(self.d / delta * loss * v)
            z = self.center - u / beta
            self.center = z if z @ z <= radius * radius else others.ball_by_eigh(
                z, np.linalg.inv(self.matrix) if inverse is None else inverse, radius)


def ball_calls(learner, losses):
    def play(n):
        for t in range(n):
            learner.tell(losses.value(t, learner.ask()))
    return Contender(CALLS, play, own=True)


def ball_case(d):
    Z, y = regression(500, d)
    losses, twin_losses = cf.losses.Squared(Z, y), reference.losses.Squared(Z, y)
    ours, calls = ball_learner(cf, d), ball_learner(cf, d)
    forms = {NUMPY: NumpyBall(Z, y, True), FORMULAS: NumpyBall(Z, y, False)}
    history, twin = ours.run(losses, 200), ball_learner(reference, d)
    assert np.abs(twin.run(twin_losses, 200).loss - history.loss).max() < 1e-10
    assert np.abs(twin.center - ours.center).max() < 1e-10
    for form in forms.values():
        form.play(200)
        assert np.abs(form.center - ours.center).max() < 1e-9
    ours.run(losses, 20_000)
    assert np.linalg.norm(ours.center) < 0.7, "the projection would be active"
    targets = (takes_at_most(BALL[d]), times_faster(20, "numpy, formulas", FORMULAS),
               times_faster(20, "numpy, Sherman-Morrison", NUMPY))
    return Case("convex", f"ONSEG, ball, projection inactive, d={d}",
                Contender(OURS, lambda n: ours.run(losses, n)),
                [*(Contender(name, form.play) for name, form in forms.items()),
                 ball_calls(calls, losses)], None, targets,
                (ours.run, (losses, 1000)))


# --- the simplex, projection active -------------------------------------------------------------


def portfolio(d):
    """Weeks of d shares; constants with which every round leaves the shrunk simplex."""
    Z = 1.0 + 0.02 * np.random.default_rng(d).standard_normal((WEEKS, d))
    gamma = 0.5
    delta = gamma * cf.Simplex().in_radius(d)

    def make(module):
        return module.ONSEG(d, module.Simplex(), delta=delta, gamma=gamma, beta=1e-4,
                            loss_bound=10.0, seed=0)
    return Z, make


def met_problems(Z, make, count):
    """z and A of rounds on the way, in the coordinates of the plain simplex, and what came of
    them; asserts that the projection was active in every one."""
    learner, found = make(cf), []
    d, shares = Z.shape[1], learner.gamma / Z.shape[1]
    for t in range(WEEKS):
        y, x = learner.center, learner.ask()
        loss = -float(Z[t] @ x)
        learner.tell(loss)
        g = (d - 1) / learner.delta * loss * (x - y) / learner.delta
        assert (learner.center - shares < 1e-12).any()
        if t % (WEEKS // count) == 0 and t:
            A = cf.metric.Full.from_state(learner._engine._state()["metric"]).matrix()
            z = y - np.linalg.solve(A, g) / learner.beta
            to_plain = (z - shares) / (1.0 - learner.gamma)
            found.append((to_plain, A / np.abs(A).max(), (learner.center - shares)
                          / (1.0 - learner.gamma)))
    return found


def simplex_case(d):
    Z, make = portfolio(d)
    losses, ours, twin = cf.losses.PortfolioReturn(Z), make(cf), make(reference)
    history, expected = ours.run(losses, 40), twin.run(reference.losses.PortfolioReturn(Z), 40)
    assert np.abs(history.loss - expected.loss).max() < 1e-9
    problems, solvers = met_problems(Z, make, 8), []
    for name, package, f in ((QUADPROG, "quadprog", others.simplex_by_quadprog),
                             (PROXSUITE, "proxsuite", others.simplex_by_proxsuite)):
        if others.have(package):
            if package == "quadprog":
                assert max(np.abs(f(z, A) - w).max() for z, A, w in problems) < 1e-6
            solvers.append(Contender(name, player("f(z, a)", "z, a, w", problems, f=f)))
    targets = () if d != 94 else (
        takes_at_most(80e-6),
        times_faster(6, "the fastest QP solver", QUADPROG, PROXSUITE))
    # the same weeks each time: A grows, and later steps would be too short to leave the simplex
    stream = Contender(OURS, lambda n: ours.run(losses, n), ours.reset, most=WEEKS, step=WEEKS)
    return Case("convex", f"ONSEG, simplex, projection active in every round, d={d}", stream,
                solvers, None, targets, (ours.run, (losses, 100)))


# --- abalone ------------------------------------------------------------------------------------


def abalone():
    folder = os.environ.get("COACTIVE_DATA", "")
    path = Path(folder) / "tabular" / "abalone.svm.gz"
    if folder and path.exists():
        X, y = cf.data.load_svmlight(path)
        return (cf.data.minmax(X, lower=-1.0).transform(X) / np.sqrt(X.shape[1]),
                cf.data.minmax(y).transform(y))
    return regression(*ABALONE)


def abalone_case():
    Z, y = abalone()
    assert Z.shape == ABALONE
    rounds, losses = 150 * len(Z), cf.losses.Squared(Z, y)

    def make(module):
        return module.ONSEG(8, module.Ball(1.0), delta=0.3, gamma=0.3, beta=1e-2, loss_bound=4.0,
                            seed=0)
    ours, twin = make(cf), make(reference)
    a, b = ours.run(losses, 300), twin.run(reference.losses.Squared(Z, y), 300)
    assert np.abs(a.loss - b.loss).max() < 1e-8
    fresh = make(cf)
    last = fresh.run(losses, rounds)
    assert len(last) == rounds and np.isfinite(last.average_loss[-1])
    limit = Target("a run of 150 n rounds < 1 s", lambda r: r.ours(), 1.0, True, "s")
    return Case("convex", "ONSEG, abalone, a whole run of 626,550 rounds",
                Contender(OURS, lambda n: [fresh.run(losses, rounds) for _ in range(n)], most=1),
                targets=(limit,), figures={"mean loss of the run": float(last.average_loss[-1])})


# --- the others, for orientation ----------------------------------------------------------------


def kin_case(d):
    Z, y = regression(500, d)
    losses = cf.losses.Logistic(Z, np.sign(y))
    shrink = {"delta": 0.1, "gamma": 0.2, "loss_bound": 10.0, "seed": 0}
    learners = {
        "OGDEG, ball": cf.OGDEG(d, cf.Ball(1.0), **shrink),
        "ONS, ball": cf.ONS(d, cf.Ball(1.0), 0.5),
        "OGD, ball": cf.OGD(d, cf.Ball(1.0), 2.0),
        "DikinFTRL": cf.DikinFTRL(d, eta=1e-3, loss_bound=10.0, seed=0),
    }
    for name, learner in learners.items():
        module = {"OGDEG, ball": lambda m: m.OGDEG(d, m.Ball(1.0), **shrink),
                  "ONS, ball": lambda m: m.ONS(d, m.Ball(1.0), 0.5),
                  "OGD, ball": lambda m: m.OGD(d, m.Ball(1.0), 2.0),
                  "DikinFTRL": lambda m: m.DikinFTRL(d, eta=1e-3, loss_bound=10.0, seed=0)}[name]
        twin = module(reference)
        expected = twin.run(reference.losses.Logistic(Z, np.sign(y)), 30)
        assert np.abs(learner.run(losses, 30).loss - expected.loss).max() < 1e-9
    forms = [Contender(f"coactive_fast, {name}", lambda n, m=m: m.run(losses, n), own=True)
             for name, m in learners.items()]
    return Case("convex", f"logistic loss, d={d}", forms[0], forms[1:])


def plans():
    return [*(Plan(f"ball d={d}", functools.partial(ball_case, d), d == 8) for d in BALL),
            *(Plan(f"simplex d={d}", functools.partial(simplex_case, d), d == 36)
              for d in (36, 94)),
            Plan("abalone", abalone_case, False),
            *(Plan(f"kin d={d}", functools.partial(kin_case, d), d == 8) for d in (8, 94))]


def test_convex(compare, plan):
    compare(plan)
