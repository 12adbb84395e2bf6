"""Machines of the filtering family."""

import copy

import numpy as np

import coactive_fast as cf
from coactive_fast import reference

from .core import REFUSED, Boom, Machine, Reaching, Shared, keep, machine
from .interrupts import interrupted
from .multiclass import Kernel, seed_of
from .rows import (
    WIDE,
    Raises,
    bad_rows,
    bad_tables,
    form_of_row,
    form_of_rows,
    many,
    row,
    table,
)


class Classifier:
    """A Perceptron of one's own, which works through a switch."""

    def __init__(self, hook):
        self.hook, self.w = hook, np.zeros(WIDE)

    def margin(self, x):
        self.hook.switch.pull()
        return float((self.w * dense(x)).sum())

    def learn(self, x, relevant):
        self.hook.switch.pull()
        self.w = self.w + (1.0 if relevant else -1.0) * dense(x)


class Hook(Shared):
    def __init__(self, switch):
        self.switch = switch
        keep(self)


def dense(x):
    x = x.toarray() if hasattr(x, "toarray") else x
    return np.ascontiguousarray(x, dtype=float).reshape(-1)


@machine("SimpleFilter", "PerceptronFilter", "RidgeFilter", "ProbabilisticRidgeFilter",
         "AppleTasting")
