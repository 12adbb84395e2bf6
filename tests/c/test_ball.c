/* The ball projection: Lanczos, the tridiagonal fallback, the secular equation. */
#include "cf_reference.h"

#include "../../csrc/src/ball.c" /* its secular equation */

typedef struct ball {
    ptrdiff_t n;
    const double *b; /* n x n */
    cf_triangle t;
    double *z, *w, lam, r;
    double *scratch, *fallback;
    double *term; /* the matrix is b less its product; NULL: b */
} ball;

static ball take_ball(ptrdiff_t n, const double *b, ptrdiff_t ld, double share)
{
    ball p = {n, b, take_triangle(b, n, ld, ld % 2), take_offset(n, 1), take_offset(n, 0), 0.0,
              0.0, take_line(cf_ball_scratch(n, 0)), NULL, NULL};
    fill_normal(p.z, n);
    p.r = share * norm2(n, p.z);
    return p;
}

static int project(const cf_table *k, ball *p)
{
    return cf_ball_project(k, &p->t, p->term, p->z, p->r, p->w, &p->lam, p->scratch, p->fallback);
}

/* Whether the products of Lanczos do not end within their steps. */
static int needs_fallback(const cf_table *k, const ball *p)
{
    double lam = p->lam, *w = take_doubles(p->n);
    return cf_ball_project(k, &p->t, p->term, p->z, p->r, w, &lam, p->scratch, NULL) ==
           CF_ENOCONVERGE;
}

static wide *matrix_of(const ball *p)
{
    const ptrdiff_t n = p->n;
    wide *b = widened(n * n, p->b);
    for (ptrdiff_t i = 0; p->term && i < n * n; i++)
        b[i] -= (wide)p->term[i / n] * p->term[i % n];
    return b;
}

/* (I + lam B) w = z and ||w|| = r, lam >= 0: what makes w the projection. */
static void check_conditions(const ball *p, double error)
{
    CHECK(p->lam >= 0.0);
    CHECK_CLOSE(norm2(p->n, p->w), p->r, 8 * DBL_EPSILON * p->r);
    const double size = norm2(p->n, p->z);
    const wide *b = matrix_of(p);
    wide rest = 0.0L;
    for (ptrdiff_t i = 0; i < p->n; i++) {
        wide d = (wide)p->w[i] - p->z[i];
        for (ptrdiff_t j = 0; j < p->n; j++)
            d += p->lam * b[i * p->n + j] * p->w[j];
        rest += d * d;
    }
    CHECK_CLOSE(sqrt((double)rest), 0.0, error * (size + p->lam * p->r));
}

/* --- against bisection with Gaussian elimination --------------------------------------------- */

static void check_bisection(const ball *p, double error)
{
    wide lam;
    const wide *w = wide_ball(p->n, matrix_of(p), widened(p->n, p->z), p->r, &lam);
    for (ptrdiff_t i = 0; i < p->n; i++)
        CHECK_CLOSE(p->w[i], w[i], error * p->r);
    CHECK_CLOSE(p->lam, lam, 1e-11 * (double)lam);
}

TEST_TABLES(against_bisection)
{
    for (ptrdiff_t n = 1; n <= check_count(14, 9); n++)
        for (int form = 0; form < 6; form++) {
            static const double shares[] = {0.95, 0.5, 1e-3};
            const int bits = form < 3 ? 4 : 16;
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            ball p = take_ball(n, random_spd(n, bits), form % 2 ? n + 1 : 0, shares[form % 3]);
            CHECK_INT(project(k, &p), CF_OK);
            check_bisection(&p, 1e-12 * (1.0 + ldexp(1.0, bits - 8)));
            check_conditions(&p, 1e-12);
            CHECK(upper_untouched(&p.t));
            AGREE(k, p.w, n);
            AGREE(k, &p.lam, 1);
            release();
        }
}

TEST_TABLES(larger_orders)
{
    static const ptrdiff_t sizes[] = {15, 16, 17, 31, 64, 65, 100, 200};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (size_t)check_quick() * 2; i++)
        for (int form = 0; form < 4; form++) {
            const ptrdiff_t n = sizes[i];
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            ball p = take_ball(n, random_spd(n, 6), form % 2 ? 0 : n, form < 2 ? 0.95 : 0.3);
            p.fallback = take_line(cf_ball_scratch(n, 1));
            CHECK_INT(project(k, &p), CF_OK);
            check_conditions(&p, 1e-12);
            AGREE(k, p.w, n);
            release();
        }
}

