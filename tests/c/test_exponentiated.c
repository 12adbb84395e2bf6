/* Weights of the exponentiated step against long double. */
#include "cf_reference.h"

static wide *exact_weights(ptrdiff_t n, const double *theta, int is_signed)
{
    wide *w = take_wide(n), sum = 0.0L, top = is_signed ? 0.0L : -INFINITY;
    for (ptrdiff_t i = 0; i < n; i++)
        top = fmaxl(top, is_signed ? fabsl(theta[i]) : (wide)theta[i]);
    for (ptrdiff_t i = 0; i < n; i++) {
        const wide t = theta[i], up = expl(t - top), down = expl(-t - top);
        w[i] = !is_signed ? up : fabsl(t) < 1.0L ? sinhl(t) * expl(-top) : (up - down) / 2.0L;
        sum += is_signed ? (up + down) / 2.0L : up;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] /= sum;
    return w;
}

/* Relative error; the argument theta - top of exp is itself rounded. */
static void check_weights(const cf_table *k, ptrdiff_t n, const double *theta, int is_signed,
                          double spread)
{
    double *w = take_offset(n, 1);
    const wide *exact = exact_weights(n, theta, is_signed);
    k->exponentiated_weights(n, theta, is_signed, w);
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++) {
        sum += w[i];
        CHECK_CLOSE(w[i], exact[i], DBL_EPSILON * (12.0 + (double)n / 8.0 + 2.0 * spread) *
                                            (double)fabsl(exact[i]) + 0x1p-1072);
        CHECK(is_signed ? signbit(w[i]) == signbit(theta[i]) || w[i] == 0.0 : w[i] >= 0.0);
    }
    if (!is_signed)
        CHECK_CLOSE(sum, 1.0, DBL_EPSILON * (8.0 + (double)n / 4.0));
    double *in_place = TAKE_COPY(theta, n);
    k->exponentiated_weights(n, in_place, is_signed, in_place);
    CHECK_BITS(in_place, w, n);
    AGREE(k, w, n);
}

TEST_TABLES(weights_of_ordinary_theta)
{
    FOR_SIZES(n, 1, 1000) {
        for (int is_signed = 0; is_signed < 2; is_signed++) {
            CONTEXT("%s n=%td signed=%d", k->isa, n, is_signed);
            double *theta = take_offset(n, n % 2);
            for (ptrdiff_t i = 0; i < n; i++)
                theta[i] = 3.0 * random_normal();
            check_weights(k, n, theta, is_signed, 20.0);
            release();
        }
    }
}

/* Small theta keep their digits in the signed form: sinh by its series, border at 1 included. */
TEST_TABLES(small_weights_keep_their_digits)
{
    for (int turn = 0; turn < check_count(300, 20); turn++) {
        const ptrdiff_t n = 1 + turn % 33;
        double *theta = take_doubles(n);
        for (ptrdiff_t i = 0; i < n; i++)
            theta[i] = i % 2 ? random_scaled(-1000, 0) : random_scaled(-2, 0);
        if (turn % 3 == 0)
            theta[0] = turn % 2 ? 1.0 : nextafter(1.0, 0.0);
        CONTEXT("%s turn=%d", k->isa, turn);
        check_weights(k, n, theta, 1, 2.0);
        release();
    }
}

TEST_TABLES(nothing_overflows)
{
    static const double big[] = {100.0, 700.0, 720.0, 1e5, 1e300, DBL_MAX};
    for (size_t b = 0; b < sizeof big / sizeof *big; b++) {
        double theta[] = {big[b], -big[b], 0.5, 0.0, big[b], -3.0};
        double w[6];
        CONTEXT("%s %g", k->isa, big[b]);
        k->exponentiated_weights(6, theta, 0, w);
        CHECK_CLOSE(w[0], 0.5, 1e-15);
        CHECK_CLOSE(w[4], 0.5, 1e-15);
        CHECK(w[1] == 0.0 || big[b] < 400.0);
        CHECK(w[2] >= 0.0 && w[2] < 1e-40 && w[5] >= 0.0 && w[5] < 1e-40);
        k->exponentiated_weights(6, theta, 1, w);
        CHECK_CLOSE(w[0], 1.0 / 3.0, 1e-15);
        CHECK_CLOSE(w[1], -1.0 / 3.0, 1e-15);
        CHECK_CLOSE(w[4], 1.0 / 3.0, 1e-15);
        CHECK(w[3] == 0.0 && fabs(w[2]) < 1e-40 && fabs(w[5]) < 1e-40);
    }
}

TEST_TABLES(all_zero_is_uniform)
{
    FOR_SIZES(n, 1, 129) {
        double *theta = take_padded(n), *w = take_doubles(n);
        k->exponentiated_weights(n, theta, 0, w);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(w[i], 1.0 / (double)n, DBL_EPSILON);
        k->exponentiated_weights(n, theta, 1, w);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK_CLOSE(w[i], 0.0, 0.0);
        release();
    }
}

CHECK_MAIN
