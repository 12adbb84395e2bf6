/* Kernels of cf_top_k.h. Included by the unit of each instruction set. */

/* a before b: the better score, of equal ones the lower index */
CF_INLINE int before(cf_candidate a, cf_candidate b)
{
    return a.score > b.score || (a.score == b.score && a.index < b.index);
}

/* Down the heap whose root is the last in the order: for sorting without bad cases. */
static void sift(cf_candidate *a, ptrdiff_t i, ptrdiff_t n)
{
    const cf_candidate moving = a[i];
    for (ptrdiff_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && before(a[child], a[child + 1]);
        if (!before(moving, a[child]))
            break;
        a[i] = a[child];
    }
    a[i] = moving;
}

static void heap_sort(cf_candidate *a, ptrdiff_t n)
{
    for (ptrdiff_t i = n / 2; i-- > 0;)
        sift(a, i, n);
    while (n-- > 1) {
        const cf_candidate last = a[0];
        a[0] = a[n];
        a[n] = last;
        sift(a, 0, n);
    }
}

static void insertion_sort(cf_candidate *a, ptrdiff_t n)
{
    for (ptrdiff_t i = 1; i < n; i++) {
        const cf_candidate moving = a[i];
        ptrdiff_t j = i;
        for (; j > 0 && before(moving, a[j - 1]); j--)
            a[j] = a[j - 1];
        a[j] = moving;
    }
}

/* Hoare's split around the median of three; returns i: all of a[0..i) stand before or at the
 * pivot, all of a[i..n) at or behind it, 0 < i < n. No two candidates are equal. */
static ptrdiff_t split(cf_candidate *a, ptrdiff_t n)
{
    const cf_candidate x = a[0], y = a[n / 2], z = a[n - 1];
    const cf_candidate pivot = before(x, y) ? (before(y, z) ? y : before(x, z) ? z : x)
                                            : (before(x, z) ? x : before(y, z) ? z : y);
    ptrdiff_t i = -1, j = n;
    for (;;) {
        do
            i++;
        while (before(a[i], pivot));
        do
            j--;
        while (before(pivot, a[j]));
        if (i >= j)
            return i > 0 ? i : 1;
        const cf_candidate t = a[i];
        a[i] = a[j];
        a[j] = t;
    }
}

/* Sorts the first k places (k == n: all); `depth` bad splits are allowed before the heap. */
static void order_first(cf_candidate *a, ptrdiff_t n, ptrdiff_t k, int sorted, int depth)
{
    while (n > 16 && k > 0 && (sorted || k < n)) {
        if (depth-- == 0) {
            heap_sort(a, n);
            return;
        }
        const ptrdiff_t cut = split(a, n);
        if (k > cut) { /* recursion on one side, the loop goes on with the other */
            if (sorted)
                order_first(a, cut, cut, 1, depth);
            a += cut;
            n -= cut;
            k -= cut;
        } else {
            n = cut;
        }
    }
    if (n <= 16)
        insertion_sort(a, n);
}

static int bad_splits(ptrdiff_t n)
{
    int depth = 4;
    for (; n > 1; n >>= 1)
        depth += 2;
    return depth;
}

/* A few of few finite scores, without a branch that depends on them: the highest, the highest
 * below it, and so on, each with all the places that hold it. chunks <= 16, s filled up with -inf. */
static void few_best(const double *s, ptrdiff_t chunks, ptrdiff_t k, ptrdiff_t *out)
{
    const vd none = v_set1(-__builtin_inf());
    vd last = v_set1(__builtin_inf());
    for (ptrdiff_t i = 0; i < k;) {
        vd a = none, b = none;
        uint64_t at[2] = {0, 0};
        ptrdiff_t c = 0;
        for (; c + 2 <= chunks; c += 2) {
            const vd x = v_load(s + 8 * c), y = v_load(s + 8 * c + 8);
            a = v_blend(v_lt(x, last), v_max(a, x), a);
            b = v_blend(v_lt(y, last), v_max(b, y), b);
        }
        if (c < chunks)
            a = v_blend(v_lt(v_load(s + 8 * c), last), v_max(a, v_load(s + 8 * c)), a);
        last = v_set1(highest(v_max(a, b)));
        for (c = 0; c < chunks; c++) {
            const vd x = v_load(s + 8 * c);
            const vm same = vm_and(v_ge(x, last), v_ge(last, x));
            at[c / 8] |= (uint64_t)(vm_bits(same) & 0xFFu) << (8 * (c % 8));
        }
        for (int half = 0; half < 2; half++)
            for (; at[half] && i < k; at[half] &= at[half] - 1)
                out[i++] = 64 * half + __builtin_ctzll(at[half]);
    }
}

/* where the next chunk with a candidate (a score not <= floor, or NaN) begins: multiple of 64
 * scores at a time, then the end */
