/* Kernels of cf_lines.h. Included by the unit of each instruction set. */

#define CF_AHEAD 10 /* entries between the one whose lines are asked for and the one at work */

CF_INLINE double *line_of(const cf_lines *t, const cf_row *x, ptrdiff_t e, int kind)
{
    return t->data + feature_of(x, e, kind) * t->stride;
}

CF_INLINE void ask_for(const double *line, ptrdiff_t doubles)
{
    for (ptrdiff_t j = 0; j < doubles; j += 8)
        CF_PREFETCH(line + j);
}

/* The same for the next row: into the second cache, the first holds this row. One entry of it
 * with each entry of this row, since only so many requests can be under way. */
CF_INLINE void ask_later(const cf_lines *t, const cf_row *next, ptrdiff_t e, ptrdiff_t doubles)
{
    const double *line = line_of(t, next, e, kind_of(next));
    for (ptrdiff_t j = 0; j < doubles; j += 8)
        __builtin_prefetch(line + j, 0, 2);
}

/* --- reading: `groups` vectors of eight classes from class `at` on ------------------------- */

#define CF_READ_SCORES 0
#define CF_READ_BOTH 1
#define CF_READ_COUNTED 2

CF_INLINE void read_groups(const cf_lines *t, const cf_row *x, const cf_row *next, ptrdiff_t at,
                           int groups, int what, int kind, double *m, double *q)
{
    const ptrdiff_t far = what == CF_READ_SCORES ? t->k : t->second + t->k;
    const ptrdiff_t coming = next && at == 0 ? next->nnz : 0;
    vd a[4], b[4];
    for (int g = 0; g < groups; g++)
        a[g] = b[g] = v_zero();
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        if (kind && at == 0 && e + CF_AHEAD < x->nnz)
            ask_for(line_of(t, x, e + CF_AHEAD, kind), far);
        if (e < coming)
            ask_later(t, next, e, far);
        const double *line = line_of(t, x, e, kind) + at, *second = line + t->second;
        const vd v = v_set1(x->value[e]), square = v_mul(v, v);
        for (int g = 0; g < groups; g++) {
            const vd w = v_load(line + 8 * g);
            if (what == CF_READ_COUNTED) {
                a[g] = v_fma(w, v_div(v, v_add(v_load(second + 8 * g), square)), a[g]);
            } else {
                a[g] = v_fma(w, v, a[g]);
                if (what == CF_READ_BOTH)
                    b[g] = v_fma(v_load(second + 8 * g), square, b[g]);
            }
        }
    }
    for (ptrdiff_t e = x->nnz; e < coming; e++)
        ask_later(t, next, e, far);
    for (int g = 0; g < groups; g++) {
        const ptrdiff_t left = t->k - at - 8 * g;
        const vm in = vm_first(left < 8 ? left : 8);
        v_store(m + at + 8 * g, v_keep(in, a[g]));
        if (what == CF_READ_BOTH)
            v_store(q + at + 8 * g, v_keep(in, b[g]));
    }
}

CF_INLINE void read_kind(const cf_lines *t, const cf_row *x, const cf_row *next, int what,
                         int kind, double *m, double *q)
{
    ptrdiff_t at = 0;
    for (; t->k - at > 32; at += 32)
        read_groups(t, x, next, at, 4, what, kind, m, q);
    CF_BY_GROUPS(t->k - at, read_groups(t, x, next, at, groups, what, kind, m, q));
}

/* the first entries' lines, which the loop itself is too late to ask for */
static void ask_first(const cf_lines *t, const cf_row *x, ptrdiff_t doubles)
{
    for (ptrdiff_t e = 0; (x->i32 || x->i64) && e < x->nnz && e < CF_AHEAD; e++)
        ask_for(line_of(t, x, e, kind_of(x)), doubles);
}

static void lines_scores(const cf_lines *t, const cf_row *x, const cf_row *next, double *m)
{
    ask_first(t, x, t->k);
    CF_BY_KIND(x, read_kind(t, x, next, CF_READ_SCORES, kind, m, NULL));
}

