#include "coactive_fast/cf_normals.h"

#include <string.h>

#define CF_PCG64_HIGH 2549297995355413924u
#define CF_PCG64_LOW 4865540595714422341u

/* the upper half of a b */
static inline uint64_t high_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    return (uint64_t)((u128)a * b >> 64);
#else
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
#endif
}

static inline uint64_t next(cf_pcg64 *s)
{
    const uint64_t high = high_product(s->low, CF_PCG64_LOW) + s->high * CF_PCG64_LOW +
                          s->low * CF_PCG64_HIGH;
    const uint64_t low = s->low * CF_PCG64_LOW + s->step_low;
    s->high = high + s->step_high + (low < s->step_low);
    s->low = low;
    const uint64_t folded = s->high ^ s->low;
    const unsigned turn = (unsigned)(s->high >> 58);
    return folded >> turn | folded << (-turn & 63);
}

uint64_t cf_pcg64_next(cf_pcg64 *bits) { return next(bits); }

ptrdiff_t cf_normals(cf_pcg64 *bits, const cf_ziggurat *t, ptrdiff_t n, double *x, uint64_t *edge)
{
    cf_pcg64 s = *bits;
    ptrdiff_t i = 0;
    for (; i < n; i++) {
        const uint64_t r = next(&s), place = r >> 9 & 0xFFFFFFFFFFFFFu;
        if (place >= t->inside[r & 255]) {
            *edge = r;
            break;
        }
        const double size = (double)(int64_t)place * t->width[r & 255];
        uint64_t signed_bits; /* the sign without a branch, which would be missed every other time */
        memcpy(&signed_bits, &size, sizeof size);
        signed_bits ^= (r & 256) << 55;
        memcpy(&x[i], &signed_bits, sizeof size);
    }
    *bits = s;
    return i;
}
