/* Feasible sets: Euclidean projections, and Newton rounds in the norm of the full metric.
 *
 * The judge of both is the same: w is the point of a convex set nearest to z in the norm of A
 * exactly where g.w <= g.u for all u of the set, g = A (w - z); and the least g.u has a formula.
 */
#include "cf_reference.h"
#include "coactive_fast/cf_faces.h"
#include "coactive_fast/cf_region.h"

static const cf_region_kind KINDS[] = {CF_REGION_BALL, CF_REGION_SIMPLEX, CF_REGION_BOX,
                                       CF_REGION_L1};

static cf_region take_set(ptrdiff_t n, cf_region_kind kind, int form)
{
    cf_region set = {n, kind, 0.5 + random_unit(), 0.0, NULL, NULL};
    if (kind == CF_REGION_SIMPLEX && form % 2) {
        const double gamma = 0.3;
        set.floor = gamma / (double)n;
        set.total = 1.0 - gamma;
    } else if (kind == CF_REGION_BOX) {
        double *lower = take_normal(n), *upper = take_doubles(n);
        for (ptrdiff_t i = 0; i < n; i++)
            upper[i] = lower[i] + (random_below(4) ? random_unit() : 0.0);
        set.lower = lower;
        set.upper = upper;
    }
    return set;
}

/* the least g.u over the set */
static wide least(const cf_region *set, const wide *g)
{
    wide sum = 0.0L, most = 0.0L, low = g[0], square = 0.0L, box = 0.0L;
    for (ptrdiff_t i = 0; i < set->n; i++) {
        sum += g[i];
        square += g[i] * g[i];
        most = fabsl(g[i]) > most ? fabsl(g[i]) : most;
        low = g[i] < low ? g[i] : low;
        if (set->kind == CF_REGION_BOX)
            box += g[i] * (g[i] > 0.0L ? set->lower[i] : set->upper[i]);
    }
    switch (set->kind) {
    case CF_REGION_BALL:
        return -set->total * sqrtl(square);
    case CF_REGION_SIMPLEX:
        return set->floor * sum + set->total * low;
    case CF_REGION_BOX:
        return box;
    default:
        return -set->total * most;
    }
}

static int in_set(const cf_region *set, const double *w)
{
    const double slack = 1e-13;
    wide sum = 0.0L, square = 0.0L, sizes = 0.0L;
    int good = 1;
    for (ptrdiff_t i = 0; i < set->n; i++) {
        sum += w[i];
        sizes += fabsl((wide)w[i]);
        square += (wide)w[i] * w[i];
        if (set->kind == CF_REGION_BOX)
            good = good && w[i] >= set->lower[i] && w[i] <= set->upper[i];
        if (set->kind == CF_REGION_SIMPLEX)
            good = good && w[i] >= set->floor - slack * set->floor;
    }
    if (set->kind == CF_REGION_BALL)
        good = good && sqrtl(square) <= set->total * (1.0L + slack);
    if (set->kind == CF_REGION_SIMPLEX)
        good = good && fabsl(sum - (wide)set->n * set->floor - set->total) <= slack;
    if (set->kind == CF_REGION_L1)
        good = good && sizes <= set->total * (1.0L + slack);
    return good;
}

/* A = NULL: the identity */
static void check_nearest(const cf_region *set, const wide *a, const wide *z, const double *w,
                          double allowed)
{
    const ptrdiff_t n = set->n;
    wide *g = take_wide(n), at = 0.0L, size = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        wide part = a ? 0.0L : fabsl((wide)w[i]) + fabsl(z[i]); /* before anything cancels */
        g[i] = a ? 0.0L : w[i] - z[i];
        for (ptrdiff_t j = 0; a && j < n; j++) {
            g[i] += a[i * n + j] * (w[j] - z[j]);
            part += fabsl(a[i * n + j]) * (fabsl((wide)w[j]) + fabsl(z[j]));
        }
        at += g[i] * w[i];
        size += part * (1.0L + fabsl((wide)w[i]));
    }
    CHECK(in_set(set, w));
    CHECK_CLOSE(at, least(set, g), allowed * (double)size);
}

/* --- the Euclidean projection ----------------------------------------------------------------- */

