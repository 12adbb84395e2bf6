/* Kernels of cf_rank.h. Included by the unit of each instruction set. */

#define CF_SCORES(name, type, product)                                                           \
    static void name(ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const double *w, double *out)                                               \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < n; r++)                                                        \
            out[r] = product(d, rows + r * stride, w, NULL, 4096 / (ptrdiff_t)sizeof(type), 0,   \
                             NULL);                                                              \
    }                                                                                            \
    static void two_##name(ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,         \
                           const double *w, const double *u, double *out, double *second)        \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < n; r++)                                                        \
            out[r] = product(d, rows + r * stride, w, u, 4096 / (ptrdiff_t)sizeof(type), 1,      \
                             second + r);                                                        \
    }
CF_SCORES(scores, double, dot_with)
CF_SCORES(scores_f32, float, dot_f32_with)
#undef CF_SCORES

static void discounts(ptrdiff_t k, double *discount)
{
    for (ptrdiff_t i = 0; i < k; i++) /* log2 by our own log: the same bits everywhere */
        discount[i] = log_one(2.0) / log_one((double)(i + 2));
}

/* Columns outside, rows inside: out is read and written once. `chunks` and, but for the last
 * columns, `m` are constants: so many chunks of m lanes. */
#define CF_FEATURES(name, type, load, loadn)                                                     \
    CF_INLINE void name##_at(ptrdiff_t k, const type *rows, ptrdiff_t stride,                    \
                             const ptrdiff_t *ranking, double a, const double *discount,         \
                             double *out, int chunks, ptrdiff_t m)                               \
    {                                                                                            \
        vd sum[4];                                                                               \
        for (int c = 0; c < chunks; c++)                                                         \
            sum[c] = m == 8 ? v_load(out + 8 * c) : v_loadn(out + 8 * c, m);                     \
        for (ptrdiff_t i = 0; i < k; i++) {                                                      \
            const type *row = rows + ranking[i] * stride;                                        \
            const vd f = v_set1(a * discount[i]);                                                \
            for (int c = 0; c < chunks; c++)                                                     \
                sum[c] = v_fma(f, m == 8 ? load(row + 8 * c) : loadn(row + 8 * c, m), sum[c]);   \
        }                                                                                        \
        for (int c = 0; c < chunks; c++)                                                         \
            if (m == 8)                                                                          \
                v_store(out + 8 * c, sum[c]);                                                    \
            else                                                                                 \
                v_storen(out + 8 * c, sum[c], m);                                                \
    }                                                                                            \
    static void name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const ptrdiff_t *ranking, double a, const double *discount, double *out)    \
    {                                                                                            \
        ptrdiff_t j = 0;                                                                         \
        for (; j + 32 <= d; j += 32)                                                             \
            name##_at(k, rows + j, stride, ranking, a, discount, out + j, 4, 8);                 \
        for (; j + 8 <= d; j += 8)                                                               \
            name##_at(k, rows + j, stride, ranking, a, discount, out + j, 1, 8);                 \
        if (j < d)                                                                               \
            name##_at(k, rows + j, stride, ranking, a, discount, out + j, 1, d - j);             \
    }
CF_FEATURES(features, double, v_load, v_loadn)
CF_FEATURES(features_f32, float, v_load_f32, v_loadn_f32)
#undef CF_FEATURES
