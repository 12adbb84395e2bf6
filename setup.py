"""Extensions only; everything else stands in pyproject.toml.

Switches, by environment:
    COACTIVE_DEBUG=1      Cython's checks on, no optimisation, symbols
    COACTIVE_SANITIZE=... compiled and linked with -fsanitize=... ("address,undefined")
    COACTIVE_COVERAGE=1   gcov instrumentation of the C library
    COACTIVE_JOBS=n       modules that are translated and compiled at a time (else: the processors)
"""

import multiprocessing
import os
import runpy
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

DEBUG = os.environ.get("COACTIVE_DEBUG", "") not in ("", "0")
SANITIZE = os.environ.get("COACTIVE_SANITIZE", "")
COVERAGE = os.environ.get("COACTIVE_COVERAGE", "") not in ("", "0")


def processors():
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


JOBS = int(os.environ.get("COACTIVE_JOBS", "0")) or processors()

# A new process that is not forked would run this file again.
THREADS = JOBS if not DEBUG and multiprocessing.get_start_method() == "fork" else 0

# One rounding where the kernels say fma, two where they do not, whatever the compiler's default.
compile_args = ["-std=c11", "-ffp-contract=off", "-O0" if DEBUG or COVERAGE else "-O3"]
link_args = []
if DEBUG or SANITIZE:
    compile_args += ["-g", "-fno-omit-frame-pointer"]
elif not COVERAGE:  # the smallest modules: no debug tables, no names but those that Python looks up
    compile_args += ["-g0", "-fvisibility=hidden"]
    if sys.platform == "linux":  # nor tables to unwind the stack by (C throws nothing), nor stubs
        compile_args += ["-fno-asynchronous-unwind-tables", "-fno-plt"]
        link_args += ["-Wl,--strip-all", "-Wl,--exclude-libs,ALL"]
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

# Utilities of Cython that all modules need (how a compiled function looks to Python, how keywords
# are told apart), compiled once. The others import it.
SHARED = "coactive_fast._utility"

# Numpy's own draws, for C code: a static library beside the numpy that this is built against.
NPYRANDOM = str(Path(numpy.get_include()).parents[1] / "random" / "lib")
MATH = [] if sys.platform == "win32" else ["m"]
LINKED = {"coactive_fast.learner._chance": {"libraries": ["npyrandom"],
                                            "library_dirs": [NPYRANDOM]}}


class Build(build_ext):
    """Without the folder of the Python that builds in the modules (RUNPATH)."""

    def build_extensions(self):
        for name in ("linker_so", "compiler_so"):
            words = getattr(self.compiler, name, None)
            if words:
                setattr(self.compiler, name,
                        [word for word in words if not word.startswith("-Wl,-rpath")])
        super().build_extensions()


class Stubs(build_py):
    """The stubs of a wheel have the docstrings of their modules; those of this tree stay bare."""

    def build_package_data(self):
        super().build_package_data()
        documented = runpy.run_path("stub_docstrings.py")["documented"]
        for stub in Path("coactive_fast").rglob("*.pyi"):
            Path(self.build_lib, stub).write_text(documented(stub), encoding="utf-8")


class Editable(editable_wheel):
    """Puts this folder on the path, instead of a finder that nobody but Python's import asks:
    Cython looks for .pxd in folders, type checkers for .pyi. Pages and headers, which a wheel has
    inside the package, are found where they lie."""

    def finalize_options(self):
        inside = [name for name in self.distribution.packages if Path(*name.split(".")).is_dir()]
        self.distribution.packages = inside
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


extensions = [
    Extension(
        name,
        [name.replace(".", "/") + ".pyx", *SOURCES.get(name, [])],
        include_dirs=["csrc/include", numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_22_API_VERSION")],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        depends=HEADERS,
        libraries=[*LINKED.get(name, {}).get("libraries", []), *MATH],
        library_dirs=LINKED.get(name, {}).get("library_dirs", []),
    )
    for name in MODULES
]
extensions.append(Extension(SHARED, [SHARED.replace(".", "/") + ".c"],
                            extra_compile_args=compile_args, extra_link_args=link_args))

setup(
    ext_modules=cythonize(
        extensions,
        language_level=3,
        nthreads=THREADS,
        shared_utility_qualified_name=SHARED,
        shared_utility_features_disabled=["MemoryView"],  # nobody's: arrays go by their pointers
        compiler_directives={
            "binding": True,
            "auto_pickle": False,  # what can be pickled says how; the rest would say why not
            "boundscheck": DEBUG,
            "initializedcheck": DEBUG,
            "nonecheck": False,  # would need the GIL wherever an engine works without it
            "cdivision": not DEBUG,
        },
    ),
    cmdclass={"build_ext": Build, "build_py": Stubs, "editable_wheel": Editable},
    options={"build_ext": {"parallel": JOBS}},
)
