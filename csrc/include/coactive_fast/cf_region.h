/* Feasible sets: ball, simplex, box, L1 ball, and what a learner does within them (DEFINITIONS 5).
 *
 * A simplex is x >= floor, sum (x - floor) = total: with floor = gamma/n and total = 1 - gamma the
 * probability simplex shrunk by gamma around its centre.
 * Projections: Euclidean here, in the norm of A by cf_ball.h and cf_faces.h.
 * Cost of a Euclidean projection: O(n).
 */
#pragma once
#include "cf_full.h"

typedef enum cf_region_kind {
    CF_REGION_BALL,
    CF_REGION_SIMPLEX,
    CF_REGION_BOX,
    CF_REGION_L1
} cf_region_kind;

/* All arrays are the caller's. */
typedef struct cf_region {
    ptrdiff_t n;
    cf_region_kind kind;
    double total;        /* ball, L1: the radius; simplex: the sum above the floor; > 0 */
    double floor;        /* simplex: of every coordinate, >= 0; otherwise 0 */
    const double *lower; /* box: n bounds each, lower <= upper; otherwise NULL */
    const double *upper;
} cf_region;

/* Doubles of scratch: of a Euclidean projection, O(n), and of a Newton round, O(n^2). */
ptrdiff_t cf_region_scratch(ptrdiff_t n);
ptrdiff_t cf_region_newton_scratch(ptrdiff_t n);

/* w = the point of the set nearest to z; they have n doubles and do not overlap. A z inside the
 * ball, the box or the L1 ball comes back bit for bit. CF_ENONFINITE (z) leaves w as it was. */
int cf_region_project(const cf_region *set, const cf_table *k, const double *z, double *w,
                      double *scratch);

/* A Newton round, all or nothing: A += x x^T, w_new = the point of the set that is nearest to
 * w + gain A^-1 x in the norm of the new A. A is the full metric (its fast form).
 * w, a point of the set, and w_new have n doubles and do not overlap; an x too small to change A
 * leaves w as it is. lam (ball) and face (the others: n states as in
 * cf_faces.h): where the search begins; where it ended afterwards. On a negative status only these,
 * w_new and scratch have changed, and no reading of A shows anything.
 * Cost: one fused pass of the triangle, and what the projection takes (none in the ball). */
int cf_region_newton(const cf_region *set, cf_full *self, const cf_table *k, double gain,
                     const double *x, const double *w, double *w_new, double *lam,
                     signed char *face, double *scratch);
