"""The streams of what is no learner of the registry, and of what works on several learners."""

import copy
import os
import pickle
import tempfile
from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.sparse

import coactive_fast as cf

from . import bad, grid
from .learners import PROFILES, TRUTH, documents, queries
from .notes import FOLDER, asked, make
from .rows import labels_of, numbers, relevance_of, rewards_of, row, table, uniform, wholes

# --- metrics ----------------------------------------------------------------------------------

METRICS = {
    "Full": ({"": {}, "ridge": {"ridge": 0.3}, "fast": {"precision": "fast"},
              "robust": {"precision": "robust", "ridge": 2.0}, "auto": {"precision": "auto"}},
             range(12)),
    "Diagonal": ({"": {}, "ridge": {"ridge": 0.3}}, range(12)),
    "Dual": ({"": {}, "ridge": {"ridge": 0.3}, "linear": {"kernel": "linear"},
              "rbf": {"kernel": "rbf", "kernel_params": {"gamma": 0.25}},
              "poly": {"kernel": "poly", "kernel_params": {"degree": 2}},
              "own": {"kernel": grid.own_kernel}, "window": {"window": 6},
              "budget": {"kernel": "rbf", "budget": 5, "tolerance": 0.05}}, (0, 1, 2, 5, 6, 10)),
}


def by_state(m):
    asked[type(m).__name__] |= {"state", "from_state"}
    return type(m).from_state(m.state())


def by_copy(m):
    asked[type(m).__name__] |= {"copy"}
    return m.copy()


WAYS = [by_copy, by_state, copy.copy, lambda m: pickle.loads(pickle.dumps(m))]


def metric(kind, given, profile, notes):
    p, cls = profile, getattr(cf.metric, kind)
    sized = kind != "Dual"
    m = make(cls, *([p.d] if sized else []), **given)
    for name in ("n", "ridge", "precision", "kernel_params", "window", "budget", "tolerance"):
        if hasattr(m, name):
            notes.ask(m, name)
    if not sized:
        asked.setdefault(kind, set()).add("kernel")
        notes.add("kernel", grid.shown(m.kernel))
    for t in range(18):
        form = "dense" if kind == "Full" and "csr" in p.form else p.form
        x = row(p.X[t], form, t)
        if kind == "Full" and scipy.sparse.issparse(x):
            x = p.X[t]
        notes.ask(m, "quad", x)
        notes.ask(m, "update", x, c=[1.0, 0.5, 2.0][t % 3])
        if t == 8:
            m = WAYS[p.d % len(WAYS)](m)
        if sized and t == 11:
            notes.ask(m, "forget", 0.8)
        if sized and t == 13:
            notes.ask(m, "decay", 0.5)
    if sized:
        forms = ("dense", "float32") if kind == "Full" else ("dense", "csr32", "csr64")
        for i, form in enumerate(forms):
            notes.ask(m, "update_many", table(p.X[18 + 3 * i:21 + 3 * i], form),
                      c=[1.0, [0.5, 1.0, 2.0]][i % 2])
            notes.ask(m, "quad_many", table(p.probes, form))
            notes.ask(m, "solve_many", table(p.probes, form))
    metric_state(notes, m, p, "then")
    notes.add("repr", repr(m))
    if not sized:
        notes.add("len", len(m))
        return
    notes.ask(m, "sample", 2, 5)
    notes.ask(m, "merge", by_copy(m))
    metric_state(notes, m, p, "merged")
    if kind == "Full":
        again = make(cf.metric.Full.from_matrix, m.matrix(), m.ridge, precision=m.precision)
        asked[kind].add("from_matrix")
        notes.add("merged from_matrix", [again.logdet, again.quad(p.probes[0])])


def metric_state(notes, m, p, stage):
    for x in p.probes:
        notes.ask(m, "quad", x, label=f"{stage} quad")
        notes.ask(m, "solve", x, label=f"{stage} solve")
    if not isinstance(m, cf.metric.Full):
        notes.ask(m, "solve", scipy.sparse.csr_matrix(p.probes[:1]), label=f"{stage} sparse solve")
        if isinstance(m, cf.metric.Diagonal):
            at = np.flatnonzero(p.probes[0])
            notes.ask(m, "solve", (at, p.probes[0][at]), label=f"{stage} pair solve")
    for name in ("inverse", "matrix", "logdet", "updates", "health", "approximation_error"):
        if hasattr(m, name):
            notes.ask(m, name, label=f"{stage} {name}")


def metric_messages(kind, given, notes):
    cls = getattr(cf.metric, kind)
    p = PROFILES[0]
    sized = kind != "Dual"
    m = cls(*([p.d] if sized else []), **given)
    for t in range(6):
        m.update(p.X[t])
    other, x, X = m.copy(), p.X[0], p.X[:3]
    methods = {
        "update": [("row", x), ("real", 1.0, "c")], "quad": [("row", x)], "solve": [("row", x)],
        "update_many": [("table", X), ("real", 1.0, "c")], "quad_many": [("table", X)],
        "solve_many": [("table", X)], "forget": [("real", 0.5)], "decay": [("real", 0.5)],
        "merge": [("row", other)], "sample": [("whole", 2), ("seed", 1)], "inverse": [],
        "matrix": [], "copy": [], "health": []}  # the layout of a state is not pinned
    methods["sample"][0] = ("draws", 2)
    for method, good in methods.items():
        if hasattr(cls, method):
            bad.refuse_changes(notes, m, method, good, d=p.d)
    for name in ("n", "ridge", "precision", "kernel", "kernel_params", "window", "budget",
                 "tolerance"):
        for values in (bad.REALS, bad.WHOLES, bad.WORDS, bad.PARAMS):
            for label, value in values.items():
                if name == "n" and label in ("10**30", "1e300"):
                    continue
                keyed = {"n": 3, **given, name: value} if sized else {**given, name: value}
                notes._entry(name)["texts"].append(label)
                notes.attempt(name, lambda k=keyed: cls(**k) and "accepted")
    for name, value in bad.tables(3).items():
        notes.add("from_matrix", name)
        if kind == "Full":
            notes.attempt("from_matrix", lambda v=value: cls.from_matrix(v, 1.0).logdet)


# --- kernels ----------------------------------------------------------------------------------

SIZES = [1, 2, 3, 5, 8, 9, 16, 33, 70]


def spd(d, seed):
    """A matrix that is positive definite, and its inverse, both made by rank-one updates."""
    A, inverse = np.eye(d), np.eye(d)
    for x in numbers((d + 3, d), seed):
        A = A + x[:, None] * x[None, :]
        cf.kernels.inverse_update(inverse, x)
    return A, inverse


