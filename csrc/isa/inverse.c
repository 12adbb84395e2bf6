/* Kernels of cf_inverse.h. Included by the unit of each instruction set. */

/* How many rows go through a pass together: as many accumulators as there are registers. The
 * order of the operations on each v_j and in each row does not depend on it. */
#if defined(CF_LANES_V4)
#define CF_ROWS 8
#else
#define CF_ROWS 4
#endif

typedef struct pass {
    const double *x; /* of the product, or NULL */
    double *v;       /* its result */
    const double *w; /* of the rank-one term, or NULL */
} pass;

/* Columns left of the diagonal block: `rows` rows (a constant at every call), chunks of eight.
 * s gathers the rows' own products. */
CF_INLINE void rows_left(double *row, ptrdiff_t stride, int rows, ptrdiff_t chunks,
                         const pass *p, const double *xi, const double *wi, vd *s, int product,
                         int update)
{
    vd xr[8], wr[8], sr[8];
    for (int r = 0; r < rows; r++) {
        if (product) {
            xr[r] = v_set1(xi[r]);
            sr[r] = s[r];
        }
        if (update)
            wr[r] = v_set1(wi[r]);
    }
    const double *restrict x = p->x, *restrict w = p->w;
    double *restrict v = p->v;
    for (ptrdiff_t c = 0; c < chunks; c++) {
        const vd xc = product ? v_load(x + 8 * c) : v_zero();
        const vd wc = update ? v_load(w + 8 * c) : v_zero();
        vd vc = product ? v_load(v + 8 * c) : v_zero();
        for (int r = 0; r < rows; r++) {
            double *restrict place = row + r * stride + 8 * c;
            vd a = v_load(place);
            if (update) {
                a = v_fnma(wr[r], wc, a);
                v_store(place, a);
            }
            if (product) {
                sr[r] = v_fma(a, xc, sr[r]);
                vc = v_fma(a, xr[r], vc);
            }
        }
        if (product)
            v_store(v + 8 * c, vc);
    }
    if (product)
        for (int r = 0; r < rows; r++)
            s[r] = sr[r];
}

/* The diagonal block of m <= 8 rows; below is what its rows give to the columns before them.
 * Rows that are not there have a mask of no lanes, so that the loop is unrolled for all m. */
CF_INLINE void rows_diagonal(double *row, ptrdiff_t stride, ptrdiff_t m, const pass *p,
                             ptrdiff_t at, vd *s, int product, int update, int whole)
{
    const vd wc = update ? v_load(p->w + at) : v_zero();
    vd xc = v_zero(), below = v_zero();
    double xs[8];
    if (product) {
        xc = m == 8 ? v_load(p->x + at) : v_loadn(p->x + at, m);
        v_store(xs, xc);
    }
    for (ptrdiff_t r = 0; r < 8; r++) {
        double *place = r < m ? row + r * stride : row;
        const vm in = vm_first(r < m ? r + 1 : 0);
        vd a = whole ? v_keep(in, v_load(place)) : v_loadm(place, in);
        if (update) {
            a = v_fnma(v_set1(p->w[at + r]), wc, a);
            if (!whole)
                v_storem(place, a, in);
            else if (r < m)
                v_store(place, a);
            a = v_keep(in, a);
        }
        if (product) {
            s[r] = v_fma(a, xc, s[r]);
            below = v_fma(v_keep(vm_first(r), a), v_set1(xs[r]), below);
        }
    }
    if (product)
        v_store(p->v + at, v_add(v_sum8(s), below));
}

