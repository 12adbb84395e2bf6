/* Kernels of cf_inverse.h. Included by the unit of each instruction set. */

/* How many rows go through a pass together: as many accumulators as there are registers. The
 * order of the operations on each v_j and in each row does not depend on it. */
#if defined(CF_LANES_V4)
#define CF_ROWS 8
#define CF_BY_LINES 64 /* columns from which rows are taken line by line: rows_left */
#elif defined(CF_LANES_V3)
#define CF_ROWS 4
#define CF_BY_LINES 256
#else
#define CF_ROWS 4
#define CF_BY_LINES PTRDIFF_MAX
#endif

/* how many doubles a place lies behind the line it is in */
CF_INLINE ptrdiff_t behind_line(const double *place)
{
    return (ptrdiff_t)((uintptr_t)place / 8 & 7);
}

typedef struct pass {
    const double *x; /* of the product, or NULL */
    double *v;       /* its result */
    const double *w; /* of the rank-one term, or NULL */
    const double *u; /* its factor in the rows: w, or -w where the term is added */
} pass;

/* What `update` of a pass may be: none, or the term goes into the triangle, or it is only taken
 * into account. */
enum { KEPT = 1, SEEN = 2 };

/* What goes through the columns left of the diagonal block with `rows` rows. */
typedef struct strip {
    vd x[8], w[8], s[8]; /* the rows' own entries of x and w, and their products so far */
} strip;

/* One chunk of columns from `off` on; masked (a constant at every call): only the lanes `in`. */
CF_INLINE void left_chunk(double *row, ptrdiff_t stride, int rows, ptrdiff_t off, const pass *p,
                          strip *t, int product, int update, int masked, vm in)
{
    const vd xc = !product ? v_zero() : masked ? v_loadm(p->x + off, in) : v_load(p->x + off);
    const vd wc = !update ? v_zero() : masked ? v_loadm(p->w + off, in) : v_load(p->w + off);
    vd vc = !product ? v_zero() : masked ? v_loadm(p->v + off, in) : v_load(p->v + off);
    for (int r = 0; r < rows; r++) {
        double *place = row + r * stride + off;
        vd a = masked ? v_loadm(place, in) : v_load(place);
        if (update) {
            a = v_fnma(t->w[r], wc, a);
            if (update == KEPT && masked)
                v_storem(place, a, in);
            else if (update == KEPT)
                v_store(place, a);
        }
        if (product) {
            t->s[r] = v_fma(a, xc, t->s[r]);
            vc = v_fma(a, t->x[r], vc);
        }
    }
    if (product && masked)
        v_storem(p->v + off, vc, in);
    else if (product)
        v_store(p->v + off, vc);
}

/* Columns left of the diagonal block: `rows` rows (a constant at every call). Rows that begin
 * `shift` doubles behind a line are taken line by line all the same, since an access that crosses
 * a line costs two; the sums are turned back into the lanes of the columns, so that the bits do
 * not depend on where the memory happens to lie. The first is row i of the matrix; s gathers
 * the rows' own products. */