def kernel_functions(notes):
    k = cf.kernels
    for d in SIZES:
        label = f"d={d} "

        def call(name, function, *args, label=label, **kwargs):
            notes.attempt(label + name, make, function, *args, **kwargs)

        z, w = numbers(d, 3 * d), numbers(d, 3 * d + 1, 0.2)
        X = numbers((11, d), 5 * d, 0.1)
        X[7] = X[2]
        for n in (0, 1, 3, d, d + 4):
            call("top_k", k.top_k, z, n)
            call("rank", k.rank, X, w, n)
        for form in ("float32", "strided", "fortran"):
            call(f"rank {form}", k.rank, table(X, form), w, 5)
            call(f"features {form}", k.ranking_features, table(X, form), [3, 1, 2, 0], k=3)
        call("features", k.ranking_features, X, range(11))
        for triangle in ("both", "lower"):
            _, inverse = spd(d, d)
            call("inverse_update", k.inverse_update, inverse, w, c=0.7, triangle=triangle)
            notes.add(f"{label}inverse", np.tril(inverse))
        _, inverse = spd(d, d + 100)
        for scale in (0.01, 1.0, 100.0):
            at = scale * z
            call("ball", k.project_ball, at, inverse, 0.5)
            call("simplex", k.project_simplex, at, inverse)
            call("simplex 2", k.project_simplex, at, inverse, total=2.5)
            call("l1", k.project_l1, at, inverse, 0.7)
            call("box", k.project_box, at, inverse, np.full(d, -0.2), np.full(d, 0.3))
            call("scores", k.project_scores, at, np.abs(w) + 0.1, 1.5)
        for signs in (True, False):
            for scale in (1.0, 300.0, 1e5):
                call("exponentiated", k.exponentiated_weights, scale * z, both_signs=signs)
        for scale in (1.0, 1e-5, 300.0):
            call("exp", k.exp, scale * z)
            call("log", k.log, scale * np.abs(z))
    wide = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0, 1e-320, 1e308, 709.9, -745.2])
    notes.attempt("wide exp", k.exp, wide)
    notes.attempt("wide log", k.log, np.abs(wide))


def kernel_messages(notes):
    k, d = cf.kernels, 4
    z, X = numbers(d, 1), numbers((3, d), 2)
    _, inverse = spd(d, 3)
    functions = {
        "top_k": [("row", z), ("whole", 2)], "rank": [("table", X), ("row", z), ("whole", 2)],
        "ranking_features": [("table", X), ("column", [2, 0, 1]), ("whole", 2, "k")],
        "inverse_update": [("table", inverse), ("row", z), ("real", 1.0, "c"),
                           ("word", "both", "triangle")],
        "project_scores": [("row", z), ("row", np.ones(d)), ("real", 1.0)],
        "project_ball": [("row", z), ("table", inverse), ("real", 1.0)],
        "project_simplex": [("row", z), ("table", inverse), ("real", 1.0, "total")],
        "project_l1": [("row", z), ("table", inverse), ("real", 1.0)],
        "project_box": [("row", z), ("table", inverse), ("row", -np.ones(d)), ("row", np.ones(d))],
        "exponentiated_weights": [("row", z), ("flag", True, "both_signs")],
        "exp": [("row", z)], "log": [("row", z)]}
    for method, good in functions.items():
        for name, args, kwargs in bad.calls(method, good, d, 3):
            notes.add(method, name)
            notes.attempt(method, lambda a=args, kw=kwargs, m=method: getattr(k, m)(
                *copy.deepcopy(a), **copy.deepcopy(kw)))


# --- catalogues -------------------------------------------------------------------------------


def catalogue(form, given, jobs, d, notes):
    X = table(numbers((300, d), 40 + d, 0.1), form)
    options = {} if jobs is None else {"n_jobs": jobs}
    items, bandit = make(cf.Catalogue, X, **options), cf.LinearBandit(**copy.deepcopy(given))
    alive, added = np.ones(300, dtype=bool), numbers((3, d), 41)
    for t in range(30):
        more = {"allowed": uniform(len(alive), 300 + t) < 0.5} if t % 7 == 3 else {}
        chosen = notes.ask(bandit, "choose", items, label="choose", **more)
        notes.ask(items, "scored")
        if chosen is None:
            continue
        x = np.asarray(X)[chosen] if chosen < 300 else added[chosen - 300]
        notes.ask(bandit, "learn", x, float(rewards_of(np.asarray(x, dtype=float)[None])[0]))
        if t % 6 == 4:
            notes.ask(bandit, "choose", items, k=4, label="choose k")
            notes.ask(bandit, "scores", items, label="scores")
        if t == 10:
            notes.ask(items, "remove", [int(chosen), 5 if chosen != 5 else 6])
            notes.ask(items, "add", added)
            alive = np.ones(303, dtype=bool)
        if t == 15:
            notes.ask(bandit, "decay", 0.7)
        if t == 20:
            decision = notes.ask(bandit, "decide", items)
            notes.ask(bandit, "reward", decision.id, 0.5)
    notes.ask(bandit, "probabilities", items, **({"samples": 30} if given.get(
        "explore") == "thompson" else {}))
    notes.add("len", len(items))
    notes.add("repr", repr(items))
    notes.attempt("pickle", lambda: pickle.dumps(items) and "accepted")


def catalogue_messages(notes):
    for name, value in bad.tables(4).items():
        notes.add("made", name)
        notes.attempt("made", lambda v=value: len(cf.Catalogue(v)))
        notes.add("add", name)
        notes.attempt("add", lambda v=value: cf.Catalogue(np.ones((2, 4))).add(v))
    for name, value in bad.WHOLES.items():
        notes.add("n_jobs", name)
        notes.attempt("n_jobs", lambda v=value: len(cf.Catalogue(np.ones((2, 4)), n_jobs=v)))
        notes.add("remove", name)
        items = cf.Catalogue(np.ones((4, 4)))
        notes.attempt("remove", lambda v=value, i=items: i.remove(v))
        notes.add("remove", len(items))
    for kind in (cf.ArmBandit(3), cf.LinearBandit(context_features=2), cf.LinearBandit()):
        notes.attempt("choose", lambda b=kind: b.choose(cf.Catalogue(np.ones((2, 4)))))


# --- fleets -----------------------------------------------------------------------------------

