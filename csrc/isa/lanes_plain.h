/* The lanes in plain C, for every other CPU: arrays that a compiler may vectorise.
 * ARM64 has FMA and gives the bits of the vector forms; x86 before AVX2 has not. */
#include <string.h>

typedef struct { double l[8]; } vd;
typedef struct { unsigned bits; } vm;
typedef struct { uint64_t l[8]; } vi;
typedef struct { float l[16]; } vn;

#define CF_EACH for (int i = 0; i < 8; i++)

/* A function whose lane i is the expression. */
#define CF_LANES(type, name, arguments, expression)                                              \
    CF_INLINE type name arguments                                                                \
    {                                                                                            \
        type r;                                                                                  \
        CF_EACH r.l[i] = (expression);                                                           \
        return r;                                                                                \
    }

CF_INLINE vm vm_first(ptrdiff_t n) { return (vm){(1u << n) - 1u}; }
CF_INLINE vm vm_from(ptrdiff_t n) { return (vm){0xFFu << n & 0xFFu}; }
CF_INLINE unsigned vm_bits(vm m) { return m.bits; }
CF_INLINE vm vm_or(vm x, vm y) { return (vm){x.bits | y.bits}; }
CF_INLINE vm vm_and(vm x, vm y) { return (vm){x.bits & y.bits}; }
CF_INLINE int vm_has(vm m, int i) { return m.bits >> i & 1u; }

CF_LANES(vd, v_set1, (double s), s)
CF_INLINE vd v_load(const double *p)
{
    vd r;
    memcpy(r.l, p, sizeof r.l);
    return r;
}
CF_INLINE void v_store(double *p, vd v) { memcpy(p, v.l, sizeof v.l); }
CF_LANES(vd, v_loadm, (const double *p, vm m), vm_has(m, i) ? p[i] : 0.0)
CF_INLINE void v_storem(double *p, vd v, vm m)
{
    CF_EACH if (vm_has(m, i)) p[i] = v.l[i];
}
CF_LANES(vd, v_load_f32, (const float *p), (double)p[i])
CF_INLINE void v_store_f32(float *p, vd v)
{
    CF_EACH p[i] = (float)v.l[i];
}

CF_INLINE vn vn_load(const float *p)
{
    vn r;
    memcpy(r.l, p, sizeof r.l);
    return r;
}
CF_INLINE vn vn_zero(void) { return (vn){{0}}; }
CF_INLINE vn vn_of(vd a, vd b)
{
    vn r;
    v_store_f32(r.l, a);
    v_store_f32(r.l + 8, b);
    return r;
}
CF_INLINE vn vn_fma(vn a, vn b, vn c)
{
    for (int i = 0; i < 16; i++)
        c.l[i] = CF_HAS_FMA ? __builtin_fmaf(a.l[i], b.l[i], c.l[i]) : a.l[i] * b.l[i] + c.l[i];
    return c;
}
CF_LANES(vd, vn_wide, (vn v), (double)v.l[i] + (double)v.l[i + 8])

CF_LANES(vd, v_add, (vd x, vd y), x.l[i] + y.l[i])
CF_LANES(vd, v_sub, (vd x, vd y), x.l[i] - y.l[i])
CF_LANES(vd, v_mul, (vd x, vd y), x.l[i] * y.l[i])
CF_LANES(vd, v_div, (vd x, vd y), x.l[i] / y.l[i])
CF_LANES(vd, v_max, (vd x, vd y), x.l[i] > y.l[i] ? x.l[i] : y.l[i])
CF_LANES(vd, v_min, (vd x, vd y), x.l[i] < y.l[i] ? x.l[i] : y.l[i])
CF_LANES(vd, v_fma, (vd x, vd y, vd z), s_fma(x.l[i], y.l[i], z.l[i]))
CF_LANES(vd, v_fnma, (vd x, vd y, vd z), s_fnma(x.l[i], y.l[i], z.l[i]))
CF_LANES(vd, v_sqrt, (vd x), __builtin_sqrt(x.l[i]))
CF_LANES(vd, v_abs, (vd x), __builtin_fabs(x.l[i]))

#define CF_LANES_CMP(name, expression)                                                           \
    CF_INLINE vm name(vd x, vd y)                                                                \
    {                                                                                            \
        vm m = {0};                                                                              \
        CF_EACH m.bits |= (unsigned)(expression) << i;                                           \
        return m;                                                                                \
    }
CF_LANES_CMP(v_gt, x.l[i] > y.l[i])
CF_LANES_CMP(v_ge, x.l[i] >= y.l[i])
CF_LANES_CMP(v_lt, x.l[i] < y.l[i])
CF_LANES_CMP(v_not_le, !(x.l[i] <= y.l[i])) /* or NaN */
#undef CF_LANES_CMP
CF_LANES(vd, v_blend, (vm m, vd yes, vd no), vm_has(m, i) ? yes.l[i] : no.l[i])
CF_LANES(vd, v_keep, (vm m, vd v), vm_has(m, i) ? v.l[i] : 0.0)

CF_INLINE vd v_lane(vd v, int l) { return v_set1(v.l[l]); }
CF_LANES(vd, v_rotate, (vd v, ptrdiff_t s), v.l[(i + s) & 7])

CF_INLINE double v_sum(vd v)
{
    const double *l = v.l;
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
CF_LANES(vd, v_sum8, (const vd *rows), v_sum(rows[i]))

CF_INLINE void v_transpose8(vd r[8])
{
    for (int i = 1; i < 8; i++)
        for (int j = 0; j < i; j++) {
            const double t = r[i].l[j];
            r[i].l[j] = r[j].l[i];
            r[j].l[i] = t;
        }
}

/* integer lanes: only what exp and log need */
#define CF_LANES_BITS(type, name, from)                                                          \
    CF_INLINE type name(from x)                                                                  \
    {                                                                                            \
        type r;                                                                                  \
        memcpy(&r, &x, sizeof r);                                                                \
        return r;                                                                                \
    }
CF_LANES_BITS(vi, vi_of, vd)
CF_LANES_BITS(vd, vd_of, vi)
#undef CF_LANES_BITS
CF_LANES(vi, vi_set1, (int64_t s), (uint64_t)s)
CF_LANES(vi, vi_add, (vi x, vi y), x.l[i] + y.l[i])
CF_LANES(vi, vi_sub, (vi x, vi y), x.l[i] - y.l[i])
CF_LANES(vi, vi_and, (vi x, vi y), x.l[i] & y.l[i])
CF_LANES(vi, vi_or, (vi x, vi y), x.l[i] | y.l[i])
CF_LANES(vi, vi_shl52, (vi x), x.l[i] << 52)
CF_LANES(vi, vi_shr52, (vi x), x.l[i] >> 52)
