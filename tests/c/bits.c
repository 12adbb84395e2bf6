/* Prints one checksum of the results of every kernel for each table with FMA of this machine: the
 * number must be the same on all of them and on every machine. Exit code 1 where it is not. */
#include "cf_reference.h"

static uint64_t sum;

static void mix(const void *data, size_t bytes) /* FNV-1a */
{
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ ((const unsigned char *)data)[i]) * 0x100000001B3u;
}
#define MIX(data, count) mix((data), (size_t)(count) * sizeof *(data))
static void mix_one(double x) { mix(&x, sizeof x); }

static float *narrowed(ptrdiff_t n, const double *x)
{
    float *f = take_floats(n);
    for (ptrdiff_t i = 0; i < n; i++)
        f[i] = (float)x[i];
    return f;
}

static double *take_positive(ptrdiff_t n, int low, int high)
{
    double *x = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = fabs(random_scaled(low, high));
    return x;
}

static void vectors(const cf_table *k, ptrdiff_t n)
{
    double *x = take_normal(n), *y = take_normal(n), *e = take_doubles(n);
    double *a = take_positive(n, -9, 9), *peak = take_doubles((n + 63) / 64);
    const float *f = narrowed(n, x);
    int32_t *i32 = take_bytes((size_t)n * 4, 0, 0);
    int64_t *i64 = take_bytes((size_t)n * 8, 0, 0);
    for (ptrdiff_t i = 0; i < n; i++)
        i64[i] = i32[i] = (int32_t)(n - 1 - i);
    mix_one(k->dot(n, x, y));
    mix_one(k->dot_f32(n, f, y));
    k->axpy(n, 0.3, x, y);
    mix_one(k->all_finite(n, x) + 2 * k->all_finite_f32(n, f));
    const cf_row form[3] = {{n, n, x, NULL, NULL}, {n, n, x, i32, NULL}, {n, n, x, NULL, i64}};
    for (int i = 0; i < 3; i++)
        mix_one(k->diagonal_quad(&form[i], a));
    for (int i = 0; i < 3; i++)
        k->diagonal_update(&form[i], 0.9 - 0.1 * i, a);
    k->diagonal_solve(n, a, x, e);
    MIX(a, n);
    MIX(e, n);
    k->peaks(n, y, peak);
    MIX(peak, (n + 63) / 64);
    mix_one((double)k->at_least(n, y, 0.0, 0, NULL));
    mix_one(k->step_mean(n, 0.6, x, e, 0.1, y, e, y));
    MIX(e, n);
    k->exp_many(n, x, e);
    MIX(e, n);
    k->log_many(n, a, e);
    MIX(e, n);
    mix_one(k->exp_one(x[0]) + k->log_one(a[0]) + k->log1p_one(a[n - 1]));
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        k->exponentiated_weights(n, x, is_signed, e);
        MIX(e, n);
    }
    MIX(y, n);
}

static void rows(const cf_table *k, ptrdiff_t d)
{
    const ptrdiff_t n = 21, top = n < 19 ? n : 19;
    double *x = take_normal(n * d), *w = take_normal(d), *u = take_normal(d);
    double *next = take_doubles(d), *mean = take_doubles(d);
    double out[21], second[21], discount[21];
    const float *f = narrowed(n * d, x);
    ptrdiff_t best[21];
    k->discounts(n, discount);
    k->scores_f32(n, d, f, d, w, out);
    MIX(out, n);
    k->two_scores_f32(n, d, f, d, w, u, out, second);
    MIX(second, n);
    k->two_scores(n, d, x, d, u, w, second, out);
    MIX(second, n);
    k->scores(n, d, x, d, w, out);
    MIX(out, n);
    for (ptrdiff_t places = 3; places <= top; places += 16) {
        cf_candidate *scratch = take_bytes(sizeof(cf_candidate) * 64, 0, 0);
        mix_one(k->top_k(n, out, places, best, scratch));
        mix_one(k->top_k_f32(n, f, places, best, scratch));
        for (ptrdiff_t i = 0; i < places; i++)
            mix_one((double)best[i]);
        k->features(places, d, x, d, best, 0.4, discount, w);
        k->features_f32(places, d, f, d, best, 0.4, discount, w);
        k->change_of_features(places - 1, d, x, d, best, best + 1, discount, w);
        k->change_of_features_f32(places - 1, d, f, d, best + 1, best, discount, w);
        mix_one(k->perceptron_features(places - 1, d, x, d, best, best + 1, discount, w, 0.1, u,
                                       next, mean));
        mix_one(k->perceptron_features_f32(places - 1, d, f, d, best, best + 1, discount, next,
                                           0.2, mean, w, u));
    }
    MIX(w, d);
    MIX(u, d);
    k->gram_rbf(n, d, x, d, w, 0.01, out);
    MIX(out, n);
    k->gram_poly(n, d, x, d, w, 0.01, 50.0, 3.0, out);
    MIX(out, n);
    k->gram_poly(n, d, x, d, w, 1e-4, 50.0, 2.5, out);
    MIX(out, n);
}

