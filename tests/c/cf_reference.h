/* What the kernels are judged by: plain algorithms in long double, and random matrices. */
#ifndef CF_REFERENCE_H
#define CF_REFERENCE_H
#include "cf_check.h"

typedef long double wide;

static inline wide *take_wide(ptrdiff_t n) { return take_bytes((size_t)n * sizeof(wide), 0, 1); }

static inline wide wide_dot(ptrdiff_t n, const double *x, const double *y)
{
    wide s = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++)
        s += (wide)x[i] * (wide)y[i];
    return s;
}

/* sum |x y|: what the error of a dot product is measured by */
static inline double sum_abs(ptrdiff_t n, const double *x, const double *y)
{
    double s = 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        s += fabs(x[i] * y[i]);
    return s;
}

static inline double norm2(ptrdiff_t n, const double *x)
{
    return (double)sqrtl(wide_dot(n, x, x));
}

/* The error that a sum of n products in eight lanes may have, a rounding more or less. */
static inline double sum_error(ptrdiff_t n, double size)
{
    return DBL_EPSILON * ((double)n / 8.0 + 8.0) * size;
}

/* n x n, both triangles, symmetric to the bit: eigenvalues from 1 down to 2^-bits, nearly in
 * geometric steps, turned by three random reflections. Only + - * / and sqrt. */
static inline double *random_spd(ptrdiff_t n, int bits)
{
    double *a = take_doubles(n * n), *h = take_doubles(n), *p = take_doubles(n);
    if (n > 0)
        memset(a, 0, (size_t)(n * n) * sizeof *a);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double place = n > 1 ? bits * (double)i / (double)(n - 1) : 0.0;
        const int whole = (int)place;
        a[i * n + i] = ldexp(1.0 - 0.5 * (place - whole), -whole);
    }
    for (int turn = 0; turn < 3; turn++) {
        double size = 0.0, hp = 0.0;
        for (ptrdiff_t i = 0; i < n; i++) {
            h[i] = random_normal();
            size += h[i] * h[i];
        }
        for (ptrdiff_t i = 0; i < n; i++)
            h[i] *= sqrt(2.0 / size);
        for (ptrdiff_t i = 0; i < n; i++) {
            p[i] = 0.0;
            for (ptrdiff_t j = 0; j < n; j++)
                p[i] += a[i * n + j] * h[j];
            hp += h[i] * p[i];
        }
        for (ptrdiff_t i = 0; i < n; i++)
            p[i] -= 0.5 * hp * h[i];
        for (ptrdiff_t i = 0; i < n; i++)
            for (ptrdiff_t j = 0; j <= i; j++) {
                a[i * n + j] -= h[i] * p[j] + p[i] * h[j];
                a[j * n + i] = a[i * n + j];
            }
    }
    return a;
}

/* A triangle with the lower half of `full` (n x n), the rest NaN. ld 0: panels. The square layout
 * ends with its last element and begins `offset` doubles off. */
static inline cf_triangle take_triangle(const double *full, ptrdiff_t n, ptrdiff_t ld,
                                        ptrdiff_t offset)
{
    cf_triangle t = {NULL, n, ld};
    t.data = ld ? take_offset(n > 0 ? (n - 1) * ld + n : 0, offset) : take_line(cf_panels_size(n));
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(cf_triangle_row(&t, i), full + i * n, (size_t)(i + 1) * sizeof *full);
    return t;
}

/* The doubles that a triangle's memory spans. */
static inline ptrdiff_t triangle_span(const cf_triangle *t)
{
    if (t->ld == 0)
        return cf_panels_size(t->n);
    return t->n > 0 ? (t->n - 1) * t->ld + t->n : 0;
}

/* 1 if all bytes between the rows of the square layout are what take_triangle left there. */
static inline int upper_untouched(const cf_triangle *t)
{
    for (ptrdiff_t i = 0; t->ld && i < t->n; i++) {
        const unsigned char *row = (const unsigned char *)cf_triangle_row(t, i);
        const size_t end = (size_t)(i + 1 < t->n ? t->ld : t->n) * 8;
        for (size_t b = (size_t)(i + 1) * 8; b < end; b++)
            if (row[b] != 0xFF)
                return 0;
    }
    return 1;
}