/* One pass over the triangle; product and update are constants at every call. */
CF_INLINE void triangle_pass(const cf_triangle *b, const pass *p, int product, int update)
{
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const ptrdiff_t k = at / 8, stride = b->ld ? b->ld : at + 8;
        double *row = b->ld ? b->data + at * stride : b->data + 4 * at * (k + 1);
        const ptrdiff_t m = b->n - at < 8 ? b->n - at : 8;
        const double *xi = product ? p->x + at : NULL, *wi = update ? p->w + at : NULL;
        vd s[8];
        for (int r = 0; r < 8; r++)
            s[r] = v_zero();
        if (k > 0) {
            ptrdiff_t r = 0;
            for (; r + CF_ROWS <= m; r += CF_ROWS)
                rows_left(row + r * stride, stride, CF_ROWS, k, p, product ? xi + r : NULL,
                          update ? wi + r : NULL, s + r, product, update);
            for (; r + 2 <= m; r += 2)
                rows_left(row + r * stride, stride, 2, k, p, product ? xi + r : NULL,
                          update ? wi + r : NULL, s + r, product, update);
            for (; r < m; r++)
                rows_left(row + r * stride, stride, 1, k, p, product ? xi + r : NULL,
                          update ? wi + r : NULL, s + r, product, update);
        }
        if (b->ld == 0)
            rows_diagonal(row + at, stride, m, p, at, s, product, update, 1);
        else
            rows_diagonal(row + at, stride, m, p, at, s, product, update, 0);
    }
}

static void symv(const cf_triangle *b, const double *x, double *v)
{
    const pass p = {x, v, NULL};
    triangle_pass(b, &p, 1, 0);
}

static void rank_one(const cf_triangle *b, const double *w)
{
    const pass p = {NULL, NULL, w};
    triangle_pass(b, &p, 0, 1);
}

static void rank_one_symv(const cf_triangle *b, const double *w, const double *x, double *v)
{
    const pass p = {x, v, w};
    triangle_pass(b, &p, 1, 1);
}

static void rank_block(const cf_triangle *b, ptrdiff_t m, const double *rows, ptrdiff_t stride,
                       const double *c)
{
    for (ptrdiff_t i = 0; i < b->n; i++) {
        double *row = cf_triangle_row(b, i);
        vd f[8];
        for (ptrdiff_t r = 0; r < m; r++)
            f[r] = v_set1(c[r] * rows[r * stride + i]);
        for (ptrdiff_t j = 0; j <= i; j += 8) {
            const ptrdiff_t left = i + 1 - j < 8 ? i + 1 - j : 8;
            const int whole = left == 8 || b->ld == 0;
            vd a = whole ? v_load(row + j) : v_loadn(row + j, left);
            if (m == 8)
                for (int r = 0; r < 8; r++)
                    a = v_fma(f[r], v_load(rows + r * stride + j), a);
            else
                for (ptrdiff_t r = 0; r < m; r++)
                    a = v_fma(f[r], v_load(rows + r * stride + j), a);
            if (whole)
                v_store(row + j, a);
            else
                v_storen(row + j, a, left);
        }
    }
}

static void rank_one_square(const cf_triangle *b, const double *w)
{
    const ptrdiff_t n = b->n, whole = n & ~(ptrdiff_t)7;
    const vm last = vm_first(n - whole);
    for (ptrdiff_t i = 0; i < n; i++) {
        double *restrict row = b->data + i * b->ld;
        const vd wi = v_set1(w[i]);
        for (ptrdiff_t j = 0; j < whole; j += 8)
            v_store(row + j, v_fnma(wi, v_load(w + j), v_load(row + j)));
        if (whole < n)
            v_storem(row + whole, v_fnma(wi, v_load(w + whole), v_loadm(row + whole, last)), last);
    }
}

static int inverse_update(const cf_triangle *b, const double *x, double c, int both,
                          double *scratch, double *q)
{
    const ptrdiff_t n = b->n;
    symv(b, x, scratch);
    *q = dot(n, x, scratch);
    if (!(*q > 0.0 && *q <= DBL_MAX)) {
        int zero = 1;
        for (ptrdiff_t i = 0; i < n; i++)
            zero &= x[i] == 0.0;
        if (zero && *q == 0.0)
            return CF_OK;
        return *q <= 0.0 && *q >= -DBL_MAX ? CF_ENOTPOSITIVE : CF_ENONFINITE;
    }
    const vd root = v_set1(__builtin_sqrt(1.0 / ((c == 1.0 ? 1.0 : 1.0 / c) + *q)));
    for (ptrdiff_t i = 0; i < n; i += 8) /* lanes beyond n are zero since symv */
        v_store(scratch + i, v_mul(root, v_load(scratch + i)));
    if (both)
        rank_one_square(b, scratch);
    else
        rank_one(b, scratch);
    return CF_OK;
}
