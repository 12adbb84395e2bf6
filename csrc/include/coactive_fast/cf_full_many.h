/* Many rows against a full metric: one reading of the stored triangle for CF_ABREAST of them,
 * each with the bits of cf_full_quad and cf_full_solve. Costs: cf_many.h.
 */
#pragma once
#include "cf_full.h"

/* Rows of n doubles or (wide NULL) floats, `stride` of them apart; owned by the caller. */
typedef struct cf_full_rows {
    ptrdiff_t count, stride;
    const double *wide;
    const float *narrow;
} cf_full_rows;

ptrdiff_t cf_full_many_scratch(ptrdiff_t n); /* doubles on a CF_LINE */

/* q[t] = x_t^T A^-1 x_t / scale. Returns the first row whose q is not finite, count where all are.
 * Reads only. */
ptrdiff_t cf_full_quad_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                            double scale, double *q, double *scratch);
/* Row t of y (n doubles) = A^-1 x_t / scale; returns likewise. */
ptrdiff_t cf_full_solve_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                             double scale, double *y, double *scratch);

/* `count` rows z of n standard normal numbers become rows from N(0, A^-1 / scale): L^-T z with
 * A = L L^T (O(n^3), then n^2 / 2 a row), in the robust form U D^(1/2) z. CF_ENOTPOSITIVE: A is
 * not, in float64; the rows are as they were. Reads only; scratch is cf_full_sample_scratch(n)
 * doubles on a CF_LINE. */
ptrdiff_t cf_full_sample_scratch(ptrdiff_t n);
int cf_full_sample(const cf_full *self, const cf_table *k, double scale, ptrdiff_t count, double *z,
                   double *scratch);

/* The factor of A that draws go by, kept from one draw to the next: that of the stored matrix, which
 * changes once in CF_BLOCK updates, with the rows of the block added one by one. So it is a function
 * of the metric alone, bit for bit, whenever it is made. For a metric, not robust, that nothing
 * changes but updates with c > 0 and renewals; after anything else `updates` is set to -1. */
typedef struct cf_full_factor {
    cf_cholesky l;    /* of the owner's memory */
    int64_t updates;  /* in the stored matrix when it was factored; -1: there is nothing yet */
    ptrdiff_t rows;   /* of the block that were added since */
} cf_full_factor;

/* One draw by it, which is brought up to A: n^2 for an update since the last draw, n^3 / 6 once in
 * CF_BLOCK of them, and n^2 / 2. As cf_full_sample otherwise; scratch is 3 cf_pad(n) doubles. */
int cf_full_draw(const cf_full *self, const cf_table *k, cf_full_factor *kept, double scale,
                 double *z, double *scratch);
