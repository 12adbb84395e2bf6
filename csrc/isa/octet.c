/* Kernels of cf_octet.h. Included by the unit of each instruction set. */

#define CF_OCTET_ROWS 4 /* that go through the columns together */

/* Rows i ... i + rows - 1 (a constant at every call): an element serves its row and its column. */
CF_INLINE void octet_rows(const double *b, ptrdiff_t i, int rows, const double *x, double *v)
{
    const double *row[CF_OCTET_ROWS];
    vd s[CF_OCTET_ROWS], xi[CF_OCTET_ROWS];
    for (int r = 0; r < rows; r++) {
        row[r] = b + 4 * (i + r) * (i + r + 1);
        s[r] = v_zero();
        xi[r] = v_set1(x[i + r]);
    }
    for (ptrdiff_t j = 0; j < i; j++) {
        const vd xj = v_set1(x[j]);
        vd vj = v_load(v + 8 * j);
        for (int r = 0; r < rows; r++) {
            const vd a = v_load(row[r] + 8 * j);
            s[r] = v_fma(a, xj, s[r]);
            vj = v_fma(a, xi[r], vj);
        }
        v_store(v + 8 * j, vj);
    }
    for (int r = 0; r < rows; r++) {
        for (int c = 0; c < r; c++) {
            const vd a = v_load(row[r] + 8 * (i + c));
            s[r] = v_fma(a, xi[c], s[r]);
            s[c] = v_fma(a, xi[r], s[c]);
        }
        s[r] = v_fma(v_load(row[r] + 8 * (i + r)), xi[r], s[r]);
    }
    for (int r = 0; r < rows; r++)
        v_store(v + 8 * (i + r), s[r]);
}

static void octet_read(ptrdiff_t d, const double *b, const double *w, const double *x, double *v,
                       double *m, double *q)
{
    vd a = v_zero(), s[2] = {v_zero(), v_zero()};
    ptrdiff_t i = 0;
    for (; i + CF_OCTET_ROWS <= d; i += CF_OCTET_ROWS)
        octet_rows(b, i, CF_OCTET_ROWS, x, v);
    for (; i < d; i++)
        octet_rows(b, i, 1, x, v);
    for (i = 0; i < d; i++) {
        const vd xi = v_set1(x[i]);
        a = v_fma(v_load(w + 8 * i), xi, a); /* as lines_scores has it */
        s[i & 1] = v_fma(v_load(v + 8 * i), xi, s[i & 1]);
    }
    v_store(m, a);
    v_store(q, v_add(s[0], s[1]));
}

static void octet_move(ptrdiff_t d, const double *v, const double *c, double *w)
{
    const vd cv = v_load(c);
    for (ptrdiff_t i = 0; i < d; i++)
        v_store(w + 8 * i, v_fma(v_load(v + 8 * i), cv, v_load(w + 8 * i)));
}

/* Whole vectors, whose other lanes get -0 * 0: the next reading loads what was stored as one. */
static void octet_update(ptrdiff_t d, const double *v, int lane, double root, double *b, double *t)
{
    const vm in = vm_and(vm_first(lane + 1), vm_from(lane));
    const vd rv = v_set1(root);
    double *place = b;
    for (ptrdiff_t i = 0; i < d; i++) {
        const vd ti = v_keep(in, v_mul(rv, v_load(v + 8 * i)));
        v_store(t + 8 * i, ti);
        for (ptrdiff_t j = 0; j <= i; j++, place += 8)
            v_store(place, v_fnma(ti, v_load(t + 8 * j), v_load(place)));
    }
}
