"""Learning rankings from clicks: golden vectors, laws, twin and compiled code alike."""

import copy
import warnings
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from coactive_cases import golden, load, modules

import coactive_fast as cf
from coactive_fast import reference

DRAWS = 20_000
FAR = 5.0  # standard deviations: 1 in 10^6 for each of some hundred shares


def cases_of(kind):
    """The golden cases of one kind, by their names."""
    return {name: case for name, case in load("clicks").items() if name.startswith(kind)}


def pend(learner, **parts):
    """Makes a presentation pending that was not drawn."""
    if isinstance(learner, reference.coactive_learner.DrawingLearner):
        first = parts["scores"] if "scores" in parts else parts["start"]
        learner._pending = first, parts["presented"]
    else:
        learner._engine._restore(learner._engine._state() | {"pending": parts})


def with_weights(learner, weights):
    learner.update(weights)
    return learner


def pdgd_of(module, case):
    learner = module.PDGD(module.Ranking(k=int(case["k"])), rate=float(case["rate"]))
    with_weights(learner, case["weights"])
    pend(learner, presented=case["ranking"], scores=learner.scores(case["features"]))
    return learner


@golden
@modules
def test_pdgd_takes_the_golden_steps(module):
    for name, case in cases_of("pdgd").items():
        learner = pdgd_of(module, case)
        learner.learn_clicks(case["features"], case["shown"], case["clicked"])
        near = 1e-8 * np.abs(case["delta"]).max() + 1e-15 * np.abs(case["weights"]).max()
        step = learner.weights - case["weights"]
        assert np.abs(step - case["delta"]).max() <= near, name


@golden
def test_pdgd_takes_the_golden_steps_to_their_last_digits():
    """Where the weights that scored are large the difference hides the step: scores alone."""
    for name, case in cases_of("pdgd").items():
        learner = cf.PDGD(cf.Ranking(k=int(case["k"])), rate=float(case["rate"]))
        learner.update(np.zeros(4))
        scores = reference.Ranking().scores(case["weights"], case["features"])
        pend(learner, presented=case["ranking"], scores=scores)
        learner.learn_clicks(case["features"], case["shown"], case["clicked"])
        near = 1e-8 * np.abs(case["delta"]).max()
        assert np.abs(learner.weights - case["delta"]).max() <= near, name


@golden
def test_the_twins_parts_are_the_golden_ones():
    from coactive_fast.reference import coactive_clicks as twin

    for name, case in cases_of("pdgd").items():
        scores, k = reference.Ranking().scores(case["weights"], case["features"]), int(case["k"])
        pairs = twin.preferences(case["shown"].tolist(), set(case["clicked"].tolist()))
        expected = dict(zip(map(tuple, case["pairs"].tolist()), case["rho"], strict=True))
        assert set(pairs) == set(expected), name
        for pair in pairs:
            rho = twin.fairness(scores, case["ranking"], k, *pair)
            assert rho == pytest.approx(expected[pair], rel=1e-9), name
        found = twin.log_probability(scores, case["ranking"], k)
        assert found == pytest.approx(float(case["log_probability"]), rel=1e-9), name
    for name, case in cases_of("pairs").items():
        shown, clicked = case["shown"].tolist(), case["clicked"].tolist()
        feedback = twin.swapped_by_clicks(shown, clicked, int(case["start"]))
        assert feedback == case["feedback"].tolist(), name


@golden
@modules
def test_pair_swaps_take_the_golden_steps(module):
    for name, case in cases_of("pairs").items():
        learner = module.PairwisePerceptron(module.Ranking(k=int(case["k"])))
        with_weights(learner, np.zeros(3))
        pend(learner, presented=case["shown"], start=int(case["start"]))
        learner.learn_clicks(case["features"], case["shown"], case["clicked"])
        assert learner.weights == pytest.approx(case["delta"], rel=1e-8, abs=1e-15), name


# --- what is drawn ------------------------------------------------------------------------------


