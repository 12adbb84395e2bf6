/* Kernels of cf_catalogue.h. Included by the unit of each instruction set. */

/* How many rows go abreast: four accumulators each, as many as there are registers. */
#if defined(CF_LANES_V4)
#define CF_CATALOGUE_ROWS CF_ROWS_MOST
#else
#define CF_CATALOGUE_ROWS 2
#endif

/* Eight rows' products with y, or what `with` (a constant) says, each as `dot` makes it. */
#define CF_EIGHT(name, type, products)                                                           \
    CF_INLINE vd name(ptrdiff_t n, const type *const *x, const double *y, const double *z,       \
                      int with, vd *second)                                                      \
    {                                                                                            \
        const int rows = with == TWO ? CF_CATALOGUE_ROWS / 2 : CF_CATALOGUE_ROWS;                \
        vd s[8], t[8];                                                                           \
        for (int r = 0; r < 8; r += rows)                                                        \
            products(n, x + r, y, z, 0, rows, with, s + r, t + r);                               \
        if (with == TWO)                                                                         \
            *second = v_sum8(t);                                                                 \
        return v_sum8(s);                                                                        \
    }
CF_EIGHT(eight_dots, double, dot_rows)
CF_EIGHT(eight_dots_f32, float, dot_f32_rows)
#undef CF_EIGHT

/* Rows of floats against one vector or two, in floats: with rows in DRAM the conversions of the
 * exact form cost more than reading them. Each lane sums n / 16 products, so of |x| |y| at most
 * n / 16 + 3 units in the last place of a float are lost. */
#define CF_NARROW_LEAST 0x1p-148 /* of a product that is too small for a float */
#if defined(CF_LANES_V4)
#define CF_NARROW_ROWS 8
#else
#define CF_NARROW_ROWS 2
#endif

CF_INLINE vn narrow_part(const double *y, ptrdiff_t left)
{
    if (left >= 16)
        return vn_of(v_load(y), v_load(y + 8));
    return vn_of(v_loadn(y, left < 8 ? left : 8), v_loadn(y + 8, left < 8 ? 0 : left - 8));
}

/* The products of eight rows with y, or with y and z. */
CF_INLINE vd narrow_eight(ptrdiff_t n, const float *const *x, const double *y, const double *z,
                          int with, vd *second)
{
    const int both = with == TWO;
    vd s[8], t[8];
    for (int r = 0; r < 8; r += CF_NARROW_ROWS) {
        vn a[CF_NARROW_ROWS], b[CF_NARROW_ROWS];
        for (int k = 0; k < CF_NARROW_ROWS; k++)
            a[k] = b[k] = vn_zero();
        for (ptrdiff_t i = 0; i < n; i += 16) {
            const vn u = narrow_part(y + i, n - i), v = both ? narrow_part(z + i, n - i) : u;
            for (int k = 0; k < CF_NARROW_ROWS; k++) {
                const float *at = x[r + k] + i;
                const vn row = n - i >= 16 ? vn_load(at) : vn_loadn(at, n - i);
                a[k] = vn_fma(row, u, a[k]);
                if (both)
                    b[k] = vn_fma(row, v, b[k]);
            }
        }
        for (int k = 0; k < CF_NARROW_ROWS; k++) {
            s[r + k] = vn_wide(a[k]);
            if (both)
                t[r + k] = vn_wide(b[k]);
        }
    }
    if (both)
        *second = v_sum8(t);
    return v_sum8(s);
}

/* Rows that are streamed from DRAM are asked for so many rows ahead: several rows abreast upset
 * the machine's own guesses. Beyond the last row that asks for nothing. */
#define CF_ROWS_AHEAD 48

#define CF_ROWS_DOT(suffix, type, eight)                                                         \
    CF_INLINE void rows_ahead##suffix(ptrdiff_t n, const type *x, ptrdiff_t stride)              \
    {                                                                                            \
        for (int l = 0; l < 8; l++)                                                              \
            for (ptrdiff_t i = 0; i < n; i += CF_LINE / (ptrdiff_t)sizeof(type))                 \
                CF_PREFETCH(x + l * stride + i);                                                 \
    }                                                                                            \
    CF_INLINE void rows_with##suffix(ptrdiff_t n, ptrdiff_t m, const type *x, ptrdiff_t stride,  \
                                     const double *y, int with, double *out)                     \
    {                                                                                            \
        for (ptrdiff_t t = 0; t < m; t += 8) {                                                   \
            const ptrdiff_t some = m - t < 8 ? m - t : 8;                                        \
            const type *row[8];                                                                  \
            for (int l = 0; l < 8; l++)                                                          \
                row[l] = x + (t + (l < some ? l : 0)) * stride;                                  \
            rows_ahead##suffix(n, row[0] + CF_ROWS_AHEAD * stride, stride);                      \
            v_storen(out + t, eight(n, row, y, NULL, with, NULL), some);                         \
        }                                                                                        \
    }                                                                                            \
    static void rows_dot##suffix(ptrdiff_t n, ptrdiff_t m, const type *x, ptrdiff_t stride,      \
                                 const double *y, double *out)                                   \
    {                                                                                            \
        rows_with##suffix(n, m, x, stride, y, ONE, out);                                         \
    }                                                                                            \
    static void rows_square##suffix(ptrdiff_t n, ptrdiff_t m, const type *x, ptrdiff_t stride,   \
                                    double *out)                                                 \
    {                                                                                            \
        rows_with##suffix(n, m, x, stride, NULL, OWN, out);                                      \
    }
