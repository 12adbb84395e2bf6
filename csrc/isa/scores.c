/* Kernels of cf_scores.h. Included by the unit of each instruction set. */

typedef struct candidates {
    double *z, *q; /* compacted, eight zeros behind the last */
    ptrdiff_t n;
    double sz, sq; /* their sums */
} candidates;

/* Those of n entries with z + lam q > 0 go to the front of the buffers (which may be z and q);
 * the sums run in the lanes where the entries stood. z and q are read in whole chunks when
 * `padded`. */
CF_INLINE candidates keep_above(ptrdiff_t n, const double *z, const double *q, double lam,
                                double *zb, double *qb, int padded)
{
    const vd l = v_set1(lam), zero = v_zero();
    vd sz = zero, sq = zero;
    ptrdiff_t k = 0;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const int whole = padded || i + 8 <= n;
        const vd a = whole ? v_load(z + i) : v_loadn(z + i, n - i);
        const vd b = whole ? v_load(q + i) : v_loadn(q + i, n - i);
        const vm m = v_gt(v_fma(l, b, a), zero);
        const unsigned bits = vm_bits(m);
        if (bits == 0)
            continue;
        sz = v_add(sz, v_keep(m, a));
        sq = v_add(sq, v_keep(m, b));
        v_store(zb + k, v_compress(m, a)); /* k <= i: behind what is still to be read */
        v_store(qb + k, v_compress(m, b));
        k += __builtin_popcount(bits);
    }
    v_store(zb + k, zero);
    v_store(qb + k, zero);
    return (candidates){zb, qb, k, v_sum(sz), v_sum(sq)};
}

/* The root by random pivots: breakpoints -z/q are compared as z + t q with 0. c is used up. */
static double root_by_pivots(candidates *c, double s)
{
    double az = 0.0, aq = 0.0, alone = 0.0; /* sums of the entries known to be active */
    uint64_t seed = 0x9E3779B97F4A7C15u;
    while (c->n > 0) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        const ptrdiff_t j = (ptrdiff_t)(seed % (uint64_t)c->n);
        const double zj = c->z[j], qj = c->q[j], t = -zj / qj;
        c->z[j] = c->z[--c->n]; /* the pivot itself: active exactly if the root is right of t */
        c->q[j] = c->q[c->n];
        double sum = az + t * aq;
        for (ptrdiff_t i = 0; i < c->n; i++) {
            const double y = s_fma(t, c->q[i], c->z[i]);
            sum += y > 0.0 ? y : 0.0;
        }
        const int left = sum >= s;
        if (!left) {
            az += zj;
            aq += qj;
        }
        ptrdiff_t k = 0;
        for (ptrdiff_t i = 0; i < c->n; i++) {
            const double zi = c->z[i], qi = c->q[i];
            const int active = s_fma(t, qi, zi) > 0.0;
            if (!left && active) {
                az += zi;
                aq += qi;
            }
            c->z[k] = zi;
            c->q[k] = qi;
            k += active == left;
        }
        c->n = k;
        alone = (s - zj) / qj;
    }
    return aq > 0.0 ? (s - az) / aq : alone;
}

/* Newton from the bound lam, which may only be too large, on candidates that hold the root's. */
static double root_of(candidates *c, double lam, double s)
{
    for (int turn = 0; c->n > 0; turn++) {
        const double next = (s - c->sz) / c->sq;
        if (!(next < lam))
            return lam;
        lam = next;
        const ptrdiff_t had = c->n;
        if (turn == 12)
            return root_by_pivots(c, s);
        *c = keep_above(had, c->z, c->q, lam, c->z, c->q, 1);
        if (c->n == had)
            return lam;
    }
    return lam;
}

/* The least bound that one entry alone gives: for sums that overflow. */
static double best_alone(ptrdiff_t n, const double *z, const double *q, double s)
{
    double lam = __builtin_inf();
    for (ptrdiff_t i = 0; i < n; i++) {
        const double l = (s - z[i]) / q[i];
        lam = l < lam ? l : lam;
    }
    return lam;
}

/* Sums over all entries; the check of the input rides along. */
static int sums_of(ptrdiff_t n, const double *z, const double *q, double *sz, double *sq)
{
    const vd zero = v_zero();
    vd a = zero, b = zero, finite = zero;
    unsigned positive = 255;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd zi = v_loadn(z + i, m), qi = v_loadn(q + i, m);
        positive &= vm_bits(v_gt(qi, zero)) | ~vm_bits(vm_first(m));
        finite = v_fma(zi, zero, v_fma(qi, zero, finite));
        a = v_add(a, zi);
        b = v_add(b, qi);
    }
    *sz = v_sum(a);
    *sq = v_sum(b);
    if (v_sum(finite) != 0.0)
        return CF_ENONFINITE;
    return (positive & 255) == 255 ? CF_OK : CF_ENOTPOSITIVE;
}