def compare_shares(drawn, outcomes, probability):
    """Each outcome is drawn as often as its probability says, and no other one."""
    counts = Counter(map(tuple, drawn))
    expected = dict(zip(map(tuple, outcomes), probability, strict=True))
    assert set(counts) <= set(expected)
    for outcome, p in expected.items():
        spread = np.sqrt(DRAWS * p * (1.0 - p))
        assert abs(counts[outcome] - DRAWS * p) <= FAR * spread + 1e-9, (outcome, p)


@golden
@pytest.mark.parametrize("i", range(4))
def test_pdgd_presents_with_the_golden_probabilities(i):
    case = load("clicks")[f"presentation{i}"]
    learner = cf.PDGD(cf.Ranking(k=int(case["k"])), seed=i)
    learner.update([1.0])
    x = case["scores"][:, None]
    compare_shares([learner.present(x).tolist() for _ in range(DRAWS)], case["rankings"].tolist(),
                   case["probability"])


@golden
@pytest.mark.parametrize("i", range(3))
def test_pair_swaps_present_with_the_golden_probabilities(i):
    case = load("clicks")[f"swaps{i}"]
    learner = cf.PairwisePerceptron(cf.Ranking(), swap=float(case["swap"]), seed=i)
    x = np.zeros((case["shown"].shape[1], 1))
    compare_shares([learner.present(x).tolist() for _ in range(DRAWS)], case["shown"].tolist(),
                   case["probability"])


@golden
@pytest.mark.parametrize("i", range(5))
def test_users_click_with_the_golden_probabilities(i):
    case = load("clicks")[f"user{i}"]
    user = cf.users.Clicks(str(case["model"]), click=case["click"], stop=case["stop"],
                           eta=float(case["eta"]), seed=i)
    n = len(case["grades"])
    query, places = SimpleNamespace(features=np.zeros((n, 1)), relevance=case["grades"]), range(n)
    drawn = [np.isin(places, user.clicks(query, list(places))).astype(int).tolist()
             for _ in range(DRAWS)]
    compare_shares(drawn, case["clicked"].tolist(), case["probability"])


# --- twin and compiled code ---------------------------------------------------------------------

LEARNERS = {
    "pdgd": lambda module, k, seed: module.PDGD(module.Ranking(k=k), rate=0.5, seed=seed),
    "pairs": lambda module, k, seed: module.PairwisePerceptron(module.Ranking(k=k), seed=seed),
    "dueling": lambda module, k, seed: module.DuelingBandit(module.Ranking(k=k), step=0.3,
                                                            seed=seed),
}
each = pytest.mark.parametrize("name", LEARNERS)


def query_of(rng, most=12, features=4):
    x = rng.standard_normal((rng.integers(1, most + 1), features))
    x[rng.random(len(x)) < 0.2] = x[0]  # equal documents
    return SimpleNamespace(features=x, relevance=rng.integers(0, 3, len(x)).astype(float))


@each
@pytest.mark.parametrize("k", [1, 3, 20])
def test_twin_and_compiled_code_agree(name, k):
    rng = np.random.default_rng(k)
    ours, twin = (LEARNERS[name](module, k, 5) for module in (cf, reference))
    for t in range(60):
        query = query_of(rng)
        x, n = query.features, len(query.relevance)
        shown = ours.present(x)
        assert shown.tolist() == twin.present(x).tolist()
        m = n if t % 2 else int(rng.integers(1, n + 1))
        clicked = [d for d in shown[:m].tolist() if rng.random() < 0.4]
        rng.shuffle(clicked)
        ours.learn_clicks(x, shown[:m], clicked)
        twin.learn_clicks(x, shown[:m], set(clicked))
        assert ours.weights == pytest.approx(twin.weights, rel=1e-10, abs=1e-12)
        assert ours.average_weights == pytest.approx(twin.average_weights, rel=1e-10, abs=1e-12)
        average = ours.present(x, average=True).tolist()
        assert average == twin.present(x, average=True).tolist()
    assert ours.rounds == twin.rounds == 60


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e3, 1e300])
def test_pdgd_is_finite_whatever_the_scores_are(scale):
    rng = np.random.default_rng(0)
    learner = cf.PDGD(cf.Ranking(k=5), seed=1)
    learner.update([scale])
    for _ in range(20):
        x = rng.standard_normal((9, 1))
        shown = learner.present(x)
        learner.learn_clicks(x, shown, shown[[1, 3]])
        assert np.isfinite(learner.weights).all()


