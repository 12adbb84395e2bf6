/* A Newton round on the ball, against dense solves and bisection in long double. */
#include "cf_reference.h"

typedef struct game {
    ptrdiff_t n;
    cf_full full;
    double *memory, *scratch;
    wide *a; /* the matrix itself */
    cf_newton step;
    double *x, *w, *w_new, lam;
} game;

static game take_form(const cf_table *k, ptrdiff_t n, double ridge, int precision)
{
    game g = {.n = n,
              .memory = take_line(cf_full_size(n)),
              .scratch = take_doubles(cf_newton_scratch(n)),
              .a = take_wide(n * n),
              .step = {1.0, 1.0, INFINITY, INFINITY},
              .x = take_doubles(n),
              .w = take_doubles(n),
              .w_new = take_doubles(n)};
    for (ptrdiff_t i = 0; i < n * n; i++)
        g.a[i] = i / n == i % n ? ridge : 0.0L;
    fill_normal(g.x, n);
    fill_normal(g.w, n);
    cf_full_init(&g.full, n, ridge, precision, k, g.memory);
    return g;
}

static game take_game(const cf_table *k, ptrdiff_t n, double ridge)
{
    return take_form(k, n, ridge, CF_FULL_FAST);
}

static int play(const cf_table *k, game *g)
{
    return cf_newton_ball(&g->full, k, &g->step, g->x, g->w, g->w_new, &g->lam, g->scratch);
}

/* A += c x x^T: what the round does to the matrix. */
static void follow(game *g)
{
    for (ptrdiff_t i = 0; i < g->n * g->n; i++)
        g->a[i] += (wide)g->step.c * g->x[i / g->n] * g->x[i % g->n];
}

/* w + gain A^-1 x; g->a is the new matrix */
static wide *exact_step(const game *g)
{
    const ptrdiff_t n = g->n;
    wide *a = take_wide(n * n), *z = widened(n, g->x);
    memcpy(a, g->a, (size_t)(n * n) * sizeof *a);
    wide_solve(n, a, 1, z);
    for (ptrdiff_t i = 0; i < n; i++)
        z[i] = g->w[i] + g->step.gain * z[i];
    return z;
}

/* Rounds that are not watched, so that A holds something, also in its block and pending term. */
static void warm_up(const cf_table *k, game *g, int rounds)
{
    const cf_newton step = g->step;
    g->step = (cf_newton){0.75, 0.5, INFINITY, INFINITY};
    for (int i = 0; i < rounds; i++) {
        fill_normal(g->x, g->n);
        CHECK_INT(play(k, g), CF_OK);
        follow(g);
    }
    fill_normal(g->x, g->n);
    g->step = step;
}

/* --- one round ------------------------------------------------------------------------------- */

static void check_matrices(const cf_table *k, const game *g, double error)
{
    const ptrdiff_t n = g->n;
    double *out = take_doubles(n * n), *a = rounded(n * n, g->a);
    const double *b = rounded(n * n, wide_inverse(n, a));
    double size_a = 0.0, size_b = 0.0;
    for (ptrdiff_t i = 0; i < n * n; i++) {
        size_a = fmax(size_a, fabs(a[i]));
        size_b = fmax(size_b, fabs(b[i]));
    }
    cf_full_matrix(&g->full, k, g->scratch, out);
    CHECK_CLOSE(distance(n * n, out, a), 0.0, 1e-13 * size_a);
    AGREE(k, out, n * n);
    cf_full_inverse(&g->full, k, g->scratch, out);
    CHECK_CLOSE(distance(n * n, out, b), 0.0, error * size_b);
    AGREE(k, out, n * n);
}

