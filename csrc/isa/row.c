/* Kernels of cf_row.h. Included by the unit of each instruction set. */

/* The feature of an entry. A row's kind is a constant in every instance: 0 dense, 32 and 64 the
 * width of the places. */
CF_INLINE ptrdiff_t feature_of(const cf_row *x, ptrdiff_t e, int kind)
{
    return kind == 32 ? (ptrdiff_t)x->i32[e] : kind == 64 ? (ptrdiff_t)x->i64[e] : e;
}

CF_INLINE int kind_of(const cf_row *x) { return x->i32 ? 32 : x->i64 ? 64 : 0; }

/* A statement in which `kind` is the constant that the row x has. */
#define CF_BY_KIND(x, statement)                                                                 \
    do {                                                                                         \
        if ((x)->i32) {                                                                          \
            enum { kind = 32 };                                                                  \
            statement;                                                                           \
        } else if ((x)->i64) {                                                                   \
            enum { kind = 64 };                                                                  \
            statement;                                                                           \
        } else {                                                                                 \
            enum { kind = 0 };                                                                   \
            statement;                                                                           \
        }                                                                                        \
    } while (0)

static int row_check(ptrdiff_t n, const double *x)
{
    const vd zero = v_zero();
    vd check = zero, most = zero;
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const vd v = v_load(x + i);
        check = v_fma(v, zero, check); /* 0 * x is 0 exactly where x is finite */
        most = v_max(v_abs(v), most);
    }
    if (i < n) {
        const vd v = v_loadn(x + i, n - i);
        check = v_fma(v, zero, check);
        most = v_max(v_abs(v), most);
    }
    if (v_sum(check) != 0.0)
        return CF_ROW_BAD;
    return vm_bits(v_gt(most, zero)) ? CF_ROW_GOOD : CF_ROW_NULL;
}

#define CF_PLACES(bits)                                                                          \
    static int row_places##bits(ptrdiff_t nnz, const int##bits##_t *place, ptrdiff_t n)          \
    {                                                                                            \
        int up = 1, within = 1;                                                                  \
        for (ptrdiff_t e = 1; e < nnz; e++)                                                      \
            up &= place[e - 1] < place[e];                                                       \
        if (nnz == 0 || (up && place[0] >= 0 && place[nnz - 1] < n))                             \
            return CF_ROW_GOOD;                                                                  \
        for (ptrdiff_t e = 0; e < nnz; e++)                                                      \
            within &= place[e] >= 0 && place[e] < n;                                             \
        return within ? CF_ROW_NULL : CF_ROW_BAD;                                                \
    }
CF_PLACES(32)
CF_PLACES(64)
#undef CF_PLACES

static void row_unit(ptrdiff_t nnz, const double *x, double *y)
{
    double most = 0.0, sum = 0.0;
    for (ptrdiff_t e = 0; e < nnz; e++)
        most = __builtin_fabs(x[e]) > most ? __builtin_fabs(x[e]) : most;
    for (ptrdiff_t e = 0; e < nnz; e++) {
        const double z = x[e] / most; /* no square overflows or vanishes where it counts */
        sum = s_fma(z, z, sum);
    }
    const double root = __builtin_sqrt(sum);
    for (ptrdiff_t e = 0; e < nnz; e++)
        y[e] = x[e] / most / root;
}
