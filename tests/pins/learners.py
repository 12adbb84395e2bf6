"""The streams of the learners of the registry."""

import copy
import inspect
import os
import pickle
import tempfile
import warnings
import zlib
from functools import partial

import numpy as np

import coactive_fast as cf

from . import bad, grid
from .notes import FOLDER, Notes, asked, make, note_used
from .rows import (
    labels_of,
    numbers,
    relevance_of,
    rewards_of,
    row,
    table,
    uniform,
    wholes,
)

ROUNDS, MORE = 24, 16  # rounds of single calls; of a run


class Profile:
    """What rows a stream is made of."""

    def __init__(self, name, form, d, K, zeros=0.0, scales=None, growing=False, seed=1):
        self.name, self.form, self.d, self.K, self.growing = name, form, d, K, growing
        X = numbers((ROUNDS + MORE, d), seed + 10 * d, zeros)
        X[3] = 0.0
        if scales is not None:
            X *= np.array(scales)
        self.X, self.probes = X, numbers((3, d), 900 + d, zeros)
        if scales is not None:
            self.probes *= np.array(scales)

    def width(self, t):
        return min(self.d, 2 + 2 * t) if self.growing else self.d

    def row(self, t):
        return row(self.X[t][:self.width(t)], self.form, t)

    def rows(self, first, last):
        return table(self.X[first:last], "dense" if self.form == "mixed" else self.form)

    def offered(self, t, n):
        """The rows of n actions."""
        at = (np.arange(n) * 5 + t) % len(self.X)
        form = mixed_form(t) if self.form == "mixed" else self.form
        return table(self.X[at][:, :self.width(t)], form), at


def mixed_form(t):
    return ("dense", "csr32", "strided", "float32", "csr64")[t % 5]


PROFILES = [
    Profile("dense5", "dense", 5, 3),
    Profile("csr32of9", "csr32", 9, 4, 0.5),
    Profile("float32of8", "float32", 8, 5),
    Profile("scaled5", "dense", 5, 2, scales=[1e-6, 1.0, 1e5, 1e3, 1e-2]),
    Profile("csr64of33", "csr64", 33, 2, 0.7),
    Profile("mixed6", "mixed", 6, 7, 0.3),
    Profile("dense70", "dense", 70, 3),
    Profile("strided4", "strided", 4, 9),
    Profile("csrf70", "csr_float32", 70, 11, 0.8),
    Profile("one", "dense", 1, 2),
    Profile("lists3", "lists", 3, 2),
    Profile("large7", "dense", 7, 3, scales=[1e4] * 7),
]
GROWING = [Profile("growing40", "csr32", 40, 3, 0.5, growing=True),
           Profile("growing20", "mixed", 20, 4, 0.3, growing=True)]
EACH = 4  # profiles of every base

# --- what all learners share --------------------------------------------------------------------

READINGS = ["rounds", "learned", "threshold", "approximation_error", "center", "beta", "gamma",
            "delta", "epsilon", "eta", "weights", "average_weights", "rows_kept", "n_classes",
            "n_arms", "pending", "expired", "information", "health", "last_history"]


def read(notes, learner, stage):
    """What a learner says of its state without being given anything."""
    for name in READINGS:
        if hasattr(type(learner), name):
            notes.ask(learner, name, label=f"{stage} {name}")
    if hasattr(type(learner), "inverse"):
        several = "arm" if hasattr(learner, "n_arms") else "i" if hasattr(
            learner, "n_classes") else ""
        for i in range(2) if several else [None]:
            notes.ask(learner, "inverse", *([] if i is None else [i]), label=f"{stage} inverse")
    if hasattr(type(learner), "rng"):
        asked.setdefault(type(learner).__name__, set()).add("rng")
        notes.add(f"{stage} rng", copy.deepcopy(learner.rng).random(2))


def saved_and_loaded(notes, learner):
    """By a file where that is possible, by pickle where the learner holds code of its own."""
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        path = os.path.join(folder, "model.cf")
        notes.ask(learner, "save", path)
        if not os.path.exists(path):
            return pickle.loads(pickle.dumps(learner))
        own = isinstance(learner.get_params(deep=False).get("task"), grid.Pairs)
        return make(cf.load, path, kind=type(learner), task=grid.Pairs() if own else None)


WAYS = [saved_and_loaded, lambda notes, learner: pickle.loads(pickle.dumps(learner)),
        lambda notes, learner: copy.deepcopy(learner), lambda notes, learner: copy.copy(learner),
        lambda notes, learner: learner]


def describe(notes, learner):
    notes.add("repr", repr(learner))
    notes.ask(learner, "get_params", label="parameters")


