/* The losses of one prediction and their derivatives. */
#include "cf_reference.h"
#include "coactive_fast/cf_loss.h"

TEST_TABLES(squared_and_return)
{
    for (int turn = 0; turn < 500; turn++) {
        const double m = random_normal(), y = 3.0 * random_normal();
        const wide gap = (wide)m - y;
        CHECK_CLOSE(cf_loss_value(k, CF_LOSS_SQUARED, m, y), 0.5L * gap * gap,
                    2 * DBL_EPSILON * (double)(gap * gap));
        CHECK_CLOSE(cf_loss_slope(k, CF_LOSS_SQUARED, m, y), gap,
                    DBL_EPSILON * (double)fabsl(gap));
        CHECK_CLOSE(cf_loss_value(k, CF_LOSS_RETURN, m, y), -m, 0.0);
        CHECK_CLOSE(cf_loss_slope(k, CF_LOSS_RETURN, m, y), -1.0, 0.0);
    }
}

/* Relative accuracy on both sides, far out too: the value for y m >> 0 is exp(-y m). */
TEST_TABLES(logistic_keeps_its_digits)
{
    for (int turn = 0; turn < check_count(5000, 500); turn++) {
        const double m = turn % 2 ? random_scaled(-60, 9) : 40.0 * (random_unit() - 0.5);
        const double y = turn % 3 ? (turn % 3 == 1 ? 1.0 : -1.0) : 2.0 * random_normal();
        const double s = y * m;
        if (fabs(s) > 700.0)
            continue;
        const wide value = s > 0 ? log1pl(expl(-(wide)s)) : log1pl(expl((wide)s)) - (wide)s;
        const wide slope = -(wide)y / (1.0L + expl((wide)s));
        CONTEXT("%s m=%.17g y=%.17g", k->isa, m, y);
        const double got[2] = {cf_loss_value(k, CF_LOSS_LOGISTIC, m, y),
                               cf_loss_slope(k, CF_LOSS_LOGISTIC, m, y)};
        CHECK(ulps(got[0], value) <= 4.0);
        CHECK(ulps(got[1], slope) <= 4.0);
        AGREE(k, got, 2);
    }
}

TEST_TABLES(logistic_at_the_ends)
{
    CHECK_CLOSE(cf_loss_value(k, CF_LOSS_LOGISTIC, 0.0, 1.0), log(2.0), 1e-16);
    CHECK_CLOSE(cf_loss_slope(k, CF_LOSS_LOGISTIC, 0.0, -1.0), 0.5, 0.0);
    CHECK_CLOSE(cf_loss_value(k, CF_LOSS_LOGISTIC, 1e300, 1.0), 0.0, 0.0);
    CHECK_CLOSE(cf_loss_value(k, CF_LOSS_LOGISTIC, 1e300, -1.0), 1e300, 0.0);
    CHECK_CLOSE(cf_loss_slope(k, CF_LOSS_LOGISTIC, 1e300, 1.0), 0.0, 0.0);
    CHECK_CLOSE(cf_loss_slope(k, CF_LOSS_LOGISTIC, 1e300, -1.0), 1.0, 0.0);
    CHECK(isnan(cf_loss_value(k, CF_LOSS_LOGISTIC, NAN, 1.0)));
}

CHECK_MAIN
