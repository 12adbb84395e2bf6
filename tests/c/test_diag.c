/* The diagonal metric with forgetting, against its definition. */
#include "cf_reference.h"

static cf_diag take_diag(ptrdiff_t n, double ridge)
{
    cf_diag m = {.n = n, .ridge = ridge, .a = take_doubles(n), .now = 1.0};
    for (ptrdiff_t i = 0; i < n; i++)
        m.a[i] = ridge;
    return m;
}

/* A row with every third feature, in one of the three forms. */
static cf_row take_row(ptrdiff_t n, int form)
{
    const ptrdiff_t nnz = form ? (n + 2) / 3 : n;
    double *value = take_normal(nnz);
    int32_t *i32 = take_bytes((size_t)nnz * 4, 0, 0);
    int64_t *i64 = take_bytes((size_t)nnz * 8, 0, 0);
    for (ptrdiff_t e = 0; e < nnz; e++)
        i64[e] = i32[e] = (int32_t)(3 * e);
    return (cf_row){n, nnz, value, form == 1 ? i32 : NULL, form == 2 ? i64 : NULL};
}

static ptrdiff_t place(const cf_row *x, ptrdiff_t e) { return x->i32 || x->i64 ? 3 * e : e; }

TEST_TABLES(without_forgetting_the_kernels)
{
    for (ptrdiff_t n = 1; n <= 40; n++) {
        CONTEXT("%s n=%td", k->isa, n);
        cf_diag m = take_diag(n, 0.5);
        double *a = TAKE_COPY(m.a, n), *scratch = take_doubles(n), *y = take_doubles(n), q;
        for (int turn = 0; turn < 9; turn++) {
            const cf_row x = take_row(n, turn % 3);
            const double same = k->diagonal_quad(&x, a);
            CHECK_INT(cf_diag_update(&m, k, &x, 0.7, scratch, &q), CF_OK);
            CHECK_BITS(&q, &same, 1);
            k->diagonal_update(&x, 0.7, a);
            CHECK_BITS(m.a, a, n);
            cf_diag_solve(&m, k, &x, y, scratch);
            for (ptrdiff_t e = 0; e < x.nnz; e++)
                CHECK(y[e] == x.value[e] / a[place(&x, e)]);
        }
        release();
    }
}

TEST_TABLES(forgetting_is_its_definition)
{
    for (ptrdiff_t n = 1; n <= 40; n += 3) {
        CONTEXT("%s n=%td", k->isa, n);
        cf_diag m = take_diag(n, 0.5);
        wide *a = take_wide(n);
        double *scratch = take_doubles(n), *y = take_doubles(n), q;
        for (ptrdiff_t i = 0; i < n; i++)
            a[i] = 0.5L;
        cf_diag_mark(&m, take_doubles(n));
        for (int turn = 0; turn < 700; turn++) {
            const double f = turn == 300 ? 1e-200 : turn % 50 == 7 ? 1.0 : 0.4;
            const cf_row x = take_row(n, turn % 3);
            wide exact = 0.0L;
            cf_diag_forget(&m, f);
            for (ptrdiff_t i = 0; i < n; i++)
                a[i] = f * a[i] + (1.0L - f) * 0.5L;
            for (ptrdiff_t e = 0; e < x.nnz; e++)
                exact += (wide)x.value[e] * x.value[e] / a[place(&x, e)];
            if (turn % 5 == 0) {
                CHECK_INT(cf_diag_update(&m, k, &x, 0.7, scratch, &q), CF_OK);
                for (ptrdiff_t e = 0; e < x.nnz; e++)
                    a[place(&x, e)] += 0.7 * (wide)x.value[e] * x.value[e];
            } else {
                q = cf_diag_quad(&m, k, &x, scratch);
                cf_diag_solve(&m, k, &x, y, scratch);
                for (ptrdiff_t e = 0; e < x.nnz; e++)
                    CHECK_CLOSE(y[e], x.value[e] / a[place(&x, e)], 1e-13 * fabs(y[e]));
            }
            CHECK_CLOSE(q, exact, 1e-12 * (double)exact);
            CHECK(m.now >= 0x1p-500 && m.now <= 1.0);
            AGREE(k, &q, 1);
            if (turn % 100 == 99) {
                cf_diag_entries(&m, y);
                for (ptrdiff_t i = 0; i < n; i++)
                    CHECK_CLOSE(y[i], a[i], 1e-13 * y[i]);
            }
        }
        release();
    }
}

TEST_TABLES(downdates_and_refusals)
{
    for (int marked = 0; marked < 2; marked++)
        for (ptrdiff_t n = 1; n <= 20; n++) {
            CONTEXT("%s n=%td marked=%d", k->isa, n, marked);
            cf_diag m = take_diag(n, 2.0);
            double *scratch = take_doubles(n), *mark = take_doubles(n), q, *now = take_doubles(n);
            double *x = take_doubles(n);
            if (marked) {
                cf_diag_mark(&m, mark);
                cf_diag_forget(&m, 0.5);
            }
            for (ptrdiff_t i = 0; i < n; i++)
                x[i] = 1.0;
            const cf_row row = {n, n, x, NULL, NULL};
            for (int turn = 0; turn < 3; turn++) { /* far below the ridge, digit for digit */
                cf_diag_entries(&m, now);
                CHECK_INT(cf_diag_update(&m, k, &row, -0.99999 * now[0], scratch, &q), CF_OK);
            }
            cf_diag_entries(&m, now);
            CHECK_CLOSE(now[n - 1], 2e-15, 1e-20);
            const double *a = TAKE_COPY(m.a, n);
            CHECK_INT(cf_diag_update(&m, k, &row, -now[0], scratch, &q), CF_EVALUE);
            CHECK_INT(cf_diag_update(&m, k, &row, 1.7e308, scratch, &q), CF_OK);
            a = TAKE_COPY(m.a, n);
            CHECK_INT(cf_diag_update(&m, k, &row, 1.7e308, scratch, &q), CF_ENONFINITE);
            x[0] = 1e200;
            CHECK_INT(cf_diag_update(&m, k, &row, 1.0, scratch, &q), CF_ENONFINITE);
            memset(x, 0, (size_t)n * sizeof *x);
            CHECK_INT(cf_diag_update(&m, k, &row, 1.0, scratch, &q), CF_OK);
            CHECK(q == 0.0);
            CHECK_BITS(m.a, a, n);
            release();
        }
}

CHECK_MAIN
