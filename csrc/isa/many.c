/* Kernels of cf_many.h. Included by the unit of each instruction set. */

/* What goes through the rows together: chunks of columns by rows x, as many accumulators as there
 * are registers. The order of the operations on each does not depend on it. */
#if defined(CF_LANES_V4)
#define CF_MANY_CHUNKS 2
#define CF_MANY_SIDES 8
#define CF_MANY_ROWS 8
#define CF_MANY_CROSS 2 /* rows x with CF_MANY_ROWS rows of the triangle */
#else
#define CF_MANY_CHUNKS 1
#define CF_MANY_SIDES 4
#define CF_MANY_ROWS 2
#define CF_MANY_CROSS 2
#endif

/* Row r of a diagonal block, or of the columns of w there, as it counts in x^T B x: to the left of
 * the diagonal whole, on it a half, nothing above it. */
CF_INLINE vd edge_of(vd a, ptrdiff_t r)
{
    const vd kept = v_keep(vm_first(r + 1), a);
    return v_blend(vm_first(r), kept, v_mul(kept, v_set1(0.5)));
}

/* That of B - w w^T from that of B; a half goes through the product and its rounding unchanged. */
CF_INLINE vd edge_less(vd edge, ptrdiff_t r, double wr, vd wc)
{
    return v_fnma(v_set1(wr), edge_of(wc, r), edge);
}

/* --- one row ---------------------------------------------------------------------------------- */

/* `rows` rows of a panel, left of its diagonal block, times the entries of x, into t. */
CF_INLINE void quad_left(const double *row, ptrdiff_t at, ptrdiff_t rows, const double *w,
                         const double *x, double *t)
{
    for (ptrdiff_t off = 0; off < at; off += 8) {
        const vd wc = v_load(w + off);
        vd tc = v_load(t + off);
        for (ptrdiff_t r = 0; r < rows; r++) {
            const vd a = v_fnma(v_set1(w[at + r]), wc, v_load(row + r * (at + 8) + off));
            tc = v_fma(a, v_set1(x[at + r]), tc);
        }
        v_store(t + off, tc);
    }
}

static double quad_row(const cf_triangle *b, const double *w, const double *x, double *t)
{
    vd q = v_zero();
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const ptrdiff_t m = b->n - at < 8 ? b->n - at : 8;
        const double *row = cf_triangle_row(b, at);
        const vd wc = v_load(w + at);
        vd sum = v_zero();
        if (m == 8)
            quad_left(row, at, 8, w, x, t);
        else
            quad_left(row, at, m, w, x, t);
        for (ptrdiff_t r = 0; r < m; r++) {
            const vd edge = edge_of(v_load(row + r * (at + 8) + at), r);
            sum = v_fma(edge_less(edge, r, w[at + r], wc), v_set1(x[at + r]), sum);
        }
        v_store(t + at, sum);
    }
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const vd xc = b->n - at < 8 ? v_loadn(x + at, b->n - at) : v_load(x + at);
        q = v_fma(v_load(t + at), xc, q);
    }
    return 2.0 * v_sum(q);
}

/* --- many rows -------------------------------------------------------------------------------- */

static void quad_edges(const cf_triangle *b, double *edges)
{
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const double *row = cf_triangle_row(b, at);
        for (ptrdiff_t r = 0; r < 8; r++) /* rows beyond n have their memory, too */
            v_store(edges + 8 * (at + r), edge_of(v_load(row + r * (at + 8) + at), r));
    }
}

/* Rows x, eight of them: where there are fewer, the last one stands in for the others, and what
 * comes of them is dropped. */
typedef struct abreast {
    ptrdiff_t n, m;
    const double *x[8];
    double *y; /* entry i of all of them at 8 i: what is loaded once in all lanes */
} abreast;

CF_INLINE abreast abreast_of(ptrdiff_t n, ptrdiff_t m, const double *x, ptrdiff_t stride,
                             double *y)
{
    abreast p = {.n = n, .m = m, .y = y};
    for (ptrdiff_t l = 0; l < 8; l++)
        p.x[l] = x + (l < m ? l : m - 1) * stride;
    return p;
}

/* Eight columns of them into y. */
CF_INLINE void side_by_side(const abreast *p, ptrdiff_t at, ptrdiff_t width)
{
    vd r[8];
    for (int l = 0; l < 8; l++)
        r[l] = width == 8 ? v_load(p->x[l] + at) : v_loadn(p->x[l] + at, width);
    v_transpose8(r);
    for (int l = 0; l < 8; l++)
        v_store(p->y + 8 * (at + l), r[l]);
}

CF_INLINE void all_side_by_side(const abreast *p)
{
    ptrdiff_t at = 0;
    for (; at + 8 <= p->n; at += 8)
        side_by_side(p, at, 8);
    if (at < p->n)
        side_by_side(p, at, p->n - at);
}

/* What some chunks of columns gather for some rows x. */
typedef struct tile {
    vd of[2][CF_MANY_SIDES]; /* CF_MANY_CHUNKS of them */
} tile;

