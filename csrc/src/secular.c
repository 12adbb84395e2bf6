#include "secular.h"

#include <float.h>
#include <math.h>

#include "coactive_fast/cf_status.h"

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

int cf_secular(ptrdiff_t k, const double *a, const double *b, double scale, const double *rhs,
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
