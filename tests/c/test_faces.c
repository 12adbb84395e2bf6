/* Projections on simplex, box and L1 ball: all active sets for small n, the conditions of the
 * optimum for larger ones, bad guesses, and the path. */
#include "cf_reference.h"

#include "../../csrc/src/faces.c" /* its path */

typedef struct setup {
    ptrdiff_t n;
    const double *b; /* n x n */
    const wide *a;   /* its inverse */
    cf_triangle t;
    cf_faces set;
    double *lower, *upper, *z, *w, *scratch;
    signed char *state;
} setup;

#define KINDS 3

static void draw(setup *p)
{
    const double size = p->set.kind == CF_L1 ? 1.0 : 0.5;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        p->z[i] = size * random_normal();
        p->lower[i] = -0.3 * random_unit();
        p->upper[i] = i % 7 == 3 ? p->lower[i] : 0.3 * random_unit(); /* some cannot move */
    }
    p->set.total = p->set.kind == CF_L1 ? 0.1 + 0.5 * random_unit() : 0.5 + random_unit();
}

static setup take_setup(cf_faces_kind kind, ptrdiff_t n, int bits, int inverse)
{
    setup p = {.n = n, .b = random_spd(n, bits)};
    p.t = take_triangle(p.b, n, n % 2 ? n + 2 : 0, n % 3);
    p.a = inverse ? wide_inverse(n, p.b) : NULL;
    p.z = take_doubles(n);
    p.w = take_offset(n, 1);
    p.lower = take_doubles(n);
    p.upper = take_doubles(n);
    p.scratch = take_line(cf_faces_scratch(n));
    p.state = take_bytes((size_t)n, 0, 0);
    p.set = (cf_faces){kind, 0.0, p.lower, p.upper};
    draw(&p);
    return p;
}

static int project(const cf_table *k, setup *p)
{
    return cf_faces_project(k, &p->t, NULL, &p->set, p->z, p->w, p->state, p->scratch);
}

/* How many faces pivoting solves from this state; 0: it gives up. */
static ptrdiff_t faces_from(const cf_table *k, const setup *p, const signed char *state)
{
    face f;
    signed char *now = take_bytes((size_t)p->n, 0, 0);
    double *scratch = take_line(cf_faces_scratch(p->n));
    for (ptrdiff_t turns = 1; turns <= CF_TURNS; turns++) {
        memcpy(now, state, (size_t)p->n);
        face_init(&f, k, &p->t, NULL, &p->set, p->z, scratch);
        if (pivot(&f, now, 0, turns) == CF_OK)
            return turns;
    }
    return 0;
}

static void guess(const cf_table *k, setup *p)
{
    cf_faces_guess(k, &p->t, &p->set, p->z, p->state, p->scratch);
}

/* any state of the kind */
static void random_state(setup *p)
{
    for (ptrdiff_t i = 0; i < p->n; i++)
        p->state[i] = (signed char)(p->set.kind == CF_SIMPLEX ? -(int)random_below(2)
                                                              : (int)random_below(3) - 1);
}

/* --- the conditions of the optimum ----------------------------------------------------------- */

/* How far `state` is from the sign that the gradient g = A (w - z) must have there; nu is the
 * multiplier of the equality. */
static wide sign_error(const setup *p, ptrdiff_t i, wide g, wide nu)
{
    const double x = p->w[i];
    if (p->set.kind == CF_SIMPLEX)
        return x > 0.0 ? fabsl(g - nu) : fmaxl(0.0L, nu - g);
    if (p->set.kind == CF_BOX) {
        if (p->lower[i] == p->upper[i])
            return 0.0L;
        return x == p->lower[i] ? fmaxl(0.0L, -g) : x == p->upper[i] ? fmaxl(0.0L, g) : fabsl(g);
    }
    return x > 0.0 ? fabsl(g + nu) : x < 0.0 ? fabsl(g - nu) : fmaxl(0.0L, fabsl(g) - nu);
}

static void check_feasible(const setup *p, double error)
{
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        sum += p->set.kind == CF_L1 ? fabsl(p->w[i]) : (wide)p->w[i];
        if (p->set.kind == CF_SIMPLEX)
            CHECK(p->w[i] >= 0.0);
        if (p->set.kind == CF_BOX)
            CHECK(p->w[i] >= p->lower[i] && p->w[i] <= p->upper[i]);
    }
    if (p->set.kind == CF_SIMPLEX)
        CHECK_CLOSE(sum, p->set.total, error * p->set.total);
    if (p->set.kind == CF_L1)
        CHECK(sum <= p->set.total * (1.0 + error));
}

