"""`coactive_fast.testing` and the pytest plugin: what they give, and that others feel nothing."""

import ast
import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coactive_fast as cf
from coactive_fast import testing
from coactive_fast.testing import _ratio

PLUGIN = "pytest_coactive_fast"
HOME = Path(cf.__file__).resolve().parent.parent


def pytest_run(folder, source, *options, home=HOME, command=("-m", "pytest"), **environment):
    """A run of pytest over one file in a process of its own."""
    (folder / "test_it.py").write_text(source)
    of_ours = {name: value for name, value in os.environ.items()
               if not name.startswith("PYTEST_XDIST")}  # with which pytest-benchmark times nothing
    environment = {**of_ours, "PYTHONPATH": str(home), "PYTHONDONTWRITEBYTECODE": "1",
                   **environment}
    done = subprocess.run([sys.executable, *command, "-p", PLUGIN, "-q", "test_it.py", *options],
                          cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


# --- the plugin -----------------------------------------------------------------------------


def test_plugin_imports_nothing():
    tree = ast.parse(Path(importlib.util.find_spec(PLUGIN).origin).read_text(encoding="utf-8"))
    imported = [alias.name for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))
                for alias in node.names]
    assert imported == ["sys", "pytest"]


def test_run_that_does_not_use_it(tmp_path):
    """In such a run neither this package nor NumPy is loaded, and no hook of ours does anything."""
    source = """
import sys
def test_it():
    assert not [name for name in sys.modules if name.split(".")[0] in ("numpy", "coactive_fast")]
    assert "pytest_coactive_fast" in sys.modules
"""
    code, told = pytest_run(tmp_path, source, "-W", "error", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert code == 0, told


def test_package_that_cannot_be_loaded(tmp_path):
    """A broken installation breaks those tests alone that ask for a fixture."""
    home = tmp_path / "home"
    (home / "coactive_fast").mkdir(parents=True)
    (home / "coactive_fast" / "__init__.py").write_text("raise ImportError('broken')\n")
    (home / f"{PLUGIN}.py").write_text(
        Path(importlib.util.find_spec(PLUGIN).origin).read_text(encoding="utf-8"))
    source = "def test_it(): pass\ndef test_that(coactive_streams): pass\n"
    code, told = pytest_run(tmp_path, source, home=home)
    assert code == 1 and "1 passed, 1 error" in told and "broken" in told


def test_package_that_was_loaded_before_pytest(tmp_path):
    """pytest marks the files of a plugin's distribution for its assertions, and warns where one was
    imported already: here that is no news to anybody."""
    info = tmp_path / "installed" / "pretended-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pretended\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"coactive_fast/__init__.py,,\n{PLUGIN}.py,,\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{PLUGIN} = {PLUGIN}\n")
    source = "import coactive_fast\ndef test_it(coactive_streams): pass\n"
    start = "import sys, coactive_fast, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    code, told = pytest_run(tmp_path, source, "-W", "error", command=("-c", start),
                            home=os.pathsep.join([str(info.parent), str(HOME)]))
    assert code == 0 and "warning" not in told.lower(), told


USE = """
import numpy as np
from coactive_fast import kernels

def test_fast(coactive_streams, coactive_ratio):
    x = coactive_streams.rows(1, 20_000)[0]
    found = coactive_ratio(lambda: kernels.top_k(x, 3),
                           lambda: sorted(range(x.size), key=lambda i: -x[i])[:3],
                           at_least=2, budget=0.05, series=1)
    assert found.value >= 2

def test_slow(coactive_ratio):
    coactive_ratio(lambda: sum(range(2000)), lambda: 1999000, at_least=5, budget=0.01, series=1)

def test_wrong(coactive_ratio):
    coactive_ratio(lambda: 1, lambda: 2)
"""


def test_ratios(tmp_path):
    code, told = pytest_run(tmp_path, USE)
    assert code == 1 and "1 passed" in told and "2 failed" in told
    assert "at least 5x was asked for" in told and "the results differ: 1 and 2" in told


BENCHMARK = """
def test_pair(benchmark, coactive_ratio):
    coactive_ratio(lambda: 4950, lambda: sum(range(100)), at_least=LEAST, budget=0.02, series=2)
    coactive_ratio(lambda: 45, lambda: sum(range(10)), 0.1, group="ten", budget=0.02, series=2)
"""


