"""Benchmarks by pytest: ``pytest bench``, ``pytest bench/bench_top_k.py``.

A benchmark never fails for being slow. Each asserts its results, then times all contenders in turn.
pytest-benchmark gets a row for each of them, in one group a case, so that its tables, files and
``--benchmark-compare`` tell ours and peers apart; the tables of ratios come at the end.
"""

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import threads  # noqa: E402, I001  (before numpy: the pools of threads read the environment once)

import compiled  # noqa: E402
import contenders  # noqa: E402
import pytest  # noqa: E402
import ratio  # noqa: E402

from coactive_fast import testing  # noqa: E402

PEERS = ("numpy", "scipy", "numba", "quadprog", "proxsuite", "scikit-learn", "river", "pandas",
         "mabwiser", "dask", "Cython")
TABLES = []


def pytest_collect_file(file_path, parent):
    """bench_*.py are test modules here, whatever the project's python_files says."""
    session = parent.session
    if file_path.match("bench_*.py") and not session.isinitpath(file_path):
        return pytest.Module.from_parent(parent, path=file_path)
    return None


def pytest_configure(config):
    """Files of other versions are compared with a warning, which is no error here."""
    warnings.filterwarnings("default", message="Benchmark machine_info is different")


def pytest_collection_modifyitems(config, items):
    here = Path(__file__).resolve().parent
    options = {"max_time": 0.02, "min_rounds": 2} if threads.quick() else {"max_time": 0.3}
    for item in items:
        if here in Path(item.path).parents:
            # numba and others may warn; that says nothing about the results
            item.add_marker(pytest.mark.filterwarnings("default"))
            # of those that time a call of their own; `compare` has a group for each case
            item.add_marker(pytest.mark.benchmark(group=Path(item.path).stem, **options))


def pytest_generate_tests(metafunc):
    """A test that asks for a plan gets those of its module's `plans()`."""
    if "plan" in metafunc.fixturenames:
        plans = [p for p in metafunc.module.plans() if p.smoke or not threads.quick()]
        metafunc.parametrize("plan", plans, ids=str)


def pytest_report_header(config):
    late = ["numpy was imported before the benchmarks: BLAS may run several threads"]
    return [*contenders.missing(), *(late if threads.TOO_LATE else [])]


def pytest_benchmark_update_machine_info(config, machine_info):
    """Which versions the files compare; without what is another number each time it is read."""
    machine_info["coactive_fast"] = testing.versions(PEERS)
    for name in [name for name in machine_info["cpu"] if name.startswith("hz_actual")]:
        del machine_info["cpu"][name]


def pytest_terminal_summary(terminalreporter):
    for reason in compiled.why_not.values():
        terminalreporter.write_line(reason)
    for text in TABLES:
        terminalreporter.write_line("")
        terminalreporter.write_line(text)


@pytest.fixture
def compare(benchmark):
    """Build a plan, which asserts its results, then time all of its contenders in turn."""
    def run(plan):
        case = plan.build()
        if benchmark.disabled:
            function, arguments = case.call or (case.ours.play, (case.ours.step,))
            if case.ours.before is not None:
                case.ours.before()
            benchmark(function, *arguments)
            return None
        result = ratio.measure(case, *((0.05, 1) if threads.quick() else (1.5, 3)))
        testing.add_rows(benchmark, f"{case.subject}: {case.name}", result.timings,
                         figures={k: float(v) for k, v in case.figures.items()},
                         targets={t.text: None if (found := t.measure(result)) is None
                                  else float(found) for t in case.targets})
        TABLES.append(ratio.table(result))
        return result
    return run
