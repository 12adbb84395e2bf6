/* Choices among millions of fixed rows, most of which are not looked at (DEFINITIONS 6).
 *
 * Of each row of a block of CF_CATALOGUE_BLOCK are kept, in float32 and rounded up: m, its mean
 * when it was last looked at, r >= sqrt(q) from then or before, and the slot of that look (CF_STALE:
 * r is older than m). A table says of each slot by how much its bounds have grown:
 *   m + r table[slot]  >=  the score of the row now.
 * The bounds decide nothing but where to look, and all of it errs upwards.
 *
 * Rows of float64 or float32, `stride` values apart; products in float64 with the bits of `dot`
 * (float32 rows: of the row as float64), eight rows abreast. Nothing is allocated.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_CATALOGUE_BLOCK 64
#define CF_CATALOGUE_TERMS 16  /* past rounds whose terms are kept; a power of two */
#define CF_CATALOGUE_SLOTS 4096
#define CF_STALE 1073741824    /* 2^30, a flag in a slot */

/* What a look at rows goes by. q of a row of slot s is r^2 less (x.t)^2 for the terms t of all
 * later slots; where these are not all known (s < oldest), or r is stale, r stays. */
typedef struct cf_look {
    ptrdiff_t n;         /* features */
    const double *w;     /* the weights now */
    const double *terms; /* that of slot s: row s % CF_CATALOGUE_TERMS, `apart` doubles each */
    ptrdiff_t apart;
    double best;         /* the score to reach */
    double width;
    double afresh;       /* q is to be made afresh where m + r afresh >= best */
    double blur;         /* what m may be off by, for |x| = 1; */
    double drop;         /* what x.t may be, */
    double rest;         /* and what q may be, for one term */
    double drift;        /* the share of q that a renewed inverse may differ by */
    int32_t slot, oldest;
    int32_t idle;        /* bit s % CF_CATALOGUE_TERMS: the term of slot s is 0; */
    int32_t renewed;     /* the inverse was renewed before slot s */
} cf_look;

/* Those of rows of float64 (no suffix) and of float32. */
#define CF_CATALOGUE_KERNELS_OF(K, type, suffix)                                                 \
    /* out[t] = x_t.y of m rows */                                                               \
    K(void, rows_dot##suffix, (ptrdiff_t n, ptrdiff_t m, const type *x, ptrdiff_t stride,        \
                               const double *y, double *out))                                    \
    /* out[t] = x_t.x_t */                                                                       \
    K(void, rows_square##suffix, (ptrdiff_t n, ptrdiff_t m, const type *x, ptrdiff_t stride,     \
                                  double *out))                                                  \
    /* The rows `which` of a block, none of which is longer than `size`: m, r and slot anew;     \
       those that must be scored afresh, to know whether they reach the best or what q is. Rows  \
       of float32 in products of float32, for which blur and drop must allow. */                 \
    K(uint64_t, catalogue_look##suffix, (const cf_look *how, const type *x, ptrdiff_t stride,    \
                                         uint64_t which, double size, float *m, float *r,        \
                                         int32_t *slot))

#define CF_CATALOGUE_KERNELS(K)                                                                  \
    CF_CATALOGUE_KERNELS_OF(K, double, )                                                         \
    CF_CATALOGUE_KERNELS_OF(K, float, _f32)                                                      \
    /* The blocks b with top[b] + radius[b] table[slot[b]] >= least, in order, into `open`,      \
       which has room for all n; how many. */                                                    \
    K(ptrdiff_t, catalogue_scan, (ptrdiff_t n, const float *top, const float *radius,            \
                                  const int32_t *slot, const float *table, float least,          \
                                  int32_t *open))                                                \
    /* Of a block: *top >= its largest bound, *radius its largest r; the rows whose bound is at  \
       least `least` once `more` is added to the table. */                                       \
    K(uint64_t, catalogue_open, (const float *m, const float *r, const int32_t *slot,            \
                                 const float *table, float more, float least, float *top,        \
                                 float *radius))
