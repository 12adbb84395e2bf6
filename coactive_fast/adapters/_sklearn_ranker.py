"""The learners from improved rankings as a scikit-learn estimator that is given grades."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

import coactive_fast as cf
from coactive_fast._typing import Vector, Whole
from coactive_fast.coactive._learners import CoactiveLearner
from coactive_fast.learner._check import choice, count, switch

from ._pattern import seeded
from ._sklearn_data import validate_data
from ._sklearn_shell import FLOATS, Estimator

if TYPE_CHECKING:
    from typing_extensions import Self

RULES = {
    "perceptron": cf.PreferencePerceptron,
    "second-order": cf.SecondOrderPreferencePerceptron,
    "exponentiated": cf.ExponentiatedPreferencePerceptron,
    "convex": cf.ConvexPreferencePerceptron,
}
DEPTH = 1 << 30  # more documents than a query has


class CoactiveRanker(Estimator):
    """A ranker that learns from improved rankings, which are made from the grades of `fit`.

    For each query the documents are presented by the present weights, a simulated user who knows
    the grades improves the ranking, and the learner takes that. No pair of documents is ever
    formed: a query costs its documents' scores and one step.

    Parameters
    ----------
    rule : {"perceptron", "second-order", "exponentiated", "convex"} or learner, \
