#include "coactive_fast/cf_newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

ptrdiff_t cf_newton_scratch(ptrdiff_t n)
{
    return 3 * cf_pad(n) + cf_full_scratch(n) + cf_ball_scratch(n, 0) + cf_ball_scratch(n, 1);
}

/* q and v = A^-1 x of the old A; where q shows the inverse damaged it is made anew, once. */
static double old_product(cf_full *self, const cf_table *k, const double *x, double *v,
                          double *scratch)
{
    const ptrdiff_t n = self->n;
    cf_full_solve(self, k, x, scratch, v);
    const double q = k->dot(n, x, v);
    if (!(q <= 0.0) || k->dot(n, x, x) == 0.0 || !cf_full_repair(self, k, scratch))
        return q;
    cf_full_solve(self, k, x, scratch, v);
    return k->dot(n, x, v);
}

static int within(const cf_table *k, ptrdiff_t n, const double *w, double limit)
{
    return isinf(limit) || k->dot(n, w, w) <= limit * limit * (1.0 - 4.0 * DBL_EPSILON);
}

int cf_newton_ball(cf_full *self, const cf_table *k, const cf_newton *step, const double *x,
                   const double *w, double *w_new, double *lam, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *v = scratch, *terms = v + padded, *work = terms + 2 * padded;
    double *lanczos = work + cf_full_scratch(n), *dense = lanczos + cf_ball_scratch(n, 0);
    double before, q = old_product(self, k, x, v, work);
    if (!isfinite(q))
        return CF_ENONFINITE;
    if (q < 0.0)
        return CF_ENOTPOSITIVE;
    memcpy(w_new, w, (size_t)n * sizeof *w);
    k->axpy(n, step->gain / (1.0 + step->c * q), v, w_new);
    if (!k->all_finite(n, w_new))
        return CF_ENONFINITE;
    if (!within(k, n, w_new, step->limit)) { /* in doubt the projection itself decides */
        const double root = sqrt(1.0 / (1.0 / step->c + q));
        memcpy(terms, self->w, (size_t)padded * sizeof *terms);
        for (ptrdiff_t i = 0; i < padded; i++)
            terms[padded + i] = i < n ? root * v[i] : 0.0;
        const int status = cf_ball_project_less(k, &self->b, 2, terms, w_new, step->radius, w_new,
                                                lam, lanczos, dense, NULL);
        if (status != CF_OK)
            return status;
    }
    return cf_full_update(self, k, x, step->c, work, &before);
}
