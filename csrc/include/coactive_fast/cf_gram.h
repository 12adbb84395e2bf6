/* Gram rows: kernel values of one vector with many stored rows.
 *
 * linear: `scores` of cf_rank.h. rbf: exp(-gamma ||x - y||^2), the distance summed from the
 * differences themselves, so that near rows lose no digit. poly: (gamma x.y + coef0)^degree, by
 * squaring for a whole degree in 0 ... 1024, else exp(degree log(.)) with base >= 0 (a negative
 * base gives NaN, which the caller refuses). Cost: the rows read once, 8 n d bytes.
 *
 * of_dots: the same from dot products that are there already (sparse rows); the distance is then
 * what three products leave, and below zero it is zero.
 */
#pragma once
#include <stddef.h>

#define CF_GRAM_KERNELS(K)                                                                       \
    K(void, gram_rbf, (ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,           \
                       const double *x, double gamma, double *out))                              \
    K(void, gram_poly, (ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,          \
                        const double *x, double gamma, double coef0, double degree, double *out)) \
    /* in place; square[r] = row r . row r, own = x.x */                                         \
    K(void, rbf_of_dots, (ptrdiff_t n, const double *square, double own, double gamma,           \
                          double *out))                                                          \
    K(void, poly_of_dots, (ptrdiff_t n, double gamma, double coef0, double degree, double *out))
