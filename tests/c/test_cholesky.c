/* The growing Cholesky factor against naive factors in long double. */
#include "cf_reference.h"

/* Room for `room` rows; the memory holds NaN at first. */
static cf_cholesky take_factor(ptrdiff_t room)
{
    const cf_cholesky l = {take_line(cf_panels_size(room)), take_line(cf_pad(room)), 0};
    return l;
}

static wide *naive_factor(ptrdiff_t n, const double *m)
{
    wide *l = take_wide(n * n);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            wide s = m[i * n + j];
            for (ptrdiff_t k = 0; k < j; k++)
                s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = i == j ? sqrtl(s) : s / l[j * n + j];
        }
    return l;
}

/* Close to the exact factor; zeros above the diagonal and in rows not there; inv is 1 / L_ii. */
static void check_factor(const cf_cholesky *l, const wide *exact, double error)
{
    const ptrdiff_t n = l->n;
    for (ptrdiff_t i = 0; i < cf_pad(n); i++)
        for (ptrdiff_t j = 0; j < 8 * (i / 8 + 1); j++)
            if (i < n && j <= i)
                CHECK_CLOSE(*cf_cholesky_at(l, i, j), exact[i * n + j], error);
            else
                CHECK(*cf_cholesky_at(l, i, j) == 0.0);
    for (ptrdiff_t i = 0; i < cf_pad(n); i++)
        CHECK(l->inv[i] == (i < n ? 1.0 / *cf_cholesky_at(l, i, i) : 0.0));
}

static double *take_vector(ptrdiff_t n)
{
    double *v = take_padded(n);
    fill_normal(v, n);
    return v;
}

/* Appends the row of m (ld doubles) that comes next. */
static void append(const cf_table *k, cf_cholesky *l, const double *row)
{
    const ptrdiff_t n = l->n;
    double *u = take_padded(n);
    memcpy(u, row, (size_t)n * sizeof *u);
    k->cholesky_forward(l, 0, u, u);
    k->cholesky_append(l, u, sqrt(row[n] - k->dot(n, u, u)));
    CHECK_INT(l->n, n + 1);
}

TEST_TABLES(factor_solve_and_inverse)
{
    FOR_SIZES(n, 0, check_count(129, 65)) {
        const double *m = random_spd(n, 10);
        const wide *exact = naive_factor(n, m), *inverse = wide_inverse(n, m);
        for (int square = 0; square < 2; square++) {
            CONTEXT("%s n=%td square=%d", k->isa, n, square);
            cf_triangle t = take_triangle(m, n, square ? n + 1 : 0, square);
            cf_cholesky l = take_factor(n);
            CHECK_INT(k->cholesky_factor(&t, &l), CF_OK);
            CHECK_INT(l.n, n);
            CHECK(upper_untouched(&t));
            check_factor(&l, exact, 1e-12);
            double *x = take_vector(n), *u = take_padded(n), *y = take_padded(n);
            k->cholesky_forward(&l, 0, x, u);
            k->cholesky_backward(&l, u, y);
            for (ptrdiff_t i = 0; i < n; i++) {
                wide s = 0.0L;
                for (ptrdiff_t j = 0; j < n; j++)
                    s += inverse[i * n + j] * x[j];
                CHECK_CLOSE(y[i], s, 1e-9);
            }
            k->cholesky_forward(&l, 0, x, x); /* in place */
            CHECK_BITS(x, u, cf_pad(n));
            k->cholesky_backward(&l, x, x);
            CHECK_BITS(x, y, cf_pad(n));
            cf_triangle b = {square ? take_offset(n > 0 ? n * (n + 2) - 2 : 0, 1)
                                    : take_line(cf_panels_size(n)), n, square ? n + 2 : 0};
            k->cholesky_inverse(&l, &b, take_doubles(8 * cf_pad(n)));
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j <= i; j++)
                    CHECK_CLOSE(cf_triangle_row(&b, i)[j], inverse[i * n + j], 1e-10 * 1024.0);
            CHECK(upper_untouched(&b));
            AGREE(k, l.data, cf_panels_size(n));
            AGREE(k, y, cf_pad(n));
            AGREE(k, packed(&b), n * (n + 1) / 2);
        }
        release();
    }
}

