#include "coactive_fast/cf_faces.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CF_CORRECTIONS 60 /* each gains some digits: 53 bits where B_SS is well conditioned */
#define CF_ENOUGH 1e-13   /* of the set's size */
#define CF_TURNS 100      /* faces at the most before the path */
#define CF_PATIENCE 4     /* turns allowed in which the number of violators does not fall */
#define CF_TOLERANCE 1e-13
#define CF_ROUNDING (4.0 * DBL_EPSILON)

/* --- one face -------------------------------------------------------------------------------- */

/* Everything a projection works with; the arrays are parts of the caller's scratch. The point is
 * x = z + B g with the gradient g = nu h at the free coordinates and mu at those at a bound. */
typedef struct face {
    const cf_table *k;
    const cf_triangle *b;
    const double *term;     /* not in b yet: the metric's inverse is b - term term^T; NULL: none */
    const cf_faces *set;
    const double *z;
    ptrdiff_t n, count;     /* order; coordinates at a bound */
    ptrdiff_t *at;          /* their indices, ascending */
    cf_cholesky factor;     /* of B_SS */
    double *square;         /* B_SS, rows of cf_pad(n) */
    double *h, *e;          /* the normal of the equality, zero at a bound, and B h */
    double *u, *t, *g;      /* right-hand sides, cf_pad(n) each */
    double *x, *mu;         /* the point; the multipliers, scattered over n, zero where free */
    double *x1, *mu1;       /* their change with the parameter of the path */
    double nu, nu1;         /* multiplier of the equality, and its change */
} face;

ptrdiff_t cf_faces_scratch(ptrdiff_t n)
{
    const ptrdiff_t padded = cf_pad(n);
    return cf_panels_size(n) + padded * n + 11 * padded;
}

static void face_init(face *f, const cf_table *k, const cf_triangle *b, const double *term,
                      const cf_faces *set, const double *z, double *scratch)
{
    const ptrdiff_t padded = cf_pad(b->n);
    double *next = scratch;
    *f = (face){.k = k, .b = b, .term = term, .set = set, .z = z, .n = b->n};
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

static signed char sign_of(double x) { return (signed char)((x > 0.0) - (x < 0.0)); }

/* The inverse's entry (i, i), of the term too. */
static double face_diagonal(const face *f, ptrdiff_t i)
{
    const double b = cf_triangle_row(f->b, i)[i];
    return fabs(f->term ? b - f->term[i] * f->term[i] : b);
}

/* The sizes of what x_i was summed from: eps times that is its rounding. `load`: of face_load. */
static double face_size(const face *f, ptrdiff_t i, double load)
{
    return fabs(f->z[i]) + fabs(f->nu * f->e[i]) + sqrt(face_diagonal(f, i)) * load;
}

/* sum |mu_j| sqrt(B_jj), so that |B mu|_i <= sqrt(B_ii) load */
static double face_load(const face *f)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < f->n; i++)
        sum += f->mu[i] != 0.0 ? fabs(f->mu[i]) * sqrt(face_diagonal(f, i)) : 0.0;
    return sum;
}

/* The bound that coordinate i is at. */
static double face_bound(const face *f, const signed char *state, ptrdiff_t i)
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

/* The face of a state: gathers and factors B_SS, forms h and e. */
static int face_factor(face *f, const signed char *state)
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
    f->k->cholesky_forward(&f->factor, 0, g, g);
}

