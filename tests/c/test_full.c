/* The full metric: updates, readings, renewals, repairs, refusals, copies; both forms. */
#include "cf_metric.h"

/* One update of both; x.A^-1 x as the metric saw it. */
static double update(const cf_table *k, metric *m, const double *x, double c)
{
    double q = NAN;
    CHECK_INT(cf_full_update(&m->full, k, x, c, m->scratch, &q), CF_OK);
    note(m, x, c);
    return q;
}

static void random_updates(const cf_table *k, metric *m, int turns)
{
    double *x = take_doubles(m->full.n);
    for (int turn = 0; turn < turns; turn++) {
        fill_normal(x, m->full.n);
        update(k, m, x, turn % 3 ? 0.5 + random_unit() : 1.0);
    }
}

/* Matrix, inverse, logdet, solve and quad against long double; error is relative to the largest. */
static void check_metric(const cf_table *k, const metric *m, double error)
{
    const ptrdiff_t n = m->full.n;
    double *out = take_doubles(n * n), *a = rounded(n * n, m->a), *y = take_doubles(cf_pad(n));
    const wide *b = wide_inverse(n, a);
    double size_a = 0.0, size_b = 0.0;
    for (ptrdiff_t i = 0; i < n * n; i++) {
        size_a = fmax(size_a, fabs(a[i]));
        size_b = fmax(size_b, (double)fabsl(b[i]));
    }
    cf_full_matrix(&m->full, k, m->scratch, out);
    CHECK_CLOSE(distance(n * n, out, a), 0.0, 1e-13 * size_a);
    AGREE(k, out, n * n);
    cf_full_inverse(&m->full, k, m->scratch, out);
    CHECK_CLOSE(distance(n * n, out, rounded(n * n, b)), 0.0, error * size_b);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            CHECK(out[i * n + j] == out[j * n + i]);
    AGREE(k, out, n * n);
    double *x = take_normal(n);
    cf_full_solve(&m->full, k, x, m->scratch, y);
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK_CLOSE(y[i], wide_dot(n, rounded(n, b + i * n), x),
                    error * size_b * sqrt((double)n) * (1.0 + norm2(n, x)));
    const double q = cf_full_quad(&m->full, k, x, m->scratch), xy = k->dot(n, x, y);
    CHECK_CLOSE(q, xy, 1e-12 * fabs(xy));
    AGREE(k, y, n);
    AGREE(k, &q, 1);
}

/* --- the ordinary course --------------------------------------------------------------------- */

TEST_TABLES(sizes)
{
    CHECK(cf_full_size(-1) < 0);
    CHECK(cf_full_size(((ptrdiff_t)1 << 28) + 1) < 0);
    CHECK(cf_full_size((ptrdiff_t)1 << 28) > 0);
    CHECK(cf_full_size(9) >= 2 * cf_panels_size(9) && cf_full_size(9) % 8 == 0);
    metric m = take_metric(k, 0, 1.0, 0);
    double q = -1.0;
    CHECK_INT(cf_full_update(&m.full, k, NULL, 1.0, m.scratch, &q), CF_OK);
    CHECK_CLOSE(q, 0.0, 0.0);
    CHECK_CLOSE(cf_full_residual(&m.full, k, 1, m.scratch), 0.0, 0.0);
}

TEST_TABLES(the_start_is_a_multiple_of_the_identity)
{
    FOR_SIZES(n, 1, 20) {
        for (int robust = 0; robust < 2; robust++) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 0.25, robust);
            check_metric(k, &m, 1e-15);
            CHECK_CLOSE(m.full.logdet, (double)n * log(0.25), 1e-13 * (double)n);
            CHECK_CLOSE(cf_full_residual(&m.full, k, 7, m.scratch), 0.0, 0.0);
            CHECK_INT(m.full.health.updates, 0);
            release();
        }
    }
}

TEST_TABLES(updates_of_both_forms)
{
    FOR_SIZES(n, 1, 65) {
        for (int robust = 0; robust < 2; robust++) {
            metric m = take_metric(k, n, 0.5, robust);
            const int turns = (int)(2 * n + 13);
            for (int part = 0; part < 2; part++) { /* with something pending at both ends */
                random_updates(k, &m, turns);
                CONTEXT("%s n=%td robust=%d part=%d", k->isa, n, robust, part);
                check_metric(k, &m, 1e-12);
                CHECK_CLOSE(m.full.logdet, log_determinant(n, m.a), 1e-11 * (double)(n + turns));
                CHECK(cf_full_residual(&m.full, k, 3, m.scratch) < 1e-11);
                AGREE(k, &m.full.logdet, 1);
            }
            CHECK_INT(m.full.health.updates, 2 * turns);
            CHECK_INT(m.full.health.repairs, 0);
            CHECK_INT(m.full.health.failed, 0);
            release();
        }
    }
}