/* many right sides, and a solve that goes on after rows were appended: the bits of one alone */
TEST_TABLES(many_right_sides_and_resumed_solves)
{
    FOR_SIZES(n, 1, check_count(129, 40)) {
        const double *m = random_spd(n, 8);
        const ptrdiff_t sides = n % 16, stride = cf_pad(n) + 8 * (n % 2), early = n - n / 3;
        CONTEXT("%s n=%td sides=%td", k->isa, n, sides);
        cf_triangle t = take_triangle(m, n, 0, 0), part = t;
        cf_cholesky l = take_factor(n), first = take_factor(n);
        CHECK_INT(k->cholesky_factor(&t, &l), CF_OK);
        part.n = early; /* the same matrix, its first rows */
        CHECK_INT(k->cholesky_factor(&part, &first), CF_OK);
        double *u = take_line(sides * stride), *one = take_padded(n), *resumed = take_padded(n);
        for (ptrdiff_t r = 0; r < sides; r++) {
            memset(u + r * stride, 0, (size_t)stride * sizeof *u);
            fill_normal(u + r * stride, n);
        }
        double *given = take_line(sides * stride);
        memcpy(given, u, (size_t)(sides * stride) * sizeof *u);
        k->cholesky_forward_many(&l, sides, u, stride);
        for (ptrdiff_t r = 0; r < sides; r++) {
            const double *x = given + r * stride;
            const ptrdiff_t at = early & ~(ptrdiff_t)7;
            k->cholesky_forward(&l, 0, x, one);
            CHECK_BITS(one, u + r * stride, cf_pad(n));
            memcpy(resumed, x, (size_t)early * sizeof *x);
            memset(resumed + early, 0, (size_t)(cf_pad(n) - early) * sizeof *x);
            k->cholesky_forward(&first, 0, resumed, resumed);
            memcpy(resumed + at, x + at, (size_t)(cf_pad(n) - at) * sizeof *x);
            k->cholesky_forward(&l, at, resumed, resumed);
            CHECK_BITS(one, resumed, cf_pad(n));
        }
        if (sides)
            AGREE(k, u, sides * stride);
        release();
    }
}

TEST_TABLES(a_larger_factor)
{
    const ptrdiff_t n = check_count(200, 70);
    const double *m = random_spd(n, 6);
    cf_triangle t = take_triangle(m, n, 0, 0), b = {take_line(cf_panels_size(n)), n, 0};
    cf_cholesky l = take_factor(n);
    CHECK_INT(k->cholesky_factor(&t, &l), CF_OK);
    check_factor(&l, naive_factor(n, m), 1e-12);
    k->cholesky_inverse(&l, &b, take_doubles(8 * cf_pad(n)));
    double *column = take_padded(n), *e = take_padded(n);
    for (ptrdiff_t j = 0; j < n; j += 13) { /* M times a column of the inverse */
        for (ptrdiff_t i = 0; i < n; i++)
            column[i] = i >= j ? cf_triangle_row(&b, i)[j] : cf_triangle_row(&b, j)[i];
        k->symv(&t, column, e);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(e[i], i == j ? 1.0 : 0.0, 1e-11);
    }
}

TEST_TABLES(matrices_that_are_not_positive_definite)
{
    static const double bad[] = {-1.0, 0.0, NAN, INFINITY};
    FOR_SIZES(n, 1, 33) {
        const ptrdiff_t i = random_below(n);
        for (int which = 0; which < 4; which++) {
            CONTEXT("%s n=%td i=%td value=%g", k->isa, n, i, bad[which]);
            double *m = random_spd(n, 4);
            m[i * n + i] = bad[which];
            cf_triangle t = take_triangle(m, n, 0, 0);
            cf_cholesky l = take_factor(n);
            CHECK_INT(k->cholesky_factor(&t, &l), CF_ENOTPOSITIVE);
            if (i > 0) { /* beside the diagonal */
                m[i * n + i] = 1.0;
                m[i * n] = which < 2 ? 10.0 : bad[which];
                t = take_triangle(m, n, n, 0);
                CHECK_INT(k->cholesky_factor(&t, &l), CF_ENOTPOSITIVE);
            }
        }
        release();
    }
}

TEST_TABLES(rows_are_appended)
{
    const ptrdiff_t n = check_count(70, 35);
    const double *m = random_spd(n, 8);
    cf_cholesky l = take_factor(n);
    for (ptrdiff_t i = 0; i < n; i++) {
        CONTEXT("%s row %td", k->isa, i);
        append(k, &l, m + i * n);
        double *head = take_doubles((i + 1) * (i + 1));
        for (ptrdiff_t r = 0; r <= i; r++)
            memcpy(head + r * (i + 1), m + r * n, (size_t)(i + 1) * sizeof *head);
        if (i % 7 == 0 || i == n - 1)
            check_factor(&l, naive_factor(i + 1, head), 1e-12);
    }
    AGREE(k, l.data, cf_panels_size(n));
}

