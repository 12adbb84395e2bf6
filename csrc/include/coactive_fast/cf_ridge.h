/* Ridge regression on a diagonal: A = diag(a), a > 0, and weights w (DEFINITIONS 3 and 4).
 *
 * Dense rows and sparse ones (ascending features, each once) give the same bits: a term goes into
 * the lane of its feature, whatever form the row has, and a term that is zero changes no sum.
 * Cost: dense 24n bytes and one division a value; sparse at the worst two lines a value.
 * Nothing is written where a result would not be finite.
 */
#pragma once
#include <stddef.h>

#include "cf_row.h"

#define CF_RIDGE_KERNELS(K)                                                                      \
    /* x . y in the lanes of `dot` of cf_dense.h, with its bits */                               \
    K(double, ridge_dot, (const cf_row *x, const double *y))                                     \
    /* x . x, with the bits of `dot` too */                                                      \
    K(double, ridge_square, (const cf_row *x))                                                   \
    /* sum x_i^2 / a_i in the lanes of `diagonal_quad` of cf_diagonal.h, with its bits */        \
    K(double, ridge_quad, (const cf_row *x, const double *a))                                    \
    /* w_new = w + gain x / a and a_new = a + c x^2, entry by entry of x (x->nnz doubles each);  \
       returns 1 if all of both are finite */                                                    \
    K(int, ridge_step, (const cf_row *x, double gain, double c, const double *a,                 \
                        const double *w, double *a_new, double *w_new))                          \
    /* what ridge_step gave goes to its place, from entry to feature */                          \
    K(void, ridge_place, (const cf_row *x, const double *entries, double *y))                    \
    /* w_i(lam) = z_i a_i / (a_i + lam): *square = sum w_i^2, *slope = sum w_i^2 / (a_i + lam);  \
       w may be NULL */                                                                          \
    K(void, ridge_shrink, (ptrdiff_t n, const double *a, const double *z, double lam, double *w, \
                           double *square, double *slope))

typedef struct cf_table cf_table; /* cf_table.h includes this header */
/* P2 in the norm of diag(a): w nearest to z in the ball of this radius; ||z|| <= radius: z bit for
 * bit. O(n) a Newton step, some 5 ... 15 of them. w may be z. CF_ENONFINITE leaves w as it was. */
int cf_ridge_ball(const cf_table *k, ptrdiff_t n, const double *a, const double *z,
                  double radius, double *w);