TEMPLATES = {
    "OnlineRidge": (cf.OnlineRidge, {}), "OnlineRidge forget": (cf.OnlineRidge, {"forget": 0.9}),
    "OnlineRidge logistic": (cf.OnlineRidge, {"link": "logistic", "ridge": 0.5}),
    "LinearBandit": (cf.LinearBandit, {"seed": 3}),
    "LinearBandit thompson": (cf.LinearBandit, {"explore": "thompson", "seed": 3}),
    "LinearBandit context": (cf.LinearBandit, {"context_features": 2, "floor": 0.2, "seed": 3}),
    "LinearBandit theory": (cf.LinearBandit, {"width": "theory", "noise": 0.5}),
    "ArmBandit": (cf.ArmBandit, {"n_arms": 3, "seed": 3}),
    "ArmBandit squarecb": (cf.ArmBandit, {"n_arms": 2, "explore": "squarecb", "seed": 3}),
    "RidgeFilter": (cf.RidgeFilter, {}),
    "RidgeFilter ucb": (cf.RidgeFilter, {"rule": "ucb", "width": 0.3}),
    "RidgeFilter bbq": (cf.RidgeFilter, {"rule": "bbq", "forget": 0.9}),
    "PreferencePerceptron": (cf.PreferencePerceptron, {"task": cf.Ranking(k=3)}),
    "PreferencePerceptron batch": (cf.PreferencePerceptron, {"task": cf.Ranking(k=3), "batch": 3}),
}


def fleet_round(notes, fleet, kind, key, t, context):
    p = PROFILES[0]
    words = {"context": numbers(2, 50 + t)} if context else {}
    x, y = p.X[t % 40], float(rewards_of(p.X[t % 40][None])[0])
    if kind is cf.OnlineRidge:
        notes.ask(fleet, "learn", key, x, y, weight=0.5 if t % 3 else None)
    elif kind is cf.LinearBandit:
        X, _ = p.offered(t, 4)
        more = {"allowed": [True, False, True, True]} if t % 4 == 1 else {}
        chosen = notes.ask(fleet, "choose", key, X, **more, **words)
        if t % 5 == 2:
            notes.ask(fleet, "choose", key, X, k=2, label="choose k", **words)
        if chosen is not None:
            notes.ask(fleet, "learn", key, X[chosen], y, **words)
    elif kind is cf.ArmBandit:
        arm = notes.ask(fleet, "choose", key, x)
        if arm is not None:
            notes.ask(fleet, "learn", key, x, arm, y / (1.0 + arm))
    elif kind is cf.RidgeFilter:
        if notes.ask(fleet, "choose", key, x) or t % 3 == 0:
            notes.ask(fleet, "learn", key, x, bool(relevance_of(x[None])[0]))
    else:
        x = documents(t)
        shown = notes.ask(fleet, "choose", key, x)
        if shown is not None:
            notes.ask(fleet, "learn", key, x, shown, np.arange(len(x)))


def fleet_run(notes, fleet, kind, keys, first, context, jobs):
    p = PROFILES[0]
    n = len(keys)
    X, y = p.X[first:first + n], rewards_of(p.X[first:first + n])
    options = {"weight": 0.5 + uniform(n, 6)} if jobs > 1 else {}
    if context:
        options["context"] = numbers((n, 2), 63)
    answers = {cf.OnlineRidge: (y,), cf.LinearBandit: (y,),
               cf.ArmBandit: (wholes(n, 2, 7), y), cf.RidgeFilter: (relevance_of(X),)}.get(kind, ())
    if kind in (cf.RidgeFilter, cf.PreferencePerceptron):
        options.pop("weight", None)
    rows = table(X, "csr32") if first % 2 else X
    history = notes.ask(fleet, "run", keys, rows, *answers, n_jobs=jobs, label="run", **options)
    notes.history("run", history) if hasattr(history, "to_dict") else None


def fleet_state(notes, fleet, keys):
    for key in keys:
        model = notes.attempt("model", lambda k=key: fleet[k])
        if model is None:
            continue
        notes.add("rounds", model.rounds)
        if hasattr(type(model), "weights"):
            notes.add("weights", model.weights)
        if hasattr(model, "margin") and model.learned:
            notes.add("margin", [model.margin(x) for x in PROFILES[0].probes])
    notes.add("len", len(fleet))
    notes.add("keys", sorted(map(str, fleet)))


def fleet(name, texts, where, notes):
    kind, given = TEMPLATES[name]
    context = "context_features" in given
    keys = ["anna", "ben", "çé", "d" * 60] if texts else [3, -1, 2**62, 0]
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        path = os.path.join(folder, "fleet") if where != "memory" else None
        options = {}
        if where == "prior":
            prior = kind(**copy.deepcopy(given))
            source = cf.Fleet(None, kind(**copy.deepcopy(given)), 4)
            for t in range(6):
                fleet_round(SilentNotes(), source, kind, 0, t, context)
            prior = source[0]
            source.close()
            options = {"prior": prior, "prior_weight": 0.5, "keep_flushed": True}
        template = kind(**copy.deepcopy(given))
        many = make(cf.Fleet, path, template, 2, **options)
        notes.ask(many, "template")
        notes.add("template", repr(many.template))
        for t in range(20):
            fleet_round(notes, many, kind, keys[t * 7 % 3], t, context)
        fleet_state(notes, many, keys)
        if path is not None:
            notes.ask(many, "flush")
            many.close()
            with make(cf.Fleet, path, mode="r") as reader:
                fleet_state(notes, reader, keys)
                notes.attempt("read only", lambda: fleet_round(
                    notes, reader, kind, keys[0], 3, context))
            many = make(cf.Fleet, path, template, mode="r+")
        at = [keys[i] for i in wholes(16, 4, 9)]
        fleet_run(notes, many, kind, at, 20, context, 1)
        fleet_run(notes, many, kind, at[:9], 11, context, 3)
        fleet_state(notes, many, keys)
        notes.attempt("delete", lambda: many.__delitem__(keys[1]))
        notes.attempt("delete", lambda: many.__delitem__("nobody" if texts else 99))
        notes.attempt("set", lambda: many.__setitem__(keys[3], many[keys[0]]))
        notes.attempt("set", lambda: many.__setitem__(keys[3], cf.SimpleFilter()))
        notes.attempt("contains", lambda: [key in many for key in keys])
        notes.ask(many, "capacity")
        notes.ask(many, "health")
        fleet_state(notes, many, keys)
        for key in (1.5, None, True, b"x", "x" * 64, 2**63, keys[0]):
            notes.attempt("wrong key", lambda k=key: key_in(many, k))
        for value in list(bad.vectors(5).values()) + [documents(0)]:
            before = health_of(many)
            notes.attempt("wrong rows", lambda v=value: many.learn(keys[0], v, 0.5))
            notes.attempt("wrong rows", lambda v=value: many.choose(keys[0], v))
            assert before[1:] == health_of(many)[1:]
        notes.ask(many, "close")
        notes.attempt("closed", lambda: len(many))