default "perceptron"
        What learns. A learner of `coactive_fast.Ranking`, as ``cf.PDGD(cf.Ranking(k=10))``, is a
        pattern: it is cloned, never changed, and its parameters are reached as ``rule__rate``.
    k : int, default 10
        Only so many places of a ranking count, in learning (a pattern has its own) and in `score`.
    user : object of `coactive_fast.users`, optional
        Who improves rankings; its own chance begins anew by `random_state`. None: one who puts the
        k documents of the highest grades in front. ``users.NoisyDepth(20)`` looks no further than
        the first 20. PDGD and PairwisePerceptron need `users.Clicks`.
    average : bool, default True
        Score by the mean of the weights after each round, which the last queries move less.
    n_epochs : int, default 10
        Passes of `fit` over its queries.
    scale : bool, default True
        Whether each feature is divided by its standard deviation, by the rows seen so far. An
        intercept or a mean would be the same for all documents, so there is none.
    shuffle : bool, default True
        Mix the queries before each pass of `fit`; the documents keep their order.
    random_state : int, RandomState instance or None, default None
        For shuffling, and for what the learner and the user draw.

    Attributes
    ----------
    learner_ : learner of `coactive_fast`
        The one that learned, on scaled documents.
    coef_ : ndarray of shape (d,)
        The weights by which documents are scored, in the units of X.
    scaler_ : StandardScaler or None
        What the columns were standardised by; None with scale=False.
    n_features_in_ : int
        Columns of the documents it was fitted on.
    feature_names_in_ : ndarray of shape (d,)
        Where X had names, all of them strings.

    See Also
    --------
    coactive_fast.PreferencePerceptron : One of the learners inside; its round by hand.

    Notes
    -----
    With metadata routing, ``set_fit_request(qid=True)`` and ``set_score_request(qid=True)`` take
    the queries through pipelines, searches and cross-validation; cut by `GroupKFold`.

    References
    ----------
    P. Shivaswamy, T. Joachims. Coactive learning. Journal of Artificial Intelligence Research 53,
    2015.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> from coactive_fast.adapters.sklearn import CoactiveRanker
    >>> data = cf.data.make_ranking(n_queries=50, n_features=5, seed=0)
    >>> X, y, qid = data.features, data.relevance, np.repeat(range(50), np.diff(data.offsets))
    >>> model = CoactiveRanker(random_state=0).fit(X, y, qid=qid)
    >>> bool(model.score(X, y, qid=qid) > 0.85)
    True
    >>> first = data[0].features
    >>> bool(model.rank(first)[0] == model.predict(first).argmax())
    True
    """

    learner_: Any
    user_: Any

    def __init__(self, rule: Literal["perceptron", "second-order", "exponentiated", "convex"]
                 | CoactiveLearner = "perceptron", *, k: Whole = 10, user: Any = None,
                 average: bool = True, n_epochs: Whole = 10, scale: bool = True,
                 shuffle: bool = True, random_state: Any = None) -> None:
        self.rule = rule
        self.k = k
        self.user = user
        self.average = average
        self.n_epochs = n_epochs
        self.scale = scale
        self.shuffle = shuffle
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.target_tags.required = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Learns afresh.

        Parameters
        ----------
        X : array_like, shape (n, d)
            The documents of all queries.
        y : array_like, shape (n,)
            Their grades.
        qid : array_like, shape (n,), optional
            The query of each. None: all are of one query.

        Returns
        -------
        self
            The fitted ranker.
        """
        self._check_passes()
        chance = self._chance()
        with self._all_or_nothing():
            data = self._opened(X, y, qid, chance)
            self._pass(data, self._orders(len(data), chance))
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None) -> Self:
        """Goes on learning, one pass over the queries in their order.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        y : array_like, shape (n,)
            The grade of each document, larger is better.
        qid : array_like, shape (n,), optional
            A query's documents must come in one call.

        Returns
        -------
        self
            The ranker with these queries learned.
        """
        with self._all_or_nothing():
            if hasattr(self, "learner_"):
                data = self._queries(X, y, qid, reset=False)
                # what is stopped half-way leaves the old ones
                self.learner_, self.user_ = copy.deepcopy((self.learner_, self.user_))
            else:
                data = self._opened(X, y, qid, self._chance())
            self._pass(data, [None])
        return self

    def predict(self, X: ArrayLike) -> Vector:
        """The scores of documents; within a query the larger, the better.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.

        Returns
        -------
        ndarray of shape (n,)
            A score a document, larger is better; comparable within a query only.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=FLOATS, reset=False)
        return np.concatenate([self.learner_.scores(rows, average=self._by_mean)
                               for rows, _ in self._blocks(X)])

    def rank(self, X: ArrayLike, qid: ArrayLike | None = None) -> NDArray[np.intp]:
        """The documents of each query, best first, ties to the one that comes first.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        qid : array_like, shape (n,), optional
            None: all are of one query.

        Returns
        -------
        ndarray of intp, shape (n,)
            Rows of X: those of the first query, then of the next, in the order in which queries
            first come.
        """
        scores = self.predict(X)
        return np.lexsort((-scores, _numbered(qid, len(scores))))

    def score(self, X: ArrayLike, y: ArrayLike, qid: ArrayLike | None = None,
              sample_weight: ArrayLike | None = None) -> float:
        """The mean NDCG of the first k places over the queries; the gain is ``2^grade - 1``.

        A query without a document of a grade above 0 counts 0.

        Parameters
        ----------
        X : array_like, shape (n, d)
            A row a document.
        y : array_like, shape (n,)
            Grades >= 0.
        qid : array_like, shape (n,), optional
            The query of each document; None: all belong to one.
        sample_weight : array_like, shape (n,), optional
            A query counts by the mean of its documents'.

        Returns
        -------
        float
            Between 0 and 1, where 1 is a perfect order in every query.
        """
        scores = self.predict(X)
        order, offsets = _grouped(qid, len(scores))
        query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ranking = np.lexsort((-scores[order], query)) - offsets[query]
        grades = column_or_1d(y, dtype=np.float64)
        check_consistent_length(grades, scores)
        found = cf.metrics.ndcg(grades[order], ranking, k=count("k", self.k, least=1),
                                gain="exponential", offsets=offsets)
        if sample_weight is None:
            return float(found.mean())
        weight = _check_sample_weight(sample_weight, scores, ensure_non_negative=True)
        weight = np.add.reduceat(weight[order], offsets[:-1]) / np.diff(offsets)
        return float(np.average(found, weights=weight))

    @property
    def coef_(self) -> Vector:
        """The weights by which documents are scored, in the units of X."""
        check_is_fitted(self)
        if getattr(self.learner_, "kernel", None) is not None:
            raise AttributeError("CoactiveRanker has no coef_ with a kernel")
        learner = self.learner_
        weights = learner.average_weights if self._by_mean else learner.weights
        return self._in_units_of_the_input(weights)[0][0]

    # --- inside -----------------------------------------------------------------------------

    def _opened(self, X, y, qid, chance):
        """The queries, with a fresh learner and a user for them."""
        average = switch("average", self.average)
        learner = self._made()
        self.learner_ = seeded(learner, chance)
        self.user_ = self._employed(chance)
        # with a kernel there is no mean of weights
        self._by_mean = average and getattr(learner, "kernel", None) is None
        return self._queries(X, y, qid, reset=True)

    def _made(self):
        if isinstance(self.rule, CoactiveLearner):
            if not isinstance(self.rule.task, cf.Ranking):
                raise TypeError(f"rule must be a learner of rankings, and its task is "
                                f"{self.rule.task!r}")
            return self.rule.clone()
        if not isinstance(self.rule, str):
            raise TypeError(f"rule must be a word or a learner of coactive_fast, got {self.rule!r}")
        return RULES[choice("rule", self.rule, tuple(RULES))](
            cf.Ranking(k=count("k", self.k, least=1)))

    def _employed(self, chance):
        """A user of our own, with a chance of its own."""
        user = copy.deepcopy(self.user)
        if user is None:
            user = cf.users.NoisyDepth(DEPTH, k=count("k", self.k, least=1))
        elif hasattr(user, "rng"):
            user.rng = np.random.default_rng(int(chance.randint(2**31 - 1)))
        return user

    def _queries(self, X, y, qid, reset):
        X, y = validate_data(self, X, y, dtype=FLOATS, y_numeric=True, reset=reset)
        if reset:
            self._settle(X)
        self._measure(X)
        order, offsets = _grouped(qid, len(X))
        return cf.data.RankingData(self._rows(X[order]), y[order], offsets)

    def _settle(self, X):
        super()._settle(X)
        if self.scaler_ is not None:
            self.scaler_.set_params(with_mean=False)

    def _pass(self, data, orders):
        # regret is nobody's business here: without weights they would be fitted for it
        weights = np.zeros(data.dimension) if self.user is None else None
        for order in orders:
            cf.simulate(self.learner_, data, self.user_, order=order, weights=weights)


def _numbered(qid, n):
    """The number of each row's query; queries are numbered as they first come."""
    if qid is None:
        return np.zeros(n, dtype=np.intp)
    qid = column_or_1d(qid)
    if len(qid) != n:
        raise ValueError(f"qid must have length {n} to go with X, got {len(qid)}")
    _, first, inverse = np.unique(qid, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _grouped(qid, n):
    """The rows query by query, and where each query begins."""
    number = _numbered(qid, n)
    order = np.argsort(number, kind="stable")
    return order, np.concatenate(([0], np.cumsum(np.bincount(number))))