/* Plays one round. limit and radius are shares of the length of the step (infinite: none). */
static void check_round(const cf_table *k, game *g, double radius, double limit)
{
    const ptrdiff_t n = g->n;
    follow(g);
    const wide *z = exact_step(g), *expected = z;
    const double size = norm2(n, rounded(n, z));
    const int64_t updates = g->full.health.updates;
    g->step.radius = radius * size;
    g->step.limit = limit * size;
    g->lam = 0.0;
    const double *x = TAKE_COPY(g->x, n), *w = TAKE_COPY(g->w, n);
    CHECK_INT(play(k, g), CF_OK);
    if (limit < 1.0) {
        wide lam;
        const double *a = rounded(n * n, g->a);
        expected = wide_ball(n, wide_inverse(n, a), z, g->step.radius, &lam);
        CHECK_CLOSE(g->lam, lam, 1e-10 * (double)lam);
        CHECK_CLOSE(norm2(n, g->w_new), g->step.radius, 8 * DBL_EPSILON * g->step.radius);
        AGREE(k, &g->lam, 1);
    } else {
        CHECK_CLOSE(g->lam, 0.0, 0.0);
    }
    CHECK_CLOSE(distance(n, g->w_new, rounded(n, expected)), 0.0, 1e-12 * size);
    AGREE(k, g->w_new, n);
    CHECK_BITS(g->x, x, n);
    CHECK_BITS(g->w, w, n);
    CHECK_INT(g->full.health.updates, updates + 1);
    check_matrices(k, g, 1e-12);
}

TEST_TABLES(the_robust_form_against_solves_and_bisection)
{
    FOR_SIZES(n, 1, 20) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_form(k, n, 0.7, CF_FULL_ROBUST);
        warm_up(k, &g, 5);
        check_round(k, &g, 0.6, 0.6);
        fill_normal(g.x, n);
        memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
        check_round(k, &g, INFINITY, INFINITY);
        release();
    }
}

/* A long row converts the metric in its round; each entry of w has its own digits then. */
TEST_TABLES(a_long_row_converts_in_its_round)
{
    for (ptrdiff_t n = 2; n < 12; n++) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_form(k, n, 1.0, CF_FULL_AUTO), *at = &g;
        warm_up(k, &g, 3);
        CHECK_INT(g.full.robust, 0);
        for (int round = 0; round < 4; round++) {
            wide lam;
            fill_normal(g.x, n);
            g.x[n - 1] = 1e5 * (1.0 + random_unit()); /* long double follows so far */
            follow(at);
            const wide *z = exact_step(at);
            g.step = (cf_newton){1.0, 1.0, 0.3, 0.3};
            CHECK_INT(play(k, at), CF_OK);
            CHECK_INT(g.full.robust, 1);
            if (g.lam > 0.0) {
                const wide *w = wide_ball(n, wide_inverse(n, rounded(n * n, g.a)), z, 0.3, &lam);
                for (ptrdiff_t i = 0; i < n - 1; i++)
                    CHECK_CLOSE(g.w_new[i], w[i], 1e-9);
            }
            AGREE(k, g.w_new, n);
            memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
        }
        release();
    }
}

TEST_TABLES(a_round_against_solves_and_bisection)
{
    static const double shares[][2] = {/* radius, limit */
        {1.5, 1.5}, {0.5, 0.5}, {0.1, 1.2}, {0.5, 0.9}, {0.01, 0.3}, {0.3, INFINITY},
        {1.001, 1.001}, {0.999, 0.999}, {INFINITY, INFINITY}, {1e-4, 1e-4}};
    for (ptrdiff_t n = 1; n <= check_count(14, 9); n++)
        for (size_t form = 0; form < sizeof shares / sizeof *shares; form++) {
            CONTEXT("%s n=%td form=%zu", k->isa, n, form);
            game g = take_game(k, n, form % 2 ? 0.5 : 2.0);
            warm_up(k, &g, (int)(n + 5 * (ptrdiff_t)form) % 23);
            g.step.c = form % 3 ? 0.25 + random_unit() : 1.0;
            g.step.gain = form % 4 ? 1.0 : -2.5;
            check_round(k, &g, shares[form][0], shares[form][1]);
            release();
        }
}

/* --- x = 0, and the border ------------------------------------------------------------------- */

