#include "coactive_fast/cf_past.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CF_PAST_LEAST 0x1p-16 /* of the scale, before it goes into what is stored */

void cf_past_init(cf_past *self, double ridge)
{
    *self = (cf_past){.ridge = ridge, .share = 1.0, .scale = 1.0};
}

int64_t cf_past_period(const cf_table *k, ptrdiff_t n, double f)
{
    const double most = n > 1 ? (double)n : 1.0;
    const double m = f < 1.0 ? floor(k->log_one(2.0) / -k->log_one(f)) : most;
    return (int64_t)fmax(1.0, fmin(most, m));
}

/* What is stored times 4^half, exactly: cf_full_scale, whose own bound of D in the robust form
 * minds no ridge. Only a D that a tiny f has taken 2^200 beyond the regulariser is cut off there:
 * no digit of it is left when the regulariser is added. */
static void scale_stored(cf_full *full, const cf_table *k, int half, double *scratch)
{
    memcpy(scratch, full->w, (size_t)cf_pad(full->n) * sizeof *scratch);
    const double most = fmin(0x1p200 / full->ridge, 0x1p1000);
    cf_full_scale(full, k, half);
    for (ptrdiff_t i = 0; full->robust && i < full->n; i++)
        full->w[i] = fmin(ldexp(scratch[i], -2 * half), most);
}

/* scale <- f scale; where that is small, into [0.5, 2) by powers of four, of which what is stored
 * gets the inverse. Returns how many. */
static int shrink(cf_past *self, cf_full *full, const cf_table *k, double f, double *scratch)
{
    int e, more, half = 0;
    double scale = self->scale * frexp(f, &e); /* f itself may be below the normal doubles */
    if (ldexp(scale, e) <= CF_PAST_LEAST) {
        scale = frexp(scale, &more);
        e += more;
        half = (1 - e) / 2;
        scale_stored(full, k, -half, scratch);
    }
    self->scale = ldexp(scale, e + 2 * half);
    return half;
}

/* A <- f A + added I. */
static int renew(cf_past *self, cf_full *full, const cf_table *k, double f, double added,
                 double *scratch)
{
    const cf_past before = *self;
    const int half = shrink(self, full, k, f, scratch);
    const int status = cf_full_lift(full, k, added / self->scale, scratch);
    if (status != CF_OK) {
        if (half)
            scale_stored(full, k, half, scratch);
        *self = before;
        return status;
    }
    self->share = 1.0;
    if (!self->lowered)
        full->ridge = self->ridge / self->scale;
    return CF_OK;
}

int cf_past_forget(cf_past *self, cf_full *full, const cf_table *k, double f, double *scratch,
                   double *added)
{
    int status = CF_OK;
    *added = 0.0;
    if (self->count % cf_past_period(k, full->n, f) == 0) {
        *added = (1.0 - f * self->share) * self->ridge;
        status = renew(self, full, k, f, *added, scratch);
    } else {
        shrink(self, full, k, f, scratch);
        self->share *= f;
        if (!self->lowered)
            full->ridge = self->share * self->ridge / self->scale;
    }
    self->count += status == CF_OK;
    return status;
}

int cf_past_decay(cf_past *self, cf_full *full, const cf_table *k, double f, double *scratch,
                  double *added)
{
    *added = (1.0 - f * self->share) * self->ridge;
    if (*added == 0.0)
        return CF_OK;
    return renew(self, full, k, f, *added, scratch);
}

void cf_past_weights(const cf_past *self, const cf_full *full, const cf_table *k, double added,
                     double *w, double *scratch)
{
    double *v = scratch, *rest = scratch + cf_pad(full->n);
    if (added == 0.0)
        return;
    cf_full_solve(full, k, w, rest, v);
    k->axpy(full->n, -added / self->scale, v, w);
}

int cf_past_update(cf_past *self, cf_full *full, const cf_table *k, const double *x, double c,
                   double *scratch, double *q)
{
    if (self->scale == 1.0 && c > 0.0) /* most calls: nothing was forgotten */
        return cf_full_update(full, k, x, c, scratch, q);
    const int status = cf_full_update(full, k, x, c / self->scale, scratch, q);
    if (status == CF_OK && c < 0.0 && *q != 0.0) {
        const double least = cf_full_least(full, k);
        full->ridge = least > 0.0 && least <= DBL_MAX
                          ? least
                          : full->ridge * (1.0 + c / self->scale * *q);
        self->lowered = 1;
        cf_full_steepen(full);
    }
    *q /= self->scale;
    return status;
}

int cf_past_place(cf_past *self, cf_full *full, const cf_table *k, const double *a, ptrdiff_t ld,
                  double ridge, double *scratch)
{
    const int status = cf_full_place(full, k, a, ld, scratch);
    cf_past_init(self, ridge);
    self->lowered = 1;
    return status;
}

double cf_past_logdet(const cf_past *self, const cf_full *full, const cf_table *k)
{
    return full->logdet + (double)full->n * k->log_one(self->scale);
}
