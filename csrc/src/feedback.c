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

/* Of the documents of higher utility than `least` the first one presented; the others are kept at
 * the front of `candidate`, their number in *m. -1: none is left. */
static ptrdiff_t next_presented(ptrdiff_t *m, ptrdiff_t *candidate, const double *utility,
                                const double *key, double least)
{
    ptrdiff_t kept = 0, first = -1;
    for (ptrdiff_t c = 0; c < *m; c++) { /* indices stay ascending: the first of equal keys wins */
        const ptrdiff_t d = candidate[c];
        candidate[kept] = d;
        if (!(utility[d] > least))
            continue;
        if (first < 0 || key[d] > key[candidate[first]])
            first = kept;
        kept++;
    }
    if (first < 0) {
        *m = 0;
        return -1;
    }
    const ptrdiff_t d = candidate[first];
    for (ptrdiff_t c = first + 1; c < kept; c++)
        candidate[c - 1] = candidate[c];
    *m = kept - 1;
    return d;
}

ptrdiff_t cf_feedback_alpha(ptrdiff_t n, ptrdiff_t k, const double *utility, const double *key,
                            const ptrdiff_t *presented, const double *discount, double alpha,
                            double best, ptrdiff_t *better, ptrdiff_t *scratch)
{
    const double shown = cf_gain(k, utility, presented, discount);
    const double wanted = alpha * (best - shown);
    ptrdiff_t m = 0, entered = 0;
    for (ptrdiff_t i = 0; i < k; i++)
        insert(i, k, utility, presented[i], better);
    if (cf_gain(k, utility, better, discount) - shown >= wanted)
        return 0;
    const double least = utility[better[k - 1]], last = key[presented[k - 1]];
    for (ptrdiff_t d = 0; d < n; d++) { /* stored always, counted where it can enter */
        scratch[m] = d;
        m += utility[d] > least && (key[d] < last || (key[d] == last && d > presented[k - 1]));
    }
    for (;;) {
        const ptrdiff_t d = next_presented(&m, scratch, utility, key, utility[better[k - 1]]);
        if (d < 0) /* the best ranking of all is reached, whatever rounding says */
            return entered;
        insert(k, k, utility, d, better);
        entered++;
        if (cf_gain(k, utility, better, discount) - shown >= wanted)
            return entered;
    }
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

ptrdiff_t cf_feedback_change(ptrdiff_t p, const ptrdiff_t *presented, ptrdiff_t b,
                             const ptrdiff_t *better, const double *discount, ptrdiff_t *index,
                             double *coefficient, ptrdiff_t *place)
{
    ptrdiff_t m = 0, kept = 0;
    for (ptrdiff_t i = 0; i < p; i++) {
        index[m] = presented[i];
        coefficient[m] = -discount[i];
        place[presented[i]] = ++m;
    }
    for (ptrdiff_t i = 0; i < b; i++) {
        const ptrdiff_t at = place[better[i]];
        if (at > 0) {
            coefficient[at - 1] += discount[i];
            continue;
        }
        index[m] = better[i];
        coefficient[m++] = discount[i];
    }
    for (ptrdiff_t i = 0; i < p; i++)
        place[presented[i]] = 0;
    for (ptrdiff_t j = 0; j < m; j++) {
        index[kept] = index[j];
        coefficient[kept] = coefficient[j];
        kept += coefficient[j] != 0.0;
    }
    return kept;
}
