/* Kernels of cf_clicks.h. Included by the unit of each instruction set. */

CF_INLINE vd gumbel_lanes(vd score, vd u)
{
    const vd exponential = v_sub(v_zero(), v_log(u));
    return v_sub(score, v_log(exponential));
}

static void gumbel(ptrdiff_t n, const double *score, const double *u, double *key)
{
    ptrdiff_t i = 0;
    for (; i + 8 <= n; i += 8)
        v_store(key + i, gumbel_lanes(v_load(score + i), v_load(u + i)));
    if (i < n)
        v_storen(key + i, gumbel_lanes(v_loadn(score + i, n - i), v_loadn(u + i, n - i)), n - i);
}
