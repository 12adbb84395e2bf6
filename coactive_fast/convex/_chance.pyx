"""Random numbers of the bandit learners; see _chance.pxd.

`normals` gives what ``Generator.standard_normal(n)`` gives, bit for bit: it is numpy's own
ziggurat, linked from the library that numpy ships for this.
"""

import copy

import numpy

from cpython.pycapsule cimport PyCapsule_GetPointer
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal_fill

from coactive_fast.learner._random import pack, unpack


cdef class Chance:
    """A generator that starts as a copy of `first`.

    Parameters
    ----------
    first : Generator
        Owned from now on.
    """

    def __init__(self, first):
        if not isinstance(first, numpy.random.Generator):
            raise TypeError(f"first must be a Generator, got {type(first).__name__}")
        self.first = first
        self.draw_from(copy.deepcopy(first))

    cdef int draw_from(self, generator) except -1:
        self.bits = <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule,
                                                     "BitGenerator")
        self.generator = generator
        return 0

    cdef void normals(self, Py_ssize_t n, double *out) noexcept nogil:
        random_standard_normal_fill(self.bits, n, out)

    def fresh(self):
        """Another one, at the beginning."""
        return Chance(self.first)

    def state(self):
        """As plain data where the bit generator is numpy's, else as a Generator."""
        return {"rng": plain(self.generator), "seed": plain(self.first)}

    @staticmethod
    def restored(state):
        """The reverse of `state`."""
        chance = Chance(made("seed", state["seed"]))
        (<Chance>chance).draw_from(made("rng", state["rng"]))
        return chance


def plain(generator):
    try:
        head, arrays = pack(generator)
    except ValueError:  # of a foreign kind: it can be copied, not saved
        return copy.deepcopy(generator)
    return {"head": head, "arrays": arrays}


def made(name, value):
    if isinstance(value, numpy.random.Generator):
        return copy.deepcopy(value)
    if not isinstance(value, dict) or set(value) != {"head", "arrays"}:
        raise TypeError(f"{name} of the state must be that of a generator")
    return unpack(value["head"], value["arrays"])