/* The rows of a triangle, packed: for comparing two layouts. */
static inline double *packed(const cf_triangle *t)
{
    double *out = take_doubles(t->n * (t->n + 1) / 2), *at = out;
    for (ptrdiff_t i = 0; i < t->n; at += ++i)
        memcpy(at, cf_triangle_row(t, i), (size_t)(i + 1) * sizeof *out);
    return out;
}

/* Gaussian elimination with row pivoting: b (m right-hand sides, n x m) becomes A^-1 b; a is
 * used up. */
static inline void wide_solve(ptrdiff_t n, wide *a, ptrdiff_t m, wide *b)
{
    for (ptrdiff_t j = 0; j < n; j++) {
        ptrdiff_t p = j;
        for (ptrdiff_t i = j + 1; i < n; i++)
            p = fabsl(a[i * n + j]) > fabsl(a[p * n + j]) ? i : p;
        for (ptrdiff_t k = 0; k < n; k++) {
            const wide t = a[j * n + k];
            a[j * n + k] = a[p * n + k];
            a[p * n + k] = t;
        }
        for (ptrdiff_t k = 0; k < m; k++) {
            const wide t = b[j * m + k];
            b[j * m + k] = b[p * m + k];
            b[p * m + k] = t;
        }
        for (ptrdiff_t i = j + 1; i < n; i++) {
            const wide f = a[i * n + j] / a[j * n + j];
            for (ptrdiff_t k = j; k < n; k++)
                a[i * n + k] -= f * a[j * n + k];
            for (ptrdiff_t k = 0; k < m; k++)
                b[i * m + k] -= f * b[j * m + k];
        }
    }
    for (ptrdiff_t i = n; i-- > 0;)
        for (ptrdiff_t k = 0; k < m; k++) {
            wide s = b[i * m + k];
            for (ptrdiff_t j = i + 1; j < n; j++)
                s -= a[i * n + j] * b[j * m + k];
            b[i * m + k] = s / a[i * n + i];
        }
}

static inline wide *widened(ptrdiff_t n, const double *a)
{
    wide *w = take_wide(n);
    for (ptrdiff_t i = 0; i < n; i++)
        w[i] = a[i];
    return w;
}

static inline wide *wide_inverse(ptrdiff_t n, const double *a)
{
    wide *copy = widened(n * n, a), *inverse = take_wide(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        inverse[i] = i / n == i % n ? 1.0L : 0.0L;
    wide_solve(n, copy, n, inverse);
    return inverse;
}

/* (I + lam B)^-1 z into w, its length returned; m is room for a matrix. */
static inline wide wide_ball_at(ptrdiff_t n, const wide *b, const wide *z, wide lam, wide *m,
                                wide *w)
{
    wide sum = 0.0L;
    for (ptrdiff_t i = 0; i < n * n; i++)
        m[i] = lam * b[i] + (i / n == i % n ? 1.0L : 0.0L);
    memcpy(w, z, (size_t)n * sizeof *w);
    wide_solve(n, m, 1, w);
    for (ptrdiff_t i = 0; i < n; i++)
        sum += w[i] * w[i];
    return sqrtl(sum);
}

/* The ball projection of z, which is longer than r, in the norm of B^-1: by bisection for lam. */
static inline wide *wide_ball(ptrdiff_t n, const wide *b, const wide *z, wide r, wide *lam)
{
    wide *m = take_wide(n * n), *w = take_wide(n), low = 0.0L, high = 1.0L;
    while (wide_ball_at(n, b, z, high, m, w) > r)
        high *= 4.0L;
    for (int turn = 0; turn < 70; turn++) {
        const wide middle = 0.5L * (low + high);
        if (wide_ball_at(n, b, z, middle, m, w) > r)
            low = middle;
        else
            high = middle;
    }
    *lam = high;
    wide_ball_at(n, b, z, high, m, w);
    return w;
}

static inline double *rounded(ptrdiff_t n, const wide *a)
{
    double *d = take_doubles(n);
    for (ptrdiff_t i = 0; i < n; i++)
        d[i] = (double)a[i];
    return d;
}

/* the largest |a_i - b_i| */
static inline double distance(ptrdiff_t n, const double *a, const double *b)
{
    double most = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double d = fabs(a[i] - b[i]);
        most = d > most || isnan(d) ? d : most; /* nothing is larger than NaN */
    }
    return most;
}

#endif
