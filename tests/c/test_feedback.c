/* Feedback of simulated users, against slow walks down the whole ordering shown (DEFINITIONS 2). */
#include "cf_reference.h"

static ptrdiff_t *take_places(ptrdiff_t n)
{
    return take_bytes((size_t)n * sizeof(ptrdiff_t), 0, 0);
}

/* What 0 ... n-1 becomes when sorted by decreasing value, equal values as they stand. */
static void sort_stable(ptrdiff_t n, const double *value, ptrdiff_t *list)
{
    for (ptrdiff_t i = 1; i < n; i++)
        for (ptrdiff_t j = i; j > 0 && value[list[j - 1]] < value[list[j]]; j--) {
            const ptrdiff_t t = list[j];
            list[j] = list[j - 1];
            list[j - 1] = t;
        }
}

static ptrdiff_t *take_order(ptrdiff_t n, const double *value)
{
    ptrdiff_t *order = take_places(n);
    for (ptrdiff_t i = 0; i < n; i++)
        order[i] = i;
    sort_stable(n, value, order);
    return order;
}

static double slow_gain(ptrdiff_t k, const double *value, const ptrdiff_t *ranking,
                        const double *discount)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < k; i++)
        sum += discount[i] * value[ranking[i]];
    return sum;
}

/* Few values, so that equal ones are common; -0 and 0 are equal too. */
static double *take_levels(ptrdiff_t n, ptrdiff_t levels)
{
    static const double values[] = {0.0, 1.0, -0.0, 2.0, -1.0, 3.0, 0.25, -2.5};
    double *x = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = levels > 0 ? values[random_below(levels)] : random_normal();
    return x;
}

/* 1, 1/2, 1/4, ...: then every sum of a small case is exact */
static double *take_discounts(ptrdiff_t k, int exact)
{
    double *discount = take_doubles(k);
    for (ptrdiff_t i = 0; i < k; i++)
        discount[i] = exact ? ldexp(1.0, -(int)i) : 1.0 / log2((double)(i + 2));
    return discount;
}

TEST(gain_is_summed_in_the_order_of_the_places)
{
    const double value[4] = {0x1p60, 1.0, -0x1p60, 3.0}, one[3] = {1.0, 1.0, 1.0};
    const double halves[3] = {1.0, 0.5, 0.25};
    const ptrdiff_t lost[3] = {0, 1, 2}, kept[3] = {0, 2, 1};
    CHECK_CLOSE(cf_gain(3, value, lost, one), 0.0, 0.0);
    CHECK_CLOSE(cf_gain(3, value, kept, one), 1.0, 0.0);
    CHECK_CLOSE(cf_gain(2, value, kept + 1, halves), -0x1p60 + 0.5, 0.0);
    CHECK_CLOSE(cf_gain(1, value + 3, lost, halves), 3.0, 0.0);
    CHECK_CLOSE(cf_gain(0, NULL, NULL, NULL), 0.0, 0.0);
}

/* --- strictly alpha-informative -------------------------------------------------------------- */

typedef struct query {
    ptrdiff_t n, k;
    double *utility, *key, *discount;
    ptrdiff_t *order; /* the presented ordering, all of it */
    double shown, best;
} query;

static query make_query(ptrdiff_t n, ptrdiff_t k, double *utility, double *key, double *discount)
{
    query q = {n, k, utility, key, discount, take_order(n, key), 0.0, 0.0};
    q.shown = slow_gain(k, utility, q.order, discount);
    q.best = slow_gain(k, utility, take_order(n, utility), discount);
    return q;
}

/* DEFINITIONS 2, word by word. *entered: the documents below place k that came among the k best
 * when the walk reached them. */
static ptrdiff_t *walk(const query *q, double alpha, ptrdiff_t *entered)
{
    ptrdiff_t *first = take_places(q->n);
    *entered = 0;
    for (ptrdiff_t m = q->k; m <= q->n; m++) {
        memcpy(first, q->order, (size_t)m * sizeof *first);
        sort_stable(m, q->utility, first);
        for (ptrdiff_t i = 0; i < q->k && m > q->k; i++)
            *entered += first[i] == q->order[m - 1];
        const double gain = slow_gain(q->k, q->utility, first, q->discount);
        if (gain - q->shown >= alpha * (q->best - q->shown))
            break;
    }
    return first;
}

