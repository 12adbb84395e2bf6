"""Folds by a hash of the group: the same on every machine, in every run, for every other log."""

from __future__ import annotations

import numpy as np

FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def folds_of(log, folds):
    """The fold of every round, intp: SplitMix64 of its group modulo the number of folds.

    An integer goes in modulo 2^64, a string by the FNV-1a hash of its UTF-8 bytes; without groups
    a round goes by its number. O(n) and, for strings, their length.
    """
    if log.groups is None:
        numbers = np.arange(len(log), dtype=np.uint64)
    elif log.groups.dtype.kind == "U":
        numbers = _fnv(np.char.encode(log.groups, "utf-8"))
    else:
        numbers = log.groups.astype(np.uint64)  # of negative ones modulo 2^64
    return (_splitmix(numbers) % np.uint64(folds)).astype(np.intp)


def _splitmix(numbers):
    numbers = numbers + GOLDEN
    for shift, factor in MIX:
        numbers = (numbers ^ numbers >> np.uint64(shift)) * factor
    return numbers ^ numbers >> np.uint64(31)


def _fnv(strings):
    """Of byte strings, column after column of their bytes."""
    found = np.full(strings.shape, FNV_BASIS)
    lengths = np.char.str_len(strings)
    if strings.dtype.itemsize:
        table = np.ascontiguousarray(strings).view(np.uint8).reshape(strings.size, -1)
        for place in range(table.shape[1]):
            there = lengths > place
            found[there] = (found[there] ^ table[there, place]) * FNV_PRIME
    return found
