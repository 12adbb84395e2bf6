"""Feasible sets: ball, simplex, box, L1 ball, and the protocol for a set of one's own."""

from __future__ import annotations

import math
from typing import ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from .._arrays import finite_vector, reals
from .._initialized import Initialized
from .._typing import Real, Vector
from ..learner._check import count, number, same_length
from ..learner._store import storable

SLACK = 1e-9  # relative to the set: by how much `contains` lets rounding take a point outside

# What a learner asks of a set.
METHODS = ("contains", "center", "in_radius", "diameter", "affine_dimension", "shrunk", "project",
           "project_in", "direction")


class FeasibleSet:
    """What a learner asks of the closed, convex, bounded set P it chooses from.

    A set of your own is any object with these nine methods. Derived from this class it has to
    bring `contains`, `center`, `in_radius`, `diameter` and `project_in` only: the others are
    given here for a set that has an interior in R^n. Learners over it run at the speed of its
    Python; `save` refuses it, since no file can hold it.

    See Also
    --------
    Ball : One of the built-in sets.

    Notes
    -----
    ``n = dimension`` is the length of a point. The geometry is that of the affine hull: the
    in-radius is that of a ball within the hull, directions are tangent to it, and its dimension
    is the d of the gradient estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import coactive_fast as cf
    >>> class Disc(cf.FeasibleSet):
    ...     "The ball of radius 1 around a point."
    ...     def __init__(self, middle):
    ...         self.middle = np.array(middle)
    ...     def contains(self, x):
    ...         return np.linalg.norm(x - self.middle) <= 1.0
    ...     def center(self, dimension):
    ...         return self.middle
    ...     def in_radius(self, dimension):
    ...         return 1.0
    ...     def diameter(self, dimension):
    ...         return 2.0
    ...     def project_in(self, z, Ainv):
    ...         return self.middle + cf.Ball(1.0).project_in(z - self.middle, Ainv)
    >>> learner = cf.OGD(2, Disc([3.0, 4.0]), gradient_bound=1.0)
    >>> _ = learner.ask()
    >>> learner.tell([0.0, -1.0])
    >>> learner.center
    array([3., 5.])
    """

    def contains(self, x: ArrayLike) -> bool:
        """Whether x lies in the set, give or take rounding.

        Parameters
        ----------
        x : array_like of shape (n,)
            A point.

        Returns
        -------
        bool
            True for every point that `project` gives.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Ball(2.0).contains([1.0, 1.0]), cf.Simplex().contains([1.0, 1.0])
        (True, False)
        """
        raise NotImplementedError("contains")

    def center(self, dimension: SupportsIndex) -> Vector:
        """The centre c: the first point of every learner, and the one P is shrunk around.

        Parameters
        ----------
        dimension : int
            Length n of a point.

        Returns
        -------
        ndarray of float64, shape (n,)
            A point within the set.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Box(0.0, 1.0).center(2)
        array([0.5, 0.5])
        """
        raise NotImplementedError("center")

    def in_radius(self, dimension: SupportsIndex) -> float:
        """Radius r of the largest ball around the centre within P.

        Parameters
        ----------
        dimension : int
            Length n of a point.

        Returns
        -------
        float
            0 where no ball fits.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Box(0.0, [1.0, 3.0]).in_radius(2)
        0.5
        """
        raise NotImplementedError("in_radius")

    def diameter(self, dimension: SupportsIndex) -> float:
        """Largest distance D of two points of P.

        Parameters
        ----------
        dimension : int
            Length n of a point.

        Returns
        -------
        float
            Finite: the set is bounded.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.L1Ball(2.0).diameter(5)
        4.0
        """
        raise NotImplementedError("diameter")

    def affine_dimension(self, dimension: SupportsIndex) -> int:
        """Dimension of the affine hull of P: what d stands for in the papers' formulas.

        Parameters
        ----------
        dimension : int
            Length n of a point.

        Returns
        -------
        int
            At most n.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Simplex().affine_dimension(5), cf.Ball(1.0).affine_dimension(5)
        (4, 5)
        """
        return _dimension(dimension)

    def shrunk(self, gamma: Real, dimension: SupportsIndex) -> FeasibleSet:
        """The set ``(1 - gamma) P = c + (1 - gamma) (P - c)``, 0 <= gamma < 1.

        Parameters
        ----------
        gamma : float
            By how much each point comes nearer to the centre.
        dimension : int
            Length n of a point.

        Returns
        -------
        FeasibleSet
            A set of points of that length.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Ball(2.0).shrunk(0.5, 3)
        Ball(1.0)
        """
        return Shrunk(self, _share(gamma), _dimension(dimension))

    def project(self, z: ArrayLike) -> Vector:
        """The point of P nearest to z.

        Parameters
        ----------
        z : array_like of shape (n,)
            A point anywhere.

        Returns
        -------
        ndarray of float64, shape (n,)
            The Euclidean projection of z.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Simplex().project([0.9, 0.5, -1.0])
        array([0.7, 0.3, 0. ])
        """
        z = reals(z, "z", 1)
        return self.project_in(z, np.eye(z.size))

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        """The point of P nearest to z in the norm of A, given the inverse of A.

        Parameters
        ----------
        z : array_like of shape (n,)
            A point anywhere.
        Ainv : array_like of shape (n, n)
            Symmetric and positive definite.

        Returns
        -------
        ndarray of float64, shape (n,)
            The projection of z in the norm ``sqrt(v^T A v)``.

        Examples
        --------
        >>> import coactive_fast as cf
        >>> cf.Box(0.0, 1.0).project_in([2.0, 0.5], [[1.0, 0.5], [0.5, 1.0]])
        array([1., 0.])
        """
        raise NotImplementedError("project_in")

    def direction(self, rng: np.random.Generator, dimension: SupportsIndex) -> Vector:
        """A unit vector, uniform on the sphere of the directions within the affine hull.

        Parameters
        ----------
        rng : numpy.random.Generator
            What is drawn from.
        dimension : int
            Length n of a point.

        Returns
        -------
        ndarray of float64, shape (n,)
            A tangent of the set, of length 1.

        Examples
        --------
        >>> import numpy as np
        >>> import coactive_fast as cf
        >>> v = cf.Simplex().direction(np.random.default_rng(0), 3)
        >>> bool(abs(v.sum()) < 1e-15), round(float(v @ v), 12)
        (True, 1.0)
        """
        v = self._tangent(rng.standard_normal(_dimension(dimension)))
        return v / np.linalg.norm(v)

    def _tangent(self, v):
        """The part of a vector that lies within the affine hull: all of it."""
        return v


