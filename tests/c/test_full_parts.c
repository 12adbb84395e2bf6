/* The full metric in parts: an update in two halves, a row that leaves, scaling, renewal. */
#include "cf_metric.h"

static void random_updates(const cf_table *k, metric *m, int turns)
{
    double *x = take_doubles(m->full.n), q;
    for (int turn = 0; turn < turns; turn++) {
        fill_normal(x, m->full.n);
        CHECK_INT(cf_full_update(&m->full, k, x, 1.5, m->scratch, &q), CF_OK);
        note(m, x, 1.5);
    }
}

/* Matrix, inverse and logdet, relative to the largest entry. */
static void check_metric(const cf_table *k, const metric *m, double error)
{
    const ptrdiff_t n = m->full.n;
    double *out = take_doubles(n * n), *a = rounded(n * n, m->a);
    const wide *b = wide_inverse(n, a);
    double size_a = 0.0, size_b = 0.0;
    for (ptrdiff_t i = 0; i < n * n; i++) {
        size_a = fmax(size_a, fabs(a[i]));
        size_b = fmax(size_b, (double)fabsl(b[i]));
    }
    cf_full_matrix(&m->full, k, m->scratch, out);
    CHECK_CLOSE(distance(n * n, out, a), 0.0, 1e-12 * size_a);
    cf_full_inverse(&m->full, k, m->scratch, out);
    CHECK_CLOSE(distance(n * n, out, rounded(n * n, b)), 0.0, error * size_b);
    CHECK_CLOSE(m->full.logdet, log_determinant(n, m->a),
                error * (double)n * (1.0 + fabs(m->full.logdet)));
    AGREE(k, out, n * n);
    AGREE(k, &m->full.logdet, 1);
}

/* --- the two halves --------------------------------------------------------------------------- */

TEST_TABLES(two_halves_are_an_update)
{
    FOR_SIZES(n, 1, 33) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 0.5, 0), h = take_metric(k, n, 0.5, 0);
        double *x = take_doubles(n), *v = take_doubles(cf_pad(n));
        double *before = take_doubles(n * n), *now = take_doubles(n * n);
        for (int turn = 0; turn < 70; turn++) {
            double q = NAN, same = NAN;
            const double c = 0.1 + random_unit();
            fill_normal(x, n);
            CHECK_INT(cf_full_update(&m.full, k, x, c, m.scratch, &q), CF_OK);
            cf_full_inverse(&h.full, k, h.scratch, before);
            CHECK_INT(cf_full_propose(&h.full, k, x, c, h.scratch, v, &same), CF_OK);
            cf_full_inverse(&h.full, k, h.scratch, now);
            CHECK_CLOSE(distance(n * n, now, before), 0.0, 0.0); /* valgrind: 0 for -0 */
            CHECK(q == same && same == k->dot(n, x, v));
            cf_full_accept(&h.full, k, x, c, v, same, h.scratch);
        }
        CHECK_BITS(h.memory, m.memory, cf_full_size(n));
        cf_full_attach(&h.full, m.memory);
        CHECK_BITS(&h.full, &m.full, 1);
        release();
    }
}

TEST_TABLES(a_proposal_of_nothing)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 11);
        const double *memory = TAKE_COPY(m.memory, cf_full_size(n));
        const cf_full *state = TAKE_COPY(&m.full, 1);
        double *x = take_padded(n), *v = take_doubles(cf_pad(n)), q = -1.0;
        double *y = take_doubles(cf_pad(n));
        for (int form = 0; form < 2; form++) {
            x[n / 2] = form ? 1e-170 : 0.0;
            CHECK_INT(cf_full_propose(&m.full, k, x, 1.0, m.scratch, v, &q), CF_OK);
            CHECK_CLOSE(q, 0.0, 0.0);
            cf_full_solve(&m.full, k, x, m.scratch, y);
            CHECK_BITS(v, y, n);
            cf_full_accept(&m.full, k, x, 1.0, v, q, m.scratch);
            cf_full_drop(&m.full, k, x, v, q, m.scratch);
        }
        CHECK_BITS(m.memory, memory, cf_full_size(n));
        CHECK_BITS(&m.full, state, 1);
        release();
    }
}