typedef struct snapshot {
    double *memory;
    cf_full *state;
    double *w;
} snapshot;

static snapshot take_snapshot(const game *g)
{
    return (snapshot){TAKE_COPY(g->memory, cf_full_size(g->n)), TAKE_COPY(&g->full, 1),
                      TAKE_COPY(g->w, g->n)};
}

/* A and its inverse: every byte; and w is the caller's. */
static void check_untouched(const game *g, const snapshot *before)
{
    CHECK_BITS(g->memory, before->memory, cf_full_size(g->n));
    CHECK_BITS(&g->full, before->state, 1);
    CHECK_BITS(g->w, before->w, g->n);
}

/* Nothing to learn: A stays, and a w in the ball comes back bit for bit, the border too. */
TEST_TABLES(a_zero_x_moves_only_what_is_outside)
{
    for (ptrdiff_t n = 1; n < 20; n += 3) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_game(k, n, 1.0);
        warm_up(k, &g, (int)n + 3);
        memset(g.x, 0, (size_t)n * sizeof *g.x);
        const double size = sqrt(k->dot(n, g.w, g.w));
        const double limits[] = {size, 2.0 * size, INFINITY};
        const snapshot before = take_snapshot(&g);
        for (int i = 0; i < 3; i++) {
            g.step.radius = g.step.limit = limits[i];
            CHECK_INT(play(k, &g), CF_OK);
            CHECK_BITS(g.w_new, g.w, n);
            CHECK_CLOSE(g.lam, 0.0, 0.0);
            check_untouched(&g, &before);
        }
        g.step.radius = g.step.limit = 0.5 * size;
        CHECK_INT(play(k, &g), CF_OK);
        check_untouched(&g, &before);
        wide lam;
        const wide *b = wide_inverse(n, rounded(n * n, g.a));
        const wide *w = wide_ball(n, b, widened(n, g.w), g.step.radius, &lam);
        CHECK_CLOSE(distance(n, g.w_new, rounded(n, w)), 0.0, 1e-12 * size);
        CHECK_CLOSE(g.lam, lam, 1e-10 * (double)lam);
        AGREE(k, g.w_new, n);
        release();
    }
}

TEST_TABLES(nothing_comes_of_nothing)
{
    game g = take_game(k, 9, 1.0);
    memset(g.x, 0, 9 * sizeof *g.x);
    memset(g.w, 0, 9 * sizeof *g.w);
    g.step.radius = g.step.limit = 1e-300;
    const snapshot before = take_snapshot(&g);
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_BITS(g.w_new, g.w, 9);
    CHECK_CLOSE(g.lam, 0.0, 0.0);
    check_untouched(&g, &before);
}

/* An x whose share no digit of A shows is a round all the same. */
TEST_TABLES(an_x_too_small_for_a)
{
    game g = take_game(k, 5, 1.0);
    warm_up(k, &g, 7);
    for (ptrdiff_t i = 0; i < 5; i++)
        g.x[i] = i == 2 ? 1e-200 : 0.0;
    const snapshot before = take_snapshot(&g);
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_CLOSE(distance(5, g.w_new, g.w), 0.0, 0.0);
    check_untouched(&g, &before);
}

/* The step ends on the border to the bit, or the smallest part beyond it. */
TEST_TABLES(a_step_to_the_border)
{
    game g = take_game(k, 2, 1.0);
    g.w[0] = 3.0;
    g.w[1] = 3.0;
    g.x[0] = 0.0;
    g.x[1] = 1.0;
    g.step = (cf_newton){1.0, 2.0, 5.0, 5.0}; /* A^-1 x = x / 2 */
    CHECK_INT(play(k, &g), CF_OK);
    CHECK(g.w_new[0] == 3.0 && g.w_new[1] == 4.0);
    CHECK_CLOSE(g.lam, 0.0, 0.0);
    g = take_game(k, 2, 1.0);
    g.w[0] = 3.0;
    g.w[1] = 3.0;
    g.x[0] = 0.0;
    g.x[1] = 1.0;
    g.step = (cf_newton){1.0, 2.0, nextafter(5.0, 0.0), nextafter(5.0, 0.0)};
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_CLOSE(norm2(2, g.w_new), 5.0, 4 * DBL_EPSILON * 5.0);
    CHECK_CLOSE(g.w_new[0], 3.0, 1e-14);
    CHECK_CLOSE(g.w_new[1], 4.0, 1e-14);
}

