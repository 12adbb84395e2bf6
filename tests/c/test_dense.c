/* Dense products and sums, and a learner's step. */
#include "cf_reference.h"

static float *take_normal_f32(ptrdiff_t n, double *same)
{
    float *x = take_floats(n);
    for (ptrdiff_t i = 0; i < n; i++)
        same[i] = x[i] = (float)random_normal();
    return x;
}

/* x and y exactly long, at even and odd places */
TEST_TABLES(dot_is_the_sum_of_products)
{
    FOR_SIZES(n, 0, 4099) {
        for (ptrdiff_t offset = 0; offset < 3; offset++) {
            CONTEXT("%s n=%td offset=%td", k->isa, n, offset);
            double *x = take_offset(n, offset), *y = take_offset(n, 2 * offset + 1);
            fill_normal(x, n);
            fill_normal(y, n);
            const double got = k->dot(n, x, y), error = sum_error(n, sum_abs(n, x, y));
            CHECK_CLOSE(got, wide_dot(n, x, y), error);
            CHECK_CLOSE(k->dot(n, y, x), got, 0.0);
            AGREE(k, &got, 1);
            double *same = take_doubles(n);
            float *f = take_normal_f32(n, same);
            const double got_f32 = k->dot_f32(n, f, y);
            CHECK_CLOSE(got_f32, k->dot(n, same, y), 0.0); /* widening is exact */
            AGREE(k, &got_f32, 1);
            release();
        }
    }
}

/* --- the order of the operations, as the header has it --------------------------------------- */

static double multiply_add(const cf_table *k, double a, double b, double c)
{
    return k->has_fma ? fma(a, b, c) : a * b + c;
}

/* chunk c to accumulator c mod 4, the incomplete one to 3; ((0+4)+(2+6)) + ((1+5)+(3+7)) */
static double dot_in_lanes(const cf_table *k, ptrdiff_t n, const double *x, const double *y)
{
    double a[4][8] = {{0.0}}, s[8];
    for (ptrdiff_t i = 0; i < n; i++) {
        double *lane = &a[i / 8 == n / 8 ? 3 : i / 8 % 4][i % 8];
        *lane = multiply_add(k, x[i], y[i], *lane);
    }
    for (int l = 0; l < 8; l++)
        s[l] = (a[0][l] + a[1][l]) + (a[2][l] + a[3][l]);
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

TEST_TABLES(dot_runs_in_the_lanes_of_the_header)
{
    FOR_SIZES(n, 0, 257) {
        CONTEXT("%s n=%td", k->isa, n);
        const double *x = take_normal(n), *y = take_normal(n);
        CHECK_CLOSE(k->dot(n, x, y), dot_in_lanes(k, n, x, y), 0.0);
        release();
    }
}

/* Entry i counts exactly once, whichever lane or tail it stands in. */
TEST_TABLES(dot_takes_every_entry_once)
{
    FOR_SIZES(n, 1, 200) {
        double *x = take_doubles(n), *y = take_doubles(n);
        memset(x, 0, (size_t)n * sizeof *x);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = (double)(i + 1);
        CONTEXT("%s n=%td", k->isa, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            x[i] = 1.0;
            CHECK_CLOSE(k->dot(n, x, y), i + 1, 0.0);
            x[i] = 0.0;
        }
        release();
    }
}

TEST_TABLES(dot_keeps_nan_and_infinity)
{
    for (ptrdiff_t n = 1; n < 45; n++) {
        double *x = take_normal(n), *y = take_normal(n);
        const ptrdiff_t i = random_below(n);
        x[i] = NAN;
        CHECK(isnan(k->dot(n, x, y)));
        x[i] = INFINITY;
        y[i] = -1.0;
        CHECK(k->dot(n, x, y) == -INFINITY);
        release();
    }
}

static void check_axpy(const cf_table *k, ptrdiff_t n, double a, const double *x,
                       const double *before, const double *after)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const double exact = (double)((wide)a * x[i] + before[i]);
        CHECK_CLOSE(after[i], exact, DBL_EPSILON * (fabs(a * x[i]) + fabs(before[i])));
        CHECK(!k->has_fma || after[i] == fma(a, x[i], before[i]));
    }
}

