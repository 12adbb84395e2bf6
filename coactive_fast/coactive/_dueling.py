"""The dueling bandit: what coactive learning is compared with when two objects are compared."""

from ..learner._check import number
from ..learner._random import make_generator
from ._dueling_engine import DuelingEngine
from ._learners import CoactiveLearner
from ._tasks import Items, Ranking


class DuelingBandit(CoactiveLearner):
    """Dueling bandit gradient descent: w against ``w' = w + explore u``, u a random direction.

    A round is a comparison: `present` draws u and holds the comparison until `learn` ends it
    with ``w += step u`` if w' won; a tie keeps w. The pending comparison is part of the state.

    Rankings: what is presented is the team-draft interleaving of the two orderings, and that one
    wins which brought more of the first k documents of the feedback. Items: what is presented is
    the array of the two best items, w's first (they may be the same), and `better` is one of
    them.

    Parameters
    ----------
    task : Ranking or Items
    explore : float, default 1.0
        How far w' lies from w.
    step : float, default 0.01
    seed : optional
        Anything `numpy.random.default_rng` takes; a Generator is copied. Changed by `set_params`
        after learning, the new one is drawn from at the next round.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> learner = cf.DuelingBandit(cf.Items([[1.0, 0.0], [0.0, 1.0]]), step=0.5, seed=4)
    >>> pair = learner.present(None)
    >>> pair
    array([0, 1])
    >>> learner.learn(None, pair, 1)
    >>> learner.weights.round(3)
    array([-0.483, -0.129])
    """

    def __init__(self, task, *, explore=1.0, step=0.01, seed=None):
        self._begin(task=task, explore=explore, step=step, seed=seed)

    def _build(self, parameters):
        task = parameters["task"]
        if not isinstance(task, (Ranking, Items)):
            raise TypeError(f"task must be Ranking or Items, got {type(task).__name__}")
        return DuelingEngine(task, number("explore", parameters["explore"], above=0.0),
                             number("step", parameters["step"], above=0.0),
                             make_generator(parameters["seed"]))

    def present(self, x, *, k=None):
        """Starts a comparison; one that was pending is dropped.

        Parameters
        ----------
        x : array_like
            Ranking: the documents' features, shape (n, N). Items: the array of candidate indices,
            None for all.
        k : int, optional
            Rankings: only the first k places.

        Returns
        -------
        ndarray of int
            Ranking: the interleaved ordering of the documents. Items: two items.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(), seed=0)
        >>> learner.present([[1.0], [2.0], [3.0]])
        array([0, 2, 1])
        """
        return self._engine.present(x, k)

    def learn(self, x, y, better):
        """Ends the comparison, which is one round.

        Parameters
        ----------
        x : array_like
            As for `present`.
        y : array_like of int
            What `present` returned last. Rankings: or its first places.
        better : array_like of int, or int
            Rankings: the user's ordering. Items: the preferred one of the two.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.DuelingBandit(cf.Ranking(k=1), seed=1)
        >>> x = [[1.0], [2.0], [3.0]]
        >>> learner.learn(x, learner.present(x), [2, 1, 0])
        >>> learner.weights
        array([0.01])
        """
        self._engine.learn(x, y, better)

    def update(self, delta):
        """Always a `TypeError`: comparisons have no difference of features to learn from."""
        raise TypeError("DuelingBandit learns from comparisons alone: call present, then learn")

    @property
    def rng(self):
        """The generator as it stands, a copy."""
        return self._engine.rng