CF_INLINE void rows_left(double *row, ptrdiff_t stride, int rows, ptrdiff_t columns,
                         ptrdiff_t shift, const pass *p, ptrdiff_t i, vd *s, int product,
                         int update)
{
    strip t;
    for (int r = 0; r < rows; r++) {
        t.x[r] = product ? v_set1(p->x[i + r]) : v_zero();
        t.w[r] = update ? v_set1(p->u[i + r]) : v_zero();
        t.s[r] = v_zero();
    }
    ptrdiff_t off = 0;
    if (shift) {
        left_chunk(row, stride, rows, -shift, p, &t, product, update, 1, vm_from(shift));
        off = 8 - shift;
    }
    for (; off + 8 <= columns; off += 8)
        left_chunk(row, stride, rows, off, p, &t, product, update, 0, vm_first(8));
    if (shift)
        left_chunk(row, stride, rows, off, p, &t, product, update, 1, vm_first(shift));
    for (int r = 0; product && r < rows; r++)
        s[r] = shift ? v_rotate(t.s[r], shift) : t.s[r];
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
            a = v_fnma(v_set1(p->u[at + r]), wc, a);
            if (update == KEPT && !whole)
                v_storem(place, a, in);
            else if (update == KEPT && r < m)
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
    const ptrdiff_t behind = b->ld % 8 == 0 ? behind_line(b->data) : 0;
    for (ptrdiff_t at = 0; at < b->n; at += 8) {
        const ptrdiff_t stride = b->ld ? b->ld : at + 8;
        double *row = cf_triangle_row(b, at);
        const ptrdiff_t m = b->n - at < 8 ? b->n - at : 8, shift = at >= CF_BY_LINES ? behind : 0;
        vd s[8];
        for (int r = 0; r < 8; r++)
            s[r] = v_zero();
        if (at > 0) {
            ptrdiff_t r = 0;
            for (; r + CF_ROWS <= m; r += CF_ROWS)
                rows_left(row + r * stride, stride, CF_ROWS, at, shift, p, at + r, s + r, product,
                          update);
            for (; r + 2 <= m; r += 2)
                rows_left(row + r * stride, stride, 2, at, shift, p, at + r, s + r, product, update);
            for (; r < m; r++)
                rows_left(row + r * stride, stride, 1, at, shift, p, at + r, s + r, product, update);
        }
        if (b->ld == 0)
            rows_diagonal(row + at, stride, m, p, at, s, product, update, 1);
        else
            rows_diagonal(row + at, stride, m, p, at, s, product, update, 0);
    }
}

static void symv(const cf_triangle *b, const double *x, double *v)
{
    triangle_pass(b, &(pass){x, v, NULL, NULL}, 1, 0);
}

static void symv_less(const cf_triangle *b, const double *w, const double *x, double *v)
{
    triangle_pass(b, &(pass){x, v, w, w}, 1, SEEN);
}

static void rank_one_symv(const cf_triangle *b, const double *w, const double *x, double *v)
{
    triangle_pass(b, &(pass){x, v, w, w}, 1, KEPT);
}

static void rank_one(const cf_triangle *b, const double *w, const double *u)
{
    triangle_pass(b, &(pass){NULL, NULL, w, u}, 0, KEPT);
}

/* a + b = sum + lost exactly (Knuth): what a sum in float64 loses is kept in float32, where that
 * can hold it: sums beyond 2^180 lose what a plain sum does. */
CF_INLINE vd keep_lost(vd a, vd b, float *low)
{
    const vd y = v_add(b, v_load_f32(low)), sum = v_add(a, y), part = v_sub(sum, a);
    const vd lost = v_add(v_sub(a, v_sub(sum, part)), v_sub(y, part));
    v_store_f32(low, v_keep(v_lt(v_abs(lost), v_set1(FLT_MAX)), lost));
    return sum;
}

/* Four rows of a panel, the terms of m rows x summed among themselves before they meet the
 * triangle; f[4 r + k] is what x row r counts in triangle row k. `chunks` (a constant at every
 * call) chunks of columns from j on share what is read of f. */
CF_INLINE void block_chunks(double *row, float *low, ptrdiff_t stride, ptrdiff_t m,
                            const double *x, ptrdiff_t step, const double *f, ptrdiff_t j,
                            int chunks)
{
    vd a[4][2];
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < chunks; c++)
            a[k][c] = v_zero();
    for (ptrdiff_t r = 0; r < m; r++) {
        vd xr[2];
        for (int c = 0; c < chunks; c++)
            xr[c] = v_load(x + r * step + j + 8 * c);
        for (int k = 0; k < 4; k++) {
            const vd fk = v_set1(f[4 * r + k]);
            for (int c = 0; c < chunks; c++)
                a[k][c] = v_fma(fk, xr[c], a[k][c]);
        }
    }
    for (int k = 0; k < 4; k++)
        for (int c = 0; c < chunks; c++) {
            const ptrdiff_t at = k * stride + j + 8 * c;
            v_store(row + at, keep_lost(v_load(row + at), a[k][c], low + at));
        }
}

