/* Kernels of cf_ridge.h. Included by the unit of each instruction set. */

/* the 32 partial sums of `dot` and `diagonal_quad`, added in their order */
CF_INLINE double sum_lanes(const double *s)
{
    return v_sum(v_add(v_add(v_load(s), v_load(s + 8)), v_add(v_load(s + 16), v_load(s + 24))));
}

/* the lane of `dot` that feature i of n goes to: the incomplete chunk has the last eight */
CF_INLINE ptrdiff_t dot_lane(ptrdiff_t i, ptrdiff_t n)
{
    return i < (n & ~(ptrdiff_t)7) ? i & 31 : 24 | (i & 7);
}

/* and that of `diagonal_quad` */
CF_INLINE ptrdiff_t quad_lane(ptrdiff_t i, ptrdiff_t n)
{
    if (i < (n & ~(ptrdiff_t)31))
        return i & 31;
    return (i < (n & ~(ptrdiff_t)7) ? 0 : 8) | (i & 7);
}

/* Sums of x times (a constant) y, itself, or itself over y. */
enum { TIMES, SQUARED, SQUARED_OVER };

CF_INLINE double sparse_sum(const cf_row *x, const double *y, int what, int kind)
{
    double s[32] = {0.0};
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        const ptrdiff_t i = feature_of(x, e, kind);
        const ptrdiff_t lane = what == SQUARED_OVER ? quad_lane(i, x->n) : dot_lane(i, x->n);
        const double v = x->value[e], u = what == TIMES ? y[i] : what == SQUARED ? v : v / y[i];
        s[lane] = s_fma(u, v, s[lane]);
    }
    return sum_lanes(s);
}

static double ridge_dot(const cf_row *x, const double *y)
{
    CF_BY_KIND(x, return kind ? sparse_sum(x, y, TIMES, kind) : dot(x->n, x->value, y));
}

static double ridge_square(const cf_row *x)
{
    CF_BY_KIND(x, return kind ? sparse_sum(x, NULL, SQUARED, kind) : dot(x->n, x->value, x->value));
}

static double ridge_quad(const cf_row *x, const double *a)
{
    CF_BY_KIND(x, return kind ? sparse_sum(x, a, SQUARED_OVER, kind) : dense_quad(x->n, a, x->value));
}

CF_INLINE int sparse_step(const cf_row *x, double gain, double c, const double *a,
                          const double *w, double *a_new, double *w_new, int kind)
{
    double bad = 0.0; /* NaN from the first value on that is not finite */
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        const ptrdiff_t i = feature_of(x, e, kind);
        const double v = x->value[e], old = a[i];
        w_new[e] = s_fma(gain, v / old, w[i]);
        a_new[e] = s_fma(c * v, v, old);
        bad += 0.0 * w_new[e] + 0.0 * a_new[e];
    }
    return bad == 0.0;
}

static int ridge_step(const cf_row *x, double gain, double c, const double *a, const double *w,
                      double *a_new, double *w_new)
{
    if (x->i32)
        return sparse_step(x, gain, c, a, w, a_new, w_new, 32);
    if (x->i64)
        return sparse_step(x, gain, c, a, w, a_new, w_new, 64);
    vd check = v_zero();
    const vd g = v_set1(gain), cv = v_set1(c);
    for (ptrdiff_t i = 0; i < x->n; i += 8) {
        const vm in = vm_first(x->n - i < 8 ? x->n - i : 8);
        const vd v = v_loadm(x->value + i, in), old = v_blend(in, v_loadm(a + i, in), v_set1(1.0));
        const vd weight = v_fma(g, v_div(v, old), v_loadm(w + i, in));
        const vd next = v_fma(v_mul(cv, v), v, old);
        v_storem(w_new + i, weight, in);
        v_storem(a_new + i, next, in);
        check = v_fma(weight, v_zero(), v_fma(next, v_zero(), check));
    }
    return v_sum(check) == 0.0;
}

static void ridge_place(const cf_row *x, const double *entries, double *y)
{
    CF_BY_KIND(x, for (ptrdiff_t e = 0; e < x->nnz; e++) y[feature_of(x, e, kind)] = entries[e]);
}

static void ridge_shrink(ptrdiff_t n, const double *a, const double *z, double lam, double *w,
                         double *square, double *slope)
{
    vd s = v_zero(), t = v_zero();
    const vd shift = v_set1(lam);
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const vm in = vm_first(n - i < 8 ? n - i : 8);
        const vd ai = v_blend(in, v_loadm(a + i, in), v_set1(1.0)), sum = v_add(ai, shift);
        const vd wi = v_mul(v_loadm(z + i, in), v_div(ai, sum)), part = v_div(wi, sum);
        s = v_fma(wi, wi, s);
        t = v_fma(part, wi, t);
        if (w)
            v_storem(w + i, wi, in);
    }
    *square = v_sum(s);
    *slope = v_sum(t);
}
