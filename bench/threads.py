"""One thread for everybody. Imported before numpy: the pools read the environment only once."""

import os
import sys

POOLS = (
    "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)

# True: numpy was there first (a plugin's doing), so its BLAS may run more threads than one.
TOO_LATE = "numpy" in sys.modules and any(os.environ.get(name) != "1" for name in POOLS)

for _name in POOLS:
    os.environ[_name] = "1"


def quick():
    """Smoke mode: fewer sizes, fewer samples; says that it works, not how fast it is."""
    return os.environ.get("COACTIVE_BENCH_QUICK", "") not in ("", "0")
