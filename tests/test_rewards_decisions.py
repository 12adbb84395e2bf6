"""Decisions that wait for their reward, pairs, and calls in any order."""

import copy
import math
import pickle

import numpy as np
import pytest
from rewards_cases import BANDITS, MODULES, N_ARMS, D, Round, build, play, read, trained, unchanged

import coactive_fast as cf

bandits = pytest.mark.parametrize("kind, name", BANDITS)


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


def samples_of(bandit):
    return 30 if bandit.explore == "thompson" else None


@bandits
def test_a_decision_is_a_choice_that_is_remembered(module, kind, name):
    chooser, decider = trained(module, kind, name), trained(module, kind, name)
    for t in range(20):
        round = Round(chooser, t)
        law = None if chooser.explore == "thompson" else round.law(chooser)
        decision = round.decide(decider)
        assert type(decision).__name__ == "Decision" and decision == tuple(decision)
        assert decision.id == t and decision.action == round.choose(chooser)
        if law is None:
            assert math.isnan(decision.probability)
        else:
            assert decision.probability == law[decision.action]
    assert decider.pending == 20 and chooser.pending == 0
    assert decider.rounds == chooser.rounds == 25


@bandits
def test_late_rewards_are_rewards(module, kind, name):
    """In any order, and to the bit what `learn` makes of the same row."""
    late, prompt = trained(module, kind, name), trained(module, kind, name)
    rounds = [Round(late, t) for t in range(12)]
    decisions = [round.decide(late, samples=samples_of(late)) for round in rounds]
    for round in rounds:
        if "diagonal" in name:  # what was decided on is a copy
            round.kept = np.copy(round.rows)
            round.rows *= 7.0
    for t in (5, 0, 11, 3, 4):
        round = rounds[t]
        late.reward(decisions[t].id, round.reward, weight=round.weight)
        round.rows = getattr(round, "kept", round.rows)
        round.learn(prompt, decisions[t].action)
    np.testing.assert_equal({**read(late), "pending": 0}, read(prompt))
    assert late.pending == 7
    late.drop(decisions[1].id)
    assert late.pending == 6 and late.expired == 0


def test_probabilities_of_decisions_by_thompson(module):
    asked, not_asked = (trained(module, "linear", "thompson") for _ in range(2))
    for t in range(15):
        round = Round(asked, t)
        one, other = round.decide(asked, samples=25), round.decide(not_asked)
        assert one.action == other.action and math.isnan(other.probability)
        assert 25 * one.probability == pytest.approx(round_number(25 * one.probability))


def round_number(value):
    return math.floor(value + 0.5)


def test_an_id_that_is_not_pending(module):
    bandit = trained(module, "linear", "ucb", max_pending=3)
    ids = [Round(bandit, t).decide(bandit).id for t in range(5)]
    assert ids == [0, 1, 2, 3, 4] and bandit.pending == 3 and bandit.expired == 2
    bandit.reward(3, 1.0)
    bandit.drop(4)
    with unchanged(bandit):
        for id in (0, 1, 3, 4, 5, -1, 2**70, "0", None, 2.5, True, [2]):
            kind = ValueError if isinstance(id, int) and id is not True else (TypeError, ValueError)
            with pytest.raises(kind, match=r"\bid\b"):
                bandit.reward(id, 1.0)
            with pytest.raises(kind, match=r"\bid\b"):
                bandit.drop(id)
    bandit.reward(np.int64(2), 1.0)
    assert bandit.pending == 0 and bandit.expired == 2


def test_the_oldest_leaves_first(module):
    bandit = build(module, "arms", "ucb", max_pending=2)
    for t in range(4):
        Round(bandit, t).decide(bandit)
        if t == 1:
            bandit.drop(1)
    assert bandit.pending == 2 and bandit.expired == 1  # 0 left; 2 and 3 wait
    bandit.reward(2, 1.0)
    bandit.reward(3, 1.0)
    bandit.reset()
    assert bandit.pending == bandit.expired == bandit.rounds == 0
    assert Round(bandit, 0).decide(bandit).id == 0


def test_a_decision_fixes_the_dimension(module):
    """What is remembered has to be learned one day."""
    bandit = build(module, "linear", "ucb")
    decision = bandit.decide(np.eye(D))
    np.testing.assert_array_equal(bandit.weights, np.zeros(D))
    with pytest.raises(ValueError, match=r"\bX\b"):
        bandit.choose(np.eye(D + 1))
    bandit.reward(decision.id, 2.0)
    assert bandit.weights[decision.action] == 1.0


