"""The theorems of "Coactive Learning" (2015) about runs: 1, 5, 6, 8, Lemma 4, and Lemma 3.

Every round has a context of its own: documents with new features, of which one is presented (k =
1, so that phi is a row and R its length). Bounds are cumulative, T times those of the paper.
"""

import functools

import numpy as np

import coactive_fast as cf
from coactive_fast.data import RankingData

from . import _judge, _plan, _theorems
from ._plan import Curve, Experiment, Outcome, Plot, claim, repeated
from ._theorems import Case

RADIUS = 1.0  # of the ball that w stays in, and the length of w*
LENGTH = 1.0  # R: of every row
DOCUMENTS, FEATURES = 10, 8
WIDE = 100.0  # of the ball and of w*, where Theorem 6 as printed meets Lemma 3
EDGE = 1e-6


# --- the bounds ---------------------------------------------------------------------------------


def rounds_of(slack):
    return np.arange(1, len(slack) + 1)


def perceptron_bound(slack, alpha, R, norm, batch=1):
    """Theorem 1, and Lemma 4 for batches; slacks with their sign."""
    root = np.sqrt(batch * rounds_of(slack))
    return np.cumsum(slack) / alpha + 2.0 * R * norm * root / alpha


def exponentiated_bound(slack, alpha, S, n_weights):
    """Theorem 5 for the rate 1 / (2 S sqrt(T)), T the number of slacks, and a w* of 1-norm 1.

    After any round, not only the last: KL / rate + rate (2 S)^2 t. The entries of a difference of
    features are up to 2 S where those of the features are up to S; the paper has S in its place,
    and so S / 2 for the second 2 S.
    """
    T = len(slack)
    return (np.cumsum(slack) + 2.0 * S * np.sqrt(T) * np.log(n_weights)
            + 2.0 * S * rounds_of(slack) / np.sqrt(T)) / alpha


def convex_bound(slack, alpha, R, G, diameter):
    """Theorem 6; slacks clipped at 0. Its proof bounds |w_1 - w*|^2: the diameter is squared."""
    root = np.sqrt(rounds_of(slack))
    return (2.0 * G * np.cumsum(slack) + G * (0.5 * diameter**2 * root + 4.0 * R**2 * root)) / alpha


def convex_bound_printed(T, alpha, R, G, diameter):
    """Theorem 6 as printed, without slacks."""
    return G / alpha * (0.5 * diameter * np.sqrt(T) + diameter + 4.0 * R**2 * np.sqrt(T))


def second_order_bound(slack, alpha, R, G, strong, diameter, n_features, epsilon=1.0):
    """Theorem 8 for losses that are `strong`ly convex; slacks clipped at 0, gamma = strong / G.

    With the diameter squared over 2, and strong in the place of gamma before the squared slacks.
    """
    gamma = strong / G
    return (strong * np.cumsum(slack**2) / (2.0 * alpha**2)
            + (2.0 * G * np.cumsum(slack) + 0.5 * G * epsilon * diameter**2) / alpha
            + G * n_features / (2.0 * gamma * alpha)
            * np.log(4.0 * R**2 * rounds_of(slack) * gamma / epsilon + 1.0))


# --- the streams --------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def stream(rounds, seed, run):
    """Rounds with rows of length 1, grades with noise, and a w* of length 1."""
    rng = np.random.default_rng([seed, run])
    X = rng.standard_normal((rounds * DOCUMENTS, FEATURES))
    X *= LENGTH / np.linalg.norm(X, axis=1, keepdims=True)
    weights = rng.standard_normal(FEATURES)
    weights *= RADIUS / np.linalg.norm(weights)
    grades = np.clip(np.rint(2.0 + 2.0 * (X @ weights) + rng.standard_normal(len(X))), 0.0, 4.0)
    return RankingData(X, grades, np.arange(rounds + 1) * DOCUMENTS), weights


def sparse_stream(rounds, n_features, seed, run):
    """Rounds with features in [-1, 1], and a w* of three entries whose sizes sum to 1."""
    rng = np.random.default_rng([seed, run, n_features, rounds])
    X = rng.uniform(-1.0, 1.0, (rounds * DOCUMENTS, n_features))
    weights = np.zeros(n_features)
    weights[rng.permutation(n_features)[:3]] = rng.choice([-1.0, 1.0], 3) / 3.0
    return RankingData(X, np.zeros(len(X)), np.arange(rounds + 1) * DOCUMENTS), weights