/* The largest violation of the conditions, relative to the gradient. */
static void check_optimal(const setup *p, double error)
{
    const ptrdiff_t n = p->n;
    wide *g = take_wide(n), nu = 0.0L, size = 1e-300L, worst = 0.0L;
    ptrdiff_t moving = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        g[i] = 0.0L;
        for (ptrdiff_t j = 0; j < n; j++)
            g[i] += p->a[i * n + j] * ((wide)p->w[j] - p->z[j]);
        size = fmaxl(size, fabsl(g[i]));
        if (p->w[i] != 0.0 && p->set.kind != CF_BOX) {
            nu += p->set.kind == CF_SIMPLEX ? g[i] : p->w[i] > 0.0 ? -g[i] : g[i];
            moving++;
        }
    }
    CHECK(p->set.kind == CF_BOX || moving > 0);
    nu /= moving ? moving : 1;
    for (ptrdiff_t i = 0; i < n; i++)
        worst = fmaxl(worst, sign_error(p, i, g[i], nu));
    CHECK_CLOSE(worst / size, 0.0, error);
    CHECK(p->set.kind != CF_L1 || nu >= 0.0L);
    check_feasible(p, error);
}

/* The state that comes back is the face of w. */
static void check_face(const setup *p)
{
    for (ptrdiff_t i = 0; i < p->n; i++) {
        const int s = p->state[i];
        if (p->set.kind == CF_SIMPLEX)
            CHECK(s == 0 || (s == -1 && p->w[i] == 0.0));
        else if (p->set.kind == CF_BOX)
            CHECK(s == 0 || p->w[i] == (s < 0 ? p->lower[i] : p->upper[i]));
        else
            CHECK(s == 0 ? p->w[i] == 0.0 : s * p->w[i] >= 0.0);
    }
}

/* --- brute force ----------------------------------------------------------------------------- */

/* The minimiser with the coordinates of `state` held, from the bordered system of A; 0 where it
 * is not in the set. */
static int on_face(const setup *p, const signed char *state, wide *x)
{
    const ptrdiff_t n = p->n, m = n + 1;
    wide *s = take_wide(m * m), *r = take_wide(m);
    for (ptrdiff_t i = 0; i < m * m; i++)
        s[i] = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        const int kind = p->set.kind, held = kind == CF_L1 ? state[i] == 0 : state[i] != 0;
        const wide normal = kind == CF_SIMPLEX ? 1.0L : kind == CF_L1 ? state[i] : 0.0L;
        r[i] = 0.0L;
        for (ptrdiff_t j = 0; j < n; j++) {
            s[i * m + j] = held ? (i == j ? 1.0L : 0.0L) : p->a[i * n + j];
            r[i] += held ? 0.0L : p->a[i * n + j] * p->z[j];
        }
        if (held)
            r[i] = kind != CF_BOX ? 0.0 : state[i] < 0 ? p->lower[i] : p->upper[i];
        else
            s[i * m + n] = normal;
        s[n * m + i] = normal;
    }
    s[n * m + n] = p->set.kind == CF_BOX ? 1.0L : 0.0L;
    r[n] = p->set.kind == CF_BOX ? 0.0L : p->set.total;
    wide_solve(m, s, 1, r);
    for (ptrdiff_t i = 0; i < n; i++) {
        x[i] = r[i];
        if (!isfinite((double)x[i]))
            return 0;
        if (p->set.kind == CF_SIMPLEX && x[i] < -1e-12L)
            return 0;
        if (p->set.kind == CF_BOX && (x[i] < p->lower[i] - 1e-12L || x[i] > p->upper[i] + 1e-12L))
            return 0;
        if (p->set.kind == CF_L1 && state[i] * x[i] < -1e-12L)
            return 0;
    }
    return 1;
}

static wide objective(const setup *p, const wide *x)
{
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = 0; j < p->n; j++)
            sum += (x[i] - p->z[i]) * p->a[i * p->n + j] * (x[j] - p->z[j]);
    return sum;
}

