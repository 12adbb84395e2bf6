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

/* Which lanes of a chunk may come next: of more utility, and behind the last one by key. */
CF_INLINE vm waiting(vd utility, vd least, vd key, vd last_key, vd index, vd last)
{
    const vm same = vm_and(v_ge(key, last_key), v_ge(last_key, key));
    return vm_and(v_gt(utility, least),
                  vm_or(v_lt(key, last_key), vm_and(same, v_gt(index, last))));
}

static ptrdiff_t next_presented(ptrdiff_t n, const double *utility, double least,
                                const double *key, ptrdiff_t last)
{
    static const double count[8] = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0};
    const vd floor = v_set1(least), last_key = v_set1(key[last]), last_at = v_set1((double)last);
    vd best = v_set1(-__builtin_inf()), at = v_set1(-1.0), index = v_load(count);
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd u = m == 8 ? v_load(utility + i) : v_loadn(utility + i, m);
        const vd k = m == 8 ? v_load(key + i) : v_loadn(key + i, m);
        vm in = vm_and(waiting(u, floor, k, last_key, index, last_at), v_gt(k, best));
        in = m == 8 ? in : vm_and(in, vm_first(m));
        best = v_blend(in, k, best);
        at = v_blend(in, index, at);
        index = v_add(index, v_set1(8.0));
    }
    double top[8], place[8];
    v_store(top, best);
    v_store(place, at);
    for (int l = 1; l < 8; l++) /* the higher key, of equal ones the lower index */
        if (top[l] > top[0] || (top[l] == top[0] && place[l] < place[0])) {
            top[0] = top[l];
            place[0] = place[l];
        }
    return (ptrdiff_t)place[0];
}

static void discounts(ptrdiff_t k, double *discount)
{
    for (ptrdiff_t i = 0; i < k; i++) /* log2 by our own log: the same bits everywhere */
        discount[i] = log_one(2.0) / log_one((double)(i + 2));
}

/* Columns outside, rows inside: out is read and written once. Row r of the sum is row plus[r],
 * or (two, a constant at every call) row plus[r] less row minus[r]. `chunks` and, but for the last
 * columns, `m` are constants: so many chunks of m lanes. */