def played(stream, learner, user, seed):
    """The history of a run, and what a document drawn at random costs a round: U(y*) less the mean
    of all utilities."""
    data, weights = stream
    history = cf.simulate(learner, data, user, weights=weights, seed=seed)
    return history, float(history.optimal_utility.mean() - np.mean(data.features @ weights))


# --- Theorem 1, its expected form, and Lemma 4 ----------------------------------------------------

STRICT = (("α = 1", 1.0, 1), ("α = 0.5", 0.5, 1), ("α = 0.1", 0.1, 1))
BATCHES = (("batches of 10", 0.5, 10), ("batches of 100", 0.5, 100))


def linear_run(sets, rounds, seed, run):
    """Strict users and batches, then grades with noise, then the user who is right on average."""
    settings = [(cf.users.AlphaInformative(alpha), alpha, batch)
                for _, alpha, batch in STRICT + BATCHES]
    settings += [(cf.users.NoisyDepth(depth=DOCUMENTS), 0.5, 1),
                 (cf.users.ExpectedAlphaInformative(0.5), 0.5, 1)]
    found = []
    for user, alpha, batch in settings:
        learner = cf.PreferencePerceptron(cf.Ranking(k=1), batch=batch)
        history, idle = played(stream(rounds, seed, run), learner, user, [seed, run, 1])
        slack = history.slack(alpha, clip=False)
        if isinstance(user, cf.users.ExpectedAlphaInformative):
            slack = np.zeros(rounds)  # on average there is none: that is what this user keeps to
        found.append(_theorems.told(
            history.regret, perceptron_bound(slack, alpha, LENGTH, RADIUS, batch), idle))
    return _plan.stacked(found)


def linear(setting):
    rounds = setting["rounds"]
    found = yield from repeated(linear_run, {"all": {"rounds": rounds}}, setting["runs"],
                                seed=setting.seed)
    labels = [label for label, *_ in STRICT + BATCHES] + ["noisy grades", "right on average"]
    *cases, noisy, expected = everything = _theorems.cases(labels, rounds, found["all"])
    strict, batches = cases[:len(STRICT)], cases[len(STRICT):]
    return Outcome(
        plots=[_theorems.plot("perceptron", "Preference Perceptron and Theorem 1",
                              [*strict, noisy, expected], story=True),
               _theorems.plot("batches", "Batches and Lemma 4", [strict[1], *batches])],
        tables=[_theorems.table("bounds", f"{setting['runs']} runs a setting", everything)],
        findings=[
            _theorems.under("Theorem 1", [*strict, noisy], "perceptron", about="under-perceptron"),
            _theorems.slower("Theorem 1", strict, "perceptron", about="slower-perceptron"),
            _theorems.under("Corollary 2", [expected], "perceptron", kind="mean"),
            _theorems.under("Lemma 4", batches, "batches"),
            _theorems.slower("Lemma 4", batches, "batches")])


# --- Theorem 5 ------------------------------------------------------------------------------------


def exponentiated_run(sets, rounds, n_features, alpha, seed, run):
    learner = cf.ExponentiatedPreferencePerceptron(cf.Ranking(k=1), scale=1.0, horizon=rounds)
    history, idle = played(sparse_stream(rounds, n_features, seed, run), learner,
                           cf.users.AlphaInformative(alpha), [seed, run, 1])
    slack = history.slack(alpha, clip=False)
    return _theorems.told(history.regret, exponentiated_bound(slack, alpha, 1.0, 2 * n_features),
                          idle)


def exponentiated(setting):
    lengths, runs = setting["lengths"], setting["runs"]
    cases = Case.of_lengths((yield from repeated(
        exponentiated_run, {(f"{n} features, α = {alpha:g}", length): {
            "rounds": length, "n_features": n, "alpha": alpha}
            for n in setting["features"] for alpha in (1.0, 0.5) for length in lengths},
        runs, seed=setting.seed)))
    return Outcome(
        plots=[_theorems.plot("exponentiated", "Exponentiated weights and Theorem 5", cases)],
        tables=[_theorems.table("bounds", f"{runs} runs a length, each with its own rate", cases)],
        findings=[
            _theorems.under("Theorem 5", cases, "exponentiated", about="under-exponentiated"),
            _theorems.slower("Theorem 5", cases, "exponentiated")])


# --- Theorems 6 and 8 -----------------------------------------------------------------------------

