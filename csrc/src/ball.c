#include "coactive_fast/cf_ball.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- the secular equation on a tridiagonal ---------------------------------------------------- */

/* L D L^T of I + lam T; 0 where a pivot is not positive */
static int factor(ptrdiff_t k, const double *a, const double *b, double lam, double *d, double *l)
{
    d[0] = 1.0 + lam * a[0];
    for (ptrdiff_t i = 1; i < k; i++) {
        if (!(d[i - 1] > 0.0))
            return 0;
        const double off = lam * b[i - 1];
        l[i] = off / d[i - 1];
        d[i] = 1.0 + lam * a[i] - off * l[i];
    }
    return d[k - 1] > 0.0;
}

static void solve(ptrdiff_t k, const double *d, const double *l, double *y)
{
    for (ptrdiff_t i = 1; i < k; i++)
        y[i] -= l[i] * y[i - 1];
    y[k - 1] /= d[k - 1];
    for (ptrdiff_t i = k - 1; i-- > 0;)
        y[i] = y[i] / d[i] - l[i + 1] * y[i + 1];
}

static double length(ptrdiff_t k, const double *y)
{
    double s = 0.0;
    for (ptrdiff_t i = 0; i < k; i++)
        s += y[i] * y[i];
    return sqrt(s);
}

/* u . M^-1 T u with u = y / ||y||: minus the slope of log ||y|| in lam */
static double slope(ptrdiff_t k, const double *a, const double *b, const double *d,
                    const double *l, const double *y, double norm, double *t)
{
    for (ptrdiff_t i = 0; i < k; i++) {
        t[i] = a[i] * y[i];
        if (i > 0)
            t[i] += b[i - 1] * y[i - 1];
        if (i + 1 < k)
            t[i] += b[i] * y[i + 1];
        t[i] /= norm;
    }
    solve(k, d, l, t);
    double s = 0.0;
    for (ptrdiff_t i = 0; i < k; i++)
        s += y[i] / norm * t[i];
    return s;
}

/* T: diagonal a[0..k), beside it b[0..k-1). y(lam) = scale (I + lam T)^-1 g, g the unit vector e1
 * where rhs is NULL, else rhs itself. Finds lam >= 0 with ||y|| = r, from the guess *lam, and
 * leaves y. work holds 3k doubles. Returns CF_OK, CF_ENOTPOSITIVE, CF_ENONFINITE. */
static int secular(ptrdiff_t k, const double *a, const double *b, double scale, const double *rhs,
                   double r, double *lam, double *y, double *work)
{
    double *d = work, *l = work + k, *t = work + 2 * k;
    double at = *lam > 0.0 ? *lam : 0.0, low = 0.0, high = INFINITY;
    for (int turn = 0; turn < 200; turn++) {
        if (!factor(k, a, b, at, d, l))
            return isfinite(at) ? CF_ENOTPOSITIVE : CF_ENONFINITE;
        for (ptrdiff_t i = 0; i < k; i++)
            y[i] = rhs ? scale * rhs[i] : i == 0 ? scale : 0.0;
        solve(k, d, l, y);
        const double norm = length(k, y);
        if (!isfinite(norm))
            return CF_ENONFINITE;
        *lam = at;
        if (fabs(norm - r) <= 2.0 * DBL_EPSILON * r)
            return CF_OK;
        if (norm > r)
            low = at;
        else
            high = at;
        /* Newton on 1/||y|| - 1/r, concave and increasing: from the left it never overshoots */
        const double s = slope(k, a, b, d, l, y, norm, t);
        double next = at + (norm / r - 1.0) / s;
        if (!(next >= low && next <= high))
            next = isfinite(high) ? 0.5 * (low + high) : low > 0.0 ? 16.0 * low : 1.0 / a[0];
        if (!isfinite(next)) /* lam is beyond the largest double */
            return CF_ENONFINITE;
        if (fabs(next - at) <= 2.0 * DBL_EPSILON * next || next == low || next == high)
            return CF_OK;
        at = next;
    }
    return CF_OK; /* as near as rounding lets it: the caller scales to ||w|| = r */
}

/* --- the two methods -------------------------------------------------------------------------- */

/* Products before the fallback. */
static ptrdiff_t most_products(ptrdiff_t n)
{
    const ptrdiff_t most = n / 4 > 64 ? n / 4 : 64;
    return most < n ? most : n;
}

