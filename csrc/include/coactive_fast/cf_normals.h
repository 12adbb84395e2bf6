/* Standard normals by the ziggurat of 256 layers (Marsaglia, Tsang), from a PCG64 kept here: the
 * draws of numpy's Generator.standard_normal, without a call a draw.
 *
 * Of 64 bits the low 8 choose the layer, one is the sign, 52 the place along the layer. 99 draws
 * in 100 lie inside it and are done; what happens to the others is the caller's business, who
 * also has the tables (of numpy's own function).
 * Cost: about 1.6 ns a draw, where a call through pointers takes 7.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cf_ziggurat {
    double width[256];    /* of layer i, in units of 2^-52 of itself */
    uint64_t inside[256]; /* places below this one are under the curve */
} cf_ziggurat;

/* PCG XSL-RR with 128 bits of state, which goes on by state * CF_PCG64 + step. */
typedef struct cf_pcg64 {
    uint64_t high, low;
    uint64_t step_high, step_low;
} cf_pcg64;

/* The next 64 bits. */
uint64_t cf_pcg64_next(cf_pcg64 *bits);

/* x[0 .. n) are draws, or fewer: the answer is their number, and where it is less than n, *edge are
 * the 64 bits that came next and do not lie inside their layer. */
ptrdiff_t cf_normals(cf_pcg64 *bits, const cf_ziggurat *t, ptrdiff_t n, double *x, uint64_t *edge);