/* The best point of all faces, which is the projection (an L1 ball's inside is not looked at). */
static wide *by_brute_force(const setup *p)
{
    signed char state[8];
    wide *best = take_wide(p->n), *x = take_wide(p->n), least = INFINITY;
    const int choices = p->set.kind == CF_SIMPLEX ? 2 : 3;
    int faces = 1;
    for (ptrdiff_t i = 0; i < p->n; i++)
        faces *= choices;
    for (int code = 0; code < faces; code++) {
        int rest = code;
        for (ptrdiff_t i = 0; i < p->n; i++, rest /= choices)
            state[i] = (signed char)(rest % choices - 1);
        if (on_face(p, state, x) && objective(p, x) < least) {
            least = objective(p, x);
            memcpy(best, x, (size_t)p->n * sizeof *x);
        }
    }
    return best;
}

TEST_TABLES(against_all_active_sets)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (ptrdiff_t n = 1; n <= check_count(5, 3); n++)
            for (int turn = 0; turn < check_count(n == 5 ? 3 : 6, 1); turn++) {
                CONTEXT("%s kind=%d n=%td turn=%d", k->isa, kind, n, turn);
                setup p = take_setup((cf_faces_kind)kind, n, 6, 1);
                wide size = 0.0L;
                for (ptrdiff_t i = 0; i < n; i++)
                    size += fabsl(p.z[i]);
                guess(k, &p);
                CHECK_INT(project(k, &p), CF_OK);
                if (kind != CF_L1 || size > p.set.total) {
                    const wide *x = by_brute_force(&p);
                    for (ptrdiff_t i = 0; i < n; i++)
                        CHECK_CLOSE(p.w[i], x[i], 1e-10);
                }
                check_feasible(&p, 1e-12);
                check_face(&p);
                AGREE(k, p.w, n);
                release();
            }
}

TEST_TABLES(six_coordinates)
{
    for (int kind = 0; kind < KINDS; kind++) {
        CONTEXT("%s kind=%d", k->isa, kind);
        setup p = take_setup((cf_faces_kind)kind, check_count(6, 4), 3, 1);
        guess(k, &p);
        CHECK_INT(project(k, &p), CF_OK);
        const wide *x = by_brute_force(&p);
        for (ptrdiff_t i = 0; i < p.n; i++)
            CHECK_CLOSE(p.w[i], x[i], 1e-10);
        release();
    }
}

/* --- larger orders, guesses ------------------------------------------------------------------ */

TEST_TABLES(the_conditions_hold_from_any_guess)
{
    static const ptrdiff_t orders[] = {7, 8, 9, 16, 30, 63, 64, 65, 100};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders - (check_quick() ? 4 : 0); i++) {
            const ptrdiff_t n = orders[i];
            setup p = take_setup((cf_faces_kind)kind, n, 7, 1);
            CONTEXT("%s kind=%d n=%td", k->isa, kind, n);
            guess(k, &p);
            CHECK_INT(project(k, &p), CF_OK);
            check_optimal(&p, 1e-12);
            check_face(&p);
            AGREE(k, p.w, n);
            const double *cold = TAKE_COPY(p.w, n);
            CHECK_INT(project(k, &p), CF_OK); /* warm: the face is known */
            CHECK_INT(faces_from(k, &p, p.state), 1);
            CHECK_CLOSE(distance(n, p.w, cold), 0.0, 1e-12);
            for (int turn = 0; turn < check_count(5, 2); turn++) {
                random_state(&p);
                CHECK_INT(project(k, &p), CF_OK);
                CHECK_CLOSE(distance(n, p.w, cold), 0.0, 1e-11);
                check_face(&p);
            }
            double *same = TAKE_COPY(p.z, n); /* in place */
            CHECK_INT(cf_faces_project(k, &p.t, NULL, &p.set, same, same, p.state, p.scratch),
                      CF_OK);
            CHECK_CLOSE(distance(n, same, cold), 0.0, 1e-12);
            CHECK(upper_untouched(&p.t));
            release();
        }
}

/* A stream: the metric stays, z moves a little, the last face is the guess. */
TEST_TABLES(a_warm_stream)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const ptrdiff_t n = 33;
        setup p = take_setup((cf_faces_kind)kind, n, 6, 1);
        guess(k, &p);
        ptrdiff_t faces = 0;
        const int turns = check_count(30, 5);
        for (int turn = 0; turn < turns; turn++) {
            CONTEXT("%s kind=%d turn=%d", k->isa, kind, turn);
            for (ptrdiff_t i = 0; i < n; i++)
                p.z[i] += 0.01 * random_normal();
            faces += faces_from(k, &p, p.state);
            CHECK_INT(project(k, &p), CF_OK);
            check_optimal(&p, 1e-11);
        }
        CHECK_THAT(faces <= 5 * turns, "%td faces in %d turns", faces, turns);
        release();
    }
}

