/* Ridge regression on a diagonal, of dense and of sparse rows, and its ball. */
#include "cf_reference.h"

/* The same row dense, with places of 32 bits and with places of 64. */
static void take_forms(ptrdiff_t n, double share, cf_row form[3])
{
    double *x = take_doubles(n), *value = take_doubles(n);
    int32_t *i32 = take_bytes((size_t)(n + 1) * sizeof *i32, 0, 0);
    int64_t *i64 = take_bytes((size_t)(n + 1) * sizeof *i64, 0, 0);
    ptrdiff_t nnz = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = random_unit() < share ? random_normal() : 0.0;
        if (x[i] != 0.0) {
            value[nnz] = x[i];
            i32[nnz] = (int32_t)i;
            i64[nnz++] = i;
        }
    }
    form[0] = (cf_row){n, n, x, NULL, NULL};
    form[1] = (cf_row){n, nnz, value, i32, NULL};
    form[2] = (cf_row){n, nnz, value, NULL, i64};
}

static double *take_positive(ptrdiff_t n)
{
    double *a = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = 0.1 + 3.0 * random_unit();
    return a;
}

TEST_TABLES(sums_have_the_bits_of_the_dense_kernels)
{
    FOR_SIZES(n, 0, 257) {
        for (int share = 1; share <= 3; share++) {
            CONTEXT("%s n=%td share=%d", k->isa, n, share);
            cf_row form[3];
            take_forms(n, 0.37 * share, form);
            const double *x = form[0].value, *y = take_normal(n), *a = take_positive(n);
            const double expected[3] = {k->dot(n, x, y), k->dot(n, x, x),
                                        k->diagonal_quad(&form[0], a)};
            for (int r = 0; r < 3; r++) {
                const double got[3] = {k->ridge_dot(&form[r], y), k->ridge_square(&form[r]),
                                       k->ridge_quad(&form[r], a)};
                for (int i = 0; i < 3; i++)
                    CHECK_THAT(got[i] == expected[i], "form %d, sum %d: %.17g and %.17g", r, i,
                               got[i], expected[i]);
            }
            CHECK_CLOSE(expected[0], wide_dot(n, x, y), sum_error(n, sum_abs(n, x, y)));
            AGREE(k, expected, 3);
        }
        release();
    }
}

TEST_TABLES(a_step_and_its_place)
{
    FOR_SIZES(n, 0, 70) {
        const double gain = random_normal(), c = random_unit();
        CONTEXT("%s n=%td", k->isa, n);
        cf_row form[3];
        take_forms(n, n % 3 ? 0.6 : 1.1, form);
        const double *x = form[0].value, *a = take_positive(n), *w = take_normal(n);
        double *first_w = NULL, *first_a = NULL;
        for (int r = 0; r < 3; r++) {
            double *a_new = take_doubles(form[r].nnz), *w_new = take_doubles(form[r].nnz);
            double *a_all = TAKE_COPY(a, n), *w_all = TAKE_COPY(w, n);
            CHECK_INT(k->ridge_step(&form[r], gain, c, a, w, a_new, w_new), 1);
            k->ridge_place(&form[r], a_new, a_all);
            k->ridge_place(&form[r], w_new, w_all);
            first_a = r ? first_a : a_all;
            first_w = r ? first_w : w_all;
            CHECK_BITS(a_all, first_a, n);
            CHECK_BITS(w_all, first_w, n);
        }
        for (ptrdiff_t i = 0; i < n; i++) {
            const wide by = (wide)gain * x[i] / a[i], sum = a[i] + (wide)c * x[i] * x[i];
            CHECK_CLOSE(first_w[i], w[i] + by,
                        2 * DBL_EPSILON * (fabs(w[i]) + (double)fabsl(by)));
            CHECK_CLOSE(first_a[i], sum, 2 * DBL_EPSILON * (double)sum);
        }
        AGREE(k, first_w, n);
        AGREE(k, first_a, n);
        release();
    }
}

TEST_TABLES(a_step_out_of_range_is_told)
{
    for (ptrdiff_t n = 1; n <= 20; n++)
        for (ptrdiff_t at = 0; at < n; at++)
            for (int r = 0; r < 3; r++) {
                CONTEXT("%s n=%td at=%td form=%d", k->isa, n, at, r);
                cf_row form[3];
                take_forms(n, 1.1, form);
                double *a = take_positive(n), *w = take_normal(n);
                double *a_new = take_doubles(n), *w_new = take_doubles(n);
                ((double *)(uintptr_t)form[r].value)[at] = 1e160;
                CHECK_INT(k->ridge_step(&form[r], 1.0, 1e-20, a, w, a_new, w_new), 1);
                CHECK_INT(k->ridge_step(&form[r], 1.0, 1.0, a, w, a_new, w_new), 0);
                a[at] = 1e-160;
                CHECK_INT(k->ridge_step(&form[r], 1.0, 1e-20, a, w, a_new, w_new), 0);
                a[at] = 1.0;
                w[at] = NAN;
                CHECK_INT(k->ridge_step(&form[r], 1.0, 1e-20, a, w, a_new, w_new), 0);
                release();
            }
}

