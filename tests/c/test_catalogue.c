/* Bounds of the scores of fixed rows, against plain loops (cf_catalogue.h). */
#include "cf_reference.h"

#define ROWS CF_CATALOGUE_BLOCK

/* Products and squares of rows have the bits of `dot`, rows of float32 those of their float64. */
TEST_TABLES(products_are_dots)
{
    FOR_SIZES(n, 1, 100) {
        CONTEXT("%s n=%td", k->isa, n);
        const ptrdiff_t stride = n + n % 3, m = 1 + n % 19;
        double *x = take_offset(m * stride, n % 2), *y = take_offset(n, 1), *row = take_doubles(n);
        float *f = take_bytes((size_t)(m * stride) * sizeof(float), 0, 1);
        double *a = take_doubles(m), *b = take_doubles(m), *c = take_doubles(m), *d = take_doubles(m);
        for (ptrdiff_t i = 0; i < m * stride; i++) {
            f[i] = (float)random_normal();
            x[i] = random_normal();
        }
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] = random_normal();
        k->rows_dot(n, m, x, stride, y, a);
        k->rows_dot_f32(n, m, f, stride, y, b);
        k->rows_square(n, m, x, stride, c);
        k->rows_square_f32(n, m, f, stride, d);
        for (ptrdiff_t t = 0; t < m; t++) {
            for (ptrdiff_t i = 0; i < n; i++)
                row[i] = (double)f[t * stride + i];
            CHECK(a[t] == k->dot(n, x + t * stride, y));
            CHECK(b[t] == k->dot(n, row, y));
            CHECK(c[t] == k->dot(n, x + t * stride, x + t * stride));
            CHECK(d[t] == k->dot(n, row, row));
        }
        AGREE(k, a, m);
        AGREE(k, b, m);
        release();
    }
}

/* What is left out of a scan is below the least; what is in it is not, by more than rounding. */
TEST_TABLES(scans_err_upwards)
{
    const float table[4] = {0.0f, 0.5f, 1.0f, 3.0f};
    FOR_SIZES(n, 1, 300) {
        CONTEXT("%s n=%td", k->isa, n);
        float *top = take_bytes((size_t)n * 4, 0, 1), *radius = take_bytes((size_t)n * 4, 0, 1);
        int32_t *slot = take_bytes((size_t)n * 4, 0, 1), *open = take_bytes((size_t)n * 4, 0, 1);
        for (ptrdiff_t b = 0; b < n; b++) {
            top[b] = b == 3 ? NAN : b == 5 ? FLT_MAX : (float)random_normal();
            radius[b] = (float)fabs(random_normal());
            slot[b] = (int32_t)random_below(4);
        }
        const ptrdiff_t found = k->catalogue_scan(n, top, radius, slot, table, 1.0f, open);
        ptrdiff_t at = 0;
        for (ptrdiff_t b = 0; b < n; b++) {
            const double bound = (double)top[b] + (double)radius[b] * (double)table[slot[b]];
            const int in = at < found && open[at] == b;
            at += in;
            CHECK(in ? !(bound < 1.0 - 1e-6) : bound < 1.0 + 1e-6);
        }
        CHECK(at == found);
        release();
    }
}

static void fill(float *m, float *r, int32_t *slot)
{
    for (int i = 0; i < ROWS; i++) {
        m[i] = (float)random_normal();
        r[i] = (float)fabs(random_normal());
        slot[i] = (int32_t)random_below(4) | (random_below(2) ? CF_STALE : 0);
    }
}

TEST_TABLES(the_top_of_a_block_is_above_its_rows)
{
    const float table[4] = {0.1f, 0.5f, 1.0f, 2.0f};
    float m[ROWS], r[ROWS], top, radius;
    int32_t slot[ROWS];
    for (int turn = 0; turn < 50; turn++) {
        CONTEXT("%s turn %d", k->isa, turn);
        fill(m, r, slot);
        m[7] = turn % 2 ? -FLT_MAX : m[7];
        const uint64_t near = k->catalogue_open(m, r, slot, table, 0.25f, 1.5f, &top, &radius);
        for (int i = 0; i < ROWS; i++) {
            const double bound = (double)m[i] + (double)r[i] * (double)table[slot[i] & 3];
            CHECK(bound <= (double)top && r[i] <= radius);
            CHECK((near >> i & 1) == !((float)(bound + 0.25 * (double)r[i]) < 1.5f) ||
                  fabs(bound + 0.25 * (double)r[i] - 1.5) < 1e-5);
        }
    }
}

/* A look: m above the product, r above what is left of it, and nobody else is touched. */
TEST_TABLES(looks_err_upwards)
{
    FOR_SIZES(n, 1, 80) {
        CONTEXT("%s n=%td", k->isa, n);
        const ptrdiff_t padded = cf_pad(n);
        double *x = take_offset(ROWS * n, n % 2), *w = take_doubles(padded);
        double *terms = take_doubles(CF_CATALOGUE_TERMS * padded);
        float m[ROWS], r[ROWS], m_old[ROWS], r_old[ROWS];
        int32_t slot[ROWS], slot_old[ROWS];
        for (ptrdiff_t i = 0; i < ROWS * n; i++)
            x[i] = random_normal();
        for (ptrdiff_t i = 0; i < padded; i++)
            w[i] = i < n ? random_normal() : 0.0;
        for (ptrdiff_t i = 0; i < CF_CATALOGUE_TERMS * padded; i++)
            terms[i] = 0.1 * random_normal();
        fill(m, r, slot);
        for (int i = 0; i < ROWS && n % 2; i++)
            slot[i] = 4; /* all of the round before */
        memcpy(m_old, m, sizeof m);
        memcpy(r_old, r, sizeof r);
        memcpy(slot_old, slot, sizeof slot);
        const cf_look how = {n, w, terms, padded, 1.0, 0.5, 0.7, 0.0, 0.0, 0.0, 0.0, 5, 1, 1 << 3, 0};
        const uint64_t which = n % 4 ? 0x80F0000000012345u : ~(uint64_t)0;
        const uint64_t afresh = k->catalogue_look(&how, x, n, which, 10.0, m, r, slot);
        CHECK((afresh & ~which) == 0);
        for (int i = 0; i < ROWS; i++) {
            if (!(which >> i & 1)) {
                CHECK(m[i] == m_old[i] && r[i] == r_old[i] && slot[i] == slot_old[i]);
                continue;
            }
            const double mean = k->dot(n, x + i * n, w);
            const int known = slot_old[i] < CF_STALE && slot_old[i] >= 1;
            double q = (double)r_old[i] * (double)r_old[i];
            for (int32_t s = slot_old[i] + 1; known && s <= 5; s++) {
                const double g = s == 3 ? 0.0 : k->dot(n, x + i * n, terms + s * padded);
                q -= g * g;
            }
            const double root = known ? sqrt(fmax(q, 0.0)) : (double)r_old[i];
            CHECK((double)m[i] >= mean && (double)m[i] <= mean + 1e-6 * (1.0 + fabs(mean)));
            CHECK((double)r[i] >= root && (double)r[i] <= root * (1.0 + 1e-6) + 1e-7);
            CHECK(slot[i] == (known ? 5 : 5 | CF_STALE));
            const double reach = mean + (known ? 0.5 : 0.7) * root - 1.0;
            CHECK((int)(afresh >> i & 1) == (reach >= 0.0) || fabs(reach) < 1e-6);
        }
        release();
    }
}

CHECK_MAIN