/* What mu_i changes by when the bound of i does: (B_SS^-1)_ii; 0 where i is free. Uses g. */
static double face_stiffness(face *f, ptrdiff_t i)
{
    memset(f->g, 0, (size_t)cf_pad(f->count) * sizeof *f->g);
    for (ptrdiff_t r = 0; r < f->count; r++)
        f->g[r] = f->at[r] == i;
    f->k->cholesky_forward(&f->factor, 0, f->g, f->g);
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
        const double missing = equality_goal(f) - f->k->dot(f->n, f->h, f->x);
        CF_TRY(equality(f, missing, f->g, &nu));
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

/* x, mu, nu of the face that was factored. */
static int face_solve(face *f, const signed char *state)
{
    const size_t bytes = (size_t)f->n * sizeof *f->x;
    memcpy(f->x, f->z, bytes);
    memset(f->mu, 0, bytes);
    f->nu = 0.0;
    CF_TRY(correct(f, state));
    double left = INFINITY, now = INFINITY;
    /* the second time takes away what rounding left, and where z is far larger than the set or the
     * coordinates differ much, a few more */
    for (int turn = 0; turn < CF_CORRECTIONS && now > CF_ENOUGH; turn++) {
        CF_TRY(correct(f, state));
        now = residual(f);
        if (!(now < left))
            break;
        left = now;
    }
    for (ptrdiff_t r = 0; r < f->count; r++) /* what is at a bound is there exactly */
        f->x[f->at[r]] = face_bound(f, state, f->at[r]);
    return CF_OK;
}

/* x = x(0) + p x1 and mu = mu(0) + p mu1 on that face, p the parameter of the path:
 * box and simplex: bounds widened by p; L1: nu = -p. */
static int face_solve_path(face *f, const signed char *state)
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
    CF_TRY(face_solve(f, state));
    for (ptrdiff_t r = 0; r < f->count; r++)
        f->u[f->at[r]] = state[f->at[r]];
    forward(f, f->u, f->g);
    f->nu1 = 0.0;
    if (f->set->kind == CF_SIMPLEX) /* the free ones take what the bounds give */
        CF_TRY(equality(f, (double)f->count, f->g, &f->nu1));
    point(f, f->g, f->nu1, NULL, f->mu1, f->x1);
    return CF_OK;
}

/* --- the path -------------------------------------------------------------------------------- */

/* The path of the projection: a parameter p falls from a value where every coordinate is free to
 * the one of the problem; point and multipliers are linear in p on a face, and at each event one
 * coordinate reaches its bound or leaves it. Finite; used where block pivoting cycles. */

typedef struct event {
    double p;            /* where it happens, -inf: nowhere */
    ptrdiff_t i;         /* which coordinate */
    signed char becomes; /* its new state */
    signed char was;     /* the one before */
} event;

/* The search for the next event: what has just happened may not be undone at once. */
typedef struct search {
    event next;
    const event *last;
    double now;
} search;

/* value + p * change reaches zero while p falls from `now`: it must be falling with it */
static void offer(search *t, double value, double change, ptrdiff_t i, signed char was,
                  signed char becomes)
{
    if (!(change > 0.0)) /* grows as p falls */
        return;
    if (i == t->last->i && becomes == t->last->was)
        return;
    const double p = fmin(t->now, -value / change);
    if (p > t->next.p)
        t->next = (event){p, i, becomes, was};
}

/* All that could happen to coordinate i below p: written as "stays >= 0" conditions. */
static void offer_all(const face *f, const signed char *state, search *t, ptrdiff_t i)
{
    const double x = f->x[i], x1 = f->x1[i], mu = f->mu[i], mu1 = f->mu1[i];
    const signed char s = state[i];
    switch (f->set->kind) {
    case CF_BOX:
        if (s == 0) {
            offer(t, x - f->set->lower[i], x1 + 1.0, i, s, -1);
            offer(t, f->set->upper[i] - x, 1.0 - x1, i, s, 1);
        } else { /* the multiplier points into the box */
            offer(t, -s * mu, -s * mu1, i, s, 0);
        }
        break;
    case CF_SIMPLEX:
        if (s == 0)
            offer(t, x, x1 + 1.0, i, s, -1);
        else
            offer(t, mu - f->nu, mu1 - f->nu1, i, s, 0);
        break;
    case CF_L1:
        if (s != 0) {
            offer(t, s * x, s * x1, i, s, 0);
        } else { /* |mu| <= nu = -p; a coordinate enters with the sign of -mu */
            offer(t, -mu, -1.0 - mu1, i, s, -1);
            offer(t, mu, -1.0 + mu1, i, s, 1);
        }
        break;
    }
}

