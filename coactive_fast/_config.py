"""What was built and what runs: shown to people, and the header folder for other builds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal, overload

import numpy

from . import _table
from ._version import __version__

__all__ = ["get_include", "show_config"]


def get_include() -> str:
    """Folder of the C headers, for ``include_dirs`` of code that cimports ``coactive_fast``.

    Returns
    -------
    str
        A folder: give it to the C compiler as ``-I`` or to an `Extension` as ``include_dirs``.

    Examples
    --------
    >>> import coactive_fast as cf
    >>> from pathlib import Path
    >>> (Path(cf.get_include()) / "coactive_fast" / "cf_table.h").is_file()
    True
    """
    here = Path(__file__).resolve().parent
    shipped = here / "include"
    return str(shipped if shipped.is_dir() else here.parent / "csrc" / "include")


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...
def show_config(mode: str = "stdout") -> dict[str, Any] | None:
    """Which instruction set runs, which others there are, and how the package was built.

    The choice is made once, at import: the best one that the CPU has, or the one named by the
    environment variable ``COACTIVE_FAST_ISA`` (``baseline``, ``v3``, ``v4`` or ``auto``).
    ``v3`` is AVX2 with FMA, ``v4`` AVX-512; all that have FMA give the same bits.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Print it, or return it as a dictionary.

    Returns
    -------
    dict or None
        The dictionary with mode="dicts", None with "stdout".

    Examples
    --------
    >>> import coactive_fast as cf
    >>> cf.show_config("dicts")["isa"]["chosen"] in ("baseline", "v3", "v4")
    True
    """
    config = {
        "coactive_fast": __version__,
        "isa": _table.isa(),
        "build": _table.build(),
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "include": get_include(),
    }
    if mode == "dicts":
        return config
    if mode != "stdout":
        raise ValueError(f"mode must be 'stdout' or 'dicts', got {mode!r}")
    print(json.dumps(config, indent=2))
    return None