def test_rows_widen_while_decisions_wait(module):
    bandit = build(module, "linear", "ucb diagonal", max_features=8)
    narrow = bandit.decide([[1.0, 2.0]])
    wide = bandit.decide([[1.0, 2.0, 3.0, 4.0]])
    bandit.reward(wide.id, 1.0)
    bandit.reward(narrow.id, 1.0)
    assert bandit.weights.shape == (4,) and bandit.rounds == 2


def test_an_arm_more_while_decisions_wait(module):
    bandit = build(module, "arms", "ucb")
    decision = bandit.decide(np.ones(D), allowed=[False, False, True])
    bandit.add_arm()
    bandit.reward(decision.id, 3.0)
    assert bandit.weights[2].any() and not bandit.weights[[0, 1, 3]].any()


@bandits
def test_pending_decisions_are_copied(module, kind, name):
    bandit = trained(module, kind, name, max_pending=5)
    for t in range(7):
        Round(bandit, t).decide(bandit)
    for other in (copy.deepcopy(bandit), pickle.loads(pickle.dumps(bandit))):
        twin = copy.deepcopy(bandit)
        assert (other.pending, other.expired) == (5, 2)
        for one in (other, twin):
            one.reward(4, 0.5)
            one.drop(6)
        np.testing.assert_equal(play(other), play(twin))
        np.testing.assert_equal(read(other), read(twin))
    assert bandit.pending == 5


@bandits
def test_files_hold_what_is_pending(kind, name, tmp_path):
    bandit = trained(cf, kind, name, max_pending=5)
    for t in range(7):
        Round(bandit, t).decide(bandit)
    bandit.save(tmp_path / "bandit.cf")
    other = cf.load(tmp_path / "bandit.cf")
    for one in (bandit, other):
        one.reward(4, 0.5, weight=0.5)
        one.drop(6)
    np.testing.assert_equal(play(other), play(bandit))
    np.testing.assert_equal(read(other), read(bandit))


# --- pairs ----------------------------------------------------------------------------------


def test_a_pair_is_the_logistic_step_on_the_difference(module, rng):
    for name in ("ucb logistic", "diagonal forget"):
        pairs, plain = (build(module, "linear", name) for _ in range(2))
        for won in (True, False, np.True_, 1, 0):
            a, b = rng.standard_normal((2, D))
            pairs.learn_pair(a, b, won)
            plain.learn(a - b, float(won))
        np.testing.assert_array_equal(pairs.weights, plain.weights)
        np.testing.assert_array_equal(pairs.inverse(), plain.inverse())
        assert pairs.rounds == 5


def test_the_pair_to_compare(module, rng):
    bandit = build(module, "linear", "ucb logistic")
    for _ in range(12):
        X = rng.standard_normal((6, D))
        first, second = bandit.choose_pair(X)
        m, A = X @ bandit.weights if bandit.rounds else np.zeros(6), bandit.inverse()
        A = A if bandit.rounds else np.eye(D)
        assert first == np.argmax(m)
        d = X - X[first]
        bound = m + 0.5 * np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", d, A, d), 0.0))
        bound[first] = -np.inf
        assert second == np.argmax(bound) and type(first) is type(second) is int
        bandit.learn_pair(X[first], X[second], bool(rng.random() < 0.5))
    assert bandit.choose_pair(np.ones((3, D))) == (0, 1)  # equal rows


def test_pairs_leave_the_generator_and_the_floor_aside(module, rng):
    bandit = trained(module, "linear", "thompson floor")
    other = trained(module, "linear", "thompson floor")
    for t in range(10):
        bandit.choose_pair(rng.standard_normal((4, D)))
        assert Round(bandit, t).choose(bandit) == Round(other, t).choose(other)