class SilentNotes:
    """Calls, and records nothing."""

    def ask(self, subject, name, *args, label=None, **kwargs):
        return getattr(subject, name)(*args, **kwargs)


def key_in(many, key):
    return [key in many, many[key].rounds]


def health_of(many):
    found = many.health()
    return [found["models"], found["features"], found["damaged"]]


def fleet_messages(notes):
    with tempfile.TemporaryDirectory(prefix=FOLDER) as folder:
        path = os.path.join(folder, "fleet")
        for template in (cf.Confidit(3), cf.SimpleFilter(), None, 3,
                         cf.OnlineRidge(covariance="diagonal"),
                         cf.LinearBandit(max_features=9, covariance="diagonal"),
                         cf.RidgeFilter(window=3), cf.RidgeFilter(calibrate=True),
                         cf.RidgeFilter(covariance="kernel"), cf.RidgeFilter(rule="dgs"),
                         cf.PreferencePerceptron(cf.Items(grid.CATALOGUE)),
                         cf.PreferencePerceptron(cf.Ranking(), kernel="rbf")):
            notes.attempt("template", lambda t=template: cf.Fleet(None, t, 4) and "accepted")
        fresh = cf.OnlineRidge
        for name, value in bad.WHOLES.items():
            notes.add("capacity", name)
            notes.attempt("capacity", lambda v=value: cf.Fleet(None, fresh(), v).capacity)
        for name, value in bad.REALS.items():
            notes.add("prior_weight", name)
            notes.attempt("prior_weight", lambda v=value: cf.Fleet(
                None, fresh(), 4, prior_weight=v).capacity)
        for name, value in bad.FLAGS.items():
            notes.add("keep_flushed", name)
            notes.attempt("keep_flushed", lambda v=value: cf.Fleet(
                None, fresh(), 4, keep_flushed=v).capacity)
        for mode in bad.WORDS.values():
            notes.attempt("mode", lambda m=mode: cf.Fleet(path, fresh(), 4, mode=m) and "accepted")
        for prior in (cf.SimpleFilter(), cf.OnlineRidge(ridge=2.0), 3):
            notes.attempt("prior", lambda p=prior: cf.Fleet(None, fresh(), 4, prior=p).capacity)
        notes.attempt("missing", lambda: cf.Fleet(os.path.join(folder, "none"), mode="r").capacity)
        with open(path, "wb") as file:
            file.write(b"nothing of the kind" * 100)
        notes.attempt("other file", lambda: cf.Fleet(path, mode="r+").capacity)
        notes.attempt("pickle", lambda: pickle.dumps(cf.Fleet(None, fresh(), 4)))


# --- logs -------------------------------------------------------------------------------------


def log_arrays(n, *, d=4, p=0, seed=0, sparse=False, groups=None, fixed=None):
    lengths = np.full(n, fixed) if fixed else 1 + wholes(n, 5, seed)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    features = np.round(numbers((int(offsets[-1]), d), 90 + seed), 3)
    law = uniform(int(offsets[-1]), 91 + seed) + 0.2
    law = law / np.repeat(np.add.reduceat(law, offsets[:-1]), lengths)
    chosen = (uniform(n, 92 + seed) * lengths).astype(np.intp)
    reward = (uniform(n, 93 + seed) < 0.4).astype(float)
    found = {"features": features, "offsets": offsets, "chosen": chosen, "reward": reward,
             "probability": law[offsets[:-1] + chosen]}
    if p:
        found["context"] = np.round(numbers((n, p), 94 + seed), 3)
    if groups == "numbers":
        found["groups"] = wholes(n, 9, seed)
    elif groups == "texts":
        found["groups"] = np.array([f"user {i}" for i in wholes(n, 9, seed)])
    if sparse:
        found = {name: scipy.sparse.csr_matrix(value) if name in ("features", "context") else value
                 for name, value in found.items()}
    return found, law


LOGS = {"dense": {}, "sparse": {"sparse": True}, "context": {"p": 2},
        "sparse context": {"p": 2, "sparse": True}, "numbers": {"groups": "numbers", "p": 2},
        "texts": {"groups": "texts"}}
EVALUATIONS = [{}, {"estimator": "snips"}, {"estimator": "dr"}, {"estimator": "dr", "folds": 3},
               {"max_weight": 2.0}, {"reward_range": (-1.0, 2.0)},
               {"estimator": "snips", "max_weight": 1.5}, {"force": True}, {"estimator": "ips"}]


def shown_evaluation(notes, label, found):
    if found is None:
        return
    notes.add(f"{label} value", [found.value, found.standard_error, *found.interval,
                                 found.effective_sample_size])
    notes.add(f"{label} estimator", [found.estimator, found.rounds])
    notes.add(f"{label} repr", repr(found))
    notes.history(f"{label} running", found.running)


def uniform_policy(X, context):
    return np.full(X.shape[0], 1.0 / X.shape[0])


def evaluations(name, notes):
    arrays, law = log_arrays(120, **LOGS[name])
    log = make(cf.logs.BanditLog, **arrays)
    for attribute in ("n_actions", "n_context", "n_features", "left_out", "feature_names",
                      "context_names", "features", "context", "offsets", "chosen", "reward",
                      "probability", "groups"):
        notes.ask(log, attribute)
    size = LOGS[name].get("p", 0)
    linear = cf.LinearBandit(explore="squarecb", context_features=size, seed=3)
    drawn = cf.LinearBandit(explore="thompson", context_features=size, seed=3)
    for bandit in (linear, drawn):
        for t in range(5):
            bandit.learn(numbers(4, t), 0.5, **({"context": numbers(size, t)} if size else {}))
    policies = {"law": law, "uniform": uniform_policy, "linear": linear, "drawn": drawn}
    for policy_name, policy in policies.items():
        for options in EVALUATIONS:
            label = policy_name + " " + ",".join(f"{k}={v}" for k, v in options.items())
            more = {"samples": 20} if policy_name == "drawn" else {}
            found = notes.attempt(label, lambda p=policy, o=options, m=more: make(
                cf.logs.evaluate, p, log, **o, **m))
            shown_evaluation(notes, label, found)


