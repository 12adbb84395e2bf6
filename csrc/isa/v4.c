/* x86-64-v4: AVX-512 F, DQ, VL, BW, CD (Intel from Skylake-X, AMD from Zen 4). Empty elsewhere. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c")
#endif
#define CF_LANES_V4
#define CF_ISA v4
#include "unit.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int cf_v4_is_empty;
#endif
