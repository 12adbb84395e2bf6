/* x86-64-v3: AVX2 and FMA (Intel from Haswell, AMD from Zen). Empty elsewhere. */
#define CF_LANES_V3
#define CF_ISA v3
#define CF_TARGET "avx2,fma,bmi,bmi2,lzcnt,popcnt,movbe,f16c"
#include "x86.h"