/* --- the easy ends --------------------------------------------------------------------------- */

TEST_TABLES(a_point_inside_comes_back_bit_for_bit)
{
    FOR_SIZES(n, 0, 65) {
        CONTEXT("%s n=%td", k->isa, n);
        double *nothing = take_doubles(n * n); /* NaN: B is not looked at */
        ball p = take_ball(n, nothing, 0, 1.0);
        const double norm = sqrt(k->dot(n, p.z, p.z));
        p.r = n % 2 ? norm : 2.0 * norm; /* the border is inside */
        p.lam = 3.0;
        CHECK_INT(cf_ball_project(k, &p.t, NULL, p.z, p.r, p.w, &p.lam, NULL, NULL), CF_OK);
        CHECK_BITS(p.w, p.z, n);
        CHECK_CLOSE(p.lam, 0.0, 0.0);
        double *same = TAKE_COPY(p.z, n);
        CHECK_INT(cf_ball_project(k, &p.t, NULL, same, p.r, same, &p.lam, NULL, NULL), CF_OK);
        CHECK_BITS(same, p.z, n);
        release();
    }
}

TEST_TABLES(in_place_and_a_guess)
{
    const ptrdiff_t n = 40;
    ball p = take_ball(n, random_spd(n, 8), 0, 0.6);
    CHECK_INT(project(k, &p), CF_OK);
    const double *cold = TAKE_COPY(p.w, n), lam = p.lam;
    static const double guesses[] = {0.25, 1.0, 1.7, 1e6, 1e-6, -1.0};
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        CONTEXT("%s guess %g", k->isa, guesses[i]);
        p.lam = guesses[i] * lam;
        CHECK_INT(project(k, &p), CF_OK);
        CHECK_CLOSE(p.lam, lam, 1e-11 * lam);
        CHECK_CLOSE(distance(n, p.w, cold), 0.0, 1e-11 * p.r);
    }
    double *same = TAKE_COPY(p.z, n);
    p.lam = 0.0;
    CHECK_INT(cf_ball_project(k, &p.t, NULL, same, p.r, same, &p.lam, p.scratch, NULL), CF_OK);
    CHECK_BITS(same, cold, n);
}

/* A projection is where it is: the result, once more, and from beyond along the same ray. */
TEST_TABLES(projecting_again_moves_nothing)
{
    const ptrdiff_t n = 30;
    ball p = take_ball(n, random_spd(n, 6), 0, 0.5);
    CHECK_INT(project(k, &p), CF_OK);
    memcpy(p.z, p.w, (size_t)n * sizeof *p.z);
    p.lam = 0.0;
    CHECK_INT(project(k, &p), CF_OK);
    CHECK_CLOSE(distance(n, p.w, p.z), 0.0, 4 * DBL_EPSILON * p.r);
}

/* z an eigenvector: the space has one dimension and lam is known. */
TEST_TABLES(a_space_of_one_dimension)
{
    const ptrdiff_t n = 20;
    double *b = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        b[i] = i / n == i % n ? 0.25 : 0.0;
    ball p = take_ball(n, b, 0, 0.5);
    CHECK_INT(project(k, &p), CF_OK);
    CHECK_CLOSE(p.lam, 4.0, 1e-13);
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK_CLOSE(p.w[i], 0.5 * p.z[i], 1e-14);
}

/* The same problem in other units: squares that leave the range of a double do not matter. */
static void other_units(const cf_table *k, ball *p)
{
    static const int exponents[] = {600, -600, 1000, -1000};
    const double *z = TAKE_COPY(p->z, p->n), r = p->r;
    CHECK_INT(project(k, p), CF_OK);
    const double *w = TAKE_COPY(p->w, p->n), lam = p->lam;
    for (int e = 0; e < 4; e++) {
        CONTEXT("%s 2^%d", k->isa, exponents[e]);
        p->r = ldexp(r, exponents[e]);
        p->lam = 0.0;
        for (ptrdiff_t i = 0; i < p->n; i++)
            p->z[i] = ldexp(z[i], exponents[e]);
        CHECK_INT(project(k, p), CF_OK);
        CHECK_CLOSE(p->lam, lam, 1e-9 * lam);
        for (ptrdiff_t i = 0; i < p->n; i++)
            CHECK_CLOSE(ldexp(p->w[i], -exponents[e]), w[i], 1e-9 * r);
        p->r *= 1e6; /* inside, still */
        CHECK_INT(project(k, p), CF_OK);
        CHECK_BITS(p->w, p->z, p->n);
        AGREE(k, p->w, p->n);
    }
}

