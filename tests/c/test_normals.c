/* Normals from a PCG64, against the definition and against what numpy draws. */
#include "cf_reference.h"
#include "coactive_fast/cf_normals.h"

/* numpy.random.PCG64(0): its state, and what random_raw(4) gives from there */
static const cf_pcg64 ZERO = {1919014152682489133u, 673392287158723043u, 4723672219303484034u,
                              6377435431028945833u};
static const uint64_t RAW[] = {11749869230777074271u, 4976686463289251617u, 755828109848996024u,
                               304881062738325533u};

TEST(bits_as_numpy_has_them)
{
    cf_pcg64 bits = ZERO;
    for (int i = 0; i < 4; i++)
        CHECK(cf_pcg64_next(&bits) == RAW[i]);
}

/* Layers that are wide and full, so that most draws are done at once. */
static void take_tables(cf_ziggurat *t)
{
    for (int i = 0; i < 256; i++) {
        t->width[i] = (1.0 + i) * 0x1p-52;
        t->inside[i] = i == 1 ? 0 : (uint64_t)((0.95 + 0.0001 * i) * 0x1p52);
    }
}

TEST(draws_and_edges)
{
    cf_ziggurat t;
    take_tables(&t);
    cf_pcg64 bits = ZERO, same = ZERO;
    ptrdiff_t edges = 0, drawn = 0;
    while (drawn < 100000) {
        double *x = take_doubles(64);
        uint64_t edge = 0;
        const ptrdiff_t n = random_below(65), got = cf_normals(&bits, &t, n, x, &edge);
        CHECK(got >= 0 && got <= n);
        for (ptrdiff_t i = 0; i <= got && i < n; i++) {
            const uint64_t r = cf_pcg64_next(&same), place = (r >> 9) & ((1ull << 52) - 1);
            const int inside = place < t.inside[r % 256];
            CHECK(inside == (i < got));
            if (inside)
                CHECK_CLOSE(x[i], (r >> 8 & 1 ? -1.0 : 1.0) * (double)place * t.width[r % 256], 0.0);
            else
                CHECK(edge == r);
        }
        CHECK(memcmp(&bits, &same, sizeof bits) == 0);
        edges += got < n;
        drawn += n;
        release();
    }
    CHECK(edges > 1000);
}

CHECK_MAIN
