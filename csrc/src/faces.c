#include "coactive_fast/cf_faces.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "faces_face.h"

#define CF_TURNS 100      /* faces at the most before the path */
#define CF_PATIENCE 4     /* turns allowed in which the number of violators does not fall */
#define CF_TOLERANCE 1e-13

static int inside(const cf_faces *set, ptrdiff_t n, const double *z)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (set->kind == CF_SIMPLEX && z[i] < 0.0)
            return 0;
        if (set->kind == CF_BOX && !(set->lower[i] <= z[i] && z[i] <= set->upper[i]))
            return 0;
        sum += fabs(z[i]);
    }
    return set->kind == CF_BOX || (set->kind == CF_L1 ? sum <= set->total : sum == set->total);
}

void cf_faces_guess(const cf_table *k, const cf_triangle *b, const cf_faces *set, const double *z,
                    signed char *state, double *scratch)
{
    const ptrdiff_t n = b->n, padded = cf_pad(n);
    double *size = scratch, *weight = size + padded, *v = weight + padded, lam;
    for (ptrdiff_t i = 0; i < n; i++) {
        size[i] = set->kind == CF_L1 ? fabs(z[i]) : z[i];
        weight[i] = cf_triangle_row(b, i)[i];
        if (set->kind == CF_BOX)
            state[i] = z[i] < set->lower[i] ? -1 : z[i] > set->upper[i] ? 1 : 0;
    }
    if (set->kind == CF_BOX)
        return;
    /* with a diagonal metric it is the score projection; where that fails, any guess will do */
    const int status = k->project_scores(n, size, weight, set->total, v, &lam, v + padded);
    for (ptrdiff_t i = 0; i < n; i++) {
        const int keep = status != CF_OK || v[i] > 0.0;
        state[i] = set->kind == CF_L1 ? (signed char)(keep ? (z[i] > 0.0) - (z[i] < 0.0) : 0)
                                      : (signed char)(keep ? 0 : -1);
    }
}

/* A face needs something to move: the simplex one free coordinate, the L1 ball one on support. */
static void never_empty(const face *f, signed char *state)
{
    if (f->set->kind == CF_BOX)
        return;
    ptrdiff_t top = 0;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        if (f->set->kind == CF_L1 ? state[i] != 0 : state[i] == 0)
            return;
        const double a = f->set->kind == CF_L1 ? fabs(f->z[i]) : f->z[i];
        const double best = f->set->kind == CF_L1 ? fabs(f->z[top]) : f->z[top];
        if (a > best)
            top = i;
    }
    state[top] = f->set->kind == CF_L1 ? (f->z[top] < 0.0 ? -1 : 1) : 0;
}

/* The state that coordinate i should have on the face's solution. */
static signed char wanted(const face *f, const signed char *state, ptrdiff_t i, double slack,
                          double mu_slack)
{
    const double x = f->x[i], mu = f->mu[i];
    const signed char s = state[i];
    switch (f->set->kind) {
    case CF_SIMPLEX:
        return s == 0 ? (x < -slack ? -1 : 0) : (mu < -mu_slack ? 0 : -1);
    case CF_BOX:
        if (s == 0)
            return x < f->set->lower[i] - slack ? -1 : x > f->set->upper[i] + slack ? 1 : 0;
        return s * mu > mu_slack ? 0 : s;
    default:
        if (s != 0)
            return x * s < -slack ? 0 : s;
        return fabs(mu) > f->nu + mu_slack ? (mu > 0.0 ? -1 : 1) : 0;
    }
}

typedef enum change { LOOK, MOVE_LAST, MOVE_ALL } change;