TEST_TABLES(axpy_adds_with_one_rounding)
{
    FOR_SIZES(n, 0, 1000) {
        CONTEXT("%s n=%td", k->isa, n);
        const double a = random_normal();
        double *x = take_offset(n, 1), *y = take_offset(n, n % 3);
        fill_normal(x, n);
        fill_normal(y, n);
        const double *before = TAKE_COPY(y, n);
        k->axpy(n, a, x, y);
        check_axpy(k, n, a, x, before, y);
        AGREE(k, y, n);
        release();
    }
}

/* --- steps ----------------------------------------------------------------------------------- */

/* Some of y are out of the running; one case in five all of them. */
TEST_TABLES(peaks_of_every_64)
{
    FOR_SIZES(n, 0, 1000) {
        CONTEXT("%s n=%td", k->isa, n);
        const ptrdiff_t blocks = (n + 63) / 64;
        double *y = take_offset(n, n % 3);
        double *most = take_doubles(blocks), *peak = take_doubles(blocks);
        for (ptrdiff_t i = 0; i < n; i++) {
            y[i] = n % 5 == 0 || random_below(8) == 0 ? -INFINITY : random_scaled(-30, 30);
            most[i / 64] = i % 64 && most[i / 64] >= y[i] ? most[i / 64] : y[i];
        }
        k->peaks(n, y, peak);
        CHECK_BITS(peak, most, blocks);
        release();
    }
}

static int32_t *take_whole(ptrdiff_t n, ptrdiff_t offset)
{
    return take_bytes((size_t)n * 4, (size_t)offset * 4, 0);
}

static int16_t *take_short(ptrdiff_t n, ptrdiff_t offset)
{
    int16_t *x = take_bytes((size_t)n * 2, (size_t)offset * 2, 0);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = random_below(9) ? (int16_t)(random_below(65536) - 32768)
                               : (int16_t)(random_below(2) ? 32767 : -32768);
    return x;
}

TEST_TABLES(add_whole_difference_and_the_peaks)
{
    FOR_SIZES(n, 0, 1000) {
        for (ptrdiff_t offset = 0; offset < 3; offset++) {
            CONTEXT("%s n=%td offset=%td", k->isa, n, offset);
            const ptrdiff_t blocks = (n + 63) / 64;
            const int16_t *plus = take_short(n, offset), *minus = take_short(n, 2 - offset);
            int32_t *y = take_whole(n, 2 - offset), *naive = take_whole(n, 0);
            int32_t *most = take_whole(blocks, 0), *peak = take_whole(blocks, 0);
            for (ptrdiff_t i = 0; i < n; i++) {
                const int out = (n + offset) % 5 == 0 || random_below(8) == 0;
                y[i] = out ? -1300000000 : (int32_t)(random_below(1 << 30) - (1 << 29));
                naive[i] = y[i] + plus[i] - minus[i];
                most[i / 64] = i % 64 && most[i / 64] >= naive[i] ? most[i / 64] : naive[i];
            }
            k->add_whole_difference(n, plus, minus, y, peak);
            CHECK(memcmp(y, naive, (size_t)n * 4) == 0);
            CHECK(memcmp(peak, most, (size_t)blocks * 4) == 0);
            memset(peak, 0, (size_t)blocks * 4);
            k->whole_peaks(n, y, peak);
            CHECK(memcmp(peak, most, (size_t)blocks * 4) == 0);
            k->add_whole_difference(n, plus, plus, y, peak); /* nothing changes */
            CHECK(memcmp(y, naive, (size_t)n * 4) == 0);
            CHECK(memcmp(peak, most, (size_t)blocks * 4) == 0);
            release();
        }
    }
}

TEST_TABLES(a_peak_is_found_wherever_it_stands)
{
    for (ptrdiff_t n = 1; n <= 140; n++) {
        const ptrdiff_t blocks = (n + 63) / 64;
        double *y = take_doubles(n), *peak = take_doubles(blocks);
        int16_t *row = take_short(n, 0);
        int32_t *whole = take_whole(n, 0), *top = take_whole(blocks, 0);
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = whole[i] = -5;
        CONTEXT("%s n=%td", k->isa, n);
        for (ptrdiff_t i = 0; i < n; i++) {
            y[i] = whole[i] = -4;
            k->peaks(n, y, peak);
            k->add_whole_difference(n, row, row, whole, top);
            for (ptrdiff_t b = 0; b < blocks; b++) {
                CHECK_CLOSE(peak[b], b == i / 64 ? -4.0 : -5.0, 0.0);
                CHECK_INT(top[b], b == i / 64 ? -4 : -5);
            }
            y[i] = whole[i] = -5;
        }
        release();
    }
}

