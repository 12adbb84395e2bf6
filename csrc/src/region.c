#include "coactive_fast/cf_region.h"

#include <math.h>
#include <string.h>

/* project_scores wants weights, a copy of z and room of its own */
ptrdiff_t cf_region_scratch(ptrdiff_t n) { return 3 * cf_pad(n) + cf_scores_scratch(n); }

static void copy(ptrdiff_t n, const double *from, double *to)
{
    memcpy(to, from, (size_t)n * sizeof *to);
}

/* Scaled by its largest entry first where its square leaves the range. */
static void to_ball(const cf_table *k, ptrdiff_t n, const double *z, double radius, double *w)
{
    double most = 0.0;
    copy(n, z, w);
    double norm = sqrt(k->dot(n, z, z));
    if (norm <= radius && norm > 1e-140)
        return;
    if (!(norm > 1e-140 && norm < 1e140)) {
        for (ptrdiff_t i = 0; i < n; i++)
            most = fmax(most, fabs(z[i]));
        if (most == 0.0)
            return;
        for (ptrdiff_t i = 0; i < n; i++)
            w[i] = z[i] / most;
        norm = sqrt(k->dot(n, w, w));
        if (norm <= radius / most) {
            copy(n, z, w);
            return;
        }
    }
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = w[i] / norm * radius;
}

/* Of the sizes: by the score projection with equal weights. */
static int to_sum(const cf_region *set, const cf_table *k, const double *z, double *w,
                  double *scratch)
{
    const ptrdiff_t n = set->n, padded = cf_pad(n);
    const int l1 = set->kind == CF_REGION_L1;
    double *ones = scratch, *size = ones + padded, *v = size + padded, sum = 0.0, lam;
    for (ptrdiff_t i = 0; i < n; i++) {
        ones[i] = 1.0;
        size[i] = l1 ? fabs(z[i]) : z[i] - set->floor;
        sum += size[i];
    }
    if (l1 && sum <= set->total) {
        copy(n, z, w);
        return CF_OK;
    }
    const int status = k->project_scores(n, size, ones, set->total, v, &lam, v + padded);
    for (ptrdiff_t i = 0; status == CF_OK && i < n; i++)
        w[i] = l1 ? copysign(v[i], z[i]) : set->floor + v[i];
    return status;
}

static double clip(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

int cf_region_project(const cf_region *set, const cf_table *k, const double *z, double *w,
                      double *scratch)
{
    if (!k->all_finite(set->n, z))
        return CF_ENONFINITE;
    switch (set->kind) {
    case CF_REGION_BALL:
        to_ball(k, set->n, z, set->total, w);
        return CF_OK;
    case CF_REGION_BOX:
        for (ptrdiff_t i = 0; i < set->n; i++)
            w[i] = clip(z[i], set->lower[i], set->upper[i]);
        return CF_OK;
    default:
        return to_sum(set, k, z, w, scratch);
    }
}
