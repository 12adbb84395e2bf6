"""Scores in the feature space of a kernel, as a sum over the rows that feedback has moved."""

import dataclasses
import math

import numpy as np

from . import _check as check
from .dual import Dual
from .kernels import row_scores


@dataclasses.dataclass(frozen=True, eq=False)
class Expansion:
    """``score(z) = sum_s sum_i (k(x_{s,better_i}, z) - k(x_{s,y_i}, z)) / log2(i + 1)``.

    A value that is never changed: `learned` gives the one with a round more. `rounds` holds
    for each round that moved something its distinct rows and their coefficients, none of them 0,
    oldest first.
    """

    kernel: object
    k: int
    budget: int | None
    rounds: tuple = ()

    @classmethod
    def empty(cls, kernel, kernel_params, k, budget):
        """Before the first round, from what the user gave."""
        if budget is not None and check.count("budget", budget) < 2 * k:
            raise ValueError(f"budget must be >= 2k = {2 * k}, the rows of a round, got {budget}")
        return cls(Dual(kernel=kernel, kernel_params=kernel_params)._k, k, budget)

    @property
    def size(self):
        """How many rows are kept."""
        return sum(len(rows) for rows, _ in self.rounds)

    def scores(self, x):
        """The score of every row of x; equal rows score equal to the bit."""
        if not self.rounds:
            return np.zeros(len(x))
        rows = [row for rows, _ in self.rounds for row in rows]
        table = np.array([[self.kernel(row, z) for row in rows] for z in x])
        coefficients = np.concatenate([coefficients for _, coefficients in self.rounds])
        return check.finite("x is too large: its scores", row_scores(table, coefficients))

    def learned(self, x, y, better):
        """The round in which `better` was the answer to y; the oldest leave for a budget."""
        moves = {}  # row: by place, how often it came there less how often it left there
        for sign, ordering in ((1, better), (-1, y)):
            for place, document in enumerate(ordering[: self.k]):
                at = moves.setdefault(tuple(x[document].tolist()), np.zeros(self.k, dtype=int))
                at[place] += sign
        discounts = [1.0 / math.log2(place + 2) for place in range(self.k)]
        moves = {row: math.fsum(at * discounts) for row, at in moves.items()}
        moves = {row: coefficient for row, coefficient in moves.items() if coefficient != 0.0}
        if not moves:
            return self
        for row in map(np.array, moves):  # what the kernel has against a row it says now
            self.kernel(row, row)
        rounds = (*self.rounds, (np.array(list(moves)), np.array(list(moves.values()))))
        while self.budget is not None and sum(len(rows) for rows, _ in rounds) > self.budget:
            rounds = rounds[1:]
        return dataclasses.replace(self, rounds=rounds)
