/* The lanes on AVX-512 (F, DQ, VL, BW): one register. */
#include <immintrin.h>

typedef __m512d vd;
typedef __mmask8 vm;
typedef __m512i vi;

CF_INLINE vm vm_first(ptrdiff_t n) { return (vm)((1u << n) - 1u); }
CF_INLINE vm vm_from(ptrdiff_t n) { return (vm)(0xFFu << n); }
CF_INLINE unsigned vm_bits(vm m) { return m; }
CF_INLINE vm vm_or(vm a, vm b) { return a | b; }
CF_INLINE vm vm_and(vm a, vm b) { return a & b; }

CF_INLINE vd v_set1(double s) { return _mm512_set1_pd(s); }
CF_INLINE vd v_load(const double *p) { return _mm512_loadu_pd(p); }
CF_INLINE void v_store(double *p, vd v) { _mm512_storeu_pd(p, v); }
CF_INLINE vd v_loadm(const double *p, vm m) { return _mm512_maskz_loadu_pd(m, p); }
CF_INLINE void v_storem(double *p, vd v, vm m) { _mm512_mask_storeu_pd(p, m, v); }
CF_INLINE vd v_load_f32(const float *p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
CF_INLINE vd v_loadn_f32(const float *p, ptrdiff_t n)
{
    return _mm512_cvtps_pd(_mm256_maskz_loadu_ps(vm_first(n), p));
}

CF_INLINE void v_store_f32(float *p, vd v) { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }

typedef __m512 vn;
CF_INLINE vn vn_zero(void) { return _mm512_setzero_ps(); }
CF_INLINE vn vn_load(const float *p) { return _mm512_loadu_ps(p); }
CF_INLINE vn vn_loadn(const float *p, ptrdiff_t n)
{
    return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), p);
}
CF_INLINE vn vn_of(vd a, vd b)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1);
}
CF_INLINE vn vn_fma(vn a, vn b, vn c) { return _mm512_fmadd_ps(a, b, c); }
CF_INLINE vd vn_wide(vn v)
{
    return _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(v)),
                         _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)));
}

CF_INLINE vd v_add(vd a, vd b) { return _mm512_add_pd(a, b); }
CF_INLINE vd v_sub(vd a, vd b) { return _mm512_sub_pd(a, b); }
CF_INLINE vd v_mul(vd a, vd b) { return _mm512_mul_pd(a, b); }
CF_INLINE vd v_div(vd a, vd b) { return _mm512_div_pd(a, b); }
CF_INLINE vd v_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
CF_INLINE vd v_fnma(vd a, vd b, vd c) { return _mm512_fnmadd_pd(a, b, c); }
CF_INLINE vd v_max(vd a, vd b) { return _mm512_max_pd(a, b); }
CF_INLINE vd v_min(vd a, vd b) { return _mm512_min_pd(a, b); }
CF_INLINE vd v_abs(vd a) { return _mm512_abs_pd(a); }
CF_INLINE vd v_sqrt(vd a) { return _mm512_sqrt_pd(a); }

CF_INLINE vm v_gt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ); }
CF_INLINE vm v_ge(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_GE_OQ); }
CF_INLINE vm v_lt(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
CF_INLINE vm v_not_le(vd a, vd b) { return _mm512_cmp_pd_mask(a, b, _CMP_NLE_UQ); } /* or NaN */
CF_INLINE vd v_keep(vm m, vd v) { return _mm512_maskz_mov_pd(m, v); }
CF_INLINE vd v_blend(vm m, vd yes, vd no) { return _mm512_mask_blend_pd(m, no, yes); }

/* the kept lanes, moved together to the front; the rest is undefined */
CF_INLINE vd v_compress(vm m, vd v) { return _mm512_maskz_compress_pd(m, v); }

CF_INLINE vd v_lane(vd v, int l) { return _mm512_permutexvar_pd(_mm512_set1_epi64(l), v); }

CF_INLINE vd v_rotate(vd v, ptrdiff_t s)
{
    const __m512i lanes = _mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_pd(_mm512_add_epi64(lanes, _mm512_set1_epi64(s)), v);
}

CF_INLINE double v_sum(vd v)
{
    const __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d g = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(g, _mm_unpackhi_pd(g, g)));
}

CF_INLINE vd v_fold2(vd a, vd b) /* [a(0+4..3+7), b(0+4..3+7)] */
{
    return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x44), _mm512_shuffle_f64x2(a, b, 0xEE));
}

CF_INLINE vd v_fold4(vd a, vd b) /* the next halving, of two folded pairs */
{
    return _mm512_add_pd(_mm512_shuffle_f64x2(a, b, 0x88), _mm512_shuffle_f64x2(a, b, 0xDD));
}

CF_INLINE vd v_sum8(const vd r[8])
{
    const vd even = v_fold4(v_fold2(r[0], r[2]), v_fold2(r[4], r[6]));
    const vd odd = v_fold4(v_fold2(r[1], r[3]), v_fold2(r[5], r[7]));
    return _mm512_add_pd(_mm512_unpacklo_pd(even, odd), _mm512_unpackhi_pd(even, odd));
}

CF_INLINE void v_transpose8(vd r[8])
{
    vd t[8], u[8];
    for (int i = 0; i < 8; i += 2) { /* pairs of rows: [r0.0, r1.0, r0.2, r1.2, ...] */
        t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) /* 128-bit pieces of rows i..i+3 */
        for (int k = 0; k < 2; k++) {
            u[i + k] = _mm512_shuffle_f64x2(t[i + k], t[i + k + 2], 0x88);     /* cols k, 4+k */
            u[i + k + 2] = _mm512_shuffle_f64x2(t[i + k], t[i + k + 2], 0xDD); /* 2+k, 6+k */
        }
    for (int k = 0; k < 4; k++) {
        r[k] = _mm512_shuffle_f64x2(u[k], u[k + 4], 0x88);
        r[k + 4] = _mm512_shuffle_f64x2(u[k], u[k + 4], 0xDD);
    }
}

/* integer lanes: only what exp and log need */
CF_INLINE vi vi_of(vd a) { return _mm512_castpd_si512(a); }
CF_INLINE vd vd_of(vi a) { return _mm512_castsi512_pd(a); }
CF_INLINE vi vi_set1(int64_t s) { return _mm512_set1_epi64(s); }
CF_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi64(a, b); }
CF_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi64(a, b); }
CF_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
CF_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
CF_INLINE vi vi_shl52(vi a) { return _mm512_slli_epi64(a, 52); }
CF_INLINE vi vi_shr52(vi a) { return _mm512_srli_epi64(a, 52); }
