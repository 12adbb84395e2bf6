/* Kernels of cf_diagonal.h. Included by the unit of each instruction set. */

/* sum + x^2 / a in eight lanes; lanes without an x have a = 1 there, never 0/0 */
CF_INLINE vd quad_term(vd x, vd a, vd sum) { return v_fma(v_div(x, a), x, sum); }

CF_INLINE double dense_quad(ptrdiff_t n, const double *a, const double *x)
{
    vd s[4] = {v_zero(), v_zero(), v_zero(), v_zero()};
    ptrdiff_t i = 0;
    for (; i + 32 <= n; i += 32)
        for (int c = 0; c < 4; c++)
            s[c] = quad_term(v_load(x + i + 8 * c), v_load(a + i + 8 * c), s[c]);
    for (; i + 8 <= n; i += 8)
        s[0] = quad_term(v_load(x + i), v_load(a + i), s[0]);
    if (i < n) {
        const vm in = vm_first(n - i);
        const vd ai = v_blend(in, v_loadm(a + i, in), v_set1(1.0));
        s[1] = quad_term(v_loadm(x + i, in), ai, s[1]);
    }
    return v_sum(v_add(v_add(s[0], s[1]), v_add(s[2], s[3])));
}

CF_INLINE double sparse_quad(const cf_row *x, const double *a, int kind)
{
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    for (ptrdiff_t e = 0; e < x->nnz; e++)
        s[e & 3] = s_fma(x->value[e] / a[feature_of(x, e, kind)], x->value[e], s[e & 3]);
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static double diagonal_quad(const cf_row *x, const double *a)
{
    CF_BY_KIND(x, return kind ? sparse_quad(x, a, kind) : dense_quad(x->n, a, x->value));
}

CF_INLINE void sparse_update(const cf_row *x, double c, double *a, int kind)
{
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        double *ai = a + feature_of(x, e, kind);
        *ai = s_fma(c * x->value[e], x->value[e], *ai);
    }
}

static void diagonal_update(const cf_row *x, double c, double *a)
{
    const vd cv = v_set1(c);
    if (x->i32 || x->i64)
        CF_BY_KIND(x, sparse_update(x, c, a, kind));
    for (ptrdiff_t i = 0; !x->i32 && !x->i64 && i < x->n; i += 8) {
        const vm in = vm_first(x->n - i < 8 ? x->n - i : 8);
        const vd xi = v_loadm(x->value + i, in);
        v_storem(a + i, v_fma(v_mul(cv, xi), xi, v_loadm(a + i, in)), in);
    }
}

static void diagonal_solve(ptrdiff_t n, const double *a, const double *x, double *y)
{
    for (ptrdiff_t i = 0; i < n; i++)
        y[i] = x[i] / a[i];
}