def replays(name, notes):
    size = 3
    arrays, _ = log_arrays(150, fixed=3, **{**LOGS[name], "p": size})
    log = make(cf.logs.BanditLog, **arrays)
    learners = {
        "linear": cf.LinearBandit(seed=1), "context": cf.LinearBandit(context_features=3, seed=1),
        "thompson": cf.LinearBandit(explore="thompson", seed=1), "arms": cf.ArmBandit(3, seed=1),
        "confidit": cf.Confidit(3, alpha=0.5, seed=1), "banditron": cf.Banditron(3, seed=1),
        "newtron": cf.Newtron(3, seed=1), "perceptron": cf.MulticlassPerceptron(3)}
    for label, learner in learners.items():
        for i, options in enumerate(({"seed": 2}, {"seed": 3, "p_min": 0.05},
                                     {"seed": 3, "p_min": 0.9})):
            history = notes.attempt(f"{label} {i}", lambda x=learner, o=options: make(
                cf.logs.replay, x, log, **o))
            notes.history(f"{label} {i}", history)
        notes.ask(learner, "rounds")
    several = [cf.LinearBandit(seed=1), cf.ArmBandit(3, seed=2), cf.Confidit(3, seed=1)]
    for i, history in enumerate(cf.logs.replay(several, log, seed=5)):
        notes.history(f"several {i}", history)


def log_messages(notes):
    arrays, law = log_arrays(12, p=2)
    total = len(law)
    for name in arrays:
        pools = {"features": bad.tables(4), "context": bad.tables(2)}.get(
            name, bad.columns(12) if name != "offsets" else bad.columns(13))
        for label, value in pools.items():
            notes.add(name, label)
            notes.attempt(name, lambda n=name, v=value: cf.logs.BanditLog(
                **{**arrays, n: v}).n_actions)
    for label, value in bad.columns(12).items():
        notes.add("groups", label)
        notes.attempt("groups", lambda v=value: cf.logs.BanditLog(**arrays, groups=v).n_actions)
    log = cf.logs.BanditLog(**arrays)
    for label, value in bad.columns(total).items():
        notes.add("policy", label)
        notes.attempt("policy", lambda v=value: cf.logs.evaluate(v, log, force=True).value)
    for name, pool in {"estimator": bad.WORDS, "folds": bad.WHOLES, "max_weight": bad.REALS,
                       "force": bad.FLAGS, "reward_range": bad.REALS, "samples": bad.DRAWS}.items():
        for label, value in pool.items():
            notes.add(name, label)
            options = {"force": True, "estimator": "dr" if name == "folds" else "ips", name: value}
            notes.attempt(name, lambda o=options: cf.logs.evaluate(law, log, **o).value)
    for policy in (cf.SimpleFilter(), cf.ArmBandit(2), cf.ArmBandit(9), cf.LinearBandit(), 3,
                   cf.LinearBandit(explore="thompson", seed=1),
                   cf.LinearBandit(context_features=5)):
        notes.attempt("learner", lambda p=policy: cf.logs.evaluate(p, log, force=True).value)
        notes.attempt("replay", lambda p=policy: len(cf.logs.replay(p, log, seed=1)))
    for name, pool in {"p_min": bad.REALS, "seed": bad.SEEDS}.items():
        for label, value in pool.items():
            notes.add(f"replay {name}", label)
            notes.attempt(f"replay {name}", lambda n=name, v=value: len(cf.logs.replay(
                cf.LinearBandit(), log, **{"seed": 1, n: v})))


# --- simulations and users --------------------------------------------------------------------

USERS = {
    "AlphaInformative": [{"alpha": 0.5}, {"alpha": 0.9, "weights": TRUTH, "k": 2}],
    "ExpectedAlphaInformative": [{"alpha": 0.4, "seed": 1},
                                 {"alpha": 0.3, "weights": TRUTH, "base_alpha": 0.1, "k": 3,
                                  "seed": 1}],
    "NoisyDepth": [{"depth": 2}, {"depth": 4, "k": 2}],
    "Clicks": [{"model": model, "seed": 1} for model in ("cascade", "position", "perfect")]
    + [{"preset": preset, "seed": 2} for preset in ("perfect", "navigational", "informational",
                                                    "random")]
    + [{"model": "position", "eta": 0.5, "seed": 3},
       {"click": [0.1, 0.5, 0.9], "stop": [0.0, 0.2, 0.5], "seed": 4}],
    "Best": [{"seed": 5}, {"seed": 3}], "Better": [{"seed": 3}], "OneHigher": [{"seed": 3}],
}
ON_RANKINGS = ("AlphaInformative", "ExpectedAlphaInformative", "NoisyDepth", "Clicks")


def user(name, notes):
    kind, data = getattr(cf.users, name), queries()
    for given in USERS[name]:
        label = ",".join(given)
        one = notes.attempt(f"{label} made", lambda g=given: make(kind, **copy.deepcopy(g)))
        notes.ask(one, "rankings")
        notes.ask(one, "items")
        notes.add("repr", repr(one) if "object at" not in repr(one) else "")
        for t in range(10):
            x = data[t].features
            presented = cf.kernels.rank(x, numbers(6, 80), len(x))
            query = data[t]
            if one.items:
                utilities = numbers(12, 81 + t)
                query = SimpleNamespace(candidates=np.arange(12)[t % 3:], utilities=utilities,
                                        ratings=np.clip(np.round(utilities + 3.0), 1.0, 5.0),
                                        features=x, relevance=data[t].relevance)
                notes.ask(one, "respond", query, 3 + t % 5, label=f"{label} item")
                notes.ask(one, "respond", query, np.array([4, 7]), label=f"{label} pair")
            if one.rankings:
                notes.ask(one, "respond", query, presented, label=f"{label} respond")
            if hasattr(one, "clicks"):
                notes.ask(one, "clicks", query, presented[:3], label=f"{label} clicks")
            if hasattr(one, "reset") and t == 7:
                notes.ask(one, "reset")
        if one.rankings:
            make_simulation(notes, label, copy.deepcopy(given), kind, data)
        if one.items:
            for i, learner in enumerate((cf.PreferencePerceptron,
                                         partial(cf.DuelingBandit, step=0.3, seed=1),
                                         cf.ConvexPreferencePerceptron)):
                items_simulation(notes, f"{label} {i}", learner,
                                 kind(**copy.deepcopy(given)), i)


def make_simulation(notes, label, given, kind, data):
    clicks = kind is cf.users.Clicks
    for i, make_learner in enumerate((
            partial(cf.PreferencePerceptron, cf.Ranking(k=3)),
            partial(cf.DuelingBandit, cf.Ranking(k=3), step=0.3, seed=1),
            partial(cf.PDGD, cf.Ranking(k=3), seed=1),
            partial(cf.PairwisePerceptron, cf.Ranking(k=3), seed=1),
            partial(cf.CustomPreferencePerceptron, cf.Ranking(k=3), grid.own_rule))):
        learner = make_learner()
        options = [{}, {"order": np.arange(20) % 12}, {"seed": 4}, {"weights": TRUTH},
                   {"held_out": data[8:], "every": 5, "measures": ("ndcg@3", "ndcg@10")}][i]
        title = f"{label} {type(learner).__name__}"
        history = notes.attempt(f"{title} simulate", lambda x=learner, o=options: make(
            cf.simulate, x, data[:8] if "held_out" in o else data, kind(**copy.deepcopy(given)),
            **{"weights": TRUTH, **o}))
        notes.history(f"{title} simulate", history)
        notes.add(f"{title} weights", learner.weights)
    if clicks:
        own = cf.simulate(cf.PDGD(cf.Ranking(k=3), seed=1), data, kind(**copy.deepcopy(given)),
                          weights=TRUTH)
        notes.history(f"{label} own", own)