def test_rows_of_pytest_benchmark(tmp_path):
    pytest.importorskip("pytest_benchmark")
    source = BENCHMARK.replace("LEAST", "1.5")
    code, told = pytest_run(tmp_path, source, "--benchmark-only", "--benchmark-json=found.json")
    assert code == 0, told
    found = json.loads((tmp_path / "found.json").read_text())
    rows = {(row["group"], row["name"]): row for row in found["benchmarks"]}
    assert set(rows) == {(group, name) for group in ("test_pair", "ten")
                         for name in ("ours", "theirs")}
    assert len({row["fullname"] for row in rows.values()}) == 4
    ours, theirs = rows["test_pair", "ours"], rows["test_pair", "theirs"]
    assert ours["extra_info"]["ratio"] == theirs["extra_info"]["ratio"] >= 1.5
    assert ours["stats"]["median"] < theirs["stats"]["median"] < 1e-3
    assert ours["stats"]["rounds"] >= 6 and ours["stats"]["iterations"] > 1
    assert found["machine_info"]["coactive_fast"]["coactive_fast"] == cf.__version__
    assert "numpy" in found["machine_info"]["coactive_fast"]
    assert "benchmark 'ten': 2 tests" in told


def test_saved_rows_are_compared(tmp_path):
    pytest.importorskip("pytest_benchmark")
    source = BENCHMARK.replace("LEAST", "0.01")
    assert pytest_run(tmp_path, source, "--benchmark-only", "--benchmark-save=before")[0] == 0
    code, told = pytest_run(tmp_path, source, "--benchmark-only", "--benchmark-compare")
    assert code == 0 and told.count("(NOW)") == told.count("(0001_before)") == 4, told


@pytest.mark.parametrize("option", ["--benchmark-disable", "--benchmark-skip"])
def test_without_timing(tmp_path, option):
    """Results are compared all the same, unless the test is skipped."""
    pytest.importorskip("pytest_benchmark")
    code, told = pytest_run(tmp_path, BENCHMARK.replace("LEAST", "1e9"), option, "-W", "error")
    assert code == 0 and ("1 passed" if option == "--benchmark-disable" else "1 skipped") in told
    code, told = pytest_run(tmp_path, BENCHMARK.replace("4950", "1"), option)
    assert code == (1 if option == "--benchmark-disable" else 0)


def test_page(tmp_path):
    """The blocks of docs/testing.md, in one file."""
    pytest.importorskip("pytest_benchmark")
    page = Path(__file__).resolve().parent.parent / "docs" / "testing.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    code, told = pytest_run(tmp_path, "\n".join(blocks), "--benchmark-max-time=0.01")
    assert code == 0 and f"{len(blocks)} passed" in told, told


# --- streams --------------------------------------------------------------------------------


def test_streams():
    one, other = testing.Streams(), testing.Streams()
    rows, labels = one.labels(300, 8, n_classes=4, dtype=np.float32)
    assert rows.dtype == np.float32 and set(labels.tolist()) == {0, 1, 2, 3}
    assert 0.8 < np.linalg.norm(rows, axis=1).mean() < 1.2
    assert one.labels(300, 8, n_classes=4, dtype="float32")[1] is labels
    np.testing.assert_array_equal(other.rows(300, 8, dtype=np.float32), rows)
    assert (testing.Streams(1).rows(300, 8, dtype=np.float32) != rows).any()
    ranked = one.rankings(20, 6, documents=5)
    assert len(ranked) == 20 and ranked is one.rankings(20, 6, documents=5)
    with pytest.raises(ValueError, match="density"):
        one.rows(3, 3, density=0.0)


def test_nobody_can_change_a_stream():
    streams = testing.Streams()
    sparse, labels = streams.labels(50, 400, density=0.05)
    ranked = streams.rankings(5, 4)
    for array in (streams.rows(3, 4), labels, sparse.data, sparse.indices, sparse.indptr,
                  ranked.features, ranked.relevance):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert sparse.has_sorted_indices and sparse.nnz == 1000


def test_learners_take_streams_as_they_are():
    streams = testing.Streams()
    for density in (1.0, 0.1):
        X, y = streams.labels(400, 30, n_classes=3, density=density)
        assert cf.MulticlassAROW(3).run(X, y, epochs=3).error_rate[-1] < 0.4
    history = cf.simulate(cf.PreferencePerceptron(cf.Ranking(k=3)), streams.rankings(30, 10),
                          cf.users.NoisyDepth(2, k=3))
    assert len(history) == 30
    assert len(cf.kernels.top_k(streams.rows(1, 100)[0], 3)) == 3


