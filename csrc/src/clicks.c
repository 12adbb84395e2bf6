#include "coactive_fast/cf_clicks.h"

#include <math.h>

#include "coactive_fast/cf_table.h"

/* Products of so many quotients of sums stay far from the ends of a double's range. */
#define FEW 8

/* (top[p], sum[p]) with e^top sum = (what stands at `to`) + sum of e^s over from <= q < to, q >= p,
 * for p = to - 1 ... from; e is scratch. */
static void sum_upwards(const cf_table *table, ptrdiff_t from, ptrdiff_t to, const double *s,
                        double *top, double *sum, double *e)
{
    for (ptrdiff_t p = to - 1; p >= from; p--) {
        top[p] = s[p] > top[p + 1] ? s[p] : top[p + 1];
        e[p] = -fabs(s[p] - top[p + 1]);
    }
    if (from < to)
        table->exp_many(to - from, e + from, e + from);
    for (ptrdiff_t p = to - 1; p >= from; p--)
        sum[p] = s[p] > top[p + 1] ? sum[p + 1] * e[p] + 1.0 : sum[p + 1] + e[p];
}

/* The documents below the first `depth` places, but for `left_out` (-1: none), as (top, sum). */
static void sum_rest(const cf_table *table, ptrdiff_t n, const double *score, ptrdiff_t depth,
                     const ptrdiff_t *ranking, ptrdiff_t left_out, double *e, double *top,
                     double *sum)
{
    double most = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i++)
        e[i] = score[i];
    for (ptrdiff_t p = 0; p < depth; p++)
        e[ranking[p]] = -INFINITY;
    if (left_out >= 0)
        e[left_out] = -INFINITY;
    for (ptrdiff_t i = 0; i < n; i++)
        most = e[i] > most ? e[i] : most;
    *top = most;
    *sum = 0.0;
    if (most == -INFINITY)
        return;
    for (ptrdiff_t i = 0; i < n; i++)
        e[i] -= most;
    table->exp_many(n, e, e);
    for (ptrdiff_t i = 0; i < n; i++)
        *sum += e[i];
}

/* log P(R*) - log P(R), but for what stands at place a itself: the sum over a < p <= to of
 * log(top[p], sum[p]) - log((other_top[p], other_sum[p]) + e^at_a). */
static double gain_of_change(const cf_table *table, ptrdiff_t a, ptrdiff_t to, double at_a,
                             const double *top, const double *sum, const double *other_top,
                             const double *other_sum, double *e)
{
    double gain = 0.0, quotients = 1.0;
    ptrdiff_t few = 0;
    for (ptrdiff_t p = a + 1; p <= to; p++)
        e[p] = -fabs(other_top[p] - at_a);
    if (a < to)
        table->exp_many(to - a, e + a + 1, e + a + 1);
    for (ptrdiff_t p = a + 1; p <= to; p++) {
        const int above = at_a > other_top[p];
        gain += top[p] - (above ? at_a : other_top[p]);
        quotients *= sum[p] / (above ? other_sum[p] * e[p] + 1.0 : other_sum[p] + e[p]);
        if (++few == FEW) {
            gain += table->log_one(quotients);
            quotients = 1.0;
            few = 0;
        }
    }
    return few ? gain + table->log_one(quotients) : gain;
}

ptrdiff_t cf_click_preferences(const cf_table *table, ptrdiff_t n, ptrdiff_t k,
                               const double *score, const ptrdiff_t *ranking, ptrdiff_t m,
                               const ptrdiff_t *clicked, double *weight, double *scratch)
{
    const ptrdiff_t depth = k < n ? k : n;
    double *e = scratch, *s = e + n + 1, *top = s + n + 1, *sum = top + n + 1;
    double *other_top = sum + n + 1, *other_sum = other_top + n + 1;
    ptrdiff_t looked = 0, pairs = 0;
    for (ptrdiff_t p = 0; p < m; p++)
        if (clicked[p])
            looked = p + 2;
    looked = looked < m ? looked : m;
    for (ptrdiff_t p = 0; p < looked; p++)
        pairs += !clicked[p];
    if (pairs == 0) /* no click, or nothing else */
        return 0;
    for (ptrdiff_t p = 0; p < (depth > looked ? depth : looked); p++)
        s[p] = score[ranking[p]];
    for (ptrdiff_t p = 0; p < looked; p++)
        weight[p] = 0.0;
    sum_rest(table, n, score, depth, ranking, -1, e, top + depth, sum + depth);
    sum_upwards(table, 0, depth, s, top, sum, e);
    for (ptrdiff_t b = 1; b < looked; b++) {
        const ptrdiff_t from = b < depth ? b : depth, to = b < depth ? b : depth - 1;
        ptrdiff_t a = 0;
        while (a < b && clicked[a] == clicked[b])
            a++;
        if (a == b)
            continue;
        if (b < depth) {
            other_top[b] = top[b + 1];
            other_sum[b] = sum[b + 1];
        } else {
            sum_rest(table, n, score, depth, ranking, ranking[b], e, other_top + depth,
                     other_sum + depth);
        }
        sum_upwards(table, a + 1, from, s, other_top, other_sum, e);
        for (; a < b; a++) {
            if (clicked[a] == clicked[b])
                continue;
            double gain = 0.0; /* log P(R*) - log P(R) */
            if (a < depth)
                gain = (b < depth ? 0.0 : s[b] - s[a]) +
                       gain_of_change(table, a, to, s[a], top, sum, other_top, other_sum, e);
            const double odds = table->exp_one(-fabs(s[a] - s[b]));
            const double rho = 1.0 / (1.0 + table->exp_one(-gain));
            const double move = rho * (odds / ((1.0 + odds) * (1.0 + odds)));
            weight[a] += clicked[a] ? move : -move;
            weight[b] += clicked[a] ? -move : move;
        }
    }
    return looked;
}
