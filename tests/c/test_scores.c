/* The score projection against sorted breakpoints in long double, and its own conditions. */
#include "cf_reference.h"

typedef struct problem {
    ptrdiff_t n;
    double *z, *q, s;
} problem;

static problem take_problem(ptrdiff_t n, double s)
{
    const problem p = {n, take_offset(n, n % 2), take_offset(n, 1), s};
    return p;
}

/* --- the reference --------------------------------------------------------------------------- */

typedef struct breakpoint {
    wide at;
    ptrdiff_t i;
} breakpoint;

static int by_place(const void *pa, const void *pb)
{
    const wide a = ((const breakpoint *)pa)->at, b = ((const breakpoint *)pb)->at;
    return a < b ? -1 : a > b;
}

/* v for a root base + rest, taken from the breakpoints; returns how far the sum is from s */
static wide values(const problem *p, wide base, wide rest, wide *v)
{
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        const wide shifted = (wide)p->z[i] + base * p->q[i];
        v[i] = fmaxl(0.0L, shifted + rest * p->q[i]);
        sum += v[i];
    }
    return fabsl(sum - p->s);
}

/* v in long double: entries enter in the order of -z/q until the next breakpoint is too far. The
 * root is then formed from 0 and from the first breakpoint, which may be 1e300 away: the form
 * whose sum comes out better is taken. */
static wide *exact_projection(const problem *p, wide *lam)
{
    breakpoint *b = take_bytes((size_t)p->n * sizeof *b, 0, 1);
    for (ptrdiff_t i = 0; i < p->n; i++)
        b[i] = (breakpoint){-(wide)p->z[i] / p->q[i], i};
    qsort(b, (size_t)p->n, sizeof *b, by_place);
    const wide base = b[0].at;
    wide rest = 0.0L, weight = 0.0L, root = 0.0L, sum = 0.0L;
    for (ptrdiff_t m = 0; m < p->n; m++) {
        const wide q = p->q[b[m].i];
        if (m > 0 && root <= b[m].at - base)
            break;
        rest += q * (b[m].at - base);
        weight += q;
        sum += p->z[b[m].i];
        root = (p->s + rest) / weight;
    }
    wide *v = take_wide(p->n), *w = take_wide(p->n);
    const wide direct = (p->s - sum) / weight;
    const int far = values(p, base, root, v) < values(p, 0.0L, direct, w);
    *lam = far ? base + root : direct;
    return far ? v : w;
}

/* --- checks ---------------------------------------------------------------------------------- */

/* Projects and checks what must hold for any input: v >= 0 and its sum. */
static double *project(const cf_table *k, const problem *p, double *lam)
{
    double *v = take_offset(p->n, 1);
    double *scratch = p->n <= CF_SCORES_SMALL ? NULL : take_doubles(cf_scores_scratch(p->n));
    *lam = NAN;
    CHECK_INT(k->project_scores(p->n, p->z, p->q, p->s, v, lam, scratch), CF_OK);
    wide sum = 0.0L;
    int negative = 0;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        sum += v[i];
        negative += !(v[i] >= 0.0);
    }
    CHECK_INT(negative, 0);
    CHECK_CLOSE(sum, p->s, 4 * DBL_EPSILON * p->s * (4.0 + sqrt((double)p->n)));
    AGREE(k, v, p->n);
    AGREE(k, lam, 1);
    return v;
}

/* v and lam against the reference; a value z + lam q may be off by the rounding of its parts. */
static void compare(const cf_table *k, const problem *p)
{
    double lam;
    wide root;
    const double *v = project(k, p, &lam);
    const wide *exact = exact_projection(p, &root);
    ptrdiff_t wrong = 0;
    double sum_z = p->s, sum_q = 0.0; /* of the active: lam = (s - sum z) / sum q */
    for (ptrdiff_t i = 0; i < p->n; i++) {
        sum_z += exact[i] > 0.0L ? fabs(p->z[i]) : 0.0;
        sum_q += exact[i] > 0.0L ? p->q[i] : 0.0;
        const double size = fabs(p->z[i]) + (double)fabsl(root) * p->q[i] + p->s;
        wrong += !(fabsl(v[i] - exact[i]) <= 64 * DBL_EPSILON * size);
    }
    CHECK_INT(wrong, 0);
    CHECK_CLOSE(lam, root, 64 * DBL_EPSILON * sum_z / sum_q);
}

