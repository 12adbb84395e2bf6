/* P2, the ball projection: minimise ||w - z||_A s.t. ||w|| <= r, given B = A^-1 (DEFINITIONS 1).
 *
 * w(lam) = (I + lam B)^-1 z, lam > 0 the root of ||w|| = r. Lanczos on B from z: the Krylov space
 * does not depend on lam, so one run of products serves every lam; after each product the secular
 * equation is solved on the small tridiagonal (safeguarded Newton on 1/||y|| - 1/r, warm-started)
 * and the exact residual lam beta_k |y_k| is looked at. Full reorthogonalisation. Where that has
 * not ended after max(64, n/4) products, B is brought to tridiagonal form by reflections
 * (4/3 n^3 flops) and the same secular equation is solved on it.
 * Cost: k products (n^2/2 fma... see symv) and 2 k^2 n fma; k = 5 ... 30 in online runs.
 * Error: about 1e-16 (1 + lam ||B||) relative, tolerance 1e-13 of the residual.
 */
#pragma once
#include "cf_table.h"

/* Doubles of scratch; `fallback` 0: without the fallback's n^2. */
ptrdiff_t cf_ball_scratch(ptrdiff_t n, int fallback);

/* w = the projection of z, *lam its multiplier (in: a first guess >= 0, or 0). ||z|| <= r: w = z
 * bit for bit, *lam = 0, b is not looked at. z and w have n doubles and may be the same.
 * A^-1 = B - term term^T: a rank-one term that B does not hold yet, cf_pad(n) doubles, zero beyond
 * n, 4n flops more a product; NULL: there is none.
 * scratch: cf_ball_scratch(n, 0) doubles; fallback_scratch: NULL, then CF_ENOCONVERGE where the
 * fallback would be needed, or cf_ball_scratch(n, 1) doubles.
 * CF_ENONFINITE: z or b holds NaN or infinity; CF_ENOTPOSITIVE: b is not positive definite on
 * the space of z. Then w is as it was. */
int cf_ball_project(const cf_table *k, const cf_triangle *b, const double *term, const double *z,
                    double radius, double *w, double *lam, double *scratch,
                    double *fallback_scratch);