static void lines_read(const cf_lines *t, const cf_row *x, const cf_row *next, double *m, double *q)
{
    ask_first(t, x, t->second + t->k);
    CF_BY_KIND(x, read_kind(t, x, next, CF_READ_BOTH, kind, m, q));
}

static void lines_counted(const cf_lines *t, const cf_row *x, const cf_row *next, double *m)
{
    ask_first(t, x, t->second + t->k);
    CF_BY_KIND(x, read_kind(t, x, next, CF_READ_COUNTED, kind, m, NULL));
}

static void lines_read_one(const cf_lines *t, const cf_row *x, ptrdiff_t i, double *m, double *q)
{
    double a = 0.0, b = 0.0;
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        const double *line = line_of(t, x, e, kind_of(x)), v = x->value[e];
        a = s_fma(line[i], v, a);
        b = s_fma(line[t->second + i], v * v, b);
    }
    *m = a;
    *q = b;
}

/* --- changing ------------------------------------------------------------------------------ */

/* Entries e ... e + n - 1, n <= 8, of one class: at once, since each needs a division. */
CF_INLINE void step_some(const cf_lines *t, const cf_row *x, ptrdiff_t e, ptrdiff_t n, ptrdiff_t i,
                         double s, int mode, int kind)
{
    double *place[8], w[8] = {0}, d[8] = {0};
    for (ptrdiff_t l = 0; l < n; l++) {
        place[l] = line_of(t, x, e + l, kind) + i;
        d[l] = place[l][t->second];
        w[l] = mode ? *place[l] : 0.0;
    }
    const vd v = v_loadn(x->value + e, n), dv = v_load(d), dx = v_mul(dv, v);
    const vd rest = v_fma(dx, v, v_set1(1.0));
    vd wv = v_fma(dx, v_set1(s), v_load(w));
    if (mode == CF_STEP_PRINTED)
        wv = v_div(wv, rest);
    v_store(w, wv);
    v_store(d, v_div(dv, rest));
    for (ptrdiff_t l = 0; l < n; l++) {
        place[l][t->second] = d[l];
        if (mode)
            *place[l] = w[l];
    }
}

/* Eight entries, then the step of class i on them (i < 0: none), while their lines are near. */
CF_INLINE void move_groups(const cf_lines *t, const cf_row *x, ptrdiff_t at, int groups, int kind,
                           const double *c, ptrdiff_t i, double s, int mode)
{
    const ptrdiff_t left = t->k - at - 8 * (groups - 1);
    const vm last = vm_first(left < 8 ? left : 8);
    vd steps[4];
    for (int g = 0; g < groups; g++)
        steps[g] = v_load(c + at + 8 * g);
    for (ptrdiff_t begin = 0; begin < x->nnz; begin += 8) {
        const ptrdiff_t end = begin + 8 < x->nnz ? begin + 8 : x->nnz;
        for (ptrdiff_t e = begin; e < end; e++) {
            double *line = line_of(t, x, e, kind) + at;
            const vd v = v_set1(x->value[e]);
            for (int g = 0; g < groups; g++) {
                const vd dx = v_mul(v_load(line + t->second + 8 * g), v);
                const vd w = v_fma(dx, steps[g], v_load(line + 8 * g));
                if (g + 1 < groups)
                    v_store(line + 8 * g, w);
                else
                    v_storem(line + 8 * g, w, last);
            }
        }
        if (i >= 0)
            step_some(t, x, begin, end - begin, i, s, mode, kind);
    }
}

CF_INLINE void move_kind(const cf_lines *t, const cf_row *x, const double *c, ptrdiff_t i, double s,
                         int mode, int kind)
{
    ptrdiff_t at = 0;
    for (; t->k - at > 32; at += 32)
        move_groups(t, x, at, 4, kind, c, -1, 0.0, 0);
    CF_BY_GROUPS(t->k - at, move_groups(t, x, at, groups, kind, c, i, s, mode));
}

