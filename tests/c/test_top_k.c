/* Top-k against a full sort, in the orders that are hard for a selection. */
#include "cf_reference.h"

static int by_rank(const void *pa, const void *pb)
{
    const cf_candidate *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

/* all indices, best first, ties to the lower one */
static ptrdiff_t *ranking(ptrdiff_t n, const double *s)
{
    cf_candidate *all = take_bytes((size_t)n * sizeof *all, 0, 0);
    ptrdiff_t *index = take_bytes((size_t)n * sizeof *index, 0, 0);
    for (ptrdiff_t i = 0; i < n; i++)
        all[i] = (cf_candidate){s[i], i};
    if (n > 0)
        qsort(all, (size_t)n, sizeof *all, by_rank);
    for (ptrdiff_t i = 0; i < n; i++)
        index[i] = all[i].index;
    return index;
}

/* exactly the scratch and output that the contract asks for */
static cf_candidate *take_scratch(ptrdiff_t n, ptrdiff_t k)
{
    const ptrdiff_t count = cf_top_k_scratch(n, k);
    return count ? take_bytes((size_t)count * sizeof(cf_candidate), 0, 0) : NULL;
}

static void compare(const cf_table *t, ptrdiff_t n, const double *s, const float *f, ptrdiff_t k,
                    const ptrdiff_t *best)
{
    const ptrdiff_t m = k < n ? k : n;
    ptrdiff_t *out = take_bytes((size_t)m * sizeof *out, 0, 0);
    CHECK_INT(t->top_k(n, s, k, out, take_scratch(n, k)), CF_OK);
    CHECK_BITS(out, best, m);
    memset(out, 0xFF, (size_t)m * sizeof *out);
    CHECK_INT(t->top_k_f32(n, f, k, out, take_scratch(n, k)), CF_OK);
    CHECK_BITS(out, best, m);
}

/* Many k for one array whose values are floats. */
static void every_k(const cf_table *t, ptrdiff_t n, const double *s, ptrdiff_t offset)
{
    const ptrdiff_t near[] = {0, 1, 2, 5, 15, 16, 17, 18, 33, n / 2 - 1, n / 2, n / 2 + 1, n - 1,
                              n, n + 5};
    double *d = take_offset(n, offset);
    float *f = take_floats(n);
    const ptrdiff_t *best = ranking(n, s);
    for (ptrdiff_t i = 0; i < n; i++) {
        d[i] = s[i];
        f[i] = (float)s[i];
    }
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (near[i] >= 0)
            compare(t, n, d, f, near[i], best);
}

enum order {
    RANDOM,
    ASCENDING,
    DESCENDING,
    EQUAL,
    ORGAN_PIPE,
    FEW_VALUES,
    INFINITIES,
    SAW,
    ORDERS
};

static double value(enum order order, ptrdiff_t i, ptrdiff_t n)
{
    static const double ends[] = {-INFINITY, INFINITY, 0.0, -0.0};
    switch (order) {
    case RANDOM:
        return (float)random_normal();
    case ASCENDING:
        return (double)i;
    case DESCENDING:
        return (double)-i;
    case EQUAL:
        return 0.25;
    case ORGAN_PIPE:
        return (double)(i < n / 2 ? i : n - i);
    case FEW_VALUES:
        return (double)random_below(3);
    case INFINITIES: /* a mask of -inf, and both zeros, which are equal */
        return ends[random_below(4)];
    default:
        return (double)(i % 17) - (double)(i % 5);
    }
}

TEST_TABLES(every_order_every_k)
{
    for (int order = 0; order < ORDERS; order++)
        FOR_SIZES(n, 0, check_count(4099, 257)) {
            CONTEXT("%s order=%d n=%td", k->isa, order, n);
            double *s = take_doubles(n);
            for (ptrdiff_t i = 0; i < n; i++)
                s[i] = value((enum order)order, i, n);
            every_k(k, n, s, n % 3);
            release();
        }
}

TEST_TABLES(a_long_array)
{
    const ptrdiff_t n = check_count(100000, 5000);
    double *s = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        s[i] = (float)random_normal();
    every_k(k, n, s, 1);
}

/* --- NaN ------------------------------------------------------------------------------------- */

TEST_TABLES(nan_is_refused_wherever_it_stands)
{
    static const ptrdiff_t ks[] = {0, 1, 5, 16, 17, 40, 130};
    for (ptrdiff_t n = 1; n <= 130; n += check_count(1, 43)) {
        double *s = take_normal(n);
        float *f = take_floats(n);
        ptrdiff_t *out = take_bytes((size_t)n * sizeof *out, 0, 0);
        for (ptrdiff_t i = 0; i < n; i++)
            f[i] = (float)(s[i] -= 0.01 * (double)i); /* late ones would be skipped */
        for (size_t j = 0; j < sizeof ks / sizeof *ks; j++) {
            const ptrdiff_t i = random_below(n);
            const double keep = s[i];
            CONTEXT("%s n=%td k=%td i=%td", k->isa, n, ks[j], i);
            cf_candidate *scratch = take_scratch(n, ks[j]);
            s[i] = NAN;
            f[i] = NAN;
            CHECK_INT(k->top_k(n, s, ks[j], out, scratch), CF_ENAN);
            CHECK_INT(k->top_k_f32(n, f, ks[j], out, scratch), CF_ENAN);
            f[i] = (float)(s[i] = keep);
            CHECK_INT(k->top_k(n, s, ks[j], out, scratch), CF_OK);
        }
        release();
    }
}

/* --- the order that makes quicksort quadratic ------------------------------------------------ */

/* McIlroy's adversary against the library's own choice of pivots: values are fixed only when a
 * comparison forces them, always so that the pivot is as bad as can be. */
typedef struct adversary {
    double *value; /* < 0: not fixed yet; small ones come first */
    double fixed;
    ptrdiff_t candidate;
} adversary;

static int adversary_before(adversary *a, ptrdiff_t x, ptrdiff_t y)
{
    if (a->value[x] < 0.0 && a->value[y] < 0.0)
        a->value[x == a->candidate ? x : y] = a->fixed++;
    if (a->value[x] < 0.0)
        a->candidate = x;
    else if (a->value[y] < 0.0)
        a->candidate = y;
    const double vx = a->value[x] < 0.0 ? INFINITY : a->value[x];
    const double vy = a->value[y] < 0.0 ? INFINITY : a->value[y];
    return vx < vy;
}

static ptrdiff_t adversary_split(adversary *w, ptrdiff_t *a, ptrdiff_t n)
{
    const ptrdiff_t x = a[0], y = a[n / 2], z = a[n - 1];
    const ptrdiff_t pivot =
        adversary_before(w, x, y)
            ? (adversary_before(w, y, z) ? y : adversary_before(w, x, z) ? z : x)
            : (adversary_before(w, x, z) ? x : adversary_before(w, y, z) ? z : y);
    ptrdiff_t i = -1, j = n;
    for (;;) {
        do
            i++;
        while (a[i] != pivot && adversary_before(w, a[i], pivot));
        do
            j--;
        while (a[j] != pivot && adversary_before(w, pivot, a[j]));
        if (i >= j)
            return i > 0 ? i : 1;
        const ptrdiff_t t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

/* Scores on which every split of a full sort takes off next to nothing. */
static int killer(ptrdiff_t n, double *s)
{
    ptrdiff_t *order = take_bytes((size_t)n * sizeof *order, 0, 0), m = n, *a = order;
    int splits = 0;
    adversary w = {s, 0.0, -1};
    for (ptrdiff_t i = 0; i < n; i++) {
        order[i] = i;
        s[i] = -1.0;
    }
    while (m > 16) { /* the larger part, as the adversary leaves it */
        const ptrdiff_t cut = adversary_split(&w, a, m);
        splits++;
        if (cut < m - cut) {
            a += cut;
            m -= cut;
        } else {
            m = cut;
        }
    }
    for (ptrdiff_t i = 0; i < n; i++) /* best first is highest first */
        s[i] = s[i] < 0.0 ? -w.fixed++ : -s[i];
    return splits;
}

TEST_TABLES(the_worst_order_is_sorted_by_the_heap)
{
    const ptrdiff_t n = check_count(4000, 1000);
    double *s = take_doubles(n);
    const int splits = killer(n, s);
    CHECK_THAT(splits > 60, "only %d splits", splits); /* far more than quicksort is allowed */
    every_k(k, n, s, 0);
}

CHECK_MAIN
