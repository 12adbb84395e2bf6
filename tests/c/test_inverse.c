/* The symmetric triangle under products and rank-one updates, in both layouts. */
#include "cf_reference.h"

/* The layouts of one matrix: rows without a gap, with odd gaps, aligned, panels. */
typedef struct layout {
    ptrdiff_t ld, offset;
} layout;
#define LAYOUTS 5

static layout layout_of(int which, ptrdiff_t n)
{
    const layout all[LAYOUTS] = {{n, 0}, {n, 1}, {n + 3, 1}, {cf_pad(n), 0}, {0, 0}};
    return all[which];
}

static cf_triangle take_layout(int which, const double *full, ptrdiff_t n)
{
    const layout l = layout_of(which, n);
    return take_triangle(full, n, n > 0 ? l.ld : l.ld + (which < 4), l.offset);
}

/* a vector of a contract: cf_pad(n) doubles, zero beyond n */
static double *take_padded_normal(ptrdiff_t n)
{
    double *w = take_padded(n);
    fill_normal(w, n);
    return w;
}

static double *take_result(ptrdiff_t n, ptrdiff_t offset) { return take_offset(cf_pad(n), offset); }

/* of inverse_update */
static double *take_scratch(ptrdiff_t n, ptrdiff_t offset)
{
    return take_offset(cf_pad(n) + 8, offset);
}

static double *symmetric(ptrdiff_t n)
{
    double *a = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            a[i * n + j] = a[j * n + i] = random_normal();
    return a;
}

static void check_product(ptrdiff_t n, const double *a, const double *x, const double *v)
{
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK_CLOSE(v[i], wide_dot(n, a + i * n, x),
                    DBL_EPSILON * (double)(n + 8) * sum_abs(n, a + i * n, x));
    for (ptrdiff_t i = n; i < cf_pad(n); i++)
        CHECK_CLOSE(v[i], 0.0, 0.0);
}

/* a - w w^T, every element rounded once */
static double *updated(const cf_table *k, ptrdiff_t n, const double *a, const double *w)
{
    double *b = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            b[i * n + j] = k->has_fma ? fma(-w[i], w[j], a[i * n + j])
                                      : a[i * n + j] - w[i] * w[j];
    return b;
}

static void check_triangle(const cf_triangle *t, const double *full)
{
    for (ptrdiff_t i = 0; i < t->n; i++)
        if (memcmp(cf_triangle_row(t, i), full + i * t->n, (size_t)(i + 1) * sizeof *full) != 0)
            CHECK_THAT(0, "row %td is not what it should be", i);
    CHECK(upper_untouched(t));
}

TEST_TABLES(product_and_rank_one_in_every_layout)
{
    FOR_SIZES(n, 0, check_count(257, 129)) {
        double *a = symmetric(n), *x = take_normal(n), *w = take_padded_normal(n);
        const double *b = updated(k, n, a, w);
        double *first = take_result(n, 0), *second = take_result(n, 0), *less = take_result(n, 0);
        for (int which = 0; which < LAYOUTS; which++) {
            CONTEXT("%s n=%td layout=%d", k->isa, n, which);
            cf_triangle t = take_layout(which, a, n), fused = take_layout(which, a, n);
            double *v = take_result(n, which % 2), *u = take_result(n, which % 3);
            k->symv(&t, x, v);
            check_product(n, a, x, v);
            check_triangle(&t, a);
            CHECK_BITS(which ? v : first, which ? first : v, which ? cf_pad(n) : 0);
            memcpy(first, v, (size_t)cf_pad(n) * sizeof *v);
            k->symv_less(&t, w, x, less);
            check_triangle(&t, a);
            k->rank_one(&t, w, w);
            check_triangle(&t, b);
            k->rank_one_symv(&fused, w, x, u);
            check_triangle(&fused, b);
            k->symv(&t, x, v);
            CHECK_BITS(u, v, cf_pad(n)); /* the fused pass is the two passes */
            CHECK_BITS(less, v, cf_pad(n)); /* and so is the one that writes nothing */
            check_product(n, b, x, u);
            memcpy(second, u, (size_t)cf_pad(n) * sizeof *u);
        }
        AGREE(k, first, cf_pad(n));
        AGREE(k, second, cf_pad(n));
        release();
    }
}

