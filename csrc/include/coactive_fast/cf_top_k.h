/* Top-k: the k best of n scores, best first, ties to the lower index (DEFINITIONS P4).
 *
 * One vector compare a chunk against the k-th best so far; only chunks that hold a candidate are
 * looked at entry by entry. k <= CF_TOP_K_SMALL: an insertion list, no scratch. Beyond: candidates
 * are gathered in 2 k places and halved by selection when these are full, sorted once at the end:
 * O(n + k log k). -inf and inf are scores like others; NaN is CF_ENAN and out is then undefined.
 * Cost: 8n (float32: 4n) bytes read, one compare a chunk of eight.
 */
#pragma once
#include <stddef.h>

#define CF_TOP_K_SMALL 16
#define CF_TOP_K_FEW 128 /* scores: the highest again and again, no branch to mispredict */

typedef struct cf_candidate {
    double score;
    ptrdiff_t index;
} cf_candidate;

/* How many candidates of scratch min(k, n) best of n need; 0 for the insertion list. */
static inline ptrdiff_t cf_top_k_scratch(ptrdiff_t n, ptrdiff_t k)
{
    k = k < n ? k : n;
    return k <= CF_TOP_K_SMALL ? 0 : (k <= n / 2 ? 2 * k : n) + 8;
}

#define CF_TOP_K_KERNELS(K)                                                                      \
    /* out[0 .. min(k, n)) = indices; scratch: cf_top_k_scratch(n, k) candidates or NULL if 0 */ \
    K(int, top_k, (ptrdiff_t n, const double *scores, ptrdiff_t k, ptrdiff_t *out,               \
                   cf_candidate *scratch))                                                       \
    K(int, top_k_f32, (ptrdiff_t n, const float *scores, ptrdiff_t k, ptrdiff_t *out,            \
                       cf_candidate *scratch))