# --- ratios ---------------------------------------------------------------------------------


def timing(*medians, rounds=1):
    return testing.Timing(rounds, tuple((m,) * 3 for m in medians))


def test_second_look(monkeypatch):
    """A ratio that is missed is measured again, longer; what is missed twice is told."""
    taken, found = [], [[timing(1.0), timing(1.5)], [timing(1.0), timing(4.0)]]

    def interleaved(contenders, budget, series):
        taken.append(budget)
        return found[len(taken) - 1]

    monkeypatch.setattr(_ratio, "interleaved", interleaved)
    seen = []
    ratio = testing.assert_ratio(int, int, 2.0, budget=0.5, seen=seen.append)
    assert ratio.value == 4.0 and taken == [0.5, 1.5] and seen == [ratio]
    taken.clear()
    with pytest.raises(AssertionError, match=r"4\.00x: .*; at least 9x was asked for"):
        testing.assert_ratio(int, int, 9.0, seen=seen.append)
    assert len(seen) == 2


def test_before_sets_back_what_calls_change():
    state = {}

    def call():
        state["calls"] = state.get("calls", 0) + 1
        return state["calls"] == 1

    ratio = testing.measure_ratio(call, lambda: True, before=state.clear, budget=0.01, series=1)
    assert ratio.ours.seconds > 0.0
    with pytest.raises(AssertionError, match="differ"):
        testing.measure_ratio(call, lambda: False, before=state.clear, budget=0.01, series=1)


@pytest.mark.parametrize("ours, theirs", [
    (1, 2), ([1], [1, 2]), ({"a": 1}, {"b": 1}), (1.0, 1.0 + 1e-9), (np.ones(2), np.ones(3)),
    (np.arange(3), np.arange(4)), ((1, (2, [3])), (1, (2, [4]))), (np.nan, 1.0), ("a", "b")])
def test_results_that_differ(ours, theirs):
    with pytest.raises(AssertionError):
        testing.assert_same(ours, theirs)


def test_results_that_are_the_same():
    import scipy.sparse

    testing.assert_same({"a": (1, [2.0, np.nan])}, {"a": (1, [2.0, np.nan])})
    testing.assert_same(scipy.sparse.eye(3).tocsr(), np.eye(3))
    testing.assert_same(1.0, 1.0 + 1e-9, rtol=1e-8)
    testing.assert_same("a", "a")


def test_all_take_turns():
    """Samples are taken round by round: A, B, A, B, ..., each after its own `before`."""
    order = []
    pair = [testing.Contender(name, lambda n: None, before=lambda name=name: order.append(name),
                              most=1) for name in "AB"]
    first, second = testing.interleaved(pair, budget=1e-6, series=2)
    assert order[:4] == ["A", "A", "B", "B"]  # how long a round takes
    assert order[4:] == ["A", "B"] * 6
    assert [len(samples) for samples in first.series] == [3, 3] == [
        len(samples) for samples in second.series]


def test_blocks_and_scales():
    """Rounds come in multiples of the step, and a round counts as its scale."""
    played = []
    blocks = testing.Contender("blocks", played.append, step=7, most=70, scale=10.0)
    timing, = testing.interleaved([blocks], budget=1e-6, series=1)
    assert timing.rounds % 7 == 0 and all(n % 7 == 0 for n in played)


def test_timing_by_its_medians():
    assert timing(3.0, 2.0).seconds == 2.0 and timing(3.0, 2.0).spread == 1.5
    assert testing.Ratio(timing(2.0), timing(3.0)).value == 1.5


@pytest.mark.parametrize("ours, theirs", [(np.zeros(3), 0.0), (np.ones((2, 2)), 1.0), ([0.0], 0.0)])
def test_a_number_is_not_an_array_of_it(ours, theirs):
    with pytest.raises(AssertionError, match="shapes"):
        testing.assert_same(np.asarray(ours), theirs)


def test_a_bound_that_is_no_number():
    with pytest.raises(ValueError, match="at_least must be >= 0, got nan"):
        testing.assert_ratio(lambda: 1, lambda: 1, float("nan"))