TEST_TABLES(a_point_inside_comes_back_bit_for_bit)
{
    const ptrdiff_t n = 12;
    for (int kind = 0; kind < KINDS; kind++) {
        CONTEXT("%s kind=%d", k->isa, kind);
        setup p = take_setup((cf_faces_kind)kind, n, 4, 0);
        p.set.total = 3.0;
        for (ptrdiff_t i = 0; i < n; i++) { /* exact sums; zeros of both signs */
            p.z[i] = kind == CF_BOX ? (i % 2 ? p.lower[i] : p.upper[i]) : i % 3 ? 0.0 : 0.75;
            if (kind == CF_L1 && i % 2)
                p.z[i] = -p.z[i];
        }
        random_state(&p);
        CHECK_INT(project(k, &p), CF_OK);
        CHECK_BITS(p.w, p.z, n);
        double *same = TAKE_COPY(p.z, n);
        CHECK_INT(cf_faces_project(k, &p.t, NULL, &p.set, same, same, p.state, p.scratch), CF_OK);
        CHECK_BITS(same, p.z, n);
        release();
    }
}

/* --- the path -------------------------------------------------------------------------------- */

/* Follows the path and compares with what pivoting says. */
static void follow(const cf_table *k, cf_faces_kind kind, ptrdiff_t n)
{
    setup p = take_setup(kind, n, 6, 0);
    p.set.total *= 0.05; /* so that z is outside */
    face f;
    face_init(&f, k, &p.t, NULL, &p.set, p.z, take_line(cf_faces_scratch(n)));
    signed char *state = take_bytes((size_t)n, 0, 0);
    CHECK_INT(face_follow_path(&f, state), CF_OK);
    CHECK_INT(face_factor(&f, state), CF_OK);
    CHECK_INT(face_solve(&f, state), CF_OK);
    guess(k, &p);
    CHECK_INT(project(k, &p), CF_OK);
    for (ptrdiff_t j = 0; j < n; j++)
        CHECK_CLOSE(f.x[j], p.w[j], 1e-11);
    AGREE(k, f.x, n);
}

TEST_TABLES(the_path_ends_on_the_same_face)
{
    static const ptrdiff_t orders[] = {1, 2, 3, 8, 9, 20, 41};
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof orders / sizeof *orders - (check_quick() ? 1 : 0); i++)
            for (int turn = 0; turn < (kind == CF_SIMPLEX ? check_count(4, 1) : 1); turn++) {
                CONTEXT("%s kind=%d n=%td turn=%d", k->isa, kind, orders[i], turn);
                follow(k, (cf_faces_kind)kind, orders[i]);
                release();
            }
}

/* One coordinate may cross from a bound to the other, from + to -, in two events in a row: the
 * path forbids the second and goes on outside of the set. */
TEST_TABLES(the_path_crosses_in_two_events)
{
    for (int turn = 0; turn < check_count(400, 20); turn++) {
        follow(k, turn % 2 ? CF_BOX : CF_L1, 2 + turn % 5);
        release();
    }
}

/* Ill-conditioned problems from the worst guesses, where block pivoting cycles. Feasible up to
 * what the condition 2^24 leaves of the sum. */
static int from_the_worst(const cf_table *k, cf_faces_kind kind)
{
    int taken = 0;
    for (int turn = 0; turn < check_count(60, 12); turn++) {
        CONTEXT("%s kind=%d turn=%d", k->isa, (int)kind, turn);
        setup p = take_setup(kind, 24, 24, 0);
        double size = 0.0;
        for (ptrdiff_t i = 0; i < p.n; i++) {
            p.z[i] *= 30.0;
            size = fmax(size, fabs(p.z[i]));
        }
        random_state(&p);
        taken += faces_from(k, &p, p.state) == 0;
        if (!CHECK_INT(project(k, &p), CF_OK))
            continue;
        check_feasible(&p, 1e-6);
        const double *first = TAKE_COPY(p.w, p.n);
        guess(k, &p);
        CHECK_INT(project(k, &p), CF_OK);
        CHECK_CLOSE(distance(p.n, p.w, first), 0.0, 1e-6 * size);
        AGREE(k, p.w, p.n);
        release();
    }
    printf("%s kind %d: the path was taken %d times\n", k->isa, (int)kind, taken);
    return taken;
}

