"""Machines of online convex optimisation."""

import numpy as np
import scipy.sparse

import coactive_fast as cf
from coactive_fast import reference

from .core import REFUSED, Boom, Machine, Reaching, Shared, keep, machine
from .interrupts import interrupted
from .multiclass import seed_of
from .rows import Raises, form_of_row, many, objects

D = 3


class Disc(Shared, cf.FeasibleSet):
    """A set of one's own: the ball of radius 1 around a point."""

    def __init__(self, switch):
        self.switch, self.middle = switch, np.array([1.0, 0.0, 2.0])
        keep(self)

    def contains(self, x):
        self.switch.pull()
        return np.linalg.norm(x - self.middle) <= 1.0 + 1e-9

    def center(self, dimension):
        return self.middle

    def in_radius(self, dimension):
        return 1.0

    def diameter(self, dimension):
        return 2.0

    def project_in(self, z, Ainv):
        self.switch.pull()
        return self.middle + cf.Ball(1.0).project_in(z - self.middle, Ainv)

    def __repr__(self):
        return "Disc()"


SETS = {
    "ball": lambda module: module.Ball(0.5), "simplex": lambda module: module.Simplex(),
    "box": lambda module: module.Box([0.0, -1.0, 0.5], 1.0),
    "l1": lambda module: module.L1Ball(1.0),
}


class OwnLosses(Shared):
    """Losses that work through a switch."""

    def __init__(self, switch):
        self.switch = switch
        keep(self)

    def value(self, t, x):
        self.switch.pull()
        return float(np.sin(t + x @ np.arange(1.0, D + 1.0)))

    def gradient(self, t, x):
        self.switch.pull()
        return np.cos(t + np.arange(D) + x)


