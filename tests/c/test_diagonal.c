/* The diagonal metric, dense and sparse. */
#include "cf_reference.h"

static double *take_positive(ptrdiff_t n, ptrdiff_t offset)
{
    double *a = take_offset(n, offset);
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = fabs(random_scaled(-20, 20));
    return a;
}

TEST_TABLES(dense_rows)
{
    FOR_SIZES(n, 0, 1000) {
        const double c = fabs(random_scaled(-3, 3));
        CONTEXT("%s n=%td", k->isa, n);
        double *a = take_positive(n, n % 2), *x = take_offset(n, 1), *y = take_offset(n, n % 3);
        fill_normal(x, n);
        wide exact = 0.0L;
        for (ptrdiff_t i = 0; i < n; i++)
            exact += (wide)x[i] * x[i] / a[i];
        const cf_row row = {n, n, x, NULL, NULL};
        const double q = k->diagonal_quad(&row, a);
        CHECK_CLOSE(q, exact, sum_error(n, (double)exact));
        k->diagonal_solve(n, a, x, y);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(y[i], x[i] / a[i], 0.0);
        const double *before = TAKE_COPY(a, n);
        k->diagonal_update(&row, c, a);
        for (ptrdiff_t i = 0; i < n; i++) {
            CHECK_CLOSE(a[i], (wide)before[i] + (wide)c * x[i] * x[i], 2 * DBL_EPSILON * a[i]);
            CHECK(a[i] >= before[i]);
        }
        AGREE(k, &q, 1);
        AGREE(k, y, n);
        AGREE(k, a, n);
        release();
    }
}

/* Lanes beyond the end are no 0/0, and an entry counts once. */
TEST_TABLES(every_entry_counts_once)
{
    for (ptrdiff_t n = 1; n <= 70; n++) {
        double *a = take_doubles(n), *x = take_doubles(n);
        for (ptrdiff_t i = 0; i < n; i++) {
            a[i] = 1.0 / (double)(i + 1);
            x[i] = 0.0;
        }
        const cf_row row = {n, n, x, NULL, NULL};
        for (ptrdiff_t i = 0; i < n; i++) {
            x[i] = 2.0;
            CHECK_CLOSE(k->diagonal_quad(&row, a), 4.0 / a[i], 1e-12);
            x[i] = 0.0;
        }
        release();
    }
}

TEST_TABLES(sparse_rows)
{
    FOR_SIZES(nnz, 0, 1000) {
        const ptrdiff_t n = 2 * nnz + 1;
        const double c = fabs(random_scaled(-3, 3));
        CONTEXT("%s nnz=%td", k->isa, nnz);
        int32_t *i32 = take_bytes((size_t)nnz * 4, 0, 0);
        int64_t *i64 = take_bytes((size_t)nnz * 8, 0, 0);
        double *value = take_normal(nnz), *a = take_positive(n, 0), *other = TAKE_COPY(a, n);
        double *dense = take_padded(n), *naive = TAKE_COPY(a, n);
        for (ptrdiff_t e = 0; e < nnz; e++) { /* each index once, the last one included */
            i64[e] = n - 1 - 2 * e;
            i32[e] = (int32_t)i64[e];
            dense[i64[e]] = value[e];
        }
        const cf_row whole = {n, n, dense, NULL, NULL}, narrow = {n, nnz, value, i32, NULL};
        const cf_row wide_places = {n, nnz, value, NULL, i64};
        const double q = k->diagonal_quad(&narrow, a);
        CHECK_CLOSE(q, k->diagonal_quad(&whole, a), 2 * sum_error(n, q));
        CHECK_CLOSE(k->diagonal_quad(&wide_places, a), q, 0.0);
        k->diagonal_update(&whole, c, naive);
        k->diagonal_update(&narrow, c, a);
        k->diagonal_update(&wide_places, c, other);
        CHECK_BITS(a, naive, n);
        CHECK_BITS(other, naive, n);
        AGREE(k, &q, 1);
        AGREE(k, a, n);
        release();
    }
}

CHECK_MAIN
