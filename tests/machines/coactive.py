"""Machines of the coactive family."""

import copy
import importlib.util
from types import SimpleNamespace

import numpy as np

import coactive_fast as cf
from coactive_fast import reference

from .core import REFUSED, Boom, Machine, Reaching, Shared, keep, machine
from .interrupts import interrupted
from .multiclass import Kernel, seed_of
from .rows import WIDE, Raises, bad_tables, form_of_row, row, table

CATALOGUE = np.random.default_rng(0).standard_normal((9, WIDE))
TRUTH = np.array([3.0, -2.0, 1.0, 0.5, 0.0, -1.0])
DRAWING = ("DuelingBandit", "PairwisePerceptron", "PDGD")


class Pairs(Shared):
    """A structured object of one's own: which row."""

    dimension = WIDE

    def __init__(self, switch):
        self.switch = switch
        keep(self)

    def features(self, x, y):
        self.switch.pull()
        return np.asarray(x)[y]

    def argmax(self, w, x):
        self.switch.pull()
        rows = np.ascontiguousarray(x, dtype=float)  # equal rows have equal scores, in every layout
        return int(np.argmax((rows * w).sum(axis=1)))

    def __repr__(self):
        return "Pairs()"


class Half(Shared):
    """A set of one's own: the ball of radius 1, by way of Python."""

    def __init__(self, switch):
        self.switch = switch
        keep(self)

    def contains(self, x):
        self.switch.pull()
        return np.linalg.norm(x) <= 1.0 + 1e-9

    def project(self, z):
        self.switch.pull()
        return cf.Ball(1.0).project(z)

    def project_in(self, z, Ainv):
        self.switch.pull()
        return cf.Ball(1.0).project_in(z, Ainv)

    def __repr__(self):
        return "Half()"


class Rule(Shared):
    """A rule of one's own, with a memory."""

    def __init__(self, switch):
        self.switch = switch
        keep(self)

    def __call__(self, state, delta):
        state.memory["seen"] = state.memory.get("seen", 0) + 1
        state.memory["last"] = delta.copy()
        self.switch.pull()
        state.weights[:] = 0.5 * state.weights  # a copy, which may be used
        return state.weights + delta

    def __repr__(self):
        return "Rule()"


class User:
    """Puts the best of the first three documents in front."""

    def __init__(self, switch):
        self.switch = switch

    def respond(self, query, shown):
        self.switch.pull()
        return better_of(query.features, shown)


class Clicker(User):
    def clicks(self, query, shown):
        self.switch.pull()
        return clicked_of(query.features, shown)


def better_of(x, shown):
    shown = [int(d) for d in shown]
    best = max(shown[:3], key=lambda d: (float(x[d] @ TRUTH), -d))
    return [best, *[d for d in shown if d != best]]


def clicked_of(x, shown):
    return [int(d) for d in shown[:4] if x[d] @ TRUTH > 0.0]


def queries(r, n):
    return [SimpleNamespace(features=table(r, r.choice([2, 3, 5]))) for _ in range(n)]


LONG = {}


def long_data():
    """Queries for runs to be interrupted."""
    if not LONG:
        rng = np.random.default_rng(5)
        offsets = np.cumsum([0, *rng.integers(2, 6, 40)])
        features = rng.standard_normal((offsets[-1], WIDE))
        relevance = np.clip(np.round(features @ TRUTH), 0.0, 2.0)
        LONG["data"] = cf.data.RankingData(features, relevance, offsets)
    return LONG["data"]


@machine("PreferencePerceptron", "ExponentiatedPreferencePerceptron", "ConvexPreferencePerceptron",
         "SecondOrderPreferencePerceptron", "CustomPreferencePerceptron", "DuelingBandit",
         "PairwisePerceptron", "PDGD",
         *(["RankingSVM"] if importlib.util.find_spec("sklearn") else []))
