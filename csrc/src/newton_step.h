/* The parts of a Newton round, whatever set it ends in: private to newton.c and region.c. */
#pragma once
#include "coactive_fast/cf_newton.h"

typedef struct cf_newton_step {
    double c, q;
    double *v;    /* the old A^-1 x, in the scratch */
    double *work; /* of the metric */
} cf_newton_step;

/* Doubles of scratch; the step's own until `accept`. */
ptrdiff_t cf_newton_step_scratch(ptrdiff_t n);

/* w_new = w + gain A^-1 x, A with c x x^T already. Nothing that can be read changes. */
int cf_newton_begin(cf_full *self, const cf_table *k, double c, double gain, const double *x,
                    const double *w, double *w_new, double *scratch, cf_newton_step *step);

/* w_new from the step's end into the ball, in the norm of the new A; scratch: what
 * cf_newton_scratch has beyond the step's. */
int cf_newton_into_ball(cf_full *self, const cf_table *k, const cf_newton *move, const double *x,
                        const cf_newton_step *step, double *w_new, double *lam, double *scratch);

/* B and a term of cf_pad(n) doubles such that the new inverse is B - term term^T. B is that of self
 * or, of the robust form, in the step's work until `accept`. */
cf_triangle cf_newton_after(cf_full *self, const cf_table *k, const double *x,
                            const cf_newton_step *step, double *term);

/* A += c x x^T. */
void cf_newton_accept(cf_full *self, const cf_table *k, const double *x,
                      const cf_newton_step *step);