/* --- many rounds ----------------------------------------------------------------------------- */

/* (A + lam I) w_new = A z = A w + gain x: no solve is needed to know the projection. */
static void check_conditions(const game *g, double lam)
{
    const ptrdiff_t n = g->n;
    wide rest = 0.0L, trace = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        wide d = (wide)lam * g->w_new[i] - (wide)g->step.gain * g->x[i];
        for (ptrdiff_t j = 0; j < n; j++)
            d += g->a[i * n + j] * ((wide)g->w_new[j] - g->w[j]);
        rest += d * d;
        trace += g->a[i * n + i];
    }
    const double size = ((double)trace + lam) * (norm2(n, g->w) + norm2(n, g->w_new));
    CHECK_CLOSE(sqrtl(rest), 0.0, 1e-12 * size);
}

/* Returns how many rounds were projected. Over renewals of the inverse; lam goes on as a guess. */
static int many_rounds(const cf_table *k, ptrdiff_t n, double limit, int turns)
{
    game g = take_game(k, n, 0.5);
    int projected = 0;
    g.step = (cf_newton){0.5, 2.0, 0.8, limit};
    memset(g.w, 0, (size_t)n * sizeof *g.w);
    for (int turn = 0; turn < turns; turn++) {
        for (ptrdiff_t i = 0; i < n; i++) /* turning about: in, out and in again */
            g.x[i] = random_normal() + ((turn / 10 + i) % 3 ? 0.6 : -0.6);
        CONTEXT("%s n=%td limit=%g turn=%d", k->isa, n, limit, turn);
        follow(&g);
        const int beyond = norm2(n, rounded(n, exact_step(&g))) > limit;
        CHECK_INT(play(k, &g), CF_OK);
        if (beyond)
            CHECK_CLOSE(norm2(n, g.w_new), g.step.radius, 8 * DBL_EPSILON);
        check_conditions(&g, beyond ? g.lam : 0.0);
        AGREE(k, g.w_new, n);
        memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
        projected += beyond;
    }
    int renewals = 0;
    for (ptrdiff_t at = n; at <= turns; at *= 2)
        renewals++;
    CHECK_INT(g.full.health.renewals, renewals);
    CHECK_INT(g.full.health.updates, turns);
    CHECK_INT(g.full.health.probes, turns / (n > 64 ? n : 64));
    CHECK_INT(g.full.health.repairs, 0);
    check_matrices(k, &g, 1e-12);
    release();
    return projected;
}

TEST_TABLES(many_rounds_over_renewals)
{
    static const ptrdiff_t sizes[] = {1, 2, 7, 8, 20, 33};
    const int turns = check_count(150, 70);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - 2 * (size_t)check_quick(); i++) {
        const int exact = many_rounds(k, sizes[i], 0.8, turns);
        const int deferred = many_rounds(k, sizes[i], 1.6, turns);
        CHECK_THAT(exact > 0 && exact < turns, "%d of %d projected", exact, turns);
        CHECK_THAT(deferred < exact, "%d projected, deferred %d", exact, deferred);
        CHECK_INT(many_rounds(k, sizes[i], INFINITY, turns), 0);
    }
}

