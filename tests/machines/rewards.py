"""Machines of the family of real rewards: the regression and the bandits."""

import copy

import numpy as np

import coactive_fast as cf

from .core import REFUSED, Boom, Machine, Reaching, machine
from .interrupts import interrupted
from .multiclass import seed_of
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

CONTEXTS = 2


class RewardMachine(Machine):
    tolerance = 1e-6

    def regression(self, r):
        covariance = r.choice(["full", "full", "diagonal"])
        given = {"covariance": covariance, "link": r.choice(["identity", "identity", "logistic"]),
                 "ridge": r.choice([1.0, 0.1, 3.0]), "forget": r.choice([1.0, 1.0, 0.9, 0.6])}
        self.most = None
        if covariance == "full":
            given["precision"] = r.choice(["auto", "fast", "robust"])
        elif r.random() < 0.5:
            self.most = given["max_features"] = WIDE + 3
        return given

    @property
    def logistic(self):
        return self.parameters["link"] == "logistic"

    def target(self, r):
        return r.random() if self.logistic else r.gauss(0.0, 1.0)

    def width(self, r):
        return WIDE if self.most is None else r.choice([1, 3, WIDE, self.most])

    def row(self, r):
        return row(r, self.width(r))

    def form(self, r, x):
        fixed = self.learner._engine._dimension
        return form_of_row(r, x, bool(fixed) and (self.most is None or x[-1] != 0.0))

    def rule_decay(self, r):
        f = r.choice([0.5, 0.9, 1.0])
        self.learner.decay(f)
        self.mirror.decay(f)
        if self.twin is not None:
            self.twin.decay(f)

    rule_decay.weight = 0.4

    def rule_health(self, r):
        self.read("health", lambda one: one.health())

    rule_health.weight = 0.2

    def rule_merge(self, r):
        other = self.made()
        rows = [(row(r), self.target(r), r.randrange(max(self.arms, 1)))
                for _ in range(r.choice([0, 2, 5]))]
        twin = None if self.twin is None else self.made_twin(self.parameters)
        for _ in range(self.arms - getattr(other, "n_arms", 0)):
            other.add_arm()
            if twin is not None:
                twin.add_arm()
        try:
            self.same_settings(other)
        except REFUSED:
            return
        for x, y, arm in rows:
            for one in (other, twin):
                if one is not None:
                    self.teach_one(one, x, y, arm)
        kept = self.state_of(other)
        good = (self.parameters["covariance"] == "full" and not self.logistic
                and self.parameters["forget"] == 1.0)
        if not good:
            self.refused("merge", lambda: self.learner.merge(other))
            return
        before = self.finger()
        try:
            self.learner.merge(other)
        except REFUSED:
            self.unmoved("merge", before)
            try:
                self.mirror.merge(other)
            except REFUSED:
                return
            self.fail("merge: refused, and accepted by a copy")
        if self.state_of(other) != kept:
            self.fail("merge changed the other one")
        self.mirror.merge(copy.deepcopy(other))
        if self.twin is not None:
            self.twin.merge(twin)

    rule_merge.weight = 0.4

    def same_settings(self, other):
        other.set_params(**{name: value for name, value in self.learner.get_params().items()
                            if name not in ("seed", "n_arms")})

    @property
    def arms(self):
        return getattr(self.learner, "n_arms", 0)

    def shaping_changes(self):
        return {"ridge": self.parameters["ridge"] * 2.0,
                "link": "identity" if self.logistic else "logistic"}

    def adopted(self, old, given):
        if "forget" in given:
            return None  # counted from when it is asked for
        return super().adopted(old, given)