@machine("ONSEG", "OGDEG", "DikinFTRL", "ONS", "OGD")
class ConvexMachine(Machine):
    asks = True
    tolerance = 1e-6

    def drawn_parameters(self, r):
        self.losses = OwnLosses(self.switch)
        self.bandit = self.name in ("ONSEG", "OGDEG", "DikinFTRL")
        given = {"dimension": D}
        if self.name != "DikinFTRL":
            self.set = r.choice(["ball", "simplex", "box", "l1", "own"])
            feasible = Disc(self.switch) if self.set == "own" else SETS[self.set](cf)
            given["feasible"] = feasible
            radius = feasible.in_radius(D)
        else:
            self.set = "simplex"
        if self.name in ("ONSEG", "OGDEG"):
            given |= {"delta": 0.3 * radius, "gamma": 0.3, "loss_bound": r.choice([1.0, 5.0]),
                      "seed": seed_of(r), "feedback": r.choice(["value", "value", "residual"])}
        if self.name == "ONSEG":
            given |= {"beta": r.choice([0.2, 1.0]), "epsilon": r.choice([5.0, 1.0])}
            if given["feedback"] == "value":
                given["baseline"] = r.random() < 0.3
        elif self.name == "DikinFTRL":
            given |= {"eta": r.choice([0.05, 0.01]), "delta": r.choice([0.9, 0.5]),
                      "baseline": r.random() < 0.5, "seed": seed_of(r), "loss_bound": 2.0}
        elif self.name == "ONS":
            given |= {"beta": r.choice([0.5, 2.0]), "epsilon": r.choice([2.0, 0.5])}
        elif self.name == "OGD":
            given["gradient_bound"] = r.choice([2.0, 10.0])
        return given

    def twin_parameters(self, parameters):
        if self.name == "DikinFTRL":
            return parameters
        if self.set == "own":
            return parameters
        return {**parameters, "feasible": SETS[self.set](reference)}

    def own_code(self):
        return self.set == "own"

    @property
    def pending(self):
        return self.learner._engine._state()["pending"]

    # --- rules ----------------------------------------------------------------------------------

    def ask(self, r):
        pair = self.bandit and r.random() < 0.25
        which = "ask_pair" if pair else "ask"
        got = getattr(self.learner, which)()
        self.alike(which, got, getattr(self.mirror, which)())
        if self.twin is not None:
            self.close(which, got, getattr(self.twin, which)())
        return pair

    def rule_ask(self, r):
        self.ask(r)

    def feedback(self, r, pair):
        if not self.bandit:
            return (np.array([r.gauss(0.0, 1.0) for _ in range(D)], dtype=np.float32)
                    .astype(float),)
        return tuple(r.uniform(-1.2, 1.2) for _ in range(2 if pair else 1))

    def answer(self, r, pair):
        feedback = self.feedback(r, pair)
        which = "tell_pair" if pair else "tell"
        form = feedback
        if not self.bandit:
            form = (form_of_row(r, feedback[0], True),)
        getattr(self.learner, which)(*form)
        getattr(self.mirror, which)(*feedback)
        if self.twin is not None:
            getattr(self.twin, which)(*feedback)

    def rule_round(self, r):
        self.answer(r, self.ask(r))

    rule_round.weight = 5

    def rule_answer(self, r):
        pending = self.pending
        if pending:
            self.answer(r, pending == 2)
            return
        feedback = self.feedback(r, False)
        self.refused("tell before ask", lambda: self.learner.tell(*feedback))
        if self.bandit:
            self.refused("tell_pair before ask_pair", lambda: self.learner.tell_pair(0.1, 0.2))

    def rule_read(self, r):
        self.read("center", lambda one: one.center, lambda twin: twin.center)
        self.read("rounds", lambda one: one.rounds, lambda twin: twin.rounds)
        for name in ("delta", "gamma", "beta", "epsilon", "eta"):
            if name in self.parameters:
                self.read(name, lambda one, name=name: getattr(one, name))

    rule_read.weight = 2

    def some_losses(self, r):
        """Losses for the learner, and the same as someone else's."""
        kind = r.choice(["squared", "logistic", "portfolio", "own", "function"])
        Z = np.abs(np.array([[r.gauss(0, 1) for _ in range(D)] for _ in range(4)])) + 0.1
        if kind == "squared":
            losses = cf.losses.Squared(Z, [0.5, -0.5, 1.0, 0.0])
        elif kind == "logistic":
            losses = cf.losses.Logistic(Z if r.random() < 0.5 else scipy.sparse.csr_matrix(Z),
                                        [1, -1, 1, 1])
        elif kind == "portfolio" and self.set == "simplex":
            losses = cf.losses.PortfolioReturn(Z)
        elif kind == "function" and self.bandit:
            return self.losses.value, self.losses.value
        else:
            return self.losses, self.losses.value
        return losses, losses.value

    def rule_run(self, r):
        losses, value = self.some_losses(r)
        n = r.choice([0, 1, 2, 5])
        history = self.learner.run(losses, n)
        for t in range(n):
            x = self.mirror.ask()
            loss = value(t, x)
            feedback = loss if self.bandit else losses.gradient(t, x)
            self.alike("run", float(history.loss[t]), float(loss))
            self.mirror.tell(feedback)
            if self.twin is not None:
                self.close("run", x, self.twin.ask())
                self.twin.tell(feedback)
        if len(history) != n or self.learner.last_history is not history:
            self.fail("last_history is another")

    rule_run.weight = 2

    def rule_bad(self, r):
        one = self.learner
        calls = []
        if self.bandit:
            for loss in (np.nan, np.inf, "x", None, 1j, Raises(), [0.5, 0.5], np.ma.masked):
                calls.append((f"tell({loss!r})", lambda loss=loss: one.tell(loss)))
                calls.append((f"tell_pair({loss!r})", lambda x=loss: one.tell_pair(0.5, x)))
        else:
            for g in ([0.0, 0.0], [np.nan] * D, "x", None, [1j] * D, objects((D,)), Raises(),
                      np.zeros((2, D)), scipy.sparse.csr_matrix(np.zeros((1, D + 1))),
                      ([0, 7], [1.0, 1.0]), np.ma.masked_array([1.0] * D, mask=[True] * D)):
                calls.append((f"tell({g!r})", lambda g=g: one.tell(g)))
        for n in (-1, 0.5, "x", None, Raises()):
            calls.append((f"run {n!r}", lambda n=n: one.run(self.losses, n)))
        for losses in (None, [0.0], cf.losses.PortfolioReturn([[1.0]]), "x"):
            calls.append((f"run over {losses!r}", lambda x=losses: one.run(x, 1)))
        calls.append(("progress", lambda: one.run(self.losses, 1, progress=3)))
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def rule_losses_raise(self, r):
        """A run whose losses raise: it made the rounds before, and asked for the point."""
        after = r.choice([0, 1, 2, 3])
        which = 2 if not self.bandit else 1
        self.switch.arm(boom, after)
        try:
            self.learner.run(self.losses, 6)
        except Boom:
            pass
        else:
            self.fail("what the losses raised was swallowed")
        self.switch.clear()
        rounds = len(self.learner.last_history)
        if self.set != "own" and rounds != after // which:
            self.fail(f"{after // which} rounds, and the history has {rounds}")
        for t in range(rounds):
            x = self.mirror.ask()
            feedback = self.losses.value(t, x) if self.bandit else self.losses.gradient(t, x)
            self.mirror.tell(feedback)
            if self.twin is not None:
                self.twin.ask()
                self.twin.tell(feedback)
        for one in (self.mirror, self.twin):
            if one is not None:
                one.ask()

    rule_losses_raise.weight = 0.5

    def rule_set_raises(self, r):
        if self.set != "own":
            return
        feedback = self.feedback(r, False)
        if self.bandit:  # the first loss beyond the bound is warned of before it is learned
            feedback = (0.5 * feedback[0],)
        self.learner.ask()
        self.mirror.ask()
        if self.twin is not None:
            self.twin.ask()
        after = r.choice([0, 0, 1])

        def call(one):
            one.ask()
            one.tell(*feedback)

        before = self.state_of(self.learner)
        if before != self.state_of(self.mirror):
            return
        if r.random() < 0.5:
            self.fails_inside("tell", call, after)
        else:
            self.reaches_back("tell", lambda one: one.tell(*feedback), r, after)

    rule_set_raises.weight = 0.5

    @classmethod
    def has_rule(cls, name, rule):
        return rule != "rule_set_raises" or name != "DikinFTRL"

    def ways_back(self, r):
        pair = [("ask_pair", lambda one: one.ask_pair())] if self.bandit else []
        feedback = self.feedback(r, False)

        def whole(one):
            one.ask()
            one.tell(*feedback)

        return [("reset", lambda one: one.reset()), ("ask", lambda one: one.ask()),
                ("round", whole), ("center", lambda one: one.center), *pair]

    def rule_reach(self, r):
        self.learner.ask()
        self.mirror.ask()
        if self.twin is not None:
            self.twin.ask()
        feedback = self.feedback(r, False)

        def call(one):
            value = feedback[0]
            one.tell(Reaching(value, self.switch) if one is self.learner else value)

        def run(one):
            one.run(self.losses, Reaching(2, self.switch) if one is self.learner else 2)

        what, call = r.choice([("tell", call), ("run's rounds", run)])
        self.reaches_back(what, call, r)

    rule_reach.weight = 0.5

    def rule_interrupt(self, r):
        rows = many(64, D)
        losses = cf.losses.Squared(rows, np.sign(rows[:, 0])) if self.set != "own" \
            else self.losses

        def run(one, n, **words):
            return one.run(losses, n, **words)

        if self.learner.rounds < 3000:
            interrupted(self, r, run, lambda one: one.rounds,
                        1 << (9 if self.set == "own" else 14))

    rule_interrupt.weight = 0.02

    # --- parameters -------------------------------------------------------------------------------

    def changes(self):
        if self.name == "ONSEG":
            return {"beta": [0.2, 0.5], "loss_bound": [1.0, 3.0], "seed": [3, 9],
                    "baseline": [True, False], "feedback": ["value", "residual"],
                    "delta": [0.05, 0.03]}
        if self.name == "OGDEG":
            return {"loss_bound": [1.0, 3.0], "seed": [3, 9], "delta": [0.05, 0.03],
                    "feedback": ["value", "residual"]}
        if self.name == "DikinFTRL":
            return {"eta": [0.05, 0.02], "seed": [3, 9], "delta": [0.9, 0.4],
                    "baseline": [True, False], "loss_bound": [2.0, 4.0]}
        if self.name == "ONS":
            return {"beta": [0.5, 1.0]}
        return {"gradient_bound": [2.0, 5.0]}

    def bad_changes(self):
        found = [("no_such_parameter", 1), ("dimension", 0), ("dimension", 2.5)]
        if self.bandit:
            found += [("loss_bound", 0.0), ("seed", "x"), ("delta", -1.0), ("delta", Raises())]
        if self.name != "DikinFTRL":
            found += [("feasible", None), ("feasible", cf.Ball)]
        if self.name in ("ONSEG", "OGDEG"):
            found += [("gamma", 1.0), ("feedback", "x")]
        if self.name == "ONS":
            found += [("beta", 0.0), ("epsilon", -1.0)]
        if self.name == "OGD":
            found += [("gradient_bound", np.nan)]
        return found

    def shaping_changes(self):
        found = {"dimension": D + 1} if self.name == "DikinFTRL" else {"feasible": cf.Ball(2.0)}
        if self.name in ("ONSEG", "ONS"):
            found["epsilon"] = 7.0
        return found

    def adopted(self, old, given):
        return None if {"baseline", "feedback", "loss_bound"} & set(given) else super().adopted(
            old, given)


def boom():
    raise Boom("a loss of the user's")