TEST_TABLES(q_is_from_before_the_update)
{
    const ptrdiff_t n = 11;
    for (int robust = 0; robust < 2; robust++) {
        metric m = take_metric(k, n, 1.0, robust);
        random_updates(k, &m, 30);
        double *x = take_normal(n);
        const double before = cf_full_quad(&m.full, k, x, m.scratch);
        CHECK_CLOSE(update(k, &m, x, 2.0), before, 1e-14);
        CHECK_CLOSE(cf_full_quad(&m.full, k, x, m.scratch), before / (1.0 + 2.0 * before), 1e-14);
    }
}

TEST_TABLES(probes_and_renewals_come_when_planned)
{
    static const ptrdiff_t sizes[] = {1, 5, 64, 70};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int robust = 0; robust < 2; robust++) {
            const ptrdiff_t n = sizes[i], every = n > 64 ? n : 64;
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 1.0, robust);
            random_updates(k, &m, 150);
            int renewals = 0;
            for (ptrdiff_t at = n; at <= 150 && !robust; at *= 2)
                renewals++;
            CHECK_INT(m.full.health.probes, 150 / every);
            CHECK_INT(m.full.health.renewals, renewals);
            CHECK(m.full.health.last_residual <= m.full.health.worst_residual);
            CHECK(m.full.health.worst_residual < CF_FULL_DRIFT);
            check_metric(k, &m, 1e-12);
            release();
        }
}

TEST_TABLES(readings_change_nothing)
{
    for (int robust = 0; robust < 2; robust++) {
        metric m = take_metric(k, 13, 1.0, robust);
        random_updates(k, &m, 29);
        const ptrdiff_t size = cf_full_size(13);
        const double *memory = TAKE_COPY(m.memory, size);
        const cf_full *state = TAKE_COPY(&m.full, 1);
        check_metric(k, &m, 1e-12);
        cf_full_residual(&m.full, k, 5, m.scratch);
        CHECK_BITS(m.memory, memory, size);
        CHECK_BITS(&m.full, state, 1);
        release();
    }
}

/* --- drift ----------------------------------------------------------------------------------- */

/* Feature scales 1 ... 1e-3 and a ridge of 1e-8: the condition is about 1e14 after a while. */
static void ill_conditioned(const cf_table *k, int robust, double allowed)
{
    const ptrdiff_t n = 20;
    const int turns = check_count(5000, 300);
    metric m = take_metric(k, n, 1e-8, robust);
    double *x = take_doubles(n), *scale = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        scale[i] = pow(10.0, -3.0 * (double)i / (double)(n - 1));
    for (int turn = 0; turn < turns; turn++) {
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = scale[i] * random_normal();
        update(k, &m, x, 1.0);
    }
    for (int turn = 0; turn < 10; turn++) {
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = scale[i] * random_normal();
        wide *y = widened(n, x), *a = take_wide(n * n), q = 0.0L;
        memcpy(a, m.a, (size_t)(n * n) * sizeof *a);
        wide_solve(n, a, 1, y);
        for (ptrdiff_t i = 0; i < n; i++)
            q += y[i] * x[i];
        CHECK_CLOSE(cf_full_quad(&m.full, k, x, m.scratch), q, allowed * (double)q);
    }
}

TEST_TABLES(ill_conditioned_by_default) { ill_conditioned(k, 0, 1e-8); }
TEST_TABLES(ill_conditioned_and_robust) { ill_conditioned(k, 1, 1e-10); }

/* B is spoilt a little: nothing is wrong enough for q, and the probe finds it. */
TEST_TABLES(a_probe_finds_drift_and_renews)
{
    const ptrdiff_t n = 6;
    metric m = take_metric(k, n, 1.0, 0);
    random_updates(k, &m, 100); /* the renewals at 6 ... 96 and one probe are over */
    const cf_full_health before = m.full.health;
    for (ptrdiff_t i = 0; i < n; i++)
        cf_triangle_row(&m.full.b, i)[i] *= 1.0 + 1e-4;
    CHECK(cf_full_residual(&m.full, k, 1, m.scratch) > CF_FULL_DRIFT);
    random_updates(k, &m, 28);
    CHECK_INT(m.full.health.probes, before.probes + 1);
    CHECK_INT(m.full.health.renewals, before.renewals + 1);
    CHECK(m.full.health.worst_residual > CF_FULL_DRIFT);
    CHECK_INT(m.full.health.repairs, 0);
    CHECK(cf_full_residual(&m.full, k, 1, m.scratch) < 1e-12);
    check_metric(k, &m, 1e-12);
}

