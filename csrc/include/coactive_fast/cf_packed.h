/* The inverse B = U D U^T (cf_ud.h) with not one double more than it has: for records of small
 * models, of which there are millions.
 *
 * U is unit upper triangular, its columns stand one behind the other without the ones: column j is
 * the j doubles at u + j (j - 1) / 2. d has n doubles, all > 0. Nothing is read or written beyond
 * them, and nothing needs to be aligned. f and k have cf_pad(n) doubles; so has x, and zeros
 * beyond n. Sums run in eight lanes, so the bits are the same on every CPU with FMA.
 * Update (A <- A + c x x^T, Bierman): f = U^T x, g = D f, a_j = 1/c + sum_{i<=j} f_i g_i,
 *   D_j <- D_j a_{j-1}/a_j, U_ij <- U_ij - K_i f_j/a_{j-1}, K_i <- K_i + g_j U_ij(before).
 * Cost: look one fma an element, update two and two divisions a column.
 */
#pragma once
#include <stddef.h>

/* Doubles of U. */
static inline ptrdiff_t cf_packed_size(ptrdiff_t n) { return n * (n - 1) / 2; }

#define CF_PACKED_KERNELS(K)                                                                     \
    /* f = U^T x, zero beyond n; returns q = x^T B x */                                          \
    K(double, packed_look, (ptrdiff_t n, const double *d, const double *u, const double *x,      \
                            double *f))                                                          \
    /* the update, after packed_look gave f; k becomes B x of before; returns 1/c + q */         \
    K(double, packed_update, (ptrdiff_t n, double *d, double *u, double c, const double *f,      \
                              double *k))                                                        \
    /* v = U s; s has cf_pad(n) doubles, zero beyond n, and is not v */                          \
    K(void, packed_product, (ptrdiff_t n, const double *u, const double *s, double *v))