class Stream:
    """One stream of a learner: single calls, a way through a file, a run, a fresh start."""

    def __init__(self, name, kind, given, profile):
        self.name, self.kind, self.given, self.profile = name, kind, given, profile
        self.number = zlib.crc32(name.encode())  # decides what varies from stream to stream

    def __call__(self, notes):
        learner = self.made()
        describe(notes, learner)
        read(notes, learner, "fresh")
        half = ROUNDS // 2 + self.number % 3
        for t in range(half):
            self.round(notes, learner, t)
        way = self.number % len(WAYS) if "," in self.name else 0  # every base through a file
        learner = WAYS[way](notes, learner)
        for t in range(half, ROUNDS):
            self.round(notes, learner, t)
        read(notes, learner, "then")
        self.readings(notes, learner, "then")
        self.more(notes, learner)
        read(notes, learner, "end")
        self.readings(notes, learner, "end")
        if self.number % 2:
            notes.ask(learner, "reset")
        else:
            learner = notes.ask(learner, "clone")
        notes.waiting = []
        for t in range(4):
            self.round(notes, learner, t, "again ")
        notes.ask(learner, "rounds", label="again rounds")

    def made(self):
        return make(self.kind, **copy.deepcopy(self.given))

    def readings(self, notes, learner, stage):
        pass

    def more(self, notes, learner):
        pass


class Multiclass(Stream):
    def made(self):
        return make(self.kind, self.profile.K, **copy.deepcopy(self.given))

    @property
    def bandit(self):
        return "correct" in inspect.signature(self.kind.learn).parameters or self.kind.__name__ in (
            "Confidit", "Banditron", "Newtron")

    def round(self, notes, learner, t, stage=""):
        p = self.profile
        label = notes.ask(learner, "choose", p.row(t), label=f"{stage}choose")
        if t % 7 == 5:  # another row in between
            notes.ask(learner, "choose", p.row(t - 1), label=f"{stage}choose")
        right = int(labels_of(p.X[t:t + 1], p.K)[0])
        if label is None or t % 6 == 4:
            label = t % p.K
        answer = (label, label == right) if self.bandit else (right,)
        notes.ask(learner, "learn", p.row(t), *answer, label=f"{stage}learn")

    def readings(self, notes, learner, stage):
        p = self.profile
        width = p.d if not p.growing else p.width(ROUNDS)
        probes = table(p.probes[:, :width], "csr32" if "csr" in p.form else "dense")
        notes.ask(learner, "decision_function", probes, label=f"{stage} decision_function")
        notes.ask(learner, "predict", probes, label=f"{stage} predict")

    def more(self, notes, learner):
        p, options = self.profile, {}
        if self.number % 2:
            options = {"epochs": 2, "label_noise": 0.2, "noise_seed": 5}
        if self.number % 3 == 0:
            options["chances"] = uniform((MORE, p.K), 31)
        y = labels_of(p.X[ROUNDS:], p.K)
        history = notes.attempt("run", lambda: make(
            _run(learner), p.rows(ROUNDS, ROUNDS + MORE), y, **options))
        notes.ask(learner, "last_history")
        notes.history("run", history)
        if self.number % 4 == 1:
            notes.ask(learner, "add_class")
            self.round(notes, learner, 7, "wider ")
            self.round(notes, learner, 8, "wider ")


def _run(learner):

    asked.setdefault(type(learner).__name__, set()).add("run")
    return learner.run


class Filtering(Stream):
    def round(self, notes, learner, t, stage=""):
        p = self.profile
        forwarded = notes.ask(learner, "forward", p.row(t), label=f"{stage}forward")
        if t % 7 == 5:
            notes.ask(learner, "forward", p.row(t - 1), label=f"{stage}forward")
        if forwarded or t % 5 == 1:
            relevant = bool(relevance_of(p.X[t:t + 1])[0])
            notes.ask(learner, "learn", p.row(t), relevant, label=f"{stage}learn")

    def readings(self, notes, learner, stage):
        p = self.profile
        for t in (1, 4):
            notes.ask(learner, "margin", p.row(t), label=f"{stage} margin")
            if hasattr(learner, "probability"):
                notes.ask(learner, "probability", p.row(t), label=f"{stage} probability")
        if hasattr(learner, "margins"):
            notes.ask(learner, "margins", p.rows(0, 8), label=f"{stage} margins")
            notes.ask(learner, "select", p.rows(0, 8), 3, label=f"{stage} select")
        if hasattr(type(learner), "classifier"):
            notes.ask(learner, "classifier", label=f"{stage} classifier")

    def more(self, notes, learner):
        p = self.profile
        options = {"u": numbers(p.d, 33)} if self.number % 2 else {}
        history = notes.attempt("run", lambda: make(
            _run(learner), p.rows(ROUNDS, ROUNDS + MORE), relevance_of(p.X[ROUNDS:]), **options))
        notes.history("run", history)