/* The first k places alone are presented, in arrays as long as the contract has them. */
static ptrdiff_t *feedback(const cf_table *k, const query *q, double alpha, ptrdiff_t *entered)
{
    ptrdiff_t *better = take_places(q->k);
    *entered = cf_feedback_alpha(k, q->n, q->k, q->utility, q->key, TAKE_COPY(q->order, q->k),
                                 q->discount, alpha, q->best, better);
    return better;
}

static ptrdiff_t check_walk(const cf_table *k, const query *q, double alpha)
{
    ptrdiff_t entered, slow;
    const ptrdiff_t *better = feedback(k, q, alpha, &entered), *expected = walk(q, alpha, &slow);
    CHECK_BITS(better, expected, q->k);
    CHECK_INT(entered, slow);
    return entered;
}

static const double alphas[] = {0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0};
#define ALPHAS ((ptrdiff_t)(sizeof alphas / sizeof *alphas))

/* Small queries of few values: all kinds of equal keys and utilities, n = 1, n = k. */
TEST_TABLES(alpha_equals_the_walk_on_small_queries)
{
    const int cases = check_count(20000, 500);
    ptrdiff_t most = 0;
    for (int i = 0; i < cases; i++) {
        const ptrdiff_t n = 1 + random_below(i % 2 ? 10 : 20), top = 1 + random_below(n);
        double *utility = take_levels(n, random_below(9));
        double *key = take_levels(n, random_below(9));
        const query q = make_query(n, top, utility, key, take_discounts(top, i % 2));
        const double alpha = alphas[random_below(ALPHAS)];
        CONTEXT("%s case %d: n=%td k=%td alpha=%g", k->isa, i, n, top, alpha);
        const ptrdiff_t entered = check_walk(k, &q, alpha);
        most = entered > most ? entered : most;
        release();
    }
    CHECK(most > 5);
}

TEST_TABLES(alpha_equals_the_walk_on_large_queries)
{
    const int cases = check_count(60, 4);
    for (int i = 0; i < cases; i++) {
        const ptrdiff_t n = 50 + random_below(250), top = 1 + random_below(i % 3 ? 12 : n);
        double *utility = take_levels(n, i % 2 ? 0 : 5), *key = take_levels(n, i % 4 ? 0 : 3);
        const query q = make_query(n, top, utility, key, take_discounts(top, 0));
        for (ptrdiff_t a = 0; a < ALPHAS; a++) {
            CONTEXT("%s case %d: n=%td k=%td alpha=%g", k->isa, i, n, top, alphas[a]);
            check_walk(k, &q, alphas[a]);
        }
        release();
    }
}

/* What makes it alpha-informative, and the ends of alpha; the sums are exact. */
TEST_TABLES(alpha_is_reached_and_0_and_1_are_the_ends)
{
    for (int i = 0; i < check_count(3000, 200); i++) {
        const ptrdiff_t n = 1 + random_below(12), top = 1 + random_below(n);
        const query q = make_query(n, top, take_levels(n, 6), take_levels(n, 1 + random_below(8)),
                                   take_discounts(top, 1));
        CONTEXT("%s case %d: n=%td k=%td", k->isa, i, n, top);
        ptrdiff_t entered, fewer = 0;
        for (ptrdiff_t a = 0; a < ALPHAS; a++) {
            const ptrdiff_t *better = feedback(k, &q, alphas[a], &entered);
            const double gain = cf_gain(top, q.utility, better, q.discount);
            CHECK(gain - q.shown >= alphas[a] * (q.best - q.shown));
            CHECK(entered >= fewer); /* a larger alpha walks further */
            fewer = entered;
            if (a == 0) { /* only reordered */
                CHECK_INT(entered, 0);
                ptrdiff_t *same = TAKE_COPY(q.order, top);
                sort_stable(top, q.utility, same);
                CHECK_BITS(better, same, top);
            }
            if (alphas[a] == 1.0)
                CHECK_CLOSE(gain, q.best, 0.0);
        }
        release();
    }
}

/* More documents enter than there are places: the first that entered fall out again. */
TEST_TABLES(more_enter_than_there_are_places)
{
    const ptrdiff_t n = 9;
    double *utility = take_doubles(n), *key = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++) {
        utility[i] = (double)i;
        key[i] = -(double)i;
    }
    for (ptrdiff_t top = 1; top < 4; top++) {
        const query q = make_query(n, top, utility, key, take_discounts(top, 1));
        CHECK_INT(check_walk(k, &q, 1.0), n - top);
        CHECK_INT(feedback(k, &q, 1.0, &(ptrdiff_t){0})[0], n - 1);
    }
}