TEST_TABLES(any_unit_will_do)
{
    ball p = take_ball(20, random_spd(20, 6), 0, 0.4);
    other_units(k, &p);
}

/* --- the fallback ---------------------------------------------------------------------------- */

/* eigenvalues spread so far that Lanczos does not end within its steps */
static ball take_spread(ptrdiff_t n, int bits, double share)
{
    ball p = take_ball(n, random_spd(n, bits), 0, share);
    p.fallback = take_line(cf_ball_scratch(n, 1));
    return p;
}

TEST_TABLES(the_fallback_by_reflections)
{
    for (int form = 0; form < 3; form++) {
        const ptrdiff_t n = 150 + 7 * form;
        if (check_quick() && form > 0)
            break;
        CONTEXT("%s form=%d", k->isa, form);
        ball p = take_spread(n, 30, form == 2 ? 1e-6 : 1e-4);
        CHECK(needs_fallback(k, &p));
        CHECK_INT(project(k, &p), CF_OK);
        check_conditions(&p, 1e-11);
        AGREE(k, p.w, n);
        AGREE(k, &p.lam, 1);
        release();
    }
}

TEST_TABLES(any_unit_in_the_fallback)
{
    ball p = take_spread(100, 30, 1e-4);
    other_units(k, &p);
}

TEST_TABLES(without_scratch_the_fallback_is_refused)
{
    ball p = take_spread(120, 30, 1e-4);
    p.fallback = NULL;
    const double *before = TAKE_COPY(p.w, p.n);
    CHECK_INT(project(k, &p), CF_ENOCONVERGE);
    CHECK_BITS(p.w, before, p.n);
}

/* A diagonal B: nothing to reflect, no row has anything beside the diagonal. */
TEST_TABLES(the_fallback_on_a_diagonal)
{
    const ptrdiff_t n = 120;
    double *b = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        b[i] = i / n == i % n ? exp2(-0.25 * (double)(i % n)) : 0.0;
    ball p = take_ball(n, b, 0, 1e-4);
    p.fallback = take_line(cf_ball_scratch(n, 1));
    CHECK(needs_fallback(k, &p));
    CHECK_INT(project(k, &p), CF_OK);
    for (ptrdiff_t i = 0; i < n; i++)
        CHECK_CLOSE(p.w[i] * (1.0 + p.lam * b[i * n + i]), p.z[i], 1e-12 * fabs(p.z[i]));
    check_conditions(&p, 1e-12);
}

