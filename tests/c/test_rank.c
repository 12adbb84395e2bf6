/* Scores of rows, by one or two weight vectors, and the feature map of a ranking. */
#include "cf_reference.h"

static float *narrowed(ptrdiff_t n, double *rows)
{
    float *f = take_floats(n);
    for (ptrdiff_t i = 0; i < n; i++)
        rows[i] = f[i] = (float)rows[i];
    return f;
}

/* The last row ends with the block, though memory is asked for far beyond it. */
TEST_TABLES(scores_are_the_rows_dot_products)
{
    FOR_SIZES(d, 0, 1000) {
        const ptrdiff_t n = 1 + d % 5, stride = d + d % 3, span = (n - 1) * stride + d;
        CONTEXT("%s d=%td n=%td", k->isa, d, n);
        double *rows = take_offset(span, d % 2), *w = take_offset(d, 1);
        double *out = take_doubles(n), *out_f32 = take_doubles(n);
        fill_normal(rows, span);
        fill_normal(w, d);
        const float *f = narrowed(span, rows);
        k->scores(n, d, rows, stride, w, out);
        k->scores_f32(n, d, f, stride, w, out_f32);
        CHECK_BITS(out, out_f32, n);
        for (ptrdiff_t r = 0; r < n; r++) {
            const double *row = rows + r * stride;
            CHECK_CLOSE(out[r], wide_dot(d, row, w), sum_error(d, sum_abs(d, row, w)));
            CHECK_CLOSE(out[r], k->dot(d, row, w), 0.0);
        }
        AGREE(k, out, n);
        release();
    }
}

/* One reading of the rows for two weight vectors: each as if alone, to the bit, however many rows
 * go together. */
TEST_TABLES(two_scores_are_scores_twice)
{
    for (ptrdiff_t d = 0; d <= check_count(140, 72); d++) {
        const ptrdiff_t n = 1 + d % 6, stride = d + d % 3, span = (n - 1) * stride + d;
        CONTEXT("%s d=%td n=%td", k->isa, d, n);
        double *rows = take_offset(span, d % 2), *w = take_offset(d, 1), *u = take_offset(d, 2);
        double *out = take_doubles(n), *second = take_doubles(n), *alone = take_doubles(n);
        fill_normal(rows, span);
        fill_normal(w, d);
        fill_normal(u, d);
        const float *f = narrowed(span, rows);
        for (int single = 0; single < 2; single++) {
            memset(out, 0xFF, (size_t)n * sizeof *out);
            memset(second, 0xFF, (size_t)n * sizeof *second);
            if (single)
                k->two_scores_f32(n, d, f, stride, w, u, out, second);
            else
                k->two_scores(n, d, rows, stride, w, u, out, second);
            k->scores(n, d, rows, stride, w, alone);
            CHECK_BITS(out, alone, n);
            k->scores(n, d, rows, stride, u, alone);
            CHECK_BITS(second, alone, n);
        }
        AGREE(k, out, n);
        AGREE(k, second, n);
        k->two_scores(n, d, rows, stride, w, w, out, second);
        CHECK_BITS(out, second, n);
        release();
    }
}

TEST_TABLES(equal_rows_get_equal_scores_to_the_bit)
{
    const ptrdiff_t n = 37;
    FOR_SIZES(d, 1, 257) {
        double *row = take_normal(d), *w = take_normal(d), *rows = take_doubles(n * d);
        double *out = take_doubles(n);
        for (ptrdiff_t r = 0; r < n; r++)
            memcpy(rows + r * d, row, (size_t)d * sizeof *row);
        k->scores(n, d, rows, d, w, out);
        for (ptrdiff_t r = 1; r < n; r++)
            CHECK_CLOSE(out[r], out[0], 0.0);
        release();
    }
}

TEST_TABLES(no_rows_no_scores)
{
    double nothing = 7.0;
    k->scores(0, 10, NULL, 10, NULL, &nothing);
    k->two_scores(0, 10, NULL, 10, NULL, NULL, &nothing, &nothing);
    k->two_scores_f32(0, 10, NULL, 10, NULL, NULL, &nothing, &nothing);
    k->discounts(0, &nothing);
    k->features(0, 1, NULL, 1, NULL, 1.0, NULL, &nothing);
    k->change_of_features(0, 1, NULL, 1, NULL, NULL, NULL, &nothing);
    CHECK_CLOSE(nothing, 7.0, 0.0);
}

