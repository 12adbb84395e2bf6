/* Many rows against one triangle: each row the bits that it gets alone. */
#include "cf_reference.h"

/* The triangle of an inverse-like matrix in panels; what nothing may look at is NaN. */
static cf_triangle take_panels(ptrdiff_t n)
{
    cf_triangle b = {take_line(cf_panels_size(n)), n, 0};
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            cf_triangle_row(&b, i)[j] = random_normal() + (i == j ? 4.0 : 0.0);
    return b;
}

TEST_TABLES(quads_of_rows)
{
    FOR_SIZES(n, 1, 129) {
        CONTEXT("%s n=%td", k->isa, n);
        const cf_triangle b = take_panels(n);
        const ptrdiff_t stride = n + n % 3;
        double *x = take_offset(8 * stride, n % 2), *w = take_padded(n);
        double *t = take_doubles(cf_pad(n));
        double *edges = take_line(8 * cf_pad(n)), *scratch = take_line(8 * cf_pad(n)), q[8];
        fill_normal(x, 8 * stride);
        fill_normal(w, n);
        k->quad_edges(&b, edges);
        for (ptrdiff_t m = 1; m <= 8; m++) {
            k->quad_rows(&b, edges, w, m, x, stride, q, scratch);
            for (ptrdiff_t l = 0; l < m; l++) {
                const double *row = TAKE_COPY(x + l * stride, n);
                const double alone = k->quad_row(&b, w, row, t);
                CHECK_BITS(&q[l], &alone, 1);
            }
        }
        for (ptrdiff_t l = 0; l < 8; l++) {
            const double *row = x + l * stride;
            wide exact = 0.0L, wx = 0.0L;
            double size = 0.0;
            for (ptrdiff_t i = 0; i < n; i++) {
                wx += (wide)w[i] * row[i];
                for (ptrdiff_t j = 0; j <= i; j++) {
                    const wide term = (wide)cf_triangle_row(&b, i)[j] * row[i] * row[j];
                    exact += i == j ? term : 2.0L * term;
                    size += 2.0 * fabs((double)term) + 2.0 * fabs(w[i] * w[j] * row[i] * row[j]);
                }
            }
            exact -= wx * wx;
            CHECK_CLOSE(q[l], exact, 4e-15 * size);
        }
        AGREE(k, q, 8);
        double *nothing = take_padded(n); /* the same bits when the term has gone into b */
        k->rank_one(&b, w, w);
        for (ptrdiff_t l = 0; l < 8; l++) {
            const double *row = TAKE_COPY(x + l * stride, n);
            const double later = k->quad_row(&b, nothing, row, t);
            CHECK_BITS(&q[l], &later, 1);
        }
        release();
    }
}

TEST_TABLES(products_of_rows)
{
    FOR_SIZES(n, 1, 129) {
        CONTEXT("%s n=%td", k->isa, n);
        const cf_triangle b = take_panels(n);
        const ptrdiff_t stride = n + n % 3, apart = n + n % 2;
        double *x = take_offset(8 * stride, n % 2), *v = take_offset(8 * apart, 1);
        double *edges = take_line(16 * cf_pad(n)), *scratch = take_line(8 * cf_pad(n));
        double *alone = take_doubles(cf_pad(n));
        fill_normal(x, 8 * stride);
        k->symv_edges(&b, edges);
        for (ptrdiff_t m = 1; m <= 8; m++) {
            k->symv_rows(&b, edges, m, x, stride, v, apart, scratch);
            for (ptrdiff_t l = 0; l < m; l++) {
                k->symv(&b, x + l * stride, alone);
                CHECK_BITS(v + l * apart, alone, n);
                AGREE(k, v + l * apart, n);
            }
        }
        release();
    }
}

TEST_TABLES(rows_against_the_factors)
{
    FOR_SIZES(n, 1, 70) {
        CONTEXT("%s n=%td", k->isa, n);
        cf_triangle ut = {take_line(cf_panels_size(n)), n, 0};
        double *d = take_padded(n), *x = take_normal(8 * n), *v = take_doubles(8 * n), q[8], same;
        double *f = take_doubles(8 * cf_pad(n)), *alone = take_doubles(cf_pad(n));
        memset(ut.data, 0, (size_t)cf_panels_size(n) * sizeof *ut.data);
        for (ptrdiff_t i = 0; i < n; i++) {
            d[i] = fabs(random_scaled(-3, 3));
            fill_normal(cf_triangle_row(&ut, i), i);
        }
        for (ptrdiff_t m = 1; m <= 8; m += 3) {
            k->ud_quad_rows(&ut, d, m, x, n, f, q);
            k->ud_solve_rows(&ut, d, m, x, n, f, v, n);
            for (ptrdiff_t l = 0; l < m; l++) {
                k->ud_quad(&ut, d, x + l * n, f, &same);
                k->ud_solve(&ut, d, x + l * n, f, alone);
                CHECK_BITS(&q[l], &same, 1);
                CHECK_BITS(v + l * n, alone, n);
                AGREE(k, &same, 1);
            }
        }
        release();
    }
}

/* The driver: rows of either kind in any number, with a scale, and the first that overflows. */
TEST_TABLES(rows_against_a_metric)
{
    for (int robust = 0; robust < 2; robust++)
        for (ptrdiff_t n = 1; n <= 33; n += 4) {
            CONTEXT("%s n=%td robust=%d", k->isa, n, robust);
            cf_full m;
            double *memory = take_line(cf_full_size(n)), *scratch = take_line(cf_full_scratch(n));
            double *room = take_line(cf_full_many_scratch(n)), *x = take_normal(21 * n), q[21];
            double *y = take_doubles(21 * n), *alone = take_doubles(cf_pad(n));
            double *f = take_doubles(n);
            float *narrow = take_floats(21 * n);
            cf_full_init(&m, n, 0.5, robust, k, memory);
            for (ptrdiff_t t = 0; t < 20; t++)
                CHECK_INT(cf_full_update(&m, k, x + t * n, 1.0, scratch, q), CF_OK);
            for (ptrdiff_t i = 0; i < 21 * n; i++)
                narrow[i] = (float)x[i];
            for (int wide_rows = 0; wide_rows < 2; wide_rows++) {
                const cf_full_rows rows = {21, n, wide_rows ? x : NULL, wide_rows ? NULL : narrow};
                CHECK_INT(cf_full_quad_many(&m, k, &rows, 0.25, q, room), 21);
                CHECK_INT(cf_full_solve_many(&m, k, &rows, 0.25, y, room), 21);
                for (ptrdiff_t t = 0; t < 21; t++) {
                    for (ptrdiff_t i = 0; i < n; i++)
                        f[i] = wide_rows ? x[t * n + i] : (double)narrow[t * n + i];
                    const double one = cf_full_quad(&m, k, f, scratch) / 0.25;
                    CHECK_BITS(&q[t], &one, 1);
                    cf_full_solve(&m, k, f, scratch, alone);
                    for (ptrdiff_t i = 0; i < n; i++)
                        CHECK(y[t * n + i] == alone[i] / 0.25);
                }
            }
            x[17 * n] = 1e200;
            const cf_full_rows rows = {21, n, x, NULL};
            CHECK_INT(cf_full_quad_many(&m, k, &rows, 1.0, q, room), 17);
            x[11 * n + n - 1] = NAN;
            CHECK_INT(cf_full_solve_many(&m, k, &rows, 1.0, y, room), 11);
            release();
        }
}

CHECK_MAIN
