"""Generators from seeds, and through a file and back."""

import copy
import pickle

import numpy as np
import pytest

from coactive_fast.learner import _file, _random

KINDS = pytest.mark.parametrize("kind", _random.BIT_GENERATORS)


def draws(generator):
    """Draws of every width, as bytes: an odd number of 32-bit ones, so that a half stays over."""
    return b"".join(part.tobytes() for part in (
        generator.integers(2**32, size=3, dtype=np.uint32), generator.random(5),
        generator.integers(10**12, size=4), generator.random(3, dtype=np.float32),
        generator.standard_normal(7), generator.permutation(9),
    ))


def through_a_file(generator, folder):
    _file.write(folder / "generator.cf", *_random.pack(generator))
    return _random.unpack(*_file.read(folder / "generator.cf"))


def made(kind, seed=1):
    return np.random.Generator(getattr(np.random, kind)(seed))


# --- there and back -------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("before", range(6))
def test_continues_exactly(kind, before, tmp_path):
    generator = made(kind)
    generator.integers(2**32, size=before, dtype=np.uint32)
    again = through_a_file(generator, tmp_path)
    assert type(again.bit_generator).__name__ == kind
    for _ in range(200):  # beyond the 624 words of the Mersenne Twister
        assert draws(again) == draws(generator)


@KINDS
def test_packing_draws_nothing(kind):
    generator, twin = made(kind), made(kind)
    head, arrays = _random.pack(generator)
    assert draws(generator) == draws(twin)
    assert draws(_random.unpack(head, arrays)) == draws(made(kind))  # what was packed is no view
    assert draws(_random.unpack(head, arrays)) == draws(made(kind))  # and can be used again


def test_the_unused_half_is_kept():
    generator = made("PCG64")
    generator.integers(2**32, dtype=np.uint32)
    head, _ = _random.pack(generator)
    assert head["has_uint32"] == 1
    again = _random.unpack(head, {})
    assert again.integers(2**32, dtype=np.uint32) == head["uinteger"]


@KINDS
@pytest.mark.parametrize("seed", [0, 2**200, [1, 2**70, 3], np.array([5, 6], np.uint32),
                                  np.int64(9), True, [], [[1, 2], [3]], ["0x10"],
                                  range(3), (1, (2, 3)), [np.array([7, 8])],
                                  np.array([2**63], np.uint64)], ids=repr)
def test_spawn_goes_on(kind, seed, tmp_path):
    try:
        sequence = np.random.SeedSequence(seed, spawn_key=(4, 2))
    except TypeError:
        pytest.skip("this NumPy takes no nested seeds")  # from 2.5 on
    generator = made(kind, sequence)
    generator.spawn(3)
    again = through_a_file(generator, tmp_path)
    for child, twin in zip(again.spawn(2), generator.spawn(2), strict=True):
        assert draws(child) == draws(twin)


@pytest.mark.parametrize("generator", [
    np.random.Generator(np.random.RandomState(3)._bit_generator),  # seeded without a sequence
    made("PCG64", np.random.SeedSequence(3, pool_size=8)),
    pickle.loads(pickle.dumps(made("SFC64"))), copy.deepcopy(made("Philox")),
], ids=["RandomState", "large pool", "unpickled", "copied"])
def test_origins(generator, tmp_path):
    again = through_a_file(generator, tmp_path)
    assert draws(again) == draws(generator)
    again.spawn(1)


class Foreign(np.random.PCG64):
    pass


def test_bit_generator_from_elsewhere():
    with pytest.raises(ValueError, match=r"rng must use .*PCG64.*test_learner_random\.Foreign"):
        _random.pack(np.random.Generator(Foreign(1)), "rng")


@pytest.mark.parametrize("value", [3, None, np.random.PCG64(1), np.random.RandomState(1)],
                         ids=lambda v: type(v).__name__)
def test_what_is_no_generator(value):
    with pytest.raises(TypeError, match="seed must be a numpy Generator"):
        _random.pack(value)


# --- states that cannot be ------------------------------------------------------------------


def places(state, path=()):
    """The keys of a nested dict, as paths."""
    for key, value in state.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from places(value, (*path, key))


def changed(state, path, *value):
    """A copy with another value in that place, or with nothing there."""
    new = copy.deepcopy(state)
    inner = new
    for key in path[:-1]:
        inner = inner[key]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return new