enum kind { ORDINARY, TIES, WIDE_Q, FAR_BELOW, SORTED, REVERSED, BREAKPOINTS, KINDS };

static problem ordinary(enum kind kind, ptrdiff_t n)
{
    problem p = take_problem(n, kind % 2 ? 2.0 : 0.125 + random_unit());
    for (ptrdiff_t i = 0; i < n; i++) {
        p.z[i] = random_normal();
        p.q[i] = 0.1 + random_unit();
        if (kind == TIES) {
            p.z[i] = (double)random_below(3) - 1.0;
            p.q[i] = 0.5 + (double)random_below(2);
        } else if (kind == WIDE_Q) { /* 2^-40 ... 2^40: 24 decades */
            p.q[i] = fabs(random_scaled(-40, 39));
        } else if (kind == FAR_BELOW) {
            p.z[i] = i % 3 ? -fabs(random_scaled(-10, 30)) : p.z[i];
        } else if (kind == SORTED || kind == REVERSED) {
            p.z[i] = (double)(kind == SORTED ? i : n - i) / (double)n;
        } else if (kind == BREAKPOINTS) { /* all at the same breakpoint */
            p.z[i] = -3.0 * p.q[i];
        }
    }
    return p;
}

TEST_TABLES(against_sorted_breakpoints)
{
    for (int kind = 0; kind < KINDS; kind++)
        FOR_SIZES(n, 1, check_count(4099, 1000)) {
            CONTEXT("%s kind=%d n=%td", k->isa, kind, n);
            const problem p = ordinary((enum kind)kind, n);
            compare(k, &p);
            release();
        }
}

/* around the end of the small form and the start of the sample */
TEST_TABLES(at_the_borders_of_the_methods)
{
    static const ptrdiff_t sizes[] = {CF_SCORES_SMALL - 1,  CF_SCORES_SMALL,
                                      CF_SCORES_SMALL + 1,  CF_SCORES_SAMPLE - 1,
                                      CF_SCORES_SAMPLE,     CF_SCORES_SAMPLE + 1,
                                      2 * CF_SCORES_SAMPLE, 3 * CF_SCORES_SAMPLE + 5};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            CONTEXT("%s kind=%d n=%td", k->isa, kind, sizes[i]);
            const problem p = ordinary((enum kind)kind, sizes[i]);
            compare(k, &p);
            release();
        }
    if (!check_quick()) {
        const problem p = ordinary(ORDINARY, 100003);
        compare(k, &p);
    }
}

/* Newton drops one entry a turn where the breakpoints grow geometrically, so the pivots finish
 * it; in the sample too. Shuffled, and with weights that move the breakpoints' order. */
static problem geometric(ptrdiff_t n, double bits, int shuffled, int weighted)
{
    problem p = take_problem(n, 1.0);
    for (ptrdiff_t i = 0; i < n; i++) {
        p.q[i] = weighted ? 0.5 + random_unit() : 1.0;
        p.z[i] = i < 5 ? -0.01 * (double)i : -exp2(bits * (double)i / (double)n) * p.q[i];
    }
    for (ptrdiff_t i = n - 1; shuffled && i > 0; i--) {
        const ptrdiff_t j = random_below(i + 1);
        const double z = p.z[i], q = p.q[i];
        p.z[i] = p.z[j], p.q[i] = p.q[j];
        p.z[j] = z, p.q[j] = q;
    }
    return p;
}

TEST_TABLES(adversarial_order)
{
    static const ptrdiff_t sizes[] = {30, 64, 65, 100, 300, 900, 2047, 2048, 4100, 9000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int form = 0; form < 4; form++)
            for (int bits = 60; bits <= 960; bits += 450) {
                CONTEXT("%s n=%td form=%d bits=%d", k->isa, sizes[i], form, bits);
                const problem p = geometric(sizes[i], bits, form & 1, form >> 1);
                compare(k, &p);
                release();
            }
}

#if defined(__x86_64__)
extern double plain_fma_pivots(ptrdiff_t n, double *z, double *q, double s);

static void check_pivots(const problem *p)
{
    wide root;
    exact_projection(p, &root);
    double *z = TAKE_COPY(p->z, p->n), *q = TAKE_COPY(p->q, p->n);
    const double lam = plain_fma_pivots(p->n, z, q, p->s);
    CHECK_CLOSE(lam, root, 1e-10 * (fabs((double)root) + 1.0));
}

