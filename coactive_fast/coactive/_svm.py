"""The ranking SVM: what coactive learning is compared with when all feedback is kept.

The rule is Python's: its time goes into scikit-learn's solver, called some log(T) / log(1.1) times
in T rounds.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ..learner._check import count
from ..learner._extras import require
from ._learners import CoactiveLearner
from ._rules import Custom

GRID = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
FOLDS = 5
FEW = 50  # pairs up to which C is not searched
FIRST_C = 100.0
MOST = 1e120  # of a difference's squared length
LEAST = 1e-120  # of what is not 0 in it


class RankingSVM(CoactiveLearner):
    """Ranking SVM on the pairs (presented, feedback), trained again as they come in.

    The first pair is fitted at once, and all of them again when there are 10 % more than at the
    last fit: scikit-learn's `LinearSVC` without intercept on the differences of features, each
    with label +1 and mirrored with -1. The solver is given one of the two, by turns, with twice
    the C: half the work for the same optimum. C is 100 up to 50 pairs; after that the one of
    10^-2, 10^-1, ... 10^3 that ranks the most held-out pairs right in five-fold
    cross-validation (pair s belongs to fold s mod 5), the smallest of equals. Rounds without
    feedback count, but are no pairs.

    The pairs are kept (8 N bytes each) and saved with the learner, which goes on as it would
    have. The weights are the solver's, to its tolerance: other versions of scikit-learn may
    give others. Needs scikit-learn: ``pip install "coactive_fast[svm]"``.

    The solver would not end on squares that overflow or are 0: a difference whose squared length is
    beyond 1e120, or that holds a number other than 0 below 1e-120, is a `ValueError`. Ctrl-C
    interrupts a training; the learner is then as it was before the round.

    Parameters
    ----------
    task : Ranking, Items or object
        What is presented and by which features; an object of your own has ``dimension``,
        ``features(x, y)`` and ``argmax(w, x)``.

    See Also
    --------
    PreferencePerceptron : A fraction of the time.

    References
    ----------
    T. Joachims. Optimizing search engines using clickthrough data. KDD 2002.
    R. Herbrich, T. Graepel, K. Obermayer. Large margin rank boundaries for ordinal regression.
    Advances in Large Margin Classifiers, 2000.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.RankingSVM(cf.Ranking(k=2))
    >>> documents = [[0.0, 1.0], [1.0, 0.0]]
    >>> y = learner.present(documents)
    >>> learner.learn(documents, y, y)  # nothing to improve: a round, but no pair to train on
    >>> learner.rounds, learner.weights
    (1, array([0., 0.]))
    """

    def __init__(self, task: Any) -> None:
        self._begin(**locals())

    def _maker(self, task):
        return _rule


def _rule():
    pairs = _Pairs()
    return Custom(pairs.train, pairs)


class _Pairs:
    """The pairs of one rule, whose memory holds how many they are.

    Rows beyond that number are scratch, so a round that fails leaves no trace.
    """

    def __init__(self):
        self._rows = np.empty((0, 0))

    def train(self, state, delta):
        """The rule: new weights from the round's difference."""
        if not delta.any():
            return state.weights
        _refuse_unsolvable(delta, "the step is")
        pairs, fitted = state.memory.get("pairs", 0), state.memory.get("fitted", 0)
        self._put(pairs, delta)
        pairs += 1
        state.memory["pairs"] = pairs
        if 10 * pairs < 11 * fitted:
            return state.weights
        state.memory["fitted"] = pairs
        rows = self._rows[:pairs]
        return _fit(rows, FIRST_C if pairs <= FEW else _best_c(rows))

    def _put(self, pairs, delta):
        """Row number `pairs`, in a block that doubles when it is full."""
        if self._rows.shape[1] != delta.size or len(self._rows) == pairs:
            rows = np.empty((max(2 * pairs, 16), delta.size))
            if pairs:
                rows[:pairs] = self._rows
            self._rows = rows
        self._rows[pairs] = delta

    def get_state(self, memory, n):
        pairs = memory.get("pairs", 0)
        return {"pairs": self._rows[:pairs].copy() if pairs else np.empty((0, n))}

    def set_state(self, memory, n, state):
        self._rows = _checked_pairs(memory, n, state.get("pairs"))


def _checked_pairs(memory, n, rows):
    """The pairs of a state, as many as its memory says."""
    if type(rows) not in (np.ndarray, np.memmap) or rows.dtype != np.float64:
        raise TypeError("pairs of the state must be an array of float64")
    pairs = count("pairs of the state's memory", memory.get("pairs", 0))
    fitted = count("fitted of the state's memory", memory.get("fitted", 0), most=pairs)
    if rows.ndim != 2 or len(rows) != pairs or (pairs and rows.shape[1] != n):
        raise ValueError(f"pairs of the state must be {pairs} rows of {n} features, of which "
                         f"{fitted} were fitted, got shape {rows.shape}")
    for row in rows:
        _refuse_unsolvable(row, "pairs of the state are")
    return np.array(rows, order="C")


def _refuse_unsolvable(difference, what):
    """The solver divides by products of products, and would not end where one of them overflows
    or is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = difference @ difference
    if not square <= MOST:
        raise ValueError(f"{what} too large: the squared length {square:g} is beyond {MOST:g}")
    size = np.abs(difference)
    smallest = size.min(initial=np.inf, where=size > 0.0)
    if smallest < LEAST:
        raise ValueError(f"{what} too small: it holds {smallest:g}, and numbers other than 0 must "
                         f"be {LEAST:g} or more")


def _best_c(differences):
    """The C of the grid that ranks the most held-out pairs right, the smallest of equals."""
    fold = np.arange(len(differences)) % FOLDS

    def right(c):
        return sum(np.count_nonzero(differences[fold == f] @ _fit(differences[fold != f], c) > 0.0)
                   for f in range(FOLDS))

    return max(GRID, key=right)


def _fit(differences, c):
    """The weights of a linear SVM that puts every difference on its positive side.

    A difference and its mirror image have the same loss: C for both is 2 C for either.
    """
    svm = require("sklearn.svm", "svm", "RankingSVM")
    pairs, d = differences.shape
    if pairs == 1:  # the solver wants both labels
        differences, c = np.repeat(differences, 2, axis=0), 0.5 * c
    # the dual one is fast on few rows, and very slow where they are almost dependent
    solver = svm.LinearSVC(C=2.0 * c, fit_intercept=False, dual=2 * pairs < d, max_iter=100_000,
                           random_state=0)
    labels = np.where(np.arange(len(differences)) % 2, -1.0, 1.0)
    _interruptibly(solver.fit, differences * labels[:, None], labels)
    return solver.coef_[0].astype(np.float64)


def _interruptibly(work, *arguments):
    """``work(*arguments)``, which signals interrupt though it is compiled code that looks at none.

    Python handles signals in the main thread. There the work has a thread of its own, which is
    waited for; where a handler raises, that thread is left to itself and its result is dropped.
    """
    if threading.current_thread() is not threading.main_thread():
        work(*arguments)
        return
    errors = [RuntimeError("the process was forked while this learner trained")]

    def run():
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # as the one who waits has it
                work(*arguments)
            errors.clear()
        except BaseException as error:
            errors[:] = [error]

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(1.0)  # a child that a signal's handler forks has no such thread
    if errors:
        raise errors[0]
