/* One face of a simplex, box or L1 ball: private to faces.c and faces_path.c. */
#pragma once
#include <math.h>

#include "coactive_fast/cf_faces.h"

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

/* term is NULL afterwards; it may be set before a face is taken. */
void face_init(face *f, const cf_table *k, const cf_triangle *b, const cf_faces *set,
               const double *z, double *scratch);

/* Where coordinate i sits when it is at a bound. */
double face_bound(const face *f, const signed char *state, ptrdiff_t i);

/* Takes the face of a state: gathers and factors B_SS, forms h and e. */
int face_take(face *f, const signed char *state);

/* x, mu, nu of the face taken. */
int face_solve(face *f, const signed char *state);

/* The inverse's entry (i, i), of the term too. */
static inline double face_diagonal(const face *f, ptrdiff_t i)
{
    const double b = cf_triangle_row(f->b, i)[i];
    return fabs(f->term ? b - f->term[i] * f->term[i] : b);
}

/* The sizes of what x_i was summed from: eps times that is its rounding. `load`: of face_load. */
static inline double face_size(const face *f, ptrdiff_t i, double load)
{
    return fabs(f->z[i]) + fabs(f->nu * f->e[i]) + sqrt(face_diagonal(f, i)) * load;
}

/* What mu_i changes by when the bound of i does: (B_SS^-1)_ii; 0 where i is free. Uses g. */
double face_stiffness(face *f, ptrdiff_t i);

/* sum |mu_j| sqrt(B_jj), so that |B mu|_i <= sqrt(B_ii) load */
double face_load(const face *f);

/* x = x(0) + p x1 and mu = mu(0) + p mu1 on the face taken, p the parameter of the path:
 * box and simplex: bounds widened by p; L1: nu = -p. */
int face_solve_path(face *f, const signed char *state);

/* The path from a problem whose face is known down to this one; leaves the face's state. */
int face_follow_path(face *f, signed char *state, ptrdiff_t *steps);