/* --- the next one in an ordering by keys ----------------------------------------------------- */

static int stands_behind(const double *key, ptrdiff_t a, ptrdiff_t b)
{
    return key[a] < key[b] || (key[a] == key[b] && a > b);
}

static ptrdiff_t slow_next(ptrdiff_t n, const double *utility, double least, const double *key,
                           ptrdiff_t last)
{
    ptrdiff_t next = -1;
    for (ptrdiff_t d = 0; d < n; d++)
        if (utility[d] > least && stands_behind(key, d, last) &&
            (next < 0 || stands_behind(key, next, d)))
            next = d;
    return next;
}

/* Few values of both, in every place of a chunk and behind its end; the largest are finite. */
TEST_TABLES(next_presented_against_a_plain_search)
{
    static const double keys[] = {0.0, -0.0, 1.0, -1.0, DBL_MAX, -DBL_MAX, 0x1p-1074};
    static const double utilities[] = {0.0, 1.0, -0.0, 2.0, -3.0};
    for (ptrdiff_t n = 1; n <= 70; n++)
        for (int form = 0; form < check_count(40, 5); form++) {
            double *utility = take_offset(n, form % 3), *key = take_offset(n, n % 2);
            const ptrdiff_t levels = 1 + random_below(7);
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            for (ptrdiff_t d = 0; d < n; d++) {
                key[d] = form % 4 ? keys[random_below(levels)] : random_normal();
                utility[d] = utilities[random_below(5)];
            }
            const double least = form % 5 ? utilities[random_below(5)] : -INFINITY;
            for (ptrdiff_t last = 0; last < n; last++) {
                const ptrdiff_t got = k->next_presented(n, utility, least, key, last);
                CHECK_INT(got, slow_next(n, utility, least, key, last));
            }
            release();
        }
}

/* From the first one on, every document comes once, in the order of the ranking. */
TEST_TABLES(next_presented_walks_the_whole_ordering)
{
    for (ptrdiff_t n = 1; n <= 70; n++) {
        double *utility = take_doubles(n), *key = take_doubles(n);
        ptrdiff_t *order = take_bytes((size_t)n * sizeof *order, 0, 0);
        cf_candidate *room = take_bytes(sizeof *room * (size_t)cf_top_k_scratch(n, n), 0, 0);
        for (ptrdiff_t d = 0; d < n; d++) {
            utility[d] = 1.0;
            key[d] = (double)random_below(1 + n / 3);
        }
        CHECK_INT(k->top_k(n, key, n, order, room), CF_OK);
        CONTEXT("%s n=%td", k->isa, n);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_INT(k->next_presented(n, utility, 0.0, key, order[i]),
                      i + 1 < n ? order[i + 1] : -1);
        release();
    }
}

/* --- features --------------------------------------------------------------------------------- */

TEST_TABLES(discounts_are_one_over_log2)
{
    const ptrdiff_t n = check_count(20000, 500);
    double *discount = take_doubles(n);
    k->discounts(n, discount);
    CHECK_CLOSE(discount[0], 1.0, 0.0);
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK(ulps(discount[i], 1.0L / log2l((wide)(i + 2))) <= 3.0);
    AGREE(k, discount, n);
}