def decayed_and_merged(stream, notes, learner):
    merged = copy.deepcopy(learner)
    notes.ask(learner, "decay", 0.5)
    stream.round(notes, learner, 2, "decayed ")
    notes.ask(merged, "merge", learner)
    stream.round(notes, merged, 4, "merged ")
    read(notes, merged, "merged")
    stream.readings(notes, merged, "merged")


class Regression(Stream):
    def round(self, notes, learner, t, stage=""):
        p = self.profile
        x = p.row(t)
        if getattr(x, "ndim", 1) == 1:
            x = [x] if isinstance(x, list) else np.reshape(x, (1, -1))
        notes.ask(learner, "predict", x, label=f"{stage}predict")
        y = float(rewards_of(p.X[t:t + 1])[0])
        more = {"weight": 0.5} if t % 3 == 1 else {}
        notes.ask(learner, "learn", p.row(t), y, label=f"{stage}learn", **more)

    def readings(self, notes, learner, stage):
        probes = self.profile.probes[:, :self.profile.width(ROUNDS)]
        notes.ask(learner, "predict", probes, label=f"{stage} predict")
        notes.ask(learner, "predict", probes, return_std=True, label=f"{stage} std")

    def more(self, notes, learner):
        p, y = self.profile, rewards_of(self.profile.X[ROUNDS:])
        options = {"weight": 0.25 + uniform(MORE, 41)} if self.number % 2 else {}
        history = notes.attempt("run", lambda: make(
            _run(learner), p.rows(ROUNDS, ROUNDS + MORE), y, **options))
        notes.history("run", history)
        decayed_and_merged(self, notes, learner)


class Linear(Stream):
    """Every second decision waits: some are rewarded late, some dropped, some expire."""

    actions = 5

    def words(self, t):
        size = self.given.get("context_features", 0)
        return {"context": numbers(size, 50 + t)} if size else {}

    def round(self, notes, learner, t, stage=""):
        p = self.profile
        n = 1 if t == 9 else 60 if t == 11 else self.actions
        X, at = p.offered(t, n)
        options = self.words(t)
        if t % 5 == 2:
            options["allowed"] = [i % 2 == 0 for i in range(n)]
        if t % 2:
            decision = notes.ask(learner, "decide", X, label=f"{stage}decide", **options)
            if decision is None:
                return
            waiting = notes.waiting
            waiting.append((decision.id, at[decision.action]))
            if t % 3 == 0:
                i, x = waiting.pop(0)
                y = float(rewards_of(p.X[x:x + 1])[0])
                notes.ask(learner, "reward", i, y, label=f"{stage}reward",
                          **({"weight": 2.0} if t % 9 == 0 else {}))
            elif t % 7 == 0:
                notes.ask(learner, "drop", waiting.pop(0)[0], label=f"{stage}drop")
            notes.ask(learner, "pending", label=f"{stage}pending")
            return
        chosen = notes.ask(learner, "choose", X, label=f"{stage}choose", **options)
        if t % 4 == 0:
            notes.ask(learner, "choose", X, k=3, label=f"{stage}choose k", **options)
        if chosen is None:
            return
        y = float(rewards_of(p.X[at[chosen]][None])[0])
        more = {"weight": 0.5} if t % 3 == 1 else {}
        x = row(p.X[at[chosen]][:p.width(t)], p.form, t)
        notes.ask(learner, "learn", x, y, label=f"{stage}learn", **more, **self.words(t))

    def readings(self, notes, learner, stage):
        p = self.profile
        X, _ = p.offered(ROUNDS, 6)
        notes.ask(learner, "scores", X, label=f"{stage} scores", **self.words(1))
        samples = {"samples": 50} if self.given.get("explore") == "thompson" else {}
        notes.ask(learner, "probabilities", X, label=f"{stage} probabilities", **self.words(1),
                  **samples)
        notes.ask(learner, "decide", X, label=f"{stage} decide", **self.words(1), **samples)

    def more(self, notes, learner):
        p = self.profile
        X, at = p.offered(3, 5)
        pair = notes.ask(learner, "choose_pair", X)
        if pair is not None:
            rows = [row(p.X[at[i]][:p.width(3)], p.form, 3) for i in pair]
            notes.ask(learner, "learn_pair", *rows, True)
            self.round(notes, learner, 12, "paired ")
        decayed_and_merged(self, notes, learner)
        self.simulated(notes, learner)

    def simulated(self, notes, learner):
        p = self.profile
        size = self.given.get("context_features", 0)
        X = np.array([p.X[np.arange(t, t + 4)] for t in range(8)])
        rewards = rewards_of(X.reshape(-1, p.d)).reshape(8, 4)
        context = numbers((8, size), 60) if size else None
        table_of = make(cf.RewardTable, X, rewards, context=context)
        history = notes.attempt("simulate_bandit", lambda: make(
            cf.simulate_bandit, learner, table_of, rounds=12))
        notes.history("simulate_bandit", history)
        world = make(cf.LinearRewards, numbers(p.d, 61), actions=4, noise=0.2)
        history = notes.attempt("simulate_bandit drawn", lambda: make(
            cf.simulate_bandit, learner, world, rounds=6, seed=3))
        notes.history("simulate_bandit drawn", history)