class Shrunk(FeasibleSet):
    """``c + s (P - c)`` of any set P: every question is put to P in the coordinates of P."""

    def __init__(self, whole: FeasibleSet, gamma: float, dimension: int) -> None:
        self.whole, self.gamma, self._scale = whole, gamma, 1.0 - gamma
        self._c = finite_vector(whole.center(dimension), "feasible.center()", dimension, "the set")

    def _in(self, x):
        return self._c + (finite_vector(x, "x", self._c.size, "the set") - self._c) / self._scale

    def _out(self, method, x):
        x = finite_vector(x, f"feasible.{method}()", self._c.size, "the set")
        return self._c + self._scale * (x - self._c)

    def contains(self, x: ArrayLike) -> bool:
        return self.whole.contains(self._in(x))

    def center(self, dimension: SupportsIndex) -> Vector:
        return self.whole.center(dimension)

    def in_radius(self, dimension: SupportsIndex) -> float:
        return self._scale * self.whole.in_radius(dimension)

    def diameter(self, dimension: SupportsIndex) -> float:
        return self._scale * self.whole.diameter(dimension)

    def affine_dimension(self, dimension: SupportsIndex) -> int:
        return self.whole.affine_dimension(dimension)

    def project(self, z: ArrayLike) -> Vector:
        return self._out("project", self.whole.project(self._in(z)))

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        return self._out("project_in", self.whole.project_in(self._in(z), Ainv))

    def direction(self, rng: np.random.Generator, dimension: SupportsIndex) -> Vector:
        return self.whole.direction(rng, dimension)