TEST(pivots_alone_find_the_root)
{
    const ptrdiff_t last = __builtin_cpu_supports("fma") ? check_count(300, 60) : 0;
    CHECK(last > 0 || cf_table_for("v3") == NULL);
    for (ptrdiff_t n = 1; n < last; n += 1 + n / 9) {
        for (int form = 0; form < 4; form++) {
            CONTEXT("n=%td form=%d", n, form);
            const problem p = geometric(n, 60.0, form & 1, form >> 1);
            check_pivots(&p);
        }
        for (int kind = 0; kind < KINDS; kind++) {
            CONTEXT("n=%td kind=%d", n, kind);
            const problem p = ordinary(kind == WIDE_Q ? ORDINARY : (enum kind)kind, n);
            check_pivots(&p);
        }
        release();
    }
}
#endif

/* All entries far below zero: the root is `size` away and what is left must still sum to s. */
static void far_below(const cf_table *k, double size)
{
    FOR_SIZES(n, 1, 257) {
        CONTEXT("%s n=%td size=%g", k->isa, n, size);
        problem p = take_problem(n, 1.5);
        for (ptrdiff_t i = 0; i < n; i++) {
            p.z[i] = -size * (1.0 + random_unit());
            p.q[i] = 0.5 + random_unit();
        }
        double lam;
        project(k, &p, &lam);
        CHECK(lam > 0.0);
        for (ptrdiff_t i = 0; i < n; i++) { /* all at one breakpoint: a share each, by weight */
            p.q[i] = 1.0;
            p.z[i] = -size;
        }
        const double *v = project(k, &p, &lam);
        CHECK_CLOSE(v[0], 1.5 / (double)n, 1e-14);
        release();
    }
}

TEST_TABLES(all_values_far_below_zero)
{
    far_below(k, 1e10);
    far_below(k, 1e17);
    far_below(k, 1e30);
}

TEST_TABLES(all_values_astronomically_far_below_zero)
{
    far_below(k, 1e100);
    far_below(k, 1e300);
}

TEST_TABLES(one_value_among_those_far_below)
{
    static const double sizes[] = {1e10, 1e17, 1e100, 1e300};
    FOR_SIZES(n, 1, 257)
        for (int which = 0; which < 4; which++) {
            CONTEXT("%s n=%td size=%g", k->isa, n, sizes[which]);
            problem p = take_problem(n, 1.5);
            for (ptrdiff_t i = 0; i < n; i++) {
                p.z[i] = i == n / 2 ? 0.25 : -sizes[which] * (1.0 + random_unit());
                p.q[i] = 0.5 + random_unit();
            }
            double lam;
            const double *v = project(k, &p, &lam);
            CHECK_CLOSE(v[n / 2], 1.5, 1e-14);
            release();
        }
}

/* A z so large that all others vanish beside it in the sums, and the root of those it hides. */
TEST_TABLES(a_large_value_hides_the_others)
{
    FOR_SIZES(n, 2, 257)
        for (int width = 15; width <= 240; width += 45) {
            CONTEXT("%s n=%td width=%d", k->isa, n, width);
            problem p = take_problem(n, 2.0);
            for (ptrdiff_t i = 0; i < n; i++) {
                p.z[i] = -exp2(3.32 * width * random_unit());
                p.q[i] = fabs(random_scaled(-39, 39));
            }
            compare(k, &p);
            release();
        }
}

/* Sums that overflow though the root does not. */
TEST_TABLES(sums_that_overflow)
{
    static const ptrdiff_t sizes[] = {2, 9, 64, 65, 300, 2100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CONTEXT("%s n=%td", k->isa, sizes[i]);
        problem p = take_problem(sizes[i], 1.0);
        for (ptrdiff_t j = 0; j < p.n; j++) {
            p.z[j] = j == 1 ? 0.5 : -1.5e308;
            p.q[j] = 1.0;
        }
        double lam;
        const double *v = project(k, &p, &lam);
        CHECK_CLOSE(v[1], 1.0, 1e-15);
        CHECK_CLOSE(lam, 0.5, 1e-15);
        release();
    }
}