/* Eigenvalues of A spread so far that Lanczos does not end: the projection falls back. */
TEST_TABLES(a_spread_matrix_takes_the_fallback)
{
    const ptrdiff_t n = 97;
    const int turns = check_count(60, 10);
    game g = take_game(k, n, 1e-6);
    for (int turn = 0; turn <= turns; turn++) {
        for (ptrdiff_t i = 0; i < n; i++)
            g.x[i] = ldexp(random_normal(), -(int)(24 * i / n));
        if (turn == turns)
            g.step.radius = g.step.limit = 1e-4 * norm2(n, g.w);
        CHECK_INT(play(k, &g), CF_OK);
        follow(&g);
    }
    CHECK_CLOSE(norm2(n, g.w_new), g.step.radius, 8 * DBL_EPSILON * g.step.radius);
    check_conditions(&g, g.lam);
    AGREE(k, g.w_new, n);
    CHECK_INT(g.full.health.repairs, 0);
}

/* Two games of the same rounds, one of them moved to another memory in the middle. */
TEST_TABLES(a_game_resumes_bit_for_bit)
{
    const ptrdiff_t n = 11, size = cf_full_size(n);
    game g = take_game(k, n, 0.5);
    warm_up(k, &g, 17);
    game h = g;
    h.memory = take_line(size);
    h.w = TAKE_COPY(g.w, n);
    h.w_new = take_doubles(n);
    h.scratch = take_doubles(cf_newton_scratch(n));
    memcpy(h.memory, g.memory, (size_t)size * sizeof *h.memory);
    cf_full_attach(&h.full, h.memory);
    for (int turn = 0; turn < 40; turn++) {
        fill_normal(g.x, n);
        g.step = h.step = (cf_newton){1.5, 2.0, 0.3, 0.3};
        CHECK_INT(play(k, &g), CF_OK);
        CHECK_INT(play(k, &h), CF_OK);
        CHECK_BITS(h.w_new, g.w_new, n);
        CHECK_CLOSE(h.lam, g.lam, 0.0);
        memcpy(g.w, g.w_new, (size_t)n * sizeof *g.w);
        memcpy(h.w, h.w_new, (size_t)n * sizeof *h.w);
    }
    CHECK_BITS(h.memory, g.memory, size);
}

/* --- refusals -------------------------------------------------------------------------------- */

/* A and its inverse as a reader sees them: the pending term may have gone into b. */
typedef struct reading {
    double *inverse, *matrix, *w;
    double logdet;
    cf_full_health health;
} reading;

static reading take_reading(const cf_table *k, const game *g)
{
    const ptrdiff_t n = g->n;
    reading r = {take_doubles(n * n), take_doubles(n * n), TAKE_COPY(g->w, n), g->full.logdet,
                 g->full.health};
    cf_full_inverse(&g->full, k, g->scratch, r.inverse);
    cf_full_matrix(&g->full, k, g->scratch, r.matrix);
    return r;
}

static void check_refused(const cf_table *k, game *g, int status)
{
    const ptrdiff_t n = g->n;
    const reading before = take_reading(k, g);
    const double *x = TAKE_COPY(g->x, n);
    g->lam = 0.0;
    CHECK_INT(play(k, g), status);
    const reading after = take_reading(k, g);
    CHECK_BITS(after.inverse, before.inverse, n * n);
    CHECK_BITS(after.matrix, before.matrix, n * n);
    CHECK_BITS(after.w, before.w, n);
    CHECK_BITS(g->x, x, n);
    CHECK_BITS(&after.logdet, &before.logdet, 1);
    CHECK_BITS(&after.health, &before.health, 1);
}

