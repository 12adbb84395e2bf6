/* Kernels of cf_elementary.h. Included by the unit of each instruction set. */

#define CF_MAGIC 6755399441055744.0 /* 1.5 * 2^52: adding it rounds to an integer, kept below */
#define CF_LN2_HI 6.93147180369123816490e-01 /* 32 bits, so that k * hi is exact */
#define CF_LN2_LO 1.90821492927058770002e-10

/* y * 2^k for |k| <= 1000, where shifted holds CF_MAGIC + k */
CF_INLINE vd v_scale2(vd y, vd shifted)
{
    const vi bias = vi_set1(1023);
    return v_mul(y, vd_of(vi_shl52(vi_add(vi_of(shifted), bias))));
}

CF_INLINE vd v_exp(vd x)
{
    static const double c[] = {/* 1/13! ... 1/2! */
                               1.6059043836821613e-10, 2.08767569878681e-09, 2.505210838544172e-08,
                               2.755731922398589e-07,  2.7557319223985893e-06, 2.48015873015873e-05,
                               1.984126984126984e-04,  1.388888888888889e-03, 8.333333333333333e-03,
                               4.1666666666666664e-02, 1.6666666666666666e-01, 0.5};
    /* outside this range the result is 0 or infinite whatever x is; NaN passes through */
    const vd clamped = v_min(v_set1(720.0), v_max(v_set1(-760.0), x));
    const vd magic = v_set1(CF_MAGIC);
    const vd shifted = v_add(v_mul(clamped, v_set1(1.44269504088896338700)), magic);
    const vd k = v_sub(shifted, magic);
    vd r = v_fnma(k, v_set1(CF_LN2_HI), clamped);
    r = v_fnma(k, v_set1(CF_LN2_LO), r);
    vd p = v_set1(c[0]);
    for (int i = 1; i < 12; i++)
        p = v_fma(p, r, v_set1(c[i]));
    /* 1 + r + r^2 p; what 1 + r loses goes with the small part */
    const vd head = v_add(v_set1(1.0), r), lost = v_sub(r, v_sub(head, v_set1(1.0)));
    const vd y = v_add(head, v_fma(v_mul(r, r), p, lost));
    /* 2^k in two factors: k may leave the range of one double's exponent */
    const vd half = v_add(v_mul(k, v_set1(0.5)), magic);
    const vd rest = v_add(v_sub(k, v_sub(half, magic)), magic);
    return v_scale2(v_scale2(y, half), rest);
}

CF_INLINE vd v_log(vd x)
{
    static const double g[] = {1.479819860511658591e-01, 1.531383769920937332e-01,
                               1.818357216161805012e-01, 2.222219843214978396e-01,
                               2.857142874366239149e-01, 3.999999999940941908e-01,
                               6.666666666666735130e-01};
    const vm tiny = v_lt(x, v_set1(2.2250738585072014e-308));
    const vd normal = v_blend(tiny, v_mul(x, v_set1(18014398509481984.0)), x); /* * 2^54 */
    /* k so that the mantissa lies in [1/sqrt2, sqrt2): shift the exponent by its bits */
    const vi bits = vi_of(normal);
    const vi offset = vi_sub(bits, vi_set1(0x3FE6A09E667F3BCD)); /* 1/sqrt2 */
    const vi exponent = vi_and(offset, vi_set1((int64_t)0xFFF0000000000000u));
    const vd m = vd_of(vi_sub(bits, exponent));
    /* exponent >> 52 as a double, sign included: bias it, make it an integer in a mantissa */
    const vi biased = vi_shr52(vi_add(exponent, vi_set1((int64_t)0x4000000000000000)));
    vd k = v_sub(vd_of(vi_or(biased, vi_of(v_set1(4503599627370496.0)))),
                 v_set1(4503599627370496.0 + 1024.0));
    k = v_sub(k, v_keep(tiny, v_set1(54.0)));
    const vd f = v_sub(m, v_set1(1.0));
    const vd s = v_div(f, v_add(v_set1(2.0), f));
    const vd z = v_mul(s, s);
    vd p = v_set1(g[0]);
    for (int i = 1; i < 7; i++)
        p = v_fma(p, z, v_set1(g[i]));
    const vd series = v_mul(p, z);
    const vd square = v_mul(v_mul(v_set1(0.5), f), f);
    /* k hi - ((square - (s (square + series) + k lo)) - f) */
    const vd small = v_fma(s, v_add(square, series), v_mul(k, v_set1(CF_LN2_LO)));
    vd y = v_fma(k, v_set1(CF_LN2_HI), v_sub(f, v_sub(square, small)));
    y = v_blend(v_gt(x, v_set1(1.7976931348623157e308)), x, y);           /* inf */
    y = v_blend(v_lt(x, v_zero()), v_set1(__builtin_nan("")), y);
    const vm zero = vm_and(v_ge(x, v_zero()), v_ge(v_zero(), x));
    y = v_blend(zero, v_set1(-__builtin_inf()), y);
    return v_blend(v_not_le(x, v_set1(__builtin_inf())), x, y); /* NaN */
}

#define CF_MANY_AND_ONE(name)                                                                    \
    static void name##_many(ptrdiff_t n, const double *x, double *y)                             \
    {                                                                                            \
        ptrdiff_t i = 0;                                                                         \
        for (; i + 8 <= n; i += 8)                                                               \
            v_store(y + i, v_##name(v_load(x + i)));                                             \
        if (i < n)                                                                               \
            v_storen(y + i, v_##name(v_loadn(x + i, n - i)), n - i);                             \
    }                                                                                            \
    static double name##_one(double x)                                                           \
    {                                                                                            \
        double y[8];                                                                             \
        v_store(y, v_##name(v_set1(x)));                                                         \
        return y[0];                                                                             \
    }
CF_MANY_AND_ONE(exp)
CF_MANY_AND_ONE(log)
#undef CF_MANY_AND_ONE

static double log1p_one(double x)
{
    const double u = 1.0 + x;
    if (!(u <= DBL_MAX))
        return log_one(x);
    return log_one(u) + (x - (u - 1.0)) / u; /* the second term is what the sum lost */
}
