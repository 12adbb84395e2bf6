"""State machines over every learner, driven by hypothesis; `machines/run_long.py` drives them far.

A step is a rule and a number that the rule draws its arguments from, so hypothesis chooses which
rules follow each other and shrinks that list; a finding prints what
`machines.core.replay` needs.
"""

import importlib.util

import pytest

pytest.importorskip("hypothesis")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from machines import core, every

from coactive_fast.learner import _store

NUMBERS = st.integers(0, 2**32 - 1)
SHORT = settings(max_examples=20, stateful_step_count=30, deadline=None, derandomize=True,
                 suppress_health_check=list(HealthCheck))


def machine_of(name):
    """The class that hypothesis runs: a method for each rule."""

    class Steps(RuleBasedStateMachine):
        @initialize(seed=NUMBERS)
        def begin(self, seed):
            self.machine = core.build(name, seed)

    def step_of(key):
        def step(self, seed):
            self.machine.step(key, seed)
        step.__name__ = key
        return rule(seed=NUMBERS)(step)

    return type(name, (Steps,), {key: step_of(key) for key in core.weights_of(name)})


def test_every_learner_has_a_machine():
    without = set() if importlib.util.find_spec("sklearn") else {"RankingSVM"}
    assert {*_store.learners(), *every.OTHERS} - without == set(core.MACHINES)


@pytest.mark.parametrize("name", core.MACHINES)
def test_machine(name):
    run_state_machine_as_test(machine_of(name), settings=SHORT)