/* One eigenvalue below zero, too small for Lanczos to come upon: the whole matrix shows it. */
TEST_TABLES(the_fallback_on_what_is_not_positive)
{
    const ptrdiff_t n = 120;
    double *b = take_doubles(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        b[i] = i / n == i % n ? exp2(-0.25 * (double)(i % n)) : 0.0;
    b[n * n - 1] = -b[n * n - 1];
    ball p = take_ball(n, b, 0, 1e-4);
    p.fallback = take_line(cf_ball_scratch(n, 1));
    const double *before = TAKE_COPY(p.w, n);
    p.r *= 1e-4;
    CHECK(needs_fallback(k, &p));
    CHECK_INT(project(k, &p), CF_ENOTPOSITIVE);
    CHECK_BITS(p.w, before, n);
}

/* --- terms that the matrix does not hold yet ------------------------------------------------- */

/* b = a matrix of condition 2^bits and the product of a row about as long as it is large */
static ball take_less(ptrdiff_t n, int bits, ptrdiff_t ld, double share)
{
    double *b = random_spd(n, bits), *t = take_padded(n);
    for (ptrdiff_t i = 0; i < n; i++)
        t[i] = random_normal() / sqrt((double)n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        b[i] += t[i / n] * t[i % n];
    ball p = take_ball(n, b, ld, share);
    p.term = t;
    return p;
}

TEST_TABLES(terms_against_bisection)
{
    for (ptrdiff_t n = 1; n <= check_count(14, 9); n++)
        for (int form = 0; form < 4; form++) {
            CONTEXT("%s n=%td form=%d", k->isa, n, form);
            ball p = take_less(n, 4, form % 2 ? n + 1 : 0, form / 2 ? 0.5 : 1e-3);
            CHECK_INT(project(k, &p), CF_OK);
            check_bisection(&p, 1e-12);
            check_conditions(&p, 1e-12);
            CHECK(upper_untouched(&p.t));
            AGREE(k, p.w, n);
            AGREE(k, &p.lam, 1);
            release();
        }
}

/* The projection with the matrix from which the terms were taken away; by Lanczos and, where the
 * eigenvalues are spread, by reflections. */
static void check_explicit(const cf_table *k, ball *p, int fallback, double error)
{
    const ptrdiff_t n = p->n;
    p->fallback = take_line(cf_ball_scratch(n, 1));
    CHECK_INT(needs_fallback(k, p), fallback);
    CHECK_INT(project(k, p), CF_OK);
    check_conditions(p, error);
    AGREE(k, p->w, n);
    AGREE(k, &p->lam, 1);
    ball q = *p;
    q.t = take_triangle(rounded(n * n, matrix_of(p)), n, 0, 0);
    q.w = take_doubles(n);
    q.lam = 0.0;
    q.term = NULL;
    CHECK_INT(needs_fallback(k, &q), fallback);
    CHECK_INT(project(k, &q), CF_OK);
    CHECK_CLOSE(p->lam, q.lam, 1e3 * error * q.lam);
    CHECK_CLOSE(distance(n, p->w, q.w), 0.0, 1e3 * error * p->r);
    q.t = p->t; /* and the terms do matter */
    CHECK_INT(project(k, &q), CF_OK);
    CHECK(distance(n, p->w, q.w) > 1e-4 * p->r);
}

TEST_TABLES(terms_against_the_explicit_matrix)
{
    static const ptrdiff_t sizes[] = {7, 8, 9, 33, 64, 65, 150};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - (size_t)check_quick(); i++)
        for (int form = 0; form < 2; form++) {
            CONTEXT("%s n=%td form=%d", k->isa, sizes[i], form);
            ball p = take_less(sizes[i], 6, form ? 0 : sizes[i], form ? 0.9 : 0.5);
            check_explicit(k, &p, 0, 1e-12);
            release();
        }
}

TEST_TABLES(terms_in_the_fallback)
{
    for (ptrdiff_t m = 1; m < check_count(4, 2); m++) {
        CONTEXT("%s n=%td", k->isa, 145 + 3 * m);
        ball p = take_less(145 + 3 * m, 26, m % 2 ? 0 : 160, 1e-4);
        check_explicit(k, &p, 1, 1e-11);
        release();
    }
}

TEST_TABLES(terms_in_place_and_inside)
{
    ball p = take_less(21, 6, 0, 0.5);
    CHECK_INT(project(k, &p), CF_OK);
    double *same = TAKE_COPY(p.z, p.n);
    p.lam = 0.0;
    CHECK_INT(cf_ball_project(k, &p.t, p.term, same, p.r, same, &p.lam, p.scratch, NULL), CF_OK);
    CHECK_BITS(same, p.w, p.n);
    p.r = 1.5 * norm2(p.n, p.z); /* then neither the matrix nor the term is looked at */
    CHECK_INT(cf_ball_project(k, &p.t, p.term, p.z, p.r, p.w, &p.lam, NULL, NULL), CF_OK);
    CHECK_BITS(p.w, p.z, p.n);
    CHECK_CLOSE(p.lam, 0.0, 0.0);
}

/* a term that leaves nothing positive, or is not finite */
TEST_TABLES(bad_terms_leave_w)
{
    for (ptrdiff_t n = 1; n < 30; n += 4) {
        CONTEXT("%s n=%td", k->isa, n);
        ball p = take_less(n, 4, 0, 0.5);
        double *t = p.term, *keep = TAKE_COPY(p.w, n);
        const double before = t[n / 2];
        t[n / 2] = NAN;
        CHECK_INT(project(k, &p), CF_ENONFINITE);
        CHECK_BITS(p.w, keep, n);
        t[n / 2] = -INFINITY;
        CHECK_INT(project(k, &p), CF_ENONFINITE);
        CHECK_BITS(p.w, keep, n);
        t[n / 2] = 1e3;
        p.lam = 0.0;
        CHECK_INT(project(k, &p), CF_ENOTPOSITIVE);
        CHECK_BITS(p.w, keep, n);
        t[n / 2] = before;
        p.lam = 0.0;
        CHECK_INT(project(k, &p), CF_OK);
        release();
    }
}

/* --- refusals -------------------------------------------------------------------------------- */

static void refuse(const cf_table *k, ball *p, int status)
{
    double *before = TAKE_COPY(p->w, p->n);
    p->lam = 0.0;
    CHECK_INT(project(k, p), status);
    CHECK_BITS(p->w, before, p->n);
}

TEST_TABLES(bad_input_leaves_w)
{
    for (ptrdiff_t n = 1; n < 30; n += 4) {
        const ptrdiff_t i = random_below(n);
        double *b = random_spd(n, 4);
        ball p = take_ball(n, b, 0, 0.5);
        CONTEXT("%s n=%td", k->isa, n);
        const double z = p.z[i], diagonal = b[i * n + i];
        p.z[i] = NAN;
        refuse(k, &p, CF_ENONFINITE);
        p.z[i] = INFINITY;
        refuse(k, &p, CF_ENONFINITE);
        p.z[i] = z;
        cf_triangle_row(&p.t, i)[i] = NAN;
        refuse(k, &p, CF_ENONFINITE);
        cf_triangle_row(&p.t, i)[i] = -INFINITY;
        refuse(k, &p, CF_ENONFINITE);
        cf_triangle_row(&p.t, i)[i] = -1e3;
        refuse(k, &p, CF_ENOTPOSITIVE);
        cf_triangle_row(&p.t, i)[i] = diagonal;
        CHECK_INT(project(k, &p), CF_OK);
        release();
    }
}

/* --- the secular equation -------------------------------------------------------------------- */

TEST(the_secular_equation_alone)
{
    const double a[3] = {1.0, 2.0, 0.5}, b[2] = {0.3, 0.2}, rhs[3] = {1.0, -2.0, 0.5};
    double work[9], y[3], lam = 0.0;
    CHECK_INT(secular(3, a, b, 1.0, rhs, 0.7, &lam, y, work), CF_OK);
    CHECK_CLOSE(norm2(3, y), 0.7, 1e-15);
    CHECK_CLOSE(y[0] + lam * (a[0] * y[0] + b[0] * y[1]), rhs[0], 1e-14);
    CHECK_CLOSE(y[1] + lam * (b[0] * y[0] + a[1] * y[1] + b[1] * y[2]), rhs[1], 1e-14);
    CHECK_CLOSE(y[2] + lam * (b[1] * y[1] + a[2] * y[2]), rhs[2], 1e-14);
    const double root = lam;
    lam = 1e12; /* from far on the right */
    CHECK_INT(secular(3, a, b, 1.0, rhs, 0.7, &lam, y, work), CF_OK);
    CHECK_CLOSE(lam, root, 1e-13 * root);
}

TEST(the_secular_equation_refuses)
{
    const double bad[2] = {1.0, -4.0}, off[1] = {0.1}, nan[1] = {NAN};
    const double infinite[2] = {INFINITY, 1.0};
    double work[6], y[2], lam = 1.0;
    CHECK_INT(secular(2, bad, off, 1.0, NULL, 0.1, &lam, y, work), CF_ENOTPOSITIVE);
    const double first[2] = {-4.0, 1.0};
    lam = 1.0;
    CHECK_INT(secular(2, first, off, 1.0, NULL, 0.1, &lam, y, work), CF_ENOTPOSITIVE);
    const double fine[2] = {1.0, 1.0};
    lam = 1.0;
    CHECK(secular(2, fine, nan, 1.0, NULL, 0.1, &lam, y, work) != CF_OK);
    lam = 0.0;
    CHECK(secular(2, infinite, off, 1.0, NULL, 0.1, &lam, y, work) != CF_OK);
    lam = 0.0;
    CHECK_INT(secular(2, fine, off, INFINITY, NULL, 0.1, &lam, y, work), CF_ENONFINITE);
}

/* A matrix so small that lam leaves the range of a double: lam = 0 is answered, with CF_OK. */
TEST_TABLES(a_multiplier_beyond_the_range)
{
    const double b[4] = {1e-310, 0.0, 0.0, 1e-312};
    ball p = take_ball(2, b, 0, 1.0);
    p.z[0] = p.z[1] = 1.0;
    p.r = 1e-3;
    const int status = project(k, &p);
    CHECK_THAT(status == CF_ENONFINITE || p.lam > 1e300, "status %d, lam %g", status, p.lam);
}

CHECK_MAIN
