"""Users who click, whole runs with them, and rankers judged by held-out queries."""

import copy
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from coactive_cases import golden, load, modules

import coactive_fast as cf
from coactive_fast import reference

pytestmark = pytest.mark.filterwarnings("ignore:.*raw clicks")

LEARNERS = {
    "pdgd": lambda module, task: module.PDGD(task, seed=1),
    "pairs": lambda module, task: module.PairwisePerceptron(task, swap=0.4, seed=1),
    "dueling": lambda module, task: module.DuelingBandit(task, seed=1),
    "perceptron": lambda module, task: module.PreferencePerceptron(task),
    "batch": lambda module, task: module.PreferencePerceptron(task, batch=3),
    "exponentiated": lambda module, task: module.ExponentiatedPreferencePerceptron(task),
    "convex": lambda module, task: module.ConvexPreferencePerceptron(task, radius=2.0),
    "second-order": lambda module, task: module.SecondOrderPreferencePerceptron(task, radius=2.0),
}
each = pytest.mark.parametrize("name", LEARNERS)
models = pytest.mark.parametrize("model", ["cascade", "position", "perfect"])


def data_of(queries=25, grades=3, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 15, queries)
    x = rng.standard_normal((lengths.sum(), 4)).astype(dtype)
    x[rng.random(len(x)) < 0.1] = x[0]
    return cf.data.RankingData(x, rng.integers(0, grades, len(x)),
                               np.concatenate(([0], np.cumsum(lengths))))


def by_single_calls(learner, data, user, order):
    for i in order:
        query, k = data[i], learner.task.k
        if hasattr(user, "clicks"):
            shown = learner.present(query.features, k=k)
            learner.learn_clicks(query.features, shown, user.clicks(query, shown))
        else:
            shown = learner.present(query.features)
            learner.learn(query.features, shown, user.respond(query, shown))


def same(one, other):
    """Bit for bit: the whole state, chance and what is pending included."""
    mine, others = one._engine._state(), other._engine._state()
    return str(mine) == str(others) and one.weights.tobytes() == other.weights.tobytes()


@each
@models
def test_a_run_is_the_loop_of_single_calls(name, model):
    data, order = data_of(dtype=np.float32 if model == "perfect" else np.float64), [*range(25)] * 3
    task = cf.Ranking(k=4)
    one, other = (LEARNERS[name](cf, task) for _ in range(2))
    user, twice = (cf.users.Clicks(model, preset="informational", seed=3) for _ in range(2))
    one.present(data[0].features)
    other.present(data[0].features)
    history = cf.simulate(one, data, user, order=order)
    by_single_calls(other, data, twice, order)
    assert same(one, other)
    assert user.rng.random() == twice.rng.random()
    assert len(history) == len(order) and (history.regret > -1e-12).all()
    loop = cf.simulate(LEARNERS[name](cf, task), list(data),
                       cf.users.Clicks(model, preset="informational", seed=3), order=order[:5],
                       weights=data.fit_weights())
    assert len(loop) == 5  # Python's loop, over queries that are no RankingData


@pytest.mark.parametrize("user", [cf.users.AlphaInformative(0.5), cf.users.NoisyDepth(6)],
                         ids=["alpha", "depth"])
def test_pair_swaps_run_with_any_user(user):
    data, order, w = data_of(), [*range(25)] * 2, np.ones(4)
    one, other = (cf.PairwisePerceptron(cf.Ranking(k=3), seed=2) for _ in range(2))
    cf.simulate(one, data, user, order=order, weights=w)
    answering = copy.copy(user)
    answering.k, answering.weights = 3, w
    by_single_calls(other, data, answering, order)
    assert same(one, other)
    with pytest.raises(TypeError, match="clicks"):
        cf.simulate(cf.PDGD(cf.Ranking()), data, user)


@each
def test_twin_and_compiled_runs_agree(name):
    data = data_of(12)
    runs = []
    for module in (cf, reference):
        learner = LEARNERS[name](module, module.Ranking(k=3))
        user = module.users.Clicks("cascade", seed=9)
        history = module.simulate(learner, data, user, order=[*range(12)] * 2, held_out=data,
                                  every=10, measures=("ndcg@3", "dcg@5"))
        runs.append((learner, history))
    (ours, history), (twin, slow) = runs
    assert ours.weights == pytest.approx(twin.weights, rel=1e-9, abs=1e-12)
    for field in ("utility", "optimal_utility", "feedback_utility"):
        assert getattr(history, field) == pytest.approx(getattr(slow, field), rel=1e-9, abs=1e-12)
    assert history.held_out_rounds.tolist() == slow.held_out_rounds.tolist() == [10, 20]
    for measure in ("ndcg@3", "dcg@5"):
        assert history.held_out[measure] == pytest.approx(slow.held_out[measure], rel=1e-12)


