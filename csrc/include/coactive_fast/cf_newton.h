/* A Newton round on the ball, all or nothing: A += c x x^T, w <- P2(w + gain A^-1 x).
 * DEFINITIONS 2, 4, 5.
 *
 * A is the full metric; A^-1 x is of the new A, and the projection on
 * ||w|| <= radius is in the norm of the new A. The update is proposed, the step and its projection
 * (against the inverse less the new term) are made beside w, and only then is it accepted.
 * Cost: one fused pass of the triangle; where the projection is active 5 ... 30 readings more, and
 * in the robust form n^3 / 6 to multiply the new inverse out.
 */
#pragma once
#include "cf_ball.h"
#include "cf_full.h"

/* Doubles of scratch. */
ptrdiff_t cf_newton_scratch(ptrdiff_t n);

typedef struct cf_newton {
    double c;      /* > 0 */
    double gain;   /* of the step */
    double radius; /* of the ball, > 0 */
    double limit;  /* >= radius: a step that is not longer is left alone (infinite: all are) */
} cf_newton;

/* w and w_new have n doubles and do not overlap. *lam: the multiplier (in: a guess >= 0, or 0).
 * x = 0: A stays. On any negative status nothing but *lam, w_new and scratch has changed that
 * a reading of A would show; a damaged inverse may have been made anew from A. */
int cf_newton_ball(cf_full *self, const cf_table *k, const cf_newton *step, const double *x,
                   const double *w, double *w_new, double *lam, double *scratch);

/* Between cf_full_propose of x, c with q > 0 and cf_full_accept: the inverse that A will have then, a
 * triangle at the start of `scratch` (cf_full_scratch(n) doubles), where the form is robust or
 * has to be for this update, to which self is converted. 0: it is fast, and nothing is written. */
int cf_newton_inverse(cf_full *self, const cf_table *k, const double *x, double c,
                      double *scratch);