static void lines_move(const cf_lines *t, const cf_row *x, const double *c, ptrdiff_t i, double s,
                       int mode)
{
    CF_BY_KIND(x, move_kind(t, x, c, i, s, mode, kind));
}

static void lines_step(const cf_lines *t, const cf_row *x, ptrdiff_t i, double s, int mode)
{
    CF_BY_KIND(x, for (ptrdiff_t e = 0; e < x->nnz; e += 8)
                      step_some(t, x, e, x->nnz - e < 8 ? x->nnz - e : 8, i, s, mode, kind));
}

enum { ADD, COUNT, SHRINK };

/* What one entry v makes of a class's pair (w, second value s): w += step v and, to COUNT,
 * s += v^2; to SHRINK w += step s v, s -= beta (s v)^2. Returns 0 where both are finite; -1 where no variance
 * is left, NaN where a weight is not finite. */
CF_INLINE double changed(const double *line, ptrdiff_t second, double v, double step, int how,
                         double beta, double *w, double *s)
{
    if (how == SHRINK) {
        const double dx = line[second] * v;
        *w = s_fma(step, dx, line[0]);
        *s = s_fnma(beta * dx, dx, line[second]);
        return *w * 0.0 + (*s > 0.0 ? *s * 0.0 : -1.0);
    }
    *w = s_fma(step, v, line[0]);
    *s = how == COUNT ? s_fma(v, v, line[second]) : 0.0;
    return *w * 0.0 + *s * 0.0;
}

CF_INLINE int change_classes(const cf_lines *t, const cf_row *x, const cf_change *c,
                             int how, double beta)
{
    const int kind = kind_of(x), two = c->second_class >= 0;
    double w, s, check = 0.0;
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        const double *line = line_of(t, x, e, kind), v = x->value[e];
        check += changed(line + c->first_class, t->second, v, c->first_step, how, beta, &w, &s);
        if (two)
            check += changed(line + c->second_class, t->second, v, c->second_step, how, beta, &w,
                             &s);
    }
    if (check != 0.0)
        return check < 0.0 ? CF_EVALUE : CF_ENONFINITE;
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        for (int turn = 0; turn <= two; turn++) {
            double *line = line_of(t, x, e, kind) + (turn ? c->second_class : c->first_class);
            const double step = turn ? c->second_step : c->first_step;
            changed(line, t->second, x->value[e], step, how, beta, &w, &s);
            line[0] = w;
            if (how != ADD)
                line[t->second] = s;
        }
    }
    return CF_OK;
}

static int lines_add(const cf_lines *t, const cf_row *x, const cf_change *c, int count)
{
    return change_classes(t, x, c, count ? COUNT : ADD, 0.0);
}

static int lines_shrink(const cf_lines *t, const cf_row *x, const cf_change *c, double beta)
{
    return change_classes(t, x, c, SHRINK, beta);
}

/* --- labels -------------------------------------------------------------------------------- */

CF_INLINE vd score_of(const double *m, const double *q, vd f, ptrdiff_t i, ptrdiff_t k)
{
    const vm in = vm_first(k - i < 8 ? k - i : 8);
    const vd width = q ? v_sqrt(v_mul(f, v_load(q + i))) : v_zero();
    return v_blend(in, v_add(v_load(m + i), width), v_set1(-DBL_MAX));
}

/* the largest of all lanes in every lane */
CF_INLINE vd v_top(vd v)
{
    v = v_max(v, v_rotate(v, 4));
    v = v_max(v, v_rotate(v, 2));
    return v_max(v, v_rotate(v, 1));
}

/* two passes: the largest, and where it stands first; one where a vector holds them all */
CF_INLINE ptrdiff_t bold_label(ptrdiff_t k, const double *m, const double *q, double factor)
{
    const vd f = v_set1(factor);
    vd s = score_of(m, q, f, 0, k), most = s, check = v_mul(s, v_zero());
    for (ptrdiff_t i = 8; i < k; i += 8) {
        s = score_of(m, q, f, i, k);
        most = v_max(s, most);
        check = v_fma(s, v_zero(), check);
    }
    if (v_sum(check) != 0.0)
        return -1;
    most = v_top(most);
    if (k <= 8)
        return __builtin_ctz(vm_bits(v_ge(s, most)));
    for (ptrdiff_t i = 0;; i += 8) {
        const unsigned bits = vm_bits(v_ge(score_of(m, q, f, i, k), most));
        if (bits)
            return i + __builtin_ctz(bits);
    }
}

