"""Two ways of doing the same: the results are compared, then both are timed in turn; what of it
goes to pytest-benchmark."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import scipy.sparse

from .._config import show_config
from ._timing import Contender, Timing, interleaved, player

AGAIN = 3.0     # times the budget, for measuring a ratio again that was missed


@dataclass(frozen=True)
class Ratio:
    """How long two callables take, timed in turn in one run.

    Attributes
    ----------
    ours, theirs : Timing
        Of the first callable, and of the one that it is compared with.
    value : float
        Seconds of theirs over seconds of ours: how many times faster ours is.

    Examples
    --------
    >>> from coactive_fast.testing import Ratio, Timing
    >>> ratio = Ratio(Timing(1, ((1e-6,),)), Timing(1, ((4e-6,),)))
    >>> ratio.value
    4.0
    >>> print(ratio)
    4.00x: ours 1.00 us, theirs 4.00 us
    """

    ours: Timing
    theirs: Timing

    @property
    def value(self) -> float:
        """How many times faster ours is."""
        return self.theirs.seconds / self.ours.seconds

    def __str__(self) -> str:
        ours, theirs = (f"{timing.seconds * 1e6:.2f} us" for timing in (self.ours, self.theirs))
        return f"{self.value:.2f}x: ours {ours}, theirs {theirs}"


def assert_same(ours: Any, theirs: Any, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Asserts that two results are equal: numbers, arrays, sparse matrices, or nests of them.

    Parameters
    ----------
    ours, theirs : object
        The results. Tuples and lists are compared one by one, dictionaries by their keys.
    rtol, atol : float, default 0.0
        Tolerances of floating point numbers, as for `numpy.testing.assert_allclose`; NaN equals
        NaN, and integers must be equal.

    Raises
    ------
    AssertionError
        Where they differ; the message says how.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast.testing import assert_same
    >>> assert_same((np.array([0.1 + 0.2]), 1), (np.array([0.3]), 1), rtol=1e-12)
    >>> assert_same([1, 2], [1, 3])
    Traceback (most recent call last):
    ...
    AssertionError: the results differ: 2 and 3
    """
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        _demand(ours.keys() == theirs.keys(), f"keys {[*ours]} and {[*theirs]}")
        for key, value in ours.items():
            assert_same(value, theirs[key], rtol=rtol, atol=atol)
    elif isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        _demand(len(ours) == len(theirs), f"{len(ours)} and {len(theirs)} parts")
        for mine, other in zip(ours, theirs, strict=True):
            assert_same(mine, other, rtol=rtol, atol=atol)
    else:
        a, b = _array(ours), _array(theirs)
        _demand(a.shape == b.shape, f"shapes {a.shape} and {b.shape}")
        if a.dtype.kind in "fc" or b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg="the results differ")
        else:
            _demand(bool((a == b).all()), f"{a} and {b}")


def _demand(same, found):
    if not same:    # no assert: it must hold under ``python -O`` too
        raise AssertionError(f"the results differ: {found}")


def _array(value):
    return value.toarray() if scipy.sparse.issparse(value) else np.asarray(value)


def assert_same_results(ours: Callable[[], Any], theirs: Callable[[], Any], *, rtol: float = 1e-9,
                        atol: float = 0.0, before: Callable[[], object] | None = None) -> None:
    """`assert_same` for what two callables answer, each after a call of `before`."""
    results = []
    for function in (ours, theirs):
        if before is not None:
            before()
        results.append(function())
    assert_same(*results, rtol=rtol, atol=atol)


def measure_ratio(ours: Callable[[], Any], theirs: Callable[[], Any], *, rtol: float = 1e-9,
                  atol: float = 0.0, before: Callable[[], object] | None = None,
                  budget: float = 0.5, series: int = 3) -> Ratio:
    """Compares the results of two callables, then times both in turn.

    Parameters
    ----------
    ours, theirs : callable
        Without arguments; each call does the same piece of work.
    rtol, atol : float
        How far their results may differ: see `assert_same`.
    before : callable, optional
        Called before each result and before each sample, untimed, to set back what the calls
        change. None: the calls change nothing that matters.
    budget : float, default 0.5
        About how many seconds the samples of both take together.
    series : int, default 3
        How often the samples are taken anew; the best series counts.

    Returns
    -------
    Ratio
        What both took.

    Raises
    ------
    AssertionError
        Where the results differ.

    Examples
    --------
    >>> import numpy as np
    >>> from coactive_fast import kernels
    >>> from coactive_fast.testing import measure_ratio
    >>> x = np.arange(1000.0)
    >>> ratio = measure_ratio(lambda: kernels.top_k(x, 3), lambda: np.argsort(-x)[:3], budget=0.01)
    >>> ratio.value > 0.0
    True
    """
    assert_same_results(ours, theirs, rtol=rtol, atol=atol, before=before)
    pair = [Contender(name, player("f()", "_", (None,), f=function), before)
            for name, function in (("ours", ours), ("theirs", theirs))]
    return Ratio(*interleaved(pair, budget, series))


