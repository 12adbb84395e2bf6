"""Extensions only; everything else stands in pyproject.toml.

Switches, by environment:
    COACTIVE_DEBUG=1      Cython's checks on, no optimisation, symbols
    COACTIVE_SANITIZE=... compiled and linked with -fsanitize=... ("address,undefined")
    COACTIVE_COVERAGE=1   gcov instrumentation of the C library
"""

import multiprocessing
import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

DEBUG = os.environ.get("COACTIVE_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("COACTIVE_SANITIZE", "")
COVERAGE = os.environ.get("COACTIVE_COVERAGE", "") not in ("", "0")

# A new process that is not forked would run this file again.
THREADS = 2 if not DEBUG and multiprocessing.get_start_method() == "fork" else 0

# One rounding where the kernels say fma, two where they do not, whatever the compiler's default.
compile_args = ["-std=c11", "-ffp-contract=off", "-O0" if DEBUG or COVERAGE else "-O3"]
link_args = []
if DEBUG or SANITIZE:
    compile_args += ["-g", "-fno-omit-frame-pointer"]
if SANITIZE:
    compile_args.append(f"-fsanitize={SANITIZE}")
    link_args.append(f"-fsanitize={SANITIZE}")
if COVERAGE:
    compile_args.append("--coverage")
    link_args.append("--coverage")

# The C library is linked into one module; the units of csrc/isa include the kernels' sources.
LIBRARY = [*sorted(str(p) for p in Path("csrc/src").glob("*.c")), "csrc/isa/baseline.c",
           "csrc/isa/v3.c", "csrc/isa/v4.c"]
HEADERS = sorted(str(p) for folder in ("csrc/include/coactive_fast", "csrc/src", "csrc/isa")
                 for p in Path(folder).glob("*.[ch]") if str(p) not in LIBRARY)
MODULES = {
    "coactive_fast._table": LIBRARY,
    "coactive_fast._arrays": [],
    "coactive_fast._guard": [],
    "coactive_fast._projections": [],
    "coactive_fast.kernels": [],
    "coactive_fast.metric._rows": [],
    "coactive_fast.metric._full": [],
    "coactive_fast.metric._kept": [],
    "coactive_fast.metric._gram": [],
    "coactive_fast.metric._diagonal": [],
    "coactive_fast.metric._dual": [],
    "coactive_fast.learner._engine": [],
    "coactive_fast.learner._rows": [],
    "coactive_fast.coactive._rules": [],
    "coactive_fast.coactive._engine": [],
    "coactive_fast.coactive._users": [],
    "coactive_fast.coactive._simulate": [],
    "coactive_fast.coactive._items": [],
    "coactive_fast.coactive._dueling_engine": [],
    "coactive_fast.coactive._record": [],
    "coactive_fast.coactive._dueling_runs": [],
    "coactive_fast.convex._chance": [],
    "coactive_fast.convex._regions": [],
    "coactive_fast.convex._rules": [],
    "coactive_fast.convex._losses": [],
    "coactive_fast.convex._engine": [],
    "coactive_fast.multiclass._models": [],
    "coactive_fast.multiclass._policy": [],
    "coactive_fast.multiclass._full": [],
    "coactive_fast.multiclass._dual": [],
    "coactive_fast.multiclass._engine": [],
    "coactive_fast.multiclass._run": [],
    "coactive_fast.multiclass._calls": [],
    "coactive_fast.data._solve": [],
    "coactive_fast.data._text": [],
    "coactive_fast.filtering._models": [],
    "coactive_fast.filtering._full": [],
    "coactive_fast.filtering._kernel": [],
    "coactive_fast.filtering._engine": [],
    "coactive_fast.filtering._run": [],
    "coactive_fast.filtering._shared": [],
}

# Numpy's own draws, for C code: a static library beside the numpy that this is built against.
NPYRANDOM = str(Path(numpy.get_include()).parents[1] / "random" / "lib")
LINKED = dict.fromkeys(["coactive_fast.convex._chance", "coactive_fast.coactive._dueling_engine"],
                       {"libraries": ["npyrandom"], "library_dirs": [NPYRANDOM]})

extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx", *sources],
        include_dirs=["csrc/include", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        depends=HEADERS,
        **LINKED.get(name, {}),
    )
    for name, sources in MODULES.items()
]

setup(
    ext_modules=cythonize(
        extensions,
        language_level=3,
        nthreads=THREADS,
        compiler_directives={
            "binding": True,
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "nonecheck": False,  # would need the GIL wherever an engine works without it
            "cdivision": not DEBUG,
        },
    ),
    options={"build_ext": {"parallel": 2}},
)
