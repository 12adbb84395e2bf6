"""Machines of the multiclass family."""

import copy
import dataclasses

import numpy as np

from .core import REFUSED, Boom, Machine, Reaching, Shared, keep, machine
from .interrupts import interrupted
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

K = 3


class Kernel(Shared):
    """A dot product of one's own, or a Gaussian one."""

    def __init__(self, switch, gaussian):
        self.switch, self.gaussian = switch, gaussian
        keep(self)

    def __call__(self, x, y, **words):
        self.switch.pull()
        if self.gaussian:
            return float(np.exp(-0.3 * np.sum((x - y) ** 2)))
        return float(x @ y) + 0.5

    def __repr__(self):
        return f"Kernel({self.gaussian})"


class Errors(Shared):
    """An approximation error by the round."""

    def __init__(self, switch):
        self.switch = switch
        keep(self)

    def __call__(self, t):
        self.switch.pull()
        return 0.5 / t

    def __repr__(self):
        return "Errors()"


def seed_of(r):
    return r.choice([3, 7, [1, 2], np.random.default_rng(5), np.random.SeedSequence(11),
                     np.random.Generator(np.random.MT19937(4)), np.random.PCG64DXSM(2)])


@machine("Banditron", "Newtron", "MulticlassPerceptron", "MulticlassSecondOrderPerceptron",
         "MulticlassAROW", "Confidit")
