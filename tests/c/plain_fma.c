/* The plain lanes compiled for a CPU with FMA: stands for ARM64 on an x86 machine, so that the
 * third form of the lanes has to give the bits of the other two. Compiled with -mfma. */
#define CF_ISA plain_fma
#include "../../csrc/isa/unit.h"

/* The score projection's pivots alone: in the whole function a wrong root would be mended. */
double plain_fma_pivots(ptrdiff_t n, double *z, double *q, double s);
double plain_fma_pivots(ptrdiff_t n, double *z, double *q, double s)
{
    candidates c = {z, q, n, 0.0, 0.0};
    return root_by_pivots(&c, s);
}