TEST_TABLES(rank_one_with_minus_adds_the_term)
{
    FOR_SIZES(n, 0, check_count(129, 65)) {
        double *a = symmetric(n), *w = take_padded_normal(n), *minus = take_padded(n);
        double *b = take_doubles(n * n);
        for (ptrdiff_t i = 0; i < n; i++)
            minus[i] = -w[i];
        for (ptrdiff_t e = 0; e < n * n; e++)
            b[e] = k->has_fma ? fma(w[e / n], w[e % n], a[e]) : a[e] + w[e / n] * w[e % n];
        for (int which = 0; which < LAYOUTS; which++) {
            CONTEXT("%s n=%td layout=%d", k->isa, n, which);
            cf_triangle t = take_layout(which, a, n);
            k->rank_one(&t, w, minus);
            check_triangle(&t, b);
            AGREE(k, packed(&t), n * (n + 1) / 2);
        }
        release();
    }
}

/* --- blocks of rows -------------------------------------------------------------------------- */

static float *take_lost(ptrdiff_t n)
{
    const size_t bytes = (size_t)cf_panels_size(n) * sizeof(float);
    float *low = take_bytes(bytes, 0, 1);
    if (bytes > 0)
        memset(low, 0, bytes);
    return low;
}

TEST_TABLES(rank_block_adds_its_rows)
{
    FOR_SIZES(n, 0, 129) {
        const ptrdiff_t m = n % (CF_BLOCK + 1), stride = cf_pad(n) + 8 * (n % 2);
        const double *a = symmetric(n);
        wide *exact = widened(n * n, a);
        cf_triangle t = take_triangle(a, n, 0, 0);
        float *low = take_lost(n);
        CONTEXT("%s n=%td m=%td", k->isa, n, m);
        for (int turn = 0; turn < 3; turn++) {
            double c[CF_BLOCK], *rows = take_line(m * stride);
            if (m * stride > 0)
                memset(rows, 0, (size_t)(m * stride) * sizeof *rows);
            for (ptrdiff_t r = 0; r < m; r++) {
                c[r] = fabs(random_normal());
                fill_normal(rows + r * stride, n);
                for (ptrdiff_t e = 0; e < n * n; e++)
                    exact[e] += (wide)c[r] * rows[r * stride + e / n] * rows[r * stride + e % n];
            }
            k->rank_block(&t, low, m, rows, stride, c);
        }
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j <= i; j++)
                CHECK_CLOSE(cf_triangle_row(&t, i)[j], exact[i * n + j],
                            DBL_EPSILON * (double)(m + 1) * 60.0);
        AGREE(k, packed(&t), n * (n + 1) / 2);
        release();
    }
}

/* A thousand terms, each below the last place of the sum: none of them is lost. */
TEST_TABLES(rank_block_keeps_what_its_sums_lose)
{
    const double one[1] = {1.0}, term = 0.9 * 0x1p-53;
    cf_triangle t = take_triangle(one, 1, 0, 0);
    float *low = take_lost(1);
    double *row = take_padded(1);
    row[0] = 1.0;
    for (int turn = 0; turn < 1000; turn++)
        k->rank_block(&t, low, 1, row, 8, &term);
    CHECK_CLOSE(t.data[0], 1.0 + 1000.0 * term, 0x1p-52);
}

/* --- inverse_update -------------------------------------------------------------------------- */

/* B - v v^T / (1/c + q) in long double */
static wide *sherman_morrison(ptrdiff_t n, const double *b, const double *x, double c, wide *q)
{
    wide *v = take_wide(n), *out = take_wide(n * n);
    *q = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] = wide_dot(n, b + i * n, x);
        *q += v[i] * x[i];
    }
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j < n; j++)
            out[i * n + j] = b[i * n + j] - v[i] * v[j] / (1.0L / c + *q);
    return out;
}

