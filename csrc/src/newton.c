#include "coactive_fast/cf_newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "newton_step.h"

ptrdiff_t cf_newton_step_scratch(ptrdiff_t n) { return cf_pad(n) + cf_full_scratch(n); }

ptrdiff_t cf_newton_scratch(ptrdiff_t n)
{
    return cf_newton_step_scratch(n) + cf_pad(n) + cf_ball_scratch(n, 0) + cf_ball_scratch(n, 1);
}

int cf_newton_begin(cf_full *self, const cf_table *k, double c, double gain, const double *x,
                    const double *w, double *w_new, double *scratch, cf_newton_step *step)
{
    const ptrdiff_t n = self->n;
    *step = (cf_newton_step){c, 0.0, scratch, scratch + cf_pad(n)};
    const int status = cf_full_propose(self, k, x, c, step->work, step->v, &step->q);
    if (status != CF_OK)
        return status;
    if (!isfinite(step->q))
        return CF_ENONFINITE;
    memcpy(w_new, w, (size_t)n * sizeof *w);
    k->axpy(n, gain / (1.0 + c * step->q), step->v, w_new);
    return k->all_finite(n, w_new) ? CF_OK : CF_ENONFINITE;
}

void cf_newton_term(const cf_full *self, const cf_newton_step *step, double *term)
{
    const ptrdiff_t padded = cf_pad(self->n);
    if (step->q == 0.0) { /* nothing new, but the old one may still be pending */
        memcpy(term, self->w, (size_t)padded * sizeof *term);
        return;
    }
    const double root = sqrt(1.0 / (1.0 / step->c + step->q));
    for (ptrdiff_t i = 0; i < padded; i++)
        term[i] = root * step->v[i];
}

void cf_newton_accept(cf_full *self, const cf_table *k, const double *x,
                      const cf_newton_step *step)
{
    cf_full_accept(self, k, x, step->c, step->v, step->q, step->work);
}

/* ||w|| <= limit, the squares in a unit that keeps them in range */
static int within(const cf_table *k, ptrdiff_t n, const double *w, double limit)
{
    if (isinf(limit))
        return 1;
    const double norm = sqrt(k->dot(n, w, w));
    if (norm > 1e-140 && norm < 1e140)
        return norm <= limit;
    double most = 0.0, sum = 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(w[i]));
    if (most == 0.0)
        return 1;
    int exponent;
    frexp(most, &exponent);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += ldexp(w[i], -exponent) * ldexp(w[i], -exponent);
    return sqrt(sum) <= ldexp(limit, -exponent);
}

int cf_newton_into_ball(cf_full *self, const cf_table *k, const cf_newton *move,
                        const cf_newton_step *step, double *w_new, double *lam, double *scratch)
{
    if (within(k, self->n, w_new, move->limit)) {
        *lam = 0.0;
        return CF_OK;
    }
    double *term = scratch, *lanczos = term + cf_pad(self->n);
    cf_newton_term(self, step, term);
    return cf_ball_project_less(k, &self->b, 1, term, w_new, move->radius, w_new, lam, lanczos,
                                lanczos + cf_ball_scratch(self->n, 0), NULL);
}

int cf_newton_ball(cf_full *self, const cf_table *k, const cf_newton *move, const double *x,
                   const double *w, double *w_new, double *lam, double *scratch)
{
    cf_newton_step step;
    int status = cf_newton_begin(self, k, move->c, move->gain, x, w, w_new, scratch, &step);
    if (status == CF_OK)
        status = cf_newton_into_ball(self, k, move, &step, w_new, lam,
                                     scratch + cf_newton_step_scratch(self->n));
    if (status == CF_OK)
        cf_newton_accept(self, k, x, &step);
    return status;
}
