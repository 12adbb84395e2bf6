/* Kernels of cf_rank.h. Included by the unit of each instruction set. */

#define CF_SCORES(name, type, product)                                                           \
    static void name(ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const double *w, double *out)                                               \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < n; r++)                                                        \
            out[r] = product(d, rows + r * stride, w, NULL, 4096 / (ptrdiff_t)sizeof(type), ONE, \
                             NULL);                                                              \
    }                                                                                            \
    static void two_##name(ptrdiff_t n, ptrdiff_t d, const type *rows, ptrdiff_t stride,         \
                           const double *w, const double *u, double *out, double *second)        \
    {                                                                                            \
        for (ptrdiff_t r = 0; r < n; r++)                                                        \
            out[r] = product(d, rows + r * stride, w, u, 4096 / (ptrdiff_t)sizeof(type), TWO,    \
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

/* What sums of rows are for: they go into `out`, or (w not NULL) make a learner's step. */
typedef struct row_sums {
    double *out;
    const double *w, *mean;
    double *w_new, *mean_new;
    vd rate, check; /* what is not finite turns check NaN */
} row_sums;

/* Columns outside, rows inside: out is read and written once. Row r of the sum is row plus[r],
 * or (two, a constant at every call) row plus[r] less row minus[r]. `chunks` and, but for the last
 * columns, `m` are constants: so many chunks of m lanes from column j on. */
#define CF_FEATURES(name, type, load, loadn)                                                     \
    CF_INLINE vd name##_chunk(const type *x, const type *y, ptrdiff_t m, int two)                \
    {                                                                                            \
        const vd a = m == 8 ? load(x) : loadn(x, m);                                             \
        return two ? v_sub(a, m == 8 ? load(y) : loadn(y, m)) : a;                               \
    }                                                                                            \
    CF_INLINE void name##_at(ptrdiff_t k, const type *rows, ptrdiff_t stride,                    \
                             const ptrdiff_t *plus, const ptrdiff_t *minus, double a,            \
                             const double *weight, row_sums *to, ptrdiff_t j, int chunks,        \
                             ptrdiff_t m, int two)                                               \
    {                                                                                            \
        vd sum[4];                                                                               \
        for (int c = 0; c < chunks; c++)                                                         \
            sum[c] = to->w ? v_zero() : v_load_some(to->out + j + 8 * c, m);                     \
        for (ptrdiff_t r = 0; r < k; r++) {                                                      \
            const type *x = rows + plus[r] * stride, *y = two ? rows + minus[r] * stride : x;    \
            const vd f = v_set1(a * weight[r]);                                                  \
            for (int c = 0; c < chunks; c++)                                                     \
                sum[c] = v_fma(f, name##_chunk(x + j + 8 * c, y + j + 8 * c, m, two), sum[c]);   \
        }                                                                                        \
        for (ptrdiff_t c = 0, i = j; c < chunks; c++, i += 8)                                    \
            if (to->w)                                                                           \
                to->check = step_lanes(m, v_set1(1.0), sum[c], to->w + i, to->rate, to->mean + i,\
                                       to->w_new + i, to->mean_new + i, to->check);              \
            else                                                                                 \
                v_store_some(to->out + i, sum[c], m);                                            \
    }                                                                                            \
    CF_INLINE int name##_all(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,       \
                             const ptrdiff_t *plus, const ptrdiff_t *minus, double a,            \
                             const double *weight, row_sums to, int two)                         \
    {                                                                                            \
        ptrdiff_t j = 0;                                                                         \
        for (; j + 32 <= d; j += 32)                                                             \
            name##_at(k, rows, stride, plus, minus, a, weight, &to, j, 4, 8, two);               \
        for (; j + 8 <= d; j += 8)                                                               \
            name##_at(k, rows, stride, plus, minus, a, weight, &to, j, 1, 8, two);               \
        if (j < d)                                                                               \
            name##_at(k, rows, stride, plus, minus, a, weight, &to, j, 1, d - j, two);           \
        return v_sum(to.check) == 0.0;                                                           \
    }                                                                                            \
    static int perceptron_##name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,   \
                                 const ptrdiff_t *plus, const ptrdiff_t *minus,                  \
                                 const double *weight, const double *w, double rate,             \
                                 const double *mean, double *w_new, double *mean_new)            \
    {                                                                                            \
        const row_sums to = {NULL, w, mean, w_new, mean_new, v_set1(rate), v_zero()};            \
        return name##_all(k, d, rows, stride, plus, minus, 1.0, weight, to, 1);                  \
    }                                                                                            \
    static void name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,               \
                     const ptrdiff_t *ranking, double a, const double *discount, double *out)    \
    {                                                                                            \
        const row_sums to = {.out = out, .check = v_zero()};                                     \
        name##_all(k, d, rows, stride, ranking, NULL, a, discount, to, 0);                       \
    }                                                                                            \
    static void change_of_##name(ptrdiff_t k, ptrdiff_t d, const type *rows, ptrdiff_t stride,   \
                                 const ptrdiff_t *plus, const ptrdiff_t *minus,                  \
                                 const double *weight, double *out)                              \
    {                                                                                            \
        const row_sums to = {.out = out, .check = v_zero()};                                     \
        name##_all(k, d, rows, stride, plus, minus, 1.0, weight, to, 1);                         \
    }
CF_FEATURES(features, double, v_load, v_loadn)
CF_FEATURES(features_f32, float, v_load_f32, v_loadn_f32)
#undef CF_FEATURES
