/* The lanes on AVX2 with FMA: two registers, lanes 0-3 and 4-7. */
#include <immintrin.h>

typedef struct { __m256d a, b; } vd;
typedef struct { __m256d a, b; } vm; /* all ones or all zero in a lane */
typedef struct { __m256i a, b; } vi;

#define CF_PAIR(type, x, y) ((type){(x), (y)})

/* Functions of one, two or three operands, half by half. */
#define CF_LANES_1(type, name, from, intrinsic)                                                  \
    CF_INLINE type name(from x) { return CF_PAIR(type, intrinsic(x.a), intrinsic(x.b)); }
#define CF_LANES_2(type, name, intrinsic)                                                        \
    CF_INLINE type name(type x, type y)                                                          \
    {                                                                                            \
        return CF_PAIR(type, intrinsic(x.a, y.a), intrinsic(x.b, y.b));                          \
    }
#define CF_LANES_3(type, name, intrinsic)                                                        \
    CF_INLINE type name(type x, type y, type z)                                                  \
    {                                                                                            \
        return CF_PAIR(type, intrinsic(x.a, y.a, z.a), intrinsic(x.b, y.b, z.b));                \
    }

/* a window into eight ones, zeros, ones: the mask of some lanes without a branch */
static const int64_t cf_window[24] = {-1, -1, -1, -1, -1, -1, -1, -1, 0,  0,  0,  0,
                                      0,  0,  0,  0,  -1, -1, -1, -1, -1, -1, -1, -1};

CF_INLINE __m256i vm_int(__m256d m) { return _mm256_castpd_si256(m); }
CF_INLINE vm vm_of(const int64_t *window)
{
    const double *w = (const double *)(const void *)window;
    return CF_PAIR(vm, _mm256_loadu_pd(w), _mm256_loadu_pd(w + 4));
}
CF_INLINE vm vm_first(ptrdiff_t n) { return vm_of(cf_window + 8 - n); }
CF_INLINE vm vm_from(ptrdiff_t n) { return vm_of(cf_window + 16 - n); }
CF_INLINE unsigned vm_bits(vm m)
{
    return (unsigned)_mm256_movemask_pd(m.a) | ((unsigned)_mm256_movemask_pd(m.b) << 4);
}
CF_LANES_2(vm, vm_or, _mm256_or_pd)
CF_LANES_2(vm, vm_and, _mm256_and_pd)

CF_INLINE vd v_set1(double s) { return CF_PAIR(vd, _mm256_set1_pd(s), _mm256_set1_pd(s)); }
CF_INLINE vd v_load(const double *p) { return CF_PAIR(vd, _mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)); }
CF_INLINE void v_store(double *p, vd v)
{
    _mm256_storeu_pd(p, v.a);
    _mm256_storeu_pd(p + 4, v.b);
}
CF_INLINE vd v_loadm(const double *p, vm m)
{
    return CF_PAIR(vd, _mm256_maskload_pd(p, vm_int(m.a)), _mm256_maskload_pd(p + 4, vm_int(m.b)));
}
CF_INLINE void v_storem(double *p, vd v, vm m)
{
    _mm256_maskstore_pd(p, vm_int(m.a), v.a);
    _mm256_maskstore_pd(p + 4, vm_int(m.b), v.b);
}
CF_INLINE vd v_load_f32(const float *p)
{
    return CF_PAIR(vd, _mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4)));
}
CF_INLINE void v_store_f32(float *p, vd v)
{
    _mm_storeu_ps(p, _mm256_cvtpd_ps(v.a));
    _mm_storeu_ps(p + 4, _mm256_cvtpd_ps(v.b));
}

typedef struct { __m256 a, b; } vn;
CF_INLINE vn vn_zero(void) { return CF_PAIR(vn, _mm256_setzero_ps(), _mm256_setzero_ps()); }
CF_INLINE vn vn_load(const float *p)
{
    return CF_PAIR(vn, _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8));
}
CF_INLINE __m256 vn_half(vd v)
{
    return _mm256_set_m128(_mm256_cvtpd_ps(v.b), _mm256_cvtpd_ps(v.a));
}
CF_INLINE vn vn_of(vd a, vd b) { return CF_PAIR(vn, vn_half(a), vn_half(b)); }
CF_LANES_3(vn, vn_fma, _mm256_fmadd_ps)
CF_INLINE vd vn_wide(vn v)
{
    return CF_PAIR(vd,
                   _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(v.a)),
                                 _mm256_cvtps_pd(_mm256_castps256_ps128(v.b))),
                   _mm256_add_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(v.a, 1)),
                                 _mm256_cvtps_pd(_mm256_extractf128_ps(v.b, 1))));
}

CF_LANES_2(vd, v_add, _mm256_add_pd)
CF_LANES_2(vd, v_sub, _mm256_sub_pd)
CF_LANES_2(vd, v_mul, _mm256_mul_pd)
CF_LANES_2(vd, v_div, _mm256_div_pd)
CF_LANES_2(vd, v_max, _mm256_max_pd)
CF_LANES_2(vd, v_min, _mm256_min_pd)
CF_LANES_3(vd, v_fma, _mm256_fmadd_pd)
CF_LANES_3(vd, v_fnma, _mm256_fnmadd_pd)
CF_LANES_1(vd, v_sqrt, vd, _mm256_sqrt_pd)
CF_INLINE vd v_abs(vd x)
{
    const __m256d sign = _mm256_set1_pd(-0.0);
    return CF_PAIR(vd, _mm256_andnot_pd(sign, x.a), _mm256_andnot_pd(sign, x.b));
}