class Arms(Stream):
    n_arms = 3

    def made(self):
        return make(self.kind, self.n_arms, **copy.deepcopy(self.given))

    def round(self, notes, learner, t, stage=""):
        p = self.profile
        options = {"allowed": [True] * (learner.n_arms - 1) + [False]} if t % 5 == 2 else {}
        x = p.row(t)
        pays = rewards_of(p.X[t:t + 1] * 1.0, seed=3)[0]
        if t % 2:
            decision = notes.ask(learner, "decide", x, label=f"{stage}decide", **options)
            if decision is None:
                return
            waiting = notes.waiting
            waiting.append((decision.id, decision.action))
            if t % 3 == 0:
                i, arm = waiting.pop(0)
                notes.ask(learner, "reward", i, float(pays) / (1.0 + arm),
                          label=f"{stage}reward", **({"weight": 2.0} if t % 9 == 0 else {}))
            elif t % 7 == 0:
                notes.ask(learner, "drop", waiting.pop(0)[0], label=f"{stage}drop")
            notes.ask(learner, "pending", label=f"{stage}pending")
            return
        arm = notes.ask(learner, "choose", x, label=f"{stage}choose", **options)
        if t % 4 == 0:
            notes.ask(learner, "choose", x, k=2, label=f"{stage}choose k", **options)
        if arm is None:
            return
        more = {"weight": 0.5} if t % 3 == 1 else {}
        notes.ask(learner, "learn", x, arm, float(pays) / (1.0 + arm), label=f"{stage}learn",
                  **more)

    def readings(self, notes, learner, stage):
        x = self.profile.row(1)
        notes.ask(learner, "scores", x, label=f"{stage} scores")
        samples = {"samples": 50} if self.given.get("explore") == "thompson" else {}
        notes.ask(learner, "probabilities", x, label=f"{stage} probabilities", **samples)
        notes.ask(learner, "decide", x, label=f"{stage} decide", **samples)

    def more(self, notes, learner):
        p = self.profile
        decayed_and_merged(self, notes, learner)
        X, rewards = p.X[:12], np.abs(p.X[:12, :1] * 0.125 + np.array([[0.1, 0.2, 0.3]])) % 1.0
        for name, given, options in (
                ("table", (X, rewards), {"rounds": 15}),
                ("labels", (X, wholes(12, 3, 5)), {}),
                ("drawn", cf.LinearRewards(numbers((3, p.d), 62), noise=0.0),
                 {"rounds": 6, "seed": 4})):
            history = notes.attempt(f"simulate {name}", lambda g=given, o=options: make(
                cf.simulate_bandit, learner, g, **o))
            notes.history(f"simulate {name}", history)
        notes.ask(learner, "add_arm")
        self.round(notes, learner, 6, "wider ")


# --- coactive ---------------------------------------------------------------------------------


def documents(t):
    return numbers((3 + t % 5, 6), 100 + t, 0.2)


def candidates(t):
    return np.array([i for i in range(12) if (i + t) % 3])


TRUTH = np.array([3.0, -2.0, 1.0, 0.5, 0.0, -1.0])


def queries(n=12):
    features = [documents(t) for t in range(n)]
    relevance = [np.clip(np.round(np.abs(x).sum(axis=1) % 3.0), 0.0, 2.0) for x in features]
    return cf.data.RankingData(np.concatenate(features), np.concatenate(relevance),
                               np.cumsum([0, *map(len, features)]))


def score(x):
    return [sum(a * b for a, b in zip(one, TRUTH.tolist(), strict=True)) for one in x.tolist()]