TEST_TABLES(what_an_update_would_be)
{
    metric m = take_metric(k, 2, 1e-10, 0);
    const double x[2] = {1.0, 0.0};
    CHECK_INT(cf_full_judge(&m.full, x, 1.0, 1.0), CF_OK);
    CHECK_INT(cf_full_judge(&m.full, x, 1.0, 0.0), CF_FULL_NOTHING);
    CHECK_INT(cf_full_judge(&m.full, x, 1.0, 0x1p-1074), CF_FULL_NOTHING);
    CHECK_INT(cf_full_judge(&m.full, x, 1e308, 1e-310), CF_OK); /* c x.x is not small */
    CHECK_INT(cf_full_judge(&m.full, x, 1.0, 1e300), CF_ENONFINITE);
    CHECK_INT(cf_full_judge(&m.full, x, 1e300, 1.0), CF_ENONFINITE);
    CHECK_INT(cf_full_judge(&m.full, x, 1.0, NAN), CF_ENONFINITE);
    m = take_metric(k, 2, 1.0, 0);
    const double far[2] = {1e154, 0.0};
    CHECK_INT(cf_full_judge(&m.full, far, 0.5, 1e308), CF_OK);
    CHECK_INT(cf_full_judge(&m.full, far, 1.0, 1e308), CF_ENONFINITE); /* half the largest */
}

/* --- a row leaves ----------------------------------------------------------------------------- */

static void drop(const cf_table *k, metric *m, const double *x)
{
    double *v = take_doubles(cf_pad(m->full.n)), q = NAN;
    CHECK_INT(cf_full_propose(&m->full, k, x, 1.0, m->scratch, v, &q), CF_OK);
    CHECK(q > 0.0 && q < 1.0);
    cf_full_drop(&m->full, k, x, v, q, m->scratch);
    note(m, x, -1.0);
}

TEST_TABLES(a_row_that_leaves_takes_its_term)
{
    FOR_SIZES(n, 1, 33) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 5 + (int)n % 14);
        double *x = take_normal(n), q;
        CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
        note(&m, x, 1.0);
        drop(k, &m, x);
        check_metric(k, &m, 1e-11);
        release();
    }
}

/* The last `window` rows, over blocks, probes and renewals. */
TEST_TABLES(a_window_of_rows)
{
    static const ptrdiff_t sizes[] = {1, 5, 8, 19};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int window = 1; window <= 31; window += 10) {
            const ptrdiff_t n = sizes[s];
            const int turns = check_count(200, 60);
            metric m = take_metric(k, n, 1.0, 0);
            double *rows = take_normal(turns * n), q;
            for (int turn = 0; turn < turns; turn++) {
                CONTEXT("%s n=%td window=%d turn=%d", k->isa, n, window, turn);
                const double *x = rows + turn * n;
                CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
                note(&m, x, 1.0);
                if (turn >= window)
                    drop(k, &m, x - window * n);
            }
            CHECK_INT(m.full.health.updates, 2 * turns - window);
            CHECK_INT(m.full.health.failed, 0);
            check_metric(k, &m, 1e-10);
            release();
        }
}

/* A - x x^T would not be positive definite: a caller that did not look changes nothing. */
TEST_TABLES(a_row_that_was_never_there)
{
    const ptrdiff_t n = 7;
    metric m = take_metric(k, n, 1.0, 0);
    double *x = take_normal(n), *v = take_doubles(cf_pad(n)), q;
    CHECK_INT(cf_full_propose(&m.full, k, x, 1.0, m.scratch, v, &q), CF_OK);
    const double *memory = TAKE_COPY(m.memory, cf_full_size(n));
    const cf_full *state = TAKE_COPY(&m.full, 1);
    static const double wrong[] = {1.0, 1.5, INFINITY, NAN, -0.5};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cf_full_drop(&m.full, k, x, v, wrong[i], m.scratch);
    CHECK_BITS(m.memory, memory, cf_full_size(n));
    CHECK_BITS(&m.full, state, 1);
}

