"""What the tests of state files share."""

import os
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

import coactive_fast
from coactive_fast.learner import _file


def same(a, b):
    """The same bits in the same form."""
    return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()


def assert_state(path, head, arrays):
    got, got_arrays = _file.read(path)
    assert got == head
    assert list(got_arrays) == list(arrays)
    assert all(same(got_arrays[name], arrays[name]) for name in arrays)


def forge(path, head, arrays):
    """A file with a right checksum, whatever its head holds."""
    with mock.patch.object(_file, "_check_plain"):
        _file.write(path, head, arrays)


def python(code, *arguments):
    """Runs code in a fresh process that imports the same package as this one."""
    paths = [str(pathlib.Path(coactive_fast.__file__).resolve().parents[1])]
    if "PYTHONPATH" in os.environ:
        paths.append(os.environ["PYTHONPATH"])
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True,
        cwd=tempfile.gettempdir(),  # not the sources' folder, which may have no compiled modules
        timeout=300, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths),
                          "OPENBLAS_NUM_THREADS": "1"},
    )
