"""What pytest-benchmark is told: a row a contender in the group of its case, and versions."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

from .._config import show_config
from ._timing import Timing


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
        By the names under which pip knows them; what is not installed is left out.

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
