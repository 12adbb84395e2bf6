/* A full metric beside the matrix that it stands for, in long double. */
#ifndef CF_METRIC_H
#define CF_METRIC_H
#include "cf_reference.h"

typedef struct metric {
    cf_full full;
    double *memory, *scratch;
    wide *a; /* the matrix itself, n x n */
} metric;

static inline metric take_metric(const cf_table *k, ptrdiff_t n, double ridge, int robust)
{
    metric m;
    m.memory = take_line(cf_full_size(n));
    m.scratch = take_doubles(cf_full_scratch(n));
    m.a = take_wide(n * n);
    for (ptrdiff_t i = 0; i < n * n; i++)
        m.a[i] = i / n == i % n ? ridge : 0.0L;
    cf_full_init(&m.full, n, ridge, robust, k, m.memory);
    return m;
}

/* c x x^T is added to the matrix alone. */
static inline void note(metric *m, const double *x, double c)
{
    const ptrdiff_t n = m->full.n;
    for (ptrdiff_t i = 0; i < n * n; i++)
        m->a[i] += (wide)c * x[i / n] * x[i % n];
}

static inline wide log_determinant(ptrdiff_t n, const wide *a)
{
    wide *l = take_wide(n * n), sum = 0.0L;
    for (ptrdiff_t i = 0; i < n; i++)
        for (ptrdiff_t j = 0; j <= i; j++) {
            wide s = a[i * n + j];
            for (ptrdiff_t c = 0; c < j; c++)
                s -= l[i * n + c] * l[j * n + c];
            l[i * n + j] = i == j ? sqrtl(s) : s / l[j * n + j];
            sum += i == j ? 2.0L * logl(l[i * n + j]) : 0.0L;
        }
    return sum;
}

#endif
