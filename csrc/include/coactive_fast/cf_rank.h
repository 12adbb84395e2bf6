/* Rankings: scores of a query's documents, and the feature map of an ordering (DEFINITIONS 2).
 *
 * scores[i] = x_i . w, each row by the same operations as `dot`, so that equal rows get equal
 * scores to the bit wherever they stand; rows float64 or float32, sums float64. Memory is asked
 * for 4 KB ahead, since a query comes from DRAM once. Cost: the rows read once.
 * features += a * sum over the first k places of x_{y_i} / log2(i + 1), i = 1 ... k.
 */
#pragma once
#include <stddef.h>

/* Those of rows of float64 (no suffix) and of float32. */
#define CF_RANK_KERNELS_OF(K, type, suffix)                                                      \
    /* scores of n rows of d values, stride values from row to row */                            \
    K(void, scores##suffix, (ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,       \
                             const double *w, double *scores))                                   \
    /* scores of w and of u in one reading of the rows: what `scores` gives for each */          \
    K(void, two_scores##suffix, (ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,   \
                                 const double *w, const double *u, double *scores,               \
                                 double *second))                                                \
    K(void, features##suffix, (ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,     \
                               const ptrdiff_t *ranking, double a, const double *discount,       \
                               double *features))                                                \
    /* features += sum over k places of weight[r] (x_{plus[r]} - x_{minus[r]}): rows that are    \
       equal cancel exactly */                                                                   \
    K(void, change_of_features##suffix, (ptrdiff_t k, ptrdiff_t d, const type *rows,             \
                                         ptrdiff_t stride, const ptrdiff_t *plus,                \
                                         const ptrdiff_t *minus, const double *weight,           \
                                         double *features))                                      \
    /* The Preference Perceptron's step in one pass: change_of_features from zero, then step_mean\
       with a = 1, to the bit. */                                                                \
    K(int, perceptron_features##suffix, (ptrdiff_t k, ptrdiff_t d, const type *rows,             \
                                         ptrdiff_t stride, const ptrdiff_t *plus,                \
                                         const ptrdiff_t *minus, const double *weight,           \
                                         const double *w, double rate, const double *mean,       \
                                         double *w_new, double *mean_new))

#define CF_RANK_KERNELS(K)                                                                       \
    CF_RANK_KERNELS_OF(K, double, )                                                              \
    CF_RANK_KERNELS_OF(K, float, _f32)                                                           \
    /* of the documents of more utility than `least` the one that stands next behind `last` in   \
       the order of decreasing keys, equal keys in the order of the indices; -1: none. Finite    \
       keys; 16n bytes read. */                                                                  \
    K(ptrdiff_t, next_presented, (ptrdiff_t n, const double *utility, double least,              \
                                  const double *key, ptrdiff_t last))                            \
    /* discount[i] = 1 / log2(i + 2), i = 0 ... k-1 */                                           \
    K(void, discounts, (ptrdiff_t k, double *discount))
