/* The diagonal metric: A = diag(a), a > 0; an update adds c x_i^2 to a_i.
 *
 * q = sum x_i^2 / a_i, in four accumulators of eight lanes like `dot`. Sparse rows: entry e in
 * scalar lane e mod 4; an index stands once in a row. Cost: one division a value; 16n bytes
 * (sparse: one cache line a value at the worst). Nothing is allocated, and nothing is checked: that
 * a_i + c x_i^2 stays finite is for the caller to see.
 */
#pragma once
#include "cf_row.h"

#define CF_DIAGONAL_KERNELS(K)                                                                   \
    K(double, diagonal_quad, (const cf_row *x, const double *a))                                 \
    K(void, diagonal_update, (const cf_row *x, double c, double *a))                             \
    /* y = x / a, entry by entry */                                                              \
    K(void, diagonal_solve, (ptrdiff_t n, const double *a, const double *x, double *y))
