"""Choices among the rows of a catalogue: those that all rows, scored afresh, would give."""

import numpy as np
import pytest
from rewards_cases import golden_cases

import coactive_fast as cf

MODULES = [pytest.param(cf.reference, id="reference"), pytest.param(cf, id="compiled")]
TOLERANCE = 1e-8


@pytest.fixture(params=MODULES)
def module(request):
    return request.param


# --- the golden vectors ---------------------------------------------------------------------


def happen(bandit, items, events, added, t):
    """What the vectors say of round t, before the choice."""
    for when, what, argument in events:
        if when != t:
            continue
        if what == "decay":
            bandit.decay(argument)
        elif what == "remove":
            items.remove(argument)
        else:
            first = sum(m for s, w, m in events if w == "add" and s < t)
            items.add(added[first:first + argument])


@pytest.mark.parametrize("name, a, arguments", golden_cases("catalogue", "scale"))
def test_golden(module, name, a, arguments):
    bandit, items = module.LinearBandit(**arguments), module.Catalogue(a["X"])
    k, events, n = a["meta"]["k"], a["meta"]["events"], len(a["X"])
    for t, expected in enumerate(a["choice"]):
        happen(bandit, items, events, a.get("added"), t)
        allowed = None
        if "allowed" in a:
            allowed = np.unpackbits(a["allowed"][t])[:n].astype(bool)
        chosen = bandit.choose(items, allowed=allowed, k=k)
        np.testing.assert_array_equal(chosen, expected)
        bandit.learn(a["learn_x"][t], a["reward"][t], weight=a["weight"][t])
    np.testing.assert_allclose(bandit.weights, a["w"], rtol=TOLERANCE, atol=1e-12)
