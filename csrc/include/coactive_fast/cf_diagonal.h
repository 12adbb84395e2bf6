/* The diagonal metric: A = diag(a), a > 0; an update adds c x_i^2 to a_i.
 *
 * q = sum x_i^2 / a_i, in four accumulators of eight lanes like `dot`. Sparse rows: entry e in
 * scalar lane e mod 4; an index stands once in a row. Cost: one division a value; 16n bytes
 * (sparse: one cache line a value at the worst). Nothing is allocated, and nothing is checked: that
 * a_i + c x_i^2 stays finite is for the caller to see.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_DIAGONAL_KERNELS(K)                                                                   \
    K(double, diagonal_quad, (ptrdiff_t n, const double *a, const double *x))                    \
    K(void, diagonal_update, (ptrdiff_t n, double *a, const double *x, double c))                \
    K(void, diagonal_solve, (ptrdiff_t n, const double *a, const double *x, double *y))          \
    K(double, diagonal_quad32, (ptrdiff_t nnz, const int32_t *index, const double *value,        \
                                const double *a))                                                \
    K(double, diagonal_quad64, (ptrdiff_t nnz, const int64_t *index, const double *value,        \
                                const double *a))                                                \
    K(void, diagonal_update32, (ptrdiff_t nnz, const int32_t *index, const double *value,        \
                                double c, double *a))                                            \
    K(void, diagonal_update64, (ptrdiff_t nnz, const int64_t *index, const double *value,        \
                                double c, double *a))