class _BuiltIn(FeasibleSet, Initialized):
    """The sets of this package: equal where their numbers are; Euclidean projections in C."""

    _stored = ()

    def project(self, z: ArrayLike) -> Vector:
        from ._rules import nearest  # which knows these classes

        return nearest(self, reals(z, "z", 1))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self._stored)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        values = (getattr(self, name) for name in self._stored)
        written = (repr(value if np.ndim(value) == 0 else value.tolist()) for value in values)
        return f"{type(self).__name__}({', '.join(written)})"


class _Round(_BuiltIn):
    """Balls of whatever norm: around 0, with a radius."""

    _stored = ("radius",)
    _radius: float

    def __init__(self, radius: Real) -> None:
        self._radius = number("radius", radius, above=0.0)

    @property
    def radius(self) -> float:
        """Radius of the set."""
        return self._radius

    def center(self, dimension: SupportsIndex) -> Vector:
        return np.zeros(_dimension(dimension))

    def diameter(self, dimension: SupportsIndex) -> float:
        _dimension(dimension)
        return 2.0 * self._radius

    def shrunk(self, gamma: Real, dimension: SupportsIndex) -> FeasibleSet:
        _dimension(dimension)
        return type(self)((1.0 - _share(gamma)) * self._radius)


@storable
class Ball(_Round):
    """The Euclidean ball ``||x|| <= radius``.

    Centre 0, in-radius ``radius``, diameter ``2 radius``.

    Parameters
    ----------
    radius : float
        Greater than 0.

    See Also
    --------
    L1Ball : By the sum of absolute values.
    Box : By bounds for each coordinate.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.Ball(5.0).project([6.0, 8.0])
    array([3., 4.])
    """

    def contains(self, x: ArrayLike) -> bool:
        return math.hypot(*reals(x, "x", 1)) <= (1.0 + SLACK) * self._radius

    def in_radius(self, dimension: SupportsIndex) -> float:
        _dimension(dimension)
        return self._radius

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        return kernels.project_ball(z, Ainv, self._radius)[0]


@storable
class L1Ball(_Round):
    """The L1 ball ``sum |x_i| <= radius``.

    Centre 0, in-radius ``radius / sqrt(n)``, diameter ``2 radius``.

    Parameters
    ----------
    radius : float
        Greater than 0.

    See Also
    --------
    Ball : By length.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.L1Ball(1.0).project([2.0, -1.5, 0.1])
    array([ 0.75, -0.25,  0.  ])
    """

    def contains(self, x: ArrayLike) -> bool:
        return _sum(np.abs(reals(x, "x", 1))) <= (1.0 + SLACK) * self._radius

    def in_radius(self, dimension: SupportsIndex) -> float:
        return self._radius / math.sqrt(_dimension(dimension))

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        return kernels.project_l1(z, Ainv, self._radius)


