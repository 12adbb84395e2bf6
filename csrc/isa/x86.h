/* A unit whose functions are compiled for the instructions CF_TARGET. Empty but on x86-64. */
#if defined(__x86_64__)
#define CF_PRAGMA2(x) _Pragma(#x)
#define CF_PRAGMA(x) CF_PRAGMA2(x)
#if defined(__clang__)
CF_PRAGMA(clang attribute push(__attribute__((target(CF_TARGET))), apply_to = function))
#else
CF_PRAGMA(GCC target(CF_TARGET))
#endif
#include "unit.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int cf_unit_is_empty;
#endif