#define CF_TOP_K(name, type, load, loadn)                                                        \
    CF_INLINE ptrdiff_t name##_skip(ptrdiff_t i, ptrdiff_t n, const type *s, double floor)       \
    {                                                                                            \
        const vd f = v_set1(floor);                                                              \
        for (; i + 64 <= n; i += 64) {                                                           \
            for (int c = 0; c < 64; c += CF_LINE / (int)sizeof(type))                            \
                CF_PREFETCH(s + i + 512 + c);                                                    \
            vm any = v_not_le(load(s + i), f);                                                   \
            for (int c = 8; c < 64; c += 8)                                                      \
                any = vm_or(any, v_not_le(load(s + i + c), f));                                  \
            if (vm_bits(any))                                                                    \
                break;                                                                           \
        }                                                                                        \
        return i;                                                                                \
    }                                                                                            \
    static int name##_small(ptrdiff_t n, const type *s, ptrdiff_t k, ptrdiff_t *out)             \
    {                                                                                            \
        double best[CF_TOP_K_SMALL];                                                             \
        ptrdiff_t i = 0, have = 0;                                                               \
        while (i < n) {                                                                          \
            if (have == k && (i = name##_skip(i, n, s, best[k - 1])) == n)                       \
                break;                                                                           \
            for (const ptrdiff_t end = n - i < 64 ? n : i + 64; i < end; i++) {                  \
                const double v = (double)s[i];                                                   \
                if (have == k && v <= best[k - 1])                                               \
                    continue;                                                                    \
                if (v != v)                                                                      \
                    return CF_ENAN;                                                              \
                ptrdiff_t j = have < k ? have++ : k - 1;                                         \
                for (; j > 0 && best[j - 1] < v; j--) {                                          \
                    best[j] = best[j - 1];                                                       \
                    out[j] = out[j - 1];                                                         \
                }                                                                                \
                best[j] = v;                                                                     \
                out[j] = i;                                                                      \
            }                                                                                    \
        }                                                                                        \
        return CF_OK;                                                                            \
    }                                                                                            \
    /* 0 where a score is not finite */                                                          \
    static int name##_few(ptrdiff_t n, const type *s, ptrdiff_t k, ptrdiff_t *out)               \
    {                                                                                            \
        const vd top = v_set1(__builtin_inf()), none = v_set1(-__builtin_inf());                 \
        double all[CF_TOP_K_FEW];                                                                \
        ptrdiff_t good = 0;                                                                      \
        for (ptrdiff_t c = 0; 8 * c < n; c++) {                                                  \
            const ptrdiff_t m = n - 8 * c < 8 ? n - 8 * c : 8;                                   \
            const vd raw = m == 8 ? load(s + 8 * c) : loadn(s + 8 * c, m);                       \
            const vd v = v_blend(vm_first(m), raw, none);                                        \
            good += __builtin_popcount(vm_bits(vm_and(v_gt(v, none), v_lt(v, top))) & 0xFFu);    \
            v_store(all + 8 * c, v);                                                             \
        }                                                                                        \
        if (good == n)                                                                           \
            few_best(all, (n + 7) / 8, k, out);                                                  \
        return good == n;                                                                        \
    }                                                                                            \
    static int name(ptrdiff_t n, const type *s, ptrdiff_t k, ptrdiff_t *out,                     \
                    cf_candidate *scratch)                                                       \
    {                                                                                            \
        k = k < n ? k : n;                                                                       \
        if (k == 0) {                                                                            \
            for (ptrdiff_t i = 0; i < n; i++)                                                    \
                if (s[i] != s[i])                                                                \
                    return CF_ENAN;                                                              \
            return CF_OK;                                                                        \
        }                                                                                        \
        if (n <= CF_TOP_K_FEW && k <= CF_TOP_K_SMALL / 2 && name##_few(n, s, k, out))            \
            return CF_OK;                                                                        \
        if (k <= CF_TOP_K_SMALL)                                                                 \
            return name##_small(n, s, k, out);                                                   \
        const ptrdiff_t room = k <= n / 2 ? 2 * k : n;                                           \
        ptrdiff_t i = 0, have = 0;                                                               \
        double floor = 0.0;                                                                      \
        int full = 0; /* floor is the k-th best of what was seen */                              \
        while (i < n) {                                                                          \
            if (full && (i = name##_skip(i, n, s, floor)) == n)                                  \
                break;                                                                           \
            for (const ptrdiff_t end = n - i < 64 ? n : i + 64; i < end; i++) {                  \
                const double v = (double)s[i];                                                   \
                if (v != v)                                                                      \
                    return CF_ENAN;                                                              \
                scratch[have] = (cf_candidate){v, i};                                            \
                have += !full || v > floor;                                                      \
                if (have == room && i + 1 < n) {                                                 \
                    order_first(scratch, have, k, 0, bad_splits(have));                          \
                    have = k;                                                                    \
                    floor = scratch[0].score;                                                    \
                    for (ptrdiff_t j = 1; j < k; j++)                                            \
                        floor = scratch[j].score < floor ? scratch[j].score : floor;             \
                    full = 1;                                                                    \
                }                                                                                \
            }                                                                                    \
        }                                                                                        \
        order_first(scratch, have, k, 1, bad_splits(have));                                      \
        for (ptrdiff_t j = 0; j < k; j++)                                                        \
            out[j] = scratch[j].index;                                                           \
        return CF_OK;                                                                            \
    }
CF_TOP_K(top_k, double, v_load, v_loadn)
CF_TOP_K(top_k_f32, float, v_load_f32, v_loadn_f32)
#undef CF_TOP_K
