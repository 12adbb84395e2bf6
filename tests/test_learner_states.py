"""Files of older versions load and go on as they would have gone on then; see make_states.py."""

import copy

import layouts
import make_states
import numpy as np
import pytest
import readers

import coactive_fast as cf

EXPECTED = make_states.read_expected()
FUSED = cf.show_config("dicts")["isa"]["fused_multiply_add"]
SAVED = [layout for layout in layouts.ALL if not layout.own]
every = pytest.mark.parametrize("layout", SAVED, ids=str)


def agree(got, expected, name):
    """The same bits; on a CPU without fused multiply-add, the same numbers."""
    if FUSED:
        assert got.tobytes() == expected.tobytes(), (name, got, expected)
    else:
        scale = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * scale, err_msg=name)


# Since many rows are read in one pass, x^T A^-1 x of the fast form is summed in another order: a
# reading whose last digit may differ. What is learned, and all else that is read, has the old bits.
RESUMMED = ("metric-full", "metric-dual-budget", "metric-dual-budget-sparse")


@every
def test_an_old_file_goes_on_bit_for_bit(layout):
    if layout.solver:
        pytest.importorskip("sklearn")
    expected = dict(EXPECTED[layout.name])
    learner = make_states.load(make_states.FOLDER / f"{layout.name}.cf")
    pending = make_states.pending_of(expected.pop("pending"), learner)
    got = make_states.go_on(layout, learner, pending)
    assert set(got) >= set(expected)  # a newer version may say more
    for name, values in expected.items():
        if layout.solver and not name.startswith("before"):
            # scikit-learn's tolerance, and its version, decide the last digits of the weights
            np.testing.assert_allclose(got[name], values, rtol=0.05, atol=0.05, err_msg=name)
        elif layout.name in RESUMMED and name.split()[-1] in ("quads", "decisions"):
            np.testing.assert_allclose(got[name], values, rtol=1e-14, err_msg=name)
        elif layout.forgets:
            assert got[name].shape == values.shape and np.isfinite(got[name]).all(), name
            if name.startswith("before"):
                np.testing.assert_allclose(got[name], values, rtol=1e-9, err_msg=name)
        else:
            agree(got[name], values, name)


@every
def test_what_was_loaded_is_saved_and_loaded_again(layout, tmp_path):
    learner = make_states.load(make_states.FOLDER / f"{layout.name}.cf")
    make_states.save(learner, tmp_path / "again.cf")
    again = make_states.load(tmp_path / "again.cf")
    for one, other in zip(*(make_states.readings(layout, it).items() for it in (learner, again)),
                          strict=True):
        assert one[0] == other[0] and one[1].tobytes() == other[1].tobytes(), one[0]


def test_every_layout_has_its_file_and_every_file_its_layout():
    files = {path.stem for path in make_states.FOLDER.glob("*.cf")}
    assert files == set(EXPECTED) == {layout.name for layout in SAVED}


def test_the_files_are_small():
    # few features, few answers: some 4 KB a layout
    assert sum(path.stat().st_size for path in make_states.FOLDER.iterdir()) < 460_000


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
