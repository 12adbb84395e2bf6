#include "coactive_fast/cf_ridge.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "coactive_fast/cf_table.h"

int cf_ridge_ball(const cf_table *k, ptrdiff_t n, const double *a, const double *z, double radius,
                  double *w)
{
    double lam = 0.0, square = k->dot(n, z, z), slope;
    if (!isfinite(square))
        return CF_ENONFINITE;
    if (square <= radius * radius) {
        if (w != z)
            memcpy(w, z, (size_t)n * sizeof *w);
        return CF_OK;
    }
    /* Newton on 1/||w|| - 1/radius, concave and increasing: from the left it never overshoots */
    for (int turn = 0; turn < 200; turn++) {
        k->ridge_shrink(n, a, z, lam, NULL, &square, &slope);
        const double norm = sqrt(square);
        const double step = (norm - radius) / radius * square / slope;
        if (!isfinite(step))
            return CF_ENONFINITE;
        if (norm - radius <= 4.0 * DBL_EPSILON * radius || step <= 2.0 * DBL_EPSILON * lam)
            break;
        lam += step;
    }
    k->ridge_shrink(n, a, z, lam, w, &square, &slope);
    const double scale = radius / sqrt(square);
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] *= scale;
    return CF_OK;
}