TEST_TABLES(what_is_not_finite_is_refused)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e200};
    for (ptrdiff_t n = 1; n < 20; n += 3) {
        const ptrdiff_t i = random_below(n);
        game g = take_game(k, n, 1.0);
        warm_up(k, &g, 11 + (int)n);
        g.step = (cf_newton){1.0, 1.0, 0.5, 0.5};
        const double x = g.x[i], w = g.w[i];
        for (int b = 0; b < 4; b++) {
            CONTEXT("%s n=%td %g", k->isa, n, bad[b]);
            g.x[i] = bad[b]; /* 1e200: x.A^-1 x overflows */
            check_refused(k, &g, CF_ENONFINITE);
            g.x[i] = x;
            if (b == 3)
                continue;
            g.w[i] = bad[b];
            check_refused(k, &g, CF_ENONFINITE);
            g.w[i] = w;
            g.step.gain = bad[b];
            check_refused(k, &g, CF_ENONFINITE);
            g.step.gain = 1.0;
        }
        g.step.gain = 1e305;
        g.w[i] = 1.7e308; /* both are finite, their sum is not */
        g.x[i] = x > 0.0 ? x + 1e3 : x - 1e3;
        g.w[i] = copysign(1.797e308, g.x[i]);
        g.step.c = 1e-9;
        check_refused(k, &g, CF_ENONFINITE);
        g.w[i] = w;
        g.x[i] = x;
        g.step = (cf_newton){1.0, 1.0, 0.5, 0.5};
        CHECK_INT(play(k, &g), CF_OK); /* nothing of it stays */
        follow(&g);
        check_matrices(k, &g, 1e-12);
        release();
    }
}

/* A refuses what would overflow in it, whatever becomes of the step. */
TEST_TABLES(an_update_that_a_refuses)
{
    for (ptrdiff_t n = 2; n < 20; n += 3)
        for (int projected = 0; projected < 2; projected++) {
            CONTEXT("%s n=%td projected=%d", k->isa, n, projected);
            game g = take_game(k, n, 1.0);
            memset(g.x, 0, (size_t)n * sizeof *g.x);
            memset(g.w, 0, (size_t)n * sizeof *g.w);
            g.x[n - 1] = 1e150;
            g.w[0] = 5.0;
            g.step = (cf_newton){1e10, 1.0, 1.0, projected ? 1.0 : INFINITY};
            check_refused(k, &g, CF_ENONFINITE);
            release();
        }
}

/* x sees a positive inverse, the projection does not. */
TEST_TABLES(a_projection_that_fails)
{
    for (ptrdiff_t n = 2; n < 20; n += 3) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_game(k, n, 1.0);
        warm_up(k, &g, 21);
        memset(g.w, 0, (size_t)n * sizeof *g.w);
        g.x[n - 1] = 0.0;
        g.w[n - 1] = 5.0;
        g.step.radius = g.step.limit = 1.0;
        cf_triangle_row(&g.full.b, n - 1)[n - 1] = -1e3;
        check_refused(k, &g, CF_ENOTPOSITIVE);
        release();
    }
}

/* --- a damaged inverse ----------------------------------------------------------------------- */

static void negate(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = -x[i];
}

TEST_TABLES(a_damaged_inverse_is_repaired_and_the_round_is_right)
{
    for (ptrdiff_t n = 1; n < 34; n += 4)
        for (int form = 0; form < 2; form++) {
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            game g = take_game(k, n, 1.0);
            warm_up(k, &g, 21);
            negate(g.full.b.data, cf_panels_size(n));
            check_round(k, &g, form ? 0.5 : 2.0, form ? 0.5 : 2.0);
            CHECK_INT(g.full.health.repairs, 1);
            CHECK_INT(g.full.health.failed, 0);
            release();
        }
}

/* Also where the round is refused after it: the inverse is anew, A is as it was. */
TEST_TABLES(a_repair_before_a_refusal)
{
    const ptrdiff_t n = 9;
    game g = take_game(k, n, 1.0);
    warm_up(k, &g, 21);
    negate(g.full.b.data, cf_panels_size(n));
    g.w[4] = NAN;
    CHECK_INT(play(k, &g), CF_ENONFINITE);
    CHECK_INT(g.full.health.repairs, 1);
    CHECK_INT(g.full.health.updates, 21);
    check_matrices(k, &g, 1e-12);
}

/* x.A^-1 x is infinite, which A >= ridge I does not allow: no step is made with that. */
TEST_TABLES(infinity_in_the_inverse_is_not_used)
{
    for (ptrdiff_t n = 1; n < 20; n += 3) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_game(k, n, 1.0);
        warm_up(k, &g, 21);
        cf_triangle_row(&g.full.b, n / 2)[n / 2] = INFINITY;
        check_refused(k, &g, CF_ENONFINITE);
        release();
    }
}

