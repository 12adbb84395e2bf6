"""The one module that links the C library, and the choice of the instruction set."""

import os
import platform

from coactive_fast._version import __version__

cdef extern from *:
    """
    #if defined(__clang__)
    #define CF_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define CF_COMPILER "gcc " __VERSION__
    #else
    #define CF_COMPILER "unknown"
    #endif
    #if defined(__OPTIMIZE__)
    #define CF_OPTIMIZED 1
    #else
    #define CF_OPTIMIZED 0
    #endif
    """
    const char *CF_COMPILER
    int CF_OPTIMIZED

cdef extern from "coactive_fast/cf_library.h":
    const cf_library cf_functions

cdef const cf_table *chosen = NULL


cdef const cf_table *cf_fitting_table(size_t size, int abi) noexcept nogil:
    return chosen if abi == CF_ABI and size <= chosen.size else NULL


cdef const cf_library *cf_fitting_library(size_t size, int abi) noexcept nogil:
    return &cf_functions if abi == CF_ABI and size <= cf_functions.size else NULL


cdef int cf_refuse(str module, int abi) except -1:
    here = f"the coactive_fast that runs here, version {__version__}"
    if abi != CF_ABI:
        raise ImportError(f"{module} was compiled for ABI {abi} of the function tables, but {here}, "
                          f"has ABI {CF_ABI}: rebuild {module} against it")
    raise ImportError(f"{module} was compiled against a newer coactive_fast, whose function tables "
                      f"have more entries than those of {here}: rebuild {module} against it, or "
                      f"install the newer coactive_fast")


cdef list names():
    cdef const char **name = <const char **>cf_functions.table_names()
    found = []
    while name[0] != NULL:
        found.append(name[0].decode())
        name += 1
    return found


cdef list runnable():
    return [n for n in names() if cf_functions.table_for(n.encode()) != NULL]


def _choose():
    global chosen
    wanted = os.environ.get("COACTIVE_FAST_ISA", "") or "auto"
    chosen = cf_functions.table_for(wanted.encode())
    if chosen == NULL:
        raise ImportError(
            f"COACTIVE_FAST_ISA={wanted!r} cannot run here: expected 'auto' or one of "
            f"{runnable()} (built in: {names()})"
        )


def isa():
    """The instruction sets: chosen, runnable on this CPU, built in."""
    return {
        "chosen": chosen.isa.decode(),
        "fused_multiply_add": bool(chosen.has_fma),
        "runnable": runnable(),
        "built": names(),
        "machine": platform.machine(),
    }


def build():
    """How the C library was compiled."""
    return {"compiler": CF_COMPILER.decode(), "optimized": bool(CF_OPTIMIZED), "abi": CF_ABI}


_choose()