/* The robust form has no renewal: a probe reports and that is all. */
TEST_TABLES(the_robust_form_is_only_looked_at)
{
    metric m = take_metric(k, 6, 1.0, 1);
    random_updates(k, &m, 60);
    m.full.w[2] *= 1.5;
    random_updates(k, &m, 10);
    CHECK_INT(m.full.health.probes, 1);
    CHECK(m.full.health.last_residual > CF_FULL_DRIFT);
    CHECK_INT(m.full.health.renewals, 0);
}

/* --- repair ---------------------------------------------------------------------------------- */

static void negate(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = -x[i];
}

TEST_TABLES(a_spoilt_inverse_is_made_anew)
{
    FOR_SIZES(n, 1, 33) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 21);
        negate(m.full.b.data, cf_panels_size(n));
        const int64_t renewals = m.full.health.renewals;
        double *x = take_normal(n);
        const double q = update(k, &m, x, 1.0);
        CHECK(q > 0.0);
        CHECK_INT(m.full.health.repairs, 1);
        CHECK(m.full.health.renewals > renewals);
        CHECK_INT(m.full.health.failed, 0);
        check_metric(k, &m, 1e-12);
        random_updates(k, &m, 20);
        check_metric(k, &m, 1e-12);
        release();
    }
}

TEST_TABLES(nan_in_the_inverse_is_repaired)
{
    metric m = take_metric(k, 10, 1.0, 0);
    random_updates(k, &m, 12);
    cf_triangle_row(&m.full.b, 7)[3] = NAN;
    random_updates(k, &m, 1);
    CHECK_INT(m.full.health.repairs, 1);
    check_metric(k, &m, 1e-12);
}

/* A itself is spoilt as well: nothing can be done, and nothing is done. */
TEST_TABLES(a_failed_repair_leaves_matrix_and_inverse)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 21);
        negate(m.full.b.data, cf_panels_size(n));
        negate(m.full.a.data, cf_panels_size(n));
        double *a = take_doubles(n * n), *b = take_doubles(n * n), *x = take_normal(n), q;
        cf_full_matrix(&m.full, k, m.scratch, a);
        cf_full_inverse(&m.full, k, m.scratch, b);
        CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_ENOTPOSITIVE);
        CHECK_INT(m.full.health.failed, 1);
        CHECK_INT(m.full.health.updates, 21);
        double *now = take_doubles(n * n);
        cf_full_matrix(&m.full, k, m.scratch, now);
        double size = 0.0; /* the block went into A: a rounding more or less */
        for (ptrdiff_t i = 0; i < n * n; i++)
            size = fmax(size, fabs(a[i]));
        CHECK_CLOSE(distance(n * n, now, a), 0.0, 8 * DBL_EPSILON * size);
        cf_full_inverse(&m.full, k, m.scratch, now);
        CHECK_BITS(now, b, n * n);
        release();
    }
}

/* The inverse anew on request: what was pending is in it, and it is counted. */
TEST_TABLES(repair_makes_the_inverse_from_the_matrix)
{
    FOR_SIZES(n, 1, 40) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 13 + (int)n % 7);
        const cf_full_health before = m.full.health;
        memset(m.full.b.data, 0xFF, (size_t)cf_panels_size(n) * sizeof(double));
        fill_normal(m.full.w, n);
        m.full.logdet = NAN;
        CHECK_INT(cf_full_repair(&m.full, k, m.scratch), 1);
        CHECK_INT(m.full.health.repairs, before.repairs + 1);
        CHECK_INT(m.full.health.renewals, before.renewals + 1);
        CHECK_INT(m.full.health.failed, 0);
        CHECK_INT(m.full.health.updates, before.updates);
        CHECK_CLOSE(m.full.logdet, log_determinant(n, m.a), 1e-11 * (double)(n + 20));
        check_metric(k, &m, 1e-12);
        random_updates(k, &m, 20);
        check_metric(k, &m, 1e-12);
        release();
    }
}

