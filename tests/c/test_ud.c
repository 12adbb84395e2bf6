/* The factored form B = U D U^T against an explicit inverse. */
#include "cf_reference.h"

typedef struct robust {
    ptrdiff_t n;
    cf_triangle ut;
    double *d, *f, *scratch, *a; /* a: the matrix itself, n x n */
} robust;

/* A = ridge I */
static robust take_robust(ptrdiff_t n, double ridge)
{
    robust r = {n, {NULL, n, 0}, take_padded(n), NULL, NULL, take_doubles(n * n)};
    r.ut.data = take_line(cf_panels_size(n));
    memset(r.ut.data, 0, (size_t)cf_panels_size(n) * sizeof(double));
    r.f = take_offset(cf_pad(n), 1);
    r.scratch = take_offset(cf_pad(n), 0);
    for (ptrdiff_t i = 0; i < n * n; i++)
        r.a[i] = i / n == i % n ? ridge : 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        r.d[i] = 1.0 / ridge;
    return r;
}

static double update(const cf_table *k, robust *r, const double *x, double c)
{
    double q = -1.0;
    k->ud_quad(&r->ut, r->d, x, r->f, &q);
    k->ud_update(&r->ut, r->d, c, r->f, r->scratch);
    for (ptrdiff_t i = 0; i < r->n; i++)
        for (ptrdiff_t j = 0; j < r->n; j++)
            r->a[i * r->n + j] += c * x[i] * x[j];
    return q;
}

/* d > 0, zero beyond n; zeros on the diagonal and above it; rows that are not there are zero */
static void check_invariants(const robust *r)
{
    for (ptrdiff_t i = 0; i < cf_pad(r->n); i++) {
        CHECK(i < r->n ? r->d[i] > 0.0 : r->d[i] == 0.0);
        const double *row = cf_triangle_row(&r->ut, i);
        for (ptrdiff_t j = i < r->n ? i : 0; j < 8 * (i / 8 + 1); j++)
            CHECK(row[j] == 0.0);
    }
}

/* x^T A^-1 x and A^-1 x in long double */
static wide *exact_solution(const robust *r, const double *x, wide *q)
{
    const ptrdiff_t n = r->n;
    wide *y = widened(n, x);
    wide_solve(n, widened(n * n, r->a), 1, y);
    *q = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++)
        *q += y[i] * x[i];
    return y;
}

static void check_readings(const cf_table *k, const robust *r, const double *x, double error)
{
    wide q;
    const wide *exact = exact_solution(r, x, &q);
    double got = -1.0, *v = take_offset(cf_pad(r->n), 1), most = 0.0;
    k->ud_quad(&r->ut, r->d, x, r->f, &got);
    CHECK_CLOSE(got, q, error * (double)q);
    k->ud_solve(&r->ut, r->d, x, r->f, v);
    for (ptrdiff_t i = 0; i < r->n; i++)
        most = fmax(most, (double)fabsl(exact[i]));
    for (ptrdiff_t i = 0; i < r->n; i++)
        CHECK_CLOSE(v[i], exact[i], error * most);
    for (ptrdiff_t i = r->n; i < cf_pad(r->n); i++)
        CHECK(v[i] == 0.0 && r->f[i] == 0.0);
    AGREE(k, &got, 1);
    AGREE(k, v, r->n);
}

TEST_TABLES(updates_and_readings)
{
    FOR_SIZES(n, 1, check_count(129, 65)) {
        CONTEXT("%s n=%td", k->isa, n);
        robust r = take_robust(n, 0.5);
        double *x = take_normal(n);
        for (int turn = 0; turn < 20; turn++) {
            fill_normal(x, n);
            if (turn % 5 == 1) /* a sparse row: zeros among the multipliers */
                for (ptrdiff_t i = 0; i < n; i++)
                    x[i] = i % 3 ? 0.0 : x[i];
            wide q;
            exact_solution(&r, x, &q);
            CHECK_CLOSE(update(k, &r, x, fabs(random_scaled(-3, 3))), q, 1e-11 * (double)q);
        }
        check_invariants(&r);
        fill_normal(x, n);
        check_readings(k, &r, x, 1e-11);
        AGREE(k, r.ut.data, cf_panels_size(n));
        AGREE(k, r.d, cf_pad(n));
        release();
    }
}

/* What the form is for: a condition of 1e14, where Sherman-Morrison would lose q altogether. */
TEST_TABLES(ill_conditioned_features)
{
    const ptrdiff_t n = 20;
    const int turns = check_count(5000, 300);
    robust r = take_robust(n, 1e-8);
    double *x = take_doubles(n), *scale = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        scale[i] = pow(10.0, -3.0 * (double)i / (double)(n - 1));
    for (int turn = 0; turn < turns; turn++) {
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = scale[i] * random_normal();
        update(k, &r, x, 1.0);
    }
    check_invariants(&r);
    check_readings(k, &r, x, 1e-10);
}

/* The weight's extremes keep D positive and finite. */
TEST_TABLES(extreme_weights_keep_d_positive)
{
    static const double weights[] = {1e-300, 1e-20, 1e20, 1e300};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        CONTEXT("%s c=%g", k->isa, weights[i]);
        robust r = take_robust(11, 1.0);
        double *x = take_normal(11);
        update(k, &r, x, weights[i]);
        check_invariants(&r);
        CHECK(k->all_finite(cf_panels_size(11), r.ut.data));
        CHECK(k->all_finite(11, r.d));
        release();
    }
}

TEST_TABLES(x_zero_gives_zero)
{
    robust r = take_robust(9, 2.0);
    double *x = take_padded(9), q = -1.0;
    k->ud_quad(&r.ut, r.d, x, r.f, &q);
    CHECK_CLOSE(q, 0.0, 0.0);
    const double *before = TAKE_COPY(r.d, 9);
    k->ud_update(&r.ut, r.d, 1.0, r.f, r.scratch);
    CHECK_BITS(r.d, before, 9);
    check_invariants(&r);
}

CHECK_MAIN
