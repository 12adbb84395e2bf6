# The calls of a single round: part of _engine.pyx.
#
# A Python method that hands on to the engine costs a part of what a small round itself does, so the
# thin classes inherit these instead. `_engine` is the learner's engine, set by the shell; an
# argument's own code may have another put in its place.


cdef class RegressionCalls(Calls):
    def learn(self, x, y, *, weight=1.0):
        """Takes in one row and its target.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : float
            What was to be predicted; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.OnlineRidge(link="logistic")
        >>> learner.learn([2.0], 1.0, weight=3.0)
        >>> learner.weights
        array([0.75])
        """
        cdef RewardEngine engine = self.at_work()
        cdef double target = engine.target_of(y, "y"), c = engine.weight_of(weight)
        engine.learn_weighted(x, 0, target, c, "x")


cdef class LinearCalls(Calls):
    def choose(self, X, *, allowed=None, k=None, context=None):
        """The index of one of the rows of X, or of the k best.

        Parameters
        ----------
        X : array_like of shape (n, d), scipy.sparse matrix or Catalogue
            The actions of this round; their number may differ from round to round. Of very many
            that stay the same, a `Catalogue` looks at few.
        allowed : array_like of bool, shape (n,), optional
            Of a `Catalogue`: one an index ever given.
        k : int, optional
            So many, best first; with "squarecb" or a floor each place by the law of those left.
        context : array_like of shape (context_features,), optional
            What this round is about, where the bandit has context_features.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit()
        >>> X = [[1.0], [3.0], [2.0]]
        >>> bandit.choose(X), bandit.choose(X, k=2), bandit.choose(X, allowed=[True, False, True])
        (1, array([1, 2]), 2)
        """
        cdef LinearEngine engine = self.at_work()
        return engine.ask(X, allowed, context, PICK, k, None)

    def learn(self, x, reward, *, weight=1.0, context=None):
        """Takes in the reward of a row, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            The action that was chosen.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.
        context : array_like of shape (context_features,), optional
            As given to `choose`.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.LinearBandit(context_features=1)
        >>> bandit.learn([1.0], 3.0, context=[1.0])
        >>> bandit.weights
        array([1., 1.])
        """
        cdef LinearEngine engine = self.at_work()
        engine.learn(x, reward, weight, context)


cdef class ArmCalls(Calls):
    def choose(self, x, *, allowed=None, k=None):
        """The arm for x, or the k best.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        allowed : array_like of bool, shape (n_arms,), optional
            Which arms there are this time; None: all of them.
        k : int, optional
            See `LinearBandit.choose`.

        Returns
        -------
        int, or with k an ndarray of intp
            The index of what is chosen, or those of the k, best first.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(3)
        >>> bandit.choose([1.0]), bandit.choose([1.0], k=2, allowed=[False, True, True])
        (0, array([1, 2]))
        """
        cdef ArmEngine engine = self.at_work()
        return engine.ask(x, allowed, None, PICK, k, None)

    def learn(self, x, arm, reward, *, weight=1.0):
        """Takes in the reward of an arm, in whatever order rewards come.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        arm : int
            The arm that was chosen, from 0.
        reward : float
            What came back; with the logistic link in [0, 1].
        weight : float, default 1.0
            How often it counts, > 0.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> bandit = cf.ArmBandit(2)
        >>> bandit.learn([1.0], 1, 4.0)
        >>> bandit.weights
        array([[0.],
               [2.]])
        """
        cdef ArmEngine engine = self.at_work()
        engine.learn(x, arm, reward, weight)
