"""Slow twins of the feasible sets of convex optimisation: ball, simplex, box and L1 ball.

`FeasibleSet` says what a learner asks of a set; any object that answers is one. The built-in sets
are written as their formulas alone (`_center`, `_project`, ...): the arguments are checked in one
place, and ``(1 - gamma) P``, the set shrunk around its centre, has one definition for all. The
product's sets are those of the same names in `coactive_fast`.
"""

from __future__ import annotations

import math
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from coactive_fast._typing import Real, Vector

from . import _check as check
from .projections import (
    project_ball,
    project_box,
    project_l1,
    project_scores,
    project_simplex,
)

# By how much, relative to the size of the set, `contains` lets rounding take a point outside.
SLACK = 1e-9

# What a set must be able to answer, in the order of `FeasibleSet`.
METHODS = (
    "contains",
    "center",
    "in_radius",
    "diameter",
    "affine_dimension",
    "shrunk",
    "project",
    "project_in",
    "direction",
)


class FeasibleSet:
    """What a learner asks of the closed, convex, bounded set P it chooses from.

    A set of one's own is any object with these nine methods. Derived from this class it has to
    bring `contains`, `center`, `in_radius`, `diameter` and `project_in` only: the others are
    given here for a set that has an interior in R^n.

    Notes
    -----
    ``n = dimension`` is the length of a point. All of a set's geometry is that of its affine
    hull: the in-radius is that of a ball within the hull, directions are tangent to it, and its
    dimension is the one that counts in a gradient estimate.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import reference
    >>> class Disc(reference.FeasibleSet):
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
    ...         return self.middle + reference.project_ball(z - self.middle, Ainv, 1.0)[0]
    >>> disc = Disc([3.0, 4.0])
    >>> disc.shrunk(0.5, 2).project(np.array([3.0, 9.0]))
    array([3. , 4.5])
    """

    def contains(self, x: ArrayLike) -> bool:
        """Whether x lies in the set, give or take rounding.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Ball(2.0).contains([1.0, 1.0]), reference.Simplex().contains([1.0, 1.0])
        (True, False)
        """
        raise NotImplementedError("contains")

    def center(self, dimension: SupportsIndex) -> Vector:
        """The centre c, the first point of every learner and the one P is shrunk around.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Box(0.0, 1.0).center(2)
        array([0.5, 0.5])
        """
        raise NotImplementedError("center")

    def in_radius(self, dimension: SupportsIndex) -> float:
        """Radius r of the largest ball around the centre within P (and within its affine hull).

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Box(0.0, [1.0, 3.0]).in_radius(2)
        0.5
        """
        raise NotImplementedError("in_radius")

    def diameter(self, dimension: SupportsIndex) -> float:
        """Largest distance D of two points of P.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.L1Ball(2.0).diameter(5)
        4.0
        """
        raise NotImplementedError("diameter")

    def affine_dimension(self, dimension: SupportsIndex) -> int:
        """Dimension of the affine hull of P: what d stands for in the papers' formulas.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Simplex().affine_dimension(5), reference.Ball(1.0).affine_dimension(5)
        (4, 5)
        """
        return check.positive_count("dimension", dimension)

    def shrunk(self, gamma: Real, dimension: SupportsIndex) -> FeasibleSet:
        """The set ``(1 - gamma) P = c + (1 - gamma) (P - c)``, 0 <= gamma < 1.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Ball(2.0).shrunk(0.5, 3)
        Ball(1.0)
        """
        return _Shrunk(self, _share(gamma), check.positive_count("dimension", dimension))

    def project(self, z: ArrayLike) -> Vector:
        """The point of P nearest to z in the Euclidean norm.

        Examples
        --------
        >>> from coactive_fast import reference
        >>> reference.Simplex().project([0.9, 0.5, -1.0])
        array([0.7, 0.3, 0. ])
        """
        z = check.vector("z", z)
        return self.project_in(z, np.eye(z.size))

    def project_in(self, z: ArrayLike, Ainv: ArrayLike) -> Vector:
        """The point of P nearest to z in the norm of A, given the inverse of A.

        Examples
        --------
        >>> import numpy as np
        >>> from coactive_fast import reference
        >>> reference.Box(0.0, 1.0).project_in([2.0, 0.5], np.array([[1.0, 0.5], [0.5, 1.0]]))
        array([1., 0.])
        """
        raise NotImplementedError("project_in")

    def direction(self, rng: np.random.Generator, dimension: SupportsIndex) -> Vector:
        """A unit vector, uniform on the sphere of the directions within the affine hull.

        Examples
        --------
        >>> import numpy as np
        >>> from coactive_fast import reference
        >>> v = reference.Simplex().direction(np.random.default_rng(0), 3)
        >>> bool(abs(v.sum()) < 1e-15), round(float(v @ v), 12)
        (True, 1.0)
        """
        v = self._tangent(rng.standard_normal(check.positive_count("dimension", dimension)))
        return v / np.linalg.norm(v)

    def _tangent(self, v):
        """The part of a Gaussian vector that lies within the affine hull: all of it."""
        return v


