#include "coactive_fast/cf_newton.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "coactive_fast/cf_faces.h"
#include "coactive_fast/cf_region.h"

/* --- the step, whatever set it ends in -------------------------------------------------------- */

typedef struct newton_step {
    double c, q;
    double *v;    /* the old A^-1 x, in the scratch */
    double *work; /* of the metric */
} newton_step;

/* Doubles of scratch; the step's own until it is accepted. */
static ptrdiff_t step_scratch(ptrdiff_t n) { return cf_pad(n) + cf_full_scratch(n); }

/* w_new = w + gain A^-1 x, A with c x x^T already. Nothing that can be read changes. */
static int begin(cf_full *self, const cf_table *k, double c, double gain, const double *x,
                 const double *w, double *w_new, double *scratch, newton_step *step)
{
    const ptrdiff_t n = self->n;
    *step = (newton_step){c, 0.0, scratch, scratch + cf_pad(n)};
    CF_TRY(cf_full_propose(self, k, x, c, step->work, step->v, &step->q));
    if (!isfinite(step->q))
        return CF_ENONFINITE;
    memcpy(w_new, w, (size_t)n * sizeof *w);
    k->axpy(n, gain / (1.0 + c * step->q), step->v, w_new);
    return k->all_finite(n, w_new) ? CF_OK : CF_ENONFINITE;
}

/* U D U^T in place of U^T and D: row i of the product is made of the rows from i on. */
static void multiply_out(const cf_triangle *ut, const cf_table *k, const double *d)
{
    for (ptrdiff_t i = 0; i < ut->n; i++) {
        double *out = cf_triangle_row(ut, i);
        for (ptrdiff_t j = 0; j < i; j++)
            out[j] *= d[i];
        out[i] = d[i];
        for (ptrdiff_t l = i + 1; l < ut->n; l++) {
            const double *row = cf_triangle_row(ut, l);
            k->axpy(i + 1, d[l] * row[i], row, out);
        }
    }
}

int cf_newton_inverse(cf_full *self, const cf_table *k, const double *x, double c, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n), size = cf_panels_size(n);
    const cf_triangle b = {scratch, n, 0};
    double *d = scratch + size, *f = d + padded, *rest = f + padded, q;
    if (self->converts)
        cf_full_convert(self, k, scratch);
    if (!self->robust)
        return 0;
    memcpy(scratch, self->b.data, (size_t)size * sizeof *scratch);
    memcpy(d, self->w, (size_t)padded * sizeof *d);
    k->ud_quad(&b, d, x, f, &q);
    k->ud_update(&b, d, c, f, rest);
    multiply_out(&b, k, d);
    return 1;
}

/* B and a term of cf_pad(n) doubles such that the new inverse is B - term term^T. B is that of self
 * or, of the robust form, in the step's work until the step is accepted. */
static cf_triangle new_inverse(cf_full *self, const cf_table *k, const double *x,
                               const newton_step *step, double *term)
{
    const ptrdiff_t padded = cf_pad(self->n);
    if (step->q != 0.0 && cf_newton_inverse(self, k, x, step->c, step->work)) {
        memset(term, 0, (size_t)padded * sizeof *term);
        return (cf_triangle){step->work, self->n, 0};
    }
    const double root = sqrt(1.0 / (1.0 / step->c + step->q));
    for (ptrdiff_t i = 0; i < padded; i++) /* q = 0: nothing new, but an old term may be pending */
        term[i] = step->q == 0.0 ? self->w[i] : root * step->v[i];
    return self->b;
}

/* --- into a ball ------------------------------------------------------------------------------ */

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

/* w = M^-1 z with M = I + lam B to the last digits of each entry, not only of the longest: by the
 * factor and its residuals, lam by Newton's method on the length. Lanczos gives what it begins with,
 * in the norm. `scratch`: what a fallback of the ball takes and 16 vectors. */
static int polish(const cf_table *k, const cf_triangle *b, double radius, const double *z, double *w,
                  double *lam, double *scratch)
{
    const ptrdiff_t n = b->n, padded = cf_pad(n), size = cf_panels_size(n);
    const cf_triangle m = {scratch, n, 0};
    cf_cholesky l = {scratch + size, scratch + 2 * size, 0};
    double *x = l.inv + padded, *r = x + padded, *u = r + padded;
    memset(x, 0, (size_t)(3 * padded) * sizeof *x);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *row = cf_triangle_row(b, i);
        double *out = cf_triangle_row(&m, i);
        for (ptrdiff_t j = 0; j <= i; j++)
            out[j] = *lam * row[j];
        out[i] += 1.0;
        x[i] = w[i];
    }
    if (k->cholesky_factor(&m, &l) != CF_OK)
        return CF_ENOTPOSITIVE;
    for (int turn = 0; turn < 7; turn++) {
        k->symv(b, x, u);
        for (ptrdiff_t i = 0; i < n; i++)
            r[i] = z[i] - x[i] - *lam * u[i];
        k->cholesky_forward(&l, 0, r, r);
        k->cholesky_backward(&l, r, r);
        k->axpy(n, 1.0, r, x);
        if (turn % 2) { /* d x / d lam = -M^-1 B x */
            k->symv(b, x, r);
            k->cholesky_forward(&l, 0, r, r);
            k->cholesky_backward(&l, r, r);
            const double length = sqrt(k->dot(n, x, x)), slope = -k->dot(n, x, r) / length;
            const double by = length / radius * (radius - length) / slope;
            if (slope < 0.0 && fabs(by) <= 0.5 * *lam)
                *lam += by;
        }
    }
    memcpy(w, x, (size_t)n * sizeof *w);
    return k->all_finite(n, w) ? CF_OK : CF_ENONFINITE;
}