class CoactiveMachine(Machine):
    tolerance = 1e-6

    def drawn_parameters(self, r):
        kinds = {"DuelingBandit": ["ranking", "ranking", "items"],
                 "PairwisePerceptron": ["ranking"],
                 "PDGD": ["ranking"]}.get(self.name, ["ranking", "ranking", "items", "own"])
        self.kind, self.k = r.choice(kinds), r.choice([1, 2, 3, 5])
        self.last, self.set = None, None
        given = {}
        if self.name == "PreferencePerceptron":
            if self.kind == "ranking" and r.random() < 0.4:
                kernel = r.choice(["linear", "rbf", "poly", "own", "own"])
                given["kernel"] = Kernel(self.switch, r.random() < 0.5) if kernel == "own" \
                    else kernel
                if r.random() < 0.5:
                    given["budget"] = r.choice([2 * self.k, 2 * self.k + 3, 20])
            else:
                given["batch"] = r.choice([1, 1, 2, 4])
        elif self.name == "ExponentiatedPreferencePerceptron":
            given = {"scale": r.choice([1.0, 3.0]), "signed": r.random() < 0.5,
                     "horizon": r.choice([None, 20])}
        elif self.name == "CustomPreferencePerceptron":
            given = {"rule": Rule(self.switch)}
        elif self.name == "DuelingBandit":
            given = {"explore": r.choice([1.0, 0.3]), "step": r.choice([0.1, 0.5])}
        elif self.name == "PairwisePerceptron":
            given = {"swap": r.choice([0.5, 0.0, 1.0])}
        elif self.name == "PDGD":
            given = {"rate": r.choice([0.1, 0.7])}
        elif self.name != "RankingSVM":
            given = self.bounded(r)
        if self.name in DRAWING:
            given["seed"] = seed_of(r)
        task = {"ranking": lambda: cf.Ranking(k=self.k), "items": lambda: cf.Items(CATALOGUE),
                "own": lambda: Pairs(self.switch)}[self.kind]()
        return {"task": task, **given}

    def bounded(self, r):
        given = {}
        which = r.choice(["radius", "radius", "box", "l1", "own", "ball"])
        if which == "radius":
            given["radius"] = r.choice([1.0, 0.5, 100.0])
        else:
            self.set = which
            given["feasible"] = {"box": lambda: cf.Box(-0.5, 1.0), "l1": lambda: cf.L1Ball(0.8),
                                 "ball": lambda: cf.Ball(0.7),
                                 "own": lambda: Half(self.switch)}[which]()
        if self.name == "ConvexPreferencePerceptron":
            given["slope"] = r.choice([1.0, 0.3])
        else:
            given |= {"gamma": r.choice([1.0, 0.3]), "epsilon": r.choice([1.0, 5.0])}
            if which == "radius" and r.random() < 0.4:
                given["projection"] = "deferred"
        return given

    def twin_parameters(self, parameters):
        if self.name == "RankingSVM":
            return None  # the solver is the same
        given = super().twin_parameters(parameters)
        if self.kind == "ranking":
            given["task"] = reference.Ranking(k=self.k)
        elif self.kind == "items":
            given["task"] = reference.Items(CATALOGUE)
        if self.set in ("box", "l1", "ball"):
            given["feasible"] = {"box": lambda: reference.Box(-0.5, 1.0),
                                 "l1": lambda: reference.L1Ball(0.8),
                                 "ball": lambda: reference.Ball(0.7)}[self.set]()
        return given

    @classmethod
    def share(cls, name):
        return 0.1 if name == "RankingSVM" else 1.0

    @property
    def kernel(self):
        return self.parameters.get("kernel") is not None

    @property
    def drawing(self):
        return self.name in DRAWING

    def own_code(self):
        return any(isinstance(value, Shared) for value in self.parameters.values())

    def only_task(self):
        return [n for n, v in self.parameters.items() if isinstance(v, Shared)] == ["task"]

    def forgotten(self):
        self.last = None

    # --- contexts -------------------------------------------------------------------------------

    def context(self, r):
        if self.kind == "items":
            if r.random() < 0.2:
                return None
            return np.array(sorted(r.sample(range(len(CATALOGUE)), r.randrange(1, 8))))
        return table(r, r.randrange(1, 7))

    def form(self, r, x):
        if x is None:
            return None
        if self.kind == "items":
            return r.choice([x, x.tolist(), x.astype(np.int32)])
        return r.choice([x, x.tolist() if len(x) else x, x.astype(np.float32),
                         np.asfortranarray(x)])

    def objects(self, x):
        """How many there are."""
        return len(CATALOGUE) if x is None else len(x)

    # --- rules ----------------------------------------------------------------------------------

    def present(self, r, x):
        words = {"k": r.choice([0, 1, 3])} if self.kind == "ranking" and r.random() < 0.15 else {}
        if not self.kernel and r.random() < 0.15:
            return self.read("present, average", lambda one: one.present(x, average=True, **words))
        got = self.learner.present(self.form(r, x), **words)
        if self.drawing or r.random() < 0.3:
            self.alike("present", got, self.mirror.present(x, **words))
        if self.twin is not None and self.drawing:
            before = copy.deepcopy(self.twin)
            if self.kind == "items":
                expected = self.twin.present(x, **words)
                if not same_choice(got, expected):
                    self.close_choice(got, expected, x, before)
                    self.twin = None
            else:
                self.drawn(got, before, x, words)
        elif self.twin is not None:
            expected = self.twin.present(x, **words)
            if not same_choice(got, expected):
                self.close_choice(got, expected, x, self.twin)
        self.last = (x, got, words)
        return got

    def drawn(self, got, before, x, words):
        """A ranking that was drawn. Within rounding means documents of equal scores at each place,
        or what another row brings about; the twin has then drawn for something else."""
        expected = self.twin.present(x, **words)
        if same_choice(got, expected):
            return
        scores = np.asarray(before.scores(x))
        most = 1e-12 * max(1.0, np.abs(scores).max(initial=0.0))
        if np.abs(scores[got] - scores[expected]).max() > most:
            self.twin = copy.deepcopy(before)
            self.decided("present", as_array(got), before,
                         lambda twin, x: as_array(twin.present(x, **words)), x)
        self.twin = None

    def close_choice(self, got, expected, x, twin):
        """Another choice than the twin's: by its scores it must be as good, within rounding. What a
        duel draws besides is not compared again."""
        if self.kind == "own":
            scores = np.asarray(x) @ twin.weights
        else:
            scores = np.asarray(twin.scores(x))
        if self.kind == "items":
            places = list(range(len(CATALOGUE))) if x is None else np.asarray(x).tolist()
            scores = dict(zip(places, scores.tolist(), strict=True))
        size = 1e-7 * max(1e-3, max(abs(float(s)) for s in (
            scores.values() if isinstance(scores, dict) else scores)))
        for a, b in zip(np.atleast_1d(got), np.atleast_1d(expected), strict=True):
            if abs(scores[int(a)] - scores[int(b)]) > size:
                self.fail(f"present: {got!r}, and the twin {expected!r}")

    def rule_present(self, r):
        self.present(r, self.context(r))

    rule_present.weight = 2

    def feedback(self, r, x, shown):
        """What is listed of it."""
        if self.kind == "ranking":
            if r.random() < 0.5:
                return better_of(x, shown)
            better = [int(d) for d in shown]
            r.shuffle(better)
            return better
        if np.ndim(shown):  # the two of a duel
            return int(r.choice(list(shown)))
        if self.kind == "items":
            return r.choice(list(range(len(CATALOGUE))) if x is None else x.tolist())
        return r.randrange(len(x))

    def rule_learn(self, r):
        """Of what was presented, or (where nothing waits) of anything."""
        if self.drawing:
            self.answer(r)
            return
        if self.last is not None and r.random() < 0.5 and not self.last[2]:
            x, shown, _ = self.last
        else:
            x = self.context(r)
            if self.kind == "ranking":
                shown = list(range(len(x)))
                r.shuffle(shown)
            elif self.kind == "items":
                shown = r.choice(list(range(len(CATALOGUE))) if x is None else x.tolist())
            else:
                shown = r.randrange(len(x))
        better = self.feedback(r, x, shown)
        listed = shown
        if self.kind == "ranking":
            listed = r.choice([np.asarray(shown), list(map(int, shown)),
                             np.asarray(shown, dtype=np.int32)])
        self.learner.learn(self.form(r, x), listed, better)
        self.mirror.learn(x, shown, better)
        if self.twin is not None:
            self.twin.learn(x, plain_choice(shown), better)

    rule_learn.weight = 4

    def answer(self, r):
        """Ends what is pending."""
        if self.last is None or not self.waits():
            return
        x, shown, words = self.last
        if words:
            return
        clicks = self.name == "PDGD" or self.kind == "ranking" and r.random() < 0.5
        if clicks:
            clicked = [int(d) for d in shown if r.random() < 0.4]
            for one, form in ((self.learner, r.choice([clicked, set(clicked), np.array(
                    clicked, dtype=int)])), (self.mirror, clicked), (self.twin, clicked)):
                if one is not None:
                    one.learn_clicks(self.form(r, x) if one is self.learner else x, shown, form)
        else:
            better = self.feedback(r, x, shown)
            for one in (self.learner, self.mirror, self.twin):
                if one is not None:
                    one.learn(x, plain_choice(shown), better)
        if not self.waits():
            self.last = None

    def waits(self):
        return bool(self.learner._engine._state().get("pending"))

    def rule_round(self, r):
        x = self.context(r)
        if self.drawing:
            got = self.learner.present(x)
            self.alike("present", got, self.mirror.present(x))
            if self.twin is not None:
                before = copy.deepcopy(self.twin)
                if self.kind == "ranking":
                    self.drawn(got, before, x, {})
                elif not same_choice(got, expected := self.twin.present(x)):
                    self.close_choice(got, expected, x, before)
                    self.twin = None
            self.last = (x, got, {})
            self.answer(r)
            return
        self.present(r, x)
        self.rule_learn(r)

    rule_round.weight = 4

    def rule_clicks(self, r):
        if self.kind != "ranking" or self.drawing:
            return
        x = self.context(r)
        shown = list(range(len(x)))
        r.shuffle(shown)
        clicked = [d for d in shown if r.random() < 0.4]
        self.learner.learn_clicks(self.form(r, x), np.array(shown), set(clicked))
        better = [*[d for d in shown if d in clicked], *[d for d in shown if d not in clicked]]
        self.mirror.learn(x, shown, better)
        if self.twin is not None:
            self.twin.learn(x, shown, better)

    rule_clicks.weight = 0.5

    def rule_update(self, r):
        if self.kernel or self.name == "DuelingBandit":
            self.refused("update", lambda: self.learner.update(row(r)))
            return
        delta = row(r)
        pairs = bool(self.learner.weights.size)
        self.learner.update(form_of_row(r, delta, pairs))
        self.mirror.update(delta)
        if self.twin is not None:
            self.twin.update(delta)

    def rule_read(self, r):
        x = self.context(r)
        which = r.choice(["scores", "average scores", "weights", "average", "rounds", "kept"])
        form = self.form(r, x)

        def ours(one):
            return form if one is self.learner else x

        if which == "scores" and self.kind != "own":
            self.read("scores", lambda one: one.scores(ours(one)), lambda twin: twin.scores(x))
        elif which == "average scores" and self.kind != "own" and not self.kernel:
            self.read("scores", lambda one: one.scores(ours(one), average=True),
                      lambda twin: twin.scores(x, average=True))
        elif which == "weights":
            self.read("weights", lambda one: one.weights, lambda twin: twin.weights)
        elif which == "average":
            self.read("average_weights", lambda one: one.average_weights,
                      lambda twin: twin.average_weights)
        elif which == "rounds":
            self.read("rounds", lambda one: one.rounds, lambda twin: twin.rounds)
        elif which == "kept" and self.name == "PreferencePerceptron":
            self.read("rows_kept", lambda one: one.rows_kept, lambda twin: twin.rows_kept)
        elif self.drawing:
            self.read("rng", lambda one: one.rng)

    rule_read.weight = 2

    def rule_run(self, r):
        """A simulation is the loop of single calls."""
        if self.kind != "ranking":
            return
        n = r.choice([1, 2, 5])
        data = queries(r, n)
        clicks = self.drawing and self.name != "DuelingBandit"
        user = (Clicker if clicks else User)(self.switch)
        history = cf.simulate(self.learner, data, user, weights=TRUTH)
        for query in data:
            self.one_round(query.features, clicks)
        if len(history) != n or self.learner.last_history is not history:
            self.fail("last_history is another")
        self.last = None

    rule_run.weight = 1

    def one_round(self, x, clicks):
        k = self.k
        shown = self.mirror.present(x, k=k) if clicks else self.mirror.present(x)
        if self.twin is not None:
            before = copy.deepcopy(self.twin)
            words = {"k": k} if clicks else {}
            if self.drawing:
                self.drawn(shown, before, x, words)
            else:
                expected = self.twin.present(x, **words)
                if not same_choice(shown, expected):
                    self.close_choice(shown, expected, x, self.twin)
        for one in (self.mirror, self.twin):
            if one is None:
                continue
            if clicks:
                one.learn_clicks(x, shown, clicked_of(x, shown))
            else:
                one.learn(x, plain_choice(shown), better_of(x, shown))

    def rule_compiled_run(self, r):
        """With the package's own users it is one compiled loop, with the same bits."""
        if self.kind != "ranking":
            return
        data = long_data()
        seed = r.randrange(100)
        order = [r.randrange(len(data)) for _ in range(r.choice([1, 3, 8]))]
        if self.drawing and self.name != "DuelingBandit":
            user, other = cf.users.Clicks(seed=seed), cf.users.Clicks(seed=seed)
        else:
            user, other = (cf.users.AlphaInformative(0.7, weights=TRUTH) for _ in "12")
        cf.simulate(self.learner, data, user, order=order, weights=TRUTH)
        for i in order:  # not the loop of this package
            cf.simulate(self.mirror, Plain(data), other, order=[i], weights=TRUTH)
        self.twin, self.last = None, None

    rule_compiled_run.weight = 0.5

    def rule_interrupt(self, r):
        if self.kind != "ranking" or self.name == "RankingSVM":
            return
        data = long_data()

        def run(one, n, **words):
            user = cf.users.Clicks(seed=1) if self.drawing and self.name != "DuelingBandit" \
                else cf.users.AlphaInformative(0.7, weights=TRUTH)
            return cf.simulate(one, data, user, order=np.arange(n) % len(data), weights=TRUTH,
                               **words)

        slow = self.kernel or self.set == "own" or self.name == "CustomPreferencePerceptron"
        if self.learner.rounds < 3000:
            interrupted(self, r, run, lambda one: one.rounds, 1 << (8 if slow else 15))

    rule_interrupt.weight = 0.02

    @classmethod
    def has_rule(cls, name, rule):
        return name not in DRAWING or rule not in ("rule_clicks", "rule_callable")

    def rule_bad(self, r):
        one, x = self.learner, self.context(r)
        calls = []
        if self.kind == "ranking":
            fixed = "exactly" if one._engine._state().get("n") else None
            what, bad = bad_tables(r, WIDE, 2, fixed)
            order = list(range(len(x)))
            calls += [(f"present, {what}", lambda: one.present(bad)),
                      (f"scores, {what}", lambda: one.scores(bad)),
                      (f"learn, {what}", lambda: one.learn(bad, [0, 1], [1, 0])),
                      (f"learn_clicks, {what}", lambda: one.learn_clicks(bad, [0, 1], [1]))]
            for y in ([0, 0], [len(x)], [-1], [0.5], None, "x", [Raises()], [[0]], [2**70],
                      np.ma.masked_array([0], mask=[True])):
                calls += [(f"learn y={y!r}", lambda y=y: one.learn(x, y, order)),
                          (f"learn better={y!r}", lambda y=y: one.learn(x, order, y)),
                          (f"clicks shown={y!r}", lambda y=y: one.learn_clicks(x, y, []))]
            for k in (-1, 0.5, "x", Raises()):
                calls.append((f"present k={k!r}", lambda k=k: one.present(x, k=k)))
        elif self.kind == "items":
            for left in ([], [0.5], [-1], [len(CATALOGUE)], [1, 2**70], "x", [Raises()], 3.5,
                         np.ma.masked_array([0], mask=[True])):
                calls += [(f"present {left!r}", lambda left=left: one.present(left)),
                          (f"scores {left!r}", lambda left=left: one.scores(left))]
            for y in (-1, len(CATALOGUE), 0.5, None, "x", Raises(), 2**70, [0, 1, 2]):
                calls += [(f"learn y={y!r}", lambda y=y: one.learn(None, y, 0)),
                          (f"learn better={y!r}", lambda y=y: one.learn(None, 0, y))]
            calls += [("k", lambda: one.present(None, k=1)),
                      ("clicks", lambda: one.learn_clicks(None, [0], [0]))]
        if not self.kernel:
            calls.append(("average", lambda: one.present(x, average="x")))
        for delta in (np.full(WIDE, np.nan), [], "x", None, [1j] * WIDE, Raises(),
                      np.zeros((2, WIDE)), np.ma.masked_array(np.ones(WIDE), mask=True),
                      *([np.zeros(WIDE + 1)] if self.learner.weights.size else [])):
            calls.append((f"update {delta!r}", lambda delta=delta: one.update(delta)))
        if self.kind == "ranking":
            calls += [("simulate", lambda: cf.simulate(one, queries(r, 1), None)),
                      ("simulate", lambda: cf.simulate(one, queries(r, 1), User(self.switch),
                                                       weights=np.zeros(WIDE - 1)))]
        what, call = r.choice(calls)
        self.refused(what, call, (*REFUSED, Boom))

    rule_bad.weight = 3

    def rule_callable(self, r):
        if not self.own_code():
            return
        x = self.context(r)
        shown = self.learner.present(x) if r.random() < 0.5 and self.kind != "ranking" else None
        if shown is None:
            shown = list(range(self.objects(x))) if self.kind == "ranking" else (
                0 if self.kind == "own" or x is None else int(x[0]))
        better = self.feedback(r, x, shown)
        what, call = r.choice([("present", lambda one: one.present(x)),
                               ("learn", lambda one: one.learn(x, shown, better)),
                               ("update", lambda one: one.update(np.ones(WIDE)))][
                                   :2 if self.kernel else 3])
        after = r.choice([0, 0, 1, 2])
        if r.random() < 0.5:
            self.fails_inside(what, call, after)
        else:
            self.reaches_back(what, call, r, after)

    def rule_user_raises(self, r):
        """A simulation whose user raises or calls the learner; it made the rounds before."""
        if self.kind != "ranking":
            return
        data = queries(r, 4)
        clicks = self.drawing and self.name != "DuelingBandit"
        user, after = (Clicker if clicks else User)(self.switch), r.choice([0, 1, 2])
        before = self.learner.rounds
        name, other, count = "clicks" if clicks else "respond", Clicker(Off()), 0

        def answer(query, shown):
            nonlocal count
            count += 1
            if count > after:
                raise Boom("a user")
            return getattr(other, name)(query, shown)

        setattr(user, name, answer)
        try:
            cf.simulate(self.learner, data, user, weights=TRUTH)
        except Boom:
            pass
        else:
            self.fail("what the user raised was swallowed")
        if self.learner.rounds != before + after or len(self.learner.last_history) != after:
            self.fail(f"{self.learner.rounds - before} rounds, of which the user answered {after}")
        for query in data[:after]:
            self.one_round(query.features, clicks)
        if self.drawing:
            x, words = data[after].features, {"k": self.k} if clicks else {}
            self.mirror.present(x, **words)
            if self.twin is not None:
                self.twin.present(x, **words)
        self.last = None

    rule_user_raises.weight = 0.5

    def ways_back(self, r):
        x, delta = self.context(r), row(r)
        found = [("reset", lambda one: one.reset()), ("present", lambda one: one.present(x)),
                 ("weights", lambda one: one.weights)]
        if not self.kernel and self.name != "DuelingBandit":
            found.append(("update", lambda one: one.update(delta)))
        return found

    def rule_reach(self, r):
        x = self.context(r)
        n = self.objects(x)

        def wrap(one, value):
            return Reaching(value, self.switch) if one is self.learner else value

        found = []
        if self.kind == "ranking":
            order = list(range(n))
            found = [("present's documents", lambda one: one.present(wrap(one, x))),
                     ("present's k", lambda one: one.present(x, k=wrap(one, 1))),
                     ("scores' documents", lambda one: one.scores(wrap(one, x)))]
            if not self.drawing:
                found += [
                    ("learn's documents", lambda one: one.learn(wrap(one, x), order, order[::-1])),
                    ("learn's y", lambda one: one.learn(x, wrap(one, order), order[::-1])),
                    ("learn's better", lambda one: one.learn(x, order, wrap(one, order[::-1])))]
        elif self.kind == "items" and x is not None:
            y = int(x[0])
            found = [("present's items", lambda one: one.present(wrap(one, x))),
                     ("scores' items", lambda one: one.scores(wrap(one, x)))]
            if not self.drawing:
                found += [("learn's y", lambda one: one.learn(x, wrap(one, y), y)),
                          ("learn's better", lambda one: one.learn(x, y, wrap(one, y)))]
        if not self.kernel and self.name != "DuelingBandit":
            found.append(("update's delta", lambda one: one.update(wrap(one, np.ones(WIDE)))))
        if not found:
            return
        what, call = r.choice(found)
        self.last = None
        self.reaches_back(what, call, r)
        self.last = None

    def changes(self):
        found = {
            "PreferencePerceptron": {"batch": [1, 2, 3]},
            "ExponentiatedPreferencePerceptron": {"scale": [1.0, 2.0], "horizon": [None, 30]},
            "ConvexPreferencePerceptron": {"slope": [1.0, 0.5]},
            "SecondOrderPreferencePerceptron": {"gamma": [1.0, 0.5]},
            "DuelingBandit": {"explore": [1.0, 0.5], "step": [0.1, 0.2], "seed": [3, 9]},
            "PairwisePerceptron": {"swap": [0.5, 0.1], "seed": [3, 9]},
            "PDGD": {"rate": [0.1, 0.3], "seed": [3, 9]},
        }.get(self.name, {})
        if self.name == "PreferencePerceptron" and self.kernel:
            return {"budget": [2 * self.k, 2 * self.k + 5, None]}
        if "radius" in self.parameters:
            found = {**found, "radius": [1.0, 0.5, 2.0]}
        return found

    def bad_changes(self):
        found = [("no_such_parameter", 1), ("task__k", 2)]
        return found + {
            "PreferencePerceptron": [("batch", 0), ("batch", 1.5), ("kernel", "cubic"),
                                     ("budget", -1)],
            "ExponentiatedPreferencePerceptron": [("scale", 0.0), ("horizon", 0),
                                                  ("signed", "yes")],
            "ConvexPreferencePerceptron": [("slope", 0.0), ("slope", Raises()), ("radius", -1.0),
                                           ("feasible", 3)],
            "SecondOrderPreferencePerceptron": [("gamma", 0.0), ("epsilon", -1.0),
                                                ("projection", "x"), ("feasible", cf.Ball)],
            "CustomPreferencePerceptron": [("rule", 3)],
            "DuelingBandit": [("explore", 0.0), ("step", np.nan), ("seed", "x"), ("task", None)],
            "PairwisePerceptron": [("swap", 1.5), ("task", cf.Items(CATALOGUE))],
            "PDGD": [("rate", 0.0), ("seed", -1)],
        }.get(self.name, [])

    def shaping_changes(self):
        return {"task": cf.Ranking(k=4) if self.k != 4 else cf.Ranking(k=1)}

    def adopted(self, old, given):
        return None if {"batch", "radius", "budget"} & set(given) else super().adopted(old, given)


class Off:
    def pull(self):
        pass


class Plain:
    """The same queries, which only Python's loop accepts."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i]


def as_array(choice):
    return np.asarray(choice).tolist()


def plain_choice(choice):
    return choice if np.ndim(choice) == 0 else np.asarray(choice)


def same_choice(a, b):
    return np.array_equal(np.asarray(a), np.asarray(b))