static ptrdiff_t best_label(ptrdiff_t k, const double *m) { return bold_label(k, m, NULL, 0.0); }

/* Newton for few classes, in `groups` (a constant at every call) vectors that stay in registers:
 * the steps of project_scores, but none of its cures. 0 where one might be needed. */
CF_INLINE int project_few(ptrdiff_t k, int groups, const double *z, const double *q, double s,
                          double *v)
{
    const vd zero = v_zero();
    const vm last = vm_first(k - 8 * (groups - 1));
    vd zs[4], qs[4], y[4], sz = zero, sq = zero;
    vm above[4];
    int good = 1, had = -1;
    for (int g = 0; g < groups; g++) {
        const vm in = g + 1 < groups ? vm_first(8) : last;
        zs[g] = v_keep(in, v_load(z + 8 * g));
        qs[g] = v_keep(in, v_load(q + 8 * g));
        above[g] = v_gt(qs[g], zero);
        good &= vm_bits(above[g]) == vm_bits(in);
        sz = v_add(sz, zs[g]);
        sq = v_add(sq, qs[g]);
    }
    for (int turn = 0; good && turn < 12; turn++) {
        const vd lam = v_set1((s - v_sum(sz)) / v_sum(sq));
        int now = 0;
        sz = sq = zero;
        for (int g = 0; g < groups; g++) {
            y[g] = v_fma(lam, qs[g], zs[g]);
            above[g] = vm_and(above[g], v_gt(y[g], zero));
            now += __builtin_popcount(vm_bits(above[g]));
            sz = v_add(sz, v_keep(above[g], zs[g]));
            sq = v_add(sq, v_keep(above[g], qs[g]));
        }
        if (now == had || now == 0)
            break;
        had = now;
    }
    vd sum = zero;
    for (int g = 0; good && g < groups; g++) {
        y[g] = v_max(y[g], zero);
        v_store(v + 8 * g, y[g]);
        sum = v_add(sum, y[g]);
    }
    return good && __builtin_fabs(v_sum(sum) - s) <= 8.0 * DBL_EPSILON * s;
}

static int project_labels(ptrdiff_t k, double *m, const double *q, double alpha, double *c,
                          double *scratch)
{
    const double total = 1.0 + alpha;
    double *z = scratch, *v = scratch + cf_pad(k), lam;
    const vd shift = v_set1(alpha);
    vd check = v_zero();
    int done = 0;
    for (ptrdiff_t i = 0; i < k; i += 8)
        v_store(z + i, v_add(v_load(m + i), shift));
    if (k <= 32)
        CF_BY_GROUPS(k, done = project_few(k, groups, z, q, total, v));
    if (!done) {
        const int status = project_scores(k, z, q, total, v, &lam, v + cf_pad(k));
        if (status != CF_OK)
            return status == CF_ENOTPOSITIVE ? CF_EVALUE : status;
    }
    for (ptrdiff_t i = 0; i < k; i += 8) {
        const vm in = vm_first(k - i < 8 ? k - i : 8);
        const vd now = v_loadm(v + i, in), qi = v_blend(in, v_load(q + i), v_set1(1.0));
        const vd ci = v_keep(in, v_div(v_sub(now, v_load(z + i)), qi));
        check = v_fma(ci, v_zero(), check);
        v_store(c + i, ci);
    }
    if (v_sum(check) != 0.0)
        return CF_EVALUE;
    for (ptrdiff_t i = 0; i < k; i += 8) {
        const vm in = vm_first(k - i < 8 ? k - i : 8);
        v_store(m + i, v_keep(in, v_sub(v_loadm(v + i, in), shift)));
    }
    return CF_OK;
}