ptrdiff_t cf_ball_scratch(ptrdiff_t n, int fallback)
{
    const ptrdiff_t padded = cf_pad(n), steps = most_products(n);
    return fallback ? n * padded + 9 * padded : (steps + 1) * padded + 6 * cf_pad(steps) + padded;
}

/* u -= V^T (V u), V of k rows: one pass of Gram-Schmidt */
static void orthogonalise(const cf_table *k, ptrdiff_t n, ptrdiff_t rows, const double *v,
                          double *u)
{
    const ptrdiff_t padded = cf_pad(n);
    for (ptrdiff_t i = 0; i < rows; i++)
        k->axpy(n, -k->dot(n, v + i * padded, u), v + i * padded, u);
}

/* w = V^T y, scaled to length r exactly */
static void combine(const cf_table *k, ptrdiff_t n, ptrdiff_t rows, const double *v,
                    const double *y, double r, double *sum, double *w)
{
    const ptrdiff_t padded = cf_pad(n);
    memset(sum, 0, (size_t)padded * sizeof *sum);
    for (ptrdiff_t i = 0; i < rows; i++)
        k->axpy(n, y[i], v + i * padded, sum);
    const double scale = r / sqrt(k->dot(n, sum, sum));
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = scale * sum[i];
}

/* The problem in units of `unit`, a power of two between the norm and the radius that keeps the
 * squares of both in range; lam has no unit. */
typedef struct scaled {
    const double *z;
    double unit, norm, radius; /* norm and radius in units */
} scaled;

static int ordinary(double x) { return x > 1e-140 && x < 1e140; }