TEST_TABLES(a_repair_that_the_matrix_does_not_allow)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 21);
        negate(m.full.a.data, cf_panels_size(n));
        const double logdet = m.full.logdet;
        double *b = take_doubles(n * n), *now = take_doubles(n * n);
        cf_full_inverse(&m.full, k, m.scratch, b);
        CHECK_INT(cf_full_repair(&m.full, k, m.scratch), 0);
        CHECK_INT(m.full.health.repairs, 1);
        CHECK_INT(m.full.health.failed, 1);
        cf_full_inverse(&m.full, k, m.scratch, now);
        CHECK_BITS(now, b, n * n);
        CHECK_CLOSE(m.full.logdet, logdet, 0.0);
        release();
    }
}

TEST_TABLES(the_robust_form_has_no_repair)
{
    metric m = take_metric(k, 9, 1.0, 1);
    random_updates(k, &m, 21);
    const ptrdiff_t size = cf_full_size(9);
    const double *memory = TAKE_COPY(m.memory, size);
    const cf_full *state = TAKE_COPY(&m.full, 1);
    CHECK_INT(cf_full_repair(&m.full, k, m.scratch), 0);
    CHECK_BITS(m.memory, memory, size);
    CHECK_BITS(&m.full, state, 1);
}

/* Before the update that would cost digits, and with those of the robust form from then on. */
TEST_TABLES(auto_converts_before_a_steep_update)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 0.5, CF_FULL_AUTO), r = take_metric(k, n, 0.5, CF_FULL_ROBUST);
        double *x = take_doubles(n), q, same;
        for (int turn = 0; turn < 40; turn++) {
            fill_normal(x, n);
            x[n - 1] *= turn < 5 ? 1.0 : 1e7;
            const double edge = turn == 5 ? m.full.steepest : 0.0;
            CHECK_INT(m.full.robust, turn > 5);
            CHECK_INT(turn != 5 || k->dot(n, x, x) > edge, 1);
            q = update(k, &m, x, 1.0);
            same = update(k, &r, x, 1.0);
            CHECK_CLOSE(q, same, 1e-9 * same);
            CHECK_CLOSE(cf_full_quad(&m.full, k, x, m.scratch),
                        cf_full_quad(&r.full, k, x, r.scratch), 1e-9);
        }
        CHECK_CLOSE(m.full.logdet, r.full.logdet, 1e-9 * fabs(r.full.logdet));
        CHECK_INT(m.full.health.failed, 0);
        AGREE(k, &q, 1);
        release();
    }
}

/* c decides as much as x; the fast form stays what it is. */
TEST_TABLES(fast_does_not_convert)
{
    metric m = take_metric(k, 3, 1.0, CF_FULL_FAST), a = take_metric(k, 3, 1.0, CF_FULL_AUTO);
    const double x[8] = {1.0, 2.0, 3.0};
    update(k, &m, x, 1e9);
    update(k, &a, x, 1e5);
    CHECK_INT(m.full.robust, 0);
    CHECK_INT(a.full.robust, 0);
    update(k, &a, x, 1e6);
    CHECK_INT(a.full.robust, 1);
}

/* Where A does not allow it the form stays, and that is counted. */
TEST_TABLES(a_conversion_that_the_matrix_does_not_allow)
{
    metric m = take_metric(k, 9, 1.0, CF_FULL_AUTO);
    random_updates(k, &m, 5);
    negate(m.full.a.data, cf_panels_size(9));
    double *b = take_doubles(81), *now = take_doubles(81);
    cf_full_inverse(&m.full, k, m.scratch, b);
    CHECK_INT(cf_full_convert(&m.full, k, m.scratch), 0);
    CHECK_INT(m.full.robust, 0);
    CHECK_INT(m.full.health.failed, 1);
    cf_full_inverse(&m.full, k, m.scratch, now);
    CHECK_BITS(now, b, 81);
}

/* A planned renewal that A does not allow is counted; B goes on as it is. */
TEST_TABLES(a_failed_renewal_is_counted)
{
    const ptrdiff_t n = 9;
    metric m = take_metric(k, n, 1.0, 0);
    random_updates(k, &m, (int)n - 1);
    negate(m.full.a.data, cf_panels_size(n));
    random_updates(k, &m, 1);
    CHECK_INT(m.full.health.failed, 1);
    CHECK_INT(m.full.health.renewals, 0);
    CHECK_INT(m.full.health.updates, n);
    double *b = take_doubles(n * n);
    cf_full_inverse(&m.full, k, m.scratch, b);
    const wide *exact = wide_inverse(n, rounded(n * n, m.a));
    CHECK_CLOSE(distance(n * n, b, rounded(n * n, exact)), 0.0, 1e-13);
}

