/* Eight small ridge regressions side by side. */
#include "cf_reference.h"

static ptrdiff_t triangle_at(ptrdiff_t i, ptrdiff_t j)
{
    return j <= i ? 8 * (i * (i + 1) / 2 + j) : triangle_at(j, i);
}

static double *take_vectors(ptrdiff_t count)
{
    double *v = take_line(8 * count);
    fill_normal(v, 8 * count);
    return v;
}

TEST_TABLES(reading_against_plain_sums)
{
    for (ptrdiff_t d = 0; d <= 24; d++) {
        CONTEXT("%s d=%td", k->isa, d);
        const double *b = take_vectors(d * (d + 1) / 2), *w = take_vectors(d), *x = take_normal(d);
        double *v = take_line(8 * d), *m = take_line(8), *q = take_line(8), *same = take_line(8);
        k->octet_read(d, b, w, x, v, m, q);
        for (int l = 0; l < 8; l++) {
            wide score = 0.0L, quad = 0.0L;
            double size = 0.0, sizes = 0.0;
            for (ptrdiff_t i = 0; i < d; i++) {
                wide sum = 0.0L;
                double part = 0.0;
                for (ptrdiff_t j = 0; j < d; j++) {
                    sum += (wide)b[triangle_at(i, j) + l] * x[j];
                    part += fabs(b[triangle_at(i, j) + l] * x[j]);
                }
                CHECK_CLOSE(v[8 * i + l], sum, DBL_EPSILON * (double)(d + 2) * part);
                score += (wide)w[8 * i + l] * x[i];
                quad += sum * x[i];
                size += fabs(w[8 * i + l] * x[i]);
                sizes += fabs(part * x[i]);
            }
            CHECK_CLOSE(m[l], score, DBL_EPSILON * (double)(d + 2) * size);
            CHECK_CLOSE(q[l], quad, 2 * DBL_EPSILON * (double)(d + 2) * sizes);
        }
        const cf_lines t = {(double *)(uintptr_t)w, 8, 0, 8};
        const cf_row row = {d, d, x, NULL, NULL};
        k->lines_scores(&t, &row, NULL, same);
        CHECK_BITS(m, same, 8);
        AGREE(k, v, 8 * d);
        AGREE(k, m, 8);
        AGREE(k, q, 8);
        release();
    }
}

TEST_TABLES(moving_adds_each_class_its_own)
{
    for (ptrdiff_t d = 0; d <= 20; d++) {
        CONTEXT("%s d=%td", k->isa, d);
        const double *v = take_vectors(d), *c = take_vectors(1);
        double *w = take_vectors(d);
        const double *before = TAKE_COPY(w, 8 * d);
        k->octet_move(d, v, c, w);
        for (ptrdiff_t i = 0; i < 8 * d; i++) {
            const wide by = (wide)c[i % 8] * v[i];
            CHECK_CLOSE(w[i], before[i] + by,
                        DBL_EPSILON * (fabs(before[i]) + (double)fabsl(by)));
        }
        AGREE(k, w, 8 * d);
        release();
    }
}

/* The other classes keep every bit, whatever v holds in their lanes. */
TEST_TABLES(an_update_of_one_class)
{
    for (ptrdiff_t d = 0; d <= 20; d++)
        for (int lane = 0; lane < 8; lane++) {
            const ptrdiff_t size = 4 * d * (d + 1);
            const double root = 0.1 + random_unit();
            CONTEXT("%s d=%td lane=%d", k->isa, d, lane);
            double *b = take_vectors(d * (d + 1) / 2), *v = take_vectors(d), *t = take_line(8 * d);
            if (d > 0)
                v[8 * random_below(d) + (lane + 3) % 8] = lane % 2 ? INFINITY : NAN;
            const double *before = TAKE_COPY(b, size);
            k->octet_update(d, v, lane, root, b, t);
            for (ptrdiff_t i = 0; i < d; i++)
                for (ptrdiff_t j = 0; j <= i; j++)
                    for (int l = 0; l < 8; l++) {
                        const ptrdiff_t at = triangle_at(i, j) + l;
                        const wide by = (wide)root * v[8 * i + lane] * root * v[8 * j + lane];
                        if (l == lane)
                            CHECK_CLOSE(b[at], before[at] - by, 4 * DBL_EPSILON *
                                        (fabs(before[at]) + (double)fabsl(by)));
                        else
                            CHECK_BITS(b + at, before + at, 1);
                    }
            AGREE(k, b, size);
            release();
        }
}

/* Rounds of ridge regression: A^-1 of each class against elimination. */
TEST_TABLES(rounds_keep_the_inverse)
{
    for (ptrdiff_t d = 1; d <= 9; d++) {
        const ptrdiff_t size = 4 * d * (d + 1);
        CONTEXT("%s d=%td", k->isa, d);
        double *b = take_line(size), *w = take_line(8 * d), *v = take_line(8 * d);
        double *m = take_line(8), *q = take_line(8), *t = take_line(8 * d), *x = take_doubles(d);
        double *a = take_doubles(8 * d * d);
        for (ptrdiff_t i = 0; i < size; i++)
            b[i] = 0.0;
        for (ptrdiff_t i = 0; i < 8 * d; i++)
            w[i] = b[triangle_at(i / 8, i / 8) + i % 8] = 1.0;
        for (ptrdiff_t i = 0; i < 8 * d * d; i++)
            a[i] = i % (d * d) / d == i % d ? 1.0 : 0.0;
        for (int turn = 0; turn < 40; turn++) {
            const int lane = (int)random_below(8);
            fill_normal(x, d);
            k->octet_read(d, b, w, x, v, m, q);
            k->octet_update(d, v, lane, sqrt(1.0 / (1.0 + q[lane])), b, t);
            for (ptrdiff_t i = 0; i < d * d; i++)
                a[lane * d * d + i] += x[i / d] * x[i % d];
        }
        for (int l = 0; l < 8; l++) {
            const wide *exact = wide_inverse(d, a + l * d * d);
            for (ptrdiff_t i = 0; i < d * d; i++)
                CHECK_CLOSE(b[triangle_at(i / d, i % d) + l], exact[i], 1e-12);
        }
        release();
    }
}

CHECK_MAIN
