/* Kernels of cf_dense.h. Included by the unit of each instruction set. */

/* One row's product; ahead > 0 (a constant at every call) asks for memory so many values ahead,
 * for rows that are streamed from DRAM. */
#define CF_DOT(name, type, load, loadn)                                                          \
    CF_INLINE double name##_ahead(ptrdiff_t n, const type *x, const double *y, ptrdiff_t ahead)  \
    {                                                                                            \
        const ptrdiff_t line = CF_LINE / (ptrdiff_t)sizeof(type);                                \
        vd a0 = v_zero(), a1 = v_zero(), a2 = v_zero(), a3 = v_zero();                           \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 32 <= n; i += 32) {                                                           \
            for (ptrdiff_t b = 0; ahead && b < 32; b += line)                                    \
                CF_PREFETCH(x + i + ahead + b);                                                  \
            a0 = v_fma(load(x + i), v_load(y + i), a0);                                          \
            a1 = v_fma(load(x + i + 8), v_load(y + i + 8), a1);                                  \
            a2 = v_fma(load(x + i + 16), v_load(y + i + 16), a2);                                \
            a3 = v_fma(load(x + i + 24), v_load(y + i + 24), a3);                                \
        }                                                                                        \
        const ptrdiff_t left = n - i, tail = left & 7;                                           \
        for (ptrdiff_t b = 0; ahead && b < left; b += line)                                      \
            CF_PREFETCH(x + i + ahead + b);                                                      \
        if (left >= 8)                                                                           \
            a0 = v_fma(load(x + i), v_load(y + i), a0);                                          \
        if (left >= 16)                                                                          \
            a1 = v_fma(load(x + i + 8), v_load(y + i + 8), a1);                                  \
        if (left >= 24)                                                                          \
            a2 = v_fma(load(x + i + 16), v_load(y + i + 16), a2);                                \
        if (tail)                                                                                \
            a3 = v_fma(loadn(x + n - tail, tail), v_loadn(y + n - tail, tail), a3);              \
        return v_sum(v_add(v_add(a0, a1), v_add(a2, a3)));                                       \
    }                                                                                            \
    static double name(ptrdiff_t n, const type *x, const double *y)                              \
    {                                                                                            \
        return name##_ahead(n, x, y, 0);                                                         \
    }
CF_DOT(dot, double, v_load, v_loadn)
CF_DOT(dot_f32, float, v_load_f32, v_loadn_f32)
#undef CF_DOT

#define CF_AXPY(name, type, load, loadn)                                                         \
    static void name(ptrdiff_t n, double a, const type *x, double *y)                            \
    {                                                                                            \
        const vd av = v_set1(a);                                                                 \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 8 <= n; i += 8)                                                               \
            v_store(y + i, v_fma(av, load(x + i), v_load(y + i)));                               \
        if (i < n)                                                                               \
            v_storen(y + i, v_fma(av, loadn(x + i, n - i), v_loadn(y + i, n - i)), n - i);       \
    }
CF_AXPY(axpy, double, v_load, v_loadn)
CF_AXPY(axpy_f32, float, v_load_f32, v_loadn_f32)
#undef CF_AXPY

#define CF_SPARSE(bits)                                                                          \
    static double dot_sparse##bits(ptrdiff_t nnz, const int##bits##_t *index,                    \
                                   const double *value, const double *y)                         \
    {                                                                                            \
        double a[4] = {0.0, 0.0, 0.0, 0.0};                                                      \
        ptrdiff_t e = 0;                                                                         \
        for (; e + 4 <= nnz; e += 4)                                                             \
            for (int l = 0; l < 4; l++)                                                          \
                a[l] = s_fma(value[e + l], y[index[e + l]], a[l]);                               \
        for (int l = 0; e < nnz; e++, l++)                                                       \
            a[l] = s_fma(value[e], y[index[e]], a[l]);                                           \
        return (a[0] + a[1]) + (a[2] + a[3]);                                                    \
    }                                                                                            \
    static void axpy_sparse##bits(ptrdiff_t nnz, double a, const int##bits##_t *index,           \
                                  const double *value, double *y)                                \
    {                                                                                            \
        for (ptrdiff_t e = 0; e < nnz; e++)                                                      \
            y[index[e]] = s_fma(a, value[e], y[index[e]]);                                       \
    }
CF_SPARSE(32)
CF_SPARSE(64)
#undef CF_SPARSE

/* x * 0 is 0 exactly where x is finite, NaN otherwise, and NaN stays in a sum */
#define CF_FINITE(name, type, load, loadn)                                                       \
    static int name(ptrdiff_t n, const type *x)                                                  \
    {                                                                                            \
        const vd zero = v_zero();                                                                \
        vd a0 = zero, a1 = zero;                                                                 \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 16 <= n; i += 16) {                                                           \
            a0 = v_fma(load(x + i), zero, a0);                                                   \
            a1 = v_fma(load(x + i + 8), zero, a1);                                               \
        }                                                                                        \
        for (; i < n; i += 8)                                                                    \
            a0 = v_fma(loadn(x + i, n - i < 8 ? n - i : 8), zero, a0);                           \
        return v_sum(v_add(a0, a1)) == 0.0;                                                      \
    }
CF_FINITE(all_finite, double, v_load, v_loadn)
CF_FINITE(all_finite_f32, float, v_load_f32, v_loadn_f32)
#undef CF_FINITE
