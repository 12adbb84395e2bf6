/* Gram rows: rbf and polynomial kernels against long double. */
#include "cf_reference.h"

TEST_TABLES(rbf)
{
    FOR_SIZES(d, 0, 257) {
        const ptrdiff_t n = d % 12, stride = d + d % 3;
        const double gamma = 0.3 / (1.0 + (double)d);
        CONTEXT("%s n=%td d=%td", k->isa, n, d);
        const ptrdiff_t span = n > 0 ? (n - 1) * stride + d : 0;
        double *rows = take_offset(span, 1), *x = take_offset(d, d % 2), *out = take_doubles(n);
        fill_normal(rows, span);
        fill_normal(x, d);
        k->gram_rbf(n, d, rows, stride, x, gamma, out);
        for (ptrdiff_t r = 0; r < n; r++) {
            wide distance2 = 0.0L;
            for (ptrdiff_t j = 0; j < d; j++) {
                const wide difference = (wide)rows[r * stride + j] - x[j];
                distance2 += difference * difference;
            }
            const wide exact = expl(-gamma * distance2);
            const double exponent = gamma * (double)distance2;
            CHECK_CLOSE(out[r], exact,
                        DBL_EPSILON * (4.0 + exponent * ((double)d / 8.0 + 8.0)) * (double)exact);
        }
        AGREE(k, out, n);
        release();
    }
}

/* near rows lose no digit: the distance comes from the differences, not from three products */
TEST_TABLES(rbf_of_near_and_equal_rows)
{
    const ptrdiff_t d = 20;
    double x[20], rows[40], out[2];
    for (ptrdiff_t j = 0; j < d; j++) {
        x[j] = 1e8 + (double)j;
        rows[j] = x[j];
        rows[d + j] = x[j] + 0.5;
    }
    k->gram_rbf(2, d, rows, d, x, 0.25, out);
    CHECK_CLOSE(out[0], 1.0, 0.0);
    CHECK_CLOSE(out[1], expl(-0.25L * 0.25L * 20.0L), 1e-15);
}

static void check_poly(const cf_table *k, ptrdiff_t d, double coef0, double degree)
{
    const ptrdiff_t n = 11, stride = d + 1, span = (n - 1) * stride + d;
    const double gamma = 1.0 / (1.0 + (double)d);
    double *rows = take_normal(span), *x = take_normal(d), *out = take_offset(n, 1);
    k->gram_poly(n, d, rows, stride, x, gamma, coef0, degree, out);
    for (ptrdiff_t r = 0; r < n; r++) {
        const double *row = rows + r * stride;
        const wide base = (wide)gamma * wide_dot(d, row, x) + coef0, exact = powl(base, degree);
        /* the base's own error is enlarged by the degree */
        const double error = 2.0 * sum_error(d, gamma * sum_abs(d, row, x) + fabs(coef0));
        const double share = fabs(degree) * error / (double)fabsl(base) +
                             DBL_EPSILON * (4.0 + fabs(degree * log(fabs((double)base))));
        CHECK_CLOSE(out[r], exact, 4.0 * share * (double)fabsl(exact));
    }
    AGREE(k, out, n);
}

TEST_TABLES(poly_of_whole_and_broken_degrees)
{
    static const double degrees[] = {0.0, 1.0, 2.0, 3.0, 7.0, 10.0, 0.5, 2.5, -1.0, -0.5, 3.25};
    for (ptrdiff_t d = 0; d < 70; d += d < 20 ? 1 : 23)
        for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
            const int whole = degrees[i] >= 0.0 && degrees[i] == floor(degrees[i]);
            CONTEXT("%s d=%td degree=%g", k->isa, d, degrees[i]);
            check_poly(k, d, whole && i % 2 ? 0.7 : 8.0, degrees[i]); /* 8: no negative base */
            release();
        }
}

TEST_TABLES(poly_at_the_edges)
{
    const double row[] = {2.0}, x[] = {1.0};
    double out[1];
    k->gram_poly(1, 1, row, 1, x, 1.0, -4.0, 3.0, out); /* whole powers keep the sign */
    CHECK_CLOSE(out[0], -8.0, 0.0);
    k->gram_poly(1, 1, row, 1, x, 1.0, -4.0, 2.5, out); /* and the others refuse it */
    CHECK(isnan(out[0]));
    k->gram_poly(1, 1, row, 1, x, 1.0, -2.0, 0.5, out);
    CHECK_CLOSE(out[0], 0.0, 0.0);
    k->gram_poly(1, 1, row, 1, x, 1.0, -2.0, 0.0, out);
    CHECK_CLOSE(out[0], 1.0, 0.0);
    k->gram_poly(1, 1, row, 1, x, 1.0, 0.0, 1000.0, out);
    CHECK_CLOSE(out[0], 0x1p1000, 0.0);
    k->gram_poly(1, 1, row, 1, x, 1.0, 0.0, 2000.0, out); /* beyond the whole powers */
    CHECK(out[0] == INFINITY);
    k->gram_poly(1, 1, row, 1, x, 1.0, -1.0, 1e9, out);
    CHECK_CLOSE(out[0], 1.0, 0.0);
}

/* the same from dot products that are there: poly to the bit, rbf but for what three products lose */
TEST_TABLES(kernels_of_dot_products)
{
    static const double degrees[] = {0.0, 1.0, 2.0, 3.0, 2.5};
    FOR_SIZES(d, 1, 65) {
        const ptrdiff_t n = 9;
        double *rows = take_normal(n * d), *x = take_normal(d), *out = take_doubles(n);
        double *direct = take_doubles(n), *square = take_doubles(n);
        const double gamma = 0.5 / (double)d, own = k->dot(d, x, x);
        CONTEXT("%s d=%td", k->isa, d);
        memcpy(rows, x, (size_t)d * sizeof *x); /* one of them is x itself */
        for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++) {
            k->gram_poly(n, d, rows, d, x, gamma, 40.0, degrees[i], direct);
            for (ptrdiff_t r = 0; r < n; r++)
                out[r] = k->dot(d, rows + r * d, x);
            k->poly_of_dots(n, gamma, 40.0, degrees[i], out);
            CHECK_BITS(out, direct, n);
        }
        k->gram_rbf(n, d, rows, d, x, gamma, direct);
        for (ptrdiff_t r = 0; r < n; r++) {
            out[r] = k->dot(d, rows + r * d, x);
            square[r] = k->dot(d, rows + r * d, rows + r * d);
        }
        k->rbf_of_dots(n, square, own, gamma, out);
        CHECK_CLOSE(out[0], 1.0, 0.0);
        for (ptrdiff_t r = 1; r < n; r++)
            CHECK_CLOSE(out[r], direct[r], 1e-14);
        AGREE(k, out, n);
        release();
    }
    double dots[] = {1.1, 1.0, NAN}, squares[] = {1.0, 1.0, 1.0};
    k->rbf_of_dots(3, squares, 1.0, 1.0, dots); /* a distance below zero is zero */
    CHECK(dots[0] == 1.0 && dots[1] == 1.0 && isnan(dots[2]));
}

CHECK_MAIN
