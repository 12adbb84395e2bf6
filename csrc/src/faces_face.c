#include "faces_face.h"

#include <math.h>
#include <string.h>

#define CF_CORRECTIONS 60 /* each gains some digits: 53 bits where B_SS is well conditioned */
#define CF_ENOUGH 1e-13   /* of the set's size */

ptrdiff_t cf_faces_scratch(ptrdiff_t n)
{
    const ptrdiff_t padded = cf_pad(n);
    return cf_panels_size(n) + padded * n + 11 * padded;
}

void face_init(face *f, const cf_table *k, const cf_triangle *b, const cf_faces *set,
               const double *z, double *scratch)
{
    const ptrdiff_t padded = cf_pad(b->n);
    double *next = scratch;
    f->k = k;
    f->b = b;
    f->term = NULL;
    f->set = set;
    f->z = z;
    f->n = b->n;
    f->factor.data = next;
    next += cf_panels_size(b->n);
    f->square = next;
    next += padded * b->n;
    f->at = (ptrdiff_t *)(void *)next;
    next += padded;
    double **const vectors[] = {&f->factor.inv, &f->h,  &f->e, &f->u,  &f->t,
                                &f->g,          &f->x,  &f->mu, &f->x1, &f->mu1};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++, next += padded) {
        *vectors[i] = next;
        memset(next, 0, (size_t)padded * sizeof *next);
    }
}

double face_load(const face *f)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < f->n; i++)
        sum += f->mu[i] != 0.0 ? fabs(f->mu[i]) * sqrt(face_diagonal(f, i)) : 0.0;
    return sum;
}

double face_bound(const face *f, const signed char *state, ptrdiff_t i)
{
    if (f->set->kind != CF_BOX)
        return 0.0;
    return state[i] < 0 ? f->set->lower[i] : f->set->upper[i];
}

static int at_bound(const face *f, const signed char *state, ptrdiff_t i)
{
    return f->set->kind == CF_L1 ? state[i] == 0 : state[i] != 0;
}

/* y = A^-1 x */
static void product(const face *f, const double *x, double *y)
{
    f->k->symv(f->b, x, y);
    if (f->term)
        f->k->axpy(f->n, -f->k->dot(f->n, f->term, x), f->term, y);
}

/* B_SS, of the term too */
static void gather(face *f)
{
    const ptrdiff_t padded = cf_pad(f->n);
    for (ptrdiff_t r = 0; r < f->count; r++) {
        const double *row = cf_triangle_row(f->b, f->at[r]);
        double *out = f->square + r * padded;
        for (ptrdiff_t c = 0; c <= r; c++)
            out[c] = row[f->at[c]];
        if (f->term) {
            const double t = f->term[f->at[r]];
            for (ptrdiff_t c = 0; c <= r; c++)
                out[c] -= t * f->term[f->at[c]];
        }
    }
}

int face_take(face *f, const signed char *state)
{
    f->count = 0;
    for (ptrdiff_t i = 0; i < f->n; i++) { /* what is at a bound is out of h: nothing cancels */
        f->h[i] = f->set->kind == CF_SIMPLEX ? 1 + state[i] : f->set->kind == CF_L1 ? -state[i] : 0;
        if (at_bound(f, state, i))
            f->at[f->count++] = i;
    }
    if (f->set->kind != CF_BOX)
        product(f, f->h, f->e);
    gather(f);
    const cf_triangle part = {f->square, f->count, cf_pad(f->n)};
    return f->k->cholesky_factor(&part, &f->factor);
}

/* g = L^-1 of what `values` has at the bound coordinates */
static void forward(face *f, const double *values, double *g)
{
    memset(g, 0, (size_t)cf_pad(f->count) * sizeof *g);
    for (ptrdiff_t r = 0; r < f->count; r++)
        g[r] = values[f->at[r]];
    f->k->cholesky_forward(&f->factor, g, g);
}

double face_stiffness(face *f, ptrdiff_t i)
{
    memset(f->g, 0, (size_t)cf_pad(f->count) * sizeof *f->g);
    for (ptrdiff_t r = 0; r < f->count; r++)
        f->g[r] = f->at[r] == i;
    f->k->cholesky_forward(&f->factor, f->g, f->g);
    return f->k->dot(f->count, f->g, f->g);
}

