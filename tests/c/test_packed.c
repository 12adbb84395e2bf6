/* The packed form of B = U D U^T against an explicit inverse. */
#include "cf_reference.h"

typedef struct thin {
    ptrdiff_t n;
    double *d, *u, *f, *v, *a; /* a: the matrix itself, n x n */
} thin;

/* A = ridge I; d and u have not one double more than they need, and lie anywhere */
static thin take_thin(ptrdiff_t n, double ridge)
{
    thin p = {n,
                take_offset(n, 1),
                take_offset(cf_packed_size(n), 3),
                take_offset(cf_pad(n), 1),
                take_offset(cf_pad(n), 0),
                take_doubles(n * n)};
    for (ptrdiff_t i = 0; i < cf_packed_size(n); i++)
        p.u[i] = 0.0;
    for (ptrdiff_t i = 0; i < n * n; i++)
        p.a[i] = i / n == i % n ? ridge : 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        p.d[i] = 1.0 / ridge;
    return p;
}

static double update(const cf_table *k, thin *p, const double *x, double c, double *last)
{
    const double q = k->packed_look(p->n, p->d, p->u, x, p->f);
    *last = k->packed_update(p->n, p->d, p->u, c, p->f, p->v);
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = 0; j < p->n; j++)
            p->a[i * p->n + j] += c * x[i] * x[j];
    return q;
}

static double *random_row(ptrdiff_t n, int sparse)
{
    double *x = take_padded(n);
    fill_normal(x, n);
    for (ptrdiff_t i = 0; sparse && i < n; i++)
        x[i] = i % 3 ? 0.0 : x[i];
    return x;
}

/* x^T A^-1 x; y becomes A^-1 x */
static wide exact(const thin *p, const double *x, wide **y)
{
    wide q = 0.0L;
    *y = widened(p->n, x);
    wide_solve(p->n, widened(p->n * p->n, p->a), 1, *y);
    for (ptrdiff_t i = 0; i < p->n; i++)
        q += (*y)[i] * x[i];
    return q;
}

TEST_TABLES(updates_and_readings)
{
    FOR_SIZES(n, 1, check_count(70, 40)) {
        CONTEXT("%s n=%td", k->isa, n);
        thin p = take_thin(n, 0.5);
        for (int turn = 0; turn < 20; turn++) {
            const double *x = random_row(n, turn % 5 == 1);
            const double c = fabs(random_scaled(-3, 3));
            double last, most = 0.0;
            wide *y;
            const wide q = exact(&p, x, &y);
            CHECK_CLOSE(update(k, &p, x, c, &last), q, 1e-11 * (double)q);
            CHECK_CLOSE(last, 1.0 / c + (double)q, 1e-11 * last);
            for (ptrdiff_t i = 0; i < n; i++)
                most = fmax(most, (double)fabsl(y[i]));
            for (ptrdiff_t i = 0; i < n; i++)
                CHECK_CLOSE(p.v[i], y[i], 1e-11 * most);
            for (ptrdiff_t i = n; i < cf_pad(n); i++)
                CHECK(p.f[i] == 0.0);
        }
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK(p.d[i] > 0.0);
        AGREE(k, p.d, n);
        AGREE(k, p.u, cf_packed_size(n));
        AGREE(k, p.v, n);
        release();
    }
}

/* U s, by its columns. */
TEST_TABLES(products)
{
    FOR_SIZES(n, 1, 40) {
        CONTEXT("%s n=%td", k->isa, n);
        const double *s = random_row(n, 0);
        double *u = take_offset(cf_packed_size(n), 1), *v = take_offset(cf_pad(n), 1);
        fill_normal(u, cf_packed_size(n));
        k->packed_product(n, u, s, v);
        for (ptrdiff_t i = 0; i < n; i++) {
            wide sum = s[i], size = fabs(s[i]);
            for (ptrdiff_t j = i + 1; j < n; j++) {
                sum += (wide)u[cf_packed_size(j) + i] * s[j];
                size += fabsl((wide)u[cf_packed_size(j) + i] * s[j]);
            }
            CHECK_CLOSE(v[i], sum, 1e-14 * (double)size);
        }
        AGREE(k, v, n);
        release();
    }
}

TEST_TABLES(x_zero_changes_nothing)
{
    thin p = take_thin(16, 2.0);
    double last;
    update(k, &p, random_row(16, 0), 1.0, &last);
    const double *d = TAKE_COPY(p.d, 16), *u = TAKE_COPY(p.u, cf_packed_size(16));
    CHECK_CLOSE(update(k, &p, take_padded(16), 4.0, &last), 0.0, 0.0);
    CHECK_CLOSE(last, 0.25, 0.0);
    CHECK_BITS(p.d, d, 16);
    CHECK_BITS(p.u, u, cf_packed_size(16));
}

CHECK_MAIN
