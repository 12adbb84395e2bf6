"""Every learner of the registry under several threads.

Each class plays the layouts that `layouts` has of it; one without any fails here.
"""

import tempfile
import threading
import time
from functools import partial

import children
import layouts
import numpy as np
import pytest
from crowds import THREADS, digest, first, in_child, passes, snapshots, together, until
from readers import disturbers, readings

from coactive_fast.learner import _store

MOST = 48  # rounds of one sequence, which ends earlier after
LONG = 0.01  # seconds

LAYOUTS = {name: [layout.name for layout in layouts.LEARNERS if type(layout.make()) is cls]
           for name, cls in _store.learners().items()}
CASES = [(name, case) for name, found in LAYOUTS.items() for case in found or [None]]
# these runs ask and answer in calls of their own, as the set's or the layout's Python code needs
RUNS = [(name, case) for name, case in CASES
        if not case or not (case.endswith("-own") or case == "dueling-items")]
# the solver draws from one random source of the process
ALONE = [(name, case) for name, case in CASES if not case or not case.startswith("svm")]


def scenarios(cases):
    """Marks a test that is run for each layout of each class."""
    return pytest.mark.parametrize(
        ("name", "case"), [pytest.param(name, case, id=case or name) for name, case in cases])


def play(scenario, name, case):
    assert case is not None, f"tests/layouts.py has no layout of {name}: its threads are not tested"
    if case.startswith("svm"):
        pytest.importorskip("sklearn")
    in_child(scenario, case)


# --- in a child ---------------------------------------------------------------------------------


def sequence(layout):
    """States of a learner alone: after each call of a fixed sequence, and how many rounds it is."""
    learner, begin, states = layout.make(), time.monotonic(), []
    states.append(digest(learner))
    for t in range(MOST):
        decision = layout.act(learner, t)
        states.append(digest(learner))
        layout.tell(learner, t, decision)
        states.append(digest(learner))
        if time.monotonic() - begin > LONG:
            break
    return states, t + 1


def one_learns_and_others_read(case):
    """What was learned is what one thread learns alone; a copy holds a state of the sequence."""
    layout = layouts.BY_NAME[case]
    states, rounds = sequence(layout)
    with tempfile.TemporaryDirectory() as folder:
        for _ in passes():
            learner, done, seen = layout.make(), threading.Event(), set()
            together(first(done, partial(layouts.taught, layout, rounds, learner)),
                     until(done, *snapshots(learner, seen)),
                     *[until(done, *calls) for calls in disturbers(layout, learner, folder)])
            assert digest(learner) == states[-1], "another state than that of one thread"
            torn = seen - set(states)
            assert not torn, f"{len(torn)} of {len(seen)} copies hold a state between two calls"


def repeated(layout):
    """A round and its decision that can be learned from again and again, if there is one."""
    for t in (1, 2, 3, 5, 6, 7):
        learner = layout.make()
        decision = layout.act(learner, t)
        before = digest(learner)
        layout.tell(learner, t, decision)
        if digest(learner) == before:
            continue  # nothing was learned, as where a filter does not forward
        try:
            layout.tell(learner, t, decision)
        except (RuntimeError, ValueError):
            return None  # a value is the answer to one question
        return t, decision
    raise AssertionError("no example of the layout changes the learner")


def several_learn_one_example(case):
    """Whatever the order, it is one sequence of equal calls: no example is lost or half learned."""
    layout = layouts.BY_NAME[case]
    example = repeated(layout)
    if example is None:
        return asked_and_answered_in_turn(layout)
    each, start = 0, time.monotonic()
    alone = layout.make()
    layout.act(alone, example[0])
    while each < MOST and (each == 0 or time.monotonic() - start < LONG):
        for _ in range(THREADS):
            layout.tell(alone, *example)
        each += 1
    expected = digest(alone)

    def work():
        for _ in range(each):
            layout.tell(learner, *example)

    for _ in passes():
        learner = layout.make()
        layout.act(learner, example[0])
        together(*[work] * THREADS)
        assert digest(learner) == expected, "another state than that of one thread"


def asked_and_answered_in_turn(layout):
    """A point that is asked for and its value belong together: one thread plays at a time."""
    states, rounds = sequence(layout)
    for _ in passes():
        learner, lock, at = layout.make(), threading.Lock(), iter(range(rounds))

        def work(learner=learner, lock=lock, at=at):
            while True:
                with lock:
                    t = next(at, None)
                    if t is None:
                        return
                    layout.play(learner, t)

        together(*[work] * THREADS)
        assert digest(learner) == states[-1]


def several_run_one_learner(case):
    """Runs of one learner in several threads: no round is lost."""
    layout = layouts.BY_NAME[case]
    each = 4 if layout.own or layout.solver else 32
    before, alone = layout.make().rounds, layout.make()
    layout.run(alone, each)
    for _ in passes():
        learner = layout.make()
        together(*[lambda of=learner: layout.run(of, each)] * THREADS)
        assert learner.rounds - before == THREADS * (alone.rounds - before)