/* Where every coordinate is free: p of it, and the state. */
static int start(face *f, signed char *state, double *p)
{
    *p = 0.0;
    for (ptrdiff_t i = 0; i < f->n; i++)
        state[i] = f->set->kind == CF_L1 ? (f->z[i] > 0.0 ? 1 : -1) : 0;
    CF_TRY(face_factor(f, state));
    if (f->set->kind == CF_L1)
        return CF_OK;
    CF_TRY(face_solve(f, state));
    for (ptrdiff_t i = 0; i < f->n; i++) {
        const double low = f->set->kind == CF_BOX ? f->set->lower[i] : 0.0;
        *p = fmax(*p, low - f->x[i]);
        if (f->set->kind == CF_BOX)
            *p = fmax(*p, f->x[i] - f->set->upper[i]);
    }
    return CF_OK;
}

/* The path from a problem whose face is known down to this one; leaves the face's state. */
static int face_follow_path(face *f, signed char *state)
{
    double p, end = 0.0;
    event last = {INFINITY, -1, 0, 0};
    CF_TRY(start(f, state, &p));
    for (ptrdiff_t step = 0; step < 40 * f->n + 100; step++) {
        CF_TRY(face_factor(f, state));
        CF_TRY(face_solve_path(f, state));
        if (f->set->kind == CF_L1) { /* -h . x = radius ends it */
            const double size = -f->k->dot(f->n, f->h, f->x);
            const double change = -f->k->dot(f->n, f->h, f->x1);
            end = change > 0.0 ? (f->set->total - size) / change : -INFINITY;
        }
        search t = {{-INFINITY, -1, 0, 0}, &last, p};
        for (ptrdiff_t i = 0; i < f->n; i++)
            offer_all(f, state, &t, i);
        if (t.next.p <= end)
            return CF_OK;
        last = t.next;
        state[last.i] = last.becomes;
        p = last.p;
    }
    return CF_ENOCONVERGE;
}

/* --- pivoting -------------------------------------------------------------------------------- */

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
        state[i] = set->kind == CF_L1 ? (keep ? sign_of(z[i]) : 0) : (keep ? 0 : -1);
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

/* Block pivoting, or one coordinate at a time (the last: Murty's rule, finite but slow). Where it
 * gets stuck on ties, a face is good on which all that is wrong is rounding. CF_ENOCONVERGE:
 * something else is needed. */
static int pivot(face *f, signed char *state, int one_by_one, ptrdiff_t turns)
{
    ptrdiff_t best = f->n + 1;
    int patience = CF_PATIENCE, restarted = 0;
    for (ptrdiff_t turn = 0; turn < turns; turn++) {
        never_empty(f, state);
        CF_TRY(face_factor(f, state));
        CF_TRY(face_solve(f, state));
        if (f->set->kind == CF_L1 && f->nu < 0.0) {
            if (restarted++)
                return CF_ENOCONVERGE;
            for (ptrdiff_t i = 0; i < f->n; i++) /* a first state where it cannot come out so */
                state[i] = sign_of(f->z[i]);
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

int cf_faces_project(const cf_table *k, const cf_triangle *b, const double *term,
                     const cf_faces *set, const double *z, double *w, signed char *state,
                     double *scratch)
{
    const ptrdiff_t n = b->n;
    if (!k->all_finite(n, z))
        return CF_ENONFINITE;
    if (inside(set, n, z)) {
        for (ptrdiff_t i = 0; i < n; i++)
            state[i] = set->kind == CF_L1 ? sign_of(z[i]) : 0;
        if (w != z)
            memcpy(w, z, (size_t)n * sizeof *w);
        return CF_OK;
    }
    face f;
    face_init(&f, k, b, term, set, z, scratch);
    int status = pivot(&f, state, 0, CF_TURNS);
    if (status == CF_ENOCONVERGE) { /* it cycles: the path, and from the face that it ends on */
        status = face_follow_path(&f, state); /* single pivots, for what ties left behind */
        if (status == CF_OK || status == CF_ENOCONVERGE)
            status = pivot(&f, state, 1, 10 * n + 100);
    }
    CF_TRY(status);
    CF_TRY(put_back(&f, state));
    memcpy(w, f.x, (size_t)n * sizeof *w);
    return CF_OK;
}
