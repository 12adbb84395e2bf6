/* Forgetting in blocks: A by its definition, beside what is kept. */
#include "cf_reference.h"

typedef struct metric {
    cf_full full;
    cf_past past;
    double *memory, *scratch;
    wide *m; /* M, for A = share ridge I + M */
    wide share;
    int64_t calls;
} metric;

static metric take_metric(const cf_table *k, ptrdiff_t n, double ridge, int robust)
{
    metric m = {.memory = take_line(cf_full_size(n)), .scratch = take_line(cf_full_scratch(n)),
                .m = take_wide(n * n), .share = 1.0L};
    for (ptrdiff_t i = 0; i < n * n; i++)
        m.m[i] = 0.0L;
    cf_full_init(&m.full, n, ridge, robust, k, m.memory);
    cf_past_init(&m.past, ridge);
    return m;
}

static int learn(const cf_table *k, metric *m, const double *x, double c, double *q)
{
    const ptrdiff_t n = m->full.n;
    const int status = cf_past_update(&m->past, &m->full, k, x, c, m->scratch, q);
    for (ptrdiff_t i = 0; status == CF_OK && i < n * n; i++)
        m->m[i] += (wide)c * x[i / n] * x[i % n];
    return status;
}

static void fade(metric *m, double f, int whole)
{
    const ptrdiff_t n = m->full.n;
    for (ptrdiff_t i = 0; i < n * n; i++)
        m->m[i] *= f;
    m->share = whole ? 1.0L : m->share * f;
}

static double *true_matrix(const metric *m)
{
    const ptrdiff_t n = m->full.n;
    double *a = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        a[i] = (double)(m->m[i] + (i / n == i % n ? m->share * m->past.ridge : 0.0L));
    return a;
}

/* `lost`: the size of what A had and a downdate took away, whose rounding stays. */
static void check_matrices(const cf_table *k, const metric *m, double error, double lost)
{
    const ptrdiff_t n = m->full.n;
    const double scale = m->past.scale, *a = true_matrix(m);
    double *out = take_doubles(n * n), size = 0.0, most = 0.0;
    const double *b = rounded(n * n, wide_inverse(n, a));
    cf_full_matrix(&m->full, k, m->scratch, out);
    for (ptrdiff_t i = 0; i < n * n; i++) {
        out[i] *= scale;
        size = fmax(size, fabs(a[i]));
        most = fmax(most, fabs(b[i]));
    }
    CHECK_CLOSE(distance(n * n, out, a), 0.0, 1e-13 * (size + lost));
    cf_full_inverse(&m->full, k, m->scratch, out);
    for (ptrdiff_t i = 0; i < n * n; i++)
        out[i] /= scale;
    CHECK_CLOSE(distance(n * n, out, b), 0.0, error * most);
    if (!m->past.lowered)
        CHECK_CLOSE(m->full.ridge * scale, m->past.share * m->past.ridge, 1e-12 * m->past.ridge);
    AGREE(k, out, n * n);
    const double logdet = cf_past_logdet(&m->past, &m->full, k);
    AGREE(k, &logdet, 1);
}

static void check_metric(const cf_table *k, const metric *m, double error)
{
    check_matrices(k, m, error, 0.0);
}

TEST(periods)
{
    const cf_table *tables[8];
    check_tables(tables);
    for (ptrdiff_t n = 1; n <= 40; n++) {
        CHECK_INT(cf_past_period(tables[0], n, 1.0), n);
        CHECK_INT(cf_past_period(tables[0], n, 0.5), 1);
        CHECK_INT(cf_past_period(tables[0], n, 1e-300), 1);
        CHECK_INT(cf_past_period(tables[0], n, 0.9), n < 6 ? n : 6);
        CHECK_INT(cf_past_period(tables[0], n, 1.0 - 1e-12), n);
    }
}

TEST_TABLES(forgetting_is_its_definition)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n <= 17; n += 4) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 0.6, robust);
            double *x = take_doubles(n), *w = take_doubles(n), q, added;
            for (int turn = 0; turn < 90; turn++) {
                const double f = turn % 30 < 20 ? 0.93 : turn % 2 ? 0.5 : 1.0;
                const int renews = m.calls++ % cf_past_period(k, n, f) == 0;
                CHECK_INT(cf_past_forget(&m.past, &m.full, k, f, m.scratch, &added), CF_OK);
                CHECK((added > 0.0) == (renews && f * m.share < 1.0L));
                fade(&m, f, renews);
                fill_normal(x, n);
                CHECK_INT(learn(k, &m, x, 0.7, &q), CF_OK);
                CHECK(m.past.scale > 0x1p-16 && m.past.scale <= 2.0);
            }
            check_metric(k, &m, 1e-11);
            fill_normal(w, n); /* w <- A_new^-1 f A w */
            const double *a = true_matrix(&m), f = 0.4;
            double *moved = TAKE_COPY(w, n), *room = take_doubles(3 * cf_pad(n));
            CHECK_INT(cf_past_decay(&m.past, &m.full, k, f, m.scratch, &added), CF_OK);
            fade(&m, f, 1);
            check_metric(k, &m, 1e-11);
            cf_past_weights(&m.past, &m.full, k, added, moved, room);
            const double *after = true_matrix(&m);
            for (ptrdiff_t i = 0; i < n; i++) {
                wide left = 0.0L, right = 0.0L;
                for (ptrdiff_t j = 0; j < n; j++) {
                    left += (wide)after[i * n + j] * moved[j];
                    right += (wide)f * a[i * n + j] * w[j];
                }
                CHECK_CLOSE(left, right, 1e-9);
            }
            release();
        }
}

