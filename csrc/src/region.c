#include "coactive_fast/cf_region.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "coactive_fast/cf_faces.h"
#include "newton_step.h"

/* project_scores wants weights, a copy of z and room of its own */
ptrdiff_t cf_region_scratch(ptrdiff_t n) { return 3 * cf_pad(n) + cf_scores_scratch(n); }

ptrdiff_t cf_region_newton_scratch(ptrdiff_t n)
{
    const ptrdiff_t ball = cf_newton_scratch(n);
    const ptrdiff_t faces = cf_newton_step_scratch(n) + cf_pad(n) + cf_faces_scratch(n);
    return ball > faces ? ball : faces;
}

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

static cf_faces faces_of(const cf_region *set)
{
    const cf_faces_kind kind = set->kind == CF_REGION_SIMPLEX ? CF_SIMPLEX
                               : set->kind == CF_REGION_BOX   ? CF_BOX
                                                              : CF_L1;
    return (cf_faces){kind, set->total, set->lower, set->upper};
}

/* The simplex in coordinates above its floor, where cf_faces.h has it. */
static void shift(const cf_region *set, double by, double *w)
{
    for (ptrdiff_t i = 0; by != 0.0 && i < set->n; i++)
        w[i] += by;
}

static int into_faces(const cf_region *set, cf_full *self, const cf_table *k, const double *x,
                      const cf_newton_step *step, double *w_new, signed char *face,
                      double *scratch)
{
    const cf_faces faces = faces_of(set);
    const cf_triangle b = cf_newton_after(self, k, x, step, scratch);
    shift(set, -set->floor, w_new);
    const int status = cf_faces_project_less(k, &b, scratch, &faces, w_new, w_new, face,
                                             scratch + cf_pad(set->n), NULL);
    shift(set, set->floor, w_new);
    return status;
}

int cf_region_newton(const cf_region *set, cf_full *self, const cf_table *k, double gain,
                     const double *x, const double *w, double *w_new, double *lam,
                     signed char *face, double *scratch)
{
    const cf_newton move = {1.0, gain, set->total, set->total};
    double *rest = scratch + cf_newton_step_scratch(set->n);
    cf_newton_step step;
    int status = cf_newton_begin(self, k, move.c, gain, x, w, w_new, scratch, &step);
    if (status != CF_OK)
        return status;
    if (step.q == 0.0) { /* A stays, and w is in the set */
        copy(set->n, w, w_new);
        return CF_OK;
    }
    if (set->kind == CF_REGION_BALL)
        status = cf_newton_into_ball(self, k, &move, x, &step, w_new, lam, rest);
    else
        status = into_faces(set, self, k, x, &step, w_new, face, rest);
    if (status == CF_OK)
        cf_newton_accept(self, k, x, &step);
    return status;
}