CF_ROWS_DOT(, double, eight_dots)
CF_ROWS_DOT(_f32, float, eight_dots_f32)
#undef CF_ROWS_DOT

/* --- bounds in float32 ------------------------------------------------------------------------ */

/* Errors of a sum and a product in float32, with room to spare. */
#define CF_UP 3e-7f

/* Bit i: byte i of 64 is not 0; each is 0 or 1. */
CF_INLINE uint64_t bits_of(const uint8_t *flag)
{
    uint64_t bits = 0;
    for (int g = 0; g < 8; g++) {
        uint64_t eight;
        memcpy(&eight, flag + 8 * g, 8);
        bits |= (eight * 0x0102040810204080u >> 56) << (8 * g);
    }
    return bits;
}

static ptrdiff_t catalogue_scan(ptrdiff_t n, const float *top, const float *radius,
                                const int32_t *slot, const float *table, float least,
                                int32_t *open)
{
    ptrdiff_t found = 0;
    for (ptrdiff_t b = 0; b < n; b += 64) {
        const ptrdiff_t m = n - b < 64 ? n - b : 64;
        uint8_t flag[64] = {0};
        for (ptrdiff_t i = 0; i < m; i++)
            flag[i] = !(top[b + i] + radius[b + i] * table[slot[b + i]] < least);
        for (uint64_t bits = bits_of(flag); bits; bits &= bits - 1)
            open[found++] = (int32_t)(b + __builtin_ctzll(bits));
    }
    return found;
}

static uint64_t catalogue_open(const float *m, const float *r, const int32_t *slot,
                               const float *table, float more, float least, float *top,
                               float *radius)
{
    float bound[64], most = m[0], widest = 0.0f;
    uint8_t flag[64];
    for (int i = 0; i < 64; i++) {
        bound[i] = m[i] + r[i] * table[slot[i] & (CF_STALE - 1)];
        flag[i] = !(bound[i] + r[i] * more < least);
    }
    for (int i = 0; i < 64; i++) {
        most = bound[i] > most ? bound[i] : most;
        widest = r[i] > widest ? r[i] : widest;
    }
    *top = most + CF_UP * (most < 0.0f ? -most : most);
    *radius = widest;
    return bits_of(flag);
}

/* --- a look ----------------------------------------------------------------------------------- */

/* Never below what it was, as float32. */
CF_INLINE void store_up(float *to, vd v, vd more)
{
    const vd most = v_set1(FLT_MAX);
    const vd up = v_add(v, v_fma(v_abs(v), v_set1(2e-7), v_add(more, v_set1(FLT_MIN))));
    v_store_f32(to, v_max(v_min(up, most), v_sub(v_zero(), most)));
}

/* Up to eight rows of a block, gathered. */
typedef struct eight_rows {
    int count, at[8];
    int32_t from;  /* the oldest slot whose terms are wanted */
    double r[8], slot[8];
} eight_rows;

