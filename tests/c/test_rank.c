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

/* One reading of the rows for two weight vectors: each as if alone, to the bit. */
TEST_TABLES(two_scores_are_scores_twice)
{
    for (ptrdiff_t d = 0; d <= check_count(140, 72); d++) {
        const ptrdiff_t n = 1 + d % 4, stride = d + d % 3, span = (n - 1) * stride + d;
        CONTEXT("%s d=%td n=%td", k->isa, d, n);
        double *rows = take_offset(span, d % 2), *w = take_offset(d, 1), *u = take_offset(d, 2);
        double *out = take_doubles(n), *second = take_doubles(n), *alone = take_doubles(n);
        fill_normal(rows, span);
        fill_normal(w, d);
        fill_normal(u, d);
        const float *f = narrowed(span, rows);
        for (int single = 0; single < 2; single++) {
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
    CHECK_CLOSE(nothing, 7.0, 0.0);
}

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

CHECK_MAIN
