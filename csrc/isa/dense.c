/* Kernels of cf_dense.h. Included by the unit of each instruction set. */

/* What the products of rows are with: y, themselves, or y and z at once. */
enum { ONE, OWN, TWO };
#define CF_ROWS_MOST 4

/* The products of some rows (`rows` and `with` are constants at every call) in lanes, each by the
 * same operations as alone; ahead > 0 (a constant too) asks for memory of the first so many values
 * ahead, for rows that are streamed from DRAM. */
#define CF_DOT(name, type, load, loadn)                                                          \
    CF_INLINE void name##_chunk(const type *const *x, const double *y, const double *z,          \
                                ptrdiff_t i, ptrdiff_t m, int rows, int with, int c,             \
                                vd (*a)[4], vd (*b)[4])                                          \
    {                                                                                            \
        const vd u = with == OWN ? v_zero() : v_load_some(y + i, m);                             \
        const vd v = with != TWO ? v_zero() : v_load_some(z + i, m);                             \
        for (int r = 0; r < rows; r++) {                                                         \
            const vd row = m == 8 ? load(x[r] + i) : loadn(x[r] + i, m);                         \
            a[r][c] = v_fma(row, with == OWN ? row : u, a[r][c]);                                \
            if (with == TWO)                                                                     \
                b[r][c] = v_fma(row, v, b[r][c]);                                                \
        }                                                                                        \
    }                                                                                            \
    CF_INLINE void name##_rows(ptrdiff_t n, const type *const *x, const double *y,               \
                               const double *z, ptrdiff_t ahead, int rows, int with, vd *s,      \
                               vd *t)                                                            \
    {                                                                                            \
        const ptrdiff_t line = CF_LINE / (ptrdiff_t)sizeof(type), left = n & 31, tail = n & 7;   \
        vd a[CF_ROWS_MOST][4], b[CF_ROWS_MOST][4];                                               \
        ptrdiff_t i = 0;                                                                         \
        for (int r = 0; r < rows; r++)                                                           \
            for (int c = 0; c < 4; c++)                                                          \
                a[r][c] = b[r][c] = v_zero();                                                    \
        for (; i + 32 <= n; i += 32) {                                                           \
            for (ptrdiff_t p = 0; ahead && p < 32; p += line)                                    \
                CF_PREFETCH(x[0] + i + ahead + p);                                               \
            for (int c = 0; c < 4; c++)                                                          \
                name##_chunk(x, y, z, i + 8 * c, 8, rows, with, c, a, b);                        \
        }                                                                                        \
        for (ptrdiff_t p = 0; ahead && p < left; p += line)                                      \
            CF_PREFETCH(x[0] + i + ahead + p);                                                   \
        for (int c = 0; c < 3; c++)                                                              \
            if (left >= 8 * c + 8)                                                               \
                name##_chunk(x, y, z, i + 8 * c, 8, rows, with, c, a, b);                        \
        if (tail)                                                                                \
            name##_chunk(x, y, z, n - tail, tail, rows, with, 3, a, b);                          \
        for (int r = 0; r < rows; r++) {                                                         \
            s[r] = v_add(v_add(a[r][0], a[r][1]), v_add(a[r][2], a[r][3]));                      \
            if (with == TWO)                                                                     \
                t[r] = v_add(v_add(b[r][0], b[r][1]), v_add(b[r][2], b[r][3]));                  \
        }                                                                                        \
    }                                                                                            \
    CF_INLINE double name##_with(ptrdiff_t n, const type *x, const double *y, const double *z,   \
                                 ptrdiff_t ahead, int with, double *second)                      \
    {                                                                                            \
        vd s, t;                                                                                 \
        name##_rows(n, &x, y, z, ahead, 1, with, &s, &t);                                        \
        if (with == TWO)                                                                         \
            *second = v_sum(t);                                                                  \
        return v_sum(s);                                                                         \
    }                                                                                            \
    static double name(ptrdiff_t n, const type *x, const double *y)                              \
    {                                                                                            \
        return name##_with(n, x, y, NULL, 0, ONE, NULL);                                         \
    }
CF_DOT(dot, double, v_load, v_loadn)
CF_DOT(dot_f32, float, v_load_f32, v_loadn_f32)
#undef CF_DOT

/* The largest of the lanes. */
CF_INLINE double highest(vd v)
{
    double l[8];
    v_store(l, v);
    for (int step = 4; step > 0; step /= 2)
        for (int i = 0; i < step; i++)
            l[i] = l[i] > l[i + step] ? l[i] : l[i + step];
    return l[0];
}

/* The largest of m <= 64 numbers, m > 0. */
static double peak_of(ptrdiff_t m, const double *y)
{
    const vd least = v_set1(-__builtin_inf());
    vd a = least, b = least;
    ptrdiff_t i = 0;
    for (; i + 16 <= m; i += 16) {
        a = v_max(a, v_load(y + i));
        b = v_max(b, v_load(y + i + 8));
    }
    for (; i < m; i += 8) {
        const ptrdiff_t left = m - i < 8 ? m - i : 8;
        a = v_max(a, v_blend(vm_first(left), v_loadn(y + i, left), least));
    }
    return highest(v_max(a, b));
}

static void peaks(ptrdiff_t n, const double *y, double *peak)
{
    for (ptrdiff_t i = 0; i < n; i += 64)
        peak[i / 64] = peak_of(n - i < 64 ? n - i : 64, y + i);
}

