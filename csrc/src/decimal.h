/* Decimal text as double, rounded correctly: private to the reading of text. */
#pragma once
#include <stdint.h>
#include <string.h>

static inline int is_digit(char c) { return (unsigned char)(c - '0') <= 9; }

/* Reads [+-] digits [. digits] [e [+-] digits] (one digit at least before the e) from p. The byte
 * at `end` must be readable and no part of a number. Returns where the number ends, NULL where
 * none begins; *value is the nearest double, ties to even, infinite beyond the largest.
 * Independent of the locale; libc decides where a number is all but halfway between doubles. */
const char *cf_decimal(const char *p, const char *end, double *value);

/* A run of up to 8 decimal digits that begins at p, at once: the bytes [p, p + 8) must be
 * readable. Returns the run's length, and its number in *value. */
static inline int cf_decimal_run(const char *p, uint64_t *value)
{
    uint64_t t;
    memcpy(&t, p, sizeof t);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    t = __builtin_bswap64(t);
#endif
    t ^= 0x3030303030303030u; /* a digit becomes its value; other bytes are above 9 */
    const uint64_t other = ((t + 0x7676767676767676u) | t) & 0x8080808080808080u;
    const int count = other == 0 ? 8 : __builtin_ctzll(other) >> 3;
    if (count == 0) {
        *value = 0;
        return 0;
    }
    t <<= 64 - 8 * count; /* zeros in front */
    t = ((t * 2561) >> 8) & 0x00FF00FF00FF00FFu;
    t = ((t * 6553601) >> 16) & 0x0000FFFF0000FFFFu;
    *value = (t * 42949672960001u) >> 32;
    return count;
}