class MulticlassMachine(Machine):
    def drawn_parameters(self, r):
        given = {"n_classes": r.choice([2, K, K, 5])}
        self.most = r.choice([None, None, WIDE + 3])
        if self.name == "Banditron":
            given |= {"gamma": r.choice([0.05, 0.3, 1.0]), "seed": seed_of(r)}
        elif self.name == "Newtron":
            given |= {"covariance": r.choice(["diagonal", "full"]), "seed": seed_of(r),
                      "alpha": r.choice([10.0, 1.0]), "beta": r.choice([0.01, 1.0]),
                      "gamma": r.choice([0.05, 0.3, 1.0]), "norm_bound": r.choice([10.0, 1.0])}
            if given["covariance"] == "full":
                self.most = None
        elif self.name == "MulticlassSecondOrderPerceptron":
            given["a"] = r.choice([1.0, 0.5, 1e-3])
        elif self.name == "MulticlassAROW":
            given["r"] = r.choice([1.0, 0.1, 10.0])
        elif self.name == "Confidit":
            given |= self.confidit(r)
        if self.most is not None:
            given["max_features"] = self.most
        self.bandit = self.name in ("Banditron", "Newtron", "Confidit")
        self.draws = self.name in ("Banditron", "Newtron")
        self.last = None
        return given

    def confidit(self, r):
        covariance = r.choice(["diagonal", "diagonal", "full", "kernel", "kernel"])
        given = {"covariance": covariance,
                 "confidence": r.choice(["constant", "theory", "selfnormalized"]),
                 "eta": r.choice([1.0, 0.1, 30.0]), "alpha": r.choice([1.0, 1.0, 0.3, -0.5]),
                 "projection": r.random() < 0.3, "norm_bound": r.choice([1.0, 0.0, 0.3]),
                 "normalize": r.random() < 0.2, "seed": seed_of(r)}
        error = r.choice([0.0, 0.0, 0.1, [0.2, 0.1, 0.0, 0.3], "own"])
        given["approximation_error"] = Errors(self.switch) if error == "own" else error
        if covariance == "kernel":
            kernel = r.choice(["linear", "rbf", "poly", "own", "own"])
            given["kernel"] = Kernel(self.switch, r.random() < 0.5) if kernel == "own" else kernel
            if kernel in ("rbf", "poly") and r.random() < 0.5:
                given["kernel_params"] = {"gamma": 0.25}
        if covariance != "diagonal":
            self.most = None
        else:
            given["diagonal_step"] = r.choice(["residual", "printed"])
        if covariance == "full":
            given["precision"] = r.choice(["auto", "fast", "robust"])
        return given

    @property
    def bounds(self):
        """What the choice compares, unless it draws."""
        return None if self.draws else lambda twin, x: twin._bounds(twin._row(x))

    @property
    def kernel(self):
        return self.parameters.get("covariance") == "kernel"

    def own_code(self):
        return any(isinstance(value, Shared) for value in self.parameters.values())

    @property
    def classes(self):
        return self.learner.n_classes

    def forgotten(self):
        self.last = None

    # --- rows -----------------------------------------------------------------------------------

    def width(self, r):
        if self.most is None:
            return WIDE
        return r.choice([1, 3, WIDE, self.most])

    def for_twin(self, x):
        """As wide as the twin needs them."""
        if self.most is None:
            return x
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, self.most - x.shape[-1])])

    def row(self, r):
        return row(r, self.width(r))

    def form(self, r, x):
        fixed = self.learner._engine._dimension  # pairs say no width
        return form_of_row(r, x, bool(fixed) and (self.most is None or x[-1] != 0.0))

    def answer(self, r, x, label):
        """What `learn` is answer behind the row."""
        if self.bandit:
            right = r.random() < 0.5
            return label, r.choice([right, np.bool_(right), int(right), 1 if right else -1])
        return (r.choice([label, np.int64(label)]),)

    # --- rules ----------------------------------------------------------------------------------

    def choose(self, r, x):
        label = self.learner.choose(self.form(r, x))
        if type(label) is not int or not 0 <= label < self.classes:
            self.fail(f"choose gave {label!r}")
        if self.draws or r.random() < 0.3:
            self.alike("choose", label, self.mirror.choose(x))
        if self.twin is not None:
            self.decided("choose", label, copy.deepcopy(self.twin),
                         lambda twin, x: twin.choose(x), self.for_twin(x), self.bounds)
        self.last = x, label
        return label

    def rule_choose(self, r):
        self.choose(r, self.row(r))

    rule_choose.weight = 2

    def learn(self, r, x, label):
        answer = self.answer(r, x, label)
        self.learner.learn(self.form(r, x), *answer)
        self.mirror.learn(x, *answer)
        if self.twin is not None:
            self.twin.learn(self.for_twin(x), *(bool(t) if t is not answer[0] and t != -1 else t
                                                for t in answer))

    def rule_learn(self, r):
        """Of the row that was chosen for, or another."""
        if self.last is not None and r.random() < 0.6:
            x, label = self.last
            if label >= self.classes:
                return
        else:
            x, label = self.row(r), r.randrange(self.classes)
        self.learn(r, x, label)

    rule_learn.weight = 3

    def rule_round(self, r):
        x = self.row(r)
        self.learn(r, x, self.choose(r, x))

    rule_round.weight = 4

    def rule_read(self, r):
        X = table(r, r.choice([0, 1, 3]), self.width(r))
        form = form_of_rows(r, X)
        wide = self.for_twin(X)
        which = r.choice(["scores", "predict", "weights", "inverse", "information", "health",
                          "rounds"])
        if which == "scores":
            self.read("decision_function", lambda one: one.decision_function(
                form if one is self.learner else X), lambda twin: twin.decision_function(wide))
        elif which == "predict":
            self.read("predict", lambda one: one.predict(form if one is self.learner else X))
        elif which == "rounds":
            self.read("rounds", lambda one: (one.rounds, one.n_classes))
            if self.twin is not None and self.twin.rounds != self.learner.rounds:
                self.fail(f"rounds: {self.learner.rounds}, and the twin {self.twin.rounds}")
        elif which == "weights" and not self.kernel:
            self.read("weights", lambda one: one.weights,
                      lambda twin: self.cut(twin.weights))
        elif which == "inverse" and not self.kernel and hasattr(self.cls, "inverse"):
            i = r.randrange(self.classes)
            self.read("inverse", lambda one: one.inverse(i),
                      lambda twin: self.cut(twin.inverse(i)))
        elif which == "information" and hasattr(self.cls, "information"):
            self.read("information", lambda one: one.information(),
                      lambda twin: twin.information())
        elif which == "health" and hasattr(self.cls, "health"):
            self.read("health", lambda one: one.health())

    rule_read.weight = 2

    def cut(self, expected):
        d = self.learner._engine._dimension
        return expected if self.most is None else expected[..., :d]

    def rule_run(self, r):
        """The loop of single calls, bit for bit."""
        n, d = r.choice([0, 1, 2, 5]), self.width(r)
        X = table(r, n, d)
        y = np.array([r.randrange(self.classes) for _ in range(n)], dtype=int)
        epochs = r.choice([1, 1, 2])
        history = self.learner.run(form_of_rows(r, X), y if r.random() < 0.5 else y.tolist(),
                                   epochs=epochs)
        for t in range(n * epochs):
            x, right = X[t % n], int(y[t % n])
            label = self.mirror.choose(x)
            if label != history.choices[t] or history.mistakes[t] != (label != right):
                self.fail(f"run chose {history.choices[t]} in round {t}, single calls {label}")
            self.mirror.learn(x, *((label, label == right) if self.bandit else (right,)))
            if self.twin is not None:
                wide = self.for_twin(x)
                self.decided("run", label, copy.deepcopy(self.twin),
                             lambda twin, x: twin.choose(x), wide, self.bounds)
                self.twin.learn(wide, *((label, label == right) if self.bandit else (right,)))
        if self.learner.last_history is not history or len(history) != n * epochs:
            self.fail("last_history is another")
        self.last = None

    rule_run.weight = 2

    def rule_stop(self, r):
        X = table(r, 4)
        y = [r.randrange(self.classes) for _ in X]

        def single(one, X, t):
            label = one.choose(X[t])
            one.learn(X[t], *((label, label == y[t]) if self.bandit else (y[t],)))

        self.stops(r, lambda one, X: one.run(X, y), single, X)

    rule_stop.weight = 0.3

    def rule_add_class(self, r):
        if self.classes >= 7:
            return
        added = self.learner.add_class()
        self.alike("add_class", added, self.mirror.add_class())
        if self.twin is not None:
            self.alike("add_class", added, self.twin.add_class())

    rule_add_class.weight = 0.3

    def rule_bad(self, r):
        one, good = self.learner, row(r)
        fixed = None
        if one._engine._dimension:
            fixed = "wide" if self.most else "exactly"
        elif self.most:
            fixed = "wide"
        what, bad = bad_rows(r, self.most or WIDE, fixed)
        n = r.choice([1, 3])
        which, rows = bad_tables(r, self.most or WIDE, n, fixed)
        answer = (0, True) if self.bandit else (0,)
        last = answer[1:]
        calls = [
            (f"choose, {what}", lambda: one.choose(bad)),
            (f"learn, {what}", lambda: one.learn(bad, *answer)),
            (f"predict, {which}", lambda: one.predict(rows)),
            (f"decision_function, {which}", lambda: one.decision_function(rows)),
            (f"run, {which}", lambda: one.run(rows, [0] * n)),
        ]
        for label in (-1, self.classes, 2**70, 1.5, "1", None, True, [1], np.nan, Raises(),
                      np.array([0, 1]), np.ma.masked):
            if label is not True or self.classes != 2:  # the two labels
                calls.append((f"label {label!r}",
                              lambda label=label: one.learn(good, label, *last)))
        for y in ([0] * (n + 1), [[[0]] * n], [self.classes] * n, [-1] * n, [0.5] * n, None,
                  [2.0**80] * n, np.ma.masked_array([0] * n, mask=[True] * n), [Raises()] * n):
            calls.append((f"labels {y!r}", lambda y=y: one.run(np.ones((n, WIDE)), y)))
        for words in ({"epochs": -1}, {"epochs": 0.5}, {"label_noise": 2.0}, {"progress": 3},
                      {"noise_seed": "x"}, {"chances": [[1.0]]}):
            calls.append((f"run, {words}",
                          lambda words=words: one.run(np.ones((1, WIDE)), [0], **words)))
        if self.bandit:
            for right in (2, -2, 0.5, "True", None, Raises()):
                calls.append((f"correct {right!r}",
                              lambda right=right: one.learn(good, 0, right)))
        if hasattr(one, "inverse"):
            for i in (-1, self.classes, 0.0, None):
                kinds = (*REFUSED, AttributeError)
                if r.random() < 0.1:
                    self.refused(f"inverse({i!r})", lambda i=i: one.inverse(i), kinds)
        what, call = r.choice(calls) if r.random() < 0.6 else r.choice(calls[:5])
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def rule_callable_raises(self, r):
        if not self.own_code():
            return
        x, X = row(r), table(r, r.choice([1, 3]))
        label = r.randrange(self.classes)
        answer = (label, False) if self.bandit else (label,)
        what, call = r.choice([
            ("choose", lambda one: one.choose(x)), ("learn", lambda one: one.learn(x, *answer)),
            ("predict", lambda one: one.predict(X)),
        ])
        if r.random() < 0.5:
            self.fails_inside(what, call, r.choice([0, 0, 1, 4]))
        else:
            self.reaches_back(what, call, r, r.choice([0, 0, 1, 4]))

    rule_callable_raises.weight = 1

    @classmethod
    def has_rule(cls, name, rule):
        return rule != "rule_callable_raises" or name == "Confidit"

    def ways_back(self, r):
        x, y = row(r), row(r)
        answer = (r.randrange(self.classes), True) if self.bandit else (r.randrange(self.classes),)
        return [("reset", lambda one: one.reset()),
                ("learn", lambda one: one.learn(x, *answer)),
                ("run", lambda one: one.run(np.array([x, y]), [0, 1])),
                ("add_class", lambda one: one.add_class() if one.n_classes < 9 else 0),
                ("choose", lambda one: one.choose(y))]

    def rule_reach(self, r):
        x = row(r)
        answer = (r.randrange(self.classes), True) if self.bandit else (r.randrange(self.classes),)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        what, call = r.choice([
            ("learn's label", lambda one: one.learn(x, wrap(one, answer[0]), *answer[1:])),
            ("learn's row", lambda one: one.learn(wrap(one, x), *answer)),
            ("run's labels", lambda one: one.run(x[None], wrap(one, [1]))),
            ("run's rows", lambda one: one.run(wrap(one, x[None]), [1])),
            ("choose's row", lambda one: one.choose(wrap(one, x))),
            ("predict's rows", lambda one: one.predict(wrap(one, x[None]))),
        ])
        self.reaches_back(what, call, r)

    def rule_interrupt(self, r):
        X = many(1 << 15)
        y = (X[:, 0] > 0).astype(int)

        def run(one, n, **words):
            if n > len(X):
                return one.run(np.resize(X, (n, X.shape[1])), np.resize(y, n), **words)
            return one.run(X[:n], y[:n], **words)

        most = 1 << (9 if self.kernel else 15)
        if self.learner.rounds < 3000:
            interrupted(self, r, run, lambda one: one.rounds, most)

    rule_interrupt.weight = 0.02

    def follow(self, what, call):
        if self.most is not None:
            self.twin = None  # whose rows all have one width
        super().follow(what, call)

    def settled_of(self, learner):
        if self.name == "Newtron":  # its matrix grows for an added class at the next round
            learner = copy.copy(learner)
        return super().settled_of(learner)

    def adopted(self, old, given):
        twin = super().adopted(old, given)
        if "diagonal_step" in given and twin._classes is not None:
            twin._classes = [dataclasses.replace(one, step=given["diagonal_step"])
                             for one in twin._classes]
        return twin

    # --- parameters -------------------------------------------------------------------------------

    def changes(self):
        if self.name == "Banditron":
            return {"gamma": [0.05, 0.3, 1.0], "seed": [3, 9]}
        if self.name == "Newtron":
            return {"gamma": [0.05, 0.3, 1.0], "seed": [3, 9], "alpha": [10.0, 3.0],
                    "beta": [0.01, 0.5]}
        if self.name == "MulticlassAROW":
            return {"r": [1.0, 0.1, 5.0]}
        if self.name == "Confidit":
            found = {"eta": [1.0, 0.1], "confidence": ["constant", "theory", "selfnormalized"],
                     "norm_bound": [1.0, 0.2], "delta": [0.05, 0.5], "seed": [3, 9],
                     "projection": [True, False], "normalize": [True, False],
                     "approximation_error": [0.0, 0.3, [0.5, 0.25]]}
            if self.parameters["covariance"] == "diagonal":
                found["diagonal_step"] = ["residual", "printed"]
            return found
        return {}

    def bad_changes(self):
        found = [("no_such_parameter", 1), ("n_classes", 1), ("n_classes", 2.0),
                 ("max_features", 0), ("max_features", "x"), ("classifier__x", 1)]
        if self.name in ("Banditron", "Newtron"):
            found += [("gamma", 0.0), ("gamma", 1.5), ("gamma", Raises()), ("seed", "x")]
        if self.name == "Newtron":
            found += [("alpha", 0.0), ("norm_bound", np.inf), ("covariance", "kernel")]
        if self.name == "Confidit":
            found += [("eta", 0.0), ("alpha", -1.0), ("projection", "yes"), ("delta", 1.5),
                      ("approximation_error", -0.1), ("approximation_error", Raises()),
                      ("kernel", "cubic"), ("seed", -1), ("norm_bound", np.nan)]
        return found

    def shaping_changes(self):
        found = {"n_classes": self.parameters["n_classes"] + 1}
        if self.name == "Confidit":
            found |= {"alpha": 0.77}
        return found

    def kept_by_set_params(self, learner):
        return learner.rounds, learner.n_classes
