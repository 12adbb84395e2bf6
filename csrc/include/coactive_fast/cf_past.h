/* Forgetting for a full metric: what is stored is A / scale, so that A <- f A costs nothing.
 *
 * A = share ridge I + M, M the sum of c x x^T with what was forgotten of it. `forget` multiplies M
 * by f, and the regulariser in blocks: where the number of calls before is a multiple of
 *   m = max(1, min(n, floor(ln 2 / -ln f)))
 * share becomes 1 and the inverse is made anew from A (Cholesky), else share becomes f share. So
 * the regulariser stays between a half and one of itself under one f, and a call costs O(1), once
 * in m calls O(n^3). `decay` multiplies M by f and makes the regulariser whole at once.
 *
 * The scale goes into the stored matrix by powers of four when it falls below 4^-8 (O(n^2), no
 * digit changes). Whoever works on the cf_full himself (propose, accept, look) has to know: a
 * weight c counts c / scale there, its q is scale times that of A, its A^-1 x too, and log det A
 * is its logdet + n log scale.
 *
 * Weights. A learner's A w is forgotten like M: w <- A_new^-1 f A w = w - added A_new^-1 w, where
 * A_new = f A + added I. `forget` and `decay` tell `added` (0: w stays as it is); cf_past_weights
 * does the rest.
 *
 * Everything belongs to the caller; scratch is that of cf_full (cf_full_scratch(n) doubles).
 */
#pragma once
#include "cf_full.h"

/* Invariants: all > 0 and finite, share <= 1. Where not `lowered`, the ridge of the cf_full is
 * share ridge / scale; else a bound of its own below the stored A's eigenvalues. */
typedef struct cf_past {
    double ridge;  /* the regulariser when it is whole */
    double share;  /* what there is of it */
    double scale;  /* A is so many times what is stored */
    int64_t count; /* calls of forget */
    int lowered;   /* A may be below share ridge I: by a downdate, or as it was placed */
} cf_past;

/* Nothing forgotten; the cf_full beside it was made with this ridge. */
void cf_past_init(cf_past *self, double ridge);
/* m for 0 < f <= 1. */
int64_t cf_past_period(const cf_table *k, ptrdiff_t n, double f);

/* The two that forget, 0 < f <= 1; *added as above. CF_ENOTPOSITIVE, CF_ENONFINITE: A has become
 * too ill for its inverse, or too large; A, its inverse and the past are as before. */
int cf_past_forget(cf_past *self, cf_full *full, const cf_table *k, double f, double *scratch,
                   double *added);
int cf_past_decay(cf_past *self, cf_full *full, const cf_table *k, double f, double *scratch,
                  double *added);
/* w <- w - added A^-1 w, after a forget or decay that told `added`; scratch has 3 cf_pad(n)
 * doubles, w has n. */
void cf_past_weights(const cf_past *self, const cf_full *full, const cf_table *k, double added,
                     double *w, double *scratch);

/* cf_full_update of A: c and q are those of A, c may be negative. */
int cf_past_update(cf_past *self, cf_full *full, const cf_table *k, const double *x, double c,
                   double *scratch, double *q);
/* cf_full_place: A is the matrix given, its regulariser `ridge` (no bound of A any more). */
int cf_past_place(cf_past *self, cf_full *full, const cf_table *k, const double *a, ptrdiff_t ld,
                  double ridge, double *scratch);
double cf_past_logdet(const cf_past *self, const cf_full *full, const cf_table *k);
