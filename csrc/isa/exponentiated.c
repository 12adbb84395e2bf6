/* Kernels of cf_exponentiated.h. Included by the unit of each instruction set. */

/* sinh(x) for |x| <= 1, odd series to x^17 / 17!: the next term is below 1e-17 of the first */
CF_INLINE vd v_sinh_small(vd x)
{
    static const double c[] = {2.8114572543455206e-15, 7.647163731819816e-13, 1.6059043836821613e-10,
                               2.505210838544172e-08,  2.7557319223985893e-06,
                               1.984126984126984e-04,  8.333333333333333e-03, 1.6666666666666666e-01};
    const vd z = v_mul(x, x);
    vd p = v_set1(c[0]);
    for (int i = 1; i < 8; i++)
        p = v_fma(p, z, v_set1(c[i]));
    return v_fma(v_mul(z, x), p, x);
}

static double largest(ptrdiff_t n, const double *theta, int magnitude)
{
    double top = magnitude ? 0.0 : -__builtin_inf();
    for (ptrdiff_t i = 0; i < n; i++) {
        const double t = magnitude ? __builtin_fabs(theta[i]) : theta[i];
        top = t > top ? t : top;
    }
    return top;
}

static void exponentiated_weights(ptrdiff_t n, const double *theta, int is_signed, double *w)
{
    const double top = largest(n, theta, is_signed);
    const vd shift = v_set1(top), scale = v_set1(exp_one(-top)), half = v_set1(0.5);
    const vd one = v_set1(1.0);
    vd sum = v_zero();
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd t = v_loadn(theta + i, m);
        vd up = v_exp(v_sub(t, shift)), out = up;
        if (is_signed) {
            const vd down = v_exp(v_sub(v_sub(v_zero(), t), shift));
            const vm small = v_lt(v_abs(t), one);
            /* |t| < 1 with a huge top: scale is 0 and so is the weight */
            out = v_blend(small, v_mul(v_sinh_small(t), scale), v_mul(half, v_sub(up, down)));
            up = v_mul(half, v_add(up, down));
        }
        sum = v_add(sum, v_keep(vm_first(m), up));
        v_storen(w + i, out, m);
    }
    const vd norm = v_set1(v_sum(sum));
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        v_storen(w + i, v_div(v_loadn(w + i, m), norm), m);
    }
}
