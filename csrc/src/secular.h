/* The secular equation of the ball on a tridiagonal: private to the ball's two methods. */
#pragma once
#include <stddef.h>

/* T: diagonal a[0..k), beside it b[0..k-1). y(lam) = scale (I + lam T)^-1 g, g the unit vector e1
 * where rhs is NULL, else rhs itself. Finds lam >= 0 with ||y|| = r, from the guess *lam, and
 * leaves y. work holds 3k doubles. Returns CF_OK, CF_ENOTPOSITIVE, CF_ENONFINITE. */
int cf_secular(ptrdiff_t k, const double *a, const double *b, double scale, const double *rhs,
               double r, double *lam, double *y, double *work);
