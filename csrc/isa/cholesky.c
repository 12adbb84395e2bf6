/* Kernels of cf_cholesky.h. Included by the unit of each instruction set. */

CF_INLINE double *panel(const cf_cholesky *l, ptrdiff_t p) { return l->data + 32 * p * (p + 1); }

/* block^-1 x, block the 8 x 8 lower triangle at the end of a panel: lane j is final at step j */
CF_INLINE vd solve_lower(const double *block, vd inv, vd x)
{
    for (int j = 0; j < 7; j++)
        x = v_fnma(v_keep(vm_from(j + 1), v_load(block + 8 * j)), v_lane(v_mul(x, inv), j), x);
    return v_mul(x, inv);
}

/* block^-T x */
CF_INLINE vd solve_upper(const double *block, vd inv, vd x)
{
    vd rows[8];
    for (int j = 0; j < 8; j++)
        rows[j] = v_load(block + 8 * j);
    v_transpose8(rows);
    for (int i = 7; i > 0; i--)
        x = v_fnma(v_keep(vm_first(i), rows[i]), v_lane(v_mul(x, inv), i), x);
    return v_mul(x, inv);
}

/* How many right sides go through a panel together: as many as there are registers. */
#if defined(CF_LANES_V4)
#define CF_SIDES 6
#else
#define CF_SIDES 2
#endif

/* The eight rows of a panel from `at` on, `sides` (a constant at every call) right sides. */
CF_INLINE void forward_panel(const cf_cholesky *l, ptrdiff_t at, int sides, const double *k,
                             double *u, ptrdiff_t stride)
{
    const double *a = panel(l, at / 8);
    vd s[CF_SIDES][4];
    for (int r = 0; r < sides; r++) {
        s[r][0] = v_load(k + r * stride + at);
        s[r][1] = s[r][2] = s[r][3] = v_zero();
    }
    for (ptrdiff_t j = 0; j < at; j += 4)
        for (int c = 0; c < 4; c++) {
            const vd column = v_load(a + 8 * (j + c));
            for (int r = 0; r < sides; r++)
                s[r][c] = v_fnma(column, v_set1(u[r * stride + j + c]), s[r][c]);
        }
    const vd inv = v_load(l->inv + at);
    for (int r = 0; r < sides; r++) {
        const vd sum = v_add(v_add(s[r][0], s[r][1]), v_add(s[r][2], s[r][3]));
        v_store(u + r * stride + at, solve_lower(a + 8 * at, inv, sum));
    }
}

static void cholesky_forward(const cf_cholesky *l, ptrdiff_t at, const double *k, double *u)
{
    for (; at < l->n; at += 8)
        forward_panel(l, at, 1, k, u, 0);
}

static void cholesky_forward_many(const cf_cholesky *l, ptrdiff_t m, double *u, ptrdiff_t stride)
{
    for (ptrdiff_t at = 0; at < l->n; at += 8) {
        ptrdiff_t r = 0;
        for (; r + CF_SIDES <= m; r += CF_SIDES)
            forward_panel(l, at, CF_SIDES, u + r * stride, u + r * stride, stride);
        for (; r < m; r++)
            forward_panel(l, at, 1, u + r * stride, u + r * stride, stride);
    }
}

static void cholesky_backward(const cf_cholesky *l, const double *u, double *x)
{
    if (x != u)
        memmove(x, u, (size_t)cf_pad(l->n) * sizeof *x);
    for (ptrdiff_t at = cf_pad(l->n) - 8; at >= 0; at -= 8) {
        const double *a = panel(l, at / 8);
        const vd s = solve_upper(a + 8 * at, v_load(l->inv + at), v_load(x + at));
        v_store(x + at, s);
        for (ptrdiff_t j = 0; j < at; j += 8) {
            vd t[8];
            for (int r = 0; r < 8; r++)
                t[r] = v_mul(v_load(a + 8 * (j + r)), s);
            v_store(x + j, v_sub(v_load(x + j), v_sum8(t)));
        }
    }
}

