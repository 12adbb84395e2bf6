"""What is compiled on the fly: the probe of the limits (C) and the compiled loops (Cython).

Both are optional. Where one cannot be built its cases lose a line, and `why_not` says so.
"""

import atexit
import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
why_not = {}  # what could not be built: the reason, for people

SETUP = """
import numpy, coactive_fast
from Cython.Build import cythonize
from setuptools import Extension, setup
setup(name="loops", script_args=["-q", "build_ext", "--inplace"], ext_modules=cythonize(
    [Extension("loops", ["loops.pyx"],
               include_dirs=[coactive_fast.get_include(), numpy.get_include()])], quiet=True))
"""


@functools.cache
def _folder():
    folder = tempfile.mkdtemp(prefix="coactive_bench_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _run(command, what):
    """True where the command went well; the last line of its complaint is kept otherwise."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(command, cwd=_folder(), env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        why_not[what] = f"{Path(command[0]).name} failed: {lines[-1][:200]}"
    return done.returncode == 0


@functools.cache
def limits():
    """The library of limits.c, or None."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CC", "cc"), "gcc", "clang"))),
                    None)
    if compiler is None:
        why_not["limits"] = "no C compiler: the physical limits are left out"
        return None
    out = _folder() / "limits.so"
    source = str(HERE / "limits.c")
    base = [compiler, "-O3", "-shared", "-fPIC", source, "-o", str(out)]
    # only this probe is tuned to the CPU at hand; some compilers do not know the option
    if not _run([*base, "-march=native"], "limits") and not _run(base, "limits"):
        return None
    why_not.pop("limits", None)
    library = ctypes.CDLL(str(out))
    size, place = ctypes.c_size_t, ctypes.c_void_p
    library.limits_rounds.argtypes = [place, size, size, ctypes.c_int, place, size, size]
    library.limits_rounds.restype = None
    library.limits_features.argtypes = [place, size, size, place, size, size, size]
    library.limits_features.restype = None
    library.limits_fma.argtypes, library.limits_fma.restype = [size], ctypes.c_double
    return library


@functools.cache
def loops():
    """The module of loops.pyx, or None."""
    if importlib.util.find_spec("Cython") is None or importlib.util.find_spec("setuptools") is None:
        why_not["loops"] = "Cython or setuptools is not installed: the compiled loops are left out"
        return None
    shutil.copy(HERE / "loops.pyx", _folder())
    (_folder() / "setup_loops.py").write_text(SETUP)
    if not _run([sys.executable, "setup_loops.py"], "loops"):
        return None
    path = next(p for p in _folder().glob("loops*") if p.suffix in (".so", ".pyd"))
    spec = importlib.util.spec_from_file_location("loops", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
