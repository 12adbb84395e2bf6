/* Kernels of cf_ud.h. Included by the unit of each instruction set. */

/* sum of d f^2 in eight lanes; both are zero beyond n */
CF_INLINE double ud_square(ptrdiff_t n, const double *d, const double *f)
{
    vd sum = v_zero();
    for (ptrdiff_t j = 0; j < n; j += 8) {
        const vd fj = v_load(f + j);
        sum = v_fma(v_mul(v_load(d + j), fj), fj, sum);
    }
    return v_sum(sum);
}

/* f of m rows x, `stride` doubles apart, cf_pad(n) doubles each, and their q. */
CF_INLINE void ud_quad_rows(const cf_triangle *ut, const double *d, ptrdiff_t m, const double *x,
                            ptrdiff_t stride, double *f, double *q)
{
    const ptrdiff_t n = ut->n, padded = cf_pad(n);
    for (ptrdiff_t j = 0; j < n; j++) {
        const double *row = cf_triangle_row(ut, j);
        for (ptrdiff_t l = 0; l < m; l++)
            f[l * padded + j] = x[l * stride + j] + dot(j, row, x + l * stride);
    }
    for (ptrdiff_t l = 0; l < m; l++) {
        for (ptrdiff_t j = n; j < padded; j++)
            f[l * padded + j] = 0.0;
        q[l] = ud_square(n, d, f + l * padded);
    }
}

static void ud_quad(const cf_triangle *ut, const double *d, const double *x, double *f, double *q)
{
    ud_quad_rows(ut, d, 1, x, 0, f, q);
}

/* One panel of eight rows: multipliers g and l, chunks of columns left of the diagonal. */
CF_INLINE void ud_rows(double *row, ptrdiff_t stride, int rows, ptrdiff_t chunks, const double *g,
                       const double *l, double *k)
{
    for (ptrdiff_t c = 0; c < chunks; c++) {
        vd kc = v_load(k + 8 * c);
        for (int r = 0; r < rows; r++) {
            double *place = row + r * stride + 8 * c;
            const vd u = v_load(place);
            v_store(place, v_fma(kc, v_set1(l[r]), u));
            kc = v_fma(v_set1(g[r]), u, kc);
        }
        v_store(k + 8 * c, kc);
    }
}

static void ud_update(const cf_triangle *ut, double *d, double c, const double *f, double *k)
{
    const ptrdiff_t n = ut->n;
    double a = 1.0 / c;
    for (ptrdiff_t j = 0; j < cf_pad(n); j++)
        k[j] = 0.0;
    for (ptrdiff_t at = 0; at < n; at += 8) {
        const int m = n - at < 8 ? (int)(n - at) : 8;
        double g[8], l[8];
        for (int r = 0; r < m; r++) {
            const double fr = f[at + r], before_a = a;
            g[r] = d[at + r] * fr;
            a = s_fma(fr, g[r], a);
            l[r] = -fr / before_a;
            d[at + r] *= before_a / a;
        }
        double *row = cf_triangle_row(ut, at);
        const ptrdiff_t stride = at + 8;
        if (m == 8)
            ud_rows(row, stride, 8, at / 8, g, l, k);
        else
            ud_rows(row, stride, m, at / 8, g, l, k);
        for (int r = 0; r < m; r++) { /* the diagonal block, where K_j joins at row j */
            double *block = row + r * stride + at;
            for (int i = 0; i < r; i++) {
                const double u = block[i];
                block[i] = s_fma(k[at + i], l[r], u);
                k[at + i] = s_fma(g[r], u, k[at + i]);
            }
            k[at + r] = g[r];
        }
    }
}

/* v = U D f of m rows f, which ud_quad_rows left; the results `apart` doubles apart. */
CF_INLINE void ud_products(const cf_triangle *ut, const double *d, ptrdiff_t m, const double *f,
                           double *v, ptrdiff_t apart)
{
    for (ptrdiff_t j = 0; j < ut->n; j++) {
        const double *row = cf_triangle_row(ut, j);
        for (ptrdiff_t l = 0; l < m; l++) {
            const double g = d[j] * f[l * cf_pad(ut->n) + j];
            v[l * apart + j] = g;
            axpy(j, g, row, v + l * apart);
        }
    }
}

static void ud_solve(const cf_triangle *ut, const double *d, const double *x, double *f, double *v)
{
    double q;
    ud_quad(ut, d, x, f, &q);
    ud_products(ut, d, 1, f, v, 0);
    for (ptrdiff_t j = ut->n; j < cf_pad(ut->n); j++)
        v[j] = 0.0;
}

static void ud_solve_rows(const cf_triangle *ut, const double *d, ptrdiff_t m, const double *x,
                          ptrdiff_t stride, double *f, double *v, ptrdiff_t apart)
{
    double q[CF_ABREAST];
    ud_quad_rows(ut, d, m, x, stride, f, q);
    ud_products(ut, d, m, f, v, apart);
}