@each
def test_an_interrupted_run_goes_on_bit_for_bit(name):
    data, task = data_of(), cf.Ranking(k=3)
    order = np.arange(400) % 25
    whole, parts = (LEARNERS[name](cf, task) for _ in range(2))
    users = [cf.users.Clicks(seed=4) for _ in range(2)]
    cf.simulate(whole, data, users[0], order=order)
    for piece in (order[:1], order[1:177], order[177:]):
        cf.simulate(parts, data, users[1], order=piece)
    assert same(whole, parts)


def overflowing(at):
    """Queries of which one gives scores that are not finite."""
    data = data_of()
    x = data.features.copy()
    x[data.offsets[at]] = 1e308
    return cf.data.RankingData(x, data.relevance, data.offsets)


@pytest.mark.parametrize("name", ["pdgd", "pairs", "dueling"])
def test_a_round_that_fails_is_as_if_it_had_not_begun(name):
    data, whole = overflowing(13), data_of()
    one, other = (LEARNERS[name](cf, cf.Ranking(k=3)) for _ in range(2))
    for learner in (one, other):
        learner.update(np.full(4, 1e10)) if name != "dueling" else None
    w = np.ones(4)
    with pytest.raises(ValueError):
        cf.simulate(one, data, cf.users.Clicks(seed=1), weights=w)
    assert len(one.last_history) == 13
    cf.simulate(other, whole, cf.users.Clicks(seed=1), order=range(13), weights=w)
    assert same(one, other)


# --- users --------------------------------------------------------------------------------------


@modules
def test_presets_are_interpolated_for_more_grades(module):
    query = SimpleNamespace(features=np.zeros((5, 1)), relevance=np.arange(5.0))
    user = module.users.Clicks("perfect", seed=0)
    shares = np.mean([np.isin(range(5), user.clicks(query, range(5))) for _ in range(4000)], axis=0)
    assert shares == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0], abs=0.04)
    small = SimpleNamespace(features=np.zeros((2, 1)), relevance=np.array([1.0, 1.0]))
    lower = SimpleNamespace(features=small.features, relevance=small.relevance, largest_grade=4.0)
    for asked, share in ((small, 0.5), (lower, 0.25)):
        found = np.mean([len(user.clicks(asked, [0, 1])) / 2 for _ in range(4000)])
        assert found == pytest.approx(share, abs=0.03)