#define CF_FEATURES(name, type, load, loadn)                                                     \
    CF_INLINE vd name##_chunk(const type *x, const type *y, ptrdiff_t m, int two)                \
    {                                                                                            \
        const vd a = m == 8 ? load(x) : loadn(x, m);                                             \
        return two ? v_sub(a, m == 8 ? load(y) : loadn(y, m)) : a;                               \
    }                                                                                            \
    CF_INLINE void name##_sum(ptrdiff_t k, const type *rows, ptrdiff_t stride,                   \
                              const ptrdiff_t *plus, const ptrdiff_t *minus, double a,           \
                              const double *weight, vd *sum, int chunks, ptrdiff_t m, int two)   \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < k; r++) {                                                      \
            const type *x = rows + plus[r] * stride, *y = two ? rows + minus[r] * stride : x;    \
            const vd f = v_set1(a * weight[r]);                                                  \
            for (int c = 0; c < chunks; c++)                                                     \
                sum[c] = v_fma(f, name##_chunk(x + 8 * c, y + 8 * c, m, two), sum[c]);           \
        }                                                                                        \
    }                                                                                            \
    CF_INLINE void name##_at(ptrdiff_t k, const type *rows, ptrdiff_t stride,                    \
                             const ptrdiff_t *plus, const ptrdiff_t *minus, double a,            \
                             const double *weight, double *out, int chunks, ptrdiff_t m,         \
                             int two)                                                            \
    {                                                                                            \
        vd sum[4];                                                                               \
        for (int c = 0; c < chunks; c++)                                                         \
            sum[c] = m == 8 ? v_load(out + 8 * c) : v_loadn(out + 8 * c, m);                     \
        name##_sum(k, rows, stride, plus, minus, a, weight, sum, chunks, m, two);                \
        for (int c = 0; c < chunks; c++)                                                         \
            if (m == 8)                                                                          \
                v_store(out + 8 * c, sum[c]);                                                    \
            else                                                                                 \
                v_storen(out + 8 * c, sum[c], m);                                                \
    }                                                                                            \
    CF_INLINE vd name##_step(ptrdiff_t k, const type *rows, ptrdiff_t stride,                    \
                             const ptrdiff_t *plus, const ptrdiff_t *minus,                      \
                             const double *weight, const double *w, vd rate, const double *mean, \
                             double *w_new, double *mean_new, vd check, int chunks, ptrdiff_t m) \
    {                                                                                            \
        vd sum[4];                                                                               \
        for (int c = 0; c < chunks; c++)                                                         \
            sum[c] = v_zero();                                                                   \
        name##_sum(k, rows, stride, plus, minus, 1.0, weight, sum, chunks, m, 1);                \
        for (int c = 0; c < chunks; c++)                                                         \
            check = step_lanes(m, v_set1(1.0), sum[c], w + 8 * c, rate, mean + 8 * c,            \
                               w_new + 8 * c, mean_new + 8 * c, check);                          \
        return check;                                                                            \
    }                                                                                            \
    static int perceptron_##name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,   \
                                 const ptrdiff_t *plus, const ptrdiff_t *minus,                  \
                                 const double *weight, const double *w, double rate,             \
                                 const double *mean, double *w_new, double *mean_new)            \
    {                                                                                            \
        const vd r = v_set1(rate);                                                               \
        vd check = v_zero();                                                                     \
        ptrdiff_t j = 0;                                                                         \
        for (; j + 32 <= d; j += 32)                                                             \
            check = name##_step(k, rows + j, stride, plus, minus, weight, w + j, r, mean + j,    \
                                w_new + j, mean_new + j, check, 4, 8);                           \
        for (; j + 8 <= d; j += 8)                                                               \
            check = name##_step(k, rows + j, stride, plus, minus, weight, w + j, r, mean + j,    \
                                w_new + j, mean_new + j, check, 1, 8);                           \
        if (j < d)                                                                               \
            check = name##_step(k, rows + j, stride, plus, minus, weight, w + j, r, mean + j,    \
                                w_new + j, mean_new + j, check, 1, d - j);                       \
        return v_sum(check) == 0.0;                                                              \
    }                                                                                            \
    CF_INLINE void name##_all(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,      \
                              const ptrdiff_t *plus, const ptrdiff_t *minus, double a,           \
                              const double *weight, double *out, int two)                        \
    {                                                                                            \
        ptrdiff_t j = 0;                                                                         \
        for (; j + 32 <= d; j += 32)                                                             \
            name##_at(k, rows + j, stride, plus, minus, a, weight, out + j, 4, 8, two);          \
        for (; j + 8 <= d; j += 8)                                                               \
            name##_at(k, rows + j, stride, plus, minus, a, weight, out + j, 1, 8, two);          \
        if (j < d)                                                                               \
            name##_at(k, rows + j, stride, plus, minus, a, weight, out + j, 1, d - j, two);      \
    }                                                                                            \
    static void name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const ptrdiff_t *ranking, double a, const double *discount, double *out)    \
    {                                                                                            \
        name##_all(k, d, rows, stride, ranking, NULL, a, discount, out, 0);                      \
    }                                                                                            \
    static void change_of_##name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,   \
                                 const ptrdiff_t *plus, const ptrdiff_t *minus,                  \
                                 const double *weight, double *out)                              \
    {                                                                                            \
        name##_all(k, d, rows, stride, plus, minus, 1.0, weight, out, 1);                        \
    }
CF_FEATURES(features, double, v_load, v_loadn)
CF_FEATURES(features_f32, float, v_load_f32, v_loadn_f32)
#undef CF_FEATURES