def items_simulation(notes, label, learner, who, i):
    d = [6, 30, 8][i]
    items = cf.Items(np.abs(numbers((20, d), 85 + i)))
    W = numbers((3, d), 86 + i)
    ratings = np.where(uniform((3, 20), 87) < 0.5, np.nan, 1.0 + wholes(60, 5, 88).reshape(3, 20))
    options = [{"rounds": 8, "seed": 2}, {"rounds": 30, "n_jobs": 2, "seed": 2},
               {"rounds": 6, "ratings": ratings}][i]
    history = notes.attempt(label, lambda: make(
        cf.simulate_items, learner(items), items, W, who, **options))
    notes.history(label, history)


def gram_simulation(notes):
    """As large as the shared Gram matrix needs it."""
    items = cf.Items(np.abs(numbers((40, 26), 95)).astype(np.float32))
    for seed, jobs in ((1, 1), (2, 3)):
        history = make(cf.simulate_items, cf.PreferencePerceptron(items), items,
                       numbers((6, 26), 96), cf.users.Better(seed=seed), rounds=15, n_jobs=jobs,
                       ratings=scipy.sparse.csr_matrix(np.round(uniform((6, 40), 97) * 5.0)))
        notes.history(f"{seed}", history)


def simulation_messages(notes):
    data, learner = queries(), cf.PreferencePerceptron(cf.Ranking(k=3))
    good = {"order": None, "weights": TRUTH, "seed": 1, "held_out": None, "every": None,
            "measures": ("ndcg@10",), "progress": None}
    pools = {"order": bad.columns(12), "weights": bad.vectors(6), "seed": bad.SEEDS,
             "held_out": {"number": 3, "none": []}, "every": bad.WHOLES,
             "measures": {"text": "ndcg@10", "unknown": ("bogus@3",), "none": (), "number": 3,
                          "@0": ("ndcg@0",)},
             "progress": bad.PROGRESS}
    for name, pool in pools.items():
        for label, value in pool.items():
            notes.add(name, label)
            options = {**good, name: value}
            if name in ("every", "measures"):
                options["held_out"] = data
            before = pickle.dumps(learner)
            trial = copy.deepcopy(learner)

            def call(trial=trial, options=options):
                cf.simulate(trial, data, cf.users.AlphaInformative(0.5), **options)
                return "accepted"

            notes.attempt(name, call)
            assert pickle.dumps(learner) == before
    for who in (3, cf.users.Best(), cf.users.Clicks(seed=1), None):
        notes.attempt("user", lambda w=who: len(cf.simulate(
            copy.deepcopy(learner), data, w, weights=TRUTH)))
    for name, kind in (("PDGD", cf.PDGD), ("Pairwise", cf.PairwisePerceptron)):
        notes.attempt(name, lambda k=kind: len(cf.simulate(
            k(cf.Ranking(k=3)), data, cf.users.NoisyDepth(2), weights=TRUTH)))
    for name, given in USERS.items():
        kind = getattr(cf.users, name)
        parameters = {key for one in given for key in one}
        for parameter in sorted(parameters):
            for pool in (bad.REALS, bad.WHOLES, bad.WORDS, bad.SEEDS, bad.vectors(3)):
                for label, value in pool.items():
                    notes.add(f"{name} {parameter}", label)
                    notes.attempt(f"{name} {parameter}", lambda k=kind, g=given[0], p=parameter,
                                  v=value: k(**{**copy.deepcopy(g), p: v}) and "accepted")
    items = cf.Items(grid.CATALOGUE)
    for name, pool in {"rounds": bad.DRAWS, "n_jobs": bad.WHOLES, "seed": bad.SEEDS,
                       "ratings": bad.tables(12), "weights": bad.tables(6)}.items():
        for label, value in pool.items():
            notes.add(f"items {name}", label)
            options = {"weights": numbers((2, 6), 98), "rounds": 3, name: value}
            if name == "n_jobs" and label == "10**30":
                continue
            notes.attempt(f"items {name}", lambda o=options: len(cf.simulate_items(
                cf.PreferencePerceptron(items), items, user=cf.users.Better(seed=1), **o)))


# --- topics, losses, sets, measures -----------------------------------------------------------

FILTERS = {
    "full": cf.RidgeFilter(), "shared": cf.RidgeFilter(covariance="kernel", feedback="full"),
    "rbf": cf.RidgeFilter(covariance="kernel", kernel="rbf", feedback="full", calibrate=True),
    "forwarded": cf.RidgeFilter(covariance="kernel"), "window": cf.RidgeFilter(window=6),
    "diagonal": cf.RidgeFilter(covariance="diagonal"), "simple": cf.SimpleFilter(),
    "coin": cf.ProbabilisticRidgeFilter(explore=0.3, seed=4), "perceptron": cf.PerceptronFilter(),
    "tasting": cf.AppleTasting(cf.PerceptronFilter(), 0.4, seed=4),
    "costs": cf.RidgeFilter(covariance="kernel", feedback="full", cost_ratio=3.0)}


def topics(name, notes):
    for p in (PROFILES[0], PROFILES[1], PROFILES[4]):
        X = p.rows(0, 40)
        Y = np.array([relevance_of(p.X, seed) for seed in range(3)]).T
        for jobs, labelled, Z in ((1, None, Y), (3, (p.rows(30, 40), Y[30:]), Y),
                                  (2, None, scipy.sparse.csr_matrix(Y))):
            options = {} if labelled is None else {"labelled": labelled}
            found = notes.attempt(p.name, lambda X=X, Z=Z, o=options, j=jobs: make(
                cf.run_topics, FILTERS[name], X, Z, n_jobs=j, **o))
            for i, history in enumerate(found or []):
                notes.history(f"{p.name} {jobs} {i}", history)


def topic_messages(notes):
    p = PROFILES[0]
    X, Y = p.X[:8], np.array([relevance_of(p.X[:8], seed) for seed in range(2)]).T
    for learner in (cf.RidgeFilter(), FILTERS["shared"]):
        for name, pool in {"X": bad.tables(5), "Y": bad.tables(2), "n_jobs": bad.WHOLES,
                           "labelled": {"number": 3, "one": (X,), "width": (X[:, :2], Y),
                                        "length": (X[:3], Y), "topics": (X, Y[:, :1])},
                           "learner": {"None": None, "bandit": cf.LinearBandit()},
                           "progress": bad.PROGRESS}.items():
            for label, value in pool.items():
                if name == "n_jobs" and label == "10**30":
                    continue
                notes.add(name, label)
                given = {"learner": learner, "X": X, "Y": Y, name: value}
                notes.attempt(name, lambda g=given: len(cf.run_topics(**g)))


