/* The symmetric matrix under rank-one updates: one triangle is stored, read and written.
 *
 * Layout. ld > 0: row-major square, element (i, j), j <= i, at data[i*ld + j]; the strict upper
 * triangle is never read (memory there may hold anything). ld == 0: panels, half the memory:
 * eight rows a panel, panel p begins at data + 32 p (p+1) and its rows have 8 (p+1) doubles;
 * entries above the diagonal inside a panel may hold anything. A triangle in panels is aligned
 * to CF_LINE by its owner and holds cf_panels_size(n) doubles.
 *
 * v = B x: row by row, v_j += B_ij x_i in the order of the rows i, and the row's own product in
 * eight lanes; so the bits depend neither on the layout nor on the instruction set (with FMA).
 * The rank-one term is B_ij <- fma(-w_i, w_j, B_ij) with w = v sqrt(1 / (1/c + q)): symmetric to
 * the last bit by construction (DEFINITIONS, Notation: Sherman-Morrison, A <- A + c x x^T).
 *
 * Cost: symv 2 fma an element and one read of the triangle; rank_one 1 fma, one read and write;
 * rank_one_symv both in one pass: 3 fma, one read and write; rank_block 1 fma a row and element.
 * Vectors w and v have cf_pad(n) doubles, w zero beyond n; x has n. Nothing is allocated.
 */
#pragma once
#include <stddef.h>

typedef struct cf_triangle {
    double *data; /* owned by the caller */
    ptrdiff_t n;  /* order, >= 0 */
    ptrdiff_t ld; /* doubles from row to row, >= n; 0: panels */
} cf_triangle;

static inline ptrdiff_t cf_panels_size(ptrdiff_t n)
{
    const ptrdiff_t p = (n + 7) / 8;
    return 32 * p * (p + 1);
}

/* The row i of a triangle: its elements 0 ... i stand in sequence. */
static inline double *cf_triangle_row(const cf_triangle *t, ptrdiff_t i)
{
    const ptrdiff_t p = i / 8;
    return t->ld ? t->data + i * t->ld : t->data + 32 * p * (p + 1) + (i % 8) * 8 * (p + 1);
}

#define CF_INVERSE_SMALL 32
#define CF_BLOCK 16

#define CF_INVERSE_KERNELS(K)                                                                    \
    /* v = B x */                                                                                \
    K(void, symv, (const cf_triangle *b, const double *x, double *v))                            \
    /* B -= u w^T, u either w or -w, zero beyond n too */                                        \
    K(void, rank_one, (const cf_triangle *b, const double *w, const double *u))                  \
    /* B -= w w^T, then v = B x */                                                               \
    K(void, rank_one_symv, (const cf_triangle *b, const double *w, const double *x, double *v))  \
    /* v = (B - w w^T) x, B as it is; the bits of rank_one_symv */                               \
    K(void, symv_less, (const cf_triangle *b, const double *w, const double *x, double *v))      \
    /* B += sum of c_r x_r x_r^T over m <= CF_BLOCK rows of stride doubles (cf_pad(n) of them     \
       used, zero beyond n), in the order of the rows. Panels only; low, of cf_panels_size(n)    \
       floats, keeps what the sums in B lost to rounding and is added again the next time. */    \
    K(void, rank_block, (const cf_triangle *b, float *low, ptrdiff_t m, const double *rows,      \
                         ptrdiff_t stride, const double *c))                                     \
    /* All of it for one caller's matrix: *q = x^T B x from before, B becomes the inverse after  \
       A += c x x^T, c > 0. both (square layout): the upper triangle gets the same term (and up  \
       to order CF_INVERSE_SMALL is read for the product); where its last column is seen not to  \
       be the mirror of the last row, the lower triangle is the truth and is mirrored first.     \
       scratch holds cf_pad(n) + 8 doubles. x = 0: *q = 0 and B untouched. CF_ENONFINITE (B, x   \
       or q is not finite) and CF_ENOTPOSITIVE (q <= 0) leave B untouched. */                    \
    K(int, inverse_update, (const cf_triangle *b, const double *x, double c, int both,           \
                            double *scratch, double *q))
