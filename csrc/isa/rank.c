/* Kernels of cf_rank.h. Included by the unit of each instruction set. */

#define CF_SCORES(name, type, product)                                                           \
    static void name(ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const double *w, double *out)                                               \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < n; r++)                                                        \
            out[r] = product(d, rows + r * stride, w, 4096 / (ptrdiff_t)sizeof(type));           \
    }
CF_SCORES(scores, double, dot_ahead)
CF_SCORES(scores_f32, float, dot_f32_ahead)
#undef CF_SCORES

static void discounts(ptrdiff_t k, double *discount)
{
    for (ptrdiff_t i = 0; i < k; i++) /* log2 by our own log: the same bits everywhere */
        discount[i] = log_one(2.0) / log_one((double)(i + 2));
}

static void features(ptrdiff_t k, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                     const ptrdiff_t *ranking, double a, const double *discount, double *out)
{
    for (ptrdiff_t i = 0; i < k; i++)
        axpy(d, a * discount[i], rows + ranking[i] * stride, out);
}

static void features_f32(ptrdiff_t k, ptrdiff_t d, const float *rows, ptrdiff_t stride,
                         const ptrdiff_t *ranking, double a, const double *discount, double *out)
{
    for (ptrdiff_t i = 0; i < k; i++)
        axpy_f32(d, a * discount[i], rows + ranking[i] * stride, out);
}