MOST = 2.0 * LENGTH * RADIUS  # that utilities can differ by


def quadratic(theta, top):
    """(theta - top)^2 less its value at 0."""
    return theta * (theta - 2.0 * top)


LOSSES = (  # label, c(theta) - c(0) for theta <= 0, G
    ("linear", lambda theta: -theta, 1.0),
    ("logistic", lambda theta: np.logaddexp(0.0, -theta) - np.log(2.0), 1.0),
    ("quadratic", lambda theta: quadratic(theta, MOST), 4.0 * MOST),
)


def convex_run(sets, rounds, seed, run):
    """Three losses, which the learner does not know of; these with noise; then second order."""
    found = []
    for user in (cf.users.AlphaInformative(0.5), cf.users.NoisyDepth(depth=DOCUMENTS)):
        learner = cf.ConvexPreferencePerceptron(cf.Ranking(k=1), radius=RADIUS)
        history, idle = played(stream(rounds, seed, run), learner, user, [seed, run, 1])
        found += [_theorems.told(
            loss(-history.regret),
            convex_bound(history.slack(0.5), 0.5, LENGTH, G, 2.0 * RADIUS), float(loss(-idle)))
            for _, loss, G in LOSSES]
    for alpha in (1.0, 0.5):
        # how far the proof of Theorem 8 goes from theta = 0 to both sides: c is convex there
        top = MOST / alpha
        G, strong = 4.0 * top, 2.0  # of (theta - top)^2 on [-top, top]
        learner = cf.SecondOrderPreferencePerceptron(cf.Ranking(k=1), radius=RADIUS,
                                                     gamma=strong / G, epsilon=1.0)
        history, idle = played(stream(rounds, seed, run), learner,
                               cf.users.AlphaInformative(alpha), [seed, run, 1])
        bound = second_order_bound(history.slack(alpha), alpha, LENGTH, G, strong, 2.0 * RADIUS,
                                   FEATURES)
        found.append(_theorems.told(quadratic(-history.regret, top), bound,
                                    float(quadratic(-idle, top))))
    return _plan.stacked(found)


def convex(setting):
    rounds, runs = setting["rounds"], setting["runs"]
    found = yield from repeated(convex_run, {"all": {"rounds": rounds}}, runs, seed=setting.seed)
    losses = [label for label, *_ in LOSSES]
    labels = [*losses, *(f"{label}, noise" for label in losses),
              "quadratic, α = 1", "quadratic, α = 0.5"]
    everything = _theorems.cases(labels, rounds, found["all"])
    strict, first, second = everything[:len(losses)], everything[:-2], everything[-2:]
    return Outcome(
        plots=[_theorems.plot("convex", "Convex losses and Theorem 6", [*strict, first[-1]]),
               _theorems.plot("second-order", "Second order and Theorem 8", second)],
        tables=[_theorems.table("bounds", f"{runs} runs a setting; α = 0.5 unless said",
                                everything)],
        findings=[
            _theorems.under("Theorem 6", first, "convex", about="under-convex"),
            _theorems.slower("Theorem 6", strict, "convex"),
            _theorems.under("Theorem 8", second, "second-order", about="under-second-order"),
            _theorems.logarithmic("Theorem 8", second, "second-order")])


# --- Lemma 3 --------------------------------------------------------------------------------------

ANY = {
    "perceptron": lambda T, seed: cf.PreferencePerceptron(cf.Ranking(k=1)),
    "exponentiated": lambda T, seed: cf.ExponentiatedPreferencePerceptron(
        cf.Ranking(k=1), horizon=T),
    "convex": lambda T, seed: cf.ConvexPreferencePerceptron(cf.Ranking(k=1), radius=WIDE),
    "second order": lambda T, seed: cf.SecondOrderPreferencePerceptron(
        cf.Ranking(k=1), radius=1.0, gamma=0.25),
    "dueling bandit": lambda T, seed: cf.DuelingBandit(cf.Ranking(k=1), seed=seed),
}