static scaled scale_problem(const cf_table *k, ptrdiff_t n, const double *z, double radius)
{
    scaled p = {z, 1.0, sqrt(k->dot(n, z, z)), radius};
    double most = 0.0, sum = 0.0;
    if (ordinary(p.norm) && ordinary(radius))
        return p;
    for (ptrdiff_t i = 0; i < n; i++)
        most = fmax(most, fabs(z[i]));
    if (!(most > 0.0 && isfinite(most)))
        return p;
    int of_z, of_radius;
    frexp(most, &of_z);
    frexp(radius, &of_radius);
    const int exponent = (of_z + of_radius) / 2;
    p.unit = ldexp(1.0, exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += (z[i] / p.unit) * (z[i] / p.unit);
    p.norm = sqrt(sum);
    p.radius = radius / p.unit;
    return p;
}

/* B - term term^T */
typedef struct matrix {
    const cf_triangle *b;
    const double *term; /* NULL: none */
} matrix;

static void product(const cf_table *k, const matrix *a, const double *x, double *y)
{
    k->symv(a->b, x, y);
    if (a->term)
        k->axpy(a->b->n, -k->dot(a->b->n, a->term, x), a->term, y);
}

/* CF_ENOCONVERGE: not within the steps. */
static int by_lanczos(const cf_table *k, const matrix *m, const scaled *problem, double r,
                      double *w, double *lam, double *scratch)
{
    const ptrdiff_t n = m->b->n, padded = cf_pad(n), steps = most_products(n), span = cf_pad(steps);
    double *v = scratch, *a = v + (steps + 1) * padded, *b = a + span, *y = b + span;
    double *work = y + span, *sum = work + 3 * span;
    double largest = 0.0; /* of B on the space so far, for the end of the space */
    for (ptrdiff_t i = 0; i < padded; i++)
        v[i] = i < n ? problem->z[i] / problem->unit / problem->norm : 0.0;
    for (ptrdiff_t step = 0; step < steps; step++) {
        double *q = v + step * padded, *u = q + padded;
        product(k, m, q, u);
        a[step] = k->dot(n, q, u);
        if (!isfinite(a[step]))
            return CF_ENONFINITE;
        if (!(a[step] > 0.0))
            return CF_ENOTPOSITIVE;
        k->axpy(n, -a[step], q, u);
        if (step > 0)
            k->axpy(n, -b[step - 1], q - padded, u);
        const double before = sqrt(k->dot(n, u, u));
        orthogonalise(k, n, step + 1, v, u);
        b[step] = sqrt(k->dot(n, u, u));
        if (b[step] < 0.7 * before) { /* much was taken away: once more, and that is enough */
            orthogonalise(k, n, step + 1, v, u);
            b[step] = sqrt(k->dot(n, u, u));
        }
        largest = fmax(largest, a[step] + b[step]);
        CF_TRY(secular(step + 1, a, b, problem->norm, NULL, problem->radius, lam, y, work));
        const int end = b[step] <= 4.0 * DBL_EPSILON * largest || step + 1 == n;
        if (end || *lam * b[step] * fabs(y[step]) <= 1e-13 * problem->radius) {
            combine(k, n, step + 1, v, y, r, sum, w);
            return CF_OK;
        }
        const double scale = 1.0 / b[step];
        for (ptrdiff_t i = 0; i < padded; i++)
            u[i] *= scale;
    }
    return CF_ENOCONVERGE;
}

/* Row i of the leading i+1 rows becomes (0 ... 0, beta, a_ii) by the reflection I - 2 h h^T; h is
 * kept in the row, and the same is done to the leading i rows from both sides. beta is returned. */
static double reflect_row(const cf_table *k, double *data, ptrdiff_t ld, ptrdiff_t i, double *p)
{
    double *h = data + i * ld;
    const double norm = sqrt(k->dot(i, h, h));
    if (norm == 0.0)
        return 0.0;
    const double beta = h[i - 1] > 0.0 ? -norm : norm;
    h[i - 1] -= beta;
    const double scale = sqrt(2.0 / k->dot(i, h, h));
    for (ptrdiff_t j = 0; j < i; j++)
        h[j] *= scale; /* ||h||^2 = 2: the reflection is I - h h^T */
    const cf_triangle lead = {data, i, ld};
    k->symv(&lead, h, p);
    k->axpy(i, -0.5 * k->dot(i, h, p), h, p);
    for (ptrdiff_t r = 0; r < i; r++) { /* M - h p^T - p h^T, lower triangle */
        k->axpy(r + 1, -h[r], p, data + r * ld);
        k->axpy(r + 1, -p[r], h, data + r * ld);
    }
    return beta;
}

static int by_reflections(const cf_table *k, const matrix *m, const scaled *problem, double r,
                          double *w, double *lam, double *scratch)
{
    const ptrdiff_t n = m->b->n, ld = cf_pad(n);
    double *data = scratch, *a = data + n * ld, *b = a + ld, *p = b + ld, *g = p + ld, *y = g + ld;
    double *work = y + ld;
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(data + i * ld, cf_triangle_row(m->b, i), (size_t)(i + 1) * sizeof *data);
    for (ptrdiff_t i = 0; m->term && i < n; i++)
        k->axpy(i + 1, -m->term[i], m->term, data + i * ld);
    for (ptrdiff_t i = 0; i < n; i++)
        g[i] = problem->z[i] / problem->unit;
    for (ptrdiff_t i = n - 1; i > 0; i--) {
        b[i - 1] = reflect_row(k, data, ld, i, p);
        if (b[i - 1] != 0.0)
            k->axpy(i, -k->dot(i, data + i * ld, g), data + i * ld, g);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        a[i] = data[i * ld + i];
    CF_TRY(secular(n, a, b, 1.0, g, problem->radius, lam, y, work));
    for (ptrdiff_t i = 1; i < n; i++)
        if (b[i - 1] != 0.0)
            k->axpy(i, -k->dot(i, data + i * ld, y), data + i * ld, y);
    const double scale = r / sqrt(k->dot(n, y, y));
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = scale * y[i];
    return CF_OK;
}

int cf_ball_project(const cf_table *k, const cf_triangle *b, const double *term, const double *z,
                    double radius, double *w, double *lam, double *scratch,
                    double *fallback_scratch)
{
    const matrix inverse = {b, term};
    const scaled problem = scale_problem(k, b->n, z, radius);
    if (!isfinite(problem.norm))
        return CF_ENONFINITE;
    if (problem.norm <= problem.radius) {
        if (w != z)
            memcpy(w, z, (size_t)b->n * sizeof *w);
        *lam = 0.0;
        return CF_OK;
    }
    const double guess = *lam;
    const int status = by_lanczos(k, &inverse, &problem, radius, w, lam, scratch);
    if (status != CF_ENOCONVERGE || fallback_scratch == NULL)
        return status;
    *lam = guess;
    return by_reflections(k, &inverse, &problem, radius, w, lam, fallback_scratch);
}