TEST_TABLES(features_sum_the_first_places)
{
    FOR_SIZES(d, 1, 257) {
        const ptrdiff_t n = 9, places = d % 6, stride = d + 2;
        const double a = random_normal();
        CONTEXT("%s d=%td places=%td", k->isa, d, places);
        double *rows = take_normal((n - 1) * stride + d), *discount = take_doubles(places);
        double *out = take_offset(d, 1), *out_f32 = take_doubles(d);
        ptrdiff_t *ranking = take_bytes((size_t)places * sizeof *ranking, 0, 0);
        const float *f = narrowed((n - 1) * stride + d, rows);
        k->discounts(places, discount);
        for (ptrdiff_t i = 0; i < places; i++)
            ranking[i] = i == 0 ? n - 1 : random_below(n);
        fill_normal(out, d);
        memcpy(out_f32, out, (size_t)d * sizeof *out);
        const double *before = TAKE_COPY(out, d);
        k->features(places, d, rows, stride, ranking, a, discount, out);
        k->features_f32(places, d, f, stride, ranking, a, discount, out_f32);
        CHECK_BITS(out, out_f32, d);
        for (ptrdiff_t j = 0; j < d; j++) {
            wide sum = before[j];
            double size = fabs(before[j]);
            for (ptrdiff_t i = 0; i < places; i++) {
                const double x = rows[ranking[i] * stride + j];
                sum += (wide)a * x / log2l((wide)(i + 2));
                size += fabs(a * x);
            }
            CHECK_CLOSE(out[j], sum, 10 * DBL_EPSILON * size);
        }
        AGREE(k, out, d);
        release();
    }
}

/* However many columns go at a time, each sums in the order of the places. */
TEST_TABLES(features_are_repeated_axpy)
{
    const ptrdiff_t n = 7;
    for (ptrdiff_t d = 0; d <= 70; d++)
        for (ptrdiff_t places = 0; places <= 20; places++) {
            const ptrdiff_t stride = d + places % 3, span = (n - 1) * stride + d;
            const double a = random_normal();
            CONTEXT("%s d=%td places=%td", k->isa, d, places);
            double *rows = take_offset(span, places % 2), *discount = take_doubles(places);
            double *out = take_offset(d, d % 2), *start = take_normal(d);
            ptrdiff_t *ranking = take_bytes((size_t)places * sizeof *ranking, 0, 0);
            fill_normal(rows, span);
            const float *f = narrowed(span, rows);
            k->discounts(places, discount);
            for (ptrdiff_t i = 0; i < places; i++) /* the last row ends with the block */
                ranking[i] = i == 0 ? n - 1 : random_below(n);
            double *naive = TAKE_COPY(start, d);
            for (ptrdiff_t i = 0; i < places; i++)
                k->axpy(d, a * discount[i], rows + ranking[i] * stride, naive);
            for (ptrdiff_t j = 0; j < d; j++)
                out[j] = start[j];
            k->features(places, d, rows, stride, ranking, a, discount, out);
            CHECK_BITS(out, naive, d);
            for (ptrdiff_t j = 0; j < d; j++)
                out[j] = start[j];
            k->features_f32(places, d, f, stride, ranking, a, discount, out);
            CHECK_BITS(out, naive, d);
            AGREE(k, out, d);
            release();
        }
}

/* Every step rounds twice: the difference of the two rows, then its share added. */
TEST_TABLES(change_of_features_is_repeated_axpy_of_differences)
{
    const ptrdiff_t n = 7;
    for (ptrdiff_t d = 0; d <= 70; d++)
        for (ptrdiff_t places = 0; places <= 20; places += d % 3 + 1) {
            const ptrdiff_t stride = d + places % 3, span = (n - 1) * stride + d;
            CONTEXT("%s d=%td places=%td", k->isa, d, places);
            double *rows = take_offset(span, places % 2), *weight = take_normal(places);
            double *out = take_offset(d, d % 2), *naive = take_normal(d), *step = take_doubles(d);
            ptrdiff_t *plus = take_bytes((size_t)places * sizeof *plus, 0, 0);
            ptrdiff_t *minus = take_bytes((size_t)places * sizeof *minus, 0, 0);
            fill_normal(rows, span);
            const float *f = narrowed(span, rows);
            const double *start = TAKE_COPY(naive, d);
            for (ptrdiff_t i = 0; i < places; i++) {
                plus[i] = i == 0 ? n - 1 : random_below(n);
                minus[i] = i == 1 ? n - 1 : random_below(n);
                for (ptrdiff_t j = 0; j < d; j++)
                    step[j] = rows[plus[i] * stride + j] - rows[minus[i] * stride + j];
                k->axpy(d, weight[i], step, naive);
            }
            for (int single = 0; single < 2; single++) {
                for (ptrdiff_t j = 0; j < d; j++)
                    out[j] = start[j];
                if (single)
                    k->change_of_features_f32(places, d, f, stride, plus, minus, weight, out);
                else
                    k->change_of_features(places, d, rows, stride, plus, minus, weight, out);
                CHECK_BITS(out, naive, d);
            }
            AGREE(k, out, d);
            release();
        }
}