/* --- the robust form -------------------------------------------------------------------------- */

TEST_TABLES(the_robust_form_in_two_halves)
{
    FOR_SIZES(n, 1, 33) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 0.5, 1), h = take_metric(k, n, 0.5, 1);
        double *x = take_doubles(n), *v = take_doubles(cf_pad(n)), *w = take_doubles(cf_pad(n));
        double q, same, look;
        for (int turn = 0; turn < 40; turn++) {
            const double c = turn % 3 ? 0.7 : 2.0;
            fill_normal(x, n);
            CHECK_INT(cf_full_update(&m.full, k, x, c, m.scratch, &q), CF_OK);
            cf_full_look(&h.full, k, x, h.scratch, w, &look);
            CHECK_INT(cf_full_propose(&h.full, k, x, c, h.scratch, v, &same), CF_OK);
            CHECK_BITS(v, w, n);
            CHECK(look == same);
            CHECK_CLOSE(same, q, 1e-13 * q);
            cf_full_accept(&h.full, k, x, c, v, same, h.scratch);
            note(&m, x, c);
            note(&h, x, c);
        }
        check_metric(k, &m, 1e-12);
        check_metric(k, &h, 1e-12);
        release();
    }
}

TEST_TABLES(a_look_at_the_fast_form)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 0.5, 0);
        random_updates(k, &m, 21);
        double *x = take_normal(n), *v = take_doubles(cf_pad(n)), *w = take_doubles(cf_pad(n));
        double q, look;
        cf_full_look(&m.full, k, x, m.scratch, w, &look);
        CHECK_INT(cf_full_propose(&m.full, k, x, 1.0, m.scratch, v, &q), CF_OK);
        CHECK_BITS(v, w, n);
        CHECK(look == q);
        release();
    }
}

/* Scaled down again and again, as by strong forgetting, it never gets beyond its range. */
TEST_TABLES(the_robust_form_scaled)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 0.5, 1);
        random_updates(k, &m, 11);
        cf_full_scale(&m.full, k, -9);
        for (ptrdiff_t i = 0; i < n * n; i++)
            m.a[i] = ldexpl(m.a[i], -18);
        check_metric(k, &m, 1e-12);
        double *x = take_doubles(n), q;
        for (int turn = 0; turn < 400; turn++) {
            fill_normal(x, n);
            CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
            CHECK(q > 0.0);
            cf_full_scale(&m.full, k, turn % 2 ? -9 : -600);
            m.full.ridge = 0.5; /* as who forgets keeps it */
            CHECK(k->all_finite(n, m.full.w));
            for (ptrdiff_t i = n; i < cf_pad(n); i++)
                CHECK_CLOSE(m.full.w[i], 0.0, 0.0);
        }
        release();
    }
}

/* Where A is far below its ridge, as forgetting can leave it, q may be infinite. */
TEST_TABLES(an_infinite_q_is_refused)
{
    FOR_SIZES(n, 1, 9) {
        for (int robust = 0; robust < 2; robust++) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 1.0, robust);
            double *x = take_doubles(n), *v = take_doubles(cf_pad(n)), q;
            for (ptrdiff_t i = 0; i < n; i++) {
                x[i] = 1e70;
                if (robust)
                    m.full.w[i] = 1e200;
                else
                    cf_triangle_row(&m.full.b, i)[i] = 1e200;
            }
            const double *memory = TAKE_COPY(m.memory, cf_full_size(n));
            const cf_full *state = TAKE_COPY(&m.full, 1);
            CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_ENONFINITE);
            CHECK_INT(cf_full_propose(&m.full, k, x, 1.0, m.scratch, v, &q), CF_ENONFINITE);
            for (ptrdiff_t i = 0; i < (ptrdiff_t)cf_full_size(n); i++) /* valgrind: 0 for -0 */
                CHECK(m.memory[i] == memory[i] || memcmp(&m.memory[i], &memory[i], 8) == 0);
            CHECK_BITS(&m.full, state, 1);
            release();
        }
    }
}

/* --- scaling ---------------------------------------------------------------------------------- */