static void feedback(const cf_table *k, ptrdiff_t n)
{
    const ptrdiff_t places = n < 5 ? n : 5;
    double *utility = take_normal(n), *key = take_normal(n), discount[5], best;
    ptrdiff_t top[5], better[5];
    cf_candidate *room = take_bytes(sizeof(cf_candidate) * 64, 0, 0);
    k->discounts(places, discount);
    mix_one(k->top_k(n, utility, places, top, room));
    best = cf_gain(places, utility, top, discount);
    mix_one(best);
    mix_one(k->top_k(n, key, places, top, room));
    for (int turn = 0; turn < 3; turn++) {
        mix_one((double)cf_feedback_alpha(k, n, places, utility, key, top, discount, 0.5 * turn,
                                          best, better));
        mix_one(cf_gain(places, utility, better, discount));
    }
}

static void scores(const cf_table *k, ptrdiff_t n)
{
    double *z = take_normal(n), *q = take_positive(n, -20, 20), *v = take_doubles(n), lam;
    double *scratch = take_doubles(cf_scores_scratch(n));
    for (int turn = 0; turn < 3; turn++) {
        k->project_scores(n, z, q, 1.25, v, &lam, scratch);
        MIX(v, n);
        mix_one(lam);
        for (ptrdiff_t i = 0; i < n; i++) /* far below, then breakpoints that grow without end */
            z[i] = turn == 0 ? -1e12 * (1.0 + random_unit())
                             : -ldexp(q[i], (int)(900 * i / n));
    }
}

static void matrices(const cf_table *k, ptrdiff_t n)
{
    const double *full = random_spd(n, 8);
    cf_triangle t = take_triangle(full, n, 0, 0), both = {TAKE_COPY(full, n * n), n, n};
    double *x = take_normal(n), *v = take_padded(n), *w = take_padded(n), q, c[3] = {1.0, 0.5, 2.0};
    double *block = take_line(3 * cf_pad(n));
    memset(block, 0, sizeof *block * (size_t)(3 * cf_pad(n)));
    for (int r = 0; r < 3; r++)
        fill_normal(block + r * cf_pad(n), n);
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = 0.002 * random_normal(); /* small beside the eigenvalues: still positive */
    k->symv(&t, x, v);
    MIX(v, n);
    k->rank_one_symv(&t, w, x, v);
    MIX(v, n);
    k->rank_one(&t, w, w);
    float *low = take_bytes((size_t)cf_panels_size(n) * sizeof *low, 0, 1);
    memset(low, 0, (size_t)cf_panels_size(n) * sizeof *low);
    k->rank_block(&t, low, 3, block, cf_pad(n), c);
    mix_one(k->inverse_update(&t, x, 2.0, 0, v, &q));
    mix_one(k->inverse_update(&both, x, 2.0, 1, take_doubles(cf_pad(n) + 8), &q));
    mix_one(q);
    MIX(both.data, n * n);
    cf_cholesky l = {take_line(cf_panels_size(n)), take_line(cf_pad(n)), 0};
    mix_one(k->cholesky_factor(&t, &l));
    double *more = take_padded(n);
    k->cholesky_add(&l, more, take_doubles(2 * cf_pad(n)));
    k->cholesky_drop_first(&l, take_doubles(3 * cf_pad(n)));
    k->cholesky_append(&l, take_padded(n), 1.5);
    k->cholesky_forward(&l, 0, w, v);
    k->cholesky_backward(&l, v, v);
    MIX(v, n);
    k->cholesky_inverse(&l, &t, take_doubles(8 * cf_pad(n)));
    MIX(packed(&t), n * (n + 1) / 2);
}

static void projections(const cf_table *k, ptrdiff_t n, int bits)
{
    const double *full = random_spd(n, bits);
    cf_triangle t = take_triangle(full, n, 0, 0);
    double *z = take_normal(n), *w = take_doubles(n), lam = 0.0;
    double *low = take_doubles(n), *high = take_positive(n, -3, -1);
    for (ptrdiff_t i = 0; i < n; i++)
        low[i] = -high[i];
    mix_one(cf_ball_project(k, &t, NULL, z, bits > 20 ? 1e-3 : 0.9, w, &lam,
                            take_doubles(cf_ball_scratch(n, 0)),
                            take_doubles(cf_ball_scratch(n, 1))));
    MIX(w, n);
    mix_one(lam);
    double *term = take_padded(n); /* a part of B, so that the rest stays positive */
    for (ptrdiff_t i = 0; i < n; i++)
        term[i] = 0.5 * full[i] / sqrt(full[0]);
    lam = 0.0;
    mix_one(cf_ball_project(k, &t, term, z, 0.3, w, &lam, take_doubles(cf_ball_scratch(n, 0)),
                            take_doubles(cf_ball_scratch(n, 1))));
    MIX(w, n);
    mix_one(lam);
    signed char *state = take_bytes((size_t)n, 0, 0);
    double *scratch = take_line(cf_faces_scratch(n));
    for (int kind = 0; kind < 3; kind++) {
        const cf_faces set = {(cf_faces_kind)kind, 0.75, low, high};
        cf_faces_guess(k, &t, &set, z, state, scratch);
        mix_one(cf_faces_project(k, &t, NULL, &set, z, w, state, scratch));
        MIX(w, n);
        MIX(state, n);
    }
}