class Coactive(Stream):
    @property
    def clicks(self):
        return self.kind.__name__ in ("PairwisePerceptron", "PDGD")

    def round(self, notes, learner, t, stage=""):
        task = self.given["task"]
        if isinstance(task, cf.Ranking):
            self.ranking_round(notes, learner, t, stage)
        elif isinstance(task, cf.Items):
            left = None if t % 6 == 5 else candidates(t)
            shown = notes.ask(learner, "present", left, label=f"{stage}present")
            if shown is None:
                return
            among = np.arange(12) if left is None else left
            if np.ndim(shown):  # the better one of two
                among = np.asarray(shown)
            utilities = score(grid.CATALOGUE[among])
            better = int(among[int(np.argmax(utilities))])
            notes.ask(learner, "learn", left, shown, better, label=f"{stage}learn")
        else:
            x = documents(t)
            shown = notes.ask(learner, "present", x, label=f"{stage}present")
            if shown is not None:
                notes.ask(learner, "learn", x, shown, int(np.argmax(score(x))),
                          label=f"{stage}learn")

    def ranking_round(self, notes, learner, t, stage):
        x = documents(t)
        given = [x, x.astype(np.float32), x.tolist(), np.asfortranarray(x)][t % 4]
        options = {"k": 2} if t % 5 == 3 else {"average": True} if t % 5 == 4 else {}
        shown = notes.ask(learner, "present", given, label=f"{stage}present", **options)
        if options or shown is None:
            shown = notes.ask(learner, "present", given, label=f"{stage}present")
        if shown is None:
            return
        utilities = score(x)
        if self.clicks or t % 4 == 2:
            clicked = [int(i) for i in shown[:3] if utilities[i] > 0.0]
            notes.ask(learner, "learn_clicks", given, shown, clicked, label=f"{stage}clicks")
        if not self.clicks or t % 4 == 2:
            better = sorted(shown.tolist(), key=lambda i: -utilities[i])
            notes.ask(learner, "learn", given, shown, better, label=f"{stage}learn")

    def readings(self, notes, learner, stage):
        x = candidates(1) if isinstance(self.given["task"], cf.Items) else documents(1)
        notes.ask(learner, "scores", x, label=f"{stage} scores")
        notes.ask(learner, "scores", x, average=True, label=f"{stage} scores")
        notes.ask(learner, "present", x, label=f"{stage} present")

    def more(self, notes, learner):
        notes.ask(learner, "update", numbers(6, 70))
        task = self.given["task"]
        if isinstance(task, cf.Ranking):
            user = [cf.users.AlphaInformative(0.5), cf.users.Clicks(seed=2),
                    cf.users.NoisyDepth(3),
                    cf.users.ExpectedAlphaInformative(0.4, seed=2)][self.number % 4]
            if self.clicks:
                user = cf.users.Clicks(seed=2)
            history = notes.attempt("simulate", lambda: make(
                cf.simulate, learner, queries(), user, weights=TRUTH, seed=5,
                order=np.arange(16) % 12))
            notes.history("simulate", history)
        elif isinstance(task, cf.Items):
            user = [cf.users.Best(seed=1), cf.users.Better(seed=1),
                    cf.users.OneHigher(seed=1)][self.number % 3]
            history = notes.attempt("simulate_items", lambda: make(
                cf.simulate_items, learner, task, numbers((2, 6), 71), user, rounds=5, seed=4))
            notes.history("simulate_items", history)


# --- convex -----------------------------------------------------------------------------------


def loss(t, x):
    total = 0.0
    for i, a in enumerate(np.ravel(x).tolist()):
        total += (0.5 - 0.25 * (i % 4)) * a + 0.25 * (a - (t % 3) / 8.0) ** 2
    return total


def slope(t, x):
    return [(0.5 - 0.25 * (i % 4)) + 0.5 * (a - (t % 3) / 8.0)
            for i, a in enumerate(np.ravel(x).tolist())]


class Convex(Stream):
    @property
    def values(self):
        return self.kind.__name__ not in ("ONS", "OGD")

    def round(self, notes, learner, t, stage=""):
        if self.values and t % 5 == 3:
            pair = notes.ask(learner, "ask_pair", label=f"{stage}ask_pair")
            if pair is not None:
                notes.ask(learner, "tell_pair", loss(t, pair[0]), loss(t, pair[1]),
                          label=f"{stage}tell_pair")
                return
        x = notes.ask(learner, "ask", label=f"{stage}ask")
        if x is not None:
            notes.ask(learner, "tell", loss(t, x) if self.values else slope(t, x),
                      label=f"{stage}tell")

    def more(self, notes, learner):
        d = self.given["dimension"]
        Z, y = numbers((7, d), 8), np.sign(numbers(7, 9)) + (numbers(7, 9) == 0.0)
        kinds = {"squared": (cf.losses.Squared, (Z, y)), "logistic": (cf.losses.Logistic, (Z, y)),
                 "return": (cf.losses.PortfolioReturn, (np.abs(Z) + 0.5,))}
        for name, (kind, args) in kinds.items():
            history = notes.attempt(f"run {name}", lambda k=kind, a=args: make(
                _run(learner), make(k, *a), 9))
            notes.history(f"run {name}", history)
        if self.values:
            history = notes.attempt("run own", lambda: make(_run(learner), loss, 5))
            notes.history("run own", history)