TEST_TABLES(where_pivoting_gives_up_the_path_goes_on)
{
    for (int kind = 0; kind < KINDS; kind++)
        CHECK(from_the_worst(k, (cf_faces_kind)kind) > 0);
}

/* Small ordinary problems on which pivoting cycles from the library's own guess, and on whose path
 * a coordinate crosses from one bound to the other. */
static void check_small(const cf_table *k, cf_faces_kind kind, ptrdiff_t n, const double *full,
                        const double *z, double total)
{
    setup p = take_setup(kind, n, 1, 0);
    p.b = TAKE_COPY(full, n * n);
    p.a = wide_inverse(n, full);
    p.t = take_triangle(full, n, 0, 0);
    p.set.total = total;
    memcpy(p.z, z, (size_t)n * sizeof *z);
    if (kind == CF_BOX) {
        memcpy(p.lower, (const double[]){-0.21, -0.16, -0.22, -0.28}, 4 * sizeof *z);
        memcpy(p.upper, (const double[]){0.07, 0.27, 0.23, -0.28}, 4 * sizeof *z);
    }
    guess(k, &p);
    if (CHECK_INT(project(k, &p), CF_OK))
        check_optimal(&p, 1e-12);
}

TEST_TABLES(small_problems_where_pivoting_cycles)
{
    static const double l1[] = {0.192, 0.21,  -0.277, 0.21, 0.452,
                                -0.399, -0.277, -0.399, 0.457};
    static const double l1_z[] = {0.02, 1.68, -1.08};
    static const double box[] = {0.126,  -0.188, -0.027, 0.125,  -0.188, 0.412,  0.029, -0.406,
                                 -0.027, 0.029,  0.082,  0.075,  0.125,  -0.406, 0.075, 0.637};
    static const double box_z[] = {0.23, -0.04, 1.05, 0.61};
    check_small(k, CF_L1, 3, l1, l1_z, 0.02);
    check_small(k, CF_BOX, 4, box, box_z, 1.0);
}

/* The consequence of the path's forbidden second event: CF_ENOCONVERGE from the library's own
 * guess, about once in 10^4 small ill-conditioned L1 problems. */
TEST_TABLES(an_l1_problem_that_does_not_converge)
{
    static const double b[] = {0.019946523169054931, 0.02728149950250499,  -0.062246947971080546,
                               0.02728149950250499,  0.18767386113096474,  -0.38866494612763197,
                               -0.062246947971080546, -0.38866494612763197, 0.80824875632498117};
    static const double z[] = {0.8562494350700709, 0.11700745778474853, -0.98127922504187481};
    check_small(k, CF_L1, 3, b, z, 0.018230198468677971);
}

/* --- far away, and ties ---------------------------------------------------------------------- */

/* A diagonal metric, where the projection is that on scores; z may be far larger than the set. */
static void spread(const cf_table *k, cf_faces_kind kind, ptrdiff_t n, int bits, int far)
{
    CONTEXT("%s kind=%d n=%td bits=%d far=%d", k->isa, kind, n, bits, far);
    setup p = take_setup(kind, n, 1, 0);
    double *full = take_doubles(n * n), *size = take_doubles(n), *q = take_doubles(n);
    double *v = take_doubles(n), *scratch = take_doubles(cf_scores_scratch(n) + 1), lam;
    memset(full, 0, (size_t)(n * n) * sizeof *full);
    for (ptrdiff_t i = 0; i < n; i++) {
        q[i] = full[i * n + i] = fabs(random_scaled(-bits, bits));
        p.z[i] = ldexp(random_normal() + (i == 0 ? 8.0 : 0.0), far);
        size[i] = kind == CF_L1 ? fabs(p.z[i]) : p.z[i];
    }
    p.t = take_triangle(full, n, 0, 0);
    CHECK_INT(k->project_scores(n, size, q, p.set.total, v, &lam, scratch), CF_OK);
    random_state(&p); /* the guess would be the answer */
    CHECK_INT(project(k, &p), CF_OK);
    check_feasible(&p, 1e-12);
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK_CLOSE(fabs(p.w[i]), v[i], 1e-12 * p.set.total);
    AGREE(k, p.w, n);
    release();
}

