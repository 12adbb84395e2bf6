/* The path of the projection: a parameter p falls from a value where every coordinate is free to
 * the one of the problem; point and multipliers are linear in p on a face, and at each event one
 * coordinate reaches its bound or leaves it. Finite; used where block pivoting cycles. */
#include "faces_face.h"

#include <math.h>

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
    int status = face_take(f, state);
    if (status != CF_OK || f->set->kind == CF_L1)
        return status;
    status = face_solve(f, state);
    for (ptrdiff_t i = 0; i < f->n; i++) {
        const double low = f->set->kind == CF_BOX ? f->set->lower[i] : 0.0;
        *p = fmax(*p, low - f->x[i]);
        if (f->set->kind == CF_BOX)
            *p = fmax(*p, f->x[i] - f->set->upper[i]);
    }
    return status;
}

int face_follow_path(face *f, signed char *state, ptrdiff_t *steps)
{
    double p, end = 0.0;
    event last = {INFINITY, -1, 0, 0};
    int status = start(f, state, &p);
    for (*steps = 0; status == CF_OK && *steps < 40 * f->n + 100; ++*steps) {
        status = face_take(f, state);
        if (status == CF_OK)
            status = face_solve_path(f, state);
        if (status != CF_OK)
            break;
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
    return status == CF_OK ? CF_ENOCONVERGE : status;
}
