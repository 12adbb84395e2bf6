/* K classes side by side: what they know of one feature stands in one stretch of memory.
 *
 * A feature's K weights are followed, `second` doubles from their beginning, by its K values of
 * another kind (inverse variances, variances, counts: the kernel says which). A row costs
 * O(nnz K); every line of memory it needs is asked for before it is used. A class is a lane: its
 * sums run over the entries in ascending order, so dense and sparse rows give the same bits.
 * m, q and c have cf_pad(k) doubles; lanes from k on are written as 0 and c is 0 there. Memory
 * behind the last feature is read, not used: eight doubles more than the features take.
 *
 * Kernels that answer a status look at all they are about to write first: CF_ENONFINITE (a weight
 * or count would leave the range) and CF_EVALUE (no variance would be left) change nothing.
 */
#pragma once
#include "cf_row.h"

typedef struct cf_lines {
    double *data;     /* begins on a CF_LINE; owned by the caller */
    ptrdiff_t stride; /* doubles from feature to feature, a multiple of 8 */
    ptrdiff_t second; /* 0: there is only one value a class */
    ptrdiff_t k;
} cf_lines;

/* One round's change of two classes, or of one: second_class -1. */
typedef struct cf_change {
    ptrdiff_t first_class, second_class;
    double first_step, second_step;
} cf_change;

#define CF_STEP_VARIANCE 0
#define CF_STEP_RESIDUAL 1
#define CF_STEP_PRINTED 2

#define CF_LINES_KERNELS(K)                                                                      \
    /* m_i = sum w_i x. `next`, here and below, is NULL or the row that comes after x, sparse and\
       in any order: its lines are asked for meanwhile, its values are not looked at */          \
    K(void, lines_scores, (const cf_lines *t, const cf_row *x, const cf_row *next, double *m))   \
    /* and q_i = sum d_i x^2, d the second values; and of one class alone, with the same bits */ \
    K(void, lines_read, (const cf_lines *t, const cf_row *x, const cf_row *next, double *m,      \
                         double *q))                                                             \
    K(void, lines_read_one, (const cf_lines *t, const cf_row *x, ptrdiff_t i, double *m,         \
                             double *q))                                                         \
    /* m_i = sum w_i x / (s_i + x^2), s the second values */                                     \
    K(void, lines_counted, (const cf_lines *t, const cf_row *x, const cf_row *next, double *m))  \
    /* w_i += c_i d_i x for all classes; then, unless i is -1, lines_step of class i: the same   \
       bits as two calls, in one pass */                                                         \
    K(void, lines_move, (const cf_lines *t, const cf_row *x, const double *c, ptrdiff_t i,       \
                         double s, int mode))                                                    \
    /* class i: d becomes d / (1 + d x^2); before that, RESIDUAL: w += s d x, or PRINTED:        \
       w = (w + s d x) / (1 + d x^2) */                                                          \
    K(void, lines_step, (const cf_lines *t, const cf_row *x, ptrdiff_t i, double s, int mode))   \
    /* w += step x; with `count` also second value += x^2 */                                     \
    K(int, lines_add, (const cf_lines *t, const cf_row *x, const cf_change *c, int count))       \
    /* w += step d x, d -= beta (d x)^2 */                                                       \
    K(int, lines_shrink, (const cf_lines *t, const cf_row *x, const cf_change *c, double beta))  \
    /* the first i of the largest m_i; -1 where some m is not finite */                          \
    K(ptrdiff_t, best_label, (ptrdiff_t k, const double *m))                                     \
    /* the same of m_i + sqrt(f q_i), q >= 0 */                                                  \
    K(ptrdiff_t, bold_label, (ptrdiff_t k, const double *m, const double *q, double f))          \
    /* P1 on the scores: v the projection of m + alpha with weights q onto {v >= 0, sum v =      \
       1 + alpha}; c = (v - m - alpha) / q, and m becomes v - alpha. scratch holds 2 cf_pad(k) + \
       cf_scores_scratch(k) doubles. CF_EVALUE: some q is 0 or so small that c is not finite;   \
       m is then as it was. */                                                                   \
    K(int, project_labels, (ptrdiff_t k, double *m, const double *q, double alpha, double *c,    \
                            double *scratch))