static void metrics(const cf_table *k, ptrdiff_t n, int robust)
{
    cf_full m;
    double *scratch = take_line(cf_full_scratch(n)), *x = take_doubles(n);
    double *out = take_doubles(n * n);
    cf_full_init(&m, n, 0.5, robust, k, take_line(cf_full_size(n)));
    for (int turn = 0; turn < 90; turn++) {
        double q;
        fill_normal(x, n);
        mix_one(cf_full_update(&m, k, x, 1.5, scratch, &q));
        mix_one(q);
    }
    mix_one(m.logdet);
    mix_one(cf_full_quad(&m, k, x, scratch));
    mix_one(cf_full_residual(&m, k, 9, scratch));
    cf_full_inverse(&m, k, scratch, out);
    MIX(out, n * n);
    cf_full_matrix(&m, k, scratch, out);
    MIX(out, n * n);
}

/* Many rows, forgetting, a downdate and samples. */
static void pasts(const cf_table *k, ptrdiff_t n, int robust)
{
    cf_full m;
    cf_past past;
    double *scratch = take_line(cf_full_scratch(n)), *x = take_normal(21 * n), q[21], added;
    double *y = take_doubles(21 * n), *room = take_line(cf_full_many_scratch(n));
    const cf_full_rows rows = {21, n, x, NULL};
    cf_full_init(&m, n, 0.5, robust, k, take_line(cf_full_size(n)));
    cf_past_init(&past, 0.5);
    for (ptrdiff_t t = 0; t < 21; t++) {
        mix_one(cf_past_forget(&past, &m, k, 0.8, scratch, &added));
        mix_one(cf_past_update(&past, &m, k, x + t * n, t % 4 == 3 ? -0.01 : 1.5, scratch, q));
        mix_one(q[0] + added);
    }
    mix_one(cf_past_logdet(&past, &m, k));
    mix_one((double)cf_full_quad_many(&m, k, &rows, past.scale, q, room));
    mix_one((double)cf_full_solve_many(&m, k, &rows, past.scale, y, room));
    MIX(q, 21);
    MIX(y, 21 * n);
    mix_one(cf_full_sample(&m, k, past.scale, 21, x, take_line(cf_full_sample_scratch(n))));
    MIX(x, 21 * n);
}

static void rounds(const cf_table *k, ptrdiff_t n)
{
    const cf_newton step = {0.5, 1.0, 0.8, 0.8};
    cf_full m;
    double *scratch = take_doubles(cf_newton_scratch(n)), *x = take_doubles(n), lam = 0.0;
    double *w = take_normal(n), *w_new = take_doubles(n);
    cf_full_init(&m, n, 0.5, 0, k, take_line(cf_full_size(n)));
    for (int turn = 0; turn < 40; turn++) {
        fill_normal(x, n);
        mix_one(cf_newton_ball(&m, k, &step, x, w, w_new, &lam, scratch));
        memcpy(w, w_new, (size_t)n * sizeof *w);
        MIX(w, n);
    }
    mix_one(lam);
    mix_one(m.logdet);
}

static void regions(const cf_table *k, ptrdiff_t n)
{
    double *scratch = take_line(cf_pad(cf_region_newton_scratch(n))), *x = take_doubles(n);
    double *w = take_doubles(n), *z = take_normal(n), *w_new = take_doubles(n), lam = 0.0;
    double *low = take_positive(n, -3, -1), *high = take_positive(n, 1, 2);
    signed char *face = take_bytes((size_t)n, 0, 0);
    for (int kind = 0; kind < 4; kind++) {
        const cf_region set = {n,   (cf_region_kind)kind, 0.8, kind == CF_REGION_SIMPLEX ? 0.01 : 0.0,
                               low, high};
        cf_full m;
        cf_full_init(&m, n, 0.5, 0, k, take_line(cf_full_size(n)));
        memset(face, 0, (size_t)n);
        mix_one(cf_region_project(&set, k, z, w, scratch));
        MIX(w, n);
        for (int turn = 0; turn < 20; turn++) {
            fill_normal(x, n);
            mix_one(cf_region_newton(&set, &m, k, -2.0, x, w, w_new, &lam, face, scratch));
            memcpy(w, w_new, (size_t)n * sizeof *w);
            MIX(w, n);
            MIX(face, n);
            mix_one(cf_loss_value(k, CF_LOSS_LOGISTIC, x[0], 1.0));
            mix_one(cf_loss_slope(k, CF_LOSS_LOGISTIC, x[0], -1.0));
        }
    }
}

