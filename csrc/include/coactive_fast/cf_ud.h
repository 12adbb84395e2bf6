/* The robust form of the inverse: B = U D U^T, U unit upper triangular, D > 0 (Bierman).
 *
 * A factored form loses u sqrt(cond) where Sherman-Morrison loses u cond, and stays positive
 * definite whatever the rounding. U is stored transposed in panels (cf_inverse.h): row j holds
 * column j of U, entries i < j; the unit diagonal is not stored: the diagonal and what lies
 * above it inside a panel are zero. d has cf_pad(n) doubles, zero beyond n.
 * Update (A <- A + c x x^T): f = U^T x, g = D f, a_j = 1/c + sum_{i<=j} f_i g_i,
 *   D_j <- D_j a_{j-1}/a_j, U_ij <- U_ij - K_i f_j/a_{j-1}, K_i <- K_i + g_j U_ij(before).
 * Cost: 3 fma an element, one read and write of the triangle. q = sum f_j g_j.
 */
#pragma once
#include "cf_inverse.h"

#define CF_UD_KERNELS(K)                                                                         \
    /* f = U^T x, *q = x^T B x; f has cf_pad(n) doubles */                                       \
    K(void, ud_quad, (const cf_triangle *ut, const double *d, const double *x, double *f,        \
                      double *q))                                                                \
    /* the update, after ud_quad gave f; k has cf_pad(n) doubles of scratch; d > 0 stays */      \
    K(void, ud_update, (const cf_triangle *ut, double *d, double c, const double *f, double *k)) \
    /* v = B x; f as in ud_quad; v has cf_pad(n) doubles */                                      \
    K(void, ud_solve, (const cf_triangle *ut, const double *d, const double *x, double *f,       \
                       double *v))