/* Equal rows at the two places: nothing moves, whatever the weights. */
TEST_TABLES(equal_rows_cancel_exactly)
{
    for (ptrdiff_t d = 1; d <= 70; d++) {
        double *rows = take_normal(2 * d), *out = take_doubles(d);
        const double weight[3] = {1e10 / 3.0, -0.1, 1.0};
        const ptrdiff_t plus[3] = {0, 1, 1}, minus[3] = {1, 0, 1};
        memcpy(rows + d, rows, (size_t)d * sizeof *rows);
        const float *f = narrowed(2 * d, rows);
        memset(out, 0, (size_t)d * sizeof *out);
        k->change_of_features(3, d, rows, d, plus, minus, weight, out);
        k->change_of_features_f32(3, d, f, d, plus, minus, weight, out);
        for (ptrdiff_t j = 0; j < d; j++)
            CHECK_CLOSE(out[j], 0.0, 0.0);
        release();
    }
}

/* change_of_features and step_mean in one pass, to the bit; and what they say of the result. */
TEST_TABLES(a_perceptron_step_is_its_two_parts)
{
    const ptrdiff_t n = 7;
    for (ptrdiff_t d = 0; d <= 70; d++)
        for (ptrdiff_t places = 0; places <= 20; places += d % 4 + 1) {
            const ptrdiff_t stride = d + places % 3, span = (n - 1) * stride + d;
            const double rate = random_unit();
            CONTEXT("%s d=%td places=%td", k->isa, d, places);
            double *rows = take_offset(span, places % 2), *weight = take_normal(places);
            double *w = take_normal(d), *mean = take_normal(d), *delta = take_doubles(d);
            double *next = take_doubles(d), *middle = take_doubles(d);
            double *out = take_offset(d, d % 2), *out_mean = take_offset(d, 1);
            ptrdiff_t *plus = take_bytes((size_t)places * sizeof *plus, 0, 0);
            ptrdiff_t *minus = take_bytes((size_t)places * sizeof *minus, 0, 0);
            fill_normal(rows, span);
            for (ptrdiff_t i = 0; i < places; i++) {
                plus[i] = i == 0 ? n - 1 : random_below(n);
                minus[i] = random_below(n);
            }
            const float *f = narrowed(span, rows);
            for (int bad = 0; bad < 2; bad++) {
                for (ptrdiff_t j = 0; j < d; j++)
                    delta[j] = 0.0;
                k->change_of_features(places, d, rows, stride, plus, minus, weight, delta);
                const int good = k->step_mean(d, 1.0, delta, w, rate, mean, next, middle);
                CHECK_INT(good, !bad || d == 0);
                CHECK_INT(k->perceptron_features(places, d, rows, stride, plus, minus, weight, w,
                                                 rate, mean, out, out_mean), good);
                CHECK(bad || memcmp(out, next, (size_t)d * sizeof *out) == 0);
                CHECK(bad || memcmp(out_mean, middle, (size_t)d * sizeof *out) == 0);
                memset(out, 0xFF, (size_t)d * sizeof *out);
                CHECK_INT(k->perceptron_features_f32(places, d, f, stride, plus, minus, weight, w,
                                                     rate, mean, out, out_mean), good);
                CHECK(bad || memcmp(out, next, (size_t)d * sizeof *out) == 0);
                CHECK(bad || memcmp(out_mean, middle, (size_t)d * sizeof *out) == 0);
                if (!bad)
                    AGREE(k, out, d);
                if (d > 0) /* the second time */
                    (d % 2 ? w : mean)[random_below(d)] = d % 3 ? NAN : INFINITY;
            }
            release();
        }
}

CHECK_MAIN