/* Rows of one panel from row i of B on, `chunks` chunks of columns from `at` on (a constant at every
 * call), with the rows x side by side in y. `edge` (NULL: none) stands in for the last chunk. What
 * is added is that of B - w w^T (w NULL: of B). */
CF_INLINE void tile_add(tile *t, const cf_triangle *b, ptrdiff_t i, ptrdiff_t rows, ptrdiff_t at,
                        int chunks, const double *w, const double *edge, const double *y)
{
    const double *row = cf_triangle_row(b, i) + at;
    for (ptrdiff_t r = 0; r < rows; r++) {
        vd a[2];
        for (int c = 0; c < chunks; c++) {
            const int last = edge && c + 1 == chunks;
            a[c] = v_load(last ? edge + 8 * r : row + r * (i + 8) + 8 * c);
            if (w && last)
                a[c] = edge_less(a[c], r, w[i + r], v_load(w + at + 8 * c));
            else if (w)
                a[c] = v_fnma(v_set1(w[i + r]), v_load(w + at + 8 * c), a[c]);
        }
        for (int s = 0; s < CF_MANY_SIDES; s++) {
            const vd ys = v_set1(y[8 * (i + r) + s]);
            for (int c = 0; c < chunks; c++)
                t->of[c][s] = v_fma(a[c], ys, t->of[c][s]);
        }
    }
}

/* The rows of the diagonal block of chunk c: the chunks before c have whole columns there. */
CF_INLINE void tile_edge(tile *t, const cf_triangle *b, ptrdiff_t at, int c, const double *w,
                         const double *edges, const double *y)
{
    const ptrdiff_t i = at + 8 * c, rows = b->n - i < 8 ? b->n - i : 8;
    tile_add(t, b, i, rows, at, c + 1, w, edges + 8 * i, y);
}

/* The rows below the diagonal blocks of all chunks. */
CF_INLINE void tile_below(tile *t, const cf_triangle *b, ptrdiff_t at, int chunks, const double *w,
                          const double *y)
{
    ptrdiff_t i = at + 8 * chunks;
    for (; i + 8 <= b->n; i += 8)
        tile_add(t, b, i, 8, at, chunks, w, NULL, y);
    if (i < b->n)
        tile_add(t, b, i, b->n - i, at, chunks, w, NULL, y);
}

/* Some chunks of columns of x^T (B - w w^T) x for the rows x from l on, added to q lane by lane; the
 * last chunk has `width` columns. */
CF_INLINE void quad_columns(const cf_triangle *b, const double *edges, const double *w,
                            const abreast *p, ptrdiff_t at, int chunks, ptrdiff_t width, int l,
                            vd *q)
{
    tile t;
    for (int c = 0; c < chunks; c++)
        for (int i = 0; i < CF_MANY_SIDES; i++)
            t.of[c][i] = v_zero();
    tile_edge(&t, b, at, 0, w, edges, p->y + l);
    if (chunks > 1)
        tile_edge(&t, b, at, 1, w, edges, p->y + l);
    tile_below(&t, b, at, chunks, w, p->y + l);
    for (int i = 0; i < CF_MANY_SIDES; i++) {
        const double *x = p->x[l + i] + at;
        vd sum = q[l + i];
        for (int c = 0; c < chunks; c++)
            sum = v_fma(t.of[c][i], c + 1 < chunks ? v_load(x + 8 * c) : v_loadn(x + 8 * c, width),
                        sum);
        q[l + i] = sum;
    }
}

static void quad_rows(const cf_triangle *b, const double *edges, const double *w, ptrdiff_t m,
                      const double *x, ptrdiff_t stride, double *q, double *scratch)
{
    const ptrdiff_t n = b->n;
    const abreast p = abreast_of(n, m, x, stride, scratch);
    vd sum[8];
    for (int l = 0; l < 8; l++)
        sum[l] = v_zero();
    all_side_by_side(&p);
    for (int l = 0; l < m; l += CF_MANY_SIDES) {
        ptrdiff_t at = 0;
        for (; at + 8 * CF_MANY_CHUNKS < n + 8; at += 8 * CF_MANY_CHUNKS) {
            const ptrdiff_t width = n - at - 8 * (CF_MANY_CHUNKS - 1);
            quad_columns(b, edges, w, &p, at, CF_MANY_CHUNKS, width < 8 ? width : 8, l, sum);
        }
        for (; at < n; at += 8)
            quad_columns(b, edges, w, &p, at, 1, n - at < 8 ? n - at : 8, l, sum);
    }
    const vd s = v_sum8(sum);
    v_storen(q, v_add(s, s), m);
}

static void symv_edges(const cf_triangle *b, double *edges)
{
    const ptrdiff_t padded = cf_pad(b->n);
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const double *row = cf_triangle_row(b, at);
        for (ptrdiff_t r = 0; r < 8; r++) {
            const vd a = v_load(row + r * (at + 8) + at);
            v_store(edges + 8 * (at + r), v_keep(vm_first(r + 1), a));
            v_store(edges + 8 * (padded + at + r), v_keep(vm_first(r), a));
        }
    }
}