def test_pdgd_learns_the_order_of_relevance():
    rng = np.random.default_rng(3)
    learner, user = cf.PDGD(cf.Ranking(k=5), seed=3), cf.users.Clicks("perfect", seed=3)
    for _ in range(400):
        x = rng.standard_normal((10, 3))
        query = SimpleNamespace(features=x, relevance=np.clip(np.round(x[:, 0] + 1.0), 0, 2))
        shown = learner.present(x, k=5)
        learner.learn_clicks(x, shown, user.clicks(query, shown))
    w = learner.weights
    assert w[0] > 4.0 * max(abs(w[1]), abs(w[2]))


# --- what is pending ----------------------------------------------------------------------------


@each
@modules
def test_clicks_need_the_pending_presentation(name, module):
    x = np.eye(4)
    learner = LEARNERS[name](module, 2, 0)
    with pytest.raises(ValueError, match="shown"):
        learner.learn_clicks(x, [0, 1, 2, 3], [0])
    shown = learner.present(x)
    for wrong in (shown[::-1], shown[1:], shown[:0], [0, 0, 1, 2], [9]):
        with pytest.raises(ValueError):
            learner.learn_clicks(x, wrong, [])
    for clicked in ([4], [-1], shown[3:4], [0.5]):
        with pytest.raises((ValueError, TypeError)):
            learner.learn_clicks(x, shown[:3], clicked)
    for features in (np.eye(3), np.ones((4, 5)), np.full((4, 4), np.nan)):
        with pytest.raises(ValueError):
            learner.learn_clicks(features, shown, [])
    assert learner.rounds == 0
    learner.present(x, average=True)  # what was refused, and a plain ranking, ended nothing
    learner.learn_clicks(x, shown[:3], {int(shown[1])})
    assert learner.rounds == 1
    with pytest.raises(ValueError, match="shown"):
        learner.learn_clicks(x, shown, [])
    learner.present(x)
    learner.reset()
    with pytest.raises(ValueError, match="shown"):
        learner.learn_clicks(x, shown, [])


@each
def test_what_is_pending_is_saved_and_copied(name, tmp_path):
    rng = np.random.default_rng(0)
    learner = LEARNERS[name](cf, 3, 7)
    for _ in range(6):
        x = rng.standard_normal((8, 4))
        shown = learner.present(x)
        path = tmp_path / "model.cf"
        learner.save(path)
        others = [copy.deepcopy(learner), cf.load(path)]
        learner.learn_clicks(x, shown, shown[1:3])
        for other in others:
            other.learn_clicks(x, shown, shown[1:3])
            assert other.weights.tobytes() == learner.weights.tobytes()
            assert other.present(x).tolist() == copy.deepcopy(learner).present(x).tolist()


@pytest.mark.parametrize("name", ["pdgd", "pairs"])
def test_a_presentation_that_lies_is_refused(name):
    x = np.random.default_rng(0).standard_normal((5, 2))
    learner = LEARNERS[name](cf, 2, 0)
    learner.update([1.0, 2.0])
    learner.present(x)
    state = learner._engine._state()
    scores = learner.scores(x)
    wrong = {"presented": [np.zeros(5, int), np.arange(1, 6), None, np.zeros(0, int)],
             "scores": [scores[:4], np.full(5, np.nan), -scores, None], "start": [2, -1, 0.5]}
    for part, values in wrong.items():
        if part not in state["pending"]:
            continue
        for value in values:
            lying = state | {"pending": state["pending"] | {part: value}}
            with pytest.raises((ValueError, TypeError)):
                learner._engine._restore(lying)


def test_pair_swaps_draw_the_same_whatever_is_shown():
    x = np.random.default_rng(0).standard_normal((9, 2))
    one, two = (cf.PairwisePerceptron(cf.Ranking(k=3), seed=4) for _ in range(2))
    for _ in range(5):
        assert one.present(x)[:3].tolist() == two.present(x, k=3).tolist()


# --- clicks and learners that believe them ------------------------------------------------------