TEST_TABLES(the_nearest_point_of_each_set)
{
    for (ptrdiff_t n = 1; n <= 20; n++)
        for (int form = 0; form < check_count(40, 8); form++) {
            cf_region set = take_set(n, KINDS[form % 4], form / 4);
            const double size = form % 3 ? 3.0 : 0.2;
            CONTEXT("%s n=%td kind=%d form=%d", k->isa, n, (int)set.kind, form);
            double *z = take_normal(n), *w = take_doubles(n);
            double *scratch = take_doubles(cf_region_scratch(n));
            for (ptrdiff_t i = 0; i < n; i++)
                z[i] *= size;
            CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
            check_nearest(&set, NULL, widened(n, z), w, 1e-14);
            if (set.kind != CF_REGION_SIMPLEX && in_set(&set, z))
                CHECK_BITS(w, z, n);
            AGREE(k, w, n);
            release();
        }
}

TEST_TABLES(large_projections)
{
    static const ptrdiff_t sizes[] = {63, 64, 65, 200, 3000};
    for (int i = 0; i < check_count(5, 3); i++)
        for (int kind = 0; kind < 4; kind++) {
            const ptrdiff_t n = sizes[i];
            cf_region set = take_set(n, KINDS[kind], i);
            CONTEXT("%s n=%td kind=%d", k->isa, n, kind);
            double *z = take_normal(n), *w = take_doubles(n);
            double *scratch = take_doubles(cf_region_scratch(n));
            CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
            check_nearest(&set, NULL, widened(n, z), w, 1e-13);
            AGREE(k, w, n);
            release();
        }
}

/* Lengths whose square leaves the range, and radii beside them. */
TEST_TABLES(a_ball_of_any_size)
{
    for (ptrdiff_t n = 1; n <= 9; n++)
        for (int e = -1040; e <= 1000; e += 120)
            for (int r = -1000; r <= 1000; r += 125) {
                cf_region set = {n, CF_REGION_BALL, ldexp(0.75, r), 0.0, NULL, NULL};
                CONTEXT("%s n=%td z~2^%d radius~2^%d", k->isa, n, e, r);
                double *z = take_doubles(n), *w = take_doubles(n);
                double *scratch = take_doubles(cf_region_scratch(n));
                for (ptrdiff_t i = 0; i < n; i++)
                    z[i] = ldexp(random_normal(), e);
                wide square = 0.0L; /* in 4^e: valgrind's long double has the range of a double */
                for (ptrdiff_t i = 0; i < n; i++)
                    square += (wide)ldexp(z[i], -e) * ldexp(z[i], -e);
                const wide norm = sqrtl(square);
                CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
                for (ptrdiff_t i = 0; i < n; i++) {
                    const int inside = norm <= (wide)ldexp(0.75, r - e < 900 ? r - e : 900);
                    const wide to = (wide)ldexp(z[i], -e) / norm * set.total;
                    if (inside)
                        CHECK(w[i] == z[i]);
                    else
                        CHECK_CLOSE(w[i], to,
                                    1e-15 * (double)(n + 4) * (double)fabsl(to) + 0x1p-1074);
                }
                release();
            }
    const double zero[3] = {0.0, -0.0, 0.0};
    double w[3], scratch[64];
    const cf_region set = {3, CF_REGION_BALL, 1.0, 0.0, NULL, NULL};
    CHECK_INT(cf_region_project(&set, k, zero, w, scratch), CF_OK);
    CHECK_BITS(w, zero, 3);
}

TEST_TABLES(what_is_not_finite_leaves_w)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < 3; i++) {
            const ptrdiff_t n = 5;
            const cf_region set = take_set(n, KINDS[kind], 0);
            double *z = take_normal(n), *w = take_normal(n);
            double *scratch = take_doubles(cf_region_scratch(n));
            const double *before = TAKE_COPY(w, n);
            z[random_below(n)] = bad[i];
            CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_ENONFINITE);
            CHECK_BITS(w, before, n);
            release();
        }
}

/* Sums of sizes that leave the range, and totals beside them: the nearest point of a simplex or an
 * L1 ball is known where one coordinate towers above all others, and where all are alike. */