class _Shrunk(FeasibleSet):
    """``c + s (P - c)`` of any set P: every question is put to P in the coordinates of P."""

    def __init__(self, whole, gamma, dimension):
        self._whole, self._scale, self._n = whole, 1.0 - gamma, dimension
        c = whole.center(dimension)
        self._c = check.vector("feasible.center()", c, dimension, of="a point")

    def _in(self, x):
        return self._c + (x - self._c) / self._scale

    def _out(self, method, x):
        x = check.vector(f"feasible.{method}()", x, self._n, of="the centre")
        return self._c + self._scale * (x - self._c)

    def contains(self, x):
        return self._whole.contains(self._in(check.vector("x", x, self._n, of="the centre")))

    def center(self, dimension):
        return self._whole.center(dimension)

    def in_radius(self, dimension):
        return self._scale * self._whole.in_radius(dimension)

    def diameter(self, dimension):
        return self._scale * self._whole.diameter(dimension)

    def affine_dimension(self, dimension):
        return self._whole.affine_dimension(dimension)

    def project(self, z):
        z = check.vector("z", z, self._n, of="the centre")
        return self._out("project", self._whole.project(self._in(z)))

    def project_in(self, z, Ainv):
        z = check.vector("z", z, self._n, of="the centre")
        return self._out("project_in", self._whole.project_in(self._in(z), Ainv))

    def direction(self, rng, dimension):
        return self._whole.direction(rng, dimension)


class _Formulas(FeasibleSet):
    """The built-in sets: arguments are checked here, the formulas come from the set."""

    def contains(self, x):
        return bool(self._contains(check.vector("x", x)))

    def center(self, dimension):
        return self._center(check.positive_count("dimension", dimension))

    def in_radius(self, dimension):
        return float(self._in_radius(check.positive_count("dimension", dimension)))

    def diameter(self, dimension):
        return float(self._diameter(check.positive_count("dimension", dimension)))

    def shrunk(self, gamma, dimension):
        return self._shrunk(_share(gamma), check.positive_count("dimension", dimension))

    def _shrunk(self, gamma, n):
        return _Shrunk(self, gamma, n)

    def affine_dimension(self, dimension):
        return self._affine_dimension(check.positive_count("dimension", dimension))

    def _affine_dimension(self, n):
        return n

    def project(self, z):
        return self._project(check.vector("z", z))

    def project_in(self, z, Ainv):
        return self._project_in(z, Ainv)  # the projection checks both


class Ball(_Formulas):
    """The Euclidean ball ``||x|| <= radius``.

    Notes
    -----
    Centre 0, in-radius ``radius``, diameter ``2 radius``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.Ball(5.0).project([6.0, 8.0])
    array([3., 4.])
    """

    def __init__(self, radius: Real) -> None:
        self.radius = check.positive("radius", radius)

    def __repr__(self) -> str:
        return f"Ball({self.radius!r})"

    def _contains(self, x):
        return math.hypot(*x) <= (1.0 + SLACK) * self.radius

    def _center(self, n):
        return np.zeros(n)

    def _in_radius(self, n):
        return self.radius

    def _diameter(self, n):
        return 2.0 * self.radius

    def _shrunk(self, gamma, n):
        return Ball((1.0 - gamma) * self.radius)

    def _project(self, z):
        if math.hypot(*z) <= self.radius:
            return z.copy()
        shape = z / np.abs(z).max()  # its length cannot overflow
        return shape * (self.radius / math.hypot(*shape))

    def _project_in(self, z, Ainv):
        return project_ball(z, Ainv, self.radius)[0]


class L1Ball(_Formulas):
    """The L1 ball ``sum |x_i| <= radius``.

    Notes
    -----
    Centre 0, in-radius ``radius / sqrt(n)``, diameter ``2 radius``.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.L1Ball(1.0).project([2.0, -1.5, 0.1])
    array([ 0.75, -0.25,  0.  ])
    """

    def __init__(self, radius: Real) -> None:
        self.radius = check.positive("radius", radius)

    def __repr__(self) -> str:
        return f"L1Ball({self.radius!r})"

    def _contains(self, x):
        return _sum(np.abs(x)) <= (1.0 + SLACK) * self.radius

    def _center(self, n):
        return np.zeros(n)

    def _in_radius(self, n):
        return self.radius / math.sqrt(n)

    def _diameter(self, n):
        return 2.0 * self.radius

    def _shrunk(self, gamma, n):
        return L1Ball((1.0 - gamma) * self.radius)

    def _project(self, z):
        if _sum(np.abs(z)) <= self.radius:
            return z.copy()
        return np.copysign(project_scores(np.abs(z), np.ones_like(z), self.radius)[0], z)

    def _project_in(self, z, Ainv):
        return project_l1(z, Ainv, self.radius)