@machine("OnlineRidge")
class RidgeMachine(RewardMachine):
    def drawn_parameters(self, r):
        return {**self.regression(r), "noise": r.choice([1.0, 0.5, 0.0])}

    def rule_learn(self, r):
        x, y, c = self.row(r), self.target(r), r.choice([1.0, 1.0, 0.5, 3.0])
        self.learner.learn(self.form(r, x), y, weight=c)
        self.mirror.learn(x, y, weight=c)
        if self.twin is not None:
            self.twin.learn(x, y, weight=c)

    rule_learn.weight = 4

    def teach_one(self, one, x, y, arm):
        one.learn(x, y)

    def rule_read(self, r):
        X = table(r, r.choice([0, 1, 3]), self.width(r))
        form = form_of_rows(r, X)
        which = r.choice(["predict", "predict", "std", "weights", "inverse", "rounds"])
        if which == "predict":
            self.read("predict", lambda one: one.predict(form if one is self.learner else X),
                      lambda twin: twin.predict(X))
        elif which == "std" and not self.logistic:
            self.read("predict", lambda one: one.predict(
                form if one is self.learner else X, return_std=True)[1],
                lambda twin: twin.predict(X, return_std=True)[1])
        elif which == "weights":
            self.read("weights", lambda one: one.weights, lambda twin: twin.weights)
        elif which == "inverse":
            self.read("inverse", lambda one: one.inverse(), lambda twin: twin.inverse())
        elif which == "rounds":
            self.read("rounds", lambda one: one.rounds, lambda twin: twin.rounds)

    rule_read.weight = 2

    def rule_run(self, r):
        n, d = r.choice([0, 1, 2, 6]), self.width(r)
        X, y = table(r, n, d), np.array([self.target(r) for _ in range(n)], dtype=float)
        c = [r.choice([1.0, 0.5, 2.0]) for _ in range(n)] if r.random() < 0.5 else None
        words = {} if c is None else {"weight": c}
        history = self.learner.run(form_of_rows(r, X), y, **words)
        for t in range(n):
            predicted = self.mirror.predict(X[t:t + 1])[0]
            self.alike("run", float(history.predictions[t]), float(predicted))
            word = {} if c is None else {"weight": c[t]}
            if self.twin is not None:
                self.close("run", predicted, self.twin.predict(X[t:t + 1])[0])
                self.twin.learn(X[t], y[t], **word)
            self.mirror.learn(X[t], y[t], **word)

    rule_run.weight = 2

    def rule_stop(self, r):
        X = table(r, 4)
        y = [self.target(r) for _ in X]
        self.stops(r, lambda one, X: one.run(X, y),
                   lambda one, X, t: (one.predict(X[t:t + 1]), one.learn(X[t], y[t])), X)

    rule_stop.weight = 0.3

    def rule_bad(self, r):
        one, good, n = self.learner, row(r), r.choice([1, 3])
        fixed = "wide" if self.most else "exactly" if one._engine._dimension else None
        what, bad = bad_rows(r, self.most or WIDE, fixed)
        which, rows = bad_tables(r, self.most or WIDE, n, fixed)
        calls = [(f"learn, {what}", lambda: one.learn(bad, 0.5)),
                 (f"predict, {which}", lambda: one.predict(rows)),
                 (f"run, {which}", lambda: one.run(rows, [0.5] * n))]
        calls += bad_numbers(one, lambda *y, **words: one.learn(good, *y, **words), self.logistic)
        for y in ([0.5] * (n + 1), [np.nan] * n, None, ["x"] * n, [Raises()] * n, [1j] * n,
                  np.ma.masked_array([0.5] * n, mask=[True] * n)):
            calls.append((f"targets {y!r}", lambda y=y: one.run(np.ones((n, WIDE)), y)))
        for c in ([0.0] * n, [-1.0] * n, [np.nan] * n, [1.0] * (n + 1), "x"):
            calls.append((f"weights {c!r}",
                          lambda c=c: one.run(np.ones((n, WIDE)), [0.5] * n, weight=c)))
        calls += [("progress", lambda: one.run(np.ones((1, WIDE)), [0.5], progress=3)),
                  ("return_std", lambda: one.predict(np.ones((1, WIDE)), return_std="x")),
                  ("merge", lambda: one.merge(cf.SimpleFilter())),
                  ("merge", lambda: one.merge(None))]
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def ways_back(self, r):
        x, y, u, v = row(r), row(r), self.target(r), self.target(r)
        return [("reset", lambda one: one.reset()), ("learn", lambda one: one.learn(x, u)),
                ("decay", lambda one: one.decay(0.5)), ("predict", lambda one: one.predict([x])),
                ("run", lambda one: one.run(np.array([x, y]), [u, v]))]

    def rule_reach(self, r):
        x, y = row(r), self.target(r)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        what, call = r.choice([
            ("learn's row", lambda one: one.learn(wrap(one, x), y)),
            ("learn's target", lambda one: one.learn(x, wrap(one, y))),
            ("learn's weight", lambda one: one.learn(x, y, weight=wrap(one, 0.5))),
            ("decay's f", lambda one: one.decay(wrap(one, 0.5))),
            ("predict's rows", lambda one: one.predict(wrap(one, x[None]))),
            ("run's rows", lambda one: one.run(wrap(one, x[None]), [y])),
            ("run's targets", lambda one: one.run(x[None], wrap(one, [y]))),
            ("run's weights", lambda one: one.run(x[None], [y], weight=wrap(one, [2.0]))),
        ])
        self.reaches_back(what, call, r)

    def rule_interrupt(self, r):
        X = many(1 << 15)
        y = 1.0 / (1.0 + np.exp(-X[:, 0]))

        def run(one, n, **words):
            return one.run(X[:n], y[:n], **words)

        if self.learner.rounds < 3000:
            interrupted(self, r, run, lambda one: one.rounds, 1 << 15)

    rule_interrupt.weight = 0.02

    def changes(self):
        return {"noise": [1.0, 0.3, 0.0], "forget": [1.0, 0.9, 0.6]}

    def bad_changes(self):
        return [("no_such_parameter", 1), ("ridge", 0.0), ("noise", -1.0), ("forget", 0.0),
                ("forget", 1.5), ("covariance", "half"), ("link", None), ("precision", "x"),
                ("max_features", 0), ("noise", Raises())]