# --- the streams ------------------------------------------------------------------------------

KINDS = {"OnlineRidge": Regression, "LinearBandit": Linear, "ArmBandit": Arms}
FAMILIES = {"multiclass": Multiclass, "filtering": Filtering, "rewards": None,
            "coactive": Coactive, "convex": Convex}


def profiles_of(family, kind, given, number, base):
    """A base is tried with some profiles, a changed one with one; all in turn."""
    if family in ("coactive", "convex"):
        return [PROFILES[0]]
    if given.get("max_features") is not None:
        return [GROWING[number % 2]]
    fit = PROFILES
    if kind == "Newtron":
        fit = [p for p in PROFILES if p.d * p.K <= 40]
    picked = range(EACH) if base else range(1)
    return [fit[(number * (EACH if base else 1) + 5 * i) % len(fit)] for i in picked]


def sizes_of(kind):
    """What a class must be given besides its parameters of the grid."""
    return {"n_classes": 3} if kind in grid.MULTICLASS else (
        {"n_arms": 3} if kind == "ArmBandit" else {})


LONG = {  # models that watch their rounding errors, for long enough that some are found
    "Confidit": [{"covariance": "full"}, {"covariance": "full", "precision": "robust"}],
    "Newtron": [{"covariance": "full", "seed": 3}],
    "MulticlassSecondOrderPerceptron": [{}],
    "RidgeFilter": [{"feedback": "full"}, {"feedback": "full", "forget": 0.98},
                    {"feedback": "full", "window": 20}, {"covariance": "kernel", "budget": 9},
                    {"feedback": "full", "precision": "robust"}],
    "ProbabilisticRidgeFilter": [{"explore": 0.9, "seed": 3},
                                 {"explore": 0.9, "window": 9, "seed": 3}],
    "OnlineRidge": [{}, {"forget": 0.98}, {"link": "logistic"}, {"precision": "robust"}],
    "LinearBandit": [{"seed": 3}, {"explore": "thompson", "seed": 3}, {"forget": 0.95, "seed": 3}],
    "ArmBandit": [{"explore": "squarecb", "seed": 3}, {"forget": 0.95, "seed": 3}],
}


def long(kind, given, scales, notes):
    cls, d, n = getattr(cf, kind), 9, 700
    X = numbers((n, d), 123)
    X *= np.array([10.0 ** (scales * (i % 3 - 1)) for i in range(d)])
    sizes = sizes_of(kind)
    learner = make(cls, **sizes, **copy.deepcopy(given))
    for i in range(3):
        if kind in ("LinearBandit", "ArmBandit"):
            rewards = uniform((n, 3), 124 + i)
            rows = X if sizes else np.stack([X, X[::-1], np.roll(X, 5, axis=0)], axis=1)
            history = notes.attempt("run", cf.simulate_bandit, learner, (rows, rewards))
        else:
            y = uniform(n, 124 + i)
            if kind != "OnlineRidge":
                y = y > 0.5 if "Filter" in kind else (3.0 * y).astype(np.intp)
            history = notes.attempt("run", learner.run, X, y)
        for name, column in sorted(history.to_dict().items() if history else ()):
            notes.add(f"run {name}", column[::7] if np.ndim(column) else column)
        read(notes, learner, f"{i}")


