/* Rankings from clicks: what PDGD draws, and what it makes of clicks (DEFINITIONS 7).
 *
 * Plackett-Luce by keys: of independent s_i - log(-log u_i), u_i uniform, the k largest in
 * decreasing order have the model's distribution. Cost: two logarithms a document.
 *
 * Preferences: with s the scores, by place, and L_p = log(sum over the places q >= p of e^s_q), the
 * ranking R has log P(R) = sum over the first k places of s_p - L_p. In R* the places a < b are
 * changed, and only L_p with a < p <= b differ: their sums have e^s_a in the place of e^s_b. No sum
 * is a difference here: each is kept as (largest exponent, sum of the others relative to it), so
 * nothing overflows or cancels, whatever the scores are. Cost: places^2 exponentials for the pairs
 * and, where there is a pair, one a document.
 */
#pragma once
#include <stddef.h>

#define CF_CLICKS_KERNELS(K)                                                                     \
    /* key[i] = score[i] - log(-log(u[i])), 0 <= u[i] < 1; -inf where u[i] = 0; key may be u */  \
    K(void, gumbel, (ptrdiff_t n, const double *score, const double *u, double *key))

typedef struct cf_table cf_table; /* cf_table.h includes this header */

/* Doubles of scratch that cf_click_preferences needs for n documents. */
static inline ptrdiff_t cf_click_scratch(ptrdiff_t n) { return 7 * n + 8; }

/* The sum over the pairs (i preferred to j) that clicks stand for of
 * rho e^{s_i + s_j} / (e^s_i + e^s_j)^2 (x_i - x_j), as weight[p] for the documents of the first
 * places; returns the number of those places, 0 where there is no pair. Pairs: each clicked
 * document and each that was not clicked above the last click, or next below it. n documents, of
 * which the first k places were drawn; ranking holds max(m, min(k, n)) places, of which m were
 * shown; clicked[p] for p < m is 1 or 0; finite scores. weight: m doubles. */
ptrdiff_t cf_click_preferences(const cf_table *table, ptrdiff_t n, ptrdiff_t k,
                               const double *score, const ptrdiff_t *ranking, ptrdiff_t m,
                               const ptrdiff_t *clicked, double *weight, double *scratch);