static void cholesky_append(cf_cholesky *l, const double *u, double pivot)
{
    const ptrdiff_t i = l->n, r = i % 8;
    double *a = panel(l, i / 8);
    if (r == 0) /* a new panel: the memory may hold anything */
        memset(a, 0, (size_t)(8 * (i + 8)) * sizeof *a);
    for (ptrdiff_t j = 0; j < i; j++)
        a[8 * j + r] = u[j];
    a[8 * i + r] = pivot;
    if (r == 0)
        memset(l->inv + i, 0, 8 * sizeof *l->inv);
    l->inv[i] = 1.0 / pivot;
    l->n = i + 1;
}

/* Panels that go through the rotations together: each is a chain of its own, which hides the time
 * that one step of it takes. */
#define CF_CHAINS 4

/* Column j of the panel at `at` when element (i+1, j+1) has moved to (i, j): read in place, before
 * anything is written at j + 1. n: rows that are left. */
CF_INLINE vd moved_column(const cf_cholesky *l, ptrdiff_t n, ptrdiff_t at, ptrdiff_t j)
{
    const double *a = panel(l, at / 8);
    const vd column = j < at + 7 ? v_load(a + 8 * (j + 1)) : v_zero();
    const double last = at + 8 <= n ? panel(l, at / 8 + 1)[8 * (j + 1)] : 0.0;
    return v_blend(vm_from(7), v_set1(last), v_rotate(column, 1));
}

/* The first `count` columns of some panels, rotated; where the first row and column leave, moved
 * (panels and moved are constants at every call). */
CF_INLINE void turn_columns(const cf_cholesky *l, ptrdiff_t n, ptrdiff_t at, int panels, int moved,
                            ptrdiff_t from, ptrdiff_t count, const double *c, const double *s,
                            double *x)
{
    vd xr[CF_CHAINS];
    for (int p = 0; p < panels; p++)
        xr[p] = v_load(x + at + 8 * p);
    for (ptrdiff_t j = from; j < count; j++) {
        const vd cj = v_set1(c[j]), sj = v_set1(s[j]);
        for (int p = 0; p < panels; p++) {
            double *place = panel(l, at / 8 + p) + 8 * j;
            const vd col = moved ? moved_column(l, n, at + 8 * p, j) : v_load(place);
            v_store(place, v_fma(cj, col, v_mul(sj, xr[p])));
            xr[p] = v_fnma(sj, col, v_mul(cj, xr[p]));
        }
    }
    for (int p = 0; p < panels; p++)
        v_store(x + at + 8 * p, xr[p]);
}

/* One rotation in place of (pivot, x): r = sqrt(pivot^2 + x^2) without overflow */
CF_INLINE void rotation(double pivot, double x, double *c, double *s, double *r)
{
    const double big = __builtin_fmax(pivot, __builtin_fabs(x));
    const double a = pivot / big, b = x / big;
    const double h = __builtin_sqrt(a * a + b * b);
    *r = big * h;
    *c = a / h;
    *s = b / h;
}

/* The diagonal block of a panel, where the rotations are made. */
CF_INLINE void turn_block(cf_cholesky *l, ptrdiff_t n, ptrdiff_t at, int moved, double *c,
                          double *s, double *x)
{
    double *a = panel(l, at / 8), *rest = x + at;
    for (ptrdiff_t j = at; moved && j < at + 8; j++)
        v_store(a + 8 * j, moved_column(l, n, at, j));
    for (ptrdiff_t j = at; j < at + 8; j++) {
        double *col = a + 8 * j, r;
        const int first = (int)(j - at);
        if (j >= n) { /* rows that are not there */
            l->inv[j] = 0.0;
            continue;
        }
        rotation(col[first], rest[first], &c[j], &s[j], &r);
        col[first] = r;
        l->inv[j] = 1.0 / r;
        for (int i = first + 1; i < 8; i++) {
            const double old = col[i];
            col[i] = s_fma(c[j], old, s[j] * rest[i]);
            rest[i] = s_fnma(s[j], old, c[j] * rest[i]);
        }
    }
}