/* --- the ball --------------------------------------------------------------------------------- */

static wide wide_shrunk(ptrdiff_t n, const double *a, const double *z, wide lam, wide *w)
{
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        w[i] = (wide)z[i] * a[i] / (a[i] + lam);
        sum += w[i] * w[i];
    }
    return sqrtl(sum);
}

TEST_TABLES(what_a_multiplier_makes_of_z)
{
    for (ptrdiff_t n = 0; n <= 40; n++) {
        const double lam = n % 5 ? 2.0 * random_unit() : 0.0;
        CONTEXT("%s n=%td lam=%g", k->isa, n, lam);
        const double *a = take_positive(n), *z = take_normal(n);
        double *w = take_doubles(n), square, slope, again[2];
        wide *exact = take_wide(n), part = 0.0L;
        const wide norm = wide_shrunk(n, a, z, lam, exact);
        k->ridge_shrink(n, a, z, lam, w, &square, &slope);
        k->ridge_shrink(n, a, z, lam, NULL, &again[0], &again[1]);
        CHECK(square == again[0] && slope == again[1]);
        for (ptrdiff_t i = 0; i < n; i++) {
            CHECK_CLOSE(w[i], exact[i], 3 * DBL_EPSILON * (double)fabsl(exact[i]));
            part += exact[i] * exact[i] / (a[i] + lam);
        }
        CHECK_CLOSE(square, norm * norm, 1e-14 * (double)(norm * norm));
        CHECK_CLOSE(slope, part, 1e-14 * (double)part);
        AGREE(k, w, n);
        AGREE(k, again, 2);
        release();
    }
}

TEST_TABLES(the_ball_against_bisection)
{
    for (ptrdiff_t n = 1; n <= 40; n++)
        for (int form = 0; form < check_count(12, 4); form++) {
            double *a = take_doubles(n), *z = take_normal(n), *w = take_doubles(n);
            for (ptrdiff_t i = 0; i < n; i++)
                a[i] = random_scaled(form % 3 ? -30 : -2, form % 3 ? 30 : 2);
            for (ptrdiff_t i = 0; i < n; i++)
                a[i] = fabs(a[i]);
            const double radius = norm2(n, z) * (form % 4 ? random_unit() : 1.0 - 1e-9);
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            CHECK_INT(cf_ridge_ball(k, n, a, z, radius, w), CF_OK);
            wide *exact = take_wide(n), low = 0.0L, high = 1.0L;
            while (wide_shrunk(n, a, z, high, exact) > radius)
                high *= 4.0L;
            for (int turn = 0; turn < 200; turn++) {
                const wide middle = 0.5L * (low + high);
                *(wide_shrunk(n, a, z, middle, exact) > radius ? &low : &high) = middle;
            }
            for (ptrdiff_t i = 0; i < n; i++)
                CHECK_CLOSE(w[i], exact[i], 1e-13 * radius);
            CHECK_CLOSE(norm2(n, w), radius, 1e-15 * (double)(n + 4) * radius);
            AGREE(k, w, n);
            CHECK_INT(cf_ridge_ball(k, n, a, z, radius, z), CF_OK); /* in place */
            CHECK_BITS(z, w, n);
            release();
        }
}

TEST_TABLES(a_point_inside_the_ball_stays)
{
    for (ptrdiff_t n = 0; n <= 20; n++) {
        const double *a = take_positive(n);
        double *z = take_normal(n), *w = take_doubles(n);
        const double *before = TAKE_COPY(z, n), radius = 1.0 + norm2(n, z);
        CHECK_INT(cf_ridge_ball(k, n, a, z, radius, w), CF_OK);
        CHECK_BITS(w, z, n);
        CHECK_INT(cf_ridge_ball(k, n, a, z, radius, z), CF_OK);
        CHECK_BITS(z, before, n);
        release();
    }
}

TEST_TABLES(the_ball_refuses_what_is_not_finite)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    const double a[3] = {1.0, 2.0, 3.0};
    for (int i = 0; i < 4; i++) {
        const double z[3] = {0.5, bad[i], 1.0};
        double w[3];
        CHECK_INT(cf_ridge_ball(k, 3, a, z, 1.0, w), CF_ENONFINITE);
    }
    const double z[3] = {0.0, 1e150, 0.0};
    double w[3];
    CHECK_INT(cf_ridge_ball(k, 3, a, z, 1e-200, w), CF_ENONFINITE); /* the step overflows */
}

CHECK_MAIN