class Box(_Formulas):
    """The box ``lower <= x <= upper``.

    Notes
    -----
    The centre is the middle, the in-radius half the shortest side, the diameter the diagonal. A
    box is a body of R^n also where a side has no length: its in-radius is then 0.

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.Box(0.0, [1.0, 2.0]).project([3.0, 3.0])
    array([1., 2.])
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        self.lower, self.upper = _limit("lower", lower), _limit("upper", upper)
        if np.ndim(self.lower) and np.ndim(self.upper):
            check.same_length("upper", self.upper.size, self.lower.size, "lower")
        if np.any(self.lower > self.upper):
            raise ValueError("the box is empty: lower must be <= upper everywhere")

    def __repr__(self) -> str:
        return f"Box({_written(self.lower)}, {_written(self.upper)})"

    def _span(self, n):
        """Lower and upper bound as vectors of length n."""
        for name, limit in (("lower", self.lower), ("upper", self.upper)):
            if np.ndim(limit):
                check.same_length(name, limit.size, n, "a point")
        return np.broadcast_to(self.lower, n), np.broadcast_to(self.upper, n)

    def _contains(self, x):
        lower, upper = self._span(x.size)
        slack = SLACK * np.maximum(np.abs(lower), np.abs(upper))
        return ((lower - slack <= x) & (x <= upper + slack)).all()

    def _center(self, n):
        lower, upper = self._span(n)
        return lower / 2.0 + upper / 2.0

    def _in_radius(self, n):
        lower, upper = self._span(n)
        return (upper / 2.0 - lower / 2.0).min()

    def _diameter(self, n):
        lower, upper = self._span(n)
        return 2.0 * math.hypot(*(upper / 2.0 - lower / 2.0))

    def _shrunk(self, gamma, n):
        self._span(n)
        middle = self.lower / 2.0 + self.upper / 2.0
        reach = (1.0 - gamma) * (self.upper / 2.0 - self.lower / 2.0)
        return Box(middle - reach, middle + reach)

    def _project(self, z):
        return np.clip(z, *self._span(z.size))

    def _project_in(self, z, Ainv):
        return project_box(z, Ainv, self.lower, self.upper)


class Simplex(_Formulas):
    """The probability simplex ``x >= 0, sum x = 1``: the portfolios.

    Notes
    -----
    Centre ``1/n``, diameter ``sqrt(2)``. It has no interior in R^n; in its hyperplane, which has
    dimension ``n - 1``, the in-radius is ``1 / sqrt(n (n - 1))``, and directions sum to 0. Shrunk
    it is ``x >= gamma/n, sum x = 1``. A simplex of one coordinate is a single point (in-radius and
    diameter 0).

    Examples
    --------
    >>> from coactive_fast import reference
    >>> reference.Simplex().project([0.9, 0.5, -1.0])
    array([0.7, 0.3, 0. ])
    """

    def __repr__(self) -> str:
        return "Simplex()"

    def _contains(self, x):
        return x.size > 0 and x.min() >= -SLACK and abs(_sum(x) - 1.0) <= SLACK

    def _center(self, n):
        return np.full(n, 1.0 / n)

    def _in_radius(self, n):
        return 1.0 / math.sqrt(n * (n - 1)) if n > 1 else 0.0

    def _diameter(self, n):
        return math.sqrt(2.0) if n > 1 else 0.0

    def _affine_dimension(self, n):
        return n - 1

    def _project(self, z):
        return project_scores(z, np.ones_like(z), 1.0)[0]

    def _project_in(self, z, Ainv):
        return project_simplex(z, Ainv)

    def _tangent(self, v):
        if v.size == 1:
            raise ValueError("a simplex of one coordinate is a point: it has no directions")
        return v - v.mean()


def _share(gamma):
    """gamma as a float in [0, 1)."""
    gamma = check.real("gamma", gamma)
    if not 0.0 <= gamma < 1.0:
        raise ValueError(f"gamma must be >= 0 and < 1, got {gamma}")
    return gamma


def _limit(name, value):
    """A bound of a box: a float, or a vector that is the box's own and not written to."""
    if check.array(name, value).ndim == 0:
        return check.real(name, value)
    limit = check.vector(name, value).copy()
    limit.setflags(write=False)
    return limit


def _sum(x):
    """``sum x_i``; infinite where it overflows."""
    with np.errstate(over="ignore"):
        return x.sum()


def _written(limit):
    return repr(limit if np.ndim(limit) == 0 else limit.tolist())
