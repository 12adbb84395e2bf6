/* The lanes in plain C, for every other CPU: arrays that a compiler may vectorise.
 * ARM64 has FMA and gives the bits of the vector forms; x86 before AVX2 has not. */
#include <string.h>

#if defined(__FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define CF_HAS_FMA 1
#define CF_LANE_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define CF_HAS_FMA 0
#define CF_LANE_FMA(a, b, c) ((a) * (b) + (c))
#endif

typedef struct { double l[8]; } vd;
typedef struct { unsigned bits; } vm;
typedef struct { uint64_t l[8]; } vi;

#define CF_EACH for (int i = 0; i < 8; i++)

CF_INLINE vm vm_first(ptrdiff_t n) { return (vm){(1u << n) - 1u}; }
CF_INLINE vm vm_from(ptrdiff_t n) { return (vm){0xFFu << n & 0xFFu}; }
CF_INLINE unsigned vm_bits(vm m) { return m.bits; }
CF_INLINE vm vm_or(vm x, vm y) { return (vm){x.bits | y.bits}; }
CF_INLINE vm vm_and(vm x, vm y) { return (vm){x.bits & y.bits}; }

CF_INLINE vd v_set1(double s)
{
    vd r;
    CF_EACH r.l[i] = s;
    return r;
}
CF_INLINE vd v_zero(void) { return v_set1(0.0); }
CF_INLINE vd v_load(const double *p)
{
    vd r;
    memcpy(r.l, p, sizeof r.l);
    return r;
}
CF_INLINE void v_store(double *p, vd v) { memcpy(p, v.l, sizeof v.l); }
CF_INLINE vd v_loadm(const double *p, vm m)
{
    vd r;
    CF_EACH r.l[i] = m.bits >> i & 1u ? p[i] : 0.0;
    return r;
}
CF_INLINE void v_storem(double *p, vd v, vm m)
{
    CF_EACH if (m.bits >> i & 1u) p[i] = v.l[i];
}
CF_INLINE vd v_loadn(const double *p, ptrdiff_t n) { return v_loadm(p, vm_first(n)); }
CF_INLINE void v_storen(double *p, vd v, ptrdiff_t n) { v_storem(p, v, vm_first(n)); }
CF_INLINE vd v_loadn_f32(const float *p, ptrdiff_t n)
{
    vd r = v_zero();
    for (ptrdiff_t i = 0; i < n; i++)
        r.l[i] = (double)p[i];
    return r;
}
CF_INLINE vd v_load_f32(const float *p) { return v_loadn_f32(p, 8); }


#if CF_HAS_FMA
#define CF_NARROW_FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define CF_NARROW_FMA(a, b, c) ((a) * (b) + (c))
#endif
typedef struct { float l[16]; } vn;
CF_INLINE vn vn_loadn(const float *p, ptrdiff_t n)
{
    vn r = {{0}};
    for (ptrdiff_t i = 0; i < n; i++)
        r.l[i] = p[i];
    return r;
}
CF_INLINE vn vn_load(const float *p) { return vn_loadn(p, 16); }
CF_INLINE vn vn_zero(void) { return vn_loadn(NULL, 0); }
CF_INLINE vn vn_of(vd a, vd b)
{
    vn r;
    CF_EACH
    {
        r.l[i] = (float)a.l[i];
        r.l[i + 8] = (float)b.l[i];
    }
    return r;
}
CF_INLINE vn vn_fma(vn a, vn b, vn c)
{
    for (int i = 0; i < 16; i++)
        c.l[i] = CF_NARROW_FMA(a.l[i], b.l[i], c.l[i]);
    return c;
}
CF_INLINE vd vn_wide(vn v)
{
    vd r;
    CF_EACH r.l[i] = (double)v.l[i] + (double)v.l[i + 8];
    return r;
}

CF_INLINE void v_store_f32(float *p, vd v)
{
    CF_EACH p[i] = (float)v.l[i];
}
#define CF_LANES_OP(name, expression)                                                            \
    CF_INLINE vd name(vd x, vd y)                                                                \
    {                                                                                            \
        vd r;                                                                                    \
        CF_EACH                                                                                  \
        {                                                                                        \
            const double a = x.l[i], b = y.l[i];                                                 \
            r.l[i] = (expression);                                                               \
        }                                                                                        \
        return r;                                                                                \
    }