#define CF_CATALOGUE_LOOK(name, type, eight, ahead)                                              \
    CF_INLINE vd name##_less(const cf_look *how, const type *const *row, const eight_rows *g,    \
                             double size, const vd *last)                                        \
    { /* q by the terms that came after each row's slot */                                       \
        const vd r = v_load(g->r), slot = v_load(g->slot);                                       \
        const vd off = v_set1(how->drop * size + CF_NARROW_LEAST * (double)how->n);              \
        vd q = v_mul(r, r);                                                                      \
        int32_t s = g->from + 1;                                                                 \
        while (s <= how->slot) {                                                                 \
            const ptrdiff_t at = s & (CF_CATALOGUE_TERMS - 1);                                   \
            const ptrdiff_t next = (s + 1) & (CF_CATALOGUE_TERMS - 1);                           \
            const double *term = how->terms + at * how->apart;                                   \
            const int pair = s < how->slot && !((how->idle | how->renewed) >> next & 1);         \
            const vm older = v_lt(slot, v_set1((double)s));                                      \
            vd product = v_zero(), other = v_zero();                                             \
            if (how->renewed >> at & 1)                                                          \
                q = v_fma(q, v_keep(older, v_set1(how->drift)), q);                              \
            s++;                                                                                 \
            if (how->idle >> at & 1)                                                             \
                continue;                                                                        \
            if (last)                                                                            \
                product = *last;                                                                 \
            else if (pair)                                                                       \
                product = eight(how->n, row, term, how->terms + next * how->apart, TWO,          \
                                &other);                                                         \
            else                                                                                 \
                product = eight(how->n, row, term, NULL, ONE, NULL);                             \
            product = v_max(v_sub(v_abs(product), off), v_zero());                               \
            q = v_sub(q, v_keep(older, v_mul(product, product)));                                \
            if (pair) {                                                                          \
                const vm older_yet = v_lt(slot, v_set1((double)s++));                            \
                other = v_max(v_sub(v_abs(other), off), v_zero());                               \
                q = v_sub(q, v_keep(older_yet, v_mul(other, other)));                            \
            }                                                                                    \
        }                                                                                        \
        return v_add(v_max(q, v_zero()),                                                         \
                     v_set1((how->slot - g->from + 1) * how->rest * size * size));               \
    }                                                                                            \
    CF_INLINE uint64_t name##_eight(const cf_look *how, const type *x, ptrdiff_t stride,         \
                                    eight_rows *g, double size, float *m, float *r,              \
                                    int32_t *slot)                                               \
    {                                                                                            \
        const type *row[8];                                                                      \
        float mean[8], spread[8];                                                                \
        uint64_t afresh = 0;                                                                     \
        for (int l = 0; l < 8; l++) {                                                            \
            const int i = g->at[l < g->count ? l : 0];                                           \
            row[l] = x + i * stride;                                                             \
            g->r[l] = r[i];                                                                      \
            g->slot[l] = slot[i];                                                                \
        }                                                                                        \
        /* most often in the first rounds: all were looked at in the round before */             \
        const ptrdiff_t newest = how->slot & (CF_CATALOGUE_TERMS - 1);                           \
        int young = how->slot > how->oldest && !(how->idle >> newest & 1);                       \
        for (int l = 0; l < 8; l++)                                                              \
            young &= g->slot[l] == how->slot - 1;                                                \
        const vd best = v_set1(how->best);                                                       \
        vd last = v_zero();                                                                      \
        const double *term = how->terms + newest * how->apart;                                   \
        const vd now = young ? eight(how->n, row, how->w, term, TWO, &last)                      \
                             : eight(how->n, row, how->w, NULL, ONE, NULL);                      \
        const double blur = how->blur * size + CF_NARROW_LEAST * (double)how->n;                 \
        const vd most_now = v_add(now, v_set1(blur));                                            \
        const unsigned wanted =                                                                  \
            vm_bits(v_ge(v_fma(v_load(g->r), v_set1(how->afresh), most_now), best));             \
        unsigned known = 0, reached = 0;                                                         \
        store_up(mean, now, v_set1(blur));                                                       \
        g->from = how->slot;                                                                     \
        for (int l = 0; l < g->count; l++)                                                       \
            if (g->slot[l] < CF_STALE && g->slot[l] >= how->oldest) {                            \
                known |= 1u << l;                                                                \
                g->from = g->slot[l] < g->from ? (int32_t)g->slot[l] : g->from;                  \
            }                                                                                    \
        if (known) {                                                                             \
            const vd root = v_sqrt(name##_less(how, row, g, size, young ? &last : NULL));        \
            const vd most = v_fma(root, v_set1(how->width * (1.0 + 1e-12)), most_now);           \
            reached = vm_bits(v_ge(most, best));                                                 \
            store_up(spread, root, v_zero());                                                    \
        }                                                                                        \
        for (int l = 0; l < g->count; l++) {                                                     \
            const int i = g->at[l];                                                              \
            m[i] = mean[l];                                                                      \
            if (known >> l & 1) {                                                                \
                r[i] = spread[l] < r[i] ? spread[l] : r[i];                                      \
                slot[i] = how->slot;                                                             \
            } else {                                                                             \
                slot[i] = how->slot | CF_STALE;                                                  \
            }                                                                                    \
            if (((wanted & ~known) | (known & reached)) >> l & 1)                                \
                afresh |= (uint64_t)1 << i;                                                      \
        }                                                                                        \
        return afresh;                                                                           \
    }                                                                                            \
    static uint64_t name(const cf_look *how, const type *x, ptrdiff_t stride, uint64_t which,    \
                         double size, float *m, float *r, int32_t *slot)                         \
    {                                                                                            \
        uint64_t afresh = 0;                                                                     \
        eight_rows g;                                                                            \
        while (which) {                                                                          \
            for (g.count = 0; g.count < 8 && which; which &= which - 1)                          \
                g.at[g.count++] = __builtin_ctzll(which);                                        \
            if (g.at[g.count - 1] - g.at[0] < 16) /* most rows are looked at */                  \
                ahead(how->n, x + (g.at[0] + CF_ROWS_AHEAD) * stride, stride);                   \
            afresh |= name##_eight(how, x, stride, &g, size, m, r, slot);                        \
        }                                                                                        \
        return afresh;                                                                           \
    }
CF_CATALOGUE_LOOK(catalogue_look, double, eight_dots, rows_ahead)
CF_CATALOGUE_LOOK(catalogue_look_f32, float, narrow_eight, rows_ahead_f32)
#undef CF_CATALOGUE_LOOK
