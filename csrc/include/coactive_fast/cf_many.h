/* Many rows against one triangle in panels (cf_inverse.h): x^T B x and B x of up to CF_ABREAST rows
 * that share one reading of it.
 *
 * quad: x^T B x = 2 sum_j x_j T_j with T_j = B_jj x_j / 2 + sum of B_ij x_i over i > j, in the
 * order of the rows i; the products x_j T_j in eight lanes, chunk after chunk of columns. So each
 * element of the triangle is used once, where B x uses it twice. The term w is taken away from
 * every element as `rank_one` would take it, fma(-w_i, w_j, B_ij), while it is read: the bits are
 * those of the triangle that `rank_one` leaves.
 * symv: the operations of the kernel `symv` for each row.
 * Every row gets the bits that it gets alone, on every instruction set with FMA.
 *
 * Rows x have n entries, `stride` doubles apart.
 * Cost of m = CF_ABREAST rows: quad (m + 1) n^2 / 2 fma and one reading of the triangle, symv m n^2
 * and two.
 */
#pragma once
#include "cf_inverse.h"

#define CF_ABREAST 8

#define CF_MANY_KERNELS(K)                                                                       \
    /* x^T (B - w w^T) x of one row; t is scratch of cf_pad(n) doubles */                        \
    K(double, quad_row, (const cf_triangle *b, const double *w, const double *x, double *t))     \
    /* The diagonal blocks as `quad_rows` takes them, 8 cf_pad(n) doubles on a CF_LINE: zeros    \
       above the diagonal, half of what is on it. */                                             \
    K(void, quad_edges, (const cf_triangle *b, double *edges))                                   \
    /* quad_row of m <= CF_ABREAST rows; scratch holds 8 cf_pad(n) doubles on a CF_LINE */       \
    K(void, quad_rows, (const cf_triangle *b, const double *edges, const double *w, ptrdiff_t m, \
                        const double *x, ptrdiff_t stride, double *q, double *scratch))          \
    /* The diagonal blocks as `symv_rows` takes them, 16 cf_pad(n) doubles on a CF_LINE: with     \
       zeros above the diagonal, and again with zeros on it, too */                              \
    K(void, symv_edges, (const cf_triangle *b, double *edges))                                   \
    /* v = B x of m <= CF_ABREAST rows; results of n entries, `apart` doubles apart; scratch as  \
       above */                                                                                  \
    K(void, symv_rows, (const cf_triangle *b, const double *edges, ptrdiff_t m, const double *x, \
                        ptrdiff_t stride, double *v, ptrdiff_t apart, double *scratch))          \
    /* q of ud_quad (cf_ud.h) of m <= CF_ABREAST rows; f is m vectors of cf_pad(n) doubles */    \
    K(void, ud_quad_rows, (const cf_triangle *ut, const double *d, ptrdiff_t m, const double *x, \
                           ptrdiff_t stride, double *f, double *q))                              \
    /* ud_solve of m <= CF_ABREAST rows; f likewise, results as in symv_rows */                  \
    K(void, ud_solve_rows, (const cf_triangle *ut, const double *d, ptrdiff_t m,                 \
                            const double *x, ptrdiff_t stride, double *f, double *v,             \
                            ptrdiff_t apart))