def perceptrons(module):
    task = module.Ranking(k=2)
    yield module.PreferencePerceptron(task)
    yield module.PreferencePerceptron(task, kernel="linear")
    yield module.ExponentiatedPreferencePerceptron(task)
    yield module.ConvexPreferencePerceptron(task)
    yield module.SecondOrderPreferencePerceptron(task)
    yield module.CustomPreferencePerceptron(task, lambda state, delta: state.weights + delta)


@modules
def test_perceptrons_warn_once_of_raw_clicks(module):
    x = np.eye(3)
    for learner in perceptrons(module):
        other = copy.deepcopy(learner)
        with pytest.warns(UserWarning, match="PDGD"):
            learner.learn_clicks(x, [0, 1, 2], [2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            learner.learn_clicks(x, [0, 1, 2], [])
        other.learn(x, [0, 1, 2], [2, 0, 1])
        other.learn(x, [0, 1, 2], [0, 1, 2])
        assert learner.rounds == 2
        assert learner.scores(x).tobytes() == other.scores(x).tobytes()


@modules
def test_clicks_are_for_rankings(module):
    task = module.Items(np.eye(3))
    for learner in (module.PreferencePerceptron(task), module.DuelingBandit(task, seed=0)):
        with pytest.raises(TypeError, match="rankings"):
            learner.learn_clicks(np.eye(3), [0], [0])
    for kind in (module.PDGD, module.PairwisePerceptron):
        with pytest.raises(TypeError, match="Ranking"):
            kind(task)


@modules
def test_feedback_that_ends_early_is_refused(module):
    x = np.eye(4)
    for learner in [*perceptrons(module), module.PairwisePerceptron(module.Ranking(k=2))]:
        for y, better in (([0, 1, 2, 3], [3]), ([0, 1], [3]), ([0, 1, 2, 3], [])):
            with pytest.raises(ValueError, match="better"):
                learner.learn(x, y, better)
        assert learner.rounds == 0
        learner.learn(x, [0], [3])  # of what was shown no less counts
        learner.learn(x, [0, 1, 2], [3, 0])
    learner = module.DuelingBandit(module.Ranking(k=2), seed=0)
    y = learner.present(x)
    with pytest.raises(ValueError, match="better"):
        learner.learn(x, y, y[:1])
    learner.learn(x, y, y[:2])


@modules
def test_a_dueling_bandit_does_not_move_without_clicks(module):
    learner = module.DuelingBandit(module.Ranking(k=5), seed=0)
    x = np.random.default_rng(0).standard_normal((9, 3))
    for _ in range(50):
        shown = learner.present(x, k=5)
        learner.learn_clicks(x, shown, [])
        assert not learner.weights.any()


@modules
def test_pdgd_takes_clicks_alone(module):
    with pytest.raises(TypeError, match="learn_clicks"):
        module.PDGD(module.Ranking()).learn(np.eye(2), [0, 1], [1, 0])


@modules
def test_the_average_ranks_where_it_is_asked_for(module):
    x = np.eye(2)
    learner = module.PreferencePerceptron(module.Ranking())
    assert learner.present(x, average=True).tolist() == [0, 1]
    learner.update([3.0, 0.0])
    learner.update([0.0, 4.0])
    assert learner.scores(x, average=True).tolist() == [3.0, 2.0]
    assert learner.present(x).tolist() == [1, 0]
    assert learner.present(x, average=True).tolist() == [0, 1]
    assert learner.present(x, k=1, average=True).tolist() == [0]
    with pytest.raises(TypeError, match="average"):
        learner.present(x, average=1)
    items = module.PreferencePerceptron(module.Items(x))
    items.update([3.0, 0.0])
    items.update([0.0, 4.0])
    assert items.present(None) == 1
    assert items.present(None, average=True) == items.present([0, 1], average=True) == 0
    with pytest.raises(ValueError, match="average"):
        module.PreferencePerceptron(module.Ranking(), kernel="rbf").scores(x, average=True)


def test_feedback_from_clicks_is_where_one_looks():
    assert cf.feedback_from_clicks is cf.users.feedback_from_clicks
    assert cf.feedback_from_clicks([2, 0, 1], []).tolist() == [2, 0, 1]