/* (A^-1)_ii by a reading */
static double inverse_at(const cf_table *k, const metric *m, ptrdiff_t i)
{
    double *unit = take_padded(m->full.n), *y = take_doubles(cf_pad(m->full.n));
    unit[i] = 1.0;
    cf_full_solve(&m->full, k, unit, m->scratch, y);
    return y[i];
}

/* --- refusals -------------------------------------------------------------------------------- */

/* An update that must not change a byte, neither of the memory nor of the struct. */
static void unchanged(const cf_table *k, metric *m, const double *x, double c, int status)
{
    const ptrdiff_t size = cf_full_size(m->full.n);
    const double *memory = TAKE_COPY(m->memory, size);
    const cf_full *state = TAKE_COPY(&m->full, 1);
    double q = 5.0;
    CHECK_INT(cf_full_update(&m->full, k, x, c, m->scratch, &q), status);
    CHECK_CLOSE(q, 0.0, 0.0);
    CHECK_BITS(m->memory, memory, size);
    CHECK_BITS(&m->full, state, 1);
}

TEST_TABLES(refused_updates_leave_every_byte)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n < 20; n += 3) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 1.0, robust);
            random_updates(k, &m, 11);
            double *x = take_padded(n);
            unchanged(k, &m, x, 1.0, CF_OK); /* x = 0 */
            x[n / 2] = 1e-200;
            unchanged(k, &m, x, 1.0, CF_OK); /* x.x underflows */
            for (int i = 0; i < 4; i++) {
                x[n - 1] = bad[i];
                unchanged(k, &m, x, 1.0, CF_ENONFINITE);
            }
            x[n - 1] = 1e150;
            unchanged(k, &m, x, 1e10, CF_ENONFINITE); /* c x.x overflows */
            release();
            m = take_metric(k, n, 1e-300, robust);
            x = take_padded(n);
            x[0] = 1e10;
            unchanged(k, &m, x, 1.0, CF_ENONFINITE); /* q would overflow */
            x[0] = 1e3;
            unchanged(k, &m, x, 1e10, CF_ENONFINITE); /* c q would */
            release();
        }
}

/* Entries so large that a float cannot hold what their sums lose. */
TEST_TABLES(entries_beyond_the_range_of_the_compensation)
{
    for (int robust = 0; robust < 2; robust++)
        for (int e = 100; e <= 900; e += 200) {
            CONTEXT("%s robust=%d e=%d", k->isa, robust, e);
            const ptrdiff_t n = 7;
            metric m = take_metric(k, n, ldexp(1.0, e), robust);
            double *x = take_doubles(n);
            for (int turn = 0; turn < 60; turn++) {
                fill_normal(x, n);
                for (ptrdiff_t i = 0; i < n; i++)
                    x[i] = ldexp(x[i], e / 2);
                update(k, &m, x, 1.0);
            }
            check_metric(k, &m, 1e-11);
            CHECK_INT(m.full.health.failed, 0);
            CHECK(m.full.health.worst_residual < CF_FULL_DRIFT);
            release();
        }
}

/* Each update alone is in range, and their sum is not: refused before it is too late. */
TEST_TABLES(a_sum_that_would_overflow)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n < 12; n += 5) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 1.0, robust);
            double *x = take_padded(n), *v = take_doubles(cf_pad(n)), q;
            x[n - 1] = 4e153; /* the square is a tenth of the largest double */
            int taken = 0;
            while (taken < 40 && cf_full_update(&m.full, k, x, 1.0, m.scratch, &q) == CF_OK)
                taken++;
            CHECK_INT(taken, 5);
            unchanged(k, &m, x, 1.0, CF_ENONFINITE);
            if (!robust)
                CHECK_INT(cf_full_propose(&m.full, k, x, 1.0, m.scratch, v, &q), CF_ENONFINITE);
            double *out = take_doubles(n * n);
            cf_full_matrix(&m.full, k, m.scratch, out);
            CHECK_CLOSE(out[n * n - 1], 5 * 16e306, 1e293);
            x[n - 1] = 0.5;
            CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
            release();
        }
}