/* dense and sparse rows of a ridge regression, an inverted index, and a factor with many sides */
static void learned_rows(const cf_table *k, ptrdiff_t n)
{
    double *x = take_normal(n), *w = take_normal(n), *a = take_positive(n, -3, 3);
    double *a_new = take_doubles(n), *w_new = take_doubles(n), square, slope;
    int64_t *index = take_bytes((size_t)n * sizeof *index, 0, 0);
    for (ptrdiff_t i = 0; i < n; i++)
        index[i] = i;
    for (int sparse = 0; sparse < 2; sparse++) {
        const cf_row row = {n, n, x, NULL, sparse ? index : NULL};
        mix_one(k->ridge_dot(&row, w));
        mix_one(k->ridge_square(&row));
        mix_one(k->ridge_quad(&row, a));
        mix_one(k->ridge_step(&row, 0.3, 0.7, a, w, a_new, w_new));
        k->ridge_place(&row, w_new, w);
        MIX(w, n);
        MIX(a_new, n);
    }
    k->ridge_shrink(n, a, w, 0.4, w_new, &square, &slope);
    mix_one(square);
    mix_one(slope);
    mix_one(cf_ridge_ball(k, n, a, w, 0.5, w_new));
    MIX(w_new, n);
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = 1.0;
    k->rbf_of_dots(n, a, 0.5, 0.1, x);
    k->poly_of_dots(n, 0.1, 30.0, 2.5, w);
    MIX(x, n);
    MIX(w, n);
    cf_postings lists = {.room = 4 * n, .features = n};
    lists.pool = take_bytes((size_t)(4 * n) * sizeof *lists.pool, 0, 0);
    lists.list = take_bytes((size_t)n * sizeof *lists.list, 0, 0);
    memset(lists.list, 0, (size_t)n * sizeof *lists.list);
    cf_postings_add(&lists, n, index, a);
    cf_postings_add(&lists, n, index, w_new);
    double dots[2];
    k->postings_dots(&lists, 0, n, index, a_new, dots);
    MIX(dots, 2);
    const cf_triangle m = {random_spd(n, 6), n, n};
    cf_cholesky l = {take_line(cf_panels_size(n)), take_line(cf_pad(n)), 0};
    double *sides = take_line(13 * cf_pad(n));
    memset(sides, 0, (size_t)(13 * cf_pad(n)) * sizeof *sides);
    for (int r = 0; r < 13; r++)
        fill_normal(sides + r * cf_pad(n), n);
    mix_one(k->cholesky_factor(&m, &l));
    k->cholesky_forward_many(&l, 13, sides, cf_pad(n));
    MIX(sides, 13 * cf_pad(n));
    cf_triangle b = take_triangle(m.data, n, 0, 0);
    double *term = take_padded(n), *v = take_padded(n);
    memcpy(term, x, (size_t)n * sizeof *x);
    k->symv_less(&b, term, a, v);
    MIX(v, n);
}

static uint64_t checksum(const cf_table *k)
{
    sum = 0xCBF29CE484222325u;
    check_seed = 1;
    for (ptrdiff_t n = 1; n <= 70; n++) {
        vectors(k, n);
        rows(k, n);
        feedback(k, n);
        scores(k, n);
        matrices(k, n);
        learned_rows(k, n);
        release();
    }
    for (ptrdiff_t n = 1; n <= 50; n += 7) {
        projections(k, n, 6);
        metrics(k, n, 0);
        metrics(k, n, 1);
        pasts(k, n, 0);
        pasts(k, n, 1);
        rounds(k, n);
        regions(k, n);
        release();
    }
    projections(k, 120, 30); /* the ball's fallback */
    scores(k, 300);
    scores(k, 3000);
    vectors(k, 1003);
    release();
    return sum;
}

int main(void)
{
    const cf_table *tables[8];
    const int count = check_tables(tables);
    uint64_t first = 0;
    int with_fma = 0, same = 1;
    for (int i = 0; i < count; i++) {
        if (!tables[i]->has_fma)
            continue;
        const uint64_t bits = checksum(tables[i]);
        printf("%s bits %016llx\n", tables[i]->isa, (unsigned long long)bits);
        first = with_fma++ ? first : bits;
        same = same && bits == first;
    }
    return same && with_fma > 0 && check.failures == 0 ? 0 : 1;
}