@storable
class Box(_BuiltIn):
    """The box ``lower <= x <= upper``.

    The centre is the middle, the in-radius half the shortest side, the diameter the diagonal.

    Parameters
    ----------
    lower, upper : float or array_like of shape (n,)
        Finite, ``lower <= upper``; a single number holds for every coordinate.

    See Also
    --------
    Ball : By length.
    Simplex : Shares of a whole.

    Notes
    -----
    A box is a body of R^n also where a side has no length. Its in-radius is then 0: good enough
    for `ONS` and `OGD`, refused by the learners that explore.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.Box(0.0, [1.0, 2.0]).project([3.0, 3.0])
    array([1., 2.])
    """

    _stored = ("lower", "upper")
    _lower: float | Vector
    _upper: float | Vector

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        self._lower, self._upper = _limit("lower", lower), _limit("upper", upper)
        if np.ndim(self._lower) and np.ndim(self._upper):
            same_length("upper", self._upper.size, self._lower.size, "lower")
        if np.any(self._lower > self._upper):
            raise ValueError("the box is empty: lower must be <= upper everywhere")

    @property
    def lower(self) -> float | Vector:
        """The lower bounds: a float, or an array that cannot be written to."""
        return self._lower

    @property
    def upper(self) -> float | Vector:
        """The upper bounds: a float, or an array that cannot be written to."""
        return self._upper

    def span(self, dimension: int) -> tuple[Vector, Vector]:
        """Both bounds as vectors of that length.

        Parameters
        ----------
        dimension : int
            Length n of a point.

        Returns
        -------
        lower, upper : ndarray of float64, shape (n,)
            Views that cannot be written to.
        """
        for name, limit in (("lower", self._lower), ("upper", self._upper)):
            if np.ndim(limit):
                same_length(name, limit.size, dimension, "a point")
        return np.broadcast_to(self._lower, dimension), np.broadcast_to(self._upper, dimension)

    def _half(self, dimension):
        """Half of every side; the bounds may be far apart."""
        lower, upper = self.span(_dimension(dimension))
        return upper / 2.0 - lower / 2.0

    def contains(self, x: ArrayLike) -> bool:
        x = reals(x, "x", 1)
        lower, upper = self.span(x.size)
        slack = SLACK * np.maximum(np.abs(lower), np.abs(upper))
        return bool(((lower - slack <= x) & (x <= upper + slack)).all())

    def center(self, dimension: SupportsIndex) -> Vector:
        lower, upper = self.span(_dimension(dimension))
        return lower / 2.0 + upper / 2.0

    def in_radius(self, dimension: SupportsIndex) -> float:
        return float(self._half(dimension).min())

    def diameter(self, dimension: SupportsIndex) -> float:
        return 2.0 * math.hypot(*self._half(dimension))

    def shrunk(self, gamma: Real, dimension: SupportsIndex) -> FeasibleSet:
        middle, half = self.center(dimension), self._half(dimension)
        reach = (1.0 - _share(gamma)) * half
        return Box(middle - reach, middle + reach)

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        return kernels.project_box(z, Ainv, self._lower, self._upper)


@storable
class Simplex(_BuiltIn):
    """The probability simplex ``x >= 0, sum x = 1``: the portfolios.

    Centre ``1/n``, diameter ``sqrt(2)``. It has no interior in R^n: the dimension that counts is
    ``n - 1``, the in-radius is ``1 / sqrt(n (n - 1))`` within its hyperplane, directions sum to
    0. Shrunk by gamma it is ``x >= gamma/n, sum x = 1``. With one coordinate it is a point.

    See Also
    --------
    L1Ball : Of either sign.
    Box : By bounds for each coordinate.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.Simplex().project([0.9, 0.5, -1.0])
    array([0.7, 0.3, 0. ])
    """

    def contains(self, x: ArrayLike) -> bool:
        x = reals(x, "x", 1)
        return x.size > 0 and bool(x.min() >= -SLACK and abs(_sum(x) - 1.0) <= SLACK)

    def center(self, dimension: SupportsIndex) -> Vector:
        n = _dimension(dimension)
        return np.full(n, 1.0 / n)

    def in_radius(self, dimension: SupportsIndex) -> float:
        n = _dimension(dimension)
        return 1.0 / math.sqrt(n * (n - 1)) if n > 1 else 0.0

    def diameter(self, dimension: SupportsIndex) -> float:
        return math.sqrt(2.0) if _dimension(dimension) > 1 else 0.0

    def affine_dimension(self, dimension: SupportsIndex) -> int:
        return _dimension(dimension) - 1

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        return kernels.project_simplex(z, Ainv)

    def _tangent(self, v):
        if v.size == 1:
            raise ValueError("a simplex of one coordinate is a point: it has no directions")
        return v - v.mean()


def _dimension(value):
    return count("dimension", value, least=1)


def _share(gamma):
    return number("gamma", gamma, least=0.0, below=1.0)


def _limit(name, value):
    """A bound of a box: a float, or a vector that is the box's own and not written to."""
    if np.ndim(value) == 0:
        return number(name, value)
    limit = reals(value, name, 1).copy()
    limit.setflags(write=False)
    return limit


def _sum(x):
    """``sum x_i``; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return float(x.sum())