def adversary_run(sets, learner, rounds, seed):
    """The sequence of Lemma 3, with calls one by one: the user turns down what is presented.

    The contexts are unit vectors that were never seen, the objects are +1 and -1 times it. w* is
    made of the answers afterwards, has length 1, and calls the user right in every round.
    """
    rng = np.random.default_rng([seed, rounds])
    model = ANY[learner](rounds, [seed, rounds, 1])
    x, presented = np.zeros((2, rounds)), []
    for t, sign in enumerate(rng.choice([-1.0, 1.0], rounds)):
        x[:, t] = sign, -sign
        y = int(model.present(x)[0])
        model.learn(x, [y, 1 - y], [1 - y, y])
        presented.append(x[y, t])
        x[:, t] = 0.0
    weights = -np.array(presented) / np.sqrt(rounds)
    utility = weights * presented
    return {"regret": np.sum(np.abs(weights) - utility), "norm": np.linalg.norm(weights)}


def adversary(setting):
    lengths = setting["lengths"]
    found = yield from _plan.grouped({
        learner: [_plan.Task(adversary_run, {"learner": learner, "rounds": T, "seed": setting.seed})
                  for T in lengths] for learner in ANY})
    T = np.array(lengths, dtype=float)
    regret = {learner: _plan.stacked(runs)["regret"] for learner, runs in found.items()}
    upper = 2.0 * LENGTH * np.sqrt(T)  # Theorem 1, |w*| = alpha = 1
    printed = convex_bound_printed(T, 1.0, LENGTH, 1.0, 2.0 * WIDE)
    whole = np.array([convex_bound(np.zeros(n), 1.0, LENGTH, 1.0, 2.0 * WIDE)[-1] for n in lengths])
    wide = WIDE * regret["convex"]

    rounds = np.array(lengths)
    cases = [Case(label, rounds, values[None], bound[None], np.array([np.max(values / bound)]))
             for label, values, bound in (
                 *((learner, values, upper) for learner, values in regret.items()),
                 ("Theorem 6 with the squared diameter", wide, whole),
                 ("Theorem 6 as printed", wide, printed))]
    return Outcome(
        plots=[_theorems.plot("lemma-3", "Lemma 3's sequence: the regret is Theorem 1's bound",
                              cases[:1]),
               Plot("theorem-6", f"Lemma 3's sequence and Theorem 6, |w*| = {WIDE:g}", "round",
                    "cumulative regret",
                    [Curve(label, rounds, values) for label, values in (
                        ("regret", wide), ("bound as printed", printed),
                        ("bound with the squared diameter", whole))], log="xy")],
        tables=[_theorems.table("bounds", "One run each: nothing is left to chance", cases)],
        findings=[*lower(regret, T, upper), *as_printed(wide, printed, whole)])


def lower(regret, T, upper):
    least = {name: float(np.min(values / np.sqrt(T))) for name, values in regret.items()}
    yield claim("lemma-3-root", _judge.every(value >= 1.0 for value in least.values()),
                least=_judge.listed(least, "{} {:.4g}"))
    met = regret["perceptron"] / upper
    yield claim("lemma-3-constant", bool(np.all(np.abs(met - 1.0) < EDGE)), least=met.min(),
                most=met.max(), edge=EDGE)


def as_printed(wide, printed, whole):
    over = wide / printed
    yield claim("theorem-6-printed", bool(np.all(over <= 1.0)), last=over[-1], wide=WIDE)
    yield claim("theorem-6-squared", bool(np.all(wide <= whole)), most=np.max(wide / whole))


EXPERIMENTS = [
    Experiment("coactive-theorem-1", "The Preference Perceptron's regret and its bounds",
               "coactive", "theorem 1, corollary 2, lemma 4", "generated", linear,
               quick={"rounds": 10000, "runs": 8}, full={"rounds": 100000, "runs": 20},
               cost=(1, 7)),
    Experiment("coactive-theorem-5", "Exponentiated weights: regret and bound", "coactive",
               "theorem 5", "generated", exponentiated,
               quick={"lengths": [100, 1000, 10000], "runs": 6, "features": [10, 40]},
               full={"lengths": [100, 1000, 10000, 100000], "runs": 20, "features": [10, 40]},
               cost=(1, 15)),
    Experiment("coactive-theorems-6-8", "Convex losses: regret and bounds, first and second order",
               "coactive", "theorems 6 and 8", "generated", convex,
               quick={"rounds": 10000, "runs": 8}, full={"rounds": 100000, "runs": 20},
               cost=(1, 6)),
    Experiment("coactive-lemma-3", "The sequence on which nobody does better", "coactive",
               "lemma 3", "generated", adversary, quick={"lengths": [10, 100, 300]},
               full={"lengths": [10, 100, 1000]}, cost=(1, 1)),
]
