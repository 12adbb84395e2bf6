"""What the fixture `coactive_ratio` answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._benchmark import add_rows
from ._ratio import Ratio, assert_ratio, assert_same_results


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
