/* Kernels of cf_packed.h. Included by the unit of each instruction set. */

/* A column is read in whole lanes but for its last incomplete one: its neighbour is not x's. */
CF_INLINE vd packed_column(const double *u, const double *x, ptrdiff_t j)
{
    vd sum = v_zero();
    ptrdiff_t i = 0;
    for (; i + 8 <= j; i += 8)
        sum = v_fma(v_load(u + i), v_load(x + i), sum);
    return i < j ? v_fma(v_loadn(u + i, j - i), v_load(x + i), sum) : sum;
}

CF_INLINE double packed_look_n(ptrdiff_t n, const double *d, const double *u, const double *x,
                               double *f)
{
    vd q = v_zero();
    for (ptrdiff_t at = 0; at < n; at += 8) {
        const ptrdiff_t m = n - at < 8 ? n - at : 8;
        vd r[8];
        for (ptrdiff_t l = 0; l < 8; l++)
            r[l] = l < m ? packed_column(u + cf_packed_size(at + l), x, at + l) : v_zero();
        const vd fj = v_add(v_load(x + at), v_sum8(r));
        v_store(f + at, fj);
        q = v_fma(v_mul(v_loadn(d + at, m), fj), fj, q);
    }
    return v_sum(q);
}

static double packed_look(ptrdiff_t n, const double *d, const double *u, const double *x, double *f)
{
    if (n == 16) /* a constant: the loops are written out */
        return packed_look_n(16, d, u, x, f);
    return packed_look_n(n, d, u, x, f);
}

/* Eight columns: their a, multipliers and D. The sum is serial, the divisions are not. */
CF_INLINE double packed_factors(double *d, const double *f, ptrdiff_t m, double a, double *g,
                                double *l)
{
    double before[8], after[8];
    const vd dj = v_loadn(d, m), fj = v_load(f);
    v_store(g, v_mul(dj, fj));
    for (int r = 0; r < 8; r++) { /* beyond m f is zero */
        before[r] = a;
        a = s_fma(f[r], g[r], a);
        after[r] = a;
    }
    const vd one = v_set1(1.0), b = v_load(before);
    v_store(l, v_mul(v_fnma(fj, one, v_zero()), v_div(one, b)));
    v_storen(d, v_mul(dj, v_div(b, v_load(after))), m);
    return a;
}

CF_INLINE double packed_update_n(ptrdiff_t n, double *d, double *u, double c, const double *f,
                                 double *k)
{
    double a = 1.0 / c;
    for (ptrdiff_t j = 0; j < n; j += 8)
        v_store(k + j, v_zero());
    for (ptrdiff_t at = 0; at < n; at += 8) {
        const ptrdiff_t m = n - at < 8 ? n - at : 8;
        double g[8], l[8];
        a = packed_factors(d + at, f + at, m, a, g, l);
        for (ptrdiff_t r = 0; r < m; r++) {
            const ptrdiff_t j = at + r;
            double *column = u + cf_packed_size(j);
            const vd gj = v_set1(g[r]), lj = v_set1(l[r]);
            ptrdiff_t i = 0;
            for (; i + 8 <= j; i += 8) {
                const vd old = v_load(column + i), ki = v_load(k + i);
                v_store(column + i, v_fma(ki, lj, old));
                v_store(k + i, v_fma(gj, old, ki));
            }
            if (i < j) {
                const vd old = v_loadn(column + i, j - i), ki = v_load(k + i);
                v_storen(column + i, v_fma(ki, lj, old), j - i);
                v_store(k + i, v_fma(gj, old, ki));
            }
            k[j] = g[r];
        }
    }
    return a;
}

/* Two registers hold k: no column waits for the memory that the one before has written. */
static double packed_update_16(double *d, double *u, double c, const double *f, double *k)
{
    double g[16], l[16], a = packed_factors(d, f, 8, 1.0 / c, g, l);
    vd low = v_zero(), high = v_zero();
    a = packed_factors(d + 8, f + 8, 8, a, g + 8, l + 8);
    for (ptrdiff_t j = 0; j < 8; j++) {
        double *column = u + cf_packed_size(j);
        const vd old = v_loadn(column, j), gj = v_set1(g[j]);
        v_storen(column, v_fma(low, v_set1(l[j]), old), j);
        low = v_blend(vm_and(vm_from(j), vm_first(j + 1)), gj, v_fma(gj, old, low));
    }
    for (ptrdiff_t j = 8; j < 16; j++) {
        double *column = u + cf_packed_size(j);
        const vd first = v_load(column), old = v_loadn(column + 8, j - 8);
        const vd gj = v_set1(g[j]), lj = v_set1(l[j]);
        v_store(column, v_fma(low, lj, first));
        v_storen(column + 8, v_fma(high, lj, old), j - 8);
        low = v_fma(gj, first, low);
        high = v_blend(vm_and(vm_from(j - 8), vm_first(j - 7)), gj, v_fma(gj, old, high));
    }
    v_store(k, low);
    v_store(k + 8, high);
    return a;
}

static double packed_update(ptrdiff_t n, double *d, double *u, double c, const double *f, double *k)
{
    if (n == 16) /* the same operations, hence the same bits */
        return packed_update_16(d, u, c, f, k);
    return packed_update_n(n, d, u, c, f, k);
}

static void packed_product(ptrdiff_t n, const double *u, const double *s, double *v)
{
    for (ptrdiff_t j = 0; j < n; j += 8)
        v_store(v + j, v_load(s + j));
    for (ptrdiff_t j = 1; j < n; j++)
        axpy(j, s[j], u + cf_packed_size(j), v);
}
