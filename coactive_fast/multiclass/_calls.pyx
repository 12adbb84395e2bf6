"""The calls of a single round as methods of compiled classes.

A Python method that hands on to the engine costs about as much as a small round itself, so the
thin classes inherit these instead. `_engine` is the learner's engine, set by the shell.
"""

from coactive_fast.multiclass._engine cimport MulticlassEngine


cdef class Choosing:
    cdef public MulticlassEngine _engine

    def choose(self, x):
        """The label for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            Also a table of one row; float32 and any strides are read without a copy of more
            than the row.

        Returns
        -------
        int
            0 ... K-1, ties to the lower one.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Confidit(3).choose([1.0, 0.0])
        0
        """
        return self._engine.pick(x)


cdef class ToldRightOrWrong(Choosing):
    def learn(self, x, label, correct):
        """One round: `label` was right or wrong for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
        label : int
            It need not be that of `choose`.
        correct : bool

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(3)
        >>> learner.learn([1.0, 0.0], 2, True)
        >>> learner.predict([[1.0, 0.0]])
        array([2])
        """
        self._engine.take_answer(x, label, correct)


cdef class ToldTheLabel(Choosing):
    def learn(self, x, y):
        """One round: y is the right label of x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
        y : int

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassAROW(3)
        >>> learner.learn([1.0, 0.0], 2)
        >>> learner.choose([1.0, 0.0])
        2
        """
        self._engine.take(x, y, "y", True)
