"""Random numbers of the bandit learners; see _chance.pxd.

`normals` gives what ``Generator.standard_normal(n)`` gives, bit for bit: it is numpy's own
ziggurat, linked from the library that numpy ships for this. That function takes 7 ns a draw, most
of it for calls and for a sign that no CPU foresees. So for long runs the state of a PCG64, the
generator that seeds are made into, is borrowed: 99 draws in 100 are then those of cf_normals.h, and
the others go through numpy's function as before. The tables are asked of that function, too; where
they or the bits should ever not be what we take them for, nothing is borrowed.
"""

import numpy

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint32_t, uint64_t
from numpy.random cimport bitgen_t
from numpy.random.c_distributions cimport random_standard_normal, random_standard_normal_fill

from coactive_fast._arrays cimport data_of
from coactive_fast._table cimport cf_get_library, cf_library, cf_ziggurat

from coactive_fast.learner._random import copied, pack, unpack

cdef const cf_library *L = cf_get_library()

cdef cf_ziggurat TABLES
cdef int tables_known = -1      # 1: they are numpy's; 0: nothing is borrowed; -1: not looked at yet


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
        self.draw_from(copied(first))

    cdef int draw_from(self, generator) except -1:
        self.bits = <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule,
                                                     "BitGenerator")
        self.generator = generator
        return 0

    cdef void normals(self, Py_ssize_t n, double *out) noexcept nogil:
        cdef Py_ssize_t i = 0
        if not self.borrowed:
            random_standard_normal_fill(self.bits, n, out)
            return
        while True:
            i += L.normals(&self.loan.pcg, &TABLES, n - i, out + i, &self.loan.edge)
            if i == n:
                return
            self.loan.again = True
            out[i] = random_standard_normal(&self.through)
            i += 1

    cdef int borrow(self) except -1:
        """Takes the state out of the generator, whose lock is held, where that is a PCG64."""
        if self.borrowed:
            return 0
        if not self.lends:
            return 0
        at = self.generator.bit_generator.state["state"]
        self.loan.pcg.high, self.loan.pcg.low = at["state"] >> 64, at["state"] & WORD
        self.loan.pcg.step_high, self.loan.pcg.step_low = at["inc"] >> 64, at["inc"] & WORD
        self.through.state, self.through.next_double = &self.loan, next_double
        self.through.next_uint64, self.through.next_raw = next_64, next_64
        self.through.next_uint32 = next_32
        self.loan.again, self.borrowed = False, True
        return 0

    cdef int give_back(self) except -1:
        """The reverse. An interrupt may fall into it: then it is done again, and where that does
        not help, the loan goes on, and whoever needs the generator asks for it back."""
        try:
            self.return_loan()
        except BaseException:
            self.return_loan()
            raise
        return 0

    cdef int return_loan(self) except -1:
        if not self.borrowed:
            return 0
        state = self.generator.bit_generator.state
        state["state"]["state"] = <object>self.loan.pcg.high << 64 | <object>self.loan.pcg.low
        self.generator.bit_generator.state = state
        self.borrowed = False
        return 0

    @property
    def lends(self):
        """Whether there is something to borrow."""
        return type(self.generator.bit_generator) is numpy.random.PCG64 and look_at_tables()

    def drawn(self, Py_ssize_t n, *, bint by_borrowing=True):
        """The next n draws; for tests, and for whether they are the same both ways."""
        out = numpy.empty(n)
        if by_borrowing:
            self.borrow()
        if n:
            self.normals(n, data_of(out))
        self.give_back()
        return out

    def fresh(self):
        """Another one, at the beginning."""
        return Chance(self.first)

    def state(self):
        """As plain data where the bit generator is numpy's, else as a Generator."""
        self.give_back()
        return {"rng": plain(self.generator), "seed": plain(self.first)}

    @staticmethod
    def restored(state):
        """The reverse of `state`, a dict that may hold more."""
        chance = Chance(made("seed", state))
        (<Chance>chance).draw_from(made("rng", state))
        return chance


def plain(generator):
    try:
        head, arrays = pack(generator)
    except ValueError:  # of a foreign kind: it can be copied, not saved
        return copied(generator)
    return {"head": head, "arrays": arrays}


def made(name, state):
    if name not in state:
        raise ValueError(f"state must hold {name!r}")
    value = state[name]
    if isinstance(value, numpy.random.Generator):
        return copied(value)
    if (not isinstance(value, dict) or set(value) != {"head", "arrays"}
            or not isinstance(value["arrays"], dict)):
        raise TypeError(f"{name} of the state must be that of a generator")
    try:
        return unpack(value["head"], value["arrays"])
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError) as error:
        raise ValueError(f"{name} of the state must be that of a generator: {error}") from None


# --- a borrowed PCG64, for numpy's functions ----------------------------------------------------

WORD = 2**64 - 1


cdef uint64_t next_64(void *state) noexcept nogil:
    cdef Loan *loan = <Loan *>state
    if loan.again:
        loan.again = False
        return loan.edge
    return L.pcg64_next(&loan.pcg)


cdef uint32_t next_32(void *state) noexcept nogil:  # never called for a normal
    return <uint32_t>(next_64(state) >> 32)


cdef double next_double(void *state) noexcept nogil:
    return <double>(next_64(state) >> 11) * (1.0 / 9007199254740992.0)


# --- the tables of numpy's ziggurat -------------------------------------------------------------

cdef struct Asked:
    uint64_t bits   # answered at first, and 0 afterwards
    int times       # asked for bits
    int more        # asked for doubles: the bits were not inside their layer


cdef uint64_t answer_bits(void *state) noexcept nogil:
    cdef Asked *asked = <Asked *>state
    asked.times += 1
    return asked.bits if asked.times == 1 else 0


cdef uint32_t answer_32(void *state) noexcept nogil:
    return 0


cdef double answer_double(void *state) noexcept nogil:
    (<Asked *>state).more += 1
    return 0.5


cdef bint ask(int layer, uint64_t place, double *draw) noexcept nogil:
    """Whether this place of the layer is inside: then numpy's function looks no further."""
    cdef Asked asked
    cdef bitgen_t bits
    asked.bits, asked.times, asked.more = place << 9 | <uint64_t>layer, 0, 0
    bits.state, bits.next_uint64, bits.next_uint32 = &asked, answer_bits, answer_32
    bits.next_double, bits.next_raw = answer_double, answer_bits
    draw[0] = random_standard_normal(&bits)
    return asked.times == 1 and asked.more == 0


cdef void read_tables() noexcept nogil:
    cdef int layer
    cdef uint64_t low, high, middle
    cdef double draw
    for layer in range(256):
        low, high = 0, <uint64_t>1 << 52
        while low < high:
            middle = (low + high) // 2
            if ask(layer, middle, &draw):
                low = middle + 1
            else:
                high = middle
        TABLES.inside[layer], TABLES.width[layer] = low, 0.0
        if low > 1:
            ask(layer, 1, &draw)
            TABLES.width[layer] = draw


cdef bint look_at_tables() except? -1:
    """Whether draws by borrowing are numpy's, bit for bit; looked at once."""
    global tables_known
    if tables_known < 0:
        read_tables()
        tables_known = 1
        for seed in range(4):
            ours, numpys = (numpy.random.Generator(numpy.random.PCG64(seed)) for _ in range(2))
            drawn = Chance(ours).drawn(4096)
            if not numpy.array_equal(drawn, numpys.standard_normal(4096)):
                tables_known = 0
    return tables_known
