"""What all tests share: where the generator of nasty arrays lies, and a fresh random source."""

import os
import signal
import sys
import zlib
from pathlib import Path

# Tiny dense solves by the thousand: threads inside BLAS only stand in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Begun in the background of a shell, a program ignores Ctrl-C, and so does all that it begins.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import numpy as np
import pytest

# `import nasty` must work under every import mode of pytest.
sys.path.insert(0, str(Path(__file__).parent))

try:
    from hypothesis import settings
except ImportError:
    pass  # optional: the files named test_*_properties.py are then skipped
else:
    # sanitized and emulated builds are slow, and that is no failure
    # COACTIVE_FIXED (CI): the same examples for the same code, so that a commit is judged by itself
    settings.register_profile("coactive_fast", deadline=None,
                              derandomize="COACTIVE_FIXED" in os.environ)
    settings.load_profile("coactive_fast")


# A slow build runs a thinned selection: of each test's cases one in so many, the first among them.
THIN = int(os.environ.get("COACTIVE_THIN", "1"))


def pytest_collection_modifyitems(config, items):
    if THIN <= 1:
        return
    seen, kept, left_out = {}, [], []
    for item in items:
        test = item.nodeid.split("[", 1)[0]
        number = seen[test] = seen.get(test, -1) + 1
        (left_out if number % THIN else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.fixture
def rng(request):
    """A random generator that depends on the test's own name, not on which tests ran before."""
    return np.random.default_rng(zlib.crc32(request.node.nodeid.split("::", 1)[-1].encode()))
