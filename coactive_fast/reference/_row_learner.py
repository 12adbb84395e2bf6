"""What the slow learners that are fed rows share: the multiclass and the filtering family."""

import copy

from . import _check as check


class RowLearner:
    """A dimension, a count of rounds, and chance.

    The first row that changes the learner fixes the dimension: a reading has no effect, so
    before that a row of any length can be asked about. A subclass sets its parameters, calls
    this constructor last and puts its own state in `_start`.
    """

    def __init__(self, seed=None):
        self._first_rng = check.generator("seed", seed)
        self.reset()

    def reset(self):
        """Forget everything: the learner is as it was built, its generator included.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.SimpleFilter()
        >>> learner.learn([1.0], True)
        >>> learner.reset()
        >>> learner.learned
        0
        """
        self._rng = copy.deepcopy(self._first_rng)
        self._dimension = None
        self.rounds = 0
        self._start()

    def _start(self):
        """The subclass's own state, as it is before the first round."""

    def _row(self, x):
        """x as a vector of the learner's dimension."""
        x = check.feature_row("x", x, self._dimension)
        if x.size == 0:
            raise ValueError("x must have at least one feature")
        return x

    def _rows(self, X):
        """X as something whose rows `_row` takes: a 2-D array or a scipy.sparse CSR matrix."""
        return check.feature_rows("X", X, self._dimension)