TEST_TABLES(sums_of_any_size)
{
    for (ptrdiff_t n = 1; n <= 9; n++)
        for (int e = -1000; e <= 1020; e += 101)
            for (int l1 = 0; l1 < 2; l1++) {
                const cf_region set = {n, l1 ? CF_REGION_L1 : CF_REGION_SIMPLEX, 0.75, 0.0, NULL,
                                       NULL};
                const double tower = 8.0 + ldexp(1.0, e), alike = 0.25 * ldexp(1.0, e);
                CONTEXT("%s n=%td z~2^%d l1=%d", k->isa, n, e, l1);
                double *z = take_doubles(n), *w = take_doubles(n);
                double *scratch = take_doubles(cf_region_scratch(n));
                const ptrdiff_t top = random_below(n);
                for (ptrdiff_t i = 0; i < n; i++)
                    z[i] = i == top ? tower : 0.0;
                CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
                for (ptrdiff_t i = 0; i < n; i++)
                    CHECK_CLOSE(w[i], i == top ? 0.75 : 0.0, 1e-15);
                for (ptrdiff_t i = 0; i < n; i++)
                    z[i] = l1 && i % 2 ? -alike : alike;
                CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
                const int inside = l1 && (double)n * alike <= 0.75;
                for (ptrdiff_t i = 0; i < n; i++)
                    CHECK_CLOSE(fabs(w[i]), inside ? alike : 0.75 / (double)n, 1e-15);
                release();
            }
}

/* One coordinate, and boxes some of whose sides have no length: little or nothing can move. */
TEST_TABLES(sets_with_little_room)
{
    const double far[] = {-DBL_MAX, -1.0, 0.0, 0.25, 1.0, DBL_MAX};
    for (int i = 0; i < 6; i++) {
        double w = NAN, scratch[256];
        CHECK(cf_region_scratch(1) <= 256);
        const cf_region vertex = {1, CF_REGION_SIMPLEX, 0.7, 0.3, NULL, NULL};
        CHECK_INT(cf_region_project(&vertex, k, &far[i], &w, scratch), CF_OK);
        CHECK_CLOSE(w, 1.0, 1e-15);
        const cf_region_kind rounds[] = {CF_REGION_BALL, CF_REGION_L1};
        for (int kind = 0; kind < 2; kind++) {
            const cf_region set = {1, rounds[kind], 0.5, 0.0, NULL, NULL};
            CHECK_INT(cf_region_project(&set, k, &far[i], &w, scratch), CF_OK);
            CHECK_CLOSE(w, fmax(-0.5, fmin(0.5, far[i])), 0.0);
        }
    }
    for (ptrdiff_t n = 1; n <= 12; n++) {
        CONTEXT("%s n=%td", k->isa, n);
        double *lower = take_normal(n), *upper = TAKE_COPY(lower, n), *z = take_normal(n);
        double *w = take_doubles(n), *scratch = take_doubles(cf_region_scratch(n));
        cf_region set = {n, CF_REGION_BOX, 0.0, 0.0, lower, upper};
        CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
        CHECK_BITS(w, lower, n);
        upper[n - 1] += 1.0; /* one side has a length */
        CHECK_INT(cf_region_project(&set, k, z, w, scratch), CF_OK);
        CHECK_BITS(w, lower, n - 1);
        check_nearest(&set, NULL, widened(n, z), w, 1e-14);
        release();
    }
}

/* --- the Newton round ------------------------------------------------------------------------- */

typedef struct game {
    cf_region set;
    cf_full full;
    double *memory, *scratch, *w, *w_new, lam;
    signed char *face;
    wide *a;
} game;

