/* One face of a simplex, box or L1 ball: private to faces.c and faces_path.c. */
#ifndef CF_FACES_FACE_H
#define CF_FACES_FACE_H
#include "coactive_fast/cf_faces.h"

/* Everything a projection works with; the arrays are parts of the caller's scratch. */
typedef struct face {
    const cf_table *k;
    const cf_triangle *b;
    const cf_faces *set;
    const double *z;
    ptrdiff_t n, count;     /* order; coordinates at a bound */
    ptrdiff_t *at;          /* their indices, ascending */
    cf_cholesky factor;     /* of B_SS */
    double *square;         /* B_SS, rows of cf_pad(n) */
    double *h, *e;          /* the normal of the equality and B h */
    double *u, *t, *g;      /* right-hand sides, cf_pad(n) each */
    double *x, *mu;         /* the point; the multipliers, scattered over n, zero where free */
    double *x1, *mu1;       /* their change with the parameter of the path */
    double nu;              /* multiplier of the equality */
} face;

void face_init(face *f, const cf_table *k, const cf_triangle *b, const cf_faces *set,
               const double *z, double *scratch);

/* Where coordinate i sits when it is at a bound. */
double face_bound(const face *f, const signed char *state, ptrdiff_t i);

/* Takes the face of a state: gathers and factors B_SS, forms h and e. */
int face_take(face *f, const signed char *state);

/* x, mu, nu of the face taken. */
int face_solve(face *f, const signed char *state);

/* x = x(0) + p x1 and mu = mu(0) + p mu1 on the face taken, p the parameter of the path:
 * box and simplex: bounds widened by p; L1: nu = -p. */
int face_solve_path(face *f, const signed char *state);

/* The path from a problem whose face is known down to this one; leaves the face's state. */
int face_follow_path(face *f, signed char *state, ptrdiff_t *steps);

#endif
