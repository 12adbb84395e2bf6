"""Benchmarks by pytest: ``pytest bench``, ``pytest bench/bench_top_k.py``.

A benchmark never fails for being slow. Each asserts its results, gives pytest-benchmark one call
of ours to time, and times all contenders in turn; the tables of ratios come at the end.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import threads  # noqa: E402, I001  (before numpy: the pools of threads read the environment once)

import compiled  # noqa: E402
import contenders  # noqa: E402
import pytest  # noqa: E402
import ratio  # noqa: E402

TABLES = []


def pytest_collect_file(file_path, parent):
    """bench_*.py are test modules here, whatever the project's python_files says."""
    session = parent.session
    if file_path.match("bench_*.py") and not session.isinitpath(file_path):
        return pytest.Module.from_parent(parent, path=file_path)
    return None


def pytest_collection_modifyitems(config, items):
    here = Path(__file__).resolve().parent
    options = {"max_time": 0.02, "min_rounds": 2} if threads.quick() else {"max_time": 0.3}
    for item in items:
        if here in Path(item.path).parents:
            # numba and others may warn; that says nothing about the results
            item.add_marker(pytest.mark.filterwarnings("default"))
            item.add_marker(pytest.mark.benchmark(group=Path(item.path).stem, **options))


def pytest_generate_tests(metafunc):
    """A test that asks for a plan gets those of its module's `plans()`."""
    if "plan" in metafunc.fixturenames:
        plans = [p for p in metafunc.module.plans() if p.smoke or not threads.quick()]
        metafunc.parametrize("plan", plans, ids=str)


def pytest_report_header(config):
    late = ["numpy was imported before the benchmarks: BLAS may run several threads"]
    return [*contenders.missing(), *(late if threads.TOO_LATE else [])]


def pytest_terminal_summary(terminalreporter):
    for reason in compiled.why_not.values():
        terminalreporter.write_line(reason)
    for text in TABLES:
        terminalreporter.write_line("")
        terminalreporter.write_line(text)


@pytest.fixture
def compare(benchmark):
    """Build a plan (which asserts its results), time one call of ours, then all in turn."""
    def run(plan):
        case = plan.build()
        if case.call is not None:
            function, arguments = case.call
            benchmark(function, *arguments)
        else:
            benchmark.pedantic(case.ours.play, args=(1,), setup=case.ours.before, rounds=5)
        result = ratio.measure(case, *((0.05, 1) if threads.quick() else (1.5, 3)))
        benchmark.extra_info["seconds_in_turn"] = result.seconds
        benchmark.extra_info["figures"] = {k: float(v) for k, v in case.figures.items()}
        TABLES.append(ratio.table(result))
        return result
    return run