TEST_TABLES(an_f_of_any_size)
{
    const double all[] = {5e-324, 1e-300, 0x1p-40, 1.0 - 0x1p-53};
    for (int i = 0; i < 4; i++)
        for (int robust = 0; robust < 2; robust++) {
            CONTEXT("%s f=%g robust=%d", k->isa, all[i], robust);
            metric m = take_metric(k, 5, 1e-30, robust);
            double *x = take_doubles(5), q, added;
            for (int turn = 0; turn < 12; turn++) {
                fill_normal(x, 5);
                const int renews = m.calls++ % cf_past_period(k, 5, all[i]) == 0;
                CHECK_INT(cf_past_forget(&m.past, &m.full, k, all[i], m.scratch, &added), CF_OK);
                fade(&m, all[i], renews);
            }
            check_metric(k, &m, 1e-12);
            CHECK_INT(learn(k, &m, x, 1e-30, &q), CF_OK);
            check_metric(k, &m, 1e-10);
            release();
        }
}

TEST_TABLES(downdates)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n <= 20; n++) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 0.6, robust);
            double *x = take_doubles(n), q, left = 0.9;
            for (int turn = 0; turn < 40; turn++) {
                fill_normal(x, n);
                CHECK_INT(learn(k, &m, x, 1.3, &q), CF_OK);
                fill_normal(x, n);
                q = cf_full_quad(&m.full, k, x, m.scratch);
                left = turn % 10 == 9 ? 1e-4 : 0.5;
                CHECK_INT(learn(k, &m, x, (left - 1.0) / q, &q), CF_OK);
                CHECK(m.past.lowered && m.full.ridge > 0.0);
            }
            check_matrices(k, &m, 1e-8, 10.0);
            const double *memory = TAKE_COPY(m.memory, cf_full_size(n));
            const cf_full *full = TAKE_COPY(&m.full, 1);
            q = cf_full_quad(&m.full, k, x, m.scratch);
            CHECK_INT(learn(k, &m, x, (5e-7 - 1.0) / q, &q), CF_EVALUE);
            CHECK_INT(learn(k, &m, x, -2.0 / q, &q), CF_EVALUE);
            CHECK_BITS(m.memory, memory, cf_full_size(n));
            CHECK_BITS(&m.full, full, 1);
            release();
        }
}

TEST_TABLES(a_matrix_from_elsewhere)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n <= 20; n++) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 0.6, robust);
            double *a = take_doubles(n * n), *x = take_doubles(n), q, added;
            for (ptrdiff_t i = 0; i < n * n; i++)
                a[i] = i / n < i % n ? NAN : i / n == i % n ? 3.0 + 0.1 * (double)i : 0.1;
            CHECK_INT(cf_past_place(&m.past, &m.full, k, a, n, 0.6, m.scratch), CF_OK);
            for (ptrdiff_t i = 0; i < n * n; i++)
                m.m[i] = (i / n == i % n ? 3.0L + 0.1L * i - 0.6L : 0.1L);
            fill_normal(x, n);
            CHECK_INT(learn(k, &m, x, 1.0, &q), CF_OK);
            check_metric(k, &m, 1e-12);
            CHECK_INT(cf_past_decay(&m.past, &m.full, k, 0.5, m.scratch, &added), CF_OK);
            fade(&m, 0.5, 1);
            check_metric(k, &m, 1e-12);
            a[n * n - 1] = -1.0;
            CHECK_INT(cf_past_place(&m.past, &m.full, k, a, n, 0.6, m.scratch), CF_ENOTPOSITIVE);
            release();
        }
}