TEST_TABLES(whole_at_least_lists_the_indices_in_order)
{
    FOR_SIZES(n, 0, 257) {
        for (int form = 0; form < 8; form++) {
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            const int32_t least = form == 7 ? INT32_MIN : form - 3;
            const ptrdiff_t room = form % 3 ? n : random_below(n / 4 + 1);
            int32_t *y = take_whole(n, form % 2);
            ptrdiff_t *out = take_bytes((size_t)room * sizeof *out, 0, 0), found = 0;
            for (ptrdiff_t i = 0; i < n; i++) /* rare in half of the cases: chunks are passed */
                y[i] = form < 4 || random_below(40) == 0 ? (int32_t)random_below(9) - 4 : -9;
            const ptrdiff_t got = k->whole_at_least(n, y, least, room, out);
            for (ptrdiff_t i = 0; i < n; i++) {
                if (y[i] < least)
                    continue;
                CHECK(found >= room || out[found] == i);
                found++;
            }
            CHECK_INT(got, found);
            release();
        }
    }
}

/* All that are found are counted, and as many written as there is room; NaN is none of them. */
TEST_TABLES(at_least_lists_the_indices_in_order)
{
    static const double values[] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN};
    FOR_SIZES(n, 0, 257) {
        for (int form = 0; form < 12; form++) {
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            const double least = form % 6 == 5 ? -INFINITY : values[form % 6];
            const ptrdiff_t room = form % 3 ? n : random_below(n / 4 + 1);
            double *y = take_offset(n, form % 2);
            ptrdiff_t *out = take_bytes((size_t)room * sizeof *out, 0, 0), found = 0;
            for (ptrdiff_t i = 0; i < n; i++) /* rare in half of the cases: chunks are passed */
                y[i] = form < 6 || random_below(40) == 0 ? values[random_below(7)] : -2.0;
            const ptrdiff_t got = k->at_least(n, y, least, room, out);
            for (ptrdiff_t i = 0; i < n; i++) {
                if (!(y[i] >= least))
                    continue;
                CHECK(found >= room || out[found] == i);
                found++;
            }
            CHECK_INT(got, found);
            release();
        }
    }
}

typedef struct step {
    ptrdiff_t n;
    double a, rate;
    double *delta, *w, *mean;
    double *next, *middle; /* what must come out */
} step;

static step take_step(const cf_table *k, ptrdiff_t n, ptrdiff_t offset)
{
    step s = {n, random_normal(), random_unit(), take_offset(n, offset), take_offset(n, 1),
              take_offset(n, 2 - offset), take_doubles(n), take_doubles(n)};
    fill_normal(s.delta, n);
    fill_normal(s.w, n);
    fill_normal(s.mean, n);
    for (ptrdiff_t i = 0; i < n; i++) {
        s.next[i] = multiply_add(k, s.a, s.delta[i], s.w[i]);
        s.middle[i] = multiply_add(k, s.rate, s.next[i] - s.mean[i], s.mean[i]);
    }
    return s;
}

TEST_TABLES(step_mean_steps_and_takes_the_mean)
{
    for (ptrdiff_t n = 0; n <= 1003; n += n < 70 ? 1 : 311)
        for (ptrdiff_t offset = 0; offset < 3; offset++) {
            CONTEXT("%s n=%td offset=%td", k->isa, n, offset);
            const step s = take_step(k, n, offset);
            const double *delta = TAKE_COPY(s.delta, n), *w = TAKE_COPY(s.w, n);
            const double *mean = TAKE_COPY(s.mean, n);
            double *out = take_offset(n, offset), *out_mean = take_offset(n, 1);
            CHECK_INT(k->step_mean(n, s.a, s.delta, s.w, s.rate, s.mean, out, out_mean), 1);
            CHECK_BITS(out, s.next, n);
            CHECK_BITS(out_mean, s.middle, n);
            CHECK_BITS(s.delta, delta, n);
            CHECK_BITS(s.w, w, n);
            CHECK_BITS(s.mean, mean, n);
            CHECK_INT(k->step_mean(n, s.a, s.delta, s.w, s.rate, s.mean, s.w, s.mean), 1);
            CHECK_BITS(s.w, s.next, n); /* in place */
            CHECK_BITS(s.mean, s.middle, n);
            AGREE(k, out, n);
            AGREE(k, out_mean, n);
            release();
        }
}