TEST_TABLES(inverse_update_is_sherman_morrison)
{
    FOR_SIZES(n, 1, check_count(200, 65)) {
        const double *b = random_spd(n, 6), *x = take_normal(n);
        const double c = n % 3 ? fabs(random_scaled(-4, 4)) : 1.0;
        wide q;
        const wide *exact = sherman_morrison(n, b, x, c, &q);
        const double error = 4.0 * DBL_EPSILON * (double)(n + 8); /* |B| <= 1 */
        double *first = NULL, *scratch = take_scratch(n, 1);
        for (int which = 0; which < LAYOUTS; which++) {
            CONTEXT("%s n=%td layout=%d", k->isa, n, which);
            cf_triangle t = take_layout(which, b, n);
            double got = -1.0;
            CHECK_INT(k->inverse_update(&t, x, c, 0, scratch, &got), CF_OK);
            CHECK_CLOSE(got, q, error * (double)n);
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j <= i; j++)
                    CHECK_CLOSE(cf_triangle_row(&t, i)[j], exact[i * n + j], error);
            CHECK(upper_untouched(&t));
            double *p = packed(&t);
            if (first == NULL)
                first = p;
            CHECK_BITS(p, first, n * (n + 1) / 2); /* the layout is not in the bits */
            AGREE(k, &got, 1);
        }
        AGREE(k, first, n * (n + 1) / 2);
        release();
    }
}

/* The square of `full` at any place of a line, rows without a gap or with one of NaN. */
static cf_triangle take_square(const double *full, ptrdiff_t n, ptrdiff_t gap, ptrdiff_t offset)
{
    const ptrdiff_t ld = n + gap, span = (n - 1) * ld + n;
    cf_triangle t = {(double *)take_bytes((size_t)span * 8, (size_t)offset * 8, 1), n, ld};
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(t.data + i * ld, full + i * n, (size_t)n * sizeof *full);
    return t;
}

static void check_square(const cf_triangle *t, const wide *exact, double error)
{
    for (ptrdiff_t i = 0; i < t->n; i++) {
        for (ptrdiff_t j = 0; j <= i; j++) { /* symmetric to the last bit */
            CHECK_CLOSE(t->data[i * t->ld + j], exact[i * t->n + j], error);
            CHECK(t->data[j * t->ld + i] == t->data[i * t->ld + j]);
        }
        for (ptrdiff_t j = t->n; j < t->ld && i + 1 < t->n; j++)
            CHECK(isnan(t->data[i * t->ld + j])); /* what stands between the rows */
    }
}

TEST_TABLES(inverse_update_of_both_triangles)
{
    FOR_SIZES(n, 1, check_count(129, 65)) {
        const double *b = random_spd(n, 4), *x = take_normal(n);
        const double c = n % 2 ? 1.0 : 2.5, error = 4.0 * DBL_EPSILON * (double)(n + 8);
        wide q;
        const wide *exact = sherman_morrison(n, b, x, c, &q);
        double *scratch = take_scratch(n, n % 2), *first = NULL;
        for (ptrdiff_t place = 0; place < 16; place++) { /* every place in a line, and gaps */
            const ptrdiff_t gap = place < 8 ? 0 : place - 7;
            CONTEXT("%s n=%td place=%td gap=%td", k->isa, n, place, gap);
            cf_triangle t = take_square(b, n, gap, place % 8);
            double got = -1.0;
            CHECK_INT(k->inverse_update(&t, x, c, 1, scratch, &got), CF_OK);
            CHECK_CLOSE(got, q, error * (double)n);
            check_square(&t, exact, error);
            double *p = packed(&t);
            first = first ? first : p;
            CHECK_BITS(p, first, n * (n + 1) / 2); /* the place is not in the bits */
            AGREE(k, &got, 1);
        }
        AGREE(k, first, n * (n + 1) / 2);
        release();
    }
}

/* A refused update leaves every byte of B. */
static void refuse(const cf_table *k, cf_triangle *b, const double *x, int both, int status)
{
    const ptrdiff_t span = triangle_span(b);
    double q = 77.0, *before = TAKE_COPY(b->data, span), *scratch = take_scratch(b->n, 0);
    CHECK_INT(k->inverse_update(b, x, 1.0, both, scratch, &q), status);
    CHECK_BITS(b->data, before, span);
    CHECK(status != CF_OK || q == 0.0);
}

