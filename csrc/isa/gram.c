/* Kernels of cf_gram.h. Included by the unit of each instruction set. */

static double squared_distance(ptrdiff_t n, const double *x, const double *y)
{
    vd s[2] = {v_zero(), v_zero()};
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int c = 0; c < 2; c++) {
            const vd d = v_sub(v_load(x + i + 8 * c), v_load(y + i + 8 * c));
            s[c] = v_fma(d, d, s[c]);
        }
    for (; i < n; i += 8) {
        const vm in = vm_first(n - i < 8 ? n - i : 8);
        const vd d = v_sub(v_loadm(x + i, in), v_loadm(y + i, in));
        s[0] = v_fma(d, d, s[0]);
    }
    return v_sum(v_add(s[0], s[1]));
}

static void gram_rbf(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                     const double *x, double gamma, double *out)
{
    for (ptrdiff_t r = 0; r < n; r++)
        out[r] = -gamma * squared_distance(d, rows + r * stride, x);
    exp_many(n, out, out);
}

static double whole_power(double base, unsigned degree)
{
    double result = 1.0;
    for (; degree; degree >>= 1, base *= base)
        if (degree & 1u)
            result *= base;
    return result;
}

static void poly_of_dots(ptrdiff_t n, double gamma, double coef0, double degree, double *out)
{
    const int whole = degree >= 0.0 && degree <= 1024.0 && degree == (double)(unsigned)degree;
    for (ptrdiff_t r = 0; r < n; r++) {
        const double base = s_fma(gamma, out[r], coef0);
        out[r] = whole ? whole_power(base, (unsigned)degree) : base;
    }
    if (whole)
        return;
    log_many(n, out, out);
    for (ptrdiff_t r = 0; r < n; r++)
        out[r] *= degree;
    exp_many(n, out, out);
}

static void gram_poly(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                      const double *x, double gamma, double coef0, double degree, double *out)
{
    for (ptrdiff_t r = 0; r < n; r++)
        out[r] = dot(d, rows + r * stride, x);
    poly_of_dots(n, gamma, coef0, degree, out);
}

static void rbf_of_dots(ptrdiff_t n, const double *square, double own, double gamma, double *out)
{
    for (ptrdiff_t r = 0; r < n; r++) {
        const double distance2 = s_fma(-2.0, out[r], own + square[r]);
        out[r] = distance2 > 0.0 ? -gamma * distance2 : distance2 <= 0.0 ? 0.0 : distance2;
    }
    exp_many(n, out, out);
}