/* No step: the mean alone moves, and all of delta, w and w_new may be one array. */
TEST_TABLES(step_mean_of_what_stands_still)
{
    for (ptrdiff_t n = 0; n <= 70; n++) {
        CONTEXT("%s n=%td", k->isa, n);
        step s = take_step(k, n, 0);
        const double *w = TAKE_COPY(s.w, n);
        CHECK_INT(k->step_mean(n, 0.0, s.w, s.w, 1.0, s.mean, s.w, s.mean), 1);
        CHECK_BITS(s.w, w, n);
        for (ptrdiff_t i = 0; i < n; i++) /* the first round: the mean is w, up to its rounding */
            CHECK_CLOSE(s.mean[i], w[i], 8 * DBL_EPSILON);
        release();
    }
}

TEST_TABLES(step_mean_tells_what_is_not_finite)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -DBL_MAX};
    for (ptrdiff_t n = 1; n <= 70; n++) {
        step s = take_step(k, n, n % 3);
        double *out = take_doubles(n), *out_mean = take_doubles(n);
        double *at[] = {s.delta, s.w, s.mean};
        for (ptrdiff_t i = 0; i < n; i++)
            for (int which = 0; which < 3; which++) {
                CONTEXT("%s n=%td i=%td which=%d", k->isa, n, i, which);
                const double keep = at[which][i];
                for (int b = 0; b < 3; b++) {
                    at[which][i] = bad[(i + b) % 3];
                    CHECK_INT(k->step_mean(n, 1.0, s.delta, s.w, 0.5, s.mean, out, out_mean), 0);
                }
                at[which][i] = bad[3 + i % 2]; /* finite, and nothing overflows */
                CHECK_INT(k->step_mean(n, 0.5, s.delta, s.w, 0.25, s.mean, out, out_mean), 1);
                at[which][i] = keep;
            }
        const ptrdiff_t i = random_below(n);
        s.delta[i] = DBL_MAX; /* the step overflows */
        CHECK_INT(k->step_mean(n, 4.0, s.delta, s.w, 0.0, s.mean, out, out_mean), 0);
        s.w[i] = -DBL_MAX; /* the step is finite, w_new - mean is not */
        s.mean[i] = DBL_MAX;
        CHECK_INT(k->step_mean(n, 0.0, s.delta, s.w, 0.5, s.mean, out, out_mean), 0);
        CHECK(isfinite(out[i]) && !isfinite(out_mean[i]));
        release();
    }
}

/* --- all_finite ------------------------------------------------------------------------------ */

TEST_TABLES(a_value_that_is_not_finite_is_found_wherever_it_stands)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    FOR_SIZES(n, 0, 65) {
        double *x = take_doubles(n);
        float *f = take_floats(n);
        for (ptrdiff_t i = 0; i < n; i++) {
            x[i] = i % 3 ? random_normal() : i % 2 ? DBL_MAX : -DBL_MAX;
            f[i] = i % 3 ? (float)random_normal() : i % 2 ? FLT_MAX : -FLT_MAX;
        }
        CHECK_INT(k->all_finite(n, x), 1);
        CHECK_INT(k->all_finite_f32(n, f), 1);
        for (ptrdiff_t i = 0; i < n; i++) {
            CONTEXT("%s n=%td i=%td", k->isa, n, i);
            const double keep = x[i];
            const float keep_f32 = f[i];
            x[i] = bad[i % 3];
            f[i] = (float)bad[i % 3];
            CHECK_INT(k->all_finite(n, x), 0);
            CHECK_INT(k->all_finite_f32(n, f), 0);
            x[i] = keep;
            f[i] = keep_f32;
        }
        release();
    }
}

CHECK_MAIN