/* Where the upper triangle is not the mirror of the lower one, the lower one is the truth. */
TEST_TABLES(both_triangles_from_the_lower_one)
{
    FOR_SIZES(n, 2, 65) {
        CONTEXT("%s n=%td", k->isa, n);
        const double *b = random_spd(n, 4);
        double *x = take_normal(n), *spoilt = TAKE_COPY(b, n * n), got;
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = i + 1; j < n; j++)
                spoilt[i * n + j] = n % 2 ? NAN : 7.0;
        wide q;
        const wide *exact = sherman_morrison(n, b, x, 2.5, &q);
        for (ptrdiff_t gap = 0; gap < 2; gap++) {
            cf_triangle t = take_square(spoilt, n, gap, gap);
            CHECK_INT(k->inverse_update(&t, x, 2.5, 1, take_scratch(n, 0), &got), CF_OK);
            CHECK_CLOSE(got, q, 4.0 * DBL_EPSILON * (double)(n * (n + 8)));
            check_square(&t, exact, 4.0 * DBL_EPSILON * (double)(n + 8));
        }
        cf_triangle t = take_square(spoilt, n, 0, 0);
        cf_triangle_row(&t, n - 1)[n - 1] = -1e3;
        x[n - 1] = 3.0;
        refuse(k, &t, x, 1, CF_ENOTPOSITIVE); /* and where it is refused, nothing is mirrored */
        release();
    }
}

/* After many updates from the identity: B times (I + sum c x x^T) is the identity. */
TEST_TABLES(many_updates_invert_the_matrix)
{
    const ptrdiff_t n = 17;
    double *a = take_doubles(n * n), *x = take_doubles(n), *scratch = take_scratch(n, 0), q;
    for (ptrdiff_t i = 0; i < n * n; i++)
        a[i] = i / n == i % n ? 1.0 : 0.0;
    cf_triangle b = take_triangle(a, n, 0, 0);
    for (int turn = 0; turn < 200; turn++) {
        fill_normal(x, n);
        CHECK_INT(k->inverse_update(&b, x, 0.5, 0, scratch, &q), CF_OK);
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j < n; j++)
                a[i * n + j] += 0.5 * x[i] * x[j];
    }
    const wide *exact = wide_inverse(n, a);
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            CHECK_CLOSE(cf_triangle_row(&b, i)[j], exact[i * n + j], 1e-13);
}

TEST_TABLES(refused_updates_change_nothing)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    FOR_SIZES(n, 1, 65) {
        double *a = random_spd(n, 4), *x = take_padded(n);
        const ptrdiff_t i = random_below(n);
        for (int which = 0; which < LAYOUTS; which++) {
            CONTEXT("%s n=%td layout=%d", k->isa, n, which);
            cf_triangle t = take_layout(which, a, n);
            refuse(k, &t, x, 0, CF_OK); /* x = 0 */
            for (int j = 0; j < 4; j++) {
                x[i] = bad[j];
                refuse(k, &t, x, 0, CF_ENONFINITE);
            }
            x[i] = 1.0;
            cf_triangle_row(&t, i)[i] = -1.0;
            refuse(k, &t, x, 0, CF_ENOTPOSITIVE);
            cf_triangle_row(&t, i)[i] = 0.0;
            refuse(k, &t, x, 0, CF_ENOTPOSITIVE);
            cf_triangle_row(&t, i)[i] = NAN;
            refuse(k, &t, x, 0, CF_ENONFINITE);
            cf_triangle_row(&t, i)[i] = -INFINITY;
            refuse(k, &t, x, 0, CF_ENONFINITE);
            x[i] = 0.0;
        }
        cf_triangle square = {TAKE_COPY(a, n * n), n, n};
        square.data[i * n + i] = -1.0;
        x[i] = 1.0;
        refuse(k, &square, x, 1, CF_ENOTPOSITIVE);
        release();
    }
}

TEST_TABLES(order_zero_is_nothing)
{
    cf_triangle t = {NULL, 0, 0};
    double q = 5.0;
    CHECK_INT(k->inverse_update(&t, NULL, 1.0, 0, NULL, &q), CF_OK);
    CHECK_CLOSE(q, 0.0, 0.0);
}

/* c at the ends of its range, where 1/c overflows or vanishes */
TEST_TABLES(extreme_weights)
{
    double scratch[16], q, x[1] = {1.0}, b[1] = {1.0};
    cf_triangle t = {b, 1, 1};
    CHECK_INT(k->inverse_update(&t, x, 1e-320, 0, scratch, &q), CF_OK);
    CHECK_CLOSE(b[0], 1.0, 0.0);
    CHECK_INT(k->inverse_update(&t, x, DBL_MAX, 0, scratch, &q), CF_OK);
    CHECK_CLOSE(q, 1.0, 0.0);
    CHECK_CLOSE(b[0], 0.0, DBL_EPSILON);
}

CHECK_MAIN