CF_LANES_OP(v_add, a + b)
CF_LANES_OP(v_sub, a - b)
CF_LANES_OP(v_mul, a *b)
CF_LANES_OP(v_div, a / b)
CF_LANES_OP(v_max, a > b ? a : b)
CF_LANES_OP(v_min, a < b ? a : b)
#undef CF_LANES_OP
CF_INLINE vd v_fma(vd x, vd y, vd z)
{
    vd r;
    CF_EACH r.l[i] = CF_LANE_FMA(x.l[i], y.l[i], z.l[i]);
    return r;
}
CF_INLINE vd v_fnma(vd x, vd y, vd z)
{
    vd r;
    CF_EACH r.l[i] = CF_LANE_FMA(-x.l[i], y.l[i], z.l[i]);
    return r;
}
CF_INLINE vd v_sqrt(vd x)
{
    vd r;
    CF_EACH r.l[i] = __builtin_sqrt(x.l[i]);
    return r;
}
CF_INLINE vd v_abs(vd x)
{
    vd r;
    CF_EACH r.l[i] = __builtin_fabs(x.l[i]);
    return r;
}

#define CF_LANES_CMP(name, expression)                                                           \
    CF_INLINE vm name(vd x, vd y)                                                                \
    {                                                                                            \
        vm m = {0};                                                                              \
        CF_EACH                                                                                  \
        {                                                                                        \
            const double a = x.l[i], b = y.l[i];                                                 \
            m.bits |= (unsigned)(expression) << i;                                               \
        }                                                                                        \
        return m;                                                                                \
    }
CF_LANES_CMP(v_gt, a > b)
CF_LANES_CMP(v_ge, a >= b)
CF_LANES_CMP(v_lt, a < b)
CF_LANES_CMP(v_not_le, !(a <= b)) /* or NaN */
#undef CF_LANES_CMP
CF_INLINE vd v_blend(vm m, vd yes, vd no)
{
    vd r;
    CF_EACH r.l[i] = m.bits >> i & 1u ? yes.l[i] : no.l[i];
    return r;
}
CF_INLINE vd v_keep(vm m, vd v) { return v_blend(m, v, v_zero()); }

/* the kept lanes, moved together to the front; the rest is undefined */
CF_INLINE vd v_compress(vm m, vd v)
{
    vd r = v_zero();
    int k = 0;
    CF_EACH if (m.bits >> i & 1u) r.l[k++] = v.l[i];
    return r;
}

CF_INLINE vd v_lane(vd v, int l) { return v_set1(v.l[l]); }

CF_INLINE vd v_rotate(vd v, ptrdiff_t s)
{
    vd r;
    CF_EACH r.l[i] = v.l[(i + s) & 7];
    return r;
}

CF_INLINE double v_sum(vd v)
{
    const double *l = v.l;
    return ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]));
}
CF_INLINE vd v_sum8(const vd r[8])
{
    vd s;
    CF_EACH s.l[i] = v_sum(r[i]);
    return s;
}

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
CF_INLINE vi vi_of(vd x)
{
    vi r;
    memcpy(&r, &x, sizeof r);
    return r;
}
CF_INLINE vd vd_of(vi x)
{
    vd r;
    memcpy(&r, &x, sizeof r);
    return r;
}
CF_INLINE vi vi_set1(int64_t s)
{
    vi r;
    CF_EACH r.l[i] = (uint64_t)s;
    return r;
}
#define CF_LANES_INT(name, op)                                                                   \
    CF_INLINE vi name(vi x, vi y)                                                                \
    {                                                                                            \
        vi r;                                                                                    \
        CF_EACH r.l[i] = x.l[i] op y.l[i];                                                       \
        return r;                                                                                \
    }
CF_LANES_INT(vi_add, +)
CF_LANES_INT(vi_sub, -)
CF_LANES_INT(vi_and, &)
CF_LANES_INT(vi_or, |)
#undef CF_LANES_INT
CF_INLINE vi vi_shl52(vi x)
{
    CF_EACH x.l[i] <<= 52;
    return x;
}
CF_INLINE vi vi_shr52(vi x)
{
    CF_EACH x.l[i] >>= 52;
    return x;
}