CF_INLINE void block_rows(double *row, float *low, ptrdiff_t stride, ptrdiff_t m, const double *x,
                          ptrdiff_t step, const double *f)
{
    ptrdiff_t j = 0;
    for (; j + 16 <= stride; j += 16)
        block_chunks(row, low, stride, m, x, step, f, j, 2);
    if (j < stride)
        block_chunks(row, low, stride, m, x, step, f, j, 1);
}

/* Whole panels: rows beyond n get zeros, entries above the diagonal their mirror's terms. */
static void rank_block(const cf_triangle *b, float *low, ptrdiff_t m, const double *rows,
                       ptrdiff_t stride, const double *c)
{
    double f[4 * CF_BLOCK];
    for (ptrdiff_t i = 0; i < cf_pad(b->n); i += 4) {
        for (ptrdiff_t r = 0; r < m; r++)
            for (int k = 0; k < 4; k++)
                f[4 * r + k] = c[r] * rows[r * stride + i + k];
        double *row = cf_triangle_row(b, i);
        const ptrdiff_t width = i / 8 * 8 + 8;
        if (m == CF_BLOCK)
            block_rows(row, low + (row - b->data), width, CF_BLOCK, rows, stride, f);
        else
            block_rows(row, low + (row - b->data), width, m, rows, stride, f);
    }
}

/* Whole lines inside `rows` rows (a constant at every call) that all begin one at column c;
 * returns the column behind the last. */
CF_INLINE ptrdiff_t flat_lines(double *row, ptrdiff_t n, int rows, ptrdiff_t c, const double *w,
                               const double *wi)
{
    vd f[4];
    for (int r = 0; r < rows; r++)
        f[r] = v_set1(wi[r]);
    for (; c + 8 <= n; c += 8) {
        const vd wc = v_load(w + c);
        for (int r = 0; r < rows; r++)
            v_store(row + r * n + c, v_fnma(f[r], wc, v_load(row + r * n + c)));
    }
    return c;
}

/* Rows that follow each other without a gap, one line of memory at a time: a line may hold the
 * end of one row and the head of the next, so that no store crosses a line. n >= 8; w[n .. n+8)
 * repeats the first eight. */
static void rank_one_flat(double *data, ptrdiff_t n, const double *w)
{
    ptrdiff_t c = -behind_line(data) & 7; /* the first line of row i begins at column c */
    for (ptrdiff_t j = 0; j < c; j++)
        data[j] = s_fnma(w[0], w[j], data[j]);
    for (ptrdiff_t i = 0; i < n;) {
        double *row = data + i * n;
        const int rows = n % 8 == 0 && i + 4 <= n ? 4 : 1;
        const ptrdiff_t end = rows == 4 ? flat_lines(row, n, 4, c, w, w + i)
                                        : flat_lines(row, n, 1, c, w, w + i);
        const ptrdiff_t left = n - end; /* lanes of a row in the line that it ends in */
        for (int r = 0; left && r < rows; r++) {
            double *line = row + r * n + end;
            if (i + r + 1 < n) {
                const vd f = v_blend(vm_first(left), v_set1(w[i + r]), v_set1(w[i + r + 1]));
                v_store(line, v_fnma(f, v_load(w + end), v_load(line)));
            } else {
                for (ptrdiff_t j = 0; j < left; j++)
                    line[j] = s_fnma(w[i + r], w[end + j], line[j]);
            }
        }
        c = left ? 8 - left : 0;
        i += rows;
    }
}

