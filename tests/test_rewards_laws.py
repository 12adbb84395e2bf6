"""What holds for the regression and the bandits, whatever is learned."""

import copy
import math

import numpy as np
import pytest
from rewards_cases import (
    ARMS,
    BANDITS,
    DRAWS,
    LEARNERS,
    LINEAR,
    MODULES,
    N_ARMS,
    RIDGES,
    D,
    P,
    Round,
    build,
    play,
    read,
    stream,
    trained,
    unchanged,
)
from row_cases import close

import coactive_fast as cf

learners = pytest.mark.parametrize("kind, name", LEARNERS)
bandits = pytest.mark.parametrize("kind, name", BANDITS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


# --- the regression -------------------------------------------------------------------------


def test_the_identity_link_solves_the_weighted_least_squares(module):
    learner = build(module, "ridge", "identity")
    X, y, weight = stream(learner)
    learner.run(X, y, weight=weight)
    A = 0.5 * np.eye(D) + X.T @ (weight[:, None] * X)
    close(learner.weights, np.linalg.solve(A, X.T @ (weight * y)), 1e-10)
    close(learner.inverse(), np.linalg.inv(A), 1e-10)
    m, std = learner.predict(X, return_std=True)
    close(m, X @ learner.weights, 1e-10)
    close(std, 0.7 * np.sqrt(np.einsum("ni,ij,nj->n", X, np.linalg.inv(A), X)), 1e-10)


@pytest.mark.parametrize("name", RIDGES)
def test_run_is_the_loop_of_single_calls(module, name):
    whole, single = build(module, "ridge", name), build(module, "ridge", name)
    X, y, weight = stream(whole)
    history = whole.run(X, y, weight=weight)
    for t, (x, target, c) in enumerate(zip(X, y, weight, strict=True)):
        p = single.predict(x[None])[0]
        assert p == history.predictions[t]
        if single.link == "identity":
            loss = (target - p) ** 2
        else:
            loss = -target * math.log(p) - (1.0 - target) * math.log(1.0 - p)
        assert history.loss[t] == pytest.approx(loss, rel=1e-12)
        single.learn(x, target, weight=c)
    np.testing.assert_equal(read(whole), read(single))
    close(history.average_loss, np.cumsum(history.loss) / np.arange(1, len(y) + 1), 1e-12)


def test_a_weight_of_two_is_the_row_twice(module):
    for covariance in ("full", "diagonal"):
        once, twice = (module.OnlineRidge(covariance=covariance) for _ in range(2))
        X, y, _ = stream(once, 6)
        once.run(X, y, weight=np.full(6, 2.0))
        for x, target in zip(X, y, strict=True):
            twice.learn(x, target)
            twice.learn(x, target)
        if covariance == "full":
            close(once.weights, twice.weights, 1e-12)
        close(once.inverse(), twice.inverse(), 1e-12)


def test_long_logistic_rows_on_the_wrong_side(module):
    """Each step lessens the loss of its row; with the slope alone it would overshoot."""
    learner = module.OnlineRidge(link="logistic")
    for t in range(40):
        x, y = np.array([30.0, -40.0]), float(t % 2)
        p = learner.predict(x[None])[0]
        learner.learn(x, y)
        after = learner.predict(x[None])[0]
        assert abs(y - after) <= abs(y - p) and np.abs(learner.weights).max() < 1.0


def test_the_logistic_step_by_hand(module):
    learner = module.OnlineRidge(link="logistic", covariance="diagonal")
    learner.learn([2.0], 1.0)  # m = 0, sigma = 1/2, s = 1/4: a = 1 + 1, w = 2 (1/2) / 2
    assert learner.weights[0] == pytest.approx(0.5) and learner.inverse()[0] == pytest.approx(0.5)
    m = 0.5 * 6.0
    sigma = 1.0 / (1.0 + math.exp(-m))
    s = math.tanh(m / 2.0) / (2.0 * m)  # the reward is 0: further off than 1/2
    learner.learn([6.0], 0.0)
    assert learner.inverse()[0] == pytest.approx(1.0 / (2.0 + 36.0 * s))
    assert learner.weights[0] == pytest.approx(0.5 + 6.0 / (2.0 + 36.0 * s) * (0.0 - sigma))


# --- orders and parts -----------------------------------------------------------------------


@pytest.mark.parametrize("kind, name", [("linear", "ucb"), ("linear", "theory"), ("arms", "ucb"),
                                        ("linear", "context"), ("arms", "squarecb")])
def test_the_order_of_rewards_does_not_matter(module, kind, name, rng):
    straight, mixed = build(module, kind, name), build(module, kind, name)
    for t in range(30):
        Round(straight, t).learn(straight)
    for t in rng.permutation(30):
        Round(mixed, int(t)).learn(mixed)
    near(read(straight), read(mixed))


def near(a, b, tolerance=1e-9):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_allclose(a[name], b[name], rtol=tolerance, atol=tolerance)


MERGED = [("ridge", "identity"), ("linear", "ucb"), ("linear", "theory"), ("linear", "thompson"),
          ("linear", "squarecb floor"), ("linear", "context"), ("arms", "ucb"), ("arms", "theory")]


def learn_round(learner, t):
    if hasattr(learner, "pending"):
        Round(learner, t).learn(learner)
    else:
        X, y, weight = stream(learner)
        learner.learn(X[t], y[t], weight=weight[t])


@pytest.mark.parametrize("kind, name", MERGED)
def test_the_merger_of_parts_is_the_whole(module, kind, name):
    whole, *parts = (build(module, kind, name) for _ in range(5))
    for t in range(30):
        learn_round(whole, t)
        learn_round(parts[t % 3], t)  # the last part learns nothing
    others = [read(part) for part in parts[1:]]
    for part in parts[1:]:
        assert parts[0].merge(part) is None
    near(read(parts[0]), read(whole))
    for part, before in zip(parts[1:], others, strict=True):
        np.testing.assert_equal(read(part), before)
    parts[3].merge(whole)  # into one that knows nothing yet
    near(read(parts[3]), read(whole))


def test_merging_with_itself_counts_everything_twice(module):
    learner, twice = (trained(module, "linear", "ucb", rounds=12) for _ in range(2))
    for t in range(12):
        Round(twice, t).learn(twice)
    learner.merge(learner)
    near(read(learner), read(twice))


def test_what_is_pending_elsewhere_stays_there(module):
    one, other = build(module, "linear", "ucb"), build(module, "linear", "ucb", seed=3)
    mine = Round(one, 0).decide(one)
    theirs = [Round(other, t).decide(other) for t in range(3)]
    one.merge(other)
    assert one.pending == 1 and other.pending == 3
    one.reward(mine.id, 1.0)
    other.reward(theirs[2].id, 1.0)
    assert one.rounds == other.rounds == 1


@pytest.mark.parametrize("kind", ["ridge", "linear", "arms"])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_decay_scales_the_past(module, kind, covariance):
    """A past that counts half is one whose weights were half; the diagonal keeps w."""
    name = {"ridge": "identity", "linear": "ucb", "arms": "ucb"}[kind]
    learner, half = (build(module, kind, name, covariance=covariance) for _ in range(2))
    X, y, _ = stream(learner, 8)
    for x, target in zip(X, y, strict=True):
        for one, weight in ((learner, 1.0), (half, 0.5)):
            one.learn(*((x, 1, target) if kind == "arms" else (x, target)), weight=weight)
    before = learner.weights
    learner.decay(0.5)
    if covariance == "full":
        close(learner.weights, half.weights, 1e-12)
    else:
        np.testing.assert_array_equal(learner.weights, before)
    of = (1,) if kind == "arms" else ()
    close(learner.inverse(*of), half.inverse(*of), 1e-12)
    assert learner.rounds == 8


@learners
def test_decay_by_one_changes_nothing_without_forgetting(module, kind, name):
    if build(module, kind, name).forget < 1.0:
        return
    learner = trained(module, kind, name)
    before = read(learner)
    assert learner.decay(1.0) is None
    near(read(learner), before, 1e-12)
    fresh = build(module, kind, name)
    fresh.decay(0.5)  # there is nothing to decay
    np.testing.assert_equal(read(fresh), read(build(module, kind, name)))


# --- contexts -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["context", "context diagonal", "context squarecb"])
def test_a_context_is_the_product_written_out(module, name):
    """The contraction against rows ``(1, c) (x) a`` that are built, to 1e-9."""
    bandit = build(module, "linear", name)
    plain = build(module, "linear", name, context_features=0)
    for t in range(25):
        round = Round(bandit, t)
        c = np.append(1.0, round.words["context"])
        rows = np.array([np.kron(c, row) for row in round.rows])
        for got, expected in zip(round.scores(bandit), plain.scores(rows), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9)
        law = plain.probabilities(rows, allowed=round.allowed)
        np.testing.assert_allclose(round.law(bandit), law, rtol=1e-9, atol=1e-9)
        assert round.choose(bandit) == plain.choose(rows, allowed=round.allowed)
        round.learn(bandit)
        plain.learn(rows[round.any], round.reward, weight=round.weight)
    close(bandit.weights, plain.weights)
    close(bandit.inverse(), plain.inverse())
    assert bandit.weights.shape == ((P + 1) * D,)


# --- choices --------------------------------------------------------------------------------


@bandits
def test_probabilities_sum_to_one_over_the_allowed(module, kind, name):
    bandit = trained(module, kind, name)
    samples = 40 if bandit.explore == "thompson" else None
    for t in range(30, 40):
        round = Round(bandit, t)
        law = round.law(bandit, samples)
        assert law.shape == round.allowed.shape and law.sum() == pytest.approx(1.0, abs=1e-12)
        assert (law[~round.allowed] == 0.0).all() and (law >= 0.0).all()
        least = bandit.floor / round.allowed.sum()
        assert (law[round.allowed] >= least * (1.0 - 1e-12)).all()


@bandits
def test_probabilities_agree_with_frequencies(module, kind, name):
    """Of every action, within four standard errors."""
    bandit = trained(module, kind, name, rounds=12)
    n = 400 if any(word in name for word in DRAWS) else 3
    for t in range(30, 33):
        round = Round(bandit, t)
        if bandit.explore == "thompson":
            law, spread = round.law(bandit, samples=n), 2.0  # both sides are frequencies
        else:
            law, spread = round.law(bandit), 1.0
        chosen = [round.choose(bandit) for _ in range(n)]
        counts = np.bincount(chosen, minlength=law.size) / n
        error = 4.0 * np.sqrt(spread * law * (1.0 - law) / n) + 6.0 * (spread - 1.0) / n
        assert (np.abs(counts - law) <= error + 1e-12).all()


def test_the_law_of_squarecb(module):
    bandit = trained(module, "linear", "squarecb floor")
    round = Round(bandit, 50)
    m, allowed = round.scores(bandit)[0], round.allowed
    gamma, n = 10.0 * math.sqrt(bandit.rounds + 1.0), allowed.sum()
    best = np.flatnonzero(allowed)[np.argmax(m[allowed])]
    law = np.where(allowed, 1.0 / (n + gamma * (m[best] - m)), 0.0)
    law[best] = 0.0
    law[best] = 1.0 - law.sum()
    np.testing.assert_allclose(round.law(bandit), 0.2 * allowed / n + 0.8 * law, rtol=1e-10)


@pytest.mark.parametrize("kind", ["linear", "arms"])
def test_extreme_scales_of_squarecb(module, kind):
    for arguments in ({"scale": 0.0}, {"scale": 1e308, "power": 300.0}, {"power": 1e308}):
        bandit = trained(module, kind, "squarecb", rounds=5, **arguments)
        law = Round(bandit, 30).law(bandit)
        assert law.sum() == pytest.approx(1.0) and np.isfinite(law).all()
        if arguments["scale" if "scale" in arguments else "power"] == 0.0:
            np.testing.assert_allclose(law[law > 0.0], 1.0 / (law > 0.0).sum())


def bonus(bandit):
    """The width of a bandit that draws nothing, from what can be read of it."""
    if bandit.explore == "greedy" or bandit.width != "theory":
        return 0.0 if bandit.explore == "greedy" else bandit.width
    many = getattr(bandit, "n_arms", 0)
    inverses = [bandit.inverse(i) for i in range(many)] if many else [bandit.inverse()]
    gained = np.array([-np.linalg.slogdet(bandit.ridge * inverse)[1] for inverse in inverses])
    radius = bandit.noise * np.sqrt(gained + 2.0 * np.log(len(inverses) / bandit.delta))
    return radius + math.sqrt(bandit.ridge) * bandit.norm_bound


@bandits
def test_slates(module, kind, name):
    bandit = trained(module, kind, name)
    for t in range(30, 36):
        round = Round(bandit, t)
        n = int(round.allowed.sum())
        for k in (1, 2, n, n + 3):
            slate = round.choose(bandit, k=k)
            assert slate.dtype == np.intp and slate.shape == (min(k, n),)
            assert len(set(slate.tolist())) == slate.size and round.allowed[slate].all()
        if not any(word in name for word in DRAWS):
            m, widths = round.scores(bandit)
            m = m + bonus(bandit) * widths
            order = sorted(np.flatnonzero(round.allowed).tolist(), key=lambda i, m=m: (-m[i], i))
            assert round.choose(bandit, k=n).tolist() == order
            assert round.choose(bandit) == order[0]


def test_slates_go_place_by_place(module):
    """The second place by the law of the actions that are left."""
    bandit, n = trained(module, "linear", "squarecb floor", scale=1.0), 1500
    X = np.eye(D)[:3]
    first = bandit.probabilities(X)
    pairs = np.zeros((3, 3))
    for _ in range(n):
        pairs[tuple(bandit.choose(X, k=2))] += 1.0 / n
    for i in range(3):
        second = bandit.probabilities(X, allowed=np.arange(3) != i)
        p = first[i] * second
        assert (np.abs(pairs[i] - p) <= 4.0 * np.sqrt(p * (1.0 - p) / n) + 1e-12).all()


@pytest.mark.parametrize("kind", ["linear", "arms"])
@pytest.mark.parametrize("name", ["ucb", "greedy", "theory"])
def test_ties_go_to_the_lower_index(module, kind, name):
    bandit = build(module, kind, name)
    if kind == "linear":
        row = np.array([1.0, -2.0, 0.5, 3.0])
        rows = np.array([-row, row, row, 0.3 * row, row])
        bandit.learn(row, 4.0)
        m, widths = bandit.scores(rows)
        assert m[1] == m[2] == m[4] and widths[1] == widths[2] == widths[4]
        assert bandit.choose(rows) == 1
        assert bandit.choose(rows, k=3).tolist() == [1, 2, 4]
        assert bandit.choose(rows, allowed=[True, False, True, True, True]) == 2
    else:
        x = np.array([1.0, -2.0, 0.5, 3.0])
        for arm in (1, 2):
            bandit.learn(x, arm, 40.0)
        m, widths = bandit.scores(2.0 * x)
        assert m[1] == m[2] and widths[1] == widths[2]
        assert bandit.choose(x) == 1 and bandit.choose(x, allowed=[True, False, True]) == 2


@pytest.mark.parametrize("name", LINEAR)
def test_equal_rows_have_equal_scores(module, name, rng):
    bandit = trained(module, "linear", name)
    words = {"context": rng.standard_normal(P)} if bandit.context_features else {}
    X = rng.standard_normal((37, D))
    X[rng.integers(37, size=20)] = X[5]
    m, widths = bandit.scores(X, **words)
    same = (X == X[5]).all(axis=1)
    assert same.sum() > 2 and len(set(m[same])) == 1 and len(set(widths[same])) == 1
    for i in (0, 5, 36):  # and those that the row has alone
        alone = bandit.scores(X[i:i + 1], **words)
        np.testing.assert_allclose([m[i], widths[i]], np.ravel(alone), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["linear", "arms"])
def test_before_the_first_round(module, kind):
    bandit = build(module, kind, "ucb")
    assert bandit.rounds == bandit.pending == bandit.expired == 0
    for d in (2, 7):  # a reading fixes no dimension
        X = np.array([2.0 * np.ones(d), np.ones(d)])
        x = X if kind == "linear" else X[0]
        m, widths = bandit.scores(x)
        assert (m == 0.0).all() and widths[0] == pytest.approx(2.0 * math.sqrt(d))
        assert bandit.choose(x) == 0
    assert bandit.weights.shape == ((0,) if kind == "linear" else (N_ARMS, 0))


# --- chance ---------------------------------------------------------------------------------


def test_what_is_drawn_for_a_floor(module):
    bandit = trained(module, "linear", "greedy floor")
    shadow = np.random.default_rng(2)
    for t in range(200):
        round = Round(bandit, t)
        left, n = np.flatnonzero(round.allowed), round.allowed.sum()
        m = round.scores(bandit)[0]
        if shadow.random() < 0.2:
            expected = left[int(n * shadow.random())]
        else:
            expected = left[np.argmax(m[left])]
        assert round.choose(bandit) == expected


@pytest.mark.parametrize("kind", ["linear", "arms"])
def test_what_is_drawn_for_squarecb(module, kind):
    bandit = trained(module, kind, "squarecb")
    shadow = np.random.default_rng(6)
    for t in range(200):
        round = Round(bandit, t)
        below = np.cumsum(round.law(bandit)) <= shadow.random()
        assert round.choose(bandit) == below.sum() or round.law(bandit)[below.sum()] < 1e-9


def test_what_is_drawn_for_thompson(module):
    """The diagonal has one factor that is its own; arms draw one number each."""
    bandit, shadow = trained(module, "linear", "thompson diagonal"), np.random.default_rng(4)
    arms, arm_shadow = trained(module, "arms", "thompson"), np.random.default_rng(3)
    for t in range(60):
        round = Round(bandit, t)
        w = bandit.weights + np.sqrt(bandit.inverse()) * shadow.standard_normal(D)
        scores = np.where(round.allowed, round.rows @ w, -np.inf)
        chosen = round.choose(bandit)
        assert scores[chosen] >= scores.max() - 1e-12
        round = Round(arms, t)
        m, widths = round.scores(arms)
        scores = m + 0.5 * widths * arm_shadow.standard_normal(N_ARMS)
        assert round.choose(arms) == np.argmax(np.where(round.allowed, scores, -np.inf))


def test_full_thompson_draws_as_many_normals_as_there_are_features(module):
    for name, d in (("thompson", D), ("context thompson", (P + 1) * D)):
        seed = LINEAR[name]["seed"]
        bandit, other = (trained(module, "linear", name) for _ in range(2))
        Round(bandit, 0).choose(bandit)
        shadow = np.random.default_rng(seed)
        shadow.standard_normal(d)
        other = trained(module, "linear", name, seed=shadow)
        for t in range(20):
            assert Round(bandit, t).choose(bandit) == Round(other, t).choose(other)


@bandits
def test_who_draws_nothing_leaves_the_generator_alone(module, kind, name):
    if any(word in name for word in DRAWS):
        return
    seeds = [build(module, kind, name, seed=seed) for seed in (1, 2)]
    for t in range(20):
        rounds = [Round(one, t) for one in seeds]
        one, other = (round.choose(bandit) for round, bandit in zip(rounds, seeds, strict=True))
        assert one == other
        for round, bandit in zip(rounds, seeds, strict=True):
            round.learn(bandit)


@bandits
def test_probabilities_leave_the_choices_as_they_are(module, kind, name):
    asked, not_asked, same = trained(module, kind, name), trained(module, kind, name), []
    samples = 60 if asked.explore == "thompson" else None
    for t in range(30):
        round = Round(asked, t)
        same.append(np.array_equal(round.law(asked, samples), round.law(asked, samples)))
        assert round.choose(asked) == round.choose(not_asked)
    assert all(same) != (asked.explore == "thompson")  # each time it is another sample


@bandits
def test_a_generator_given_as_seed_is_copied(module, kind, name):
    source = np.random.default_rng(5)
    first = play(trained(module, kind, name, seed=source))
    assert source.random() == np.random.default_rng(5).random()
    second = play(trained(module, kind, name, seed=5))
    np.testing.assert_equal(first, second)


# --- the life of a learner ------------------------------------------------------------------


@learners
def test_reset_and_copies(module, kind, name):
    learner = trained(module, kind, name)
    fresh = read(build(module, kind, name))
    twin = copy.deepcopy(learner)
    np.testing.assert_equal(play(twin), play(learner))
    np.testing.assert_equal(read(twin), read(learner))
    learner.reset()
    np.testing.assert_equal(read(learner), fresh)
    np.testing.assert_equal(play(learner), play(build(module, kind, name)))
    learner.reset()
    x = np.ones(D + 3)  # another dimension
    learner.learn(*((x, 0, 1.0) if kind == "arms" else (x, 1.0)),
                  **({"context": np.ones(P)} if "context" in name else {}))


@pytest.mark.parametrize("name", RIDGES)
def test_files_of_the_regression(name, tmp_path):
    learner = trained(cf, "ridge", name)
    learner.save(tmp_path / "ridge.cf")
    other = cf.load(tmp_path / "ridge.cf")
    np.testing.assert_equal(read(other), read(learner))
    np.testing.assert_equal(play(other), play(learner))
    np.testing.assert_equal(read(other), read(learner))


@learners
def test_reading_changes_nothing(module, kind, name):
    learner = trained(module, kind, name)
    with unchanged(learner):
        read(learner)


@learners
def test_null_rows(module, kind, name):
    """They count, and say nothing."""
    learner = trained(module, kind, name)
    before, zero = read(learner), np.zeros(D)
    words = {"context": np.ones(P)} if "context" in name else {}
    learner.learn(*((zero, 1, 1.0) if kind == "arms" else (zero, 1.0)), **words)
    assert learner.rounds == before["rounds"] + 1
    np.testing.assert_array_equal(learner.weights, before["weights"])
    np.testing.assert_array_equal(learner.inverse(*(1,) * (kind == "arms")),
                                  before["inverse"][1] if kind == "arms" else before["inverse"])


def test_arms_are_added_and_taken_away_by_reset(module):
    bandit = trained(module, "arms", "ucb")
    before = bandit.weights
    assert bandit.add_arm() == N_ARMS and bandit.n_arms == N_ARMS + 1
    np.testing.assert_array_equal(bandit.weights, np.vstack([before, np.zeros(D)]))
    m, widths = bandit.scores(np.ones(D))
    assert m[N_ARMS] == 0.0 and widths[N_ARMS] == pytest.approx(math.sqrt(D))
    bandit.learn(np.ones(D), N_ARMS, 1.0)
    assert bandit.choose(np.ones(D), allowed=[False] * N_ARMS + [True]) == N_ARMS
    bandit.reset()
    assert bandit.n_arms == N_ARMS


def test_forgetting_touches_the_arm_that_learns(module):
    bandit = trained(module, "arms", "forget")
    before = [bandit.inverse(i) for i in range(N_ARMS)]
    bandit.learn(np.ones(D), 1, 1.0)
    for i in range(N_ARMS):
        assert np.array_equal(bandit.inverse(i), before[i]) == (i != 1)


def test_the_tables_name_every_rule():
    explored = {arguments.get("explore", "ucb") for arguments in ARMS.values()}
    assert explored == {"ucb", "thompson", "squarecb", "greedy"}
    for name, arguments in LINEAR.items():  # the kinds that draw are known by their names
        assert any(word in name for word in DRAWS) == ("seed" in arguments), name
