#include "coactive_fast/cf_feedback.h"

double cf_gain(ptrdiff_t k, const double *value, const ptrdiff_t *ranking, const double *discount)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < k; i++)
        sum += discount[i] * value[ranking[i]];
    return sum;
}

/* Document d into the m best of a list in decreasing value, behind its equals; the last falls out
 * where the list already has k. Returns the new length. */
static ptrdiff_t insert(ptrdiff_t m, ptrdiff_t k, const double *value, ptrdiff_t d,
                        ptrdiff_t *list)
{
    ptrdiff_t i = m < k ? m : k - 1;
    for (; i > 0 && value[list[i - 1]] < value[d]; i--)
        list[i] = list[i - 1];
    list[i] = d;
    return m < k ? m + 1 : k;
}

ptrdiff_t cf_feedback_alpha(const cf_table *table, ptrdiff_t n, ptrdiff_t k,
                            const double *utility, const double *key, const ptrdiff_t *presented,
                            const double *discount, double alpha, double best, ptrdiff_t *better)
{
    const double shown = cf_gain(k, utility, presented, discount);
    const double wanted = alpha * (best - shown);
    ptrdiff_t entered = 0, last = presented[k - 1];
    for (ptrdiff_t i = 0; i < k; i++)
        insert(i, k, utility, presented[i], better);
    while (!(cf_gain(k, utility, better, discount) - shown >= wanted)) {
        last = table->next_presented(n, utility, utility[better[k - 1]], key, last);
        if (last < 0) /* the best ranking of all is reached, whatever rounding says */
            break;
        insert(k, k, utility, last, better);
        entered++;
    }
    return entered;
}

void cf_feedback_depth(ptrdiff_t n, ptrdiff_t k, ptrdiff_t depth, const double *label,
                       const ptrdiff_t *presented, ptrdiff_t *better)
{
    const ptrdiff_t deep = depth < n ? depth : n;
    ptrdiff_t m = 0;
    for (ptrdiff_t i = 0; i < deep; i++) {
        const ptrdiff_t d = presented[i];
        if (m < k || label[d] > label[better[k - 1]])
            m = insert(m, k, label, d, better);
    }
    for (ptrdiff_t i = m; i < k; i++)
        better[i] = presented[i];
}
