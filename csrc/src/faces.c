#include "coactive_fast/cf_faces.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "faces_face.h"

#define CF_TURNS 100      /* faces at the most before the path */
#define CF_PATIENCE 4     /* turns allowed in which the number of violators does not fall */
#define CF_TOLERANCE 1e-13
#define CF_ROUNDING (4.0 * DBL_EPSILON)

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

/* What may be wrong about a coordinate without its being on the wrong side. */
typedef struct slack {
    double x, mu;
} slack;

/* The sizes that slacks are a part of, over all coordinates. */
typedef struct sizes {
    double x, mu, load;
} sizes;

static sizes measure(const face *f)
{
    sizes s = {f->set->kind == CF_BOX ? 0.0 : f->set->total, fabs(f->nu), face_load(f)};
    for (ptrdiff_t i = 0; i < f->n; i++) {
        if (f->set->kind == CF_BOX)
            s.x = fmax(s.x, fabs(f->x[i]));
        s.mu = fmax(s.mu, fabs(f->mu[i]));
    }
    return s;
}

/* A part of the solution's size, and of the coordinate's own in a box; a multiplier that would move
 * x by no more is as good as zero. */
static slack slack_of(const face *f, const sizes *s, ptrdiff_t i)
{
    const double own = face_size(f, i, s->load), b = face_diagonal(f, i);
    const double x = CF_TOLERANCE * (f->set->kind == CF_BOX ? fmin(s->x, own) : s->x);
    const double rounding = CF_ROUNDING * (fabs(f->nu) + fabs(f->mu[i]));
    return (slack){x, fmax(fmin(CF_TOLERANCE * s->mu, x / b), rounding)};
}

/* The same with all that rounding may have left: in x, and in a multiplier what moves x so far. */
static slack rounding_of(face *f, const sizes *s, ptrdiff_t i)
{
    slack r = slack_of(f, s, i);
    r.x += CF_ROUNDING * face_size(f, i, s->load);
    r.mu = fmax(r.mu, r.x * face_stiffness(f, i));
    return r;
}

/* The state that coordinate i should have on the face's solution. */
static signed char wanted(const face *f, const signed char *state, ptrdiff_t i, slack allowed)
{
    const double x = f->x[i], mu = f->mu[i];
    const signed char s = state[i];
    switch (f->set->kind) {
    case CF_SIMPLEX:
        return s == 0 ? (x < -allowed.x ? -1 : 0) : (mu < f->nu - allowed.mu ? 0 : -1);
    case CF_BOX:
        if (s == 0)
            return x < f->set->lower[i] - allowed.x   ? -1
                   : x > f->set->upper[i] + allowed.x ? 1
                                                      : 0;
        return s * mu > allowed.mu ? 0 : s;
    default:
        if (s != 0)
            return x * s < -allowed.x ? 0 : s;
        return fabs(mu) > f->nu + allowed.mu ? (mu > 0.0 ? -1 : 1) : 0;
    }
}

typedef enum change { LOOK, MOVE_LAST, MOVE_ALL } change;

/* How many coordinates are on the wrong side; the last of them, or all, change it. */
static ptrdiff_t violators(face *f, signed char *state, int strict, change what)
{
    static const slack none = {0.0, 0.0};
    sizes s = {-1.0, 0.0, 0.0};
    ptrdiff_t wrong = 0;
    for (ptrdiff_t i = f->n - 1; i >= 0; i--) {
        signed char to = wanted(f, state, i, none);
        if (to == state[i])
            continue;
        if (s.x < 0.0) /* few are wrong, and most often none */
            s = measure(f);
        to = wanted(f, state, i, strict ? slack_of(f, &s, i) : rounding_of(f, &s, i));
        if (to == state[i])
            continue;
        if (what == MOVE_ALL || (what == MOVE_LAST && wrong == 0))
            state[i] = to;
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

/* Block pivoting, or one coordinate at a time (the last: Murty's rule, finite but slow). Where it
 * gets stuck on ties, a face is good on which all that is wrong is rounding. CF_ENOCONVERGE:
 * something else is needed. */
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
        const ptrdiff_t wrong = violators(f, state, 1, LOOK);
        const int stuck = one_by_one ? turn > f->n : wrong >= best;
        if (wrong == 0 || (stuck && violators(f, state, 0, LOOK) == 0))
            return CF_OK;
        violators(f, state, 1, one_by_one ? MOVE_LAST : MOVE_ALL);
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

/* Whatever rounding left outside of the set goes back: x becomes a point of it, or
 * CF_ENOCONVERGE where more than rounding is missing. */
static int put_back(face *f, const signed char *state)
{
    const cf_faces *set = f->set;
    double sum = 0.0, rounding = 0.0;
    for (ptrdiff_t i = 0; i < f->n; i++) {
        double x = f->x[i];
        if (set->kind == CF_BOX)
            x = x < set->lower[i] ? set->lower[i] : x > set->upper[i] ? set->upper[i] : x;
        else if (set->kind == CF_SIMPLEX ? x < 0.0 : x * state[i] < 0.0)
            x = 0.0;
        sum += fabs(x);
        f->x[i] = x;
    }
    if (!isfinite(sum))
        return CF_ENONFINITE;
    if (set->kind == CF_BOX || fabs(sum - set->total) <= CF_TOLERANCE * set->total)
        return CF_OK;
    const double load = face_load(f);
    for (ptrdiff_t i = 0; i < f->n; i++)
        rounding += CF_ROUNDING * face_size(f, i, load);
    if (!(sum > 0.0 && fabs(sum - set->total) <= rounding))
        return CF_ENOCONVERGE;
    for (ptrdiff_t i = 0; i < f->n; i++)
        f->x[i] *= set->total / sum;
    return CF_OK;
}

int cf_faces_project(const cf_table *k, const cf_triangle *b, const cf_faces *set,
                     const double *z, double *w, signed char *state, double *scratch,
                     cf_faces_report *report)
{
    return cf_faces_project_less(k, b, NULL, set, z, w, state, scratch, report);
}

int cf_faces_project_less(const cf_table *k, const cf_triangle *b, const double *term,
                          const cf_faces *set, const double *z, double *w, signed char *state,
                          double *scratch, cf_faces_report *report)
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
    f.term = term;
    int status = pivot(&f, state, 0, CF_TURNS, &told->faces);
    if (status == CF_ENOCONVERGE)
        status = by_path(&f, state, told);
    if (status == CF_OK)
        status = put_back(&f, state);
    if (status == CF_OK)
        memcpy(w, f.x, (size_t)n * sizeof *w);
    return status;
}
