/* The growing Cholesky factor: M = L L^T, rows appended at the end, the oldest dropped.
 *
 * Layout: panels of eight rows, columns first: element (i, j) of panel p = i/8 stands at
 * data[32 p (p+1) + 8 j + i%8], j = 0 ... 8p+7, so that a solve needs no sum across lanes.
 * Entries above the diagonal and those of rows not yet there are zero. inv holds 1 / L_ii
 * (zero for rows not there). Sizes: cf_panels_size(n) and cf_pad(n) doubles, on a CF_LINE.
 * Vectors have cf_pad(n) doubles, zero beyond n. Only the lower triangle of M is read.
 * Cost: a solve n^2/2 fma and one read of the factor; factor n^3/6 fma; inverse n^3/2; add and drop
 * n^2 fma, one read and write.
 * After `cholesky_forward` gave u = L^-1 k, the row (u, sqrt(m_kk - u.u)) is the append; a solve
 * that was made before it goes on from row n - n%8. Many right sides share one read of the factor.
 */
#pragma once
#include "cf_inverse.h"

typedef struct cf_cholesky {
    double *data; /* owned by the caller */
    double *inv;  /* owned by the caller */
    ptrdiff_t n;  /* rows there, >= 0 */
} cf_cholesky;

static inline double *cf_cholesky_at(const cf_cholesky *l, ptrdiff_t i, ptrdiff_t j)
{
    const ptrdiff_t p = i / 8;
    return l->data + 32 * p * (p + 1) + 8 * j + i % 8;
}

#define CF_CHOLESKY_KERNELS(K)                                                                   \
    /* u = L^-1 k from row `at` on, a multiple of eight; u[0 .. at) is there already; u may be k */ \
    K(void, cholesky_forward, (const cf_cholesky *l, ptrdiff_t at, const double *k, double *u))  \
    /* the same for m right sides in place, each `stride` doubles behind the last; every one gets \
       the bits that it gets alone */                                                            \
    K(void, cholesky_forward_many, (const cf_cholesky *l, ptrdiff_t m, double *u,                \
                                    ptrdiff_t stride))                                           \
    /* x = L^-T u; x may be u */                                                                 \
    K(void, cholesky_backward, (const cf_cholesky *l, const double *u, double *x))               \
    /* the row (u, pivot) at the end, pivot > 0; there must be room for it */                    \
    K(void, cholesky_append, (cf_cholesky *l, const double *u, double pivot))                    \
    /* the first row and column leave, the rest is updated (never loses positivity); scratch     \
       has 3 cf_pad(n) doubles */                                                                \
    K(void, cholesky_drop_first, (cf_cholesky *l, double *scratch))                              \
    /* L of the matrix m; CF_ENOTPOSITIVE leaves l undefined; l->n becomes m->n */               \
    K(int, cholesky_factor, (const cf_triangle *m, cf_cholesky *l))                              \
    /* the lower triangle of (L L^T)^-1; scratch has 8 cf_pad(n) doubles */                      \
    K(void, cholesky_inverse, (const cf_cholesky *l, const cf_triangle *b, double *scratch))     \
    /* L of L L^T + x x^T; x, of cf_pad(n) doubles, is used up; scratch has 2 cf_pad(n) */       \
    K(void, cholesky_add, (cf_cholesky *l, double *x, double *scratch))
