"""Machines of fleets: a file, the same in memory, and a learner of its own for each key."""

import copy
import os

import numpy as np

import coactive_fast as cf

from .core import FOLDER, REFUSED, Boom, Machine, Reaching, machine, plain
from .metrics import OTHER
from .rows import WIDE, Raises, bad_rows, bad_tables, form_of_row, form_of_rows, row, table


def templates(r):
    return r.choice([
        lambda: cf.OnlineRidge(ridge=0.5), lambda: cf.OnlineRidge(link="logistic", forget=0.9),
        lambda: cf.RidgeFilter(), lambda: cf.RidgeFilter(rule="ucb", width=0.5),
        lambda: cf.RidgeFilter(feedback="full", forget=0.9),
        lambda: cf.LinearBandit(seed=5),
        lambda: cf.LinearBandit(explore="thompson", seed=3),
        lambda: cf.ArmBandit(2, seed=6),
        lambda: cf.ArmBandit(3, explore="squarecb", floor=0.1, seed=4),
        lambda: cf.PreferencePerceptron(cf.Ranking(k=2)),
        lambda: cf.PreferencePerceptron(cf.Ranking(k=3), batch=2),
    ])()


@machine("Fleet")
class FleetMachine(Machine):
    tolerance = 1e-6
    cls = cf.Fleet

    def drawn_parameters(self, r):
        self.template = templates(r)
        self.kind = type(self.template).__name__
        self.names = r.choice([[0, 1, -5, 2**62], ["anna", "ben", "", "x" * 63]])
        self.drawn = 0
        self.capacity = r.choice([1, 2, 50])
        self.keep = r.random() < 0.3
        self.prior = None
        if r.random() < 0.3:
            self.prior = self.template.clone()
            for x in table(r, 3):
                self.teach(self.prior, x, r.random(), 0)
        return {"weight": r.choice([1.0, 0.5])}

    def made(self):
        self.drawn += 1
        path = os.path.join(FOLDER, f"{os.getpid()} {id(self)}.fleet") if self.drawn % 2 else None
        words = {} if self.prior is None else {"prior": self.prior,
                                               "prior_weight": self.parameters["weight"]}
        return cf.Fleet(path, self.template, self.capacity, keep_flushed=self.keep, **words)

    def new_twin(self):
        self.unfed = self.learner[self.names[0]]
        self.solo = {}
        self.twin = None

    def __del__(self):
        for one in (getattr(self, "learner", None), getattr(self, "mirror", None)):
            if one is not None:
                one.close()
        path = os.path.join(FOLDER, f"{os.getpid()} {id(self)}.fleet")
        if os.path.exists(path):
            os.remove(path)

    @classmethod
    def share(cls, name):
        return 0.15

    # --- comparing ------------------------------------------------------------------------------

    def state_of(self, one):
        return tuple(sorted((key, one._engine.words(key).tobytes()) for key in one))

    def settled_of(self, one):
        return tuple(sorted((key, plain(one[key]._engine._state())) for key in one))

    def finger(self):
        return self.state_of(self.learner)

    def unmoved(self, what, before):
        if self.finger() != before:
            self.fail(f"{what}: refused, and yet changed")

    @classmethod
    def has_rule(cls, name, rule):
        return rule not in (*OTHER, "rule_copy")

    def owned(self, key):
        """The learner of a key's own."""
        if key not in self.solo:
            self.solo[key] = copy.deepcopy(self.unfed)
        return self.solo[key]

    # --- what is learned ------------------------------------------------------------------------

    def target(self, r):
        return r.random() if self.kind != "RidgeFilter" else r.random() < 0.5

    def answers(self, y, arm):
        return (arm, y) if self.kind == "ArmBandit" else (y,)

    def teach(self, one, x, y, arm):
        if self.kind == "PreferencePerceptron":
            one.update(x)
        elif self.kind == "RidgeFilter":
            one.learn(x, bool(y > 0.5))
        else:
            one.learn(x, *self.answers(y, arm))

    @property
    def arms(self):
        return getattr(self.template, "n_arms", 1)

    def key(self, r):
        return r.choice(self.names)

    def fed(self, r):
        there = [key for key in self.names if key in self.learner]
        return r.choice(there) if there else None

    # --- rules ----------------------------------------------------------------------------------

    def rule_learn(self, r):
        key, x, y, arm = self.key(r), row(r), self.target(r), r.randrange(self.arms)
        if self.kind == "PreferencePerceptron":
            X = table(r, r.randrange(2, 5))
            order = list(range(len(X)))
            better = order[::-1]
            for one in (self.learner, self.mirror):
                one.learn(key, X, order, better)
            self.owned(key).learn(X, order, better)
            return
        form = form_of_row(r, x, self.learner.health()["features"] > 0)
        words = {"weight": 0.5} if r.random() < 0.2 and self.kind != "RidgeFilter" else {}
        self.learner.learn(key, form, *self.answers(y, arm), **words)
        self.mirror.learn(key, x, *self.answers(y, arm), **words)
        self.owned(key).learn(x, *self.answers(y, arm), **words)

    rule_learn.weight = 4

    def rule_run(self, r):
        n = r.choice([0, 1, 5])
        keys = [self.key(r) for _ in range(n)]
        if not n:
            return
        X = table(r, n)
        y, arms = [self.target(r) for _ in keys], [r.randrange(self.arms) for _ in keys]
        given = {"ArmBandit": (arms, y), "PreferencePerceptron": ()}.get(self.kind, (y,))
        jobs = r.choice([1, 1, 1, 3])
        self.learner.run(keys, form_of_rows(r, X, False), *given, n_jobs=jobs)
        for t, key in enumerate(keys):
            one = [[answer[t]] for answer in given]
            self.mirror.run([key], X[t:t + 1], *one)
            own = self.owned(key)
            if self.kind == "PreferencePerceptron":
                own.update(X[t])
            elif self.kind == "RidgeFilter":
                own.run(X[t:t + 1], one[0])
            else:
                own.learn(X[t], *[answer[0] for answer in one])

    rule_run.weight = 3

    def rule_choose(self, r):
        key = self.fed(r)
        if key is None:
            return
        x = row(r)
        if self.kind in ("LinearBandit", "OnlineRidge", "PreferencePerceptron"):
            x = table(r, 3)
        got = self.learner.choose(key, x)
        self.alike("choose", got, self.mirror.choose(key, x))
        own = self.owned(key)
        before = copy.deepcopy(own)
        which = {"OnlineRidge": "predict", "RidgeFilter": "forward",
                 "PreferencePerceptron": "present"}.get(self.kind, "choose")
        if self.kind == "OnlineRidge":
            self.close("choose", got, own.predict(x))
            return
        self.twin = own
        self.decided("choose", as_list(got), before,
                     lambda twin, x: as_list(getattr(twin, which)(x)), x)
        self.twin = None

    rule_choose.weight = 3

    def rule_read(self, r):
        key = self.key(r)
        before = self.finger()
        found = self.learner[key]
        self.unmoved("fleet[key]", before)
        if (key in self.learner) != (key in self.mirror) or len(self.learner) != len(self.mirror):
            self.fail("in, len")
        self.alike("fleet[key]", found._engine._state(), self.mirror[key]._engine._state())
        if sorted(self.learner) != sorted(key for key in self.names if key in self.learner):
            self.fail(f"keys: {list(self.learner)}")
        if key in self.learner:
            own = self.owned(key)
            if self.kind == "RidgeFilter":
                x = row(r)
                self.close("margin", found.margin(x), own.margin(x))
                self.alike("rounds", (found.rounds, found.learned), (own.rounds, own.learned))
            else:
                self.close("weights", found.weights, own.weights)
                self.alike("rounds", found.rounds, own.rounds)

    rule_read.weight = 3

    def rule_set(self, r):
        key = self.key(r)
        other = copy.deepcopy(self.owned(self.fed(r))) if self.fed(r) is not None \
            else self.template.clone()
        if r.random() < 0.5:
            other = self.template.clone()
            self.teach(other, row(r), r.random(), 0)
        if key in self.learner and r.random() < 0.3:
            other = self.learner[key]  # its own: nothing changes but the generator's place
        if not other.rounds and not getattr(other, "learned", 0):
            self.refused("fleet[key] = fresh", lambda: self.learner.__setitem__(key, other))
            return
        self.learner[key], self.mirror[key] = other, other
        self.solo[key] = copy.deepcopy(other)

    def rule_delete(self, r):
        key = self.key(r)
        if key not in self.learner:
            self.refused("del", lambda: self.learner.__delitem__(key), (KeyError,))
            return
        del self.learner[key], self.mirror[key]
        self.solo.pop(key, None)

    rule_delete.weight = 0.5

    def rule_reopen(self, r):
        path, before = self.learner._engine.path, self.state_of(self.learner)
        if r.random() < 0.5:
            self.learner.flush()
        if r.random() < 0.3:
            reader = cf.Fleet(path, mode="r")
            if self.state_of(reader) != before:
                self.fail("a reader sees something else")
            try:
                reader.learn(self.names[0], row(r), *self.answers(0.5, 0))
            except (ValueError, TypeError, OSError):
                pass
            else:
                self.fail("a reader learned")
            reader.close()
        self.learner.close()
        for call in (lambda: self.learner.learn(self.names[0], row(r), 0.5),
                     lambda: self.learner[self.names[0]], lambda: len(self.learner)):
            try:
                call()
            except (*REFUSED, RuntimeError):
                pass
            else:
                self.fail("a closed fleet answered")
        self.learner = cf.Fleet(path, mode="r+", keep_flushed=r.random() < 0.3)
        if self.state_of(self.learner) != before:
            self.fail("another file than was closed")

    def rule_flush(self, r):
        self.learner.flush()
        health = self.learner.health()
        if health["damaged"] or health["models"] != len(self.learner):
            self.fail(f"health: {health}")

    rule_flush.weight = 0.5

    def rule_bad(self, r):
        one, n = self.learner, r.choice([1, 3])
        fixed = "exactly" if one.health()["features"] else None
        what, bad = bad_rows(r, WIDE, fixed)
        which, rows = bad_tables(r, WIDE, n, fixed)
        key, good = self.key(r), np.ones(WIDE)
        feedback = self.answers(True if self.kind == "RidgeFilter" else 0.5, 0)
        many = [[answer] * n for answer in feedback]
        calls = [(f"key {k!r}", lambda k=k: one.learn(k, good, *feedback))
                 for k in (None, 0.5, True, 2**63, "x" * 64, b"x", [1], Raises(),
                           *([1] if isinstance(self.names[0], str) and len(one) else []),
                           *(["x"] if isinstance(self.names[0], int) and len(one) else []))]
        if self.kind != "PreferencePerceptron":
            calls += [(f"learn, {what}", lambda: one.learn(key, bad, *feedback)),
                      (f"run, {which}", lambda: one.run([key] * n, rows, *many)),
                      ("run, keys", lambda: one.run([key] * (n + 1), np.ones((n, WIDE)), *many)),
                      ("run, jobs", lambda: one.run([key], good[None], *[[a] for a in feedback],
                                                    n_jobs=r.choice([0, 17, 0.5])))]
            for y in (np.nan, "x", None, Raises(), [1.0, 2.0]):
                calls.append((f"answer {y!r}", lambda y=y: one.learn(key, good, *feedback[:-1], y)))
        else:
            calls += [(f"learn, {which}", lambda: one.learn(key, rows, [0], [0])),
                      ("learn, y", lambda: one.learn(key, np.ones((2, WIDE)), [0, 0], [0, 1]))]
        calls += [("set", lambda: one.__setitem__(key, None)),
                  ("set", lambda: one.__setitem__(key, cf.SimpleFilter())),
                  ("copy", lambda: copy.deepcopy(one))]
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def ways_back(self, r):
        key, x, y = self.key(r), row(r), self.target(r)
        if self.kind == "PreferencePerceptron":
            return [("in", lambda one: key in one)]

        def learn(one):
            one.learn(key, x, *self.answers(y, 0))

        def delete(one):
            if key in one:
                del one[key]

        return [("learn", learn), ("delete", delete), ("in", lambda one: key in one)]

    def rule_reach(self, r):
        if self.kind == "PreferencePerceptron":
            return
        key, x, y = self.key(r), row(r), self.target(r)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        feedback = self.answers(y, 0)
        what, call = r.choice([
            ("learn's row", lambda one: one.learn(key, wrap(one, x), *feedback)),
            ("learn's answer", lambda one: one.learn(
                key, x, *feedback[:-1], y if self.kind == "RidgeFilter" else wrap(one, y))),
            ("run's rows", lambda one: one.run([key], wrap(one, x[None]),
                                               *[[one] for one in feedback])),
        ])
        self.reaches_back(what, call, r)
        self.solo = {}
        for k in self.learner:
            self.solo[k] = self.learner[k]


def as_list(answer):
    return answer.tolist() if hasattr(answer, "tolist") else answer