@KINDS
def test_damaged_heads(kind):
    head, arrays = _random.pack(made(kind))
    del head["seed_sequence"]
    for path in places(head):
        for value in [(), (-1,), (2**200,), (1.0,), (True,), ("x",), ([1],), ({},), (None,)]:
            if value == ({},) and head[path[0]] == {}:
                continue  # all that is inside is arrays
            with pytest.raises(ValueError):
                _random.unpack(changed(head, path, *value), arrays)
    with pytest.raises(ValueError, match="the generator's state must hold bit_generator"):
        _random.unpack(head | {"more": 1}, arrays)
    assert draws(_random.unpack(head, arrays)) == draws(made(kind))


@pytest.mark.parametrize("sequence", [
    3, [], {}, "x", {"entropy": 3}, {"spawn_key": [], "n_children_spawned": 0},
    *[{"entropy": value, "spawn_key": [], "n_children_spawned": 0}
      for value in (None, -1, 1.5, "x", [1.5], [-1], ["x"], {}, True)],
    *[{"entropy": 3, "spawn_key": value, "n_children_spawned": 0}
      for value in (None, 1, "x", [-1], [1.5], {})],
    *[{"entropy": 3, "spawn_key": [], "n_children_spawned": value}
      for value in (None, -1, 2**32, 1.0, "x", [], True)],
], ids=repr)
def test_damaged_seed_sequence(sequence):
    head, arrays = _random.pack(made("PCG64"))
    with pytest.raises(ValueError, match="seed_sequence must be the state of a SeedSequence"):
        _random.unpack(head | {"seed_sequence": sequence}, arrays)


@KINDS
def test_damaged_arrays(kind):
    head, arrays = _random.pack(made(kind))
    for name, array in arrays.items():
        for bad in (array[:-1], array.astype(np.int64), array.reshape(1, -1), array.tolist(), 3):
            with pytest.raises(ValueError, match=name.split(".")[-1]):
                _random.unpack(head, arrays | {name: bad})
        with pytest.raises(ValueError):
            _random.unpack(head, {k: v for k, v in arrays.items() if k != name})
    for name in ("more", "more.inner", "bit_generator.x"):
        with pytest.raises(ValueError):
            _random.unpack(head, arrays | {name: np.zeros(2)})


@pytest.mark.parametrize("key, kind, limit", [("pos", "MT19937", 624), ("buffer_pos", "Philox", 4)])
def test_places_in_a_buffer_stay_inside(key, kind, limit):
    head, arrays = _random.pack(made(kind))
    path = ("state", "pos") if key == "pos" else (key,)
    _random.unpack(changed(head, path, limit), arrays).random(1000)
    with pytest.raises(ValueError, match=f"{key} must be an int from 0 to {limit}"):
        _random.unpack(changed(head, path, limit + 1), arrays)


@pytest.mark.parametrize("head", [None, [], 3, {}, {"bit_generator": "RANDU"},
                                  {"bit_generator": ["PCG64"]}, {"bit_generator": "PCG64"}])
def test_what_is_no_state(head):
    with pytest.raises(ValueError):
        _random.unpack(head, {})


# --- from seeds -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**100, [1, 2], np.array([3, 4])], ids=repr)
def test_seeds_are_those_of_default_rng(seed):
    assert draws(_random.make_generator(seed)) == draws(np.random.default_rng(seed))


def test_no_seed():
    assert draws(_random.make_generator(None)) != draws(_random.make_generator(None))


@KINDS
def test_generators_are_copied(kind):
    given, twin = made(kind), made(kind)
    given.integers(2**32, dtype=np.uint32), twin.integers(2**32, dtype=np.uint32)
    for seed in (given, given.bit_generator):
        own = _random.make_generator(seed)
        assert type(own) is np.random.Generator
        assert own.bit_generator is not given.bit_generator
        assert draws(own) == draws(copy.deepcopy(twin))
    assert draws(given) == draws(twin)  # not used up by the copies


def test_seed_sequence_is_copied():
    given, twin = np.random.SeedSequence(5), np.random.SeedSequence(5)
    own = _random.make_generator(given)
    assert draws(own.spawn(1)[0]) == draws(np.random.default_rng(twin.spawn(1)[0]))
    assert given.n_children_spawned == 0


@pytest.mark.parametrize("seed, error", [
    ("abc", TypeError), (1.5, TypeError), (b"1", TypeError), ({}, TypeError), (object(), TypeError),
    ([1.5], TypeError), (float("nan"), TypeError), (lambda: 1, TypeError),
    ((i for i in [1]), TypeError),
    (-1, ValueError), ([1, -2], ValueError), (np.int64(-4), ValueError), ([1, "x"], ValueError),
], ids=lambda v: f"{v!r:.12}")
def test_refused_seeds(seed, error):
    with pytest.raises(error, match="user_seed must be None, an int >= 0"):
        _random.make_generator(seed, "user_seed")
