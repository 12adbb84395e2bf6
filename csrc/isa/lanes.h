/* Eight lanes of float64: the one vector width of every kernel.
 *
 * A kernel is written once with these names and compiled once per instruction set. A reduction
 * always runs in the same eight lanes with the same fused multiply-adds, so every variant that
 * has FMA gives the same bits: a 512-bit register holds the lanes as one, AVX2 as two halves,
 * the plain form as an array. Without FMA (plain form on an old CPU) a*b+c is rounded twice.
 *
 *   vd       eight doubles            vm      eight flags
 *   v_fma(a, b, c)  =  a*b + c        v_fnma(a, b, c)  =  c - a*b
 *   v_loadn/v_storen(p, n)  the first n lanes, 0 <= n <= 8; lanes beyond are 0 / untouched,
 *                           memory beyond is not touched
 *   vm_first(n), vm_from(n)  the lanes below n, the lanes from n on, 0 <= n <= 8
 *   v_keep   zero where the flag is not set;  v_lane(v, l)  lane l in every lane
 *   v_rotate(v, s)  lane (l + s) mod 8 in lane l, 0 <= s < 8
 *   v_loadm/v_storem(p, m)  the lanes of a mask; memory of the others is not touched
 *   v_load_f32, v_store_f32  eight floats widened, eight doubles rounded
 *   v_sum    ((0+4)+(2+6)) + ((1+5)+(3+7)), always in this order
 *   v_sum8   the v_sum of eight vectors, as one vector
 *   v_transpose8  eight vectors as the columns of what they were the rows of
 *   v_max    the second operand where either is NaN
 *   vn       sixteen floats, for sums that need only be near: vn_of(a, b) rounds sixteen doubles,
 *            vn_wide(v)  lanes 0-7 + lanes 8-15, as doubles
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_JOIN2(a, b) a##b
#define CF_JOIN(a, b) CF_JOIN2(a, b)
#define CF_INLINE static inline __attribute__((always_inline, unused))

#if defined(CF_LANES_V4) || defined(CF_LANES_V3) || defined(__FP_FAST_FMA) ||                     \
    defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define CF_HAS_FMA 1
#else
#define CF_HAS_FMA 0
#endif

/* one rounding where the CPU has FMA, two where it has not: the scalar form of v_fma */
CF_INLINE double s_fma(double a, double b, double c)
{
    return CF_HAS_FMA ? __builtin_fma(a, b, c) : a * b + c;
}

CF_INLINE double s_fnma(double a, double b, double c) { return s_fma(-a, b, c); }

#if defined(CF_LANES_V4)
#include "lanes_v4.h"
#elif defined(CF_LANES_V3)
#include "lanes_v3.h"
#else
#include "lanes_plain.h"
#endif

CF_INLINE vd v_zero(void) { return v_set1(0.0); }

CF_INLINE vd v_loadn(const double *p, ptrdiff_t n) { return v_loadm(p, vm_first(n)); }
CF_INLINE void v_storen(double *p, vd v, ptrdiff_t n) { v_storem(p, v, vm_first(n)); }

/* The first n lanes where n is 8 (a constant at most calls) most often. */
CF_INLINE vd v_load_some(const double *p, ptrdiff_t n) { return n == 8 ? v_load(p) : v_loadn(p, n); }
CF_INLINE void v_store_some(double *p, vd v, ptrdiff_t n)
{
    if (n == 8)
        v_store(p, v);
    else
        v_storen(p, v, n);
}

#if !defined(CF_LANES_V4)
CF_INLINE vd v_loadn_f32(const float *p, ptrdiff_t n)
{
    float f[8] = {0};
    for (ptrdiff_t i = 0; i < n; i++)
        f[i] = p[i];
    return v_load_f32(f);
}

CF_INLINE vn vn_loadn(const float *p, ptrdiff_t n)
{
    float f[16] = {0};
    for (ptrdiff_t i = 0; i < n; i++)
        f[i] = p[i];
    return vn_load(f);
}

/* the kept lanes, moved together to the front; the rest is undefined */
CF_INLINE vd v_compress(vm m, vd v)
{
    double in[8], out[8] = {0};
    unsigned bits = vm_bits(m), k = 0;
    v_store(in, v);
    for (int l = 0; l < 8; l++) {
        out[k] = in[l];
        k += bits >> l & 1u;
        if (k == 8)
            break;
    }
    return v_load(out);
}
#endif

/* A statement in which `groups` is the constant number of vectors that n <= 32 doubles fill. */
#define CF_BY_GROUPS(n, statement)                                                               \
    do {                                                                                         \
        if ((n) <= 8) {                                                                          \
            enum { groups = 1 };                                                                 \
            if ((n) > 0)                                                                         \
                statement;                                                                       \
        } else if ((n) <= 16) {                                                                  \
            enum { groups = 2 };                                                                 \
            statement;                                                                           \
        } else if ((n) <= 24) {                                                                  \
            enum { groups = 3 };                                                                 \
            statement;                                                                           \
        } else {                                                                                 \
            enum { groups = 4 };                                                                 \
            statement;                                                                           \
        }                                                                                        \
    } while (0)

#define CF_PREFETCH(p) __builtin_prefetch((const void *)(p))