def streams():
    found = {}
    for kind, several in LONG.items():
        for given in several:
            shown = ",".join(f"{name}={value}" for name, value in given.items()) or "base"
            for scales in (0, 3):
                found[f"{kind}/{shown}/long{scales}"] = partial(long, kind, given, scales)
    for family, form in FAMILIES.items():
        refused = {}
        for number, (kind, variant, given) in enumerate(grid.variants(family)):
            cls = getattr(cf, kind)
            sizes = sizes_of(kind)
            if not accepted(cls, {**sizes, **given}):
                refused.setdefault(kind, []).append((variant, {**sizes, **given}))
                continue
            base = "," not in variant
            for profile in profiles_of(family, kind, given, number, base):
                name = f"{kind}/{variant}"
                if family not in ("coactive", "convex"):
                    name += f"/{profile.name}"
                if name not in found:
                    found[name] = (form or KINDS[kind])(name, cls, given, profile)
            if base:
                at = list(grid.FAMILIES[family][kind]["bases"]).index(variant.replace("base", ""))
                found[f"{kind}/{variant}/messages"] = partial(
                    messages, family, cls, {**sizes, **given}, (5, at % 5) if at else (1, 0))
                found[f"{kind}/{variant}/changes"] = partial(changes, family, cls,
                                                             {**sizes, **given})
        for kind in grid.FAMILIES[family]:
            found[f"{kind}/refused"] = partial(refusals, family, getattr(cf, kind),
                                               refused.get(kind, []))
    return found


def accepted(cls, given):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls(**copy.deepcopy(given))
    except Exception:
        return False
    return True


def refusals(family, cls, refused, notes):
    """What the constructor says of parameters that do not go together, or are wrong."""
    for variant, given in refused:
        def built(given=given):
            return make(cls, **copy.deepcopy(given)) and "accepted"

        notes.add("together", variant)
        notes.attempt("together", built)
    bases = list(grid.FAMILIES[family][cls.__name__]["bases"].values())
    parameters = list(inspect.signature(cls).parameters)
    for at, base in enumerate(bases):
        thin = (5, at % 5) if at else (1, 0)  # of a further base a fifth of the values
        given = {**sizes_of(cls.__name__), **base}
        for parameter in parameters:
            for pool in (bad.REALS, bad.WHOLES, bad.FLAGS, bad.WORDS, bad.PARAMS, bad.SEEDS):
                for name, value in list(pool.items())[thin[1]::thin[0]]:
                    if parameter in ("n_classes", "n_arms", "dimension") and name in (
                            "10**30", "1e300"):
                        continue
                    notes._entry(parameter)["texts"].append(name)
                    notes.attempt(parameter, lambda p=parameter, v=value, g=given: cls(
                        **copy.deepcopy({**g, p: v})) and "accepted")
    notes.attempt("call", lambda: cls(1, 2, 3, 4, 5, 6, 7, 8, 9))
    notes.attempt("call", lambda: cls(bogus=1))
    notes.attempt("call", cls)


def played(family, cls, given, rounds=10):
    """A learner after some rounds of the first profile, and its stream."""
    form = FAMILIES[family] or KINDS[cls.__name__]
    own = {name: value for name, value in given.items() if name not in ("n_classes", "n_arms")}
    stream = form("", cls, own, PROFILES[0])
    return stream, stream.made()


def changes(family, cls, given, notes):
    """Each parameter is set in the middle of a stream, in a copy; what is learned goes on."""

    stream, learner = played(family, cls, given)
    for t in range(10):
        stream.round(Notes(), learner, t)
    grids = {**grid.FAMILIES[family][cls.__name__]["values"], "n_classes": [5], "n_arms": [5],
             "bogus": [1]}
    for name, values in grids.items():
        if name != "bogus" and name not in learner.get_params(deep=False):
            continue
        for value in values:
            trial = copy.deepcopy(learner)
            label = f"{name}={grid.shown(value)}"
            changed = notes.ask(trial, "set_params", label=label, **{name: copy.deepcopy(value)})
            if changed is not None:
                note_used(cls, **({name: value} if name != "bogus" else {}))
                for t in range(10, 14):
                    stream.round(notes, trial, t, f"{label} ")
                notes.add(f"{label} repr", repr(trial))


def messages(family, cls, given, thin, notes):
    """What each public method says of wrong arguments."""

    stream, learner = played(family, cls, given)
    fresh = copy.deepcopy(learner)
    for t in range(8):
        stream.round(Notes(), learner, t)
    for stage, subject in (("", learner), ("fresh ", fresh)):
        if stage and thin[0] == 1:
            thin = (3, 0)
        for method, good in METHODS[family](cls, stream).items():
            if callable(getattr(cls, method, None)):
                bad.refuse_changes(notes, subject, method, good, d=stream.profile.d, n=3,
                                   label=stage, thin=thin)


def multiclass_methods(cls, stream):
    p = stream.profile
    X, y = p.X[:3], [0, 1, 2]
    return {
        "choose": [("row", p.X[0])],
        "learn": [("row", p.X[0]), ("label", 1)] + ([("flag", True)] if stream.bandit else []),
        "decision_function": [("table", X)], "predict": [("table", X)],
        "run": [("table", X), ("column", y), ("whole", 1, "epochs"), ("real", 0.0, "label_noise"),
                ("seed", 1, "noise_seed"), ("table", None, "chances"),
                ("progress", None, "progress")],
        "inverse": [("label", 0)], "information": [], "add_class": [], "health": [], "reset": [],
        "clone": [], "save": [("path", None)], "get_params": [("flag", True)]}


