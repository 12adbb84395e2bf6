/* exp and log against long double, in units of the last place. */
#include "cf_reference.h"

/* what the header promises; a reference of 53 bits (valgrind) adds its own half */
static double allowed(void) { return long_double_is_wide() ? 1.0 : 2.0; }

typedef void (*many)(ptrdiff_t n, const double *x, double *y);

/* The largest error of one function over `n` arguments; array and in-place must agree. */
static void measure(const cf_table *k, const char *name, many function, ptrdiff_t n,
                    const double *x, long double (*exact)(long double))
{
    double *y = take_doubles(n), worst = 0.0, at = 0.0;
    function(n, x, y);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double error = ulps(y[i], exact((long double)x[i]));
        if (!(error <= worst)) {
            worst = error;
            at = x[i];
        }
    }
    printf("%s %s: %td arguments, largest error %.4f ulp at %.17g\n", k->isa, name, n, worst, at);
    CHECK_THAT(worst <= allowed(), "%s is %.4f ulp off at %.17g", name, worst, at);
    double *z = TAKE_COPY(x, n);
    function(n, z, z);
    CHECK_BITS(z, y, n);
    AGREE(k, y, n);
    release();
}

/* A random argument of exp: the whole range, the ends, tiny ones, the borders between two k. */
static double exp_argument(ptrdiff_t i)
{
    switch (i % 8) {
    case 0:
        return random_scaled(-1074, -1); /* subnormal ... 1 */
    case 1:
        return 709.78271289338397 - random_unit() * 0.1;
    case 2:
        return -708.39 - random_unit() * 37.0; /* subnormal results */
    case 3:
        return ((double)random_below(2000) - 1000.0 + 0.5) * 0.34657359027997264 *
               (1.0 + random_normal() * 0x1p-50);
    case 4:
        return random_normal();
    default:
        return -745.2 + 1455.0 * random_unit();
    }
}

static double log_argument(ptrdiff_t i)
{
    switch (i % 8) {
    case 0:
        return 1.0 + random_scaled(-53, -3); /* near 1 */
    case 1:
        return fabs(random_scaled(-1074, -1022)); /* subnormal */
    case 2:
        return ldexp(0.70710678118654752, (int)random_below(2000) - 1000) *
               (1.0 + random_normal() * 0x1p-45);
    case 3:
        return DBL_MAX * (1.0 - random_unit() * 0x1p-30);
    case 4:
        return 0.5 + random_unit();
    default:
        return fabs(random_scaled(-1022, 1022));
    }
}

TEST_TABLES(exp_to_one_ulp)
{
    const ptrdiff_t n = check_count(1200003, 4003);
    double *x = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = exp_argument(i);
    measure(k, "exp", k->exp_many, n, x, expl);
}

/* Just above (k + 1/2) ln 2 a few arguments in a million get 1.008 ulp: 1 + (r + r^2 p) is rounded
 * twice where the sum falls below 1. */
TEST_TABLES(exp_near_half_a_step)
{
    const double x = 0x1.727d1747de822p+8;
    const double error = ulps(k->exp_one(x), expl((wide)x));
    CHECK_THAT(error <= 1.0, "exp(%.17g) is %.4f ulp off", x, error);
}

TEST_TABLES(log_to_one_ulp)
{
    const ptrdiff_t n = check_count(1200003, 4003);
    double *x = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = log_argument(i);
    measure(k, "log", k->log_many, n, x, logl);
}

TEST_TABLES(special_arguments)
{
    CHECK_CLOSE(k->exp_one(0.0), 1.0, 0.0);
    CHECK_CLOSE(k->exp_one(-0.0), 1.0, 0.0);
    CHECK(k->exp_one(INFINITY) == INFINITY);
    CHECK(k->exp_one(-INFINITY) == 0.0 && !signbit(k->exp_one(-INFINITY)));
    CHECK(isnan(k->exp_one(NAN)));
    CHECK(k->exp_one(709.79) == INFINITY && k->exp_one(DBL_MAX) == INFINITY);
    CHECK(k->exp_one(709.78271289338397) <= DBL_MAX);
    CHECK(k->exp_one(-746.0) == 0.0 && k->exp_one(-DBL_MAX) == 0.0);
    CHECK_CLOSE(k->exp_one(-745.13), 0x1p-1074, 0.0);
    CHECK_CLOSE(k->log_one(1.0), 0.0, 0.0);
    CHECK(k->log_one(0.0) == -INFINITY && k->log_one(-0.0) == -INFINITY);
    CHECK(k->log_one(INFINITY) == INFINITY);
    CHECK(isnan(k->log_one(NAN)) && isnan(k->log_one(-1.0)) && isnan(k->log_one(-INFINITY)));
    CHECK(isnan(k->log_one(-0x1p-1074)) && isnan(k->log_one(-DBL_MAX)));
    CHECK(ulps(k->log_one(0x1p-1074), logl(0x1p-1074L)) <= allowed());
    CHECK(ulps(k->log_one(DBL_MAX), logl((wide)DBL_MAX)) <= allowed());
    CHECK(ulps(k->log_one(DBL_MIN), logl((wide)DBL_MIN)) <= allowed());
}

/* Alone and in an array of every length, at every place: the same bits; nothing beside. */
TEST_TABLES(one_is_the_same_as_many)
{
    FOR_SIZES(n, 0, 65) {
        CONTEXT("%s n=%td", k->isa, n);
        double *x = take_offset(n, n % 2), *y = take_offset(n, 1);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = exp_argument(i + n);
        k->exp_many(n, x, y);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(y[i], k->exp_one(x[i]), 0.0);
        for (ptrdiff_t i = 0; i < n; i++)
            x[i] = log_argument(i + n);
        k->log_many(n, x, y);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(y[i], k->log_one(x[i]), 0.0);
        release();
    }
}

TEST_TABLES(exp_never_falls)
{
    double before = 0.0;
    for (int i = 0; i < 4000; i++) { /* across borders of k, where a step could show */
        const double y = k->exp_one(0.34 + i * 3e-6);
        CHECK(y > before);
        before = y;
    }
}

TEST_TABLES(log1p_keeps_every_digit)
{
    const int n = check_count(200000, 2000);
    double worst = 0.0, at = 0.0;
    for (int i = 0; i < n; i++) {
        const double x = fabs(i % 2 ? random_scaled(-1074, 1023) : random_scaled(-60, 3));
        const double y = k->log1p_one(x), error = ulps(y, log1pl((wide)x));
        if (!(error <= worst)) {
            worst = error;
            at = x;
        }
        AGREE(k, &y, 1);
    }
    printf("%s log1p: largest error %.4f ulp at %.17g\n", k->isa, worst, at);
    CHECK_THAT(worst <= 1.5 + allowed(), "log1p is %.4f ulp off at %.17g", worst, at);
    CHECK_CLOSE(k->log1p_one(0.0), 0.0, 0.0);
    CHECK(k->log1p_one(INFINITY) == INFINITY);
    CHECK(isnan(k->log1p_one(NAN)));
    CHECK(ulps(k->log1p_one(DBL_MAX), logl((wide)DBL_MAX)) <= allowed());
}

CHECK_MAIN
