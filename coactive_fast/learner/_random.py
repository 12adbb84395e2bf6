"""Random generators: made from a seed, taken apart into plain data, put together again."""

import copy

import numpy as np

# those whose state is known to be complete; the limits keep a damaged one from reading beyond
# its own memory (pos and buffer_pos are indices)
BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
LIMITS = {"state": 2**128, "inc": 2**128, "has_uint32": 2, "uinteger": 2**32, "pos": 625,
          "buffer_pos": 5}
SEQUENCE = ("entropy", "spawn_key", "n_children_spawned")
POOL = np.random.SeedSequence(0).pool_size  # words, of those who name no other
MOST_POOL = 1 << 12  # the time to mix one goes by its square, and by its length times the seeds
MOST_MIXED = 1 << 26  # words of the seeds times those of the pool
MOST_BITS = 1 << 15  # of one seed: to cut it into words goes by its square


# Before 2.0 the copies that NumPy makes of a generator draw like it, and spawn others.
COPIES_SPAWN_ALIKE = np.lib.NumpyVersion(np.__version__) >= "2.0.0"


def copied(generator):
    """A copy that draws and spawns what the generator would."""
    if not COPIES_SPAWN_ALIKE:
        try:
            return unpack(*pack(generator))
        except ValueError:  # of a foreign kind
            pass
    return copy.deepcopy(generator)


def make_generator(seed, name="seed"):
    """A generator of one's own from anything that `numpy.random.default_rng` takes.

    A Generator, BitGenerator or SeedSequence is copied: the one given is neither used up nor
    shared. What is refused is refused under `name`.
    """
    if isinstance(seed, np.random.BitGenerator):
        seed = np.random.Generator(seed)
    if isinstance(seed, np.random.Generator):
        return copied(seed)
    try:
        return np.random.default_rng(copy.deepcopy(seed))
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name} must be None, an int >= 0, a sequence of such, or a SeedSequence, "
                   f"BitGenerator or Generator: {error}") from None


def pack(generator, name="seed"):
    """A generator's state as ``(head, arrays)`` for a state file.

    `unpack` makes a generator of it that continues exactly, the unused half of a 64-bit draw
    included. A seed sequence is kept where it is numpy's own, so that `spawn` goes on too;
    where it is another, the children after loading come from fresh entropy.
    """
    if not isinstance(generator, np.random.Generator):
        raise TypeError(f"{name} must be a numpy Generator, got {type(generator).__name__}")
    bit_generator = generator.bit_generator
    kind = type(bit_generator)
    if kind.__name__ not in BIT_GENERATORS or kind is not getattr(np.random, kind.__name__):
        raise ValueError(f"{name} must use one of numpy's bit generators "
                         f"({', '.join(BIT_GENERATORS)}) to be saved, got "
                         f"{kind.__module__}.{kind.__qualname__}")
    with bit_generator.lock:
        state = dict(bit_generator.state)
        state["seed_sequence"] = _sequence_state(bit_generator.seed_seq)
    return _split(state)


def unpack(head, arrays):
    """The generator whose state `pack` gave; a `ValueError` where the state cannot be one."""
    if not isinstance(head, dict):
        raise ValueError(f"a generator's state must be a dict, got {type(head).__name__}")
    state = _join(head, arrays)
    kind = state.get("bit_generator")
    if kind not in BIT_GENERATORS:
        raise ValueError(f"bit_generator must be one of {', '.join(BIT_GENERATORS)}, got {kind!r}")
    sequence = state.pop("seed_sequence", None)
    bit_generator = getattr(np.random, kind)(_sequence(sequence))
    _check(state, bit_generator.state, "the generator's state")
    bit_generator.state = state
    return np.random.Generator(bit_generator)


def _split(state):
    """A nested dict as its plain part and its arrays, ``state["a"]["b"]`` under ``"a.b"``."""
    head, arrays = {}, {}
    for key, value in state.items():
        if isinstance(value, np.ndarray):
            arrays[key] = value
        elif isinstance(value, dict):
            head[key], inner = _split(value)
            arrays |= {f"{key}.{name}": array for name, array in inner.items()}
        else:
            head[key] = value
    return head, arrays


def _join(head, arrays):
    """What `_split` took apart; the two are left as they are."""
    if not isinstance(head, dict) or not isinstance(arrays, dict):
        raise ValueError("a generator's state must be two dictionaries, of plain data and arrays")
    state = copy.deepcopy(head)
    for name, array in arrays.items():
        *outer, key = name.split(".")
        inner = state
        for part in outer:
            inner = inner.get(part) if isinstance(inner, dict) else None
        if not isinstance(inner, dict):
            raise ValueError(f"a generator's state has no array {name!r}")
        inner[key] = array
    return state


def _check(given, model, where):
    """Refuses what has not the form of a state that numpy itself made."""
    if isinstance(model, dict):
        if not isinstance(given, dict) or set(given) != set(model):
            raise ValueError(f"{where} must hold {', '.join(model)}")
        for key, value in model.items():
            _check(given[key], value, key)
    elif isinstance(model, np.ndarray):
        form = (model.dtype, model.shape)
        if not isinstance(given, np.ndarray) or (given.dtype, given.shape) != form:
            raise ValueError(f"{where} must be an array of {model.dtype} of shape {model.shape}")
    elif isinstance(model, int):
        if type(given) is not int or not 0 <= given < LIMITS[where]:
            raise ValueError(f"{where} must be an int from 0 to {LIMITS[where] - 1}, got {given!r}")


def _sequence_state(sequence):
    """The seed sequence as plain data, or None where that would not give it back."""
    if type(sequence) is not np.random.SeedSequence:
        return None
    state = {key: _whole(sequence.state[key]) for key in SEQUENCE}
    same = np.array_equal(_sequence(state).pool, sequence.pool)  # not with a larger pool
    return state if same else None


def _sequence(state):
    if state is None:
        return None
    try:
        entropy, spawn_key, spawned = (state[key] for key in SEQUENCE)
        if type(entropy) not in (int, list) or type(spawn_key) is not list:
            raise TypeError(f"got entropy {entropy!r} and spawn_key {spawn_key!r}")
        return sequence(entropy, spawn_key, POOL, spawned)
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"seed_sequence must be the state of a SeedSequence: {error}") from None


def sequence(entropy, spawn_key, pool, spawned):
    """The seed sequence of these parts, which may come from a file: a `ValueError` where it would
    take long to make."""
    if type(pool) is not int or not pool <= MOST_POOL:
        raise ValueError(f"pool_size must be at most {MOST_POOL}, got {pool!r}")
    if type(spawned) is not int or not 0 <= spawned < 2**32:
        raise ValueError(f"n_children_spawned must be an int from 0 to 2**32 - 1, got {spawned!r}")
    bits = [one.bit_length() if isinstance(one, int) else 4 * len(one)
            for part in (entropy, spawn_key)
            for one in (part if isinstance(part, (list, tuple)) else [part])
            if isinstance(one, (int, str))]
    if max(bits, default=0) > MOST_BITS or pool * sum(1 + b // 32 for b in bits) > MOST_MIXED:
        raise ValueError("the seeds of a SeedSequence are too long")
    return np.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool,
                                  n_children_spawned=spawned)


def _whole(value):
    """Entropy in any form that a seed sequence takes, as an int, a str or a list of such."""
    value = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    if isinstance(value, (list, tuple, range)):
        return [_whole(item) for item in value]
    return value if isinstance(value, str) else int(value)
