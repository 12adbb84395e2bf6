"""What the slow bandits share: the laws of choice, decisions that wait for their reward.

What m, q and sigma stand for in the formulas, says `rewards_shell`. An action's score is what is
compared; n is the number of actions allowed.

What is drawn from the generator, and in which order. ``choose`` first draws what thompson needs:
`LinearBandit` d standard normals z in one go, for ``w + width F z`` with any F, ``F F^T = A^-1``
(of the diagonal ``F = diag(a)^-1/2``); `ArmBandit` one standard normal z for each arm, allowed or
not, in order of the arms, for ``m + width sqrt(q) z``: the distribution of ``v.x`` with
``v ~ N(w, width^2 A^-1)``, without a factor of A. Then place after place:

* with a floor > 0 one uniform u; where ``u < floor`` a second one, v, and the action is number
  ``floor(n v)`` of those left, in order of their indices, and the place is taken;
* else for squarecb one uniform v; the action is the first one, in order of the indices, at which
  the probabilities summed up exceed v (the last one, where rounding keeps the sum below v).

Uniforms are those of ``Generator.random``, normals of ``Generator.standard_normal``. ucb and
greedy without a floor draw nothing. ``probabilities(samples=n)`` draws from one child that the
generator spawns, n times what a round needs; for any rule but thompson nothing is spawned.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

import numpy as np

from coactive_fast._typing import Real

from . import _check as check
from .kernels import top_k
from .rewards_shell import RewardLearner, sigmoid

if TYPE_CHECKING:
    from typing_extensions import Self

EXPLORE = ("ucb", "thompson", "squarecb", "greedy")
LARGEST = float(np.finfo(float).max)


class Decision(NamedTuple):
    """A choice that waits for its reward, as of `coactive_fast.Decision`.

    Attributes
    ----------
    id : int
        How many were made before.
    action : int
        What was chosen.
    probability : float
        With which it was chosen.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.LinearBandit().decide([[1.0], [2.0]])
    Decision(id=0, action=1, probability=1.0)
    """

    id: int
    action: int
    probability: float


class Bandit(RewardLearner):
    """The choice among scored actions, and what waits for its reward.

    A subclass has ``_read(models, rows)``, the m and sqrt(q) of every action, ``_bonus(models)``,
    the width of ucb, one or one an action, ``_sampled(models, rows, means, widths, rng)``, the
    scores of thompson, and ``_take``, which learns what was kept of a decision.
    """

    def _bandit(self, explore, width, link, covariance, ridge, forget, floor, scale, power, noise,
                norm_bound, delta, max_pending, max_features):
        self._regression(link, covariance, ridge, forget, max_features)
        self.explore = check.choice("explore", explore, EXPLORE)
        if isinstance(width, str):
            self.width = check.choice("width", width, ("theory",))
            self._theory_has_a_meaning()
        else:
            self.width = check.within("width", width, "[0, inf)")
        self.floor = check.within("floor", floor, "[0, 1)")
        self.scale = check.within("scale", scale, "[0, inf)")
        self.power = check.within("power", power, "[0, inf)")
        self.noise = check.within("noise", noise, "[0, inf)")
        self.norm_bound = check.within("norm_bound", norm_bound, "[0, inf)")
        self.delta = check.within("delta", delta, "(0, 1)")
        self.max_pending = check.positive_count("max_pending", max_pending)

    def _theory_has_a_meaning(self):
        for name, value in (("explore", "ucb"), ("link", "identity"), ("covariance", "full"),
                            ("forget", 1.0)):
            if getattr(self, name) != value:
                raise ValueError(f'width="theory" needs {name}={value!r}, got '
                                 f"{getattr(self, name)!r}")

    def _start(self):
        super()._start()
        self._pending = {}  # id -> what `_take` needs, the oldest first
        self._decided = 0
        self.expired = 0

    # --- widths -------------------------------------------------------------------------------

    def _theory(self, model, delta):
        """``noise sqrt(log det A - d log ridge + 2 log(1 / delta)) + sqrt(ridge) norm_bound``."""
        information = max(model.information, 0.0) - 2.0 * math.log(delta)
        return self.noise * math.sqrt(information) + math.sqrt(self.ridge) * self.norm_bound

    # --- the laws of choice -------------------------------------------------------------------

    def _scores(self, models, rows, means, widths, rng):
        """What is compared; thompson draws."""
        if self.explore == "ucb":
            return means + self._bonus(models) * widths
        if self.explore == "thompson":
            return self._sampled(models, rows, means, widths, rng)
        return means

    def _law(self, means, scores):
        """The probability of each of the actions left, the floor included; not for thompson."""
        n = means.size
        law = self._squarecb(means) if self.explore == "squarecb" else top(scores)
        return self.floor / n + (1.0 - self.floor) * law

    def _squarecb(self, means):
        """``1 / (n + gamma (mu_best - mu_a))``, and the rest for the best."""
        values = means if self.link == "identity" else sigmoid(means)
        best = int(np.argmax(means))
        try:
            gamma = min(self.scale * min((self.rounds + 1.0) ** self.power, LARGEST), LARGEST)
        except OverflowError:
            gamma = LARGEST if self.scale else 0.0
        with np.errstate(over="ignore"):
            law = 1.0 / (means.size + gamma * np.maximum(values[best] - values, 0.0))
        law[best] = 0.0
        law[best] = 1.0 - law.sum()
        return law

    def _place(self, left, means, scores, rng):
        """The action for one place, out of the indices left."""
        n = len(left)
        if self.floor > 0.0 and rng.random() < self.floor:
            return left[min(int(n * rng.random()), n - 1)]
        if self.explore != "squarecb":
            return left[int(np.argmax(scores[left]))]
        above = np.cumsum(self._squarecb(means[left])) > rng.random()
        return left[int(np.argmax(above)) if above.any() else n - 1]

    def _chosen(self, models, rows, allowed, k):
        """One index, or the k best of those allowed."""
        means, widths = self._read(models, rows)
        before = self._rng.bit_generator.state
        try:
            scores = self._scores(models, rows, means, widths, self._rng)
        except ValueError:  # the draw was too large for these rows
            self._rng.bit_generator.state = before
            raise
        left, chosen = np.flatnonzero(allowed).tolist(), []
        for _ in range(1 if k is None else min(k, len(left))):
            chosen.append(self._place(left, means, scores, self._rng))
            left.remove(chosen[-1])
        return chosen[0] if k is None else np.array(chosen, dtype=np.intp)

    def _probabilities(self, models, rows, allowed, samples):
        """The law of the first place over all actions."""
        left, law = np.flatnonzero(allowed), np.zeros(allowed.size)
        means, widths = self._read(models, rows)
        if self.explore != "thompson":
            scores = self._scores(models, rows, means, widths, None)
            law[left] = self._law(means[left], scores[left])
            return law
        if samples is None:
            raise ValueError("samples must be given: the law of thompson has no closed form")
        rng = self._rng.spawn(1)[0]
        for _ in range(samples):
            scores = self._scores(models, rows, means, widths, rng)
            law[left[np.argmax(scores[left])]] += 1.0
        law[left] = self.floor / left.size + (1.0 - self.floor) * law[left] / samples
        return law

    def _decision(self, models, rows, allowed, samples, waits):
        """A choice that is remembered; ``waits(action)`` is what `_take` will need.

        The first row that is decided on fixes the dimension, as one that is learned does.
        """
        law = None
        if self.explore != "thompson" or samples is not None:
            law = self._probabilities(models, rows, allowed, samples)
        action = self._chosen(models, rows, allowed, None)
        found = Decision(self._decided, action, math.nan if law is None else float(law[action]))
        self._pending[found.id] = waits(action)
        self._models, self._dimension = models, rows.shape[-1]
        self._decided += 1
        if len(self._pending) > self.max_pending:
            del self._pending[min(self._pending)]
            self.expired += 1
        return found

    # --- late rewards -------------------------------------------------------------------------

    def reward(self, id: SupportsIndex, r: Real, *, weight: Real = 1.0) -> None:
        """Learns the reward of a pending decision, and forgets the decision.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit()
        >>> first = bandit.decide([[1.0], [2.0]])
        >>> bandit.reward(first.id, 5.0)
        >>> bandit.weights, bandit.pending
        (array([2.]), 0)
        """
        id = self._waiting(id)
        self._take(*self._pending[id], self._target("r", r), self._weight(weight))
        del self._pending[id]

    def drop(self, id: SupportsIndex) -> None:
        """Forgets a pending decision.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit = reference.LinearBandit()
        >>> bandit.drop(bandit.decide([[1.0]]).id)
        >>> bandit.pending
        0
        """
        del self._pending[self._waiting(id)]

    @property
    def pending(self) -> int:
        """How many decisions wait for their reward.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.LinearBandit().pending
        0
        """
        return len(self._pending)

    def _waiting(self, id):
        id = check.count("id", id)
        if id not in self._pending:
            raise ValueError(f"id must be that of a pending decision, got {id}")
        return id

    # --- arguments ----------------------------------------------------------------------------

    def _allowed(self, allowed, n):
        """A mask of n actions, at least one of them True."""
        if n == 0:
            raise ValueError("X must have at least one row: there is no action")
        if allowed is None:
            return np.ones(n, dtype=bool)
        given = check.array("allowed", check.unmasked("allowed", allowed))
        if given.dtype != bool and given.size:  # an empty list has no dtype of its own
            raise TypeError(f"allowed must hold True and False, got dtype {given.dtype}")
        if given.shape != (n,):
            raise ValueError(f"allowed must have length {n}, one an action, got shape "
                             f"{given.shape}")
        if not given.any():
            raise ValueError("allowed must hold at least one True")
        return given

    def _weight(self, weight):
        weight = check.positive("weight", weight)
        if self.width == "theory" and weight > 1.0:
            raise ValueError(f'weight must be at most 1 with width="theory", got {weight}')
        return weight

    @staticmethod
    def _samples(samples):
        return None if samples is None else check.positive_count("samples", samples)

    @staticmethod
    def _k(k):
        return None if k is None else check.positive_count("k", k)

    # --- two streams --------------------------------------------------------------------------

    def merge(self, other: Self) -> None:
        """Makes this the bandit that learned both streams; the other one stays as it is.

        ``A_1 + A_2 - ridge I`` and ``A w = A_1 w_1 + A_2 w_2``, arm by arm; rounds add. Full
        covariance, identity link, no forgetting, equal parameters; the seeds may differ, and what
        is pending there stays pending there.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> bandit, other = reference.LinearBandit(), reference.LinearBandit()
        >>> other.learn([1.0], 6.0)
        >>> bandit.merge(other)
        >>> bandit.weights, bandit.rounds
        (array([3.]), 1)
        """
        self._mergeable(other)
        self._models = self._merged(other)
        self._dimension = self._dimension or other._dimension
        self.rounds += other.rounds


def top(scores):
    """Probability one for the largest score, ties to the lower index."""
    law = np.zeros(scores.size)
    law[top_k(scores, 1)] = 1.0
    return law
