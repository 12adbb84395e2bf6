/* x86-64-v3: AVX2 and FMA (Intel from Haswell, AMD from Zen). Empty elsewhere. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c")
#endif
#define CF_LANES_V3
#define CF_ISA v3
#include "unit.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int cf_v3_is_empty;
#endif
