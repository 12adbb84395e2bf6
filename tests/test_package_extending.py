"""Other people's Cython code calls the kernels: the example of docs/cython.md, built in a folder of
its own."""

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_package_readme import ROOT, fences

import coactive_fast as cf

pytest.importorskip("Cython", reason="extensions are built with Cython")
pytest.importorskip("setuptools", reason="extensions are built with setuptools")

MORE = '''
from coactive_fast cimport CF_BLOCK, CF_OK, CF_SIMPLEX, cf_get_library, cf_library

def isa():
    return K.isa.decode()

def ball_scratch(n):
    return cf_get_library().ball_scratch(n, 0)

def status(number):
    return cf_get_library().status_message(number).decode()

def constants():
    return CF_OK, CF_SIMPLEX, CF_BLOCK
'''


FILES = {mark.removeprefix("file: "): text for mark, _, text in fences(ROOT / "docs" / "cython.md")
         if mark and mark.startswith("file: ")}


@functools.cache
def root():
    """The folder that must be on the path: [] where the package is installed."""
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    code = "import coactive_fast; print(coactive_fast.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd=os.sep, env=outside, timeout=60,
                          capture_output=True, text=True)
    installed = done.stdout.strip() == cf.__file__
    return [] if installed else [str(Path(cf.__file__).resolve().parents[1])]


def run(folder, *arguments):
    """A Python process in the folder, which finds this package and what was built there."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*root(), str(folder)])},
    )


def build(folder):
    done = run(folder, "setup.py", "-q", "build_ext", "--inplace")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """Runs code with the freshly built extension at hand; returns what it printed."""
    folder = tmp_path_factory.mktemp("extension")
    assert set(FILES) == {"quad.pyx", "setup.py"}
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with open(folder / "quad.pyx", "a", encoding="utf-8") as file:
        file.write(MORE)
    build(folder)

    def printed(code):
        done = run(folder, "-c", code)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return printed


@pytest.mark.parametrize("n", [1, 7, 8, 33, 100])
def test_dot_and_symv(call, n):
    shown = call(f"""
import numpy as np, quad
from coactive_fast.kernels import inverse_update
rng = np.random.default_rng({n})
x, F = rng.standard_normal({n}), rng.standard_normal(({n}, {n}))
B = F @ F.T
same = inverse_update(B.copy(), x)
print(repr(float(quad.quad(B, x))), repr(float(x @ B @ x)), repr(same))
""")
    ours, plain, same = map(float, shown.split())
    np.testing.assert_allclose(ours, plain, rtol=1e-10)
    assert ours == pytest.approx(same, rel=1e-10)


def test_table_and_library_are_those_of_the_package(call):
    assert call("import quad; print(quad.isa())") == cf.show_config("dicts")["isa"]["chosen"]
    assert int(call("import quad; print(quad.ball_scratch(100))")) > 0
    assert call("import quad; print(quad.status(0))") == "ok"
    assert call("import quad; print(*quad.constants())") == "0 0 16"


# --- modules compiled against another version ----------------------------------------------------

ENTRIES = re.compile(r"(?<=\n)    CF_KERNELS\(CF_FIELD\)\n")
FUNCTIONS = re.compile(r"(?<=\n)    CF_LIBRARY_FUNCTIONS\(CF_FIELD\)\n")
USES_LIBRARY = """
from coactive_fast cimport cf_get_library, cf_library
cdef const cf_library *L = cf_get_library()
def ball_scratch(n):
    return L.ball_scratch(n, 0)
"""
# module: (its Cython code, the header that differed then, pattern, what stood in its place)
OTHERS = {
    "abi": (FILES["quad.pyx"], "cf_table.h", re.compile(r"(?<=#define CF_ABI )\d+"), "7041"),
    "more_kernels": (FILES["quad.pyx"], "cf_table.h", ENTRIES,
                     r"\g<0>    void (*one_more)(void);\n"),
    "more_functions": (USES_LIBRARY, "cf_library.h", FUNCTIONS,
                       r"\g<0>    void (*one_more)(void);\n"),
    # the kernels up to the inverse's, in the order of the lists
    "fewer_kernels": (FILES["quad.pyx"], "cf_table.h", ENTRIES, "".join(
        f"    CF_{name}_KERNELS(CF_FIELD)\n"
        for name in ("DENSE", "ELEMENTARY", "TOP_K", "RANK", "INVERSE"))),
}


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """The folder with the modules of OTHERS, each compiled against headers of its own."""
    folder = tmp_path_factory.mktemp("others")
    for name, (code, header, pattern, other) in OTHERS.items():
        (folder / f"{name}.pyx").write_text(code, encoding="utf-8")
        shutil.copytree(Path(cf.get_include()) / "coactive_fast",
                        folder / name / "coactive_fast", ignore=shutil.ignore_patterns("*.py*"))
        file = folder / name / "coactive_fast" / header
        text, count = pattern.subn(other, file.read_text(encoding="utf-8"))
        assert count == 1
        file.write_text(text, encoding="utf-8")
    (folder / "setup.py").write_text(f"""
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(ext_modules=cythonize([Extension(name, [name + ".pyx"], include_dirs=[name])
                             for name in {list(OTHERS)}]))
""", encoding="utf-8")
    build(folder)
    return folder


@pytest.mark.parametrize("name, words", [
    ("abi", ["for ABI 7041 ", f"has ABI {cf.show_config('dicts')['build']['abi']}:"]),
    ("more_kernels", ["newer coactive_fast", "or install the newer coactive_fast"]),
    ("more_functions", ["newer coactive_fast", "or install the newer coactive_fast"]),
])
def test_a_module_that_does_not_fit_is_refused(others, name, words):
    done = run(others, "-c", f"import {name}")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: {name} was compiled ")
    for part in [*words, f"version {cf.__version__}", f"rebuild {name} against it"]:
        assert part in last


def test_a_module_of_an_older_version_works(others):
    done = run(others, "-c", "import numpy as np, fewer_kernels\n"
                             "print(fewer_kernels.quad(np.eye(3), np.array([1.0, 2.0, 3.0])))")
    assert done.stdout.strip() == "14.0", done.stderr
