"""Every learner in every form that keeps its state in a layout of its own.

What a layout learns from is worked out from whole numbers alone, so that it is the same on every
machine and under every version of NumPy: what a file goes on with can be compared bit for bit.
"""

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse

import coactive_fast as cf

D, K, WIDE = 5, 3, 33  # features; classes; features of the full matrices that are kept otherwise


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    make: Callable  # () -> a fresh learner or metric
    act: Callable  # (learner, t) -> its decision in round t
    tell: Callable  # (learner, t, decision): what it learns in round t
    read: Callable  # learner -> {name: numbers}; changes nothing
    run: Callable  # (learner, n) -> numbers of a run over n rounds
    probe: object = None  # what its reading methods may be asked about
    solver: bool = False  # the weights are those of a solver from elsewhere
    own: bool = False  # holds code of the user's, which no file can hold

    def __str__(self):
        return self.name

    def play(self, learner, t):
        decision = self.act(learner, t)
        self.tell(learner, t, decision)
        return decision


def numbers(shape, seed):
    """Numbers between -2 and 2 in steps of 1/64, a quarter of them 0."""
    n, state, found = math.prod(shape), 2 * seed + 1, []
    for _ in range(n):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        drawn = state >> 40
        found.append(0.0 if drawn % 4 == 0 else (drawn // 4 % 256 - 128) / 64.0)
    return np.array(found).reshape(shape)


ROWS = numbers((64, D), 1)
ROWS[:, 0] = np.where(np.any(ROWS != 0.0, axis=1), ROWS[:, 0], 1.0)  # none is null
PROBES = numbers((3, D), 2)
LABELS = [int(np.argmax(row[:K])) for row in ROWS]
RELEVANT = [bool(row.sum() > 0.0) for row in ROWS]
WIDE_ROWS, WIDE_PROBES = numbers((64, WIDE), 3), numbers((3, WIDE), 4)


def sparse_row(row):
    return scipy.sparse.csr_matrix(row[None])


def growing_row(t):
    """Rows that become wider: of 2 features at first."""
    return sparse_row(ROWS[t % 64, : 2 + min(t, D - 2)])


# --- multiclass -------------------------------------------------------------------------------


def dense(t):
    return ROWS[t % 64]


def sparse(t):
    return sparse_row(dense(t))


def wide(t):
    return WIDE_ROWS[t % 64]


def told_right_or_wrong(row, learner, t, label):
    label = int(label)
    learner.learn(row(t), label, label == LABELS[t % 64] % learner.n_classes)


def told_the_label(row, learner, t, label):
    learner.learn(row(t), LABELS[t % 64] % learner.n_classes)


def some_of(inverse):
    """A few numbers that tell it apart: the files stay small."""
    return [inverse.diagonal(), inverse[len(inverse) // 2]] if inverse.ndim == 2 else inverse


def scores_of_classes(probes, learner):
    found = {"rounds": learner.rounds, "scores": learner.decision_function(probes),
             "labels": learner.predict(probes)}
    if hasattr(learner, "weights"):  # not with a kernel
        found["weights"] = learner.weights
        if hasattr(learner, "inverse"):
            found["inverses"] = [some_of(learner.inverse(i)) for i in range(learner.n_classes)]
    if hasattr(learner, "information"):
        found["information"] = learner.information()
    return found


def run_of_classes(rows, learner, n):
    at = np.arange(n) % 64
    history = learner.run(rows[at], np.array(LABELS)[at] % learner.n_classes)
    return [history.choices, history.mistakes, history.explored]


def multiclass(name, make, row=dense, labelled=False):
    rows, probes = (WIDE_ROWS, WIDE_PROBES) if row is wide else (ROWS, PROBES)
    if row in (sparse, growing_row):
        rows = scipy.sparse.csr_matrix(rows)
    return Layout(name, make, lambda learner, t: learner.choose(row(t)),
                  partial(told_the_label if labelled else told_right_or_wrong, row),
                  partial(scores_of_classes, probes), partial(run_of_classes, rows), probes)


def one_class_more():
    learner = cf.Confidit(2)
    learner.learn(ROWS[0], 1, True)
    learner.add_class()
    return learner


def confidit(name, n_classes=K, row=dense, **arguments):
    return multiclass(f"confidit-{name}", lambda: cf.Confidit(n_classes, **arguments), row)


CHANCE = {"alpha": 0.3, "seed": 11}
MULTICLASS = [
    confidit("diagonal"),
    confidit("diagonal-projected", projection=True, confidence="theory"),
    confidit("diagonal-printed", diagonal_step="printed", row=sparse),
    confidit("diagonal-chance", normalize=True, **CHANCE),
    confidit("diagonal-growing", row=growing_row, max_features=40),
    confidit("diagonal-classes", n_classes=9),
    multiclass("confidit-diagonal-one-more", one_class_more),
    confidit("full", covariance="full"),
    confidit("full-projected", covariance="full", row=sparse, projection=True,
             confidence="theory", **CHANCE),
    confidit("full-classes", n_classes=9, covariance="full"),
    confidit("full-wide", n_classes=2, row=wide, covariance="full"),
    confidit("kernel-linear", covariance="kernel"),
    confidit("kernel-linear-sparse", covariance="kernel", row=sparse),
    confidit("kernel-linear-chance", covariance="kernel", confidence="theory", **CHANCE),
    confidit("kernel-rbf", covariance="kernel", kernel="rbf", kernel_params={"gamma": 0.25}),
    confidit("kernel-rbf-sparse", covariance="kernel", kernel="rbf", row=sparse),
    confidit("kernel-poly", covariance="kernel", kernel="poly", kernel_params={"degree": 2}),
    multiclass("banditron", lambda: cf.Banditron(K, seed=5)),
    multiclass("banditron-growing", lambda: cf.Banditron(K, gamma=0.3, max_features=40, seed=5),
               growing_row),
    multiclass("newtron", lambda: cf.Newtron(K, seed=5)),
    confidit("selfnormalized", confidence="selfnormalized", **CHANCE),
    multiclass("multiclass-perceptron", lambda: cf.MulticlassPerceptron(K), labelled=True),
    multiclass("multiclass-perceptron-sparse", lambda: cf.MulticlassPerceptron(K), sparse, True),
    multiclass("multiclass-second-order", lambda: cf.MulticlassSecondOrderPerceptron(K, a=0.5),
               labelled=True),
    multiclass("multiclass-arow", lambda: cf.MulticlassAROW(K, r=0.5), labelled=True),
    multiclass("multiclass-arow-growing", lambda: cf.MulticlassAROW(K, max_features=40),
               growing_row, True),
]


# --- filtering --------------------------------------------------------------------------------


def told_relevance(row, learner, t, forwarded):
    if forwarded:
        learner.learn(row(t), RELEVANT[t % 64])


def margins(learner):
    found = {"rounds": learner.rounds, "learned": learner.learned, "threshold": learner.threshold,
             "margins": [learner.margin(x) for x in PROBES]}
    if getattr(learner, "calibrate", False):
        found["probabilities"] = [learner.probability(x) for x in PROBES]
    if hasattr(learner, "approximation_error"):
        found["approximation_error"] = learner.approximation_error
    return found


def run_of_filter(rows, learner, n):
    at = np.arange(n) % 64
    history = learner.run(rows[at], np.array(RELEVANT)[at])
    return [history.forwarded, history.margins]


def filtering(name, make, row=dense, **marks):
    rows = scipy.sparse.csr_matrix(ROWS) if row is sparse else ROWS
    return Layout(name, make, lambda learner, t: learner.forward(row(t)),
                  partial(told_relevance, row), margins, partial(run_of_filter, rows), PROBES,
                  **marks)


def ridge(name, row=dense, **arguments):
    return filtering(f"ridge-filter-{name}", lambda: cf.RidgeFilter(**arguments), row)


KERNEL = {"covariance": "kernel"}
FILTERING = [
    filtering("simple-filter", cf.SimpleFilter),
    ridge("full"),
    ridge("full-ucb", rule="ucb"),
    ridge("full-feedback", feedback="full", row=sparse),
    ridge("full-window", window=9),
    ridge("full-forget", forget=0.95),
    ridge("full-forget-robust", forget=0.25),
    ridge("diagonal", covariance="diagonal"),
    ridge("diagonal-sparse", covariance="diagonal", rule="ucb", row=sparse),
    ridge("diagonal-forget", covariance="diagonal", forget=0.9),
    ridge("kernel-linear", **KERNEL),
    ridge("kernel-linear-sparse", row=sparse, **KERNEL),
    ridge("kernel-rbf", kernel="rbf", kernel_params={"gamma": 0.25}, **KERNEL),
    ridge("kernel-rbf-sparse", kernel="rbf", row=sparse, **KERNEL),
    ridge("kernel-poly", kernel="poly", kernel_params={"degree": 2}, **KERNEL),
    ridge("kernel-window", window=9, **KERNEL),
    ridge("kernel-budget", budget=3, **KERNEL),
    filtering("probabilistic-full",
              lambda: cf.ProbabilisticRidgeFilter(explore=0.3, seed=6)),
    filtering("probabilistic-diagonal",
              lambda: cf.ProbabilisticRidgeFilter(a=0.5, horizon=40, covariance="diagonal",
                                                  seed=7)),
    ridge("diagonal-calibrated", covariance="diagonal", calibrate=True, rule="dgs", width=0.3,
          floor=0.1),
    filtering("probabilistic-kernel-window",
              lambda: cf.ProbabilisticRidgeFilter(a=0.05, explore=0.9, window=7, seed=6,
                                                  kernel="rbf", **KERNEL), row=sparse),
    filtering("perceptron-filter", cf.PerceptronFilter),
    filtering("perceptron-filter-forwarded", lambda: cf.PerceptronFilter(feedback="forwarded")),
    filtering("apple-tasting-ridge",
              lambda: cf.AppleTasting(cf.RidgeFilter(feedback="full"), 0.3, seed=8)),
    filtering("apple-tasting-perceptron",
              lambda: cf.AppleTasting(cf.PerceptronFilter(), 0.3, seed=9)),
]


# --- coactive ---------------------------------------------------------------------------------

CATALOGUE = numbers((12, 6), 5)
TRUTH = np.array([3.0, -2.0, 1.0, 0.5, 0.0, -1.0])


def documents(t):
    return numbers((3 + t % 5, 6), 100 + t)


def candidates(t):
    return np.array([i for i in range(12) if (i + t) % 3])


def best_first(x, ordering):
    """The better one of the first two documents goes first."""
    a, b = int(ordering[0]), int(ordering[1])
    better = x @ TRUTH
    return [b, a, *ordering[2:]] if better[b] > better[a] else list(ordering)


def told_an_ordering(learner, t, ordering):
    x = documents(t)
    ordering = np.asarray(ordering, dtype=np.intp)
    learner.learn(x, ordering, best_first(x, ordering))


def told_an_item(learner, t, shown):
    left = candidates(t)
    learner.learn(left, int(shown), int(max(left, key=lambda i: CATALOGUE[i] @ TRUTH)))


def told_one_of_two(learner, t, pair):
    pair = np.asarray(pair, dtype=np.intp)
    learner.learn(candidates(t), pair, int(max(pair, key=lambda i: CATALOGUE[i] @ TRUTH)))


def coactive_weights(x, learner):
    found = {"rounds": learner.rounds, "weights": learner.weights,
             "average": learner.average_weights}
    if learner.rounds:
        found["scores"] = learner.scores(x)
    return found


def queries():
    features = [documents(t) for t in range(20)]
    relevance = [np.round(x @ TRUTH).astype(float) for x in features]
    offsets = np.cumsum([0, *map(len, features)])
    return cf.data.RankingData(np.concatenate(features), np.concatenate(relevance), offsets)


def run_of_rankings(learner, n):
    user = cf.users.AlphaInformative(0.8)
    history = cf.simulate(learner, queries(), user, order=np.arange(n) % 20, weights=TRUTH)
    return [history.regret, history.utility]


def run_of_items(learner, n):
    return [np.array([np.sum(item_round(learner, t)) for t in range(n)])]


def item_round(learner, t):
    shown = learner.present(candidates(t))
    (told_an_item if np.ndim(shown) == 0 else told_one_of_two)(learner, t, shown)
    return shown


def told_clicks(learner, t, shown):
    x, shown = documents(t), np.asarray(shown, dtype=np.intp)
    learner.learn_clicks(x, shown, [d for d in shown[:3].tolist() if x[d] @ TRUTH > 0.0])


def run_of_clicks(learner, n):
    data = queries()
    grades = np.clip(data.relevance, 0.0, 2.0)
    data = cf.data.RankingData(data.features, grades, data.offsets)
    history = cf.simulate(learner, data, cf.users.Clicks(seed=1), order=np.arange(n) % 20,
                          weights=TRUTH)
    return [history.regret, history.utility]


def ranking(name, make, tell=told_an_ordering, run=run_of_rankings, **marks):
    return Layout(f"{name}-ranking", lambda: make(cf.Ranking(k=3)),
                  lambda learner, t: learner.present(documents(t)), tell,
                  partial(coactive_weights, documents(3)), run, documents(3), **marks)


def items(name, make, tell=told_an_item, **marks):
    return Layout(f"{name}-items", lambda: make(cf.Items(CATALOGUE)),
                  lambda learner, t: learner.present(candidates(t)), tell,
                  partial(coactive_weights, candidates(0)), run_of_items, candidates(0), **marks)


def halving(state, delta):
    """A rule of one's own."""
    state.memory["seen"] = state.memory.get("seen", 0) + 1
    return 0.5 * state.weights + delta


RULES = {
    "preference": cf.PreferencePerceptron,
    "preference-batch": partial(cf.PreferencePerceptron, batch=4),
    "exponentiated": cf.ExponentiatedPreferencePerceptron,
    "exponentiated-unsigned": partial(cf.ExponentiatedPreferencePerceptron, signed=False,
                                      scale=2.0, horizon=50),
    "convex-preference": partial(cf.ConvexPreferencePerceptron, radius=1.0),
    "second-order": partial(cf.SecondOrderPreferencePerceptron, radius=0.5),
    "second-order-deferred": partial(cf.SecondOrderPreferencePerceptron, radius=0.5,
                                     projection="deferred"),
}
COACTIVE = [form(name, make) for name, make in RULES.items() for form in (ranking, items)]
COACTIVE += [
    ranking("dueling", partial(cf.DuelingBandit, step=0.1, seed=12)),
    items("dueling", partial(cf.DuelingBandit, step=0.1, seed=13), told_one_of_two),
    ranking("svm", cf.RankingSVM, solver=True),
    items("svm", cf.RankingSVM, solver=True),
    ranking("custom", partial(cf.CustomPreferencePerceptron, rule=halving), own=True),
    items("custom", partial(cf.CustomPreferencePerceptron, rule=halving), own=True),
    ranking("pairwise", partial(cf.PairwisePerceptron, seed=16), told_clicks, run_of_clicks),
    ranking("pdgd", partial(cf.PDGD, rate=0.5, seed=17), told_clicks, run_of_clicks),
]


# --- online convex optimisation ---------------------------------------------------------------

SLOPE = [0.5, -0.25, 0.125]


def value(t, x):
    """A convex loss that moves."""
    return math.fsum(s * float(a) + 0.25 * (float(a) - (t % 3) / 8.0) ** 2
                     for s, a in zip(SLOPE, x, strict=True))


def gradient(t, x):
    return [s + 0.5 * (float(a) - (t % 3) / 8.0) for s, a in zip(SLOPE, x, strict=True)]


def told_a_value(learner, t, x):
    learner.tell(value(t, x))


def told_two_values(learner, t, pair):
    learner.tell_pair(value(t, pair[0]), value(t, pair[1]))


def told_a_gradient(learner, t, x):
    learner.tell(gradient(t, x))


def center(learner):
    return {"rounds": learner.rounds, "center": learner.center}


def run_of_losses(learner, n):
    return [learner.run(cf.losses.Squared(numbers((7, 3), 8), numbers((7,), 9)), n).loss]


def convex(name, make, tell=told_a_value, **marks):
    act = type(make()).ask_pair if tell is told_two_values else type(make()).ask
    return Layout(name, make, lambda learner, t: act(learner), tell, center, run_of_losses, **marks)


class Disc(cf.FeasibleSet):
    """A set of one's own: the ball of radius 1 around a point."""

    def __init__(self, middle):
        self.middle = np.array(middle)

    def contains(self, x):
        return np.linalg.norm(x - self.middle) <= 1.0 + 1e-9

    def center(self, dimension):
        return self.middle

    def in_radius(self, dimension):
        return 1.0

    def diameter(self, dimension):
        return 2.0

    def project_in(self, z, Ainv):
        return self.middle + cf.Ball(1.0).project_in(z - self.middle, Ainv)


SETS = {"ball": cf.Ball(0.5), "box": cf.Box([0.0, -1.0, 0.5], 1.0), "simplex": cf.Simplex(),
        "l1": cf.L1Ball(1.0)}


def over(name, feasible, **marks):
    hand = {"delta": 0.3 * feasible.in_radius(3), "gamma": 0.3, "loss_bound": 50.0, "seed": 14}
    newton = partial(cf.ONSEG, 3, feasible, beta=0.2, epsilon=5.0, **hand)
    descent = partial(cf.OGDEG, 3, feasible, **hand)
    yield convex(f"onseg-{name}", newton, **marks)
    yield convex(f"ogdeg-{name}", descent, **marks)
    yield convex(f"ons-{name}", partial(cf.ONS, 3, feasible, 0.5, epsilon=2.0), told_a_gradient,
                 **marks)
    yield convex(f"ogd-{name}", partial(cf.OGD, 3, feasible, 2.0), told_a_gradient, **marks)
    if name == "ball":
        yield convex("onseg-baseline", partial(newton, baseline=True))
        yield convex("onseg-pair", newton, told_two_values)
        yield convex("ogdeg-pair", descent, told_two_values)


CONVEX = [layout for name, feasible in SETS.items() for layout in over(name, feasible)]
CONVEX += [
    convex("dikin", partial(cf.DikinFTRL, 3, eta=0.05, loss_bound=50.0, seed=15)),
    *over("own", Disc([1.0, 0.0, 2.0]), own=True),
]

# --- rewards ----------------------------------------------------------------------------------


def reward_of(row):
    return float(row.sum()) / 16.0 + 0.5


def regression(name, row=dense, **arguments):
    rows = scipy.sparse.csr_matrix(ROWS) if row is growing_row else ROWS

    def tell(learner, t, predicted):
        y = reward_of(dense(t))
        learner.learn(row(t), min(max(y, 0.0), 1.0), weight=1.0 if t % 3 else 0.5)

    def read(learner):
        return {"rounds": learner.rounds, "weights": learner.weights,
                "inverse": some_of(learner.inverse())}

    def run(learner, n):
        at = np.arange(n) % 64
        return [learner.run(rows[at], np.full(n, 0.25)).predictions]

    return Layout(f"online-ridge-{name}", lambda: cf.OnlineRidge(**arguments),
                  lambda learner, t: learner.predict(row(t).reshape(1, -1)), tell, read, run,
                  PROBES)


def linear(name, contexts=None, row=dense, **arguments):
    """Every fourth decision waits, and is told of later or dropped."""
    words = {} if contexts is None else {"context": contexts}

    def offered(t):
        rows = np.array([dense(t), dense(t + 1), dense(t + 5)])
        return scipy.sparse.csr_matrix(rows[:, : 2 + min(t, D - 2)]) if row is growing_row else rows

    def act(learner, t):
        return learner.decide(offered(t), **words) if t % 4 == 0 else (-1, learner.choose(
            offered(t), **words), 1.0)

    def tell(learner, t, decision):
        action = int(decision[1])
        if t % 4 == 0 and t % 8:
            learner.reward(int(decision[0]), reward_of(dense(t + action)))
        elif t % 4:
            learner.learn(offered(t)[action], reward_of(dense(t + action)), weight=0.5, **words)

    def read(learner):
        return {"rounds": learner.rounds, "weights": learner.weights, "pending": learner.pending,
                "inverse": some_of(learner.inverse())}

    def run(learner, n):
        table = cf.RewardTable(np.array([ROWS[:3]] * 4), ROWS[:4, :3] / 2.0,
                               context=None if contexts is None else np.array([contexts] * 4))
        history = cf.simulate_bandit(learner, table, rounds=n)
        return [history.choice, history.reward]

    return Layout(f"linear-bandit-{name}", lambda: cf.LinearBandit(max_pending=3, **arguments),
                  act, tell, read, run, PROBES)


def arms(name, **arguments):
    def tell(learner, t, arm):
        learner.learn(dense(t), int(arm), reward_of(dense(t)) * (1.0 + int(arm)))

    def read(learner):
        return {"rounds": learner.rounds, "weights": learner.weights,
                "inverses": [some_of(learner.inverse(i)) for i in range(learner.n_arms)]}

    def run(learner, n):
        history = cf.simulate_bandit(learner, (ROWS, ROWS[:, :learner.n_arms] / 4.0), rounds=n)
        return [history.choice, history.reward]

    return Layout(f"arm-bandit-{name}", lambda: cf.ArmBandit(2, **arguments),
                  lambda learner, t: learner.choose(dense(t)), tell, read, run, PROBES)


REWARDS = [
    regression("full", link="logistic", forget=0.9),
    regression("diagonal-growing", growing_row, covariance="diagonal", max_features=40),
    linear("context", np.array([0.5, -1.0]), context_features=2, width="theory", noise=0.5,
           seed=23),
    linear("diagonal-growing", row=growing_row, covariance="diagonal", explore="thompson",
           max_features=40, forget=0.9, seed=21),
    arms("full", explore="squarecb", floor=0.25, seed=22),
]

LEARNERS = [*MULTICLASS, *FILTERING, *COACTIVE, *CONVEX, *REWARDS]


# --- metrics ----------------------------------------------------------------------------------


def metric_readings(learner):
    found = {"updates": learner.updates, "logdet": learner.logdet,
             "inverse": some_of(learner.inverse()), "matrix": some_of(learner.matrix()),
             "quads": [learner.quad(x) for x in PROBES],
             "solved": [learner.solve(x) for x in PROBES]}
    if isinstance(learner, cf.metric.Dual):
        found["length"] = len(learner)
        found["approximation_error"] = learner.approximation_error
    return found


def metric(name, make, row=dense):
    def run(learner, n):
        return [np.array([learner.update(row(t), c=0.5) for t in range(n)])]

    return Layout(f"metric-{name}", make, lambda learner, t: learner.quad(row(t)),
                  lambda learner, t, q: learner.update(row(t), c=0.5), metric_readings, run, PROBES)


METRICS = [
    metric("full", partial(cf.metric.Full, D, ridge=0.5)),
    metric("full-robust", partial(cf.metric.Full, D, precision="robust")),
    metric("diagonal", partial(cf.metric.Diagonal, D, ridge=0.5)),
    metric("diagonal-sparse", partial(cf.metric.Diagonal, D), sparse),
    metric("dual", cf.metric.Dual),
    metric("dual-sparse", cf.metric.Dual, sparse),
    metric("dual-rbf", partial(cf.metric.Dual, kernel="rbf", kernel_params={"gamma": 0.25})),
    metric("dual-poly-sparse", partial(cf.metric.Dual, kernel="poly"), sparse),
    metric("dual-window", partial(cf.metric.Dual, window=9)),
    metric("dual-window-sparse", partial(cf.metric.Dual, window=9), sparse),
    metric("dual-budget", partial(cf.metric.Dual, kernel="rbf", budget=5)),
    metric("dual-budget-sparse", partial(cf.metric.Dual, kernel="rbf", budget=5), sparse),
]

ALL = [*LEARNERS, *METRICS]
BY_NAME = {layout.name: layout for layout in ALL}
assert len(BY_NAME) == len(ALL)


def taught(layout, rounds, learner=None, first=0):
    """A learner after so many rounds."""
    learner = layout.make() if learner is None else learner
    for t in range(first, first + rounds):
        layout.play(learner, t)
    return learner