class Halved:
    """A scaling of one's own."""

    def transform(self, X):
        return np.asarray(X, dtype=np.float64) / 2.0


def losses(notes):
    for d in (1, 3, 9, 33):
        Z = numbers((9, d), 200 + d, 0.2)
        y = np.where(numbers(9, 201 + d) > 0.0, 1.0, -1.0)
        for form in ("dense", "float32", "csr32", "csr64", "fortran"):
            rows = table(Z, form)
            positive = table(np.abs(Z) + 0.5, form)
            kinds = {"Logistic": (cf.losses.Logistic, (rows, y), ("Z",)),
                     "Squared": (cf.losses.Squared, (rows, y), ("Z", "y")),
                     "PortfolioReturn": (cf.losses.PortfolioReturn, (positive,), ("Z",))}
            for name, (kind, args, scaled) in kinds.items():
                scales = {f"{part}_scaling": Halved() for part in scaled if form == "dense"}
                loss = notes.attempt(f"{name} made", make, kind, *args, **scales)
                if loss is None:
                    continue
                for attribute in ("dimension", "classifies", "y", "Z", "scaling"):
                    if hasattr(loss, attribute):
                        notes.ask(loss, attribute, label=f"{name} {attribute}")
                for t in range(11):
                    x = np.abs(numbers(d, 210 + t)) + 0.1
                    for method in ("value", "gradient", "mistake"):
                        notes.ask(loss, method, t, x, label=f"{name} {method}")


def loss_messages(notes):
    Z, y = numbers((3, 4), 1), np.array([1.0, -1.0, 1.0])
    for kind in ("Logistic", "Squared", "PortfolioReturn"):
        cls = getattr(cf.losses, kind)
        answers = () if kind == "PortfolioReturn" else (y,)
        good = np.abs(Z) + 0.5
        for label, value in bad.tables(4).items():
            notes.add(f"{kind} Z", label)
            notes.attempt(f"{kind} Z", lambda c=cls, v=value, a=answers: c(v, *a).dimension)
        if answers:
            for label, value in bad.columns(3).items():
                notes.add(f"{kind} y", label)
                notes.attempt(f"{kind} y", lambda c=cls, v=value: c(Z, v).dimension)
        loss = cls(good, *answers)
        for method in ("value", "gradient", "mistake"):
            bad.refuse_changes(notes, loss, method, [("whole", 1), ("row", np.ones(4))], d=4,
                               label=f"{kind} ", frozen=lambda one: one.Z.tobytes(),
                               copied=lambda one: one)


def sets(notes):
    _, inverse = spd(3, 9)
    everything = {**grid.SETS, "scalar": make(cf.Box, -1.0, 2.0), "ball": make(cf.Ball, 0.5),
                  "l1": make(cf.L1Ball, 1.0), "simplex": make(cf.Simplex)}
    for name, one in everything.items():
        notes.add(f"{name} repr", repr(one))
        for method, args in (("center", (3,)), ("in_radius", (3,)), ("diameter", (3,)),
                             ("affine_dimension", (3,))):
            notes.ask(one, method, *args, label=f"{name} {method}")
        small = one.shrunk(0.3, 3)
        asked[type(one).__name__].add("shrunk")
        for attribute in ("radius", "lower", "upper"):
            if hasattr(one, attribute):
                notes.ask(one, attribute, label=f"{name} {attribute}")
        if hasattr(one, "span"):
            notes.ask(one, "span", 3, label=f"{name} span")
        for i, subject in enumerate((one, small)):
            for scale in (0.1, 1.0, 10.0):
                z = scale * numbers(3, 55)
                notes.ask(subject, "contains", z, label=f"{name} contains {i}")
                notes.ask(subject, "project", z, label=f"{name} project {i}")
                notes.ask(subject, "project_in", z, inverse, label=f"{name} project_in {i}")
            notes.ask(subject, "direction", np.random.default_rng(3), 3,
                      label=f"{name} direction {i}")
        if "own" in name:
            continue
        for method, good in (("contains", [("row", np.ones(3))]),
                             ("project", [("row", np.ones(3))]),
                             ("center", [("draws", 3)]), ("shrunk", [("real", 0.5), ("draws", 3)]),
                             ("project_in", [("row", np.ones(3)), ("table", inverse)])):
            bad.refuse_changes(notes, one, method, good, d=3, label=f"{name} ", frozen=repr)
    for kind in (cf.Ball, cf.L1Ball):
        for label, value in bad.REALS.items():
            notes.add(f"{kind.__name__} radius", label)
            notes.attempt(f"{kind.__name__} radius", lambda k=kind, v=value: repr(k(v)))
    for label, value in {**bad.REALS, **bad.vectors(3)}.items():
        notes.add("Box", label)
        notes.attempt("Box", lambda v=value: repr(cf.Box(v, 2.0)))
        notes.attempt("Box", lambda v=value: repr(cf.Box(0.0, v)))


