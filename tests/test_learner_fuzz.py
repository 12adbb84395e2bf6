"""A thinned selection of the fuzz of states; `fuzz_states` as a program does all of it."""

import time

import children
import fuzz_states
import layouts
import pytest

FEW, SEED = 20, 0


def no_findings(name):
    end = time.monotonic() + 20.0
    findings, done = fuzz_states.fuzz(name, fuzz_states.a_few(FEW), SEED, end, most=3)
    assert not findings, "\n".join(f"{text}\n    {what}" for text, what in findings.items())
    assert done > FEW


@children.forks
@pytest.mark.parametrize("name", [name for name in fuzz_states.NAMES
                                  if not layouts.BY_NAME[name].solver])  # they take too long
def test_states_that_lie(name):
    children.run(no_findings, name, seconds=40.0)
