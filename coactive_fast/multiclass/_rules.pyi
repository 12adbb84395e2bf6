from typing import Any, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

_Row: TypeAlias = ArrayLike | Any  # or a scipy.sparse row

class Choosing:
    def choose(self, x: _Row) -> int:
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

class ToldRightOrWrong(Choosing):
    def learn(self, x: _Row, label: SupportsIndex, correct: bool | np.bool_) -> None:
        """One round: `label` was right or wrong for x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        label : int
            It need not be that of `choose`.
        correct : bool
            Whether that label was right; 1 and 0 or 1 and -1 stand for it as well.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.Confidit(3)
        >>> learner.learn([1.0, 0.0], 2, True)
        >>> learner.predict([[1.0, 0.0]])
        array([2])
        """

class ToldTheLabel(Choosing):
    def learn(self, x: _Row, y: SupportsIndex) -> None:
        """One round: y is the right label of x.

        Parameters
        ----------
        x : array_like of shape (d,) or scipy.sparse row
            One row.
        y : int
            From 0 to K - 1.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> learner = cf.MulticlassAROW(3)
        >>> learner.learn([1.0, 0.0], 2)
        >>> learner.choose([1.0, 0.0])
        2
        """
