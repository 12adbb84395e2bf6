/* Kernels of cf_scores.h. Included by the unit of each instruction set. */

/* A turn of recentring gains 53 bits, so that 40 bridge the whole range of the exponent. */
#define CF_SCORES_TURNS 40

typedef struct candidates {
    double *z, *q; /* compacted, eight zeros behind the last */
    ptrdiff_t n;
    double sz, sq; /* their sums */
} candidates;

/* What is wrong with the input, gathered lane by lane while it is read anyway. */
typedef struct faults {
    vd finite;         /* 0 as long as all is finite */
    unsigned positive; /* a bit a lane, set as long as q > 0 */
} faults;

CF_INLINE void look_at(faults *f, vd z, vd q, unsigned there)
{
    f->positive &= vm_bits(v_gt(q, v_zero())) | ~there;
    f->finite = v_fma(z, v_zero(), v_fma(q, v_zero(), f->finite));
}

CF_INLINE int verdict(const faults *f)
{
    if (v_sum(f->finite) != 0.0)
        return CF_ENONFINITE;
    return (f->positive & 255u) == 255u ? CF_OK : CF_ENOTPOSITIVE;
}

/* Those of n entries with z + lam q > 0 go to the front of the buffers (which may be z and q);
 * the sums run in the lanes where the entries stood. z and q are read in whole chunks when
 * `padded`; f, where not NULL, looks at all of them. */
CF_INLINE candidates keep_above(ptrdiff_t n, const double *z, const double *q, double lam,
                                double *zb, double *qb, int padded, faults *f)
{
    const vd l = v_set1(lam), zero = v_zero();
    vd sz = zero, sq = zero;
    ptrdiff_t k = 0;
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const int whole = padded || i + 8 <= n;
        const vd a = whole ? v_load(z + i) : v_loadn(z + i, n - i);
        const vd b = whole ? v_load(q + i) : v_loadn(q + i, n - i);
        if (f)
            look_at(f, a, b, whole ? 255u : vm_bits(vm_first(n - i)));
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
        *c = keep_above(had, c->z, c->q, lam, c->z, c->q, 1, NULL);
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

/* Sums over all entries, copied to zc and qc (filled up with zeros) where these are not NULL;
 * the check of the input rides along. */
CF_INLINE int sums_of(ptrdiff_t n, const double *z, const double *q, double *zc, double *qc,
                      double *sz, double *sq)
{
    vd a = v_zero(), b = v_zero();
    faults f = {v_zero(), 255u};
    for (ptrdiff_t i = 0; i < n; i += 8) {
        const ptrdiff_t m = n - i < 8 ? n - i : 8;
        const vd zi = v_loadn(z + i, m), qi = v_loadn(q + i, m);
        look_at(&f, zi, qi, vm_bits(vm_first(m)));
        if (zc) {
            v_store(zc + i, zi);
            v_store(qc + i, qi);
        }
        a = v_add(a, zi);
        b = v_add(b, qi);
    }
    *sz = v_sum(a);
    *sq = v_sum(b);
    return verdict(&f);
}

/* A bound for many entries: the root of every step-th. */
static double sampled_bound(ptrdiff_t n, const double *z, const double *q, double s, double *zb,
                            double *qb)
{
    const ptrdiff_t m = n / 8 < 512 ? n / 8 : 512, step = n / m;
    double a = 0.0, b = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        a += zb[i] = z[i * step];
        b += qb[i] = q[i * step];
    }
    v_store(zb + m, v_zero());
    v_store(qb + m, v_zero());
    candidates sample = {zb, qb, m, a, b};
    return root_of(&sample, __builtin_inf(), s);
}

CF_INLINE int is_finite(double x) { return x >= -DBL_MAX && x <= DBL_MAX; }

/* The bound of the entries with z > 0, where nothing large cancels; infinite if there is none. */
static double bound_of_positive(ptrdiff_t n, const double *z, const double *q, double s)
{
    double a = 0.0, b = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        a += z[i] > 0.0 ? z[i] : 0.0;
        b += z[i] > 0.0 ? q[i] : 0.0;
    }
    return b > 0.0 ? (s - a) / b : __builtin_inf();
}

/* n <= CF_SCORES_SMALL, copies filled up with zeros: so few that nothing is compacted */
static double root_small(ptrdiff_t n, const double *zp, const double *qp, double s, double lam)
{
    const vd zero = v_zero();
    for (int had = -1;;) {
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

/* The root for few entries; `some`: the bound comes from the entries with z > 0, as it does for
 * a problem that is recentred already, else from all. */
static int root_few(ptrdiff_t n, const double *z, const double *q, double s, int some, double *lam)
{
    double zp[CF_SCORES_SMALL], qp[CF_SCORES_SMALL], sz, sq;
    const int status = sums_of(n, z, q, zp, qp, &sz, &sq);
    if (status != CF_OK && !some) /* recentred, what is far below zero may be -inf */
        return status;
    double bound = some ? bound_of_positive(n, z, q, s) : (s - sz) / sq;
    if (!is_finite(bound))
        bound = best_alone(n, z, q, s);
    *lam = root_small(n, zp, qp, s, bound);
    return CF_OK;
}

/* The same for many. */
static int root_many(ptrdiff_t n, const double *z, const double *q, double s, int some,
                     double *lam, double *scratch)
{
    faults f = {v_zero(), 255u};
    double sz, sq, bound;
    if (some) {
        bound = bound_of_positive(n, z, q, s);
    } else if (n < CF_SCORES_SAMPLE) {
        CF_TRY(sums_of(n, z, q, NULL, NULL, &sz, &sq));
        bound = (s - sz) / sq;
    } else {
        bound = sampled_bound(n, z, q, s, scratch, scratch + cf_pad(n) + 8);
    }
    if (!is_finite(bound))
        bound = best_alone(n, z, q, s);
    candidates c = keep_above(n, z, q, bound, scratch, scratch + cf_pad(n) + 8, 0, &f);
    *lam = root_of(&c, bound, s);
    return some ? CF_OK : verdict(&f);
}

static int root(ptrdiff_t n, const double *z, const double *q, double s, int some, double *lam,
                double *scratch)
{
    CF_TRY(n <= CF_SCORES_SMALL ? root_few(n, z, q, s, some, lam)
                                : root_many(n, z, q, s, some, lam, scratch));
    return is_finite(*lam) ? CF_OK : CF_ENONFINITE;
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
    CF_TRY(root(n, z, q, s, 0, &l, scratch));
    *lam = l;
    if (n == 1) {
        v[0] = s;
        return CF_OK;
    }
    double sum = apply_root(n, z, q, l, v);
    if (__builtin_fabs(sum - s) <= allowed)
        return CF_OK;
    /* large entries can hide the others in the sums, and the root comes out far too large; at
     * this bound no z + lam q is above s */
    const double alone = best_alone(n, z, q, s);
    *lam = l = alone < l ? alone : l;
    if (!is_finite(l))
        return CF_ENONFINITE;
    sum = recentre(n, z, q, l, v);
    for (int turn = 0; turn < CF_SCORES_TURNS && __builtin_fabs(sum - s) > allowed; turn++) {
        CF_TRY(root(n, v, q, s, 1, &l, scratch));
        *lam += l;
        sum = recentre(n, v, q, l, v);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        v[i] = v[i] > 0.0 ? v[i] : 0.0;
    return __builtin_fabs(sum - s) <= 1e-9 * s ? CF_OK : CF_ENONFINITE; /* sum q overflowed */
}