/* How many coordinates are on the wrong side; the last of them, or all, change it. */
static ptrdiff_t violators(const face *f, signed char *state, double tolerance, change what)
{
    double size = f->set->kind == CF_BOX ? 0.0 : f->set->total, mu_size = fabs(f->nu);
    for (ptrdiff_t i = 0; i < f->n; i++) {
        if (f->set->kind == CF_BOX)
            size = fmax(size, fabs(f->x[i]));
        mu_size = fmax(mu_size, fabs(f->mu[i]));
    }
    ptrdiff_t wrong = 0;
    for (ptrdiff_t i = f->n - 1; i >= 0; i--) {
        const signed char s = wanted(f, state, i, tolerance * size, tolerance * mu_size);
        if (s == state[i])
            continue;
        if (what == MOVE_ALL || (what == MOVE_LAST && wrong == 0))
            state[i] = s;
        wrong++;
    }
    return wrong;
}

/* The L1 ball's first state where the multiplier came out negative: there it cannot. */
static void all_signs(const face *f, signed char *state)
{
    for (ptrdiff_t i = 0; i < f->n; i++)
        state[i] = (signed char)((f->z[i] > 0.0) - (f->z[i] < 0.0));
}

/* Block pivoting, or one coordinate at a time (the last: Murty's rule, finite but slow);
 * CF_ENOCONVERGE: something else is needed. */
static int pivot(face *f, signed char *state, int one_by_one, ptrdiff_t turns, ptrdiff_t *faces)
{
    ptrdiff_t best = f->n + 1;
    int patience = CF_PATIENCE, restarted = 0;
    for (ptrdiff_t turn = 0; turn < turns; turn++) {
        never_empty(f, state);
        ++*faces;
        int status = face_take(f, state);
        if (status == CF_OK)
            status = face_solve(f, state);
        if (status != CF_OK)
            return status;
        if (f->set->kind == CF_L1 && f->nu < 0.0) {
            if (restarted++)
                return CF_ENOCONVERGE;
            all_signs(f, state);
            best = f->n + 1;
            continue;
        }
        const ptrdiff_t wrong =
            violators(f, state, CF_TOLERANCE, one_by_one ? MOVE_LAST : MOVE_ALL);
        if (wrong == 0)
            return CF_OK;
        if (one_by_one)
            continue;
        if (wrong < best) {
            best = wrong;
            patience = CF_PATIENCE;
        } else if (patience-- == 0) {
            return CF_ENOCONVERGE;
        }
    }
    return CF_ENOCONVERGE;
}

/* Where pivoting cycles: the path, and from the face it ends on single pivots, for what ties of
 * its events left behind. */
static int by_path(face *f, signed char *state, cf_faces_report *told)
{
    int status = face_follow_path(f, state, &told->steps);
    if (status == CF_OK || status == CF_ENOCONVERGE)
        status = pivot(f, state, 1, 10 * f->n + 100, &told->faces);
    return status;
}

int cf_faces_project(const cf_table *k, const cf_triangle *b, const cf_faces *set,
                     const double *z, double *w, signed char *state, double *scratch,
                     cf_faces_report *report)
{
    cf_faces_report own, *told = report ? report : &own;
    const ptrdiff_t n = b->n;
    *told = (cf_faces_report){0, 0};
    if (!k->all_finite(n, z))
        return CF_ENONFINITE;
    if (inside(set, n, z)) {
        for (ptrdiff_t i = 0; i < n; i++)
            state[i] = set->kind == CF_L1 ? (signed char)((z[i] > 0.0) - (z[i] < 0.0)) : 0;
        if (w != z)
            memcpy(w, z, (size_t)n * sizeof *w);
        return CF_OK;
    }
    face f;
    face_init(&f, k, b, set, z, scratch);
    int status = pivot(&f, state, 0, CF_TURNS, &told->faces);
    if (status == CF_ENOCONVERGE)
        status = by_path(&f, state, told);
    if (status != CF_OK)
        return status;
    for (ptrdiff_t i = 0; i < n; i++) { /* a last bit outside is put back */
        double x = f.x[i];
        if (set->kind == CF_BOX)
            x = fmin(fmax(x, set->lower[i]), set->upper[i]);
        else if (set->kind == CF_SIMPLEX ? x < 0.0 : x * state[i] < 0.0)
            x = 0.0;
        w[i] = x;
    }
    return CF_OK;
}
