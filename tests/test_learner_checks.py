"""What every learner of every family must do: one list of checks over all of them."""

import copy
import pickle
import threading

import numpy as np
import pytest
from learner_cases import CASES, Pairs

import coactive_fast as cf

every = pytest.mark.parametrize("case", CASES, ids=str)


def learned(case, rounds, first=0, learner=None):
    learner = case.make() if learner is None else learner
    for t in range(first, first + rounds):
        case.round(learner, t)
    return learner


def same_state(a, b):
    np.testing.assert_equal(a._engine._state(), b._engine._state())


@every
def test_parameters(case):
    learner = case.make()
    parameters = learner.get_params()
    again = type(learner)(**parameters)
    assert all(again.get_params()[name] is value for name, value in parameters.items())
    assert all(getattr(learner, name) is value for name, value in parameters.items())
    assert repr(again) == repr(learner) and type(learner).__name__ in repr(learner)
    assert set(parameters) <= set(dir(learner))
    with pytest.raises(ValueError, match="no_such_parameter"):
        learner.set_params(no_such_parameter=1)
    with pytest.raises(AttributeError):
        setattr(learner, next(iter(parameters)), 1)
    with pytest.raises(AttributeError):
        learner.no_such_attribute  # noqa: B018


@every
def test_parameters_can_change(case):
    learner = case.make()
    name, value = next(iter(case.change.items()))
    assert learner.set_params(**case.change) is learner
    assert getattr(learner, name) == value
    learned(case, 5, learner=learner)
    late = learned(case, 5)
    before = case.reading(late)
    late.set_params(**case.change)
    np.testing.assert_array_equal(case.reading(late), before)  # from the next round on
    assert late.rounds == 5
    learned(case, 5, 5, late)
    unchanged = learned(case, 10)
    assert not np.array_equal(case.reading(late), case.reading(unchanged))


@every
def test_shaping_parameters_wait_for_reset(case):
    learner = learned(case, 3)
    for name, value in case.shaping.items():
        before = learner.get_params()
        with pytest.raises(ValueError, match=name):
            learner.set_params(**{name: value})
        assert learner.get_params() == before
        learner.reset().set_params(**{name: value})
        assert getattr(learner, name) == value
        learner = learned(case, 3)


@every
def test_a_refused_parameter_changes_nothing(case):
    learner = learned(case, 3)
    before, state = learner.get_params(), learner._engine._state()
    name = next(iter(case.change))
    with pytest.raises((TypeError, ValueError), match=name):
        learner.set_params(**{name: "nonsense"})
    assert learner.get_params() == before
    np.testing.assert_equal(learner._engine._state(), state)


@every
@pytest.mark.parametrize("rounds", [0, 1, 6])
def test_copies_go_on_alike(case, rounds, tmp_path):
    learner = learned(case, rounds)
    own = isinstance(getattr(learner, "task", None), Pairs)
    path = tmp_path / "learner.cf"
    learner.save(path)
    copies = [copy.copy(learner), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner)),
              cf.load(path, task=Pairs() if own else None)]
    for other in copies:
        assert type(other) is type(learner) and other.rounds == rounds
        same_state(other, learner)
    learned(case, 7, rounds, learner)
    for other in copies:
        assert other.rounds == rounds  # independent
        learned(case, 7, rounds, other)
        same_state(other, learner)
        np.testing.assert_array_equal(case.reading(other), case.reading(learner))


@every
def test_reset_and_clone(case):
    learner = learned(case, 6)
    fresh = case.make()
    clone = learner.clone()
    assert clone.rounds == 0
    assert learner.reset() is learner
    for other in (learner, clone):
        same_state(other, fresh)
        same_state(learned(case, 6, learner=other), learned(case, 6))


@every
def test_sklearn_clone(case):
    base = pytest.importorskip("sklearn.base")
    clone = base.clone(learned(case, 3))
    assert clone.rounds == 0
    same_state(clone, case.make())


@every
def test_refused_input_changes_nothing(case):
    for rounds in (0, 4):
        learner = learned(case, rounds)
        state = pickle.dumps(learner._engine._state())
        for bad in case.bad:
            with np.errstate(all="ignore"), pytest.raises((TypeError, ValueError)) as caught:
                bad(learner)
                if rounds == 0:  # a dimension is only wrong once there is one
                    learner.reset()
                    raise ValueError("nothing was wrong yet")
            assert str(caught.value)
            assert pickle.dumps(learner._engine._state()) == state


@every
def test_reading_while_learning(case):
    """Readers see some round's weights whole, and the end is that of one thread alone."""
    learner, stop, seen, failed = case.make(), threading.Event(), [], []

    def read():
        try:
            while not stop.is_set():
                seen.append(case.reading(learner))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for t in range(40):
        case.round(learner, t)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed
    assert all(np.isfinite(reading).all() for reading in seen)
    same_state(learner, learned(case, 40))


@every
def test_damaged_states_are_refused(case):
    learner = learned(case, 5)
    state = learner._engine._state()
    before = pickle.dumps(state)
    for name in state:
        for damage in (None, "text", np.full(3, np.nan)):
            if name == "pending" and damage is None:  # nothing is: a state like others
                continue
            with pytest.raises((TypeError, ValueError, OverflowError)):
                learner._engine._restore({**state, name: damage})
            assert pickle.dumps(learner._engine._state()) == before
        with pytest.raises((TypeError, ValueError)):
            learner._engine._restore({k: v for k, v in state.items() if k != name})
    for wrong in (None, [], {}):
        with pytest.raises((TypeError, ValueError)):
            learner._engine._restore(wrong)
    assert pickle.dumps(learner._engine._state()) == before


def test_files_say_what_is_wrong(tmp_path):
    own = learned(next(c for c in CASES if c.name == "preference-own"), 3)
    path = tmp_path / "own.cf"
    own.save(path)
    with pytest.raises(ValueError, match="task must be given"):
        cf.load(path)
    np.testing.assert_array_equal(cf.load(path, task=Pairs()).weights, own.weights)
    with pytest.raises(ValueError, match=r"own\.cf"):
        cf.load(path, task=cf.Items(np.zeros((2, 3))))

    def rule(state, delta):
        return state.weights + delta

    custom = cf.CustomPreferencePerceptron(cf.Ranking(), rule)
    with pytest.raises(ValueError, match="rule"):
        custom.save(tmp_path / "custom.cf")
    assert not (tmp_path / "custom.cf").exists()
    with pytest.raises(FileNotFoundError):
        cf.load(tmp_path / "missing.cf")
    (tmp_path / "text.cf").write_text("no learner")
    with pytest.raises(ValueError, match=r"text\.cf"):
        cf.load(tmp_path / "text.cf")
