"""Machines of the metrics: what all second-order learners are made of."""

import copy
import pickle

import numpy as np

import coactive_fast as cf
from coactive_fast import reference

from .core import REFUSED, Boom, Machine, Reaching, machine, plain, settled
from .multiclass import Kernel
from .rows import (
    WIDE,
    Raises,
    bad_rows,
    bad_tables,
    form_of_row,
    form_of_rows,
    row,
    table,
)

OTHER = ("rule_clone", "rule_reset", "rule_set_params", "rule_bad_params", "rule_shaping",
         "rule_save_refused")


@machine("metric.Full", "metric.Diagonal", "metric.Dual")
class MetricMachine(Machine):
    tolerance = 1e-6

    @property
    def cls(self):
        return getattr(cf.metric, self.name.split(".")[1])

    @property
    def diagonal(self):
        """Where sparse rows cost what they hold: they are summed in another order."""
        return self.name == "metric.Diagonal"

    @property
    def dual(self):
        return self.name == "metric.Dual"

    def drawn_parameters(self, r):
        self.window = False
        given = {"ridge": r.choice([1.0, 0.3, 5.0])}
        if not self.dual:
            given["n"] = WIDE
            if self.name == "metric.Full":
                given["precision"] = r.choice(["auto", "fast", "robust"])
            return given
        kernel = r.choice(["linear", "rbf", "poly", "own", "own"])
        given["kernel"] = Kernel(self.switch, r.random() < 0.5) if kernel == "own" else kernel
        if kernel in ("rbf", "poly") and r.random() < 0.5:
            given["kernel_params"] = {"gamma": 0.25}
        if r.random() < 0.6:
            given |= r.choice([{"window": 1}, {"window": 5}, {"budget": 3},
                               {"budget": 6, "tolerance": 0.2}])
        return given

    def made_twin(self, parameters):
        given = {name: value for name, value in parameters.items() if name != "precision"}
        return getattr(reference, self.name.split(".")[1])(**given)

    def own_code(self):
        return isinstance(self.parameters.get("kernel"), Kernel)

    # --- comparing ------------------------------------------------------------------------------

    def state_of(self, one):
        return plain(one.state())

    def settled_of(self, one):
        return settled(one.state())

    def finger(self):
        state = self.learner.state()
        return plain(state), state, ()

    @classmethod
    def has_rule(cls, name, rule):
        if rule == "rule_callable":
            return name == "metric.Dual"
        if rule in ("rule_forget", "rule_merge", "rule_many"):
            return name != "metric.Dual"
        return rule not in OTHER

    # --- rules ----------------------------------------------------------------------------------

    def form(self, r, x):
        return form_of_row(r, x, not self.dual)

    def rule_update(self, r):
        x, c = row(r), r.choice([1.0, 1.0, 0.5, 2.0])
        form = self.form(r, x)
        q = self.learner.update(form, c=c)
        self.alike("update", q, self.mirror.update(form if self.diagonal else x, c=c))
        if self.twin is not None:
            self.close("update", q, self.twin.update(x, c=c))

    rule_update.weight = 5

    def rule_many(self, r):
        X = table(r, r.choice([0, 1, 3, 9]))
        c = [r.choice([1.0, 0.5]) for _ in X] if r.random() < 0.5 else r.choice([1.0, 0.5])
        self.learner.update_many(form_of_rows(r, X, False), c=c)
        for t, x in enumerate(X):
            one = c[t] if isinstance(c, list) else c
            self.mirror.update(x, c=one)
            if self.twin is not None:
                self.twin.update(x, c=one)

    rule_many.weight = 2

    def rule_read(self, r):
        x = row(r)
        form = self.form(r, x)
        which = r.choice(["quad", "solve", "inverse", "matrix", "logdet", "many", "sample", "rest"])

        def ours(one):
            return form if one is self.learner or self.diagonal else x

        if which == "quad":
            self.read("quad", lambda one: one.quad(ours(one)), lambda twin: twin.quad(x))
        elif which == "solve":
            got = self.read("solve", lambda one: one.solve(x), lambda twin: twin.solve(x))
            if np.shape(got) != np.shape(self.mirror.solve(x)):
                self.fail("solve has another shape")
        elif which in ("inverse", "matrix"):
            self.read(which, lambda one: getattr(one, which)(),
                      lambda twin: getattr(twin, which)())
        elif which == "logdet":
            self.read("logdet", lambda one: one.logdet, lambda twin: twin.logdet, 1e-5)
        elif which == "many" and not self.dual:
            X = table(r, r.choice([0, 1, 9]))
            forms = form_of_rows(r, X, False)
            self.read("quad_many", lambda one: one.quad_many(
                forms if one is self.learner else X), lambda twin: twin.quad_many(X))
            single = [self.mirror.quad(x) for x in X]
            self.alike("quad_many", self.learner.quad_many(X), np.array(single, dtype=float))
        elif which == "sample" and not self.dual:
            self.read("sample", lambda one: one.sample(2, 3))
        elif which == "rest":
            self.read("updates", lambda one: one.updates)
            if hasattr(self.cls, "health"):
                self.read("health", lambda one: one.health())
            self.read("repr", repr)

    rule_read.weight = 3

    def rule_forget(self, r):
        f, which = r.choice([0.9, 0.6, 1.0]), r.choice(["forget", "forget", "decay"])
        for one in (self.learner, self.mirror, self.twin):
            if one is not None:
                getattr(one, which)(f)

    rule_forget.weight = 0.7

    def rule_merge(self, r):
        other, twin = self.made(), self.made_twin(self.parameters)
        for x in table(r, r.choice([0, 2, 8])):
            other.update(x)
            twin.update(x)
        kept = self.state_of(other)
        before = self.finger()
        try:
            self.learner.merge(other)
        except REFUSED:  # where a part of the regulariser was forgotten
            self.unmoved("merge", before)
            try:
                self.mirror.merge(other)
            except REFUSED:
                return
            self.fail("merge: refused, and accepted by a copy")
        if self.state_of(other) != kept:
            self.fail("merge changed the other one")
        self.mirror.merge(other.copy())
        if self.twin is not None:
            self.twin.merge(twin)

    rule_merge.weight = 0.4

    def copied(self, one, r):
        ways = ["copy", "pickle", "deepcopy", "copy.copy"] + ([] if self.own_code() else ["state"])
        way = r.choice(ways)
        if way == "copy":
            return one.copy()
        if way == "pickle":
            return pickle.loads(pickle.dumps(one))
        if way == "deepcopy":
            return copy.deepcopy(one)
        if way == "copy.copy":
            return copy.copy(one)
        return self.cls.from_state(one.state())

    def rule_begin_again(self, r):
        self.learner, self.mirror = self.made(), self.made()
        self.new_twin()

    rule_begin_again.weight = 0.5

    def rule_bad(self, r):
        one, n = self.learner, r.choice([1, 3])
        fixed = "exactly" if not self.dual or one.updates else None
        what, bad = bad_rows(r, WIDE, fixed)
        which, rows = bad_tables(r, WIDE, n, fixed)
        good = np.ones(WIDE)
        calls = [(f"update, {what}", lambda: one.update(bad)),
                 (f"quad, {what}", lambda: one.quad(bad)),
                 (f"solve, {what}", lambda: one.solve(bad))]
        for c in (np.nan, np.inf, "x", None, Raises(), 1j, np.ma.masked):
            calls.append((f"update c={c!r}", lambda c=c: one.update(good, c=c)))
        if not self.dual:
            calls += [(f"update_many, {which}", lambda: one.update_many(rows)),
                      (f"quad_many, {which}", lambda: one.quad_many(rows)),
                      (f"solve_many, {which}", lambda: one.solve_many(rows)),
                      ("merge", lambda: one.merge(None)),
                      ("merge", lambda: one.merge(self.cls(WIDE + 1)))]
            for c in ([1.0] * (n + 1), [np.nan] * n, [Raises()] * n, "x", [[1.0]] * n):
                calls.append((f"update_many c={c!r}",
                              lambda c=c: one.update_many(np.ones((n, WIDE)), c=c)))
            for f in (0.0, 1.5, np.nan, "x", None, Raises()):
                calls += [(f"forget({f!r})", lambda f=f: one.forget(f)),
                          (f"decay({f!r})", lambda f=f: one.decay(f))]
            for size in (-1, 0.5, "x", Raises()):
                calls.append((f"sample {size!r}", lambda size=size: one.sample(size, 1)))
        calls.append(("from_state", lambda: self.cls.from_state({**one.state(), "version": 99})))
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def rule_callable(self, r):
        if not self.own_code():
            return
        x = row(r)
        what, call = r.choice([("update", lambda one: one.update(x)),
                               ("quad", lambda one: one.quad(x)),
                               ("solve", lambda one: one.solve(x))])
        after = r.choice([0, 0, 1, 3])
        if r.random() < 0.5:
            self.fails_inside(what, call, after)
        else:
            self.reaches_back(what, call, r, after)

    def ways_back(self, r):
        x, y = row(r), row(r)
        found = [("update", lambda one: one.update(x)), ("quad", lambda one: one.quad(y)),
                 ("logdet", lambda one: one.logdet)]
        if not self.dual:
            found += [("forget", lambda one: one.forget(0.9)),
                      ("update_many", lambda one: one.update_many(np.array([x, y])))]
        return found

    def rule_reach(self, r):
        x = row(r)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        found = [("update's row", lambda one: one.update(wrap(one, x))),
                 ("update's c", lambda one: one.update(x, c=wrap(one, 0.5))),
                 ("quad's row", lambda one: one.quad(wrap(one, x)))]
        if not self.dual:
            found += [("update_many's rows", lambda one: one.update_many(wrap(one, x[None]))),
                      ("update_many's c", lambda one: one.update_many(x[None],
                                                                      c=wrap(one, [0.5]))),
                      ("forget's f", lambda one: one.forget(wrap(one, 0.5))),
                      ("decay's f", lambda one: one.decay(wrap(one, 0.5)))]
        what, call = r.choice(found)
        self.reaches_back(what, call, r)