/* x.x is out of range, c x.x and q are not. */
static void one_update(const cf_table *k, double ridge, double x0, double c, int robust)
{
    CONTEXT("%s robust=%d x=%g c=%g", k->isa, robust, x0, c);
    metric m = take_metric(k, 3, ridge, robust);
    const double x[3] = {0.0, x0, 0.0};
    const wide q = (wide)x0 / ridge * x0;
    CHECK_CLOSE(update(k, &m, x, c), q, 1e-14 * (double)q);
    CHECK_CLOSE(m.full.logdet, log_determinant(3, m.a), 1e-13 * fabs(m.full.logdet));
    CHECK_CLOSE(inverse_at(k, &m, 1), 1.0L / m.a[4], 1e-14 / (double)m.a[4]);
    double out[9];
    cf_full_matrix(&m.full, k, m.scratch, out);
    CHECK_CLOSE(out[4], m.a[4], 1e-15 * (double)m.a[4]);
    release();
}

TEST_TABLES(squares_out_of_range)
{
    for (int robust = 0; robust < 2; robust++) {
        one_update(k, 1e20, 1e160, 1e-300, robust);
        one_update(k, 1e200, 1e250, 1e-300, robust);
        one_update(k, 1e-40, 1e-170, 1e300, robust);
        one_update(k, 1e-300, 3e-160, 1e20, robust);
        metric m = take_metric(k, 2, 1.0, robust);
        const double x[2] = {1e160, 1.0};
        unchanged(k, &m, x, 1e-300, CF_ENONFINITE); /* q is no number */
    }
}

/* x.x is there but q underflows: no damage, so no repair and no refusal. */
TEST_TABLES(a_q_that_underflows)
{
    metric m = take_metric(k, 3, 1e10, 0);
    const double x[3] = {1e-160, 0.0, 0.0};
    double q = -1.0;
    CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
    CHECK_CLOSE(q, 0.0, 0.0);
    CHECK_INT(m.full.health.repairs, 0);
}

TEST_TABLES(the_smallest_weight_changes_no_digit)
{
    for (int robust = 0; robust < 2; robust++) {
        CONTEXT("%s robust=%d", k->isa, robust);
        metric m = take_metric(k, 10, 1.0, robust);
        random_updates(k, &m, 11);
        double *before = take_doubles(100), *now = take_doubles(100), *x = take_normal(10);
        const double logdet = m.full.logdet;
        cf_full_inverse(&m.full, k, m.scratch, before);
        CHECK(update(k, &m, x, 1e-320) > 0.0);
        cf_full_inverse(&m.full, k, m.scratch, now);
        CHECK_CLOSE(distance(100, now, before), 0.0, 1e-16);
        CHECK_CLOSE(m.full.logdet, logdet, 0.0);
        CHECK_INT(m.full.health.updates, 12);
        random_updates(k, &m, 10);
        check_metric(k, &m, 1e-12);
        release();
    }
}

/* A weight so large that the direction is all but fixed. */
TEST_TABLES(a_large_weight)
{
    for (int robust = 0; robust < 2; robust++) {
        metric m = take_metric(k, 5, 1.0, robust);
        const double x[5] = {1.0, 2.0, 0.0, -1.0, 0.5};
        update(k, &m, x, 1e200);
        const double q = cf_full_quad(&m.full, k, x, m.scratch);
        CHECK(isfinite(q) && fabs(q) < 1e-13);
        release();
    }
}

/* --- copies ---------------------------------------------------------------------------------- */

TEST_TABLES(a_copy_resumes_bit_for_bit)
{
    for (int robust = 0; robust < 2; robust++)
        for (int start = 0; start < 20; start += 5) {
            const ptrdiff_t n = 12, size = cf_full_size(n);
            CONTEXT("%s robust=%d start=%d", k->isa, robust, start);
            metric m = take_metric(k, n, 0.5, robust);
            random_updates(k, &m, start);
            cf_full copy = m.full;
            double *memory = take_line(size), *x = take_doubles(n), q1, q2;
            memcpy(memory, m.memory, (size_t)size * sizeof *memory);
            cf_full_attach(&copy, memory);
            CHECK(copy.b.data == memory && copy.b.n == n && copy.b.ld == 0);
            for (int turn = 0; turn < 80; turn++) { /* over blocks, renewals and a probe */
                fill_normal(x, n);
                CHECK_INT(cf_full_update(&m.full, k, x, 1.5, m.scratch, &q1), CF_OK);
                CHECK_INT(cf_full_update(&copy, k, x, 1.5, m.scratch, &q2), CF_OK);
                CHECK(q1 == q2);
            }
            CHECK_BITS(memory, m.memory, size);
            cf_full_attach(&copy, m.memory);
            CHECK_BITS(&copy, &m.full, 1);
            release();
        }
}

CHECK_MAIN