static game take_game(const cf_table *k, ptrdiff_t n, cf_region_kind kind, int form)
{
    game g;
    g.set = take_set(n, kind, form);
    g.memory = take_line(cf_full_size(n));
    g.scratch = take_doubles(cf_region_newton_scratch(n));
    g.w = take_doubles(n);
    g.w_new = take_doubles(n);
    g.face = take_bytes((size_t)n, 0, 0);
    memset(g.face, 0, (size_t)n);
    g.lam = 0.0;
    g.a = take_wide(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        g.a[i] = i / n == i % n ? 0.5L : 0.0L;
    cf_full_init(&g.full, n, 0.5, 0, k, g.memory);
    double *start = take_normal(n), *scratch = take_doubles(cf_region_scratch(n));
    CHECK_INT(cf_region_project(&g.set, k, start, g.w, scratch), CF_OK);
    return g;
}

static int round_of(const cf_table *k, game *g, double gain, const double *x)
{
    return cf_region_newton(&g->set, &g->full, k, gain, x, g->w, g->w_new, &g->lam, g->face,
                            g->scratch);
}

/* z = w + gain A^-1 x of the new A, in long double */
static const wide *wide_step(game *g, double gain, const double *x)
{
    const ptrdiff_t n = g->set.n;
    wide *z = widened(n, x), *a = take_wide(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        a[i] = g->a[i] += (wide)x[i / n] * x[i % n];
    wide_solve(n, a, 1, z);
    for (ptrdiff_t i = 0; i < n; i++)
        z[i] = g->w[i] + gain * z[i];
    return z;
}

TEST_TABLES(rounds_end_at_the_nearest_point)
{
    for (ptrdiff_t n = 1; n <= 18; n++)
        for (int form = 0; form < check_count(16, 8); form++) {
            game g = take_game(k, n, KINDS[form % 4], form / 4);
            double *x = take_doubles(n);
            for (int turn = 0; turn < 12; turn++) {
                const double gain = (form / 8 ? 5.0 : 0.5) * random_normal();
                CONTEXT("%s n=%td kind=%d form=%d turn=%d", k->isa, n, form % 4, form, turn);
                fill_normal(x, n);
                CHECK_INT(round_of(k, &g, gain, x), CF_OK);
                check_nearest(&g.set, g.a, wide_step(&g, gain, x), g.w_new, 1e-13);
                AGREE(k, g.w_new, n);
                memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
            }
            CHECK_INT(g.full.health.updates, 12);
            double *out = take_doubles(n * n);
            cf_full_matrix(&g.full, k, g.scratch, out);
            for (ptrdiff_t i = 0; i < n * n; i++)
                CHECK_CLOSE(out[i], g.a[i], 1e-13 * (double)fabsl(g.a[i]) + 1e-14);
            release();
        }
}

/* Two hundred rounds, past the first renewals of the inverse: lam and face come from the round
 * before, and the sets are met from inside and from outside. */
TEST_TABLES(long_games_stay_right)
{
    static const ptrdiff_t sizes[] = {1, 2, 7, 24, 40};
    const int turns = check_count(200, 60);
    for (int i = 0; i < check_count(5, 4); i++)
        for (int kind = 0; kind < 4; kind++) {
            const ptrdiff_t n = sizes[i];
            game g = take_game(k, n, KINDS[kind], 1);
            double *x = take_doubles(n);
            int away = 0;
            for (int turn = 0; turn < turns; turn++) {
                CONTEXT("%s n=%td kind=%d turn=%d", k->isa, n, kind, turn);
                fill_normal(x, n);
                const double gain = (turn % 10 ? 0.01 : 20.0) * random_normal();
                CHECK_INT(round_of(k, &g, gain, x), CF_OK);
                const wide *z = wide_step(&g, gain, x);
                check_nearest(&g.set, g.a, z, g.w_new, 1e-12);
                away += fabsl(g.w_new[0] - z[0]) > 1e-9L;
                AGREE(k, g.w_new, n);
                memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
            }
            CHECK(40 * away > turns); /* the projection did move points */
            CHECK(g.full.health.renewals > 0 && g.full.health.repairs == 0);
            release();
        }
}

/* Neither readings nor w change, whatever the reason. */
static void unchanged(const cf_table *k, game *g, double gain, const double *x, int status)
{
    const ptrdiff_t n = g->set.n;
    double *a = take_doubles(n * n), *b = take_doubles(n * n), *now = take_doubles(n * n);
    const double logdet = g->full.logdet;
    const int64_t updates = g->full.health.updates;
    const double *w = TAKE_COPY(g->w, n);
    cf_full_matrix(&g->full, k, g->scratch, a);
    cf_full_inverse(&g->full, k, g->scratch, b);
    CHECK_INT(round_of(k, g, gain, x), status);
    cf_full_matrix(&g->full, k, g->scratch, now);
    CHECK_BITS(now, a, n * n);
    cf_full_inverse(&g->full, k, g->scratch, now);
    CHECK_BITS(now, b, n * n);
    CHECK_CLOSE(g->full.logdet, logdet, 0.0);
    CHECK_INT(g->full.health.updates, updates);
    CHECK_BITS(g->w, w, n);
    if (status == CF_OK)
        CHECK_BITS(g->w_new, w, n);
}

TEST_TABLES(rounds_that_change_nothing)
{
    for (ptrdiff_t n = 1; n <= 10; n += 3)
        for (int kind = 0; kind < 4; kind++) {
            CONTEXT("%s n=%td kind=%d", k->isa, n, kind);
            game g = take_game(k, n, KINDS[kind], 1);
            double *x = take_normal(n);
            CHECK_INT(round_of(k, &g, 0.3, x), CF_OK);
            memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
            memset(x, 0, (size_t)n * sizeof *x);
            unchanged(k, &g, 1.0, x, CF_OK);
            x[n - 1] = 1e-200; /* its square is 0 */
            unchanged(k, &g, 1.0, x, CF_OK);
            x[n - 1] = NAN;
            unchanged(k, &g, 1.0, x, CF_ENONFINITE);
            x[n - 1] = 1e200;
            unchanged(k, &g, 1.0, x, CF_ENONFINITE);
            x[n - 1] = 1.0;
            unchanged(k, &g, INFINITY, x, CF_ENONFINITE); /* the step */
            release();
        }
}

/* B is spoilt where x does not look: the projection cannot be, and nothing is done. */
TEST_TABLES(a_projection_that_fails)
{
    for (int kind = 0; kind < 4; kind++) {
        CONTEXT("%s kind=%d", k->isa, kind);
        const double x[2] = {1.0, 0.0}, lower[2] = {0.0, 0.0}, upper[2] = {1.0, 1.0};
        game g = take_game(k, 2, KINDS[kind], 0);
        g.set.lower = lower;
        g.set.upper = upper;
        g.set.total = 1.0;
        g.w[0] = g.w[1] = 0.5;
        cf_triangle_row(&g.full.b, 1)[0] = 0.9;
        cf_triangle_row(&g.full.b, 1)[1] = -3.0;
        unchanged(k, &g, 20.0, x, CF_ENOTPOSITIVE);
        release();
    }
}

/* A term that B does not hold yet, against the B that holds it. */
TEST_TABLES(a_projection_with_a_term_apart)
{
    for (ptrdiff_t n = 1; n <= 20; n++)
        for (int kind = 1; kind < 4; kind++) {
            const cf_region set = take_set(n, KINDS[kind], 0);
            const cf_faces faces = {kind == 1 ? CF_SIMPLEX : kind == 2 ? CF_BOX : CF_L1,
                                    set.total, set.lower, set.upper};
            CONTEXT("%s n=%td kind=%d", k->isa, n, kind);
            double *full = random_spd(n, 3), *term = take_padded(n), *z = take_normal(n);
            double *w = take_doubles(n), *same = take_doubles(n);
            double *scratch = take_doubles(cf_faces_scratch(n));
            signed char *state = take_bytes((size_t)n, 0, 0), *other = take_bytes((size_t)n, 0, 0);
            memset(state, 0, (size_t)n);
            memset(other, 0, (size_t)n);
            fill_normal(term, n);
            const cf_triangle less = take_triangle(full, n, 0, 0);
            for (ptrdiff_t i = 0; i < n * n; i++)
                full[i] += term[i / n] * term[i % n];
            const cf_triangle b = take_triangle(full, n, 0, 0);
            CHECK_INT(cf_faces_project(k, &b, term, &faces, z, w, state, scratch), CF_OK);
            CHECK_INT(cf_faces_project(k, &less, NULL, &faces, z, same, other, scratch), CF_OK);
            for (ptrdiff_t i = 0; i < n; i++)
                CHECK_CLOSE(w[i], same[i], 1e-11);
            CHECK(memcmp(state, other, (size_t)n) == 0);
            AGREE(k, w, n);
            release();
        }
}

CHECK_MAIN
