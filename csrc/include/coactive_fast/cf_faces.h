/* P3: projection on a simplex, a box or an L1 ball in the norm of A, given B = A^-1.
 *
 * On a face (a choice of which coordinates sit at their bound) the projection is
 *   x = z + nu B h + B_S mu,   B_SS mu = bound_S - z_S - nu (B h)_S,   h . x = total,
 * h = 1 at the free coordinates of the simplex, minus the signs of the support of the L1 ball, 0
 * elsewhere, absent for the box:
 * one Cholesky factor of B_SS and one or two products with B. Block pivoting from a guess of the
 * face: all coordinates whose sign is wrong change sides while their number falls. Four turns
 * without that: the path of the projection is followed instead, from a problem whose face is
 * known (wide bounds, or a large radius), one coordinate an event, and single pivots from the
 * face that it ends on.
 * Corrections are repeated until the equality holds to 1e-13 of total, however much larger z is or
 * however far the diagonal of B is spread. Where pivoting is stuck, as it is on ties, a coordinate
 * may be on the wrong side by what rounding leaves: 4 eps (|z_i| + |nu (B h)_i| + sqrt(B_ii) sum
 * |mu_j| sqrt(B_jj)). What is outside by that much is put back, so that the point is in the set.
 * Cost of a face: |S|^3/6 + n^2 fma; 2 ... 5 faces warm.
 */
#pragma once
#include "cf_table.h"

typedef enum cf_faces_kind { CF_SIMPLEX, CF_BOX, CF_L1 } cf_faces_kind;

typedef struct cf_faces {
    cf_faces_kind kind;
    double total;        /* simplex: the sum; L1: the radius; > 0 */
    const double *lower; /* box: n bounds each, lower <= upper */
    const double *upper;
} cf_faces;

/* Doubles of scratch for order n. */
ptrdiff_t cf_faces_scratch(ptrdiff_t n);

/* The first guess of the face, from the metric's diagonal alone; state[i]:
 * simplex 0 free, -1 at zero; box -1, 0, 1 at lower, free, at upper; L1 the sign, 0 off support. */
void cf_faces_guess(const cf_table *k, const cf_triangle *b, const cf_faces *set, const double *z,
                    signed char *state, double *scratch);

/* w = the projection of z (a z inside comes back bit for bit); state: in a guess, out the face.
 * w and z have n doubles and may be the same. A^-1 = B - term term^T: a rank-one term that B does
 * not hold yet, cf_pad(n) doubles, zero beyond n, 4n flops more a product; NULL: there is none.
 * CF_ENONFINITE, CF_ENOTPOSITIVE (B) and CF_ENOCONVERGE leave w as it was. */
int cf_faces_project(const cf_table *k, const cf_triangle *b, const double *term,
                     const cf_faces *set, const double *z, double *w, signed char *state,
                     double *scratch);