/* From every order down to nothing, each factor that of what is left. */
TEST_TABLES(the_oldest_rows_leave)
{
    FOR_SIZES(n, 1, check_count(41, 26)) {
        const double *m = random_spd(n, 8);
        cf_triangle t = take_triangle(m, n, 0, 0);
        cf_cholesky l = take_factor(n);
        CHECK_INT(k->cholesky_factor(&t, &l), CF_OK);
        for (ptrdiff_t gone = 1; gone <= n; gone++) {
            const ptrdiff_t left = n - gone;
            CONTEXT("%s n=%td gone=%td", k->isa, n, gone);
            k->cholesky_drop_first(&l, take_doubles(3 * cf_pad(left + 1)));
            CHECK_INT(l.n, left);
            double *rest = take_doubles(left * left);
            for (ptrdiff_t i = 0; i < left; i++)
                memcpy(rest + i * left, m + (gone + i) * n + gone, (size_t)left * sizeof *rest);
            check_factor(&l, naive_factor(left, rest), 1e-12);
            AGREE(k, l.data, cf_panels_size(left));
        }
        k->cholesky_drop_first(&l, NULL); /* nothing left to leave */
        CHECK_INT(l.n, 0);
        release();
    }
}

/* Rows added one after another, large and small ones; the zeros beyond n stay. */
TEST_TABLES(rows_are_added)
{
    FOR_SIZES(n, 1, check_count(70, 41)) {
        double *m = random_spd(n, 8), *x = take_padded(n);
        cf_triangle t = take_triangle(m, n, 0, 0);
        cf_cholesky l = take_factor(n);
        CHECK_INT(k->cholesky_factor(&t, &l), CF_OK);
        for (int turn = 0; turn < 5; turn++) {
            CONTEXT("%s n=%td turn=%d", k->isa, n, turn);
            fill_normal(x, n);
            for (ptrdiff_t i = 0; i < n; i++)
                x[i] *= turn == 1 ? 10.0 : turn == 2 ? 1e-9 : turn == 3 && i % 3 ? 0.0 : 1.0;
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j < n; j++)
                    m[i * n + j] += x[i] * x[j];
            k->cholesky_add(&l, x, take_doubles(2 * cf_pad(n)));
            memset(x, 0, (size_t)cf_pad(n) * sizeof *x);
            CHECK_INT(l.n, n);
            check_factor(&l, naive_factor(n, m), 1e-11);
            AGREE(k, l.data, cf_panels_size(n));
        }
        release();
    }
}

/* A window over a long Gram matrix: 200 times one row enters and the oldest leaves. */
TEST_TABLES(a_sliding_window)
{
    const ptrdiff_t window = 21, turns = check_count(200, 60), n = window + turns, d = 30;
    double *rows = take_normal(n * d), *m = take_doubles(n * n), *line = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            m[i * n + j] = m[j * n + i] =
                (double)wide_dot(d, rows + i * d, rows + j * d) / (double)d + (i == j ? 0.1 : 0.0);
    cf_cholesky l = take_factor(window + 1);
    for (ptrdiff_t i = 0; i < n; i++) {
        const ptrdiff_t oldest = i - l.n;
        memcpy(line, m + i * n + oldest, (size_t)(l.n + 1) * sizeof *line);
        append(k, &l, line);
        if (l.n > window)
            k->cholesky_drop_first(&l, take_doubles(3 * cf_pad(l.n)));
    }
    CHECK_INT(l.n, window);
    double *last = take_doubles(window * window);
    for (ptrdiff_t i = 0; i < window; i++)
        memcpy(last + i * window, m + (n - window + i) * n + n - window,
               (size_t)window * sizeof *last);
    check_factor(&l, naive_factor(window, last), 1e-12);
    AGREE(k, l.data, cf_panels_size(window));
}

/* The rotations scale before they square: entries near the ends of the exponent's range. */
TEST_TABLES(drop_does_not_overflow)
{
    static const double sizes[] = {1e200, 1e-200};
    for (int s = 0; s < 2; s++) {
        cf_cholesky l = take_factor(3);
        double u[8] = {0};
        k->cholesky_append(&l, u, sizes[s]);
        u[0] = 3.0 * sizes[s];
        k->cholesky_append(&l, u, 4.0 * sizes[s]);
        k->cholesky_drop_first(&l, take_doubles(24));
        CHECK_CLOSE(*cf_cholesky_at(&l, 0, 0), 5.0 * sizes[s], 1e-15 * 5.0 * sizes[s]);
        release();
    }
}

CHECK_MAIN