/* Nothing is half done where A is too ill to be made anew. */
TEST_TABLES(what_cannot_be_renewed_stays)
{
    const ptrdiff_t n = 9;
    metric m = take_metric(k, n, 1.0, 0);
    double *x = take_doubles(n), q, added = 1.0;
    fill_normal(x, n);
    CHECK_INT(learn(k, &m, x, 1.0, &q), CF_OK);
    for (ptrdiff_t i = 0; i < n; i++)
        cf_triangle_row(&m.full.a, i)[i] = -5.0;
    const cf_past *past = TAKE_COPY(&m.past, 1);
    CHECK_INT(cf_past_decay(&m.past, &m.full, k, 0.5, m.scratch, &added), CF_ENOTPOSITIVE);
    CHECK(m.past.scale == past->scale && m.past.share == past->share);
    CHECK_CLOSE(cf_triangle_row(&m.full.a, 3)[3], -5.0 + x[3] * x[3], 1e-12);
    CHECK_INT(cf_full_lift(&m.full, k, INFINITY, m.scratch), CF_ENONFINITE);
    CHECK_INT(cf_full_lift(&m.full, k, 1.5e308, m.scratch), CF_ENONFINITE);
    CHECK_INT(cf_full_lift(&m.full, k, 0.0, m.scratch), CF_OK);
}

/* Row t of z is column t of a root of the inverse, over `scale`. */
static void check_root(const metric *m, const double *z, wide scale, double error)
{
    const ptrdiff_t n = m->full.n;
    const wide *b = wide_inverse(n, true_matrix(m));
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++) {
            wide sum = 0.0L;
            for (ptrdiff_t t = 0; t < n; t++)
                sum += (wide)z[t * n + i] * z[t * n + j];
            CHECK_CLOSE(sum, b[i * n + j] / scale, error);
        }
}

/* Samples: the map from z is a root of the inverse. */
TEST_TABLES(samples)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n <= 20; n += 3) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            metric m = take_metric(k, n, 0.6, robust);
            double *x = take_doubles(n), *z = take_doubles(n * n), q;
            double *room = take_line(cf_full_sample_scratch(n));
            for (int turn = 0; turn < 21; turn++) {
                fill_normal(x, n);
                CHECK_INT(learn(k, &m, x, 1.3, &q), CF_OK);
            }
            for (ptrdiff_t i = 0; i < n * n; i++)
                z[i] = i / n == i % n; /* row t becomes column t of the root */
            CHECK_INT(cf_full_sample(&m.full, k, 0.25, n, z, room), CF_OK);
            check_root(&m, z, 0.25L, 1e-12);
            AGREE(k, z, n * n);
            release();
        }
}

/* Draws by a factor that is kept: the map from z is a root of the inverse after every update, with
 * the bits of a factor that is made now, whether there was a draw between two updates or not. */
TEST_TABLES(draws)
{
    for (ptrdiff_t n = 1; n <= 30; n += 7) {
        metric m = take_metric(k, n, 0.6, 0);
        double *x = take_doubles(n), *z = take_doubles(n * n), *fresh = take_doubles(n), q;
        double *scratch = take_line(3 * cf_pad(n));
        cf_full_factor kept[2];
        for (int f = 0; f < 2; f++)
            kept[f] = (cf_full_factor){
                {take_line(cf_panels_size(n)), take_line(cf_pad(n)), 0}, -1, 0};
        for (int turn = 0; turn < 70; turn++) {
            CONTEXT("%s n=%td turn=%d", k->isa, n, turn);
            fill_normal(x, n);
            CHECK_INT(learn(k, &m, x, 0.3 + turn % 4, &q), CF_OK);
            if (turn % 5 == 3 || turn % 5 == 4)
                continue;
            for (ptrdiff_t i = 0; i < n * n; i++)
                z[i] = i / n == i % n;
            for (ptrdiff_t t = 0; t < n; t++)
                CHECK_INT(cf_full_draw(&m.full, k, &kept[0], 0.25, z + t * n, scratch), CF_OK);
            memset(fresh, 0, (size_t)n * sizeof *fresh);
            fresh[n - 1] = 1.0;
            kept[1].updates = -1;
            CHECK_INT(cf_full_draw(&m.full, k, &kept[1], 0.25, fresh, scratch), CF_OK);
            CHECK(memcmp(fresh, z + (n - 1) * n, (size_t)n * sizeof *z) == 0);
            check_root(&m, z, 0.25L, 1e-11);
            AGREE(k, z, n * n);
        }
        release();
    }
}

/* What no factor has is refused, and nothing is kept of it. */
TEST_TABLES(a_draw_without_a_factor)
{
    const ptrdiff_t n = 5;
    metric m = take_metric(k, n, 1.0, 0);
    cf_full_factor kept = {{take_line(cf_panels_size(n)), take_line(cf_pad(n)), 0}, -1, 0};
    double z[5] = {1.0, 2.0, 3.0, 4.0, 5.0}, *scratch = take_line(3 * cf_pad(n));
    cf_triangle_row(&m.full.a, 2)[2] = -1.0;
    CHECK_INT(cf_full_draw(&m.full, k, &kept, 1.0, z, scratch), CF_ENOTPOSITIVE);
    CHECK(kept.updates == -1 && z[4] == 5.0);
    cf_triangle_row(&m.full.a, 2)[2] = 1.0;
    CHECK_INT(cf_full_draw(&m.full, k, &kept, 1.0, z, scratch), CF_OK);
    CHECK_CLOSE(z[4], 5.0, 1e-15);
}

CHECK_MAIN