@modules
def test_users_refuse_what_they_cannot_mean(module):
    make = module.users.Clicks
    for wrong in ({"model": "eyes"}, {"preset": "sleepy"}, {"click": []}, {"click": [0.5, 1.1]},
                  {"stop": [-0.1]}, {"click": [[0.1]]}, {"click": [np.nan]}, {"eta": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            make(**wrong)
    for model in ("cascade", "position", "perfect"):
        with pytest.raises(ValueError, match="stop.*length"):
            make(model, click=[0.0, 0.5, 1.0], stop=[0.0, 0.5])
    user = make(click=[0.1, 0.2], seed=0)
    query = SimpleNamespace(features=np.zeros((3, 1)), relevance=[0.0, 1.0, 2.0])
    before = copy.deepcopy(user.rng).random()
    with pytest.raises(ValueError, match="grade"):
        user.clicks(query, [0, 1, 2])
    for relevance in ([0.5, 0.0, 0.0], [-1.0, 0.0, 0.0], [np.nan, 0.0, 0.0]):
        with pytest.raises(ValueError, match="relevance"):
            make().clicks(SimpleNamespace(features=query.features, relevance=relevance), [0])
    query.relevance = [0.0, 1.0, 1.0]
    for presented in ([0, 0], [3], [-1], [0.5]):
        with pytest.raises((ValueError, TypeError), match="presented"):
            user.clicks(query, presented)
    with pytest.raises(TypeError, match="items"):
        user.clicks(SimpleNamespace(candidates=[0], relevance=[0.0]), [0])
    assert user.rng.random() == before
    with pytest.raises(ValueError, match="grade"):
        data = data_of(grades=4)
        module.simulate(module.PDGD(module.Ranking()), data, user)


@models
def test_twin_users_click_alike(model):
    rng = np.random.default_rng(1)
    ours, twin = (module.users.Clicks(model, preset="informational", eta=0.7, seed=2)
                  for module in (cf, reference))
    for _ in range(200):
        n = int(rng.integers(1, 12))
        query = SimpleNamespace(features=np.zeros((n, 1)), relevance=rng.integers(0, 5, n))
        shown = rng.permutation(n)[: rng.integers(1, n + 1)]
        assert ours.clicks(query, shown).tolist() == twin.clicks(query, shown).tolist()
        assert ours.respond(query, shown).tolist() == twin.respond(query, shown).tolist()
    copied = copy.deepcopy(ours)
    assert copied.clicks(query, shown).tolist() == ours.clicks(query, shown).tolist()
    assert ours.reset() is ours


def test_places_beyond_the_documents_cost_nothing():
    data, users = data_of(6), [cf.users.Clicks("position", seed=0) for _ in range(2)]
    one, other = (cf.PDGD(cf.Ranking(k=k), seed=0) for k in (10**15, 20))
    for learner, user in zip((one, other), users, strict=True):
        cf.simulate(learner, data, user, weights=np.ones(4))
    assert one.weights.tobytes() == other.weights.tobytes()


@modules
def test_a_user_of_ones_own_may_click(module):
    class Last:
        def clicks(self, query, presented):
            return presented[-1:]

        def respond(self, query, presented):
            raise AssertionError("clicks are asked for")

    data = data_of(6)
    learner = module.PDGD(module.Ranking(k=3), seed=0)
    history = module.simulate(learner, data, Last(), weights=np.ones(4))
    assert learner.rounds == len(history.regret) == 6


# --- judging ------------------------------------------------------------------------------------


@golden
def test_ndcg_is_the_golden_one():
    for name, case in load("clicks").items():
        if name.startswith("ndcg"):
            for gain in ("exponential", "linear"):
                for module in (cf, reference):
                    found = module.metrics.ndcg(case["relevance"], case["ranking"],
                                                k=int(case["k"]), gain=gain)
                    assert found == pytest.approx(float(case[gain]), rel=1e-12), name


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_evaluate_is_its_twin(average, gain):
    data, names = data_of(30, grades=5), ("ndcg@10", "ndcg@1", "dcg@3")
    learner = cf.PreferencePerceptron(cf.Ranking(k=3))
    for seed in range(2):
        found = [module.metrics.evaluate(learner, queries, measures=names, average=average,
                                         gain=gain)
                 for module in (cf, reference) for queries in (data, list(data))]
        assert all(one == pytest.approx(found[0], rel=1e-12) for one in found)
        assert list(found[0]) == list(names)
        learner.update(np.random.default_rng(seed).standard_normal(4))


def test_queries_without_a_relevant_document_count_0():
    data = cf.data.RankingData([[2.0], [1.0], [1.0]], [1, 0, 0], [0, 2, 3])
    learner = cf.PreferencePerceptron(cf.Ranking())
    learner.update([1.0])
    assert cf.metrics.evaluate(learner, data) == {"ndcg@10": 0.5}


def test_evaluate_refuses_what_it_cannot_say():
    data, learner = data_of(3), cf.PreferencePerceptron(cf.Ranking())
    for wrong in (["map"], ["ndcg"], ["ndcg@0"], ["ndcg@-1"], [5], ["ndcg@5 "]):
        with pytest.raises(ValueError, match="measures"):
            cf.metrics.evaluate(learner, data, measures=wrong)
    with pytest.raises(TypeError, match="measures"):
        cf.metrics.evaluate(learner, data, measures="ndcg@5")
    with pytest.raises(ValueError, match="gain"):
        cf.metrics.evaluate(learner, data, gain="cubic")
    with pytest.raises(ValueError, match="data"):
        cf.metrics.evaluate(learner, [])


def test_judging_changes_nothing():
    data = data_of()
    one, other = (cf.PDGD(cf.Ranking(k=3), seed=1) for _ in range(2))
    users = [cf.users.Clicks(seed=2) for _ in range(2)]
    judged = cf.simulate(one, data, users[0], held_out=data, every=4)
    cf.simulate(other, data, users[1])
    assert same(one, other)
    assert judged.held_out_rounds.tolist() == [4, 8, 12, 16, 20, 24]
    again = cf.simulate(one, data, users[0], held_out=data)
    assert again.held_out_rounds.tolist() == [25]
    assert again.held_out["ndcg@10"][0] == cf.metrics.evaluate(one, data)["ndcg@10"]
    assert type(again)(**again.to_dict()) == again
    assert judged != again
    with pytest.raises(ValueError, match="every"):
        cf.simulate(one, data, users[0], every=3)
    with pytest.raises(ValueError, match="every"):
        cf.simulate(one, data, users[0], held_out=data, every=0)


def test_queries_that_cannot_judge_are_refused_at_once():
    data, learner = data_of(), cf.PDGD(cf.Ranking(), seed=0)
    wider = cf.data.make_ranking(n_queries=3, n_features=5, seed=0)
    for wrong in (wider, []):
        with pytest.raises(ValueError, match="held_out"):
            cf.simulate(learner, data, cf.users.Clicks(seed=0), held_out=wrong)
    assert learner.rounds == 0


def test_a_run_that_ends_early_keeps_what_was_judged():
    data = data_of()

    def stop(done, total):
        raise KeyboardInterrupt

    learner = cf.PDGD(cf.Ranking(k=3), seed=1)
    with pytest.raises(KeyboardInterrupt):
        cf.simulate(learner, data, cf.users.Clicks(seed=0), held_out=data, every=5,
                    progress=stop)
    history = learner.last_history
    assert len(history) == learner.rounds == 5 and history.held_out_rounds.tolist() == [5]


def test_runs_of_perceptrons_with_clicks_warn_once():
    data, learner = data_of(4), cf.PreferencePerceptron(cf.Ranking())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(2):
            cf.simulate(learner, data, cf.users.Clicks(seed=0))
        cf.simulate(cf.PDGD(cf.Ranking(), seed=0), data, cf.users.Clicks(seed=0))
    assert ["PreferencePerceptron" in str(one.message) for one in found] == [True]