#define CF_LANES_CMP(name, predicate)                                                            \
    CF_INLINE vm name(vd x, vd y)                                                                \
    {                                                                                            \
        return CF_PAIR(vm, _mm256_cmp_pd(x.a, y.a, predicate), _mm256_cmp_pd(x.b, y.b, predicate)); \
    }
CF_LANES_CMP(v_gt, _CMP_GT_OQ)
CF_LANES_CMP(v_ge, _CMP_GE_OQ)
CF_LANES_CMP(v_lt, _CMP_LT_OQ)
CF_LANES_CMP(v_not_le, _CMP_NLE_UQ) /* or NaN */
#undef CF_LANES_CMP
CF_INLINE vd v_keep(vm m, vd v) { return CF_PAIR(vd, _mm256_and_pd(m.a, v.a), _mm256_and_pd(m.b, v.b)); }
CF_INLINE vd v_blend(vm m, vd yes, vd no)
{
    return CF_PAIR(vd, _mm256_blendv_pd(no.a, yes.a, m.a), _mm256_blendv_pd(no.b, yes.b, m.b));
}

CF_INLINE vd v_lane(vd v, int l)
{
    double in[8];
    v_store(in, v);
    return v_set1(in[l]);
}

CF_INLINE vd v_rotate(vd v, ptrdiff_t s)
{
    double twice[16];
    v_store(twice, v);
    v_store(twice + 8, v);
    return v_load(twice + s);
}

CF_INLINE double v_sum(vd v)
{
    const __m256d h = _mm256_add_pd(v.a, v.b);
    const __m128d g = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(g, _mm_unpackhi_pd(g, g)));
}

CF_INLINE __m256d v_fold4(vd x, vd y) /* [x(0+4+2+6, 1+5+3+7), y(...)] */
{
    const __m256d p = _mm256_add_pd(x.a, x.b), q = _mm256_add_pd(y.a, y.b);
    return _mm256_add_pd(_mm256_permute2f128_pd(p, q, 0x20), _mm256_permute2f128_pd(p, q, 0x31));
}

CF_INLINE vd v_sum8(const vd r[8])
{
    const __m256d e = v_fold4(r[0], r[2]), f = v_fold4(r[1], r[3]);
    const __m256d g = v_fold4(r[4], r[6]), h = v_fold4(r[5], r[7]);
    return CF_PAIR(vd, _mm256_add_pd(_mm256_unpacklo_pd(e, f), _mm256_unpackhi_pd(e, f)),
                   _mm256_add_pd(_mm256_unpacklo_pd(g, h), _mm256_unpackhi_pd(g, h)));
}

CF_INLINE void v_transpose4(__m256d *a, __m256d *b, __m256d *c, __m256d *d)
{
    const __m256d e = _mm256_unpacklo_pd(*a, *b), f = _mm256_unpackhi_pd(*a, *b);
    const __m256d g = _mm256_unpacklo_pd(*c, *d), h = _mm256_unpackhi_pd(*c, *d);
    *a = _mm256_permute2f128_pd(e, g, 0x20);
    *b = _mm256_permute2f128_pd(f, h, 0x20);
    *c = _mm256_permute2f128_pd(e, g, 0x31);
    *d = _mm256_permute2f128_pd(f, h, 0x31);
}

CF_INLINE void v_transpose8(vd r[8])
{
    v_transpose4(&r[0].a, &r[1].a, &r[2].a, &r[3].a);
    v_transpose4(&r[0].b, &r[1].b, &r[2].b, &r[3].b);
    v_transpose4(&r[4].a, &r[5].a, &r[6].a, &r[7].a);
    v_transpose4(&r[4].b, &r[5].b, &r[6].b, &r[7].b);
    for (int i = 0; i < 4; i++) {
        const __m256d corner = r[i].b;
        r[i].b = r[i + 4].a;
        r[i + 4].a = corner;
    }
}

/* integer lanes: only what exp and log need */
CF_LANES_1(vi, vi_of, vd, _mm256_castpd_si256)
CF_LANES_1(vd, vd_of, vi, _mm256_castsi256_pd)
CF_INLINE vi vi_set1(int64_t s) { return CF_PAIR(vi, _mm256_set1_epi64x(s), _mm256_set1_epi64x(s)); }
CF_LANES_2(vi, vi_add, _mm256_add_epi64)
CF_LANES_2(vi, vi_sub, _mm256_sub_epi64)
CF_LANES_2(vi, vi_and, _mm256_and_si256)
CF_LANES_2(vi, vi_or, _mm256_or_si256)
CF_INLINE vi vi_shl52(vi x) { return CF_PAIR(vi, _mm256_slli_epi64(x.a, 52), _mm256_slli_epi64(x.b, 52)); }
CF_INLINE vi vi_shr52(vi x) { return CF_PAIR(vi, _mm256_srli_epi64(x.a, 52), _mm256_srli_epi64(x.b, 52)); }