class FilterMachine(Machine):
    def drawn_parameters(self, r):
        self.last, self.own = None, False
        if self.name == "SimpleFilter":
            return {}
        if self.name == "PerceptronFilter":
            return {"feedback": r.choice(["full", "forwarded"])}
        if self.name == "RidgeFilter":
            return self.ridge(r)
        if self.name == "ProbabilisticRidgeFilter":
            return self.probabilistic(r)
        kind = r.choice(["perceptron", "ridge", "simple", "own"])
        self.own = kind == "own"
        self.inner = {"perceptron": ("PerceptronFilter", {}), "simple": ("SimpleFilter", {}),
                      "ridge": ("RidgeFilter", {"feedback": "full"}), "own": None}[kind]
        return {"classifier": Classifier(Hook(self.switch)) if self.own
                else getattr(cf, self.inner[0])(**self.inner[1]),
                "explore": r.choice([0.0, 0.3, 1.0]), "seed": seed_of(r)}

    def form_words(self, r, budget):
        covariance = r.choice(["full", "full", "diagonal", "kernel", "kernel"])
        given = {"covariance": covariance, "cost_ratio": r.choice([1.0, 1.0, 0.5, 2.0]),
                 "calibrate": r.random() < 0.3}
        if covariance != "kernel" and r.random() < 0.3:
            given["forget"] = r.choice([0.95, 0.6])
        elif covariance != "diagonal" and r.random() < 0.4:
            given["window"] = r.choice([1, 4, 9])
        elif covariance == "kernel" and budget and r.random() < 0.4:
            given |= {"budget": r.choice([1, 3, 8]), "tolerance": r.choice([1e-2, 0.3])}
        if covariance == "kernel":
            kernel = r.choice(["linear", "rbf", "poly", "own", "own"])
            given["kernel"] = Kernel(self.switch, r.random() < 0.5) if kernel == "own" else kernel
            if kernel in ("rbf", "poly") and r.random() < 0.5:
                given["kernel_params"] = {"gamma": 0.25}
        if covariance == "full":
            given["precision"] = r.choice(["auto", "fast", "robust"])
        return given

    def ridge(self, r):
        given = self.form_words(r, True)
        given |= {"threshold_scale": r.choice([5.0, 0.5, 0.0]), "floor": r.choice([0.0, 0.2])}
        given["rule"] = r.choice(["paper", "paper", "ucb", "bbq", "dgs"])
        if given["rule"] == "paper" and r.random() < 0.3:
            given["feedback"] = "full"
        if given["rule"] in ("ucb", "dgs"):
            given["width"] = r.choice(["theory", 0.3, 1.0])
        return given

    def probabilistic(self, r):
        given = self.form_words(r, False)
        given |= {"a": r.choice([1.0, 0.2]), "seed": seed_of(r)}
        given |= r.choice([{"explore": 0.3}, {"explore": 0.0}, {"horizon": 30},
                           {"horizon": "anytime"}])
        return given

    def twin_parameters(self, parameters):
        if self.name == "AppleTasting":
            if self.own:
                return parameters
            inner = getattr(reference, self.inner[0])(**self.inner[1])
            return {**parameters, "classifier": inner}
        if parameters.get("budget") is not None:
            return None
        return super().twin_parameters(parameters)

    @property
    def kernel(self):
        return self.parameters.get("covariance") == "kernel"

    def own_code(self):
        return self.own or any(isinstance(v, Shared) for v in self.parameters.values())

    def forgotten(self):
        self.last = None

    def pairs(self):
        return bool(self.learner._engine._dimension) if self.name != "AppleTasting" else False

    def form(self, r, x):
        return form_of_row(r, x, self.pairs())

    def follows(self, forwarded, margin, threshold, x):
        """The twin's round; where rounding alone says on which side x is, it may be on the other,
        and have drawn a coin or not."""
        rho = self.parameters.get("cost_ratio", 1.0)
        near = min(abs(margin - threshold), abs(margin - (rho - 1.0) / (rho + 1.0))) < 1e-9
        near = near and self.twin.margin(x) != margin
        if near and self.name in ("ProbabilisticRidgeFilter", "AppleTasting"):
            self.twin = None
            return
        before = copy.deepcopy(self.twin)
        if self.twin.forward(x) != forwarded and not near:
            self.twin = copy.deepcopy(before)
            self.decided("forward", forwarded, before, lambda twin, x: twin.forward(x), x)

    # --- rules ----------------------------------------------------------------------------------

    def forward(self, r, x):
        margin, threshold = self.mirror.margin(x), self.mirror.threshold
        forwarded = self.learner.forward(self.form(r, x))
        if type(forwarded) is not bool:
            self.fail(f"forward gave {forwarded!r}")
        self.alike("forward", forwarded, self.mirror.forward(x))
        if self.twin is not None:
            self.follows(forwarded, margin, threshold, x)
        self.last = x
        return forwarded

    def rule_forward(self, r):
        self.forward(r, row(r))

    def learn(self, r, x, relevant):
        feedback = r.choice([relevant, np.bool_(relevant), int(relevant), 1 if relevant else -1])
        self.learner.learn(self.form(r, x), feedback)
        self.mirror.learn(x, relevant)
        if self.twin is not None:
            self.twin.learn(x, relevant)

    def rule_learn(self, r):
        x = self.last if self.last is not None and r.random() < 0.6 else row(r)
        self.learn(r, x, r.random() < 0.5)

    rule_learn.weight = 3

    def rule_round(self, r):
        x = row(r)
        if self.forward(r, x):
            self.learn(r, x, bool(x.sum() > 0.0))

    rule_round.weight = 4

    def rule_read(self, r):
        x = row(r)
        form = self.form(r, x)
        which = r.choice(["margin", "margins", "select", "probability", "threshold", "health",
                          "rounds", "error"])

        def ours(one, form=form, x=x):
            return form if one is self.learner else x

        if which == "margin":
            self.read("margin", lambda one: one.margin(ours(one)), lambda twin: twin.margin(x))
        elif which == "threshold":
            self.read("threshold", lambda one: one.threshold, lambda twin: twin.threshold)
        elif which == "rounds":
            self.read("rounds", lambda one: (one.rounds, one.learned),
                      lambda twin: (twin.rounds, twin.learned))
        if not hasattr(self.cls, "margins"):
            return
        X = table(r, r.choice([0, 1, 3]))
        forms = form_of_rows(r, X)
        if which == "margins":
            self.read("margins", lambda one: one.margins(ours(one, forms, X)),
                      lambda twin: twin.margins(X))
        elif which == "select":
            self.read("select", lambda one: one.select(ours(one, forms, X), 2))
        elif which == "probability":
            self.read("probability", lambda one: one.probability(ours(one)),
                      None if self.parameters["calibrate"] else lambda twin: twin.probability(x))
        elif which == "health":
            self.read("health", lambda one: one.health())
        elif which == "error" and self.name == "RidgeFilter":
            self.read("approximation_error", lambda one: one.approximation_error)

    rule_read.weight = 2

    def rule_run(self, r):
        n = r.choice([0, 1, 2, 6])
        X = table(r, n)
        y = np.array([r.random() < 0.5 for _ in range(n)], dtype=bool)
        words = {"u": row(r)} if r.random() < 0.2 else {}
        labels = r.choice([y, y.tolist(), y.astype(int), np.where(y, 1, -1)])
        history = self.learner.run(form_of_rows(r, X), labels, **words)
        full = self.learner._full_feedback
        for t in range(n):
            x, relevant = X[t], bool(y[t])
            margin, threshold = self.mirror.margin(x), self.mirror.threshold
            forwarded = self.mirror.forward(x)
            if forwarded != history.forwarded[t] or not same(margin, history.margins[t]):
                self.fail(f"run: {history.forwarded[t]}, {history.margins[t]!r} in round {t}, "
                          f"single calls {forwarded}, {margin!r}")
            if self.twin is not None:
                self.follows(forwarded, margin, threshold, x)
            if forwarded or full:
                self.mirror.learn(x, relevant)
                if self.twin is not None:
                    self.twin.learn(x, relevant)
        if self.learner.last_history is not history or len(history) != n:
            self.fail("last_history is another")
        self.last = None

    rule_run.weight = 2

    def rule_stop(self, r):
        if self.own:
            return
        X, full = table(r, 4), self.learner._full_feedback
        y = [r.random() < 0.5 for _ in X]

        def single(one, X, t):
            if one.forward(X[t]) or full:
                one.learn(X[t], y[t])

        self.stops(r, lambda one, X: one.run(X, y), single, X)

    rule_stop.weight = 0.3

    def rule_bad(self, r):
        one, good = self.learner, row(r)
        fixed = "exactly" if self.name != "AppleTasting" and one._engine._dimension else None
        what, bad = bad_rows(r, WIDE, fixed)
        n = r.choice([1, 3])
        which, rows = bad_tables(r, WIDE, n, fixed)
        calls = []
        if not self.own:  # one of one's own gets the row as it comes
            calls += [(f"forward, {what}", lambda: one.forward(bad)),
                      (f"learn, {what}", lambda: one.learn(bad, True)),
                      (f"margin, {what}", lambda: one.margin(bad))]
        calls += [(f"run, {which}", lambda: one.run(rows, [True] * n))]
        if hasattr(one, "margins"):
            calls += [(f"margins, {which}", lambda: one.margins(rows)),
                      (f"probability, {what}", lambda: one.probability(bad)),
                      ("select", lambda: one.select(np.ones((2, WIDE)), r.choice([-1, 0.5, "x"])))]
        for flag in (2, 0.5, "True", None, np.nan, Raises(), np.ma.masked, [True, False]):
            calls.append((f"relevant {flag!r}", lambda flag=flag: one.learn(good, flag)))
        for y in ([True] * (n + 1), [2] * n, [0.5] * n, None, [Raises()] * n, "x" * n,
                  np.ma.masked_array([True] * n, mask=[True] * n)):
            calls.append((f"labels {y!r}", lambda y=y: one.run(np.ones((n, WIDE)), y)))
        calls += [("progress", lambda: one.run(np.ones((1, WIDE)), [True], progress=3)),
                  ("u", lambda: one.run(np.ones((1, WIDE)), [True], u=np.zeros(WIDE - 1))),
                  ("u", lambda: one.run(np.ones((1, WIDE)), [True], u=np.full(WIDE, np.nan)))]
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    @classmethod
    def has_rule(cls, name, rule):
        return rule != "rule_callable" or name not in ("SimpleFilter", "PerceptronFilter")

    def rule_callable(self, r):
        if not self.own_code():
            return
        x, X = row(r), table(r, 3)
        what, call = r.choice([("forward", lambda one: one.forward(x)),
                               ("learn", lambda one: one.learn(x, True)),
                               ("margin", lambda one: one.margin(x))]
                              + ([] if self.own else [("margins", lambda one: one.margins(X))]))
        after = r.choice([0, 0, 1, 4])
        if r.random() < 0.5:
            self.fails_inside(what, call, after)
        else:
            self.reaches_back(what, call, r, after)

    def ways_back(self, r):
        x, y = row(r), row(r)
        return [("reset", lambda one: one.reset()), ("learn", lambda one: one.learn(x, True)),
                ("forward", lambda one: one.forward(y)), ("margin", lambda one: one.margin(y)),
                ("run", lambda one: one.run(np.array([x, y]), [True, False]))]

    def rule_reach(self, r):
        if self.own:
            return
        x = row(r)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        what, call = r.choice([
            ("learn's row", lambda one: one.learn(wrap(one, x), True)),
            ("forward's row", lambda one: one.forward(wrap(one, x))),
            ("margin's row", lambda one: one.margin(wrap(one, x))),
            ("run's rows", lambda one: one.run(wrap(one, x[None]), [True])),
            ("run's labels", lambda one: one.run(x[None], wrap(one, [True]))),
            ("run's u", lambda one: one.run(x[None], [True], u=wrap(one, x))),
        ])
        self.reaches_back(what, call, r)

    def rule_interrupt(self, r):
        X = many(1 << 15)
        y = X[:, 0] > 0

        def run(one, n, **words):
            return one.run(X[:n], y[:n], **words)

        slow = self.kernel or self.own
        if self.learner.rounds < 3000:
            interrupted(self, r, run, lambda one: one.rounds, 1 << (9 if slow else 15))

    rule_interrupt.weight = 0.02

    # --- parameters -------------------------------------------------------------------------------

    def changes(self):
        if self.name == "PerceptronFilter":
            return {"feedback": ["full", "forwarded"]}
        if self.name == "RidgeFilter":
            found = {"threshold_scale": [5.0, 0.1], "cost_ratio": [1.0, 3.0], "delta": [0.05, 0.3],
                     "power": [0.5, 2.0], "floor": [0.0, 0.4],
                     "rule": ["paper", "ucb", "bbq"], "width": ["theory", 0.5],
                     "feedback": ["forwarded", "full"]}
            if "forget" in self.parameters:
                found["forget"] = [0.9, 0.7]
            return found
        if self.name == "ProbabilisticRidgeFilter":
            found = {"cost_ratio": [1.0, 3.0], "seed": [3, 9]}
            if "forget" in self.parameters:
                found["forget"] = [0.9, 0.7]
            if "explore" in self.parameters:
                found["explore"] = [0.1, 0.6]
            return found
        if self.name == "AppleTasting":
            return {"explore": [0.0, 0.5], "seed": [3, 9]}
        return {}

    def bad_changes(self):
        found = [("no_such_parameter", 1), ("classifier__no", 1), ("a__b", 2)]
        if self.name == "PerceptronFilter":
            found += [("feedback", "some"), ("feedback", None)]
        if self.name == "RidgeFilter":
            found += [("threshold_scale", -1.0), ("delta", 1.0), ("cost_ratio", 0.0),
                      ("floor", 2.0), ("window", 0), ("forget", 0.0), ("rule", "none"),
                      ("covariance", "half"), ("kernel", 3), ("width", Raises())]
        if self.name == "ProbabilisticRidgeFilter":
            found += [("a", 0.0), ("explore", 2.0), ("horizon", 0), ("seed", -1)]
        if self.name == "AppleTasting":
            found += [("explore", -0.1), ("classifier", None), ("classifier", Raises),
                      ("seed", "x")]
        return found

    def shaping_changes(self):
        if self.name in ("RidgeFilter", "ProbabilisticRidgeFilter"):
            return {"calibrate": not self.parameters["calibrate"],
                    "covariance": "diagonal" if self.kernel else "kernel"}
        if self.name == "AppleTasting":
            return {"classifier": cf.PerceptronFilter(feedback="forwarded")}
        return {}

    def adopted(self, old, given):
        if "forget" in given or "floor" in given or self.name == "AppleTasting" or (
                self.parameters.get("rule") == "dgs" or old.get("rule") == "dgs"):
            return None  # counted from when it is asked for
        return super().adopted(old, given)


def same(a, b):
    return float(a).hex() == float(b).hex()