TEST_TABLES(far_from_the_set_and_of_very_different_weight)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (ptrdiff_t n = 1; kind != CF_BOX && n < 30; n += 4)
            for (int bits = 1; bits < 30; bits += 9)
                for (int far = 0; far < 400; far = 5 * far + 3)
                    spread(k, (cf_faces_kind)kind, n, bits, far);
}

/* Two corrections end at 0 here, and the third at the answer. */
TEST_TABLES(more_corrections_than_two)
{
    setup p = take_setup(CF_L1, 1, 1, 0);
    const double b = 1e5;
    p.t = take_triangle(&b, 1, 0, 0);
    p.set.total = 0.1;
    p.z[0] = -9.3e64;
    guess(k, &p);
    CHECK_INT(project(k, &p), CF_OK);
    CHECK_CLOSE(p.w[0], -0.1, 1e-16);
}

/* Integers under equal correlations: coordinates that reach their bound together, with a multiplier
 * of zero, which rounding makes positive or negative. */
TEST_TABLES(ties_are_settled)
{
    for (int turn = 0; turn < check_count(3000, 100); turn++) {
        const ptrdiff_t n = 3 + random_below(24);
        const int kind = turn % KINDS, bits = 5 + (int)random_below(15);
        CONTEXT("%s kind=%d n=%td bits=%d turn=%d", k->isa, kind, n, bits, turn);
        setup p = take_setup((cf_faces_kind)kind, n, 1, 0);
        double *full = take_doubles(n * n);
        for (ptrdiff_t i = 0; i < n * n; i++)
            full[i] = i / n == i % n ? 1.0 : 1.0 - ldexp(1.0, -bits);
        p.t = take_triangle(full, n, 0, 0);
        p.set.total = 1.0;
        for (ptrdiff_t i = 0; i < n; i++) {
            p.z[i] = (double)random_below(5) - 2.0;
            p.lower[i] = (double)random_below(4) - 2.0;
            p.upper[i] = p.lower[i] + (double)random_below(3);
        }
        guess(k, &p);
        CHECK_INT(project(k, &p), CF_OK);
        check_feasible(&p, 1e-12);
        check_face(&p);
        release();
    }
}

/* --- refusals -------------------------------------------------------------------------------- */

static void refuse(const cf_table *k, setup *p, int either, int or)
{
    const double *before = TAKE_COPY(p->w, p->n);
    guess(k, p);
    const int status = project(k, p);
    CHECK_THAT(status == either || status == or, "status %d", status);
    CHECK_BITS(p->w, before, p->n);
}

TEST_TABLES(bad_input_leaves_w)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (ptrdiff_t n = 2; n < 20; n += 5) {
            const ptrdiff_t i = random_below(n);
            setup p = take_setup((cf_faces_kind)kind, n, 4, 0);
            CONTEXT("%s kind=%d n=%td", k->isa, kind, n);
            for (ptrdiff_t j = 0; j < n; j++)
                p.z[j] = -3.0; /* outside of each */
            p.z[0] = 5.0;
            p.z[i] = NAN;
            refuse(k, &p, CF_ENONFINITE, CF_ENONFINITE);
            p.z[i] = -INFINITY;
            refuse(k, &p, CF_ENONFINITE, CF_ENONFINITE);
            p.z[i] = i == 0 ? 5.0 : -3.0;
            for (ptrdiff_t j = 0; j < n; j++)
                cf_triangle_row(&p.t, j)[j] *= -1.0;
            refuse(k, &p, CF_ENOTPOSITIVE, CF_ENOTPOSITIVE);
            for (ptrdiff_t j = 0; j < n; j++)
                cf_triangle_row(&p.t, j)[j] = NAN;
            refuse(k, &p, CF_ENOTPOSITIVE, CF_ENONFINITE);
            release();
        }
}

/* all coordinates in the guess at their bound: a face needs something to move */
TEST_TABLES(an_empty_guess_is_filled)
{
    for (int kind = 0; kind < KINDS; kind++) {
        CONTEXT("%s kind=%d", k->isa, kind);
        setup p = take_setup((cf_faces_kind)kind, 10, 5, 1);
        p.set.total *= 0.1;
        memset(p.state, kind == CF_L1 ? 0 : -1, (size_t)p.n);
        CHECK_INT(project(k, &p), CF_OK);
        check_optimal(&p, 1e-12);
        release();
    }
}

CHECK_MAIN