/* The products of CF_MANY_ROWS rows of a panel with CF_MANY_CROSS rows x, up to the diagonal;
 * the last chunk has `width` columns. */
CF_INLINE void cross(const double *row, const double *edge, ptrdiff_t at, const double *const *x,
                     ptrdiff_t width, vd *s)
{
    vd t[CF_MANY_CROSS][CF_MANY_ROWS];
    for (int l = 0; l < CF_MANY_CROSS; l++)
        for (int r = 0; r < CF_MANY_ROWS; r++)
            t[l][r] = v_zero();
    for (ptrdiff_t off = 0; off < at; off += 8) {
        vd xc[CF_MANY_CROSS];
        for (int l = 0; l < CF_MANY_CROSS; l++)
            xc[l] = v_load(x[l] + off);
        for (int r = 0; r < CF_MANY_ROWS; r++) {
            const vd a = v_load(row + r * (at + 8) + off);
            for (int l = 0; l < CF_MANY_CROSS; l++)
                t[l][r] = v_fma(a, xc[l], t[l][r]);
        }
    }
    for (int l = 0; l < CF_MANY_CROSS; l++) {
        const vd xc = v_loadn(x[l] + at, width);
        for (int r = 0; r < CF_MANY_ROWS; r++)
            s[8 * l + r] = v_fma(v_load(edge + 8 * r), xc, t[l][r]);
    }
}

/* What every entry of v has from its own row: left of the diagonal and on it. */
CF_INLINE void own_rows(const cf_triangle *b, const double *edges, const abreast *p, double *v,
                        ptrdiff_t apart)
{
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const ptrdiff_t rows = b->n - at < 8 ? b->n - at : 8;
        const double *row = cf_triangle_row(b, at);
        for (int l = 0; l < p->m; l += CF_MANY_CROSS) {
            vd s[8 * CF_MANY_CROSS];
            for (int r = 0; r < 8; r += CF_MANY_ROWS) /* a panel has the memory of eight rows */
                cross(row + r * (at + 8), edges + 8 * (at + r), at, p->x + l, rows,
                      s + r);
            for (int i = 0; i < CF_MANY_CROSS && l + i < p->m; i++)
                v_storen(v + (l + i) * apart + at, v_sum8(s + 8 * i), rows);
        }
    }
}

/* The own part of a chunk of v joins what the block's other rows gave to it. */
CF_INLINE void tile_join(tile *t, int c, const abreast *p, int l, const double *v,
                         ptrdiff_t apart, ptrdiff_t width)
{
    for (int i = 0; i < CF_MANY_SIDES; i++) {
        const double *own = v + (l + i < p->m ? l + i : l) * apart;
        t->of[c][i] = v_add(v_loadn(own, width), t->of[c][i]);
    }
}

/* The rest of some chunks of columns of v, the last of `width` columns: what the rows of their own
 * blocks give, and then, in the order of the rows, those below. */
CF_INLINE void symv_columns(const cf_triangle *b, const double *edges, const abreast *p,
                            ptrdiff_t at, int chunks, ptrdiff_t width, int l, double *v,
                            ptrdiff_t apart)
{
    tile t;
    for (int c = 0; c < chunks; c++)
        for (int i = 0; i < CF_MANY_SIDES; i++)
            t.of[c][i] = v_zero();
    tile_edge(&t, b, at, 0, NULL, edges, p->y + l);
    tile_join(&t, 0, p, l, v + at, apart, chunks > 1 ? 8 : width);
    if (chunks > 1) {
        tile_edge(&t, b, at, 1, NULL, edges, p->y + l);
        tile_join(&t, 1, p, l, v + at + 8, apart, width);
    }
    tile_below(&t, b, at, chunks, NULL, p->y + l);
    for (int i = 0; i < CF_MANY_SIDES && l + i < p->m; i++)
        for (int c = 0; c < chunks; c++)
            v_storen(v + (l + i) * apart + at + 8 * c, t.of[c][i], c + 1 < chunks ? 8 : width);
}

static void symv_rows(const cf_triangle *b, const double *edges, ptrdiff_t m, const double *x,
                      ptrdiff_t stride, double *v, ptrdiff_t apart, double *scratch)
{
    const ptrdiff_t n = b->n;
    const abreast p = abreast_of(n, m, x, stride, scratch);
    const double *inside = edges + 8 * cf_pad(n);
    own_rows(b, edges, &p, v, apart);
    all_side_by_side(&p);
    for (int l = 0; l < m; l += CF_MANY_SIDES) {
        ptrdiff_t at = 0;
        for (; at + 8 * CF_MANY_CHUNKS < n + 8; at += 8 * CF_MANY_CHUNKS) {
            const ptrdiff_t width = n - at - 8 * (CF_MANY_CHUNKS - 1);
            symv_columns(b, inside, &p, at, CF_MANY_CHUNKS, width < 8 ? width : 8, l, v, apart);
        }
        for (; at < n; at += 8)
            symv_columns(b, inside, &p, at, 1, n - at < 8 ? n - at : 8, l, v, apart);
    }
}

