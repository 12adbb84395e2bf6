"""Learners in files: they go on as they would have gone on, and older files are refused by name."""

import copy

import layouts
import make_states
import numpy as np
import pytest
import readers

SAVED = [layout for layout in layouts.ALL if not layout.own]
every = pytest.mark.parametrize("layout", SAVED, ids=str)


def assert_same(one, other):
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert values.tobytes() == other[name].tobytes(), name


@every
def test_a_saved_learner_goes_on_bit_for_bit(layout, tmp_path):
    if layout.solver:
        pytest.importorskip("sklearn")
    learner = layouts.taught(layout, make_states.ROUNDS)
    pending = layout.act(learner, make_states.ROUNDS)
    make_states.save(learner, tmp_path / "saved.cf")
    again = make_states.load(tmp_path / "saved.cf")
    make_states.save(again, tmp_path / "again.cf")
    assert (tmp_path / "again.cf").read_bytes() == (tmp_path / "saved.cf").read_bytes()
    assert_same(make_states.go_on(layout, learner, pending),
                make_states.go_on(layout, again, pending))


@pytest.mark.parametrize(("name", "writer"), [
    ("simple-filter-0.1", "version 1, written by coactive_fast 0.1"),
    ("arm-bandit-0.2", "version 2, written by coactive_fast 0.2"),
    ("metric-diagonal-0.2", "version 2, written by coactive_fast 0.2"),
])
def test_a_file_of_an_older_version_is_refused_by_the_version_that_wrote_it(name, writer):
    with pytest.raises(ValueError, match=f"{writer}.* reads version 3 only"):
        make_states.load(make_states.FOLDER / f"{name}.cf")


def test_a_state_of_a_later_version_is_refused():
    state = layouts.LEARNERS[0].make()._engine._state()
    with pytest.raises(ValueError, match="version 4, written by a later coactive_fast"):
        layouts.LEARNERS[0].make()._engine._restore(state | {"version": 4})


def bits(found):
    """What was read, as something to compare to the last bit."""
    if isinstance(found, dict):
        return {name: bits(value) for name, value in found.items()}
    if isinstance(found, tuple | list):
        return [bits(value) for value in found]
    if isinstance(found, np.random.Generator):
        return repr(found.bit_generator.state)
    if hasattr(found, "get_params"):
        return bits(found.get_params())
    return np.asarray(found).tobytes() if np.asarray(found).dtype != object else repr(found)


@pytest.mark.parametrize(
    "layout", [layout for layout in layouts.LEARNERS if not layout.own], ids=str)
def test_a_copy_reads_the_same_bits(layout):
    """Whatever waits to be worked into a matrix when it is copied."""
    if layout.solver:
        pytest.importorskip("sklearn")
    learner = layout.make()
    for t in range(12):
        layout.play(learner, t)
        other = copy.deepcopy(learner)
        for name, read in readers.readings(layout, learner).items():
            assert bits(read()) == bits(readers.readings(layout, other)[name]()), (t, name)
