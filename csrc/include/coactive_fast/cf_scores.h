/* DEFINITIONS P1, score projection: minimise 1/2 sum (v_i - z_i)^2 / q_i  s.t.  v >= 0, sum v = s.
 *
 * v_i = max(0, z_i + lam q_i), lam the root of the increasing piecewise linear sum = s.
 * Every subset S of the entries bounds the root from above by (s - sum_S z) / sum_S q. Newton
 * from an upper bound only decreases, and an entry once dropped never returns, so candidates
 * are compacted as it goes; it stops when the count does, never by a tolerance. From
 * CF_SCORES_SAMPLE entries on, the first bound is the root of a strided sample: order of the
 * input does not matter, and one pass leaves few candidates. After 12 passes that still drop
 * entries, random pivots on the breakpoints take over: O(n) expected whatever the input.
 * Last, y = z + lam q is formed by fma; where sum max(0, y) misses s by more than rounding
 * (|z| or |lam q| much larger than s) the same problem is solved on y and added: rarely more than
 * once, 53 bits a turn; first from a bound that one entry alone gives if that is lower, since a
 * large z can hide all others in the sums.
 * Cost: 16n bytes read twice, 8n written: two passes over n in the usual case.
 */
#pragma once
#include <stddef.h>

#define CF_SCORES_SMALL 64
#define CF_SCORES_SAMPLE 2048

/* Doubles of scratch: none up to CF_SCORES_SMALL. */
static inline ptrdiff_t cf_scores_scratch(ptrdiff_t n)
{
    return n <= CF_SCORES_SMALL ? 0 : 2 * (((n + 7) & ~(ptrdiff_t)7) + 8);
}

#define CF_SCORES_KERNELS(K)                                                                     \
    /* n >= 1, s > 0 finite; v overlaps neither z nor q. CF_ENONFINITE: z or q holds NaN or       \
       infinity, or the root overflows; CF_ENOTPOSITIVE: some q <= 0; v is then undefined */      \
    K(int, project_scores, (ptrdiff_t n, const double *z, const double *q, double s, double *v,  \
                            double *lam, double *scratch))
