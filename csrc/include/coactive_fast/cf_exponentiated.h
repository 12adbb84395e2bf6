/* The exponentiated step in the log domain (DEFINITIONS 2).
 *
 * theta += rate * delta, weights from theta.
 * signed: w_i = sinh(theta_i) / sum cosh(theta), which is w+ - w- of the doubled form that is
 * never built; else w_i = exp(theta_i) / sum exp(theta). The largest |theta| (theta) is taken
 * out first, so nothing overflows. sinh near zero by its series: small weights keep their digits.
 * Cost: two exp a value when signed, one when not; 16n bytes.
 */
#pragma once
#include <stddef.h>

#define CF_EXPONENTIATED_KERNELS(K)                                                              \
    /* w from theta, n >= 1; w may be theta */                                                   \
    K(void, exponentiated_weights, (ptrdiff_t n, const double *theta, int is_signed, double *w))