def assert_ratio(ours: Callable[[], Any], theirs: Callable[[], Any], at_least: float = 1.0,
                 *, budget: float = 0.5, seen: Callable[[Ratio], object] | None = None,
                 **options: Any) -> Ratio:
    """Asserts that two callables agree and that ours is so many times faster.

    A ratio that is missed is measured once more with three times the budget, since a busy machine
    makes slow what is not.

    Parameters
    ----------
    ours, theirs : callable
        Without arguments; each call does the same piece of work.
    at_least : float, default 1.0
        The least ratio of theirs to ours.
    budget : float, default 0.5
        About how many seconds the samples of both take together.
    seen : callable, optional
        Called with the ratio before it is judged, to note it down.
    **options
        As for `measure_ratio`.

    Returns
    -------
    Ratio
        What both took.

    Raises
    ------
    AssertionError
        Where the results differ or the ratio is less.

    Examples
    --------
    >>> from coactive_fast.testing import assert_ratio
    >>> ratio = assert_ratio(lambda: 4950, lambda: sum(range(100)), at_least=1.5, budget=0.02)
    """
    if not at_least >= 0.0:
        raise ValueError(f"at_least must be >= 0, got {at_least}")
    found = measure_ratio(ours, theirs, budget=budget, **options)
    if found.value < at_least:
        found = measure_ratio(ours, theirs, budget=AGAIN * budget, **options)
    if seen is not None:
        seen(found)
    if found.value < at_least:
        raise AssertionError(f"{found}; at least {at_least:g}x was asked for")
    return found


# --- pytest and pytest-benchmark ------------------------------------------------------------------


def add_rows(benchmark: Any, group: str, timings: Mapping[str, Timing], **extra: Any) -> None:
    """Puts samples that were taken in turn into the tables and files of pytest-benchmark.

    Its own fixture times one function after the other, so that two of them are never timed under
    the same load; this gives it a row for each contender of `interleaved`, in one group.

    Parameters
    ----------
    benchmark : pytest_benchmark.fixture.BenchmarkFixture
        The fixture of the test, not used so far; the first timing goes into it.
    group : str
        The heading of their table. A row's full name is made of the test's, this and the
        contender's, so that ``--benchmark-compare`` finds it again.
    timings : dict of str to Timing
        A row each, under this name.
    **extra
        What is stored beside each of them as its ``extra_info``.

    Examples
    --------
    A test that asks for the fixture `benchmark`::

        def test_top_k(benchmark, coactive_streams):
            scores = coactive_streams.rows(1, 100_000)[0]
            ways = {"coactive_fast": lambda: kernels.top_k(scores, 5),
                    "numpy": lambda: numpy.argsort(-scores)[:5]}
            found = interleaved([Contender(name, player("f()", "_", [None], f=way))
                                 for name, way in ways.items()])
            add_rows(benchmark, "top_k of 100,000", dict(zip(ways, found)))
    """
    for name, timing in timings.items():
        row = copy.copy(benchmark)  # before the first stands in it: each has its own options
        row.name, row.fullname = name, f"{benchmark.fullname}::{group}::{name}"
        row.group, row.extra_info = group, {**benchmark.extra_info, **extra}
        stats = row._make_stats(timing.rounds)
        for samples in timing.series:
            for seconds in samples:
                stats.update(seconds * timing.rounds)
    benchmark._mode = "coactive_fast.testing.add_rows"  # it was used


def versions(packages: Iterable[str] = ("numpy", "scipy")) -> dict[str, Any]:
    """What figures depend on: versions, and the build of this package.

    Parameters
    ----------
    packages : iterable of str
        By their names for pip; what is not installed is left out.

    Returns
    -------
    dict of str to str
        Versions by name; "isa" is the chosen instruction set, "compiler" what built the package.

    Examples
    --------
    >>> from coactive_fast.testing import versions
    >>> sorted(versions(["numpy", "no-such-package"]))
    ['coactive_fast', 'compiler', 'isa', 'numpy']
    """
    config = show_config("dicts")
    found = {"coactive_fast": config["coactive_fast"], "isa": config["isa"]["chosen"],
             "compiler": config["build"]["compiler"]}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def checker(request: Any) -> Callable[..., Ratio | None]:
    """`assert_ratio` for one test, whose figures also go to pytest-benchmark.

    Parameters
    ----------
    request : pytest.FixtureRequest
        Of the test.

    Returns
    -------
    callable
        ``check(ours, theirs, at_least=1.0, *, group=None, **options)``.
    """
    option = request.config.getoption
    off = option("benchmark_disable", False) and not option("benchmark_enable", False)
    benchmark = None
    if "benchmark" in request.fixturenames:
        benchmark = request.getfixturevalue("benchmark")
        off = benchmark.disabled
    off = off or option("benchmark_skip", False)

    def check(ours: Callable[[], Any], theirs: Callable[[], Any], at_least: float = 1.0, *,
              group: str | None = None, budget: float = 0.5, series: int = 3,
              **options: Any) -> Ratio | None:
        if off:
            if benchmark is not None:
                add_rows(benchmark, "", {})  # it was used, and has nothing to show
            assert_same_results(ours, theirs, **options)
            return None

        def seen(found: Ratio) -> None:
            if benchmark is not None:
                add_rows(benchmark, group or request.node.name,
                         {"ours": found.ours, "theirs": found.theirs}, ratio=found.value)

        return assert_ratio(ours, theirs, at_least, seen=seen, budget=budget, series=series,
                            **options)

    return check
