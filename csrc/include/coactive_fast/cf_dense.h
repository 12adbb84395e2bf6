/* Vectors: dot products, sums and steps of dense rows, in fixed lanes.
 *
 * A dense dot product runs in 4 x 8 lanes; the chunk of eight values number c goes to
 * accumulator c mod 4, a last incomplete chunk (filled up with zeros) to accumulator 3, and the
 * 32 partial sums are added as v_sum((a0+a1) + (a2+a3)). float32 rows are widened to float64 while they are read.
 * Cost: n fused multiply-adds, 8n (float32: 4n) bytes of x read, 8n of y.
 * Nothing here allocates; pointers need no alignment; x and y may not overlap where y is written.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* K(return type, name, (arguments)) */
#define CF_DENSE_KERNELS(K)                                                                      \
    /* x . y */                                                                                  \
    K(double, dot, (ptrdiff_t n, const double *x, const double *y))                              \
    K(double, dot_f32, (ptrdiff_t n, const float *x, const double *y))                           \
    /* y += a x */                                                                               \
    K(void, axpy, (ptrdiff_t n, double a, const double *x, double *y))                           \
    /* the largest of every 64 numbers in turn, ceil(n / 64) of them; no y is NaN */             \
    K(void, peaks, (ptrdiff_t n, const double *y, double *peak))                                 \
    /* y += plus - minus in whole numbers, which must not overflow, and the peaks of y. Memory of \
       the rows is asked for 2 KB ahead. */                                                      \
    K(void, add_whole_difference, (ptrdiff_t n, const int16_t *plus, const int16_t *minus,       \
                                   int32_t *y, int32_t *peak))                                   \
    K(void, whole_peaks, (ptrdiff_t n, const int32_t *y, int32_t *peak))                         \
    /* as at_least */                                                                            \
    K(ptrdiff_t, whole_at_least, (ptrdiff_t n, const int32_t *y, int32_t least, ptrdiff_t room,  \
                                  ptrdiff_t *out))                                               \
    /* the indices i with y[i] >= least in ascending order: at most room of them are written to  \
       out, their number is returned */                                                          \
    K(ptrdiff_t, at_least, (ptrdiff_t n, const double *y, double least, ptrdiff_t room,          \
                            ptrdiff_t *out))                                                     \
    /* w_new = w + a delta and mean_new = mean + rate (w_new - mean): the learner's step and the mean \
       of its weights; returns 1 if all of both are finite. w_new may be w, mean_new mean. */     \
    K(int, step_mean, (ptrdiff_t n, double a, const double *delta, const double *w, double rate, \
                       const double *mean, double *w_new, double *mean_new))                     \
    /* 1 if no value is NaN or infinite */                                                       \
    K(int, all_finite, (ptrdiff_t n, const double *x))                                           \
    K(int, all_finite_f32, (ptrdiff_t n, const float *x))