/* step = L^-T g scattered over n; x = from + B step + nu e */
static void point(face *f, double *g, double nu, const double *from, double *step, double *x)
{
    f->k->cholesky_backward(&f->factor, g, g);
    memset(step, 0, (size_t)cf_pad(f->n) * sizeof *step);
    for (ptrdiff_t r = 0; r < f->count; r++)
        step[f->at[r]] = g[r];
    product(f, step, f->t);
    for (ptrdiff_t i = 0; i < f->n; i++)
        x[i] = (from ? from[i] : 0.0) + (f->t[i] + nu * f->e[i]);
}

/* nu so that h . (nu e + B_S mu) = missing, mu = L^-T g afterwards; slope is positive */
static int equality(face *f, double missing, double *g, double *nu)
{
    const ptrdiff_t m = f->count;
    forward(f, f->e, f->t);
    const double slope = f->k->dot(f->n, f->h, f->e) - f->k->dot(m, f->t, f->t);
    if (!(slope > 0.0))
        return isfinite(slope) ? CF_ENOTPOSITIVE : CF_ENONFINITE;
    *nu = (missing - f->k->dot(m, f->t, g)) / slope;
    f->k->axpy(m, -*nu, f->t, g);
    return CF_OK;
}

static double equality_goal(const face *f)
{
    return f->set->kind == CF_L1 ? -f->set->total : f->set->total;
}

/* One solve for what x still misses of its bounds and of the equality; x, mu and nu move. */
static int correct(face *f, const signed char *state)
{
    double nu = 0.0;
    for (ptrdiff_t r = 0; r < f->count; r++) {
        const ptrdiff_t i = f->at[r];
        f->u[i] = face_bound(f, state, i) - f->x[i];
    }
    forward(f, f->u, f->g);
    if (f->set->kind != CF_BOX) {
        const int status = equality(f, equality_goal(f) - f->k->dot(f->n, f->h, f->x), f->g, &nu);
        if (status != CF_OK)
            return status;
    }
    point(f, f->g, nu, f->x, f->u, f->x);
    for (ptrdiff_t i = 0; i < f->n; i++)
        f->mu[i] += f->u[i];
    f->nu += nu;
    return isfinite(f->k->dot(f->n, f->x, f->x)) ? CF_OK : CF_ENONFINITE;
}

/* How far x is from the bounds and from the equality, in units of its size. */
static double residual(const face *f)
{
    if (f->set->kind == CF_BOX) /* coordinates have no common size: two corrections must do */
        return 0.0;
    double most = fabs(equality_goal(f) - f->k->dot(f->n, f->h, f->x));
    for (ptrdiff_t r = 0; r < f->count; r++) { /* the bounds are zero */
        const double x = fabs(f->x[f->at[r]]);
        most = x > most ? x : most;
    }
    return most / f->set->total;
}

int face_solve(face *f, const signed char *state)
{
    const size_t bytes = (size_t)f->n * sizeof *f->x;
    memcpy(f->x, f->z, bytes);
    memset(f->mu, 0, bytes);
    f->nu = 0.0;
    int status = correct(f, state);
    double left = INFINITY, now = INFINITY;
    /* the second time takes away what rounding left, and where z is far larger than the set or the
     * coordinates differ much, a few more */
    for (int turn = 0; status == CF_OK && turn < CF_CORRECTIONS && now > CF_ENOUGH; turn++) {
        status = correct(f, state);
        now = residual(f);
        if (!(now < left))
            break;
        left = now;
    }
    if (status != CF_OK)
        return status;
    for (ptrdiff_t r = 0; r < f->count; r++) /* what is at a bound is there exactly */
        f->x[f->at[r]] = face_bound(f, state, f->at[r]);
    return CF_OK;
}

int face_solve_path(face *f, const signed char *state)
{
    if (f->set->kind == CF_L1) { /* x = z - p e + B mu with x_S = 0: two plain right-hand sides */
        for (ptrdiff_t r = 0; r < f->count; r++)
            f->u[f->at[r]] = -f->z[f->at[r]];
        forward(f, f->u, f->g);
        point(f, f->g, 0.0, f->z, f->mu, f->x);
        forward(f, f->e, f->g);
        point(f, f->g, -1.0, NULL, f->mu1, f->x1);
        return CF_OK;
    }
    int status = face_solve(f, state);
    if (status != CF_OK)
        return status;
    for (ptrdiff_t r = 0; r < f->count; r++)
        f->u[f->at[r]] = state[f->at[r]];
    forward(f, f->u, f->g);
    f->nu1 = 0.0;
    if (f->set->kind == CF_SIMPLEX) /* the free ones take what the bounds give */
        status = equality(f, (double)f->count, f->g, &f->nu1);
    if (status == CF_OK)
        point(f, f->g, f->nu1, NULL, f->mu1, f->x1);
    return status;
}
