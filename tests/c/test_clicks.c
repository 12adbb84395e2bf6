/* What PDGD draws and makes of clicks, against the definitions in long double (DEFINITIONS 7). */
#include "cf_reference.h"

#include "coactive_fast/cf_library.h"

static ptrdiff_t *take_places(ptrdiff_t n)
{
    return take_bytes((size_t)n * sizeof(ptrdiff_t), 0, 0);
}

/* ln of the Plackett-Luce probability of the first k places. */
static wide log_probability(ptrdiff_t n, ptrdiff_t k, const double *score,
                            const ptrdiff_t *ranking)
{
    wide total = 0.0L;
    for (ptrdiff_t p = 0; p < k && p < n; p++) {
        wide top = -INFINITY, sum = 0.0L;
        for (ptrdiff_t q = p; q < n; q++)
            top = fmaxl(top, (wide)score[ranking[q]]);
        for (ptrdiff_t q = p; q < n; q++)
            sum += expl((wide)score[ranking[q]] - top);
        total += (wide)score[ranking[p]] - top - logl(sum);
    }
    return total;
}

static ptrdiff_t slow_preferences(ptrdiff_t n, ptrdiff_t k, const double *score,
                                  ptrdiff_t *ranking, ptrdiff_t m, const ptrdiff_t *clicked,
                                  wide *weight)
{
    ptrdiff_t last = -1, pairs = 0;
    for (ptrdiff_t p = 0; p < m; p++)
        last = clicked[p] ? p : last;
    const ptrdiff_t looked = last < 0 ? 0 : last + 2 < m ? last + 2 : m;
    const wide before = log_probability(n, k, score, ranking);
    for (ptrdiff_t p = 0; p < looked; p++)
        weight[p] = 0.0L;
    for (ptrdiff_t a = 0; a < looked; a++)
        for (ptrdiff_t b = 0; b < looked; b++) {
            if (!clicked[a] || clicked[b])
                continue;
            const ptrdiff_t i = ranking[a], j = ranking[b];
            ranking[a] = j;
            ranking[b] = i;
            const wide gain = log_probability(n, k, score, ranking) - before;
            ranking[a] = i;
            ranking[b] = j;
            const wide odds = expl(-fabsl((wide)score[i] - (wide)score[j]));
            const wide move = odds / ((1.0L + odds) * (1.0L + odds)) / (1.0L + expl(-gain));
            weight[a] += move;
            weight[b] -= move;
            pairs++;
        }
    return pairs ? looked : 0;
}

static void one_case(const cf_table *k, ptrdiff_t n, ptrdiff_t drawn, ptrdiff_t m, double spread)
{
    double *score = take_doubles(n), *weight = take_doubles(m);
    double *scratch = take_doubles(cf_click_scratch(n));
    ptrdiff_t *ranking = take_places(n), *clicked = take_places(m);
    wide *exact = take_wide(m);
    double size = 1.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        score[i] = spread * random_normal();
        size = fmax(size, fabs(score[i]));
        ranking[i] = i;
    }
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        const ptrdiff_t j = random_below(i + 1), t = ranking[i];
        ranking[i] = ranking[j];
        ranking[j] = t;
    }
    for (ptrdiff_t p = 0; p < m; p++)
        clicked[p] = random_below(3) == 0;
    const ptrdiff_t found = cf_click_preferences(k, n, drawn, score, ranking, m, clicked, weight,
                                                 scratch);
    CHECK(found == slow_preferences(n, drawn, score, ranking, m, clicked, exact));
    double largest = 0.0;
    for (ptrdiff_t p = 0; p < found; p++)
        largest = fmax(largest, (double)fabsl(exact[p]));
    for (ptrdiff_t p = 0; p < found; p++)
        CHECK_CLOSE(weight[p], exact[p],
                    DBL_EPSILON * (double)(n + 8) * 4.0 * size * (largest + DBL_MIN));
    AGREE(k, weight, found);
    release();
}

TEST_TABLES(preferences_of_clicks)
{
    static const double spreads[] = {0.0, 1.0, 30.0, 2000.0};
    for (int turn = 0; turn < check_count(600, 60); turn++) {
        const ptrdiff_t n = 1 + random_below(24), drawn = 1 + random_below(n + 3);
        const ptrdiff_t m = 1 + random_below(n);
        CONTEXT("%s turn=%d n=%td drawn=%td m=%td", k->isa, turn, n, drawn, m);
        one_case(k, n, drawn, m, spreads[turn % 4]);
    }
}

/* Scores at the ends of the range: finite weights, of pairs that are all but certain. */
TEST_TABLES(preferences_at_the_ends_of_the_range)
{
    const double score[4] = {DBL_MAX, -DBL_MAX, 0.0, -700.0};
    const ptrdiff_t ranking[4] = {1, 0, 3, 2}, clicked[4] = {0, 1, 0, 1};
    double weight[4], scratch[40];
    for (ptrdiff_t drawn = 1; drawn <= 5; drawn++) {
        CONTEXT("%s drawn=%td", k->isa, drawn);
        const ptrdiff_t found =
            cf_click_preferences(k, 4, drawn, score, ranking, 4, clicked, weight, scratch);
        CHECK(found == 4);
        for (ptrdiff_t p = 0; p < found; p++)
            CHECK(isfinite(weight[p]));
        AGREE(k, weight, found);
    }
    CHECK(cf_click_preferences(k, 4, 4, score, ranking, 1, clicked + 1, weight, scratch) == 0);
    CHECK(cf_click_preferences(k, 4, 4, score, ranking, 1, clicked, weight, scratch) == 0);
}

TEST_TABLES(keys_of_gumbel)
{
    FOR_SIZES(n, 0, 100) {
        CONTEXT("%s n=%td", k->isa, n);
        double *score = take_offset(n, n % 2), *u = take_offset(n, 1), *key = take_offset(n, 0);
        for (ptrdiff_t i = 0; i < n; i++) {
            score[i] = random_normal();
            u[i] = i == 7 ? 0x1p-53 : i == 9 ? 1.0 - 0x1p-53 : (double)random_below(1000) / 1000.0;
        }
        k->gumbel(n, score, u, key);
        for (ptrdiff_t i = 0; i < n; i++) {
            if (u[i] == 0.0)
                CHECK(key[i] == -INFINITY);
            else
                CHECK_CLOSE(key[i], (wide)score[i] - logl(-logl((wide)u[i])),
                            DBL_EPSILON * 8.0 * (1.0 + fabs(key[i])));
        }
        AGREE(k, key, n);
        k->gumbel(n, score, u, u);
        CHECK_BITS(u, key, n);
        release();
    }
}

CHECK_MAIN