def filtering_methods(cls, stream):
    p = stream.profile
    return {
        "forward": [("row", p.X[0])], "learn": [("row", p.X[0]), ("flag", True)],
        "margin": [("row", p.X[0])], "probability": [("row", p.X[0])],
        "margins": [("table", p.X[:3])], "select": [("table", p.X[:3]), ("whole", 2)],
        "run": [("table", p.X[:3]), ("column", [True, False, True]), ("row", None, "u"),
                ("progress", None, "progress")],
        "health": [], "reset": [], "save": [("path", None)]}


def rewards_methods(cls, stream):
    p = stream.profile
    X, x = p.X[:3], p.X[0]
    shared = {"decay": [("real", 0.5)], "merge": [("row", x)], "health": [], "reset": [],
              "save": [("path", None)]}
    if cls is cf.OnlineRidge:
        return {"learn": [("row", x), ("real", 0.5), ("real", 1.0, "weight")], "inverse": [],
                "predict": [("table", X), ("flag", False, "return_std")],
                "run": [("table", X), ("column", [0.0, 0.5, 1.0]), ("column", None, "weight")],
                **shared}
    waiting = {"reward": [("whole", 1), ("real", 0.5), ("real", 1.0, "weight")],
               "drop": [("whole", 1)], **shared}
    asks = [("column", None, "allowed")]
    if cls is cf.ArmBandit:
        return {"choose": [("row", x), *asks, ("whole", None, "k")],
                "decide": [("row", x), *asks, ("draws", None, "samples")],
                "learn": [("row", x), ("label", 1), ("real", 0.5), ("real", 1.0, "weight")],
                "probabilities": [("row", x), *asks, ("draws", None, "samples")],
                "scores": [("row", x)], "inverse": [("label", 1)], "add_arm": [], **waiting}
    asks.append(("row", None, "context"))
    return {"choose": [("table", X), *asks, ("whole", None, "k")],
            "decide": [("table", X), *asks, ("draws", None, "samples")],
            "learn": [("row", x), ("real", 0.5), ("real", 1.0, "weight"),
                      ("row", None, "context")],
            "choose_pair": [("table", X)], "learn_pair": [("row", x), ("row", p.X[1]),
                                                          ("flag", True)],
            "probabilities": [("table", X), *asks, ("draws", None, "samples")],
            "scores": [("table", X), ("row", None, "context")], "inverse": [], **waiting}


def coactive_methods(cls, stream):
    task = stream.given["task"]
    shared = {"update": [("row", np.ones(6))], "reset": [], "save": [("path", None)]}
    if isinstance(task, cf.Items):
        return {"present": [("column", [0, 1, 2]), ("whole", None, "k"),
                            ("flag", False, "average")],
                "learn": [("column", [0, 1, 2]), ("label", 0), ("label", 2)],
                "scores": [("column", [0, 1, 2])],
                "learn_clicks": [("column", [0, 1, 2]), ("column", [0, 1]), ("column", [1])],
                **shared}
    x = documents(0)
    good = ([0, 1, 2], [2, 1, 0]) if isinstance(task, cf.Ranking) else (0, 2)
    kind = "column" if isinstance(task, cf.Ranking) else "label"
    if kind == "label":  # what a task of one's own says of wrong objects is not the package's
        return {"update": shared["update"], "reset": [], "save": [("path", None)]}
    return {"present": [("table", x), ("whole", None, "k"), ("flag", False, "average")],
            "learn": [("table", x), (kind, good[0]), (kind, good[1])],
            "scores": [("table", x), ("flag", False, "average")],
            "learn_clicks": [("table", x), ("column", [0, 1, 2]), ("column", [1])], **shared}


def convex_methods(cls, stream):
    kind = "real" if stream.values else "row"
    good = 0.5 if stream.values else np.ones(3)
    found = {"tell": [(kind, good)], "ask": [], "reset": [], "save": [("path", None)],
             "run": [("column", [1.0, 2.0]), ("whole", 2), ("progress", None, "progress")]}
    if stream.values:
        found |= {"ask_pair": [], "tell_pair": [("real", 0.5), ("real", 0.5)]}
    return found


METHODS = {"multiclass": multiclass_methods, "filtering": filtering_methods,
           "rewards": rewards_methods, "coactive": coactive_methods, "convex": convex_methods}