/* Fewer documents of higher utility below than there are places. */
TEST_TABLES(more_places_than_documents_that_enter)
{
    double utility[8] = {5.0, 4.0, 3.0, 0.0, 1.0, 0.0, 2.0, 0.0}, key[8];
    for (int i = 0; i < 8; i++)
        key[i] = 10.0 - i;
    const query q = make_query(8, 5, utility, key, take_discounts(5, 1));
    CHECK_INT(check_walk(k, &q, 1.0), 1);
    const ptrdiff_t expected[5] = {0, 1, 2, 6, 4};
    CHECK_BITS(feedback(k, &q, 1.0, &(ptrdiff_t){0}), expected, 5);
}

/* Rounding may let no m pass, not even n: then the best ranking of all is the answer. */
TEST_TABLES(a_best_that_is_never_reached)
{
    for (int i = 0; i < check_count(2000, 100); i++) {
        const ptrdiff_t n = 1 + random_below(9), top = 1 + random_below(n);
        query q = make_query(n, top, take_levels(n, 5), take_levels(n, 4),
                             take_discounts(top, i % 2));
        q.best += 1.0;
        CONTEXT("%s case %d: n=%td k=%td", k->isa, i, n, top);
        check_walk(k, &q, 1.0);
        ptrdiff_t entered;
        const ptrdiff_t *better = feedback(k, &q, 1.0, &entered);
        CHECK_CLOSE(slow_gain(top, q.utility, better, q.discount), q.best - 1.0, 1e-14);
        release();
    }
}

/* Nothing better is left below, or nothing at all. */
TEST_TABLES(a_presented_optimum_is_its_own_feedback)
{
    for (ptrdiff_t n = 1; n < 8; n++)
        for (ptrdiff_t top = 1; top <= n; top++) {
            double *utility = take_levels(n, 4);
            const query q = make_query(n, top, utility, utility, take_discounts(top, 0));
            ptrdiff_t entered;
            for (ptrdiff_t a = 0; a < ALPHAS; a++) {
                const ptrdiff_t *better = feedback(k, &q, alphas[a], &entered);
                CHECK_BITS(better, q.order, top);
                CHECK_INT(entered, 0);
            }
            release();
        }
}

/* --- noisy at a depth ------------------------------------------------------------------------ */

static void check_depth(ptrdiff_t n, ptrdiff_t k, ptrdiff_t depth, const double *label,
                        const ptrdiff_t *order)
{
    const ptrdiff_t deep = depth < n ? depth : n, places = deep > k ? deep : k;
    ptrdiff_t *better = take_places(k), *all = TAKE_COPY(order, n), *rest = take_places(n);
    sort_stable(deep, label, all); /* the top is its first k ... */
    ptrdiff_t m = deep < k ? deep : k, top = m;
    for (ptrdiff_t i = 0; i < n; i++) { /* ... and what is not moved keeps its order */
        int moved = 0;
        for (ptrdiff_t j = 0; j < top; j++)
            moved |= all[j] == order[i];
        if (!moved)
            rest[m++] = order[i];
    }
    memcpy(rest, all, (size_t)top * sizeof *rest);
    CHECK_INT(m, n);
    cf_feedback_depth(n, k, depth, label, TAKE_COPY(order, places), better);
    CHECK_BITS(better, rest, k);
}

TEST(depth_equals_the_walk)
{
    for (int i = 0; i < check_count(20000, 500); i++) {
        const ptrdiff_t n = 1 + random_below(12), k = 1 + random_below(n);
        const ptrdiff_t depth = random_below(n + 4); /* 0, below k, beyond n */
        const double *label = take_levels(n, 1 + random_below(8));
        const ptrdiff_t *order = take_order(n, take_levels(n, random_below(9)));
        CONTEXT("case %d: n=%td k=%td depth=%td", i, n, k, depth);
        check_depth(n, k, depth, label, order);
        release();
    }
}

TEST(depth_of_all_and_of_nothing)
{
    const ptrdiff_t n = 200, k = 10;
    const double *label = take_levels(n, 3);
    const ptrdiff_t *order = take_order(n, take_normal(n));
    check_depth(n, k, 0, label, order);
    check_depth(n, k, 1, label, order);
    check_depth(n, k, k - 1, label, order);
    check_depth(n, k, k, label, order);
    check_depth(n, k, k + 1, label, order);
    check_depth(n, k, n, label, order);
    check_depth(n, k, PTRDIFF_MAX, label, order);
    check_depth(n, n, 50, label, order);
    check_depth(n, n, PTRDIFF_MAX, label, order);
}

CHECK_MAIN