def each_has_its_own(case):
    """Learners made at once, in threads, of the same parameter objects: each ends as one alone."""
    layout = layouts.BY_NAME[case]
    states, rounds = sequence(layout)
    made = layout.make()
    plain = type(made)(**made.get_params(deep=False))
    same = digest(layouts.taught(layout, rounds, plain)) == states[-1]  # not with one class more
    found = []

    def work():
        learner = layout.make()
        found.append(digest(layouts.taught(layout, rounds, learner)))
        if same:
            learner = type(learner)(**made.get_params(deep=False))
            found.append(digest(layouts.taught(layout, rounds, learner)))

    for _ in passes():
        together(*[work] * THREADS)
        assert set(found) == {states[-1]}, "another state than that of one thread"


def others_change_it(case):
    """One thread resets the learner, one sets its parameters anew, others run it, play with it and
    read it. Nothing breaks, and after a last reset it learns as one that was just made."""
    layout = layouts.BY_NAME[case]
    _, rounds = sequence(layout)
    learner = layout.make()
    learner.reset()
    expected = digest(layouts.taught(layout, rounds, learner))
    values = {name: value for name, value in learner.get_params(deep=False).items()
              if name not in learner._shaping}
    anew = {name: np.float64(value) for name, value in values.items() if type(value) is float}
    few = 2 if layout.own or layout.solver else 8

    def plays():
        for t in range(rounds):
            unless_forgotten(layout.play, learner, t)

    with tempfile.TemporaryDirectory() as folder:
        calls = disturbers(layout, learner, folder)
        for _ in passes():
            done = threading.Event()
            together(first(done, lambda: [plays() for _ in range(few)]),
                     until(done, learner.reset),
                     until(done, lambda: learner.set_params(**{**values, **anew}),
                           lambda: learner.set_params(**values)),
                     until(done, lambda: unless_forgotten(layout.run, learner, few)),
                     until(done, *[call for some in calls for call in some]))
            learner.set_params(**values)
            learner.reset()
            assert digest(layouts.taught(layout, rounds, learner)) == expected


def unless_forgotten(call, *arguments):
    """Another thread may have taken back what an answer belongs to, or asked for something else."""
    try:
        call(*arguments)
    except ValueError as error:
        if not any(words in str(error) for words in FORGOTTEN):
            raise


FORGOTTEN = ("no point was asked for", "must be what present returned",
             "must be that of a pending decision", "an arm was added meanwhile")
def answers_are_added(case):
    """Classes or arms are added while others choose, learn and read."""
    layout, rounds = layouts.BY_NAME[case], 24
    alone = layouts.taught(layout, rounds)
    for _ in passes():
        learner, done, labels = layout.make(), threading.Event(), []
        arms = hasattr(learner, "add_arm")
        add = learner.add_arm if arms else learner.add_class

        def answers(learner=learner, arms=arms):
            return learner.n_arms if arms else learner.n_classes

        before = answers()
        together(first(done, partial(play_all, layout, rounds, learner)),
                 *[lambda add=add, labels=labels: [labels.append(add()) for _ in range(5)]] * 2,
                 until(done, *[partial(unless_forgotten, call)
                               for call in readings(layout, learner).values()]))
        assert sorted(labels) == list(range(before, before + 10)) and answers() == before + 10
        assert learner.rounds == alone.rounds


def play_all(layout, rounds, learner):
    for t in range(rounds):
        while True:
            try:
                layout.play(learner, t)
                break
            except ValueError as error:
                if "an arm was added meanwhile" not in str(error):
                    raise


MERGING = {"OnlineRidge": {}, "LinearBandit": {}, "ArmBandit": {"n_arms": 1}}  # how they are made


def two_merge_each_other(name):
    """Both locks are wanted in either order."""
    a, b = (_store.learners()[name](**MERGING[name]) for _ in range(2))
    arm = (0,) if name == "ArmBandit" else ()

    def work(one, other):
        for _ in range(8):
            for row in layouts.ROWS[:4]:
                one.learn(row, *arm, 1.0)
            one.merge(other)
            one.reset()

    for _ in passes():
        a.learn(layouts.ROWS[0], *arm, 1.0)
        b.learn(layouts.ROWS[1], *arm, 1.0)
        together(*[lambda: work(a, b), lambda: work(b, a)] * (THREADS // 2))
        for learner in (a, b):
            learner.reset()
            learner.learn(layouts.ROWS[0], *arm, 1.0)
            assert learner.rounds == 1


# --- the tests ----------------------------------------------------------------------------------


@children.forks
@scenarios(CASES)
def test_one_learns_and_others_read(name, case):
    play(one_learns_and_others_read, name, case)


@children.forks
@scenarios(CASES)
def test_several_learn_one_example(name, case):
    play(several_learn_one_example, name, case)


@children.forks
@scenarios(RUNS)
def test_several_run_one_learner(name, case):
    play(several_run_one_learner, name, case)


@children.forks
@scenarios(ALONE)
def test_each_has_its_own(name, case):
    play(each_has_its_own, name, case)


@children.forks
@scenarios(CASES)
def test_others_change_it(name, case):
    play(others_change_it, name, case)


@children.forks
@scenarios([(name, case) for name, case in CASES
            if {"add_class", "add_arm"} & set(dir(_store.learners()[name]))])
def test_answers_are_added(name, case):
    play(answers_are_added, name, case)


@children.forks
@pytest.mark.parametrize("name", [name for name, cls in _store.learners().items()
                                  if hasattr(cls, "merge")])
def test_two_merge_each_other(name):
    in_child(two_merge_each_other, name)