/* Both triangles, symmetric to the last bit; w has room for eight more than n. */
static void rank_one_square(const cf_triangle *b, double *w)
{
    const ptrdiff_t n = b->n, whole = n & ~(ptrdiff_t)7;
    const vm all = vm_first(n < 8 ? n : 0);
    if (b->ld == n && n >= 8) {
        v_store(w + n, v_load(w));
        rank_one_flat(b->data, n, w);
        return;
    }
    for (ptrdiff_t i = 0; i < n; i++) {
        double *row = b->data + i * b->ld;
        const vd wi = v_set1(w[i]);
        if (n < 8) {
            v_storem(row, v_fnma(wi, v_load(w), v_loadm(row, all)), all);
            continue;
        }
        /* the last eight first: they overlap a whole chunk, whose lanes then get the same again */
        const vd last = v_fnma(wi, v_load(w + n - 8), v_load(row + n - 8));
        for (ptrdiff_t j = 0; j < whole; j += 8)
            v_store(row + j, v_fnma(wi, v_load(w + j), v_load(row + j)));
        if (whole < n)
            v_store(row + n - 8, last);
    }
}

/* v = B x from the whole square, `chunks` (a constant at every call) chunks of columns: row j in
 * accumulator j mod 2 of each chunk, no sum across lanes. */
CF_INLINE void square_product(const cf_triangle *b, const double *x, double *v, int chunks)
{
    const ptrdiff_t n = b->n;
    const vm in = vm_first(n - 8 * (chunks - 1));
    vd even[4], odd[4];
    for (int c = 0; c < chunks; c++)
        even[c] = odd[c] = v_zero();
    for (ptrdiff_t j = 0; j < n; j += 2) {
        const double *row = b->data + j * b->ld, *next = row + b->ld;
        const int pair = j + 1 < n;
        const vd xj = v_set1(x[j]), xn = v_set1(pair ? x[j + 1] : 0.0);
        next = pair ? next : row;
        for (int c = 0; c < chunks; c++) {
            const int last = c == chunks - 1;
            const vd r = last ? v_loadm(row + 8 * c, in) : v_load(row + 8 * c);
            const vd s = last ? v_loadm(next + 8 * c, in) : v_load(next + 8 * c);
            even[c] = v_fma(r, xj, even[c]);
            odd[c] = v_fma(s, xn, odd[c]);
        }
    }
    for (int c = 0; c < chunks; c++)
        v_store(v + 8 * c, v_add(even[c], odd[c]));
}

/* Whether the last column is the mirror of the last row, at 8 places of it at the most: enough to
 * tell a matrix of which only the lower triangle was filled, or that rounding left lopsided. */
static int looks_symmetric(const cf_triangle *b)
{
    const ptrdiff_t n = b->n, step = n / 8 + 1;
    const double *row = b->data + (n - 1) * b->ld, *column = b->data + n - 1;
    int same = 1;
    for (ptrdiff_t j = 0; j < n - 1; j += step)
        same &= row[j] == column[j * b->ld];
    return same;
}

static void mirror(const cf_triangle *b)
{
    for (ptrdiff_t i = 0; i < b->n; i++)
        for (ptrdiff_t j = 0; j < i; j++)
            b->data[j * b->ld + i] = b->data[i * b->ld + j];
}

static int inverse_update(const cf_triangle *b, const double *x, double c, int both,
                          double *scratch, double *q)
{
    const ptrdiff_t n = b->n;
    const int lopsided = both && n > 1 && !looks_symmetric(b);
    if (both && n <= CF_INVERSE_SMALL && !lopsided) /* both triangles: faster than one */
        CF_BY_GROUPS(n, square_product(b, x, scratch, groups));
    else
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
    for (ptrdiff_t i = 0; i < n; i += 8) /* lanes beyond n are zero since the product */
        v_store(scratch + i, v_mul(root, v_load(scratch + i)));
    if (lopsided)
        mirror(b);
    if (both)
        rank_one_square(b, scratch);
    else
        rank_one(b, scratch, scratch);
    return CF_OK;
}