/* L of n rows plus x x^T, x of cf_pad(n) numbers: one rotation a column, one pass over the factor.
 * moved: L is what is left of l when its first row and column are gone. */
CF_INLINE void turn(cf_cholesky *l, ptrdiff_t n, int moved, double *x, double *c)
{
    double *s = c + cf_pad(n + moved);
    for (ptrdiff_t at = 0; at < n; at += 8 * CF_CHAINS) {
        const int whole = at + 8 * CF_CHAINS <= cf_pad(n);
        if (whole)
            turn_columns(l, n, at, CF_CHAINS, moved, 0, at, c, s, x);
        for (int p = 0; p < CF_CHAINS && at + 8 * p < n; p++) {
            turn_columns(l, n, at + 8 * p, 1, moved, whole ? at : 0, at + 8 * p, c, s, x);
            turn_block(l, n, at + 8 * p, moved, c, s, x);
        }
    }
    l->n = n;
}

static void cholesky_drop_first(cf_cholesky *l, double *scratch)
{
    if (l->n <= 1) {
        l->n = 0;
        return;
    }
    const ptrdiff_t padded = cf_pad(l->n), n = l->n - 1;
    double *x = scratch; /* the first column without its head */
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = *cf_cholesky_at(l, i + 1, 0);
    for (ptrdiff_t i = n; i < padded; i++)
        x[i] = 0.0;
    turn(l, n, 1, x, x + padded);
}

static void cholesky_add(cf_cholesky *l, double *x, double *scratch)
{
    turn(l, l->n, 0, x, scratch);
}

/* C_j -= sum over k < count of (column k of one panel) * L[row j of another, column k]: the
 * 8 x 8 step of the factorisation, eight accumulators. */
CF_INLINE void subtract_products(vd acc[8], const double *columns, const double *rows,
                                 ptrdiff_t count)
{
    vd s[8];
    for (int j = 0; j < 8; j++)
        s[j] = acc[j];
    for (ptrdiff_t k = 0; k < count; k++) {
        const vd col = v_load(columns + 8 * k);
        for (int j = 0; j < 8; j++)
            s[j] = v_fnma(v_set1(rows[8 * k + j]), col, s[j]);
    }
    for (int j = 0; j < 8; j++)
        acc[j] = s[j];
}

/* Columns 8J ... 8J+7 of panel I of the matrix; rows and columns beyond n are zero. */
CF_INLINE void load_columns(const cf_triangle *m, ptrdiff_t ati, ptrdiff_t atj, vd c[8])
{
    for (int r = 0; r < 8; r++) {
        const ptrdiff_t i = ati + r, width = i - atj + 1 < 8 ? i - atj + 1 : 8;
        c[r] = i < m->n ? v_loadn(cf_triangle_row(m, i) + atj, width) : v_zero();
    }
    v_transpose8(c);
}

/* The diagonal block of a panel: eight columns; a pivot that is not positive ends it. */
static int factor_block(double *block, double *inv, int rows, vd c[8])
{
    double low[64];
    for (int j = 0; j < 8; j++)
        v_store(low + 8 * j, c[j]);
    for (int j = 0; j < 8; j++) {
        double *col = low + 8 * j;
        if (j >= rows) {
            memset(col, 0, 8 * sizeof *col);
            inv[j] = 0.0;
            continue;
        }
        if (!(col[j] > 0.0 && col[j] <= DBL_MAX))
            return CF_ENOTPOSITIVE;
        const double pivot = __builtin_sqrt(col[j]);
        inv[j] = 1.0 / pivot;
        for (int i = 0; i < 8; i++)
            col[i] = i > j ? col[i] * inv[j] : i == j ? pivot : 0.0;
        for (int k = j + 1; k < rows; k++)
            for (int i = k; i < 8; i++)
                low[8 * k + i] = s_fnma(col[k], col[i], low[8 * k + i]);
    }
    memcpy(block, low, sizeof low);
    return CF_OK;
}

