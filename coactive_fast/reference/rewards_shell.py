"""What the slow learners of real rewards share: one or more weighted ridge regressions.

In formulas w is what was learned, ``m = w.x``, ``q = x^T A^-1 x`` and ``sigma(m)`` the logistic
function. A regression starts as ``A = ridge I``, ``w = 0``.
"""

from __future__ import annotations

import math

import numpy as np

from coactive_fast._typing import Real

from . import _check as check
from ._ridge import fresh
from ._row_learner import RowLearner

LINKS = ("identity", "logistic")
FLATTEST = 1e-6  # the least slope of the logistic function that a step goes by


def sigmoid(m):
    """``1 / (1 + exp(-m))``, of a number or an array, without overflow."""
    return np.exp(-np.logaddexp(0.0, -m))


def logistic_step(model, x, r, c):
    """One Newton step of weight c towards r on the log loss of ``sigma(w.x)``.

    It is the identity link's step with weight ``c s`` towards ``m + (r - sigma) / s``. s is the
    slope ``sigma (1 - sigma)``, at least `FLATTEST`; but where ``|r - sigma| > 1/2`` it is the
    curvature of the quadratic that bounds the loss, ``tanh(m / 2) / (2 m)``.
    """
    m = model.read(x)[0]
    residual = r - float(sigmoid(m))
    if abs(residual) > 0.5:
        s = math.tanh(m / 2.0) / (2.0 * m) if m else 0.25
    else:
        s = max(float(sigmoid(m) * sigmoid(-m)), FLATTEST)
    return model.learned(x, m + residual / s, c * s)


class RewardLearner(RowLearner):
    """The parameters of the regression, its step, and rows that may widen.

    A subclass calls `_regression` in its constructor and keeps its regressions in `_models`, a list
    that is never changed, only replaced; None before the first row that changes the learner.
    """

    def _regression(self, link, covariance, ridge, forget, max_features):
        self.link = check.choice("link", link, LINKS)
        self.covariance = check.choice("covariance", covariance, ("full", "diagonal"))
        self.ridge = check.positive("ridge", ridge)
        self.forget = check.within("forget", forget, "(0, 1]")
        self.max_features = max_features
        if max_features is not None:
            self.max_features = check.positive_count("max_features", max_features)
            if covariance != "diagonal":
                raise ValueError('max_features goes with covariance="diagonal" only')

    def _start(self):
        self._models = None

    # --- what a call is given -----------------------------------------------------------------

    def _row(self, x, name="x", context=None):
        """x as it is learned: crossed with the context, as wide as what was learned."""
        x = check.feature_row(name, check.unmasked(name, x))
        if x.size == 0:
            raise ValueError(f"{name} must have at least one feature")
        return self._joint(name, x, context)

    def _table(self, X, name="X", context=None):
        """X as a dense 2-D array of rows as they are learned."""
        X = check.feature_rows(name, check.unmasked(name, X))
        return self._joint(name, X if isinstance(X, np.ndarray) else X.toarray(), context)

    def _joint(self, name, rows, context):
        n, blocks = rows.shape[-1], 1 if context is None else 1 + context.size
        if self.max_features is None:
            if self._dimension is not None:
                check.same_length(name, n, self._dimension // blocks, "the learner")
            return rows if context is None else crossed(name, rows, context)
        if n > self.max_features:
            raise ValueError(f"{name} must have at most {self.max_features} features "
                             f"(max_features), got {n}")
        new = max(0, (self._dimension or 0) - n)
        return np.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, new)])

    def _target(self, name, value):
        """A reward: finite, and in [0, 1] where the link is logistic."""
        if self.link == "identity":
            return check.real(name, value)
        return check.fraction(name, value)

    # --- the regressions ----------------------------------------------------------------------

    def _fresh(self, d):
        return fresh(self.covariance, d, self.ridge)

    def _known(self, d, count=1):
        """The regressions for rows of d features, before this round."""
        if self._models is None:
            return [self._fresh(d)] * count
        if d != self._dimension:
            return [model.widened(d) for model in self._models]
        return self._models

    def _stepped(self, model, x, r, c, learned):
        """A regression that has forgotten what it has to and then taken in (x, r) with weight c.

        A null row says nothing and makes nothing be forgotten; it is counted by the caller.
        """
        if not x.any():
            return model
        if self.forget < 1.0:
            model = model.forgotten(self.forget, learned)
        if self.link == "identity":
            return model.learned(x, r, c)
        return logistic_step(model, x, r, c)

    def decay(self, f: Real) -> None:
        """The whole past counts f times as much at once.

        ``A <- ridge I + f (A - rho ridge I)``, rho <- 1, and ``w <- A_new^-1 f A w``; in the
        diagonal form w stays. (rho is 1 but for what `forget` has made of it.)

        Examples
        --------
        >>> from coactive_fast import reference
        >>> learner = reference.OnlineRidge()
        >>> learner.learn([1.0], 4.0)
        >>> learner.decay(0.5)
        >>> learner.weights, learner.inverse()
        (array([1.33333333]), array([[0.66666667]]))
        """
        f = check.within("f", f, "(0, 1]")
        if self._models is not None:
            self._models = [model.decayed(f) for model in self._models]

    def _mergeable(self, other):
        """Refuse another learner whose stream cannot be added to this one's."""
        if type(other) is not type(self):
            raise TypeError(f"other must be of the kind {type(self).__name__}, got "
                            f"{type(other).__name__}")
        for name, least in (("covariance", "full"), ("link", "identity"), ("forget", 1.0)):
            if getattr(self, name) != least:
                raise ValueError(f"merge needs {name}={least!r}, and this learner has "
                                 f"{getattr(self, name)!r}")
        for name, value in self._parameters().items():
            if getattr(other, name) != value:
                raise ValueError(f"other must have {name}={value!r} as this learner has, got "
                                 f"{getattr(other, name)!r}")
        if None not in (self._dimension, other._dimension):
            check.same_length("other", other._dimension, self._dimension, "this learner")

    def _merged(self, other):
        """The regressions of both streams."""
        if other._models is None:
            return self._models
        if self._models is None:
            return other._models
        return [a.merged(b) for a, b in zip(self._models, other._models, strict=True)]

    def _parameters(self):
        """What two learners must have alike to be merged; the seed is not among it."""
        return {name: value for name, value in vars(self).items()
                if not name.startswith("_") and name not in ("rounds", "expired")}


def crossed(name, rows, context):
    """``(1, context) (x) row`` for a row, or for each row of a table."""
    with np.errstate(over="ignore"):
        blocks = [rows, *(c * rows for c in context)]
    return check.finite(name, np.concatenate(blocks, axis=-1))