/* w_new from the step's end into the ball, in the norm of the new A; scratch: what
 * cf_newton_scratch has beyond the step's. */
static int into_ball(cf_full *self, const cf_table *k, const cf_newton *move, const double *x,
                     const newton_step *step, double *w_new, double *lam, double *scratch)
{
    if (within(k, self->n, w_new, move->limit)) {
        *lam = 0.0;
        return CF_OK;
    }
    double *term = scratch, *z = term + cf_pad(self->n), *lanczos = z + cf_pad(self->n);
    double *fallback = lanczos + cf_ball_scratch(self->n, 0);
    const cf_triangle b = new_inverse(self, k, x, step, term);
    memcpy(z, w_new, (size_t)self->n * sizeof *z);
    const int status = cf_ball_project(k, &b, term, z, move->radius, w_new, lam, lanczos, fallback);
    if (status != CF_OK || b.data == self->b.data || *lam == 0.0)
        return status;
    return polish(k, &b, move->radius, z, w_new, lam, fallback);
}

ptrdiff_t cf_newton_scratch(ptrdiff_t n)
{
    return step_scratch(n) + 18 * cf_pad(n) + cf_ball_scratch(n, 0) +
           cf_ball_scratch(n, 1);
}

int cf_newton_ball(cf_full *self, const cf_table *k, const cf_newton *move, const double *x,
                   const double *w, double *w_new, double *lam, double *scratch)
{
    newton_step step;
    double *rest = scratch + step_scratch(self->n);
    CF_TRY(begin(self, k, move->c, move->gain, x, w, w_new, scratch, &step));
    CF_TRY(into_ball(self, k, move, x, &step, w_new, lam, rest));
    cf_full_accept(self, k, x, step.c, step.v, step.q, step.work);
    return CF_OK;
}

/* --- into any other set ----------------------------------------------------------------------- */

ptrdiff_t cf_region_newton_scratch(ptrdiff_t n)
{
    const ptrdiff_t ball = cf_newton_scratch(n);
    const ptrdiff_t faces = step_scratch(n) + cf_pad(n) + cf_faces_scratch(n);
    return ball > faces ? ball : faces;
}

/* The simplex in coordinates above its floor, where cf_faces.h has it. */
static void shift(const cf_region *set, double by, double *w)
{
    for (ptrdiff_t i = 0; by != 0.0 && i < set->n; i++)
        w[i] += by;
}

static int into_faces(const cf_region *set, cf_full *self, const cf_table *k, const double *x,
                      const newton_step *step, double *w_new, signed char *face, double *scratch)
{
    static const cf_faces_kind kinds[] = {
        [CF_REGION_SIMPLEX] = CF_SIMPLEX, [CF_REGION_BOX] = CF_BOX, [CF_REGION_L1] = CF_L1};
    const cf_faces faces = {kinds[set->kind], set->total, set->lower, set->upper};
    const cf_triangle b = new_inverse(self, k, x, step, scratch);
    shift(set, -set->floor, w_new);
    const int status = cf_faces_project(k, &b, scratch, &faces, w_new, w_new, face,
                                        scratch + cf_pad(set->n));
    shift(set, set->floor, w_new);
    return status;
}

int cf_region_newton(const cf_region *set, cf_full *self, const cf_table *k, double gain,
                     const double *x, const double *w, double *w_new, double *lam,
                     signed char *face, double *scratch)
{
    const cf_newton move = {1.0, gain, set->total, set->total};
    double *rest = scratch + step_scratch(set->n);
    newton_step step;
    CF_TRY(begin(self, k, move.c, gain, x, w, w_new, scratch, &step));
    if (step.q == 0.0) { /* A stays, and w is in the set */
        memcpy(w_new, w, (size_t)set->n * sizeof *w);
        return CF_OK;
    }
    if (set->kind == CF_REGION_BALL)
        CF_TRY(into_ball(self, k, &move, x, &step, w_new, lam, rest));
    else
        CF_TRY(into_faces(set, self, k, x, &step, w_new, face, rest));
    cf_full_accept(self, k, x, step.c, step.v, step.q, step.work);
    return CF_OK;
}