TEST_TABLES(scaling_is_exact)
{
    FOR_SIZES(n, 1, 20) {
        for (int half = -30; half <= 30; half += 15) {
            CONTEXT("%s n=%td half=%d", k->isa, n, half);
            metric m = take_metric(k, n, 0.5, 0);
            random_updates(k, &m, 7 + (int)n % 11); /* something is pending */
            double *a = take_doubles(n * n), *b = take_doubles(n * n), *now = take_doubles(n * n);
            cf_full_matrix(&m.full, k, m.scratch, a);
            cf_full_inverse(&m.full, k, m.scratch, b);
            cf_full_scale(&m.full, k, half);
            CHECK_CLOSE(m.full.ridge, ldexp(0.5, 2 * half), 0.0);
            for (ptrdiff_t i = 0; i < n * n; i++) {
                a[i] = ldexp(a[i], 2 * half);
                b[i] = ldexp(b[i], -2 * half);
                m.a[i] = ldexpl(m.a[i], 2 * half);
            }
            cf_full_matrix(&m.full, k, m.scratch, now);
            CHECK_BITS(now, a, n * n);
            cf_full_inverse(&m.full, k, m.scratch, now);
            CHECK_BITS(now, b, n * n);
            check_metric(k, &m, 1e-12);
            double *x = take_doubles(n), q;
            for (int turn = 0; turn < 40; turn++) { /* and it goes on, over renewals */
                for (ptrdiff_t i = 0; i < n; i++)
                    x[i] = ldexp(random_normal(), half);
                CHECK_INT(cf_full_update(&m.full, k, x, 1.0, m.scratch, &q), CF_OK);
                note(&m, x, 1.0);
            }
            check_metric(k, &m, 1e-11);
            release();
        }
    }
}

/* What the sums have lost leaves the range of a float: it is given up, and nothing is infinite. */
TEST_TABLES(scaling_far)
{
    const ptrdiff_t n = 5;
    for (int half = -200; half <= 200; half += 50) {
        CONTEXT("%s half=%d", k->isa, half);
        metric m = take_metric(k, n, 0.5, 0);
        random_updates(k, &m, 37);
        cf_full_scale(&m.full, k, half);
        for (ptrdiff_t i = 0; i < n * n; i++)
            m.a[i] = ldexpl(m.a[i], 2 * half);
        check_metric(k, &m, 1e-12);
        CHECK_INT(cf_full_renew(&m.full, k, m.scratch), 1);
        check_metric(k, &m, 1e-12);
        cf_full_scale(&m.full, k, -half);
        for (ptrdiff_t i = 0; i < n * n; i++)
            m.a[i] = ldexpl(m.a[i], -2 * half);
        random_updates(k, &m, 37);
        check_metric(k, &m, 1e-12);
        release();
    }
}

/* --- renewal ---------------------------------------------------------------------------------- */

TEST_TABLES(renewal_on_request)
{
    FOR_SIZES(n, 1, 33) {
        CONTEXT("%s n=%td", k->isa, n);
        metric m = take_metric(k, n, 1.0, 0);
        random_updates(k, &m, 13 + (int)n % 7);
        const cf_full_health before = m.full.health;
        memset(m.full.b.data, 0xFF, (size_t)cf_panels_size(n) * sizeof(double));
        CHECK_INT(cf_full_renew(&m.full, k, m.scratch), 1);
        CHECK_INT(m.full.health.renewals, before.renewals + 1);
        CHECK_INT(m.full.health.repairs, before.repairs);
        check_metric(k, &m, 1e-12);
        double *b = take_doubles(n * n), *now = take_doubles(n * n);
        cf_full_inverse(&m.full, k, m.scratch, b);
        cf_triangle_row(&m.full.a, 0)[0] = -1.0;
        CHECK_INT(cf_full_renew(&m.full, k, m.scratch), 0);
        CHECK_INT(m.full.health.failed, before.failed + 1);
        cf_full_inverse(&m.full, k, m.scratch, now);
        CHECK_BITS(now, b, n * n);
        release();
    }
}

CHECK_MAIN