def test_where_pairs_have_no_meaning(module):
    for arguments, named in (({}, "link"), ({"link": "logistic", "context_features": 1},
                                            "context_features")):
        bandit = module.LinearBandit(**arguments)
        for call in (lambda bandit: bandit.choose_pair(np.eye(3)),
                     lambda bandit: bandit.learn_pair(np.ones(3), np.zeros(3), True)):
            with pytest.raises(ValueError, match=named):
                call(bandit)
        assert bandit.rounds == 0
    bandit = trained(module, "linear", "ucb logistic")
    with unchanged(bandit):
        for X in (np.ones((1, D)), np.zeros((0, D)), np.ones(D), np.full((2, D), np.nan)):
            with pytest.raises((TypeError, ValueError), match=r"\bX\b"):
                bandit.choose_pair(X)
        good = np.ones(D)
        for a, b, won, named in ((good[1:], good, True, "x_first"), (good, good[1:], True, "x_sec"),
                                 (good * np.inf, good, True, "x_first"),
                                 (good, good * np.nan, True, "x_second"),
                                 (good, 2 * good, 0.5, "first_won"),
                                 (good, 2 * good, None, "first_won")):
            with pytest.raises((TypeError, ValueError), match=named):
                bandit.learn_pair(a, b, won)


# --- any order of calls ---------------------------------------------------------------------


class Fuzz:
    """Random calls, right and wrong ones mixed, on a bandit and on its twin."""

    def __init__(self, bandits, seed):
        self.bandits, self.rng, self.ids = bandits, np.random.default_rng(seed), []

    def call(self, t):
        """One call to all; what they answered, or that they refused."""
        name = self.rng.choice(["choose", "learn", "decide", "reward", "drop", "decay", "law",
                                "bad", "scores", "add_arm", "reset"],
                               p=[.15, .2, .2, .15, .05, .03, .05, .1, .04, .02, .01])
        pick = int(self.rng.integers(2**31))
        found = [self.answer(str(name), bandit, t, pick) for bandit in self.bandits]
        if name == "decide" and found[0][0] == "answer":
            self.ids.append(found[0][1][0])
        return name, found

    def answer(self, name, bandit, t, pick):
        round = Round(bandit, t)
        known = self.ids[pick % len(self.ids)] if self.ids else 0
        calls = {
            "choose": lambda: round.choose(bandit, k=pick % 3 or None),
            "learn": lambda: round.learn(bandit),
            "decide": lambda: tuple(round.decide(bandit)),
            "reward": lambda: bandit.reward(known, round.reward),
            "drop": lambda: bandit.drop(known),
            "decay": lambda: bandit.decay(0.5 + (pick % 50) / 100.0),
            "law": lambda: round.law(bandit, 5 if bandit.explore == "thompson" else None),
            "bad": lambda: round.learn(bandit, weight=(-1.0, 0.0, np.nan, np.inf)[pick % 4]),
            "scores": lambda: round.scores(bandit),
            "add_arm": lambda: bandit.add_arm(),
            "reset": lambda: bandit.reset() and None,
        }
        try:
            return "answer", calls[name]()
        except (ValueError, AttributeError) as error:
            return "refused", type(error)


@bandits
def test_calls_in_any_order(module, kind, name):
    """A copy taken at every moment goes on as the bandit itself, and so does the twin."""
    for seed in range(2):
        one, twin = (build(where, kind, name, max_pending=4) for where in (module, cf.reference))
        exact = module is cf.reference
        full_thompson = one.explore == "thompson" and one.covariance == "full" and kind == "linear"
        if full_thompson and not exact:
            twin = copy.deepcopy(one)  # the factor of the twin is another
            exact = True
        fuzz = Fuzz([one, twin], seed)
        for t in range(60):
            called, (got, expected) = fuzz.call(t)
            assert got[0] == expected[0], (called, got, expected)
            if got[0] == "refused" or called in ("learn", "drop", "reset"):
                assert exact is False or got[1] == expected[1]
            else:
                np.testing.assert_allclose(as_numbers(got[1]), as_numbers(expected[1]), rtol=1e-7,
                                           atol=1e-9)
            if t % 15 == 7:
                fuzz.bandits[0] = copy.deepcopy(fuzz.bandits[0])
        assert fuzz.bandits[0].pending == fuzz.bandits[1].pending
        assert fuzz.bandits[0].expired == fuzz.bandits[1].expired
        assert fuzz.bandits[0].rounds == fuzz.bandits[1].rounds


def as_numbers(answer):
    return np.nan if answer is None else np.asarray(answer, dtype=float)


def test_the_tables_have_both_kinds():
    assert N_ARMS > 2 and {kind for kind, _ in BANDITS} == {"linear", "arms"}
