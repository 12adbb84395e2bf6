/* The look at a row, and the row of length one. */
#include "cf_reference.h"

TEST_TABLES(a_row_is_good_null_or_bad)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const double good[] = {1.0, -0x1p-1074, DBL_MAX, -DBL_MAX};
    for (ptrdiff_t n = 0; n <= 40; n++)
        for (ptrdiff_t at = 0; at < n || at == 0; at++) {
            CONTEXT("%s n=%td at=%td", k->isa, n, at);
            double *x = take_offset(n, at % 3);
            for (ptrdiff_t i = 0; i < n; i++)
                x[i] = i % 2 ? 0.0 : -0.0;
            CHECK_INT(k->row_check(n, x), CF_ROW_NULL);
            for (int i = 0; i < 4 && n > 0; i++) {
                x[at] = good[i];
                CHECK_INT(k->row_check(n, x), CF_ROW_GOOD);
            }
            for (int i = 0; i < 6 && n > 0; i++) { /* alone, and with a good one beside it */
                x[at] = bad[i % 3];
                x[(at + 1) % n] = n > 1 && i > 2 ? DBL_MAX : x[(at + 1) % n];
                CHECK_INT(k->row_check(n, x), CF_ROW_BAD);
            }
            release();
        }
}

static int slow_places(ptrdiff_t nnz, const int64_t *place, ptrdiff_t n)
{
    int up = 1;
    for (ptrdiff_t e = 0; e < nnz; e++) {
        if (place[e] < 0 || place[e] >= n)
            return CF_ROW_BAD;
        up = up && (e == 0 || place[e - 1] < place[e]);
    }
    return up ? CF_ROW_GOOD : CF_ROW_NULL;
}

/* Ascending places with one entry spoilt in every way. */
TEST_TABLES(places_against_a_plain_look)
{
    for (ptrdiff_t nnz = 0; nnz <= 20; nnz++)
        for (int form = 0; form < 60; form++) {
            const ptrdiff_t n = 2 * nnz + form % 2;
            int64_t *place = take_bytes((size_t)nnz * sizeof *place, 0, 0);
            int32_t *narrow = take_bytes((size_t)nnz * sizeof *narrow, 0, 0);
            CONTEXT("%s nnz=%td form=%d", k->isa, nnz, form);
            for (ptrdiff_t e = 0; e < nnz; e++)
                place[e] = 2 * e + random_below(2);
            if (nnz > 0 && form % 3)
                place[random_below(nnz)] = random_below(n + 4) - 2;
            for (ptrdiff_t e = 0; e < nnz; e++)
                narrow[e] = (int32_t)place[e];
            const int expected = slow_places(nnz, place, n);
            CHECK_INT(k->row_places64(nnz, place, n), expected);
            CHECK_INT(k->row_places32(nnz, narrow, n), expected);
            if (nnz > 0) { /* what a shorter type would cut off */
                place[nnz - 1] += (int64_t)1 << 32;
                CHECK_INT(k->row_places64(nnz, place, n), CF_ROW_BAD);
            }
            release();
        }
}

TEST_TABLES(the_row_of_length_one)
{
    for (ptrdiff_t n = 1; n <= 40; n++)
        for (int e = -1060; e <= 1010; e += 207) {
            CONTEXT("%s n=%td e=%d", k->isa, n, e);
            double *x = take_doubles(n), *y = take_doubles(n), *sparse = take_doubles(2 * n);
            for (ptrdiff_t i = 0; i < n; i++)
                x[i] = ldexp(random_normal(), e);
            x[random_below(n)] = ldexp(-1.5, e);
            const wide length = sqrtl(wide_dot(n, x, x));
            k->row_unit(n, x, y);
            for (ptrdiff_t i = 0; i < n && long_double_is_wide(); i++)
                CHECK_CLOSE(y[i], x[i] / length,
                            DBL_EPSILON * (double)(n + 3) * (double)fabsl(x[i] / length));
            for (ptrdiff_t i = 0; i < 2 * n; i++)
                sparse[i] = i % 2 ? 0.0 : x[i / 2];
            k->row_unit(2 * n, sparse, sparse); /* in place, with zeros */
            for (ptrdiff_t i = 0; i < n; i++)
                CHECK(sparse[2 * i] == y[i] && sparse[2 * i + 1] == 0.0);
            AGREE(k, y, n);
            release();
        }
    k->row_unit(0, NULL, NULL);
}

CHECK_MAIN
