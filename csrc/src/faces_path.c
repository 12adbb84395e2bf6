/* The path of the projection: a parameter p falls from a value where every coordinate is free to
 * the one of the problem; point and multipliers are linear in p on a face, and at each event one
 * coordinate reaches its bound or leaves it. Finite; used where block pivoting cycles. */
#include "faces_face.h"

#include <math.h>

typedef struct event {
    double p;            /* where it happens, -inf: nowhere */
    ptrdiff_t i;         /* which coordinate */
    signed char becomes; /* its new state */
} event;

/* value + p * change reaches zero while p falls from `now`: it must be falling with it */
static void offer(event *next, double now, double value, double change, ptrdiff_t i,
                  signed char becomes)
{
    if (!(change > 0.0)) /* grows as p falls */
        return;
    const double p = fmin(now, -value / change);
    if (p > next->p)
        *next = (event){p, i, becomes};
}

/* All that could happen to coordinate i below p: written as "stays >= 0" conditions. */
static void offer_all(const face *f, const signed char *state, event *next, double now,
                      ptrdiff_t i)
{
    const double x = f->x[i], x1 = f->x1[i], mu = f->mu[i], mu1 = f->mu1[i];
    const signed char s = state[i];
    switch (f->set->kind) {
    case CF_BOX:
        if (s == 0) {
            offer(next, now, x - f->set->lower[i], x1 + 1.0, i, -1);
            offer(next, now, f->set->upper[i] - x, 1.0 - x1, i, 1);
        } else { /* the multiplier points into the box */
            offer(next, now, -s * mu, -s * mu1, i, 0);
        }
        break;
    case CF_SIMPLEX:
        if (s == 0)
            offer(next, now, x, x1 + 1.0, i, -1);
        else
            offer(next, now, mu, mu1, i, 0);
        break;
    case CF_L1:
        if (s != 0) {
            offer(next, now, s * x, s * x1, i, 0);
        } else { /* |mu| <= nu = -p; a coordinate enters with the sign of -mu */
            offer(next, now, -mu, -1.0 - mu1, i, -1);
            offer(next, now, mu, -1.0 + mu1, i, 1);
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
    ptrdiff_t last = -1;
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
        event next = {-INFINITY, -1, 0};
        for (ptrdiff_t i = 0; i < f->n; i++)
            if (i != last) /* what has just changed sides cannot be the next to do so */
                offer_all(f, state, &next, p, i);
        if (next.p <= end)
            return CF_OK;
        state[next.i] = next.becomes;
        last = next.i;
        p = next.p;
    }
    return status == CF_OK ? CF_ENOCONVERGE : status;
}