def bad_numbers(one, learn, logistic):
    found = []
    for y in (np.nan, np.inf, "x", None, 1j, Raises(), [0.5, 0.5], np.ma.masked, b"1",
              *([1.5, -0.1] if logistic else [])):
        found.append((f"target {y!r}", lambda y=y: learn(y)))
    for c in (0.0, -1.0, np.nan, np.inf, "x", Raises(), None, np.ma.masked):
        found.append((f"weight {c!r}", lambda c=c: learn(0.5, weight=c)))
    for f in (0.0, 1.5, np.nan, "x", None, Raises()):
        found.append((f"decay {f!r}", lambda f=f: one.decay(f)))
    return found


@machine("LinearBandit", "ArmBandit")
class BanditMachine(RewardMachine):
    def drawn_parameters(self, r):
        given = self.regression(r)
        explore = given["explore"] = r.choice(["ucb", "ucb", "thompson", "squarecb", "greedy"])
        given |= {"width": r.choice([1.0, 0.3]), "floor": r.choice([0.0, 0.0, 0.2]),
                  "scale": r.choice([10.0, 1.0]), "seed": seed_of(r),
                  "max_pending": r.choice([2, 100])}
        if (explore == "ucb" and given["covariance"] == "full" and given["forget"] == 1.0
                and not given["link"] == "logistic" and r.random() < 0.4):
            given |= {"width": "theory", "noise": 0.5}
        self.contexts = 0
        if self.name == "ArmBandit":
            given["n_arms"] = r.choice([1, 3])
        elif self.most is None and r.random() < 0.3:
            self.contexts = given["context_features"] = CONTEXTS
        self.ids, self.last = [], None
        self.catalogues = {}
        return given

    @property
    def linear(self):
        return self.name == "LinearBandit"

    def forgotten(self):
        self.ids, self.last = [], None

    def weight_of(self, r):
        most = self.parameters["width"] == "theory"
        return r.choice([1.0, 0.5, 0.25] if most else [1.0, 1.0, 0.5, 2.0])

    # --- what a round offers ----------------------------------------------------------------------

    def offer(self, r):
        """What is chosen among: rows and words of the learner, and of the others."""
        if not self.linear:
            x = self.row(r)
            return self.form(r, x), x, {}, self.arms
        n = r.choice([1, 2, 5])
        X = table(r, n, self.width(r))
        words = {"context": np.array([r.gauss(0, 1) for _ in range(CONTEXTS)])} \
            if self.contexts else {}
        return form_of_rows(r, X), X, words, n

    def allowed(self, r, n):
        mask = np.array([r.random() < 0.7 for _ in range(n)], dtype=bool)
        mask[r.randrange(n)] = True
        return {"allowed": mask} if r.random() < 0.3 else {}

    def act(self, r, which):
        form, plain_rows, words, n = self.offer(r)
        more = self.allowed(r, n)
        if which == "choose" and r.random() < 0.3:
            k = r.choice([1, 2])
            if not more or int(more["allowed"].sum()) >= k and n >= k:
                more["k"] = min(k, n)
        got = getattr(self.learner, which)(form, **words, **more)
        # sparse actions are summed in another order, and what waits is kept in the form it had
        same = form if self.linear or which == "decide" else plain_rows
        self.alike(which, got, getattr(self.mirror, which)(same, **words, **more))

        def ask(twin, rows):
            answer = getattr(twin, which)(rows, **words, **more)
            return (answer.id, answer.action) if which == "decide" else answer

        if self.twin is not None:
            before = copy.deepcopy(self.twin)
            shown = (got.id, got.action) if which == "decide" else got
            bounds = self.bounds(words, more)
            if not self.decided(which, shown, before, ask, plain_rows, bounds):
                if which == "decide" or self.parameters["explore"] == "squarecb" \
                        or self.parameters["floor"]:
                    self.twin = None  # its pending decision, or its next draw, may be another
        self.last = plain_rows, words, n, got
        return got

    def bounds(self, words, more):
        """What one place without chance is chosen by; None for all other choices."""
        explore, width = self.parameters["explore"], self.parameters["width"]
        if explore not in ("ucb", "greedy") or self.parameters["floor"] or "k" in more:
            return None

        def upper(twin, rows):
            means, spreads = twin.scores(rows, **words)
            if twin._models is not None:
                bonus = twin._bonus(twin._models)
            else:  # the same for all
                bonus = 1.0 if width == "theory" else width
            scores = means + bonus * spreads if explore == "ucb" else means
            return np.where(more.get("allowed", True), scores, -np.inf)
        return upper

    def rule_choose(self, r):
        self.act(r, "choose")

    rule_choose.weight = 2

    def rule_decide(self, r):
        decision = self.act(r, "decide")
        self.ids = [*self.ids, decision.id][-20:]

    rule_decide.weight = 2

    def rule_reward(self, r):
        """Of a decision that waits; what was dropped is refused."""
        if not self.ids:
            return
        at = r.randrange(len(self.ids))
        number, y, c = self.ids[at], self.target(r), self.weight_of(r)
        drop = r.random() < 0.2

        def call(one):
            return one.drop(number) if drop else one.reward(number, y, weight=c)

        waits = self.waits(number)
        if not waits:
            self.ids.remove(number)
            self.refused("a decision that does not wait", lambda: call(self.learner),
                         (*REFUSED, LookupError))
            return
        self.ids.remove(number)
        call(self.learner)
        call(self.mirror)
        if self.twin is not None:
            call(self.twin)

    rule_reward.weight = 3

    def waits(self, number):
        return number in self.learner._engine._state()["waiting"]["ids"].tolist()

    def learn(self, r, x, form, arm, words):
        y, c = self.target(r), self.weight_of(r)
        chosen = () if self.linear else (arm,)
        self.learner.learn(form, *chosen, y, weight=c, **words)
        self.mirror.learn(x, *chosen, y, weight=c, **words)
        if self.twin is not None:
            self.twin.learn(x, *chosen, y, weight=c, **words)

    def rule_learn(self, r):
        form, rows, words, n = self.offer(r)
        i = r.randrange(n)
        if self.linear:
            self.learn(r, rows[i], self.form(r, rows[i]), 0, words)
        else:
            self.learn(r, rows, form, i, words)

    rule_learn.weight = 4

    def teach_one(self, one, x, y, arm):
        if self.linear:
            words = {"context": np.arange(1.0, CONTEXTS + 1.0)} if self.contexts else {}
            one.learn(x, y, **words)
        else:
            one.learn(x, arm, y)

    def rule_pair(self, r):
        if not self.linear or not self.logistic or self.contexts:
            return
        X = table(r, 3, self.width(r))
        pair = self.read("choose_pair", lambda one: one.choose_pair(X))
        first, second, won = X[pair[0]], X[pair[1]], r.random() < 0.5
        if not (first - second).any():
            return
        self.learner.learn_pair(self.form(r, first), self.form(r, second), won)
        self.mirror.learn_pair(first, second, won)
        if self.twin is not None:
            self.twin.learn_pair(first, second, won)

    def rule_read(self, r):
        form, rows, words, n = self.offer(r)
        more = self.allowed(r, n)
        which = r.choice(["scores", "probabilities", "weights", "inverse", "counts", "samples"])

        def ours(one):
            return form if one is self.learner or self.linear else rows

        if which == "scores":
            for i in (0, 1):
                self.read("scores", lambda one, i=i: one.scores(ours(one), **words)[i],
                          lambda twin, i=i: twin.scores(rows, **words)[i])
        elif which == "probabilities" and self.parameters["explore"] != "thompson":
            close = None if self.parameters["explore"] in ("ucb", "greedy") else (
                lambda twin: twin.probabilities(rows, **words, **more))
            self.read("probabilities", lambda one: one.probabilities(ours(one), **words, **more),
                      close, 1e-5)
        elif which == "samples" and self.parameters["explore"] == "thompson":
            self.alike("probabilities", *[one.probabilities(
                ours(one), samples=20, **words, **more) for one in (self.learner, self.mirror)])
        elif which == "weights":
            self.read("weights", lambda one: one.weights, lambda twin: twin.weights)
        elif which == "inverse":
            args = () if self.linear else (r.randrange(self.arms),)
            self.read("inverse", lambda one: one.inverse(*args), lambda twin: twin.inverse(*args))
        elif which == "counts":
            self.read("counts", lambda one: (one.rounds, one.pending, one.expired),
                      lambda twin: (twin.rounds, twin.pending, twin.expired))

    rule_read.weight = 2

    def rule_catalogue(self, r):
        """A catalogue is its rows."""
        if not self.linear or self.most is not None:
            return
        if not self.catalogues or r.random() < 0.2:
            rows = table(r, r.choice([3, 20]))
            kind = r.choice([np.float64, np.float32])
            self.catalogues = {"rows": rows, "items": cf.Catalogue(rows.astype(kind)),
                               "gone": set()}
        items, gone = self.catalogues["items"], self.catalogues["gone"]
        d = self.learner._engine._dimension
        if d and d != WIDE * (1 + self.contexts):
            return
        if r.random() < 0.15:
            more = table(r, 2)
            items.add(more)
            self.catalogues["rows"] = np.concatenate([self.catalogues["rows"], more])
        rows = self.catalogues["rows"]
        if r.random() < 0.15 and len(rows) - len(gone) > 3:
            i = r.choice([i for i in range(len(rows)) if i not in gone])
            items.remove(i)
            gone.add(i)
        words = {"context": np.array([r.gauss(0, 1) for _ in range(CONTEXTS)])} \
            if self.contexts else {}
        mask = np.array([i not in gone for i in range(len(rows))], dtype=bool)
        if r.random() < 0.3:
            drawn = mask & np.array([r.random() < 0.8 for _ in rows], dtype=bool)
            mask = drawn if drawn.any() else mask
        k = {"k": 2} if r.random() < 0.3 and mask.sum() >= 2 else {}
        given = {"allowed": mask} if r.random() < 0.5 or mask.sum() + len(gone) < len(rows) else {}
        got = self.learner.choose(items, **given, **k, **words)
        expected = self.mirror.choose(rows, allowed=mask, **k, **words)
        self.alike("a catalogue", got, expected)
        if self.twin is not None and self.parameters["explore"] in ("thompson", "squarecb") \
                or self.parameters["floor"]:
            self.twin = None  # it did not draw

    rule_catalogue.weight = 1

    @classmethod
    def has_rule(cls, name, rule):
        if rule in ("rule_pair", "rule_catalogue"):
            return name == "LinearBandit"
        return rule != "rule_add_arm" or name == "ArmBandit"

    def rule_add_arm(self, r):
        if self.arms >= 6:
            return
        added = self.learner.add_arm()
        self.alike("add_arm", added, self.mirror.add_arm())
        if self.twin is not None:
            self.alike("add_arm", added, self.twin.add_arm())

    rule_add_arm.weight = 0.3

    def rule_run(self, r):
        """The simulation is the loop of single calls."""
        n, d = r.choice([0, 1, 4]), WIDE if self.most is None else self.most
        if self.linear:
            X = np.array([table(r, 3, d) for _ in range(max(n, 1))])
            y = np.array([[self.target(r) for _ in range(3)] for _ in range(max(n, 1))])
            context = np.ones((max(n, 1), CONTEXTS)) if self.contexts else None
            rewards = cf.RewardTable(X, y, context=context)
        else:
            X = table(r, max(n, 1), d)
            y = np.array([[self.target(r) for _ in range(self.arms)] for _ in range(max(n, 1))])
            rewards = (X, y)
        history = cf.simulate_bandit(self.learner, rewards, rounds=n)
        for t in range(n):
            words = {"context": np.ones(CONTEXTS)} if self.contexts else {}
            chosen = self.mirror.choose(X[t], **words)
            self.alike("simulate_bandit", int(history.choice[t]), chosen)
            if self.linear:
                self.mirror.learn(X[t][chosen], y[t, chosen], **words)
            else:
                self.mirror.learn(X[t], chosen, y[t, chosen])
            if self.twin is None:
                continue
            before = copy.deepcopy(self.twin)
            if not self.decided("simulate_bandit", chosen, before,
                                lambda twin, x, words=words: twin.choose(x, **words), X[t]):
                self.twin = None
            elif self.linear:
                self.twin.learn(X[t][chosen], y[t, chosen], **words)
            else:
                self.twin.learn(X[t], chosen, y[t, chosen])

    def rule_bad(self, r):
        one = self.learner
        form, rows, words, n = self.offer(r)
        fixed = "wide" if self.most else "exactly" if one._engine._dimension else None
        if self.contexts and fixed:
            fixed = "exactly"
        d = self.most or WIDE
        what, bad = bad_rows(r, d, fixed)
        which, bad_offer = bad_tables(r, d, 3, fixed)
        chosen = () if self.linear else (0,)
        good = np.resize(rows[0] if self.linear else rows, d) + 0.0
        if not self.linear:
            which, bad_offer = what, bad
        calls = [(f"learn, {what}", lambda: one.learn(bad, *chosen, 0.5, **words)),
                 (f"choose, {which}", lambda: one.choose(bad_offer, **words)),
                 (f"decide, {which}", lambda: one.decide(bad_offer, **words)),
                 (f"scores, {which}", lambda: one.scores(bad_offer, **words))]
        calls += bad_numbers(one, lambda *y, **more: one.learn(good, *chosen, *y, **more, **words),
                             self.logistic)
        for mask in ([False] * n, [True] * (n + 1), [2] * n, "x", [Raises()] * n,
                     np.ma.masked_array([True] * n, mask=[True] * n)):
            for name in ("choose", "decide"):
                calls.append((f"{name}, allowed={mask!r}", lambda name=name, mask=mask: getattr(
                    one, name)(rows, allowed=mask, **words)))
        for k in (0, -1, 0.5, "x", Raises()):
            calls.append((f"k={k!r}", lambda k=k: one.choose(rows, k=k, **words)))
        for number in (10**6, -1, 0.5, None, "x", Raises()):
            calls.append((f"reward({number!r})", lambda i=number: one.reward(i, 0.5)))
            calls.append((f"drop({number!r})", lambda i=number: one.drop(i)))
        waiting = [i for i in self.ids if self.waits(i)]
        if waiting:
            for y in (np.nan, "x", Raises(), None):
                calls.append((f"reward {y!r}", lambda y=y: one.reward(waiting[0], y)))
            calls.append(("weight", lambda: one.reward(waiting[0], 0.5, weight=0.0)))
        if self.contexts:
            for c in (None, np.ones(CONTEXTS + 1), np.full(CONTEXTS, np.nan), "x",
                      [Raises()] * CONTEXTS):
                calls.append((f"context {c!r}", lambda c=c: one.choose(rows, context=c)))
                calls.append((f"context {c!r}", lambda c=c: one.learn(good, 0.5, context=c)))
        elif self.linear:
            calls.append(("context", lambda: one.choose(rows, context=[1.0])))
        if not self.linear:
            for i in (-1, self.arms, 0.5, None, Raises()):
                calls.append((f"arm {i!r}", lambda i=i: one.learn(good, i, 0.5)))
                calls.append((f"inverse({i!r})", lambda i=i: one.inverse(i)))
        if self.parameters["width"] == "theory":
            calls.append(("weight 2", lambda: one.learn(good, *chosen, 0.5, weight=2.0, **words)))
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom, LookupError))

    rule_bad.weight = 3

    def ways_back(self, r):
        x, y = row(r), self.target(r)
        chosen = () if self.linear else (r.randrange(self.arms),)
        words = {"context": np.ones(CONTEXTS)} if self.contexts else {}
        offer = [x] if self.linear else x
        return [("reset", lambda one: one.reset()),
                ("learn", lambda one: one.learn(x, *chosen, y, **words)),
                ("decay", lambda one: one.decay(0.5)),
                ("choose", lambda one: one.choose(offer, **words)),
                ("decide", lambda one: one.decide(offer, **words)),
                ("reward", lambda one: one.reward(one.decide(offer, **words).id, y))]

    def rule_reach(self, r):
        x, y = row(r), self.target(r)
        chosen = () if self.linear else (r.randrange(self.arms),)
        words = {"context": np.ones(CONTEXTS)} if self.contexts else {}
        offer = np.array([x, x[::-1]]) if self.linear else x
        n = 2 if self.linear else self.arms

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        what, call = r.choice([
            ("learn's row", lambda one: one.learn(wrap(one, x), *chosen, y, **words)),
            ("learn's reward", lambda one: one.learn(x, *chosen, wrap(one, y), **words)),
            ("learn's weight", lambda one: one.learn(
                x, *chosen, y, weight=wrap(one, 0.5), **words)),
            ("decay's f", lambda one: one.decay(wrap(one, 0.5))),
            ("choose's rows", lambda one: one.choose(wrap(one, offer), **words)),
            ("choose's allowed", lambda one: one.choose(
                offer, allowed=wrap(one, [True] * n), **words)),
            ("choose's k", lambda one: one.choose(offer, k=wrap(one, 1), **words)),
            ("decide's rows", lambda one: one.decide(wrap(one, offer), **words)),
            ("decide's allowed", lambda one: one.decide(
                offer, allowed=wrap(one, [True] * n), **words)),
            ("reward's r", lambda one: one.reward(one.decide(offer, **words).id, wrap(one, y))),
            ("drop's id", lambda one: one.drop(wrap(one, one.decide(offer, **words).id))),
            ("scores' rows", lambda one: one.scores(wrap(one, offer), **words)),
            *([] if self.linear else [
                ("learn's arm", lambda one: one.learn(x, wrap(one, chosen[0]), y))]),
            *([("learn's context", lambda one: one.learn(
                x, y, context=wrap(one, np.ones(CONTEXTS))))] if self.contexts else []),
        ])
        if what.startswith(("reward", "drop")):
            self.reach_after_decide(what, call, r, offer, words, y)
        else:
            self.reaches_back(what, call, r)

    def reach_after_decide(self, what, call, r, offer, words, y):
        """The decision comes before the call within."""
        decided = self.learner.decide(offer, **words)
        self.alike("decide", decided, self.mirror.decide(offer, **words))
        self.twin = None
        self.ids = [*self.ids, decided.id]
        number = decided.id

        def late(one):
            if what.startswith("reward"):
                value = Reaching(y, self.switch) if one is self.learner else y
                return one.reward(number, value)
            value = Reaching(number, self.switch) if one is self.learner else number
            return one.drop(value)

        self.reaches_back(what, late, r)

    def changes(self):
        found = {"floor": [0.0, 0.3], "scale": [10.0, 1.0], "power": [0.5, 0.25],
                 "noise": [1.0, 0.5], "norm_bound": [1.0, 0.5], "delta": [0.05, 0.3],
                 "max_pending": [2, 5, 100], "seed": [3, 9], "width": [1.0, 0.3, "theory"],
                 "explore": ["ucb", "greedy", "squarecb", "thompson"]}
        if self.parameters["forget"] < 1.0:
            found["forget"] = [0.9, 0.6]
        return found

    def bad_changes(self):
        return [("no_such_parameter", 1), ("explore", "none"), ("width", -1.0), ("floor", 1.0),
                ("delta", 0.0), ("max_pending", 0), ("seed", "x"), ("scale", np.nan),
                ("ridge", -1.0), ("width", "wide"), ("power", Raises())]

    def kept_by_set_params(self, learner):
        return learner.rounds, learner.n_arms if not self.linear else 0

    def adopted(self, old, given):
        if "max_pending" in given:
            return None
        return super().adopted(old, given)
