/* Kernels of cf_clicks.h. Included by the unit of each instruction set. */

static void gumbel(ptrdiff_t n, const double *score, const double *u, double *key)
{
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd exponential = v_sub(v_zero(), v_log(v_loadn(u + i, m)));
        v_storen(key + i, v_sub(v_loadn(score + i, m), v_log(exponential)), m);
    }
}
