"""The physical limits, as contenders: they are timed in turn with what they bound."""

import time

from compiled import limits as library
from memory import LINE, aligned
from ratio import Contender


def _fastest_way(address, lines):
    """Which way of reading is fastest depends on the cache level; the limit takes the best."""
    rounds = max(1, (1 << 22) // (lines * LINE))

    def seconds(way):
        begin = time.perf_counter()
        library().limits_rounds(address, lines, 1, way, None, 0, rounds)
        return time.perf_counter() - begin

    return min(range(3), key=lambda way: min(seconds(way) for _ in range(6)))


def _lines(nbytes):
    return -(-nbytes // LINE)


def _filled(lines):
    """Memory that is really there, not one page of zeros shown many times."""
    block = aligned(max(lines, 1) * 8)
    block[:] = 1.0
    return block


def read(nbytes, parts=1):
    """`nbytes` read once a round, in turn from one of `parts` arrays."""
    if library() is None:
        return None
    lines = _lines(nbytes)
    block = _filled(lines * parts)
    way = _fastest_way(block.ctypes.data, lines * parts)

    def play(n):
        library().limits_rounds(block.ctypes.data, lines, parts, way, None, 0, n)
    return Contender("limit: read once", play)


def read_and_change(read_bytes, changed_bytes):
    """One array read, then another one read and written back."""
    if library() is None:
        return None
    lines, changed = _lines(read_bytes), _lines(changed_bytes)
    source, target = _filled(lines), _filled(changed)
    way = _fastest_way(source.ctypes.data, max(lines, 1))

    def play(n):
        library().limits_rounds(source.ctypes.data, lines, 1, way, target.ctypes.data, changed, n)
    name = "read once, write once" if lines else "read and written back once"
    return Contender(f"limit: {name}", play)


def triangle_bytes(n):
    return 4 * n * (n + 1)


def one_pass(n):
    """The triangle of order n read and written once: what a fused update cannot avoid."""
    return read_and_change(0, triangle_bytes(n))


def two_passes(n):
    """The triangle read, then read and written: product and update one after the other."""
    if library() is None:
        return None
    lines = _lines(triangle_bytes(n))
    block = _filled(lines)
    way = _fastest_way(block.ctypes.data, lines)

    def play(n):
        library().limits_rounds(block.ctypes.data, lines, 1, way, block.ctypes.data, lines, n)
    return Contender("limit: triangle read, then read and written", play)


def stream(tape, array, nbytes):
    """The tape's own memory read once: `nbytes` a round from wherever the tape stands."""
    if library() is None:
        return None
    lines = nbytes // LINE
    way = _fastest_way(array.ctypes.data, min(array.nbytes, 1 << 28) // LINE)

    def play(n):
        begin = array.ctypes.data + tape.take(n) * nbytes
        library().limits_rounds(begin, n * lines, 1, way, None, 0, 1)
    return Contender("limit: read once from memory", play)


def flops(count, what):
    """`count` floating-point operations at the peak of fused multiply-adds."""
    if library() is None:
        return None
    each = library().limits_fma(1)

    def play(n):
        library().limits_fma(round(n * count / each))
    return Contender(f"limit: {what} at the FMA peak", play)


def features(tape, places, count, lines, changed):
    """What sparse rows touch: of each of a row's places so many lines read, some written back.

    `places` (rows, entries) of int32 in 0 ... count - 1; the tape tells where the rows begin.
    """
    if library() is None:
        return None
    block = _filled(count * lines)

    def play(n):
        library().limits_features(block.ctypes.data, lines, changed, places.ctypes.data,
                                  places.shape[1], tape.take(n), n)
    rows = len(places)
    return Contender("limit: the same cache lines touched", play, step=rows, most=rows)