def measures(notes):
    grades = np.round(np.abs(numbers(30, 66)))
    ranking = cf.kernels.top_k(numbers(30, 67), 30)
    offsets = [0, 10, 17, 30]
    parts = np.concatenate([cf.kernels.top_k(numbers(b - a, 68 + a), b - a)
                            for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    for gain in ("linear", "exponential"):
        for k in (1, 5, 10, 100):
            for name in ("dcg", "ndcg"):
                function = getattr(cf.metrics, name)
                notes.attempt(f"{name} {gain} {k}", lambda f=function, g=gain, k=k: make(
                    f, grades, ranking, k=k, gain=g))
                notes.attempt(f"{name} {gain} {k}", lambda f=function, g=gain, k=k: make(
                    f, grades, parts, k=k, gain=g, offsets=offsets))
    notes.attempt("empty", lambda: make(cf.metrics.ndcg, np.zeros(3), [0, 1, 2], empty=1.0))
    learner = cf.PreferencePerceptron(cf.Ranking(k=3))
    learner.learn(documents(0), [0, 1, 2], [2, 1, 0])
    for options in ({}, {"measures": ("ndcg@3", "ndcg@5")}, {"average": True}, {"gain": "linear"}):
        notes.attempt("evaluate", make, cf.metrics.evaluate, learner, queries(), **options)
    utility, best = numbers(9, 69), np.abs(numbers(9, 70)) + 2.0
    notes.attempt("regret", lambda: make(cf.metrics.convex_regret, utility, best,
                                         lambda d: np.maximum(1.0 - d, 0.0)))
    notes.attempt("clicks", lambda: make(cf.feedback_from_clicks, [3, 1, 0, 2], [0, 2]))
    for label, value in bad.columns(4).items():
        for name, call in {"relevance": lambda v: cf.metrics.dcg(v, [0, 1, 2, 3]),
                           "ranking": lambda v: cf.metrics.dcg(np.ones(4), v),
                           "offsets": lambda v: cf.metrics.ndcg(np.ones(3), [0, 1, 2], offsets=v),
                           "presented": lambda v: cf.feedback_from_clicks(v, [0]),
                           "clicked": lambda v: cf.feedback_from_clicks([3, 1, 0, 2], v)}.items():
            notes.add(name, label)
            notes.attempt(name, lambda c=call, v=value: c(v))
    for name, pool in {"k": bad.WHOLES, "gain": bad.WORDS, "empty": bad.REALS}.items():
        for label, value in pool.items():
            notes.add(name, label)
            notes.attempt(name, lambda n=name, v=value: cf.metrics.ndcg(
                np.ones(3), [0, 1, 2], **{n: v}))


def tasks(notes):
    x = documents(2)
    for k in (1, 3, 5, 50):
        task = make(cf.Ranking, k=k)
        notes.ask(task, "features", x, range(len(x)))
        notes.ask(task, "argmax", TRUTH, x)
        notes.ask(task, "k", label="places")
        notes.add("repr", repr(task))
    notes.add("equal", [cf.Ranking(k=2) == cf.Ranking(k=2), cf.Ranking(k=2) == cf.Ranking(k=3)])
    for label, value in bad.WHOLES.items():
        notes.add("k", label)
        notes.attempt("k", lambda v=value: repr(cf.Ranking(k=v)))
    for label, value in bad.tables(3).items():
        notes.add("items", label)
        notes.attempt("items", lambda v=value: repr(cf.Items(v)))
    items = make(cf.Items, grid.CATALOGUE)
    notes.ask(items, "dimension")
    notes.ask(items, "features", label="catalogue")
    notes.add("items", [items.dimension, len(items), items == cf.Items(grid.CATALOGUE.copy())])


def worlds(notes):
    """Messages of environments; their numbers are in the streams of the bandits."""
    X, rewards = PROFILES[0].X[:12].reshape(4, 3, 5), uniform((4, 3), 8)
    for name, pool in {"X": bad.tables(5), "rewards": bad.tables(3),
                       "context": bad.tables(2)}.items():
        for label, value in pool.items():
            notes.add(name, label)
            given = {"X": X, "rewards": rewards, name: value}
            notes.attempt(name, lambda g=given: len(cf.simulate_bandit(
                cf.LinearBandit(), cf.RewardTable(**g))))
    for name, pool in {"weights": bad.vectors(5), "actions": bad.WHOLES,
                       "noise": bad.REALS}.items():
        for label, value in pool.items():
            if name == "actions" and label == "10**30":
                continue
            notes.add(name, label)
            given = {"weights": np.ones(5), "noise": 0.0, name: value}
            notes.attempt(name, lambda g=given: len(cf.simulate_bandit(
                cf.LinearBandit(), cf.LinearRewards(**g), rounds=2, seed=1)))
    for label, value in bad.DRAWS.items():
        notes.add("rounds", label)
        notes.attempt("rounds", lambda v=value: len(cf.simulate_bandit(
            cf.LinearBandit(), cf.RewardTable(X, rewards), rounds=v)))
    y = labels_of(PROFILES[0].X[:6], 3)
    asked.setdefault("RewardTable", set()).add("from_labels")
    notes.add("labels", cf.RewardTable.from_labels(PROFILES[0].X[:6], y, 3).rewards)
    for bandit in (cf.SimpleFilter(), cf.ArmBandit(3), cf.ArmBandit(2), cf.LinearBandit(),
                   cf.LinearBandit(link="logistic"), cf.LinearBandit(context_features=2)):
        for world in (cf.RewardTable(X, rewards), cf.RewardTable(X, rewards * 9.0),
                      cf.LinearRewards(np.ones(5)), (X[0], rewards), 3):
            notes.attempt("pair", lambda b=bandit, w=world: len(cf.simulate_bandit(
                copy.deepcopy(b), w, rounds=3, seed=1)))


# --- the streams ------------------------------------------------------------------------------


def streams():
    found = {}
    for kind, (bases, at) in METRICS.items():
        for name, given in bases.items():
            for i in at:
                found[f"{kind}/{name or 'base'}/{PROFILES[i].name}"] = partial(
                    metric, kind, given, PROFILES[i])
            found[f"{kind}/{name or 'base'}/messages"] = partial(metric_messages, kind, given)
    found["kernels/functions"], found["kernels/messages"] = kernel_functions, kernel_messages
    ways = {"ucb": {}, "greedy": {"explore": "greedy", "seed": 1},
            "thompson": {"explore": "thompson", "seed": 1},
            "squarecb": {"explore": "squarecb", "seed": 1}, "forget": {"forget": 0.95},
            "floor": {"floor": 0.2, "seed": 1}, "diagonal": {"covariance": "diagonal"}}
    for i, (name, given) in enumerate(ways.items()):
        for j, (form, jobs) in enumerate((("dense", None), ("float32", 2), ("fortran", 1))):
            d = (5, 9, 33, 1, 16)[(i + j) % 5]
            found[f"Catalogue/{name}/{form}{d}"] = partial(catalogue, form, given, jobs, d)
    found["Catalogue/messages"] = catalogue_messages
    for name in TEMPLATES:
        for texts, where in ((False, "memory"), (True, "file"), (False, "prior")):
            found[f"Fleet/{name}/{where}"] = partial(fleet, name, texts, where)
    found["Fleet/messages"] = fleet_messages
    for name in LOGS:
        found[f"logs.evaluate/{name}"] = partial(evaluations, name)
        found[f"logs.replay/{name}"] = partial(replays, name)
    found["logs/messages"] = log_messages
    for name in USERS:
        found[f"users/{name}"] = partial(user, name)
    found["simulate_items/gram"] = gram_simulation
    found["simulate/messages"] = simulation_messages
    for name in FILTERS:
        found[f"run_topics/{name}"] = partial(topics, name)
    found["run_topics/messages"] = topic_messages
    found |= {"losses/values": losses, "losses/messages": loss_messages, "sets": sets,
              "metrics": measures, "tasks": tasks, "simulate_bandit/messages": worlds}
    return found
