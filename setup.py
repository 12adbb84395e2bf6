"""Extensions only; everything else stands in pyproject.toml.

Switches, by environment:
    COACTIVE_DEBUG=1      Cython's checks on, no optimisation, symbols
    COACTIVE_SANITIZE=... compiled and linked with -fsanitize=... ("address,undefined")
    COACTIVE_COVERAGE=1   gcov instrumentation of the C library
"""

import multiprocessing
import os
import runpy
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

# What Cython knows of the C library, anew where the headers have changed.
runpy.run_path("csrc/table_pxd.py", run_name="__main__")

# The C library is linked into one module; the units of csrc/isa include the kernels' sources.
LIBRARY = [*sorted(str(p) for p in Path("csrc/src").glob("*.c")), "csrc/isa/baseline.c",
           "csrc/isa/v3.c", "csrc/isa/v4.c"]
HEADERS = sorted(str(p) for folder in ("csrc/include/coactive_fast", "csrc/src", "csrc/isa")
                 for p in Path(folder).glob("*.[ch]") if str(p) not in LIBRARY)
SOURCES = {"coactive_fast._table": LIBRARY}  # of a module, besides its own .pyx
MODULES = sorted(str(p.with_suffix("")).replace("/", ".")
                 for p in Path("coactive_fast").rglob("*.pyx"))

# Numpy's own draws, for C code: a static library beside the numpy that this is built against.
NPYRANDOM = str(Path(numpy.get_include()).parents[1] / "random" / "lib")
LINKED = {"coactive_fast.learner._chance": {"libraries": ["npyrandom"],
                                            "library_dirs": [NPYRANDOM]}}

extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx", *SOURCES.get(name, [])],
        include_dirs=["csrc/include", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        depends=HEADERS,
        **LINKED.get(name, {}),
    )
    for name in MODULES
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
