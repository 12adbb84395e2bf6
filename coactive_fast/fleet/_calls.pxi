# The calls of one key: part of _engine.pyx.


cdef class FleetCalls(Calls):
    """`choose` and `learn` of one key, inherited by the thin class: a method of Python's on the way
    would cost a part of what they do."""

    def choose(self, key, x, *, allowed=None, k=None, context=None):
        """What the model of a key decides; see the class.

        Parameters
        ----------
        key : int or str
            Whose model it is.
        x, allowed, k, context
            As for `choose` of the template, `predict` of a regression, `forward` of a filter and
            `present` of a perceptron.

        Returns
        -------
        int, or what the method of the template gives
            The decision by the model of that key.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.LinearBandit(), 100)
        >>> fleet.learn("anna", [1.0, 0.0], 2.0)
        >>> fleet.choose("anna", [[0.0, 1.0], [1.0, 0.0]])
        1
        """
        cdef FleetEngine engine = self.at_work()
        try:
            return engine.choose(key, x, allowed, k, context)
        except Unsound:
            engine.put_in_order()
            return engine.choose(key, x, allowed, k, context)

    def learn(self, key, x, *answers, weight=None, context=None):
        """One example for the model of a key, which is made where there is none.

        Parameters
        ----------
        key : int or str
            Whose model it is.
        x, *answers, weight, context
            As for `learn` of the template, by position: a row and its reward or target; of arms a
            row, the arm and its reward; of a filter a row and whether it was relevant; of a
            perceptron documents, what was presented and the better ordering.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> fleet = cf.Fleet(None, cf.ArmBandit(2), 100)
        >>> fleet.learn(7, [1.0], 1, 4.0)
        >>> fleet.choose(7, [1.0])
        1
        """
        cdef FleetEngine engine = self.at_work()
        engine.learn(key, x, answers, weight, context)