static int cholesky_factor(const cf_triangle *m, cf_cholesky *l)
{
    l->n = m->n;
    for (ptrdiff_t at = 0; at < m->n; at += 8) {
        double *mine = panel(l, at / 8);
        vd c[8];
        for (ptrdiff_t atj = 0; atj < at; atj += 8) {
            const double *other = panel(l, atj / 8), *block = other + 8 * atj;
            load_columns(m, at, atj, c);
            subtract_products(c, mine, other, atj);
            for (int j = 0; j < 8; j++) {
                c[j] = v_mul(c[j], v_set1(l->inv[atj + j]));
                for (int k = j + 1; k < 8; k++)
                    c[k] = v_fnma(v_set1(block[8 * j + k]), c[j], c[k]);
                v_store(mine + 8 * (atj + j), c[j]);
            }
        }
        load_columns(m, at, at, c);
        subtract_products(c, mine, mine, at);
        const int rows = m->n - at < 8 ? (int)(m->n - at) : 8;
        CF_TRY(factor_block(mine + 8 * at, l->inv + at, rows, c));
    }
    return CF_OK;
}

/* Eight columns of the inverse at a time, one in each lane: y = L^-1 E, then x = L^-T y; only
 * rows from those columns' own on, which is the lower triangle. */
static void cholesky_inverse(const cf_cholesky *l, const cf_triangle *b, double *scratch)
{
    const ptrdiff_t n = l->n;
    for (ptrdiff_t atj = 0; atj < n; atj += 8) {
        vd acc[8];
        for (ptrdiff_t at = atj; at < n; at += 8) {
            const double *a = panel(l, at / 8);
            for (int r = 0; r < 8; r++)
                acc[r] = at == atj ? v_keep(vm_and(vm_from(r), vm_first(r + 1)), v_set1(1.0)) : v_zero();
            subtract_products(acc, scratch + 8 * atj, a + 8 * atj, at - atj);
            for (int r = 0; r < 8; r++) {
                acc[r] = v_mul(acc[r], v_set1(l->inv[at + r]));
                for (int i = r + 1; i < 8; i++)
                    acc[i] = v_fnma(v_set1(a[8 * (at + r) + i]), acc[r], acc[i]);
                v_store(scratch + 8 * (at + r), acc[r]);
            }
        }
        for (ptrdiff_t at = cf_pad(n) - 8; at >= atj; at -= 8) {
            const double *own = panel(l, at / 8);
            for (int r = 0; r < 8; r++)
                acc[r] = v_load(scratch + 8 * (at + r));
            for (ptrdiff_t k = at + 8; k < n; k++) {
                const double *row = panel(l, k / 8) + 8 * at + k % 8;
                const vd xk = v_load(scratch + 8 * k);
                for (int r = 0; r < 8; r++)
                    acc[r] = v_fnma(v_set1(row[8 * r]), xk, acc[r]);
            }
            for (int r = 7; r >= 0; r--) {
                acc[r] = v_mul(acc[r], v_set1(l->inv[at + r]));
                for (int i = 0; i < r; i++)
                    acc[i] = v_fnma(v_set1(own[8 * (at + i) + r]), acc[r], acc[i]);
                v_store(scratch + 8 * (at + r), acc[r]);
                if (at + r < n) {
                    const ptrdiff_t width = at + r - atj + 1 < 8 ? at + r - atj + 1 : 8;
                    v_storen(cf_triangle_row(b, at + r) + atj, acc[r], width);
                }
            }
        }
    }
}