/* Whole numbers: every compiler's own vectors give the same. */
CF_INLINE int32_t whole_sums(ptrdiff_t m, const int16_t *plus, const int16_t *minus, int32_t *y)
{
    int32_t most = INT32_MIN;
    for (ptrdiff_t i = 0; i < m; i++) {
        const int32_t sum = y[i] + (plus[i] - minus[i]);
        y[i] = sum;
        most = sum > most ? sum : most;
    }
    return most;
}

static void add_whole_difference(ptrdiff_t n, const int16_t *plus, const int16_t *minus,
                                 int32_t *y, int32_t *peak)
{
    ptrdiff_t i = 0;
    for (; i + 64 <= n; i += 64) {
        for (ptrdiff_t ahead = i + 1024; ahead < i + 1088; ahead += 32) {
            CF_PREFETCH(plus + ahead);
            CF_PREFETCH(minus + ahead);
        }
        peak[i / 64] = whole_sums(64, plus + i, minus + i, y + i);
    }
    if (i < n)
        peak[i / 64] = whole_sums(n - i, plus + i, minus + i, y + i);
}

static void whole_peaks(ptrdiff_t n, const int32_t *y, int32_t *peak)
{
    for (ptrdiff_t i = 0; i < n; i += 64) {
        const ptrdiff_t end = n - i < 64 ? n : i + 64;
        int32_t most = y[i];
        for (ptrdiff_t e = i + 1; e < end; e++)
            most = y[e] > most ? y[e] : most;
        peak[i / 64] = most;
    }
}

/* Whether one of 32 is at least `least`. */
CF_INLINE int any_whole(const int32_t *y, int32_t least)
{
    int any = 0;
    for (int i = 0; i < 32; i++)
        any |= y[i] >= least;
    return any;
}

CF_INLINE int any_number(const double *y, double least)
{
    const vd bound = v_set1(least);
    vm any = v_ge(v_load(y), bound);
    for (int i = 8; i < 32; i += 8)
        any = vm_or(any, v_ge(v_load(y + i), bound));
    return vm_bits(any) != 0;
}

#define CF_AT_LEAST(name, type, any)                                                             \
    static ptrdiff_t name(ptrdiff_t n, const type *y, type least, ptrdiff_t room, ptrdiff_t *out) \
    {                                                                                            \
        ptrdiff_t found = 0, i = 0;                                                              \
        while (i < n) {                                                                          \
            while (i + 32 <= n && !any(y + i, least))                                            \
                i += 32;                                                                         \
            for (const ptrdiff_t end = n - i < 32 ? n : i + 32; i < end; i++)                    \
                if (y[i] >= least) {                                                             \
                    if (found < room)                                                            \
                        out[found] = i;                                                          \
                    found++;                                                                     \
                }                                                                                \
        }                                                                                        \
        return found;                                                                            \
    }
CF_AT_LEAST(whole_at_least, int32_t, any_whole)
CF_AT_LEAST(at_least, double, any_number)
#undef CF_AT_LEAST

/* m lanes (a constant but for the last chunk) of a step; what is not finite turns check NaN */
CF_INLINE vd step_lanes(ptrdiff_t m, vd a, vd delta, const double *w, vd rate, const double *mean,
                        double *w_new, double *mean_new, vd check)
{
    const vd old = v_load_some(mean, m), next = v_fma(a, delta, v_load_some(w, m));
    const vd middle = v_fma(rate, v_sub(next, old), old);
    v_store_some(w_new, next, m);
    v_store_some(mean_new, middle, m);
    return v_fma(middle, v_zero(), v_fma(next, v_zero(), check));
}

/* A step and the mean of all steps so far in one pass: 24n bytes read, 16n written. */
static int step_mean(ptrdiff_t n, double a, const double *delta, const double *w, double rate,
                     const double *mean, double *w_new, double *mean_new)
{
    const vd av = v_set1(a), rv = v_set1(rate);
    vd check = v_zero();
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        check = step_lanes(8, av, v_load(delta + i), w + i, rv, mean + i, w_new + i, mean_new + i,
                           check);
    if (i < n)
        check = step_lanes(n - i, av, v_loadn(delta + i, n - i), w + i, rv, mean + i, w_new + i,
                           mean_new + i, check);
    return v_sum(check) == 0.0;
}

static void axpy(ptrdiff_t n, double a, const double *x, double *y)
{
    const vd av = v_set1(a);
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        v_store(y + i, v_fma(av, v_load(x + i), v_load(y + i)));
    if (i < n)
        v_storen(y + i, v_fma(av, v_loadn(x + i, n - i), v_loadn(y + i, n - i)), n - i);
}

/* x * 0 is 0 exactly where x is finite, NaN otherwise, and NaN stays in a sum */
#define CF_FINITE(name, type, load, loadn)                                                       \
    static int name(ptrdiff_t n, const type *x)                                                  \
    {                                                                                            \
        const vd zero = v_zero();                                                                \
        vd a[4] = {zero, zero, zero, zero};                                                      \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 32 <= n; i += 32)                                                             \
            for (int c = 0; c < 4; c++)                                                          \
                a[c] = v_fma(load(x + i + 8 * c), zero, a[c]);                                   \
        for (; i + 8 <= n; i += 8)                                                               \
            a[0] = v_fma(load(x + i), zero, a[0]);                                               \
        if (i < n)                                                                               \
            a[1] = v_fma(loadn(x + i, n - i), zero, a[1]);                                       \
        return v_sum(v_add(v_add(a[0], a[1]), v_add(a[2], a[3]))) == 0.0;                        \
    }
CF_FINITE(all_finite, double, v_load, v_loadn)
CF_FINITE(all_finite_f32, float, v_load_f32, v_loadn_f32)
#undef CF_FINITE
