"""The generators of a fleet's models: a PCG64 in five words of a record."""

import numpy as np

WORD = 2**64 - 1
SPREAD = 0xDA942042E4DD58B5_9E3779B97F4A7C15  # odd: neighbours begin far from each other


def start_of(parameters, bits):
    """``(state of the generator, whether all models begin there)``; the seed None: each elsewhere.

    With a seed a model draws as a learner of its own with that seed would.
    """
    if type(bits) is not np.random.PCG64:
        raise ValueError("seed must be None or make a PCG64, as default_rng does, got a "
                         f"{type(bits).__name__}: a fleet keeps no other generator")
    return bits.state, parameters["seed"] is not None


def first_state(start, key):
    """The state with which the model of a key begins."""
    state, alike = start
    if alike:
        return state
    inner = state["state"]
    moved = (inner["state"] + (key + 1) * SPREAD) % 2**128
    return {**state, "state": {"state": moved, "inc": (inner["inc"] ^ (key << 1)) | 1}}


def words_of(state):
    """The five words of a state."""
    inner = state["state"]
    words = [inner["state"] >> 64, inner["state"] & WORD, inner["inc"] >> 64, inner["inc"] & WORD,
             state["has_uint32"] << 32 | state["uinteger"]]
    return np.array(words, dtype=np.uint64).view(np.int64)


def state_from(words):
    """The reverse of `words_of`."""
    a, b, c, d, rest = (int(word) & WORD for word in words)
    return {"bit_generator": "PCG64", "state": {"state": a << 64 | b, "inc": c << 64 | d},
            "has_uint32": rest >> 32 & 1, "uinteger": rest & 0xFFFFFFFF}