/* A is damaged as well: nothing can be done, and nothing is done. */
TEST_TABLES(a_repair_that_fails)
{
    for (ptrdiff_t n = 1; n < 20; n += 3) {
        CONTEXT("%s n=%td", k->isa, n);
        game g = take_game(k, n, 1.0);
        warm_up(k, &g, 21);
        negate(g.full.b.data, cf_panels_size(n));
        negate(g.full.a.data, cf_panels_size(n));
        const reading before = take_reading(k, &g);
        CHECK_INT(play(k, &g), CF_ENOTPOSITIVE);
        const reading after = take_reading(k, &g);
        CHECK_BITS(after.inverse, before.inverse, n * n);
        CHECK_BITS(after.w, before.w, n);
        CHECK_BITS(&after.logdet, &before.logdet, 1);
        double size = 0.0; /* the block went into A: a rounding more or less */
        for (ptrdiff_t i = 0; i < n * n; i++)
            size = fmax(size, fabs(before.matrix[i]));
        CHECK_CLOSE(distance(n * n, after.matrix, before.matrix), 0.0, 8 * DBL_EPSILON * size);
        CHECK_INT(after.health.failed, 1);
        CHECK_INT(after.health.repairs, 1);
        CHECK_INT(after.health.updates, before.health.updates);
        release();
    }
}

/* --- corners --------------------------------------------------------------------------------- */

/* Whatever guess lam came in with. */
TEST_TABLES(a_step_left_alone_has_no_multiplier)
{
    game g = take_game(k, 3, 1.0);
    g.step.radius = g.step.limit = 100.0;
    g.lam = 7.0;
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_CLOSE(g.lam, 0.0, 0.0);
}

/* 3, 4 is not longer than the limit 5, so it is left alone whatever the radius. */
TEST_TABLES(a_step_to_a_limit_beyond_the_radius)
{
    game g = take_game(k, 2, 1.0);
    memset(g.x, 0, 2 * sizeof *g.x);
    g.w[0] = 3.0;
    g.w[1] = 4.0;
    g.step = (cf_newton){1.0, 1.0, 2.0, 5.0};
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_BITS(g.w_new, g.w, 2);
}

/* The squares leave the range of a double; the projection itself does not mind (any_unit...). */
TEST_TABLES(any_unit_will_do)
{
    static const double lengths[] = {1e200, 1e-170};
    for (int i = 0; i < 2; i++) {
        CONTEXT("%s %g", k->isa, lengths[i]);
        game g = take_game(k, 1, 1.0);
        g.x[0] = 0.0;
        g.w[0] = lengths[i];
        g.step.radius = g.step.limit = 0.25 * lengths[i];
        CHECK_INT(play(k, &g), CF_OK);
        CHECK_CLOSE(g.w_new[0], g.step.radius, 1e-15 * g.step.radius);
    }
}

/* x.x is there but q underflows: no damage, so no repair (cf_full_update makes none). */
TEST_TABLES(a_q_that_underflows)
{
    game g = take_game(k, 3, 1e10);
    memset(g.x, 0, 3 * sizeof *g.x);
    g.x[0] = 1e-160;
    CHECK_INT(play(k, &g), CF_OK);
    CHECK_INT(g.full.health.repairs, 0);
}

/* A finite x with a q that is NaN shows the damage too; cf_full_update repairs it. */
TEST_TABLES(nan_in_the_inverse_is_repaired)
{
    const ptrdiff_t n = 10;
    game g = take_game(k, n, 1.0);
    warm_up(k, &g, 12);
    cf_triangle_row(&g.full.b, 7)[3] = NAN;
    CHECK_INT(play(k, &g), CF_OK);
    follow(&g);
    CHECK_INT(g.full.health.repairs, 1);
    check_matrices(k, &g, 1e-12);
}

CHECK_MAIN
