/* x86-64-v4: AVX-512 F, DQ, VL, BW, CD (Intel from Skylake-X, AMD from Zen 4). Empty elsewhere. */
#define CF_LANES_V4
#define CF_ISA v4
#define CF_TARGET                                                                                \
    "avx512f,avx512dq,avx512vl,avx512bw,avx512cd,avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c"
#include "x86.h"
