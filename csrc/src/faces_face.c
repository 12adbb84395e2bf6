#include "faces_face.h"

#include <math.h>
#include <string.h>

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

int face_take(face *f, const signed char *state)
{
    const ptrdiff_t padded = cf_pad(f->n);
    f->count = 0;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        f->h[i] = f->set->kind == CF_SIMPLEX ? 1.0 : f->set->kind == CF_L1 ? -state[i] : 0.0;
        if (at_bound(f, state, i))
            f->at[f->count++] = i;
    }
    if (f->set->kind != CF_BOX)
        f->k->symv(f->b, f->h, f->e);
    for (ptrdiff_t r = 0; r < f->count; r++) {
        const double *row = cf_triangle_row(f->b, f->at[r]);
        for (ptrdiff_t c = 0; c <= r; c++)
            f->square[r * padded + c] = row[f->at[c]];
    }
    const cf_triangle part = {f->square, f->count, padded};
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

/* step = L^-T g scattered over n; x = from + B step + nu e */
static void point(face *f, double *g, double nu, const double *from, double *step, double *x)
{
    f->k->cholesky_backward(&f->factor, g, g);
    memset(step, 0, (size_t)cf_pad(f->n) * sizeof *step);
    for (ptrdiff_t r = 0; r < f->count; r++)
        step[f->at[r]] = g[r];
    f->k->symv(f->b, step, f->t);
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

/* One solve for what x still misses of its bounds and of the equality; x, mu and nu move. */
static int correct(face *f, const signed char *state)
{
    const cf_faces_kind kind = f->set->kind;
    double nu = 0.0;
    for (ptrdiff_t r = 0; r < f->count; r++) {
        const ptrdiff_t i = f->at[r];
        f->u[i] = face_bound(f, state, i) - f->x[i];
    }
    forward(f, f->u, f->g);
    if (kind != CF_BOX) {
        const double goal = kind == CF_L1 ? -f->set->total : f->set->total;
        const int status = equality(f, goal - f->k->dot(f->n, f->h, f->x), f->g, &nu);
        if (status != CF_OK)
            return status;
    }
    point(f, f->g, nu, f->x, f->u, f->x);
    for (ptrdiff_t i = 0; i < f->n; i++)
        f->mu[i] += f->u[i];
    f->nu += nu;
    return isfinite(f->k->dot(f->n, f->x, f->x)) ? CF_OK : CF_ENONFINITE;
}

int face_solve(face *f, const signed char *state)
{
    const size_t bytes = (size_t)f->n * sizeof *f->x;
    memcpy(f->x, f->z, bytes);
    memset(f->mu, 0, bytes);
    f->nu = 0.0;
    int status = correct(f, state);
    if (status == CF_OK)
        status = correct(f, state); /* the second time takes away what rounding left */
    if (status != CF_OK)
        return status;
    for (ptrdiff_t r = 0; r < f->count; r++) /* what is at a bound is there exactly */
        f->x[f->at[r]] = face_bound(f, state, f->at[r]);
    return CF_OK;
}

int face_solve_path(face *f, const signed char *state)
{
    const cf_faces_kind kind = f->set->kind;
    double nu = 0.0;
    if (kind == CF_L1) { /* x = z - p e + B mu with x_S = 0: two plain right-hand sides */
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
    if (kind == CF_SIMPLEX)
        status = equality(f, 0.0, f->g, &nu);
    if (status == CF_OK)
        point(f, f->g, nu, NULL, f->mu1, f->x1);
    return status;
}