TEST_TABLES(totals_of_every_size)
{
    for (int e = -300; e <= 300; e += 60)
        for (ptrdiff_t n = 1; n < 80; n += 13) {
            CONTEXT("%s n=%td s=1e%d", k->isa, n, e);
            problem p = take_problem(n, pow(10.0, e));
            for (ptrdiff_t i = 0; i < n; i++) {
                p.z[i] = p.s * random_normal();
                p.q[i] = 0.1 + random_unit();
            }
            compare(k, &p);
            release();
        }
}

/* The solution does not depend on the order of the entries (their sums' rounding aside). */
TEST_TABLES(entries_may_be_permuted)
{
    problem p = ordinary(ORDINARY, 500), r = take_problem(500, p.s);
    for (ptrdiff_t i = 0; i < p.n; i++) {
        r.z[i] = p.z[p.n - 1 - i];
        r.q[i] = p.q[p.n - 1 - i];
    }
    double lam, lam_reversed;
    const double *v = project(k, &p, &lam), *w = project(k, &r, &lam_reversed);
    for (ptrdiff_t i = 0; i < p.n; i++)
        CHECK_CLOSE(v[i], w[p.n - 1 - i], 1e-14);
    CHECK_CLOSE(lam, lam_reversed, 1e-13);
}

/* --- refusals -------------------------------------------------------------------------------- */

static int status_of(const cf_table *k, const problem *p)
{
    double lam, *v = take_doubles(p->n);
    double *scratch = take_doubles(cf_scores_scratch(p->n));
    return k->project_scores(p->n, p->z, p->q, p->s, v, &lam, scratch);
}

TEST_TABLES(bad_input_is_refused_wherever_it_stands)
{
    static const ptrdiff_t sizes[] = {1, 7, 8, 9, 33, 64, 65, 100, 2047, 2048, 2061};
    for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
        const ptrdiff_t n = sizes[size], step = n < 70 ? 1 : n / 37;
        const problem p = ordinary(ORDINARY, n);
        for (ptrdiff_t i = 0; i < n; i += step) {
            const double z = p.z[i], q = p.q[i];
            CONTEXT("%s n=%td i=%td", k->isa, n, i);
            static const double bad[] = {NAN, INFINITY, -INFINITY};
            for (int b = 0; b < 3; b++) {
                p.z[i] = bad[b];
                CHECK_INT(status_of(k, &p), CF_ENONFINITE);
                p.z[i] = z;
                p.q[i] = bad[b];
                CHECK_INT(status_of(k, &p), CF_ENONFINITE);
                p.q[i] = q;
            }
            p.q[i] = 0.0;
            CHECK_INT(status_of(k, &p), CF_ENOTPOSITIVE);
            p.q[i] = -q;
            CHECK_INT(status_of(k, &p), CF_ENOTPOSITIVE);
            p.q[i] = -0x1p-1074;
            CHECK_INT(status_of(k, &p), CF_ENOTPOSITIVE);
            p.q[i] = q;
        }
        CHECK_INT(status_of(k, &p), CF_OK);
        release();
    }
}

TEST_TABLES(weights_whose_sum_overflows)
{
    static const ptrdiff_t sizes[] = {2, 9, 64, 65, 2100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CONTEXT("%s n=%td", k->isa, sizes[i]);
        problem p = take_problem(sizes[i], 1.0);
        for (ptrdiff_t j = 0; j < p.n; j++) {
            p.z[j] = -1.0;
            p.q[j] = 1e308;
        }
        double lam, *v = take_doubles(p.n), sum = 0.0;
        double *scratch = take_doubles(cf_scores_scratch(p.n));
        const int status = k->project_scores(p.n, p.z, p.q, p.s, v, &lam, scratch);
        for (ptrdiff_t j = 0; j < p.n; j++)
            sum += v[j];
        CHECK_THAT(status == CF_ENONFINITE || fabs(sum - 1.0) <= 1e-10, "status %d, sum %g",
                   status, sum);
        release();
    }
}

TEST_TABLES(a_root_that_overflows_is_refused)
{
    static const ptrdiff_t sizes[] = {1, 5, 64, 70, 2100};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CONTEXT("%s n=%td", k->isa, sizes[i]);
        problem p = take_problem(sizes[i], 1.0);
        for (ptrdiff_t j = 0; j < p.n; j++) {
            p.z[j] = -1e300;
            p.q[j] = 1e-20;
        }
        CHECK_INT(status_of(k, &p), CF_ENONFINITE);
        release();
    }
}

CHECK_MAIN