static double root_large(ptrdiff_t n, const double *z, const double *q, double s, double sz,
                         double sq, double *scratch)
{
    double *zb = scratch, *qb = scratch + cf_pad(n) + 8;
    double lam = (s - sz) / sq;
    if (!(lam >= -DBL_MAX && lam <= DBL_MAX))
        lam = best_alone(n, z, q, s);
    if (n >= CF_SCORES_SAMPLE) { /* n / 8 entries or 512, whatever is less */
        const ptrdiff_t m = n / 8 < 512 ? n / 8 : 512, step = n / m;
        double a = 0.0, b = 0.0;
        for (ptrdiff_t i = 0; i < m; i++) {
            a += zb[i] = z[i * step];
            b += qb[i] = q[i * step];
        }
        v_store(zb + m, v_zero());
        v_store(qb + m, v_zero());
        candidates sample = {zb, qb, m, a, b};
        const double bound = root_of(&sample, __builtin_inf(), s);
        if (bound < lam)
            lam = bound;
    }
    candidates c = keep_above(n, z, q, lam, zb, qb, 0);
    return root_of(&c, lam, s);
}

/* n <= CF_SCORES_SMALL: everything stays in a few registers, so nothing is compacted */
static double root_small(ptrdiff_t n, const double *zp, const double *qp, double s, double sz,
                         double sq)
{
    const vd zero = v_zero();
    double lam = (s - sz) / sq;
    int had = (int)n;
    for (;;) {
        const vd l = v_set1(lam);
        vd a = zero, b = zero;
        int k = 0;
        for (ptrdiff_t i = 0; i < n; i += 8) {
            const vd zi = v_load(zp + i), qi = v_load(qp + i);
            const vm m = v_gt(v_fma(l, qi, zi), zero);
            a = v_add(a, v_keep(m, zi));
            b = v_add(b, v_keep(m, qi));
            k += __builtin_popcount(vm_bits(m));
        }
        if (k == had || k == 0)
            return lam;
        const double next = (s - v_sum(a)) / v_sum(b);
        if (!(next < lam))
            return lam;
        lam = next;
        had = k;
    }
}

/* v = max(0, z + lam q); the sum of v */
static double apply_root(ptrdiff_t n, const double *z, const double *q, double lam, double *v)
{
    const vd l = v_set1(lam), zero = v_zero();
    vd a = zero, b = zero;
    ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const vd y = v_max(v_fma(l, v_load(q + i), v_load(z + i)), zero);
        const vd x = v_max(v_fma(l, v_load(q + i + 8), v_load(z + i + 8)), zero);
        v_store(v + i, y);
        v_store(v + i + 8, x);
        a = v_add(a, y);
        b = v_add(b, x);
    }
    for (; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd y = v_max(v_fma(l, v_loadn(q + i, m), v_loadn(z + i, m)), zero);
        v_storen(v + i, y, m);
        a = v_add(a, y);
    }
    return v_sum(v_add(a, b));
}

static int root(ptrdiff_t n, const double *z, const double *q, double s, double *lam,
                double *scratch)
{
    double sz, sq;
    const int status = sums_of(n, z, q, &sz, &sq);
    if (status != CF_OK)
        return status;
    if (n > CF_SCORES_SMALL) {
        *lam = root_large(n, z, q, s, sz, sq, scratch);
    } else {
        double zp[CF_SCORES_SMALL], qp[CF_SCORES_SMALL];
        for (ptrdiff_t i = 0; i < n; i += 8) {
            const ptrdiff_t m = n - i < 8 ? n - i : 8;
            v_store(zp + i, v_loadn(z + i, m));
            v_store(qp + i, v_loadn(q + i, m));
        }
        const double all = (s - sz) / sq;
        if (all >= -DBL_MAX && all <= DBL_MAX) {
            *lam = root_small(n, zp, qp, s, sz, sq);
        } else {
            double zc[CF_SCORES_SMALL + 8], qc[CF_SCORES_SMALL + 8];
            const double bound = best_alone(n, z, q, s);
            candidates c = keep_above(n, z, q, bound, zc, qc, 0);
            *lam = root_of(&c, bound, s);
        }
    }
    return *lam >= -DBL_MAX && *lam <= DBL_MAX ? CF_OK : CF_ENONFINITE;
}

/* v = z + lam q, one rounding on every CPU (the fma of libm where there is no other); returns
 * the sum of what is positive. v may be z. */
static double recentre(ptrdiff_t n, const double *z, const double *q, double lam, double *v)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        v[i] = __builtin_fma(lam, q[i], z[i]);
        sum += v[i] > 0.0 ? v[i] : 0.0;
    }
    return sum;
}

static int project_scores(ptrdiff_t n, const double *z, const double *q, double s, double *v,
                          double *lam, double *scratch)
{
    const double allowed = DBL_EPSILON * s * (4.0 + __builtin_sqrt((double)n));
    double l;
    int status = root(n, z, q, s, &l, scratch);
    if (status != CF_OK)
        return status;
    double sum = apply_root(n, z, q, l, v);
    *lam = l;
    if (__builtin_fabs(sum - s) <= allowed)
        return CF_OK;
    sum = recentre(n, z, q, l, v);
    for (int turn = 0; turn < 3 && !(__builtin_fabs(sum - s) <= allowed); turn++) {
        status = root(n, v, q, s, &l, scratch);
        if (status != CF_OK)
            return status;
        *lam += l;
        sum = recentre(n, v, q, l, v);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] = v[i] > 0.0 ? v[i] : 0.0;
    return CF_OK;
}
