"""What all simulated users share; the users themselves are in `coactive_fast.users`."""

import copy

import numpy as np

from ..learner._check import count
from ..learner._random import make_generator


class User:
    """What all users share; `_decider` makes the compiled decisions of a class."""

    _values = "utilities"  # what an item user goes by
    rankings = items = True

    def respond(self, query, presented):
        """The improved object.

        Parameters
        ----------
        query : object
            See the module's text.
        presented : array_like of int, or int

        Returns
        -------
        ndarray of int or int
        """
        if hasattr(query, "candidates"):
            return self._respond_item(query, presented)
        if not hasattr(query, "features"):
            raise TypeError("query must have features (rankings) or candidates (items)")
        if not self.rankings:
            raise TypeError(f"query is about rankings; {type(self).__name__} answers items")
        return self._decider().answer_ranking(
            query.features, presented, getattr(self, "weights", None),
            getattr(query, "relevance", None), self.k)

    def _respond_item(self, query, presented):
        if not self.items:
            raise TypeError(f"query is about items; {type(self).__name__} answers rankings")
        values = np.asarray(getattr(query, self._values), dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(f"query.{self._values} must be one finite number an item")
        candidates = np.unique(np.asarray(query.candidates))
        if not candidates.size or candidates.dtype.kind not in "iu":
            raise ValueError("query.candidates must hold at least one index")
        if candidates[0] < 0 or candidates[-1] >= values.size:
            raise ValueError(f"query.candidates must be in 0 ... {values.size - 1}")
        pair = np.ndim(presented) == 1 and len(presented) == 2
        shown = [count("presented", item) for item in (presented if pair else [presented])]
        if not np.isin(shown, candidates).all():
            raise ValueError(f"presented must be among the candidates, got {presented}")
        if pair:
            return shown[1] if values[shown[1]] > values[shown[0]] else shown[0]
        return self._decider().answer_item(candidates, values, shown[0])

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(self._shown())})"


class ChanceUser(User):
    """A user with a generator, `rng`."""

    def _seeded(self, seed):
        self._first = make_generator(seed)
        self.reset()

    def reset(self):
        """Back to the generator of the seed.

        Returns
        -------
        self
        """
        self.rng = copy.deepcopy(self._first)
        return self
