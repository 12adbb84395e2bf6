/* Feedback of simulated users on a ranking, and the rankings' utilities (DEFINITIONS 2).
 *
 * A presented ordering is given by a key for each document: higher keys stand higher, equal keys
 * in the order of the indices (the learner's scores; or minus the place). Only its first places
 * are ever worked out: below them a user looks for documents that would enter the k best, and
 * each of these is found by one pass of next_presented.
 *
 * Arrays belong to the caller; nothing is allocated. Cost: O(n) a document that enters, without
 * branches that depend on the scores.
 */
#pragma once
#include "cf_table.h"

/* sum over the first k places of discount[i] * value[ranking[i]], in the order of the places */
double cf_gain(ptrdiff_t k, const double *value, const ptrdiff_t *ranking, const double *discount);

/* Strictly alpha-informative: better[0 .. k) = the k documents of highest utility among the first
 * m presented, m the smallest for which gain(better) - gain(presented) >= alpha * (best -
 * gain(presented)), at the latest n; equal utilities in presented order. 1 <= k <= n;
 * presented[0 .. k) are the first places by key; best is the gain of the best ranking. Returns
 * how many documents entered from below (0: better only reorders what was presented). */
ptrdiff_t cf_feedback_alpha(const cf_table *table, ptrdiff_t n, ptrdiff_t k,
                            const double *utility, const double *key, const ptrdiff_t *presented,
                            const double *discount, double alpha, double best,
                            ptrdiff_t *better);

/* Noisy at a depth: better[0 .. k) = of the first `depth` presented the k of highest label, equal
 * labels in presented order, then (depth < k) the rest as presented. presented holds
 * min(max(depth, k), n) places; k <= n. */
void cf_feedback_depth(ptrdiff_t n, ptrdiff_t k, ptrdiff_t depth, const double *label,
                       const ptrdiff_t *presented, ptrdiff_t *better);
