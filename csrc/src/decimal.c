#include "decimal.h"

#include <float.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Three ways, each for what the one before leaves over:
 *   1  up to 2^53 times an exact power of ten: one multiplication or division is right (Clinger)
 *   2  64 bits of digits times 128 bits of 5^q: an interval, nearly always within one rounding
 *   3  the C library's own reading, of digits without a point: no locale has a say in them
 * A number costs some 8 ns, 20 ns, and from 200 ns up by its digits. */

#define DIGITS 19          /* that surely fit 64 bits */
#define COARSE 27          /* 5^27 is the largest power of 5 within 63 bits */
#define LEAST_POWER (-343) /* of ten: 10^19 times less is nearer to 0 than to 2^-1074 */
#define MOST_POWER 308
#define EXACT 800 /* digits that way 3 reads: a middle has 767 at most, more only break a tie */

typedef struct number {
    uint64_t digits;   /* the leading digits, DIGITS at most */
    int64_t exponent;  /* of ten */
    int more;          /* digits were left over, and they are not all 0 */
    const char *first; /* the first digit that is not 0 */
    const char *last;  /* behind the last digit */
} number;

typedef struct wide {
    uint64_t high, low;
} wide;

/* 5^(27 k) for k = -13 ... 11, the leading 128 bits, rounded down. Made with Python's integers. */
static const wide coarse[] = {
    {0x8049A4AC0C5811AEu, 0x205B896D777D6278u}, /* -351 */
    {0xCF42894A5DCE35EAu, 0x52064CAC828675B9u}, /* -324 */
    {0xA76C582338ED2621u, 0xAF2AF2B80AF6F24Eu}, /* -297 */
    {0x873E4F75E2224E68u, 0x5A7744A6E804A291u}, /* -270 */
    {0xDA7F5BF590966848u, 0xAF39A475506A899Eu}, /* -243 */
    {0xB080392CC4349DECu, 0xBD8D794D96AACFB3u}, /* -216 */
    {0x8E938662882AF53Eu, 0x547EB47B7282EE9Cu}, /* -189 */
    {0xE65829B3046B0AFAu, 0x0CB4A5A3112A5112u}, /* -162 */
    {0xBA121A4650E4DDEBu, 0x92F34D62616CE413u}, /* -135 */
    {0x964E858C91BA2655u, 0x3A6A07F8D510F86Fu}, /* -108 */
    {0xF2D56790AB41C2A2u, 0xFAE27299423FB9C3u}, /* -81 */
    {0xC428D05AA4751E4Cu, 0xAA97E14C3C26B886u}, /* -54 */
    {0x9E74D1B791E07E48u, 0x775EA264CF55347Du}, /* -27 */
    {0x8000000000000000u, 0x0000000000000000u}, /* 0 */
    {0xCECB8F27F4200F3Au, 0x0000000000000000u}, /* 27 */
    {0xA70C3C40A64E6C51u, 0x999090B65F67D924u}, /* 54 */
    {0x86F0AC99B4E8DAFDu, 0x69A028BB3DED71A3u}, /* 81 */
    {0xDA01EE641A708DE9u, 0xE80E6F4820CC9495u}, /* 108 */
    {0xB01AE745B101E9E4u, 0x5EC05DCFF72E7F8Fu}, /* 135 */
    {0x8E41ADE9FBEBC27Du, 0x14588F13BE847307u}, /* 162 */
    {0xE5D3EF282A242E81u, 0x8F1668C8A86DA5FAu}, /* 189 */
    {0xB9A74A0637CE2EE1u, 0x6D953E2BD7173692u}, /* 216 */
    {0x95F83D0A1FB69CD9u, 0x4ABDAF101564F98Eu}, /* 243 */
    {0xF24A01A73CF2DCCFu, 0xBC633B39673C8CECu}, /* 270 */
    {0xC3B8358109E84F07u, 0x0A862F80EC4700C8u}, /* 297 */
};

static uint64_t five_to(int j)
{
    static const uint64_t fives[] = {
        1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u,
        244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u,
        3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u,
        11920928955078125u, 59604644775390625u, 298023223876953125u, 1490116119384765625u
    };
    return fives[j];
}

/* --- reading --------------------------------------------------------------------------------- */

/* Goes on from *value with the digits at p; what overflows is nonsense, and the caller counts. */
static const char *digits(const char *p, const char *end, uint64_t *value)
{
    static const uint32_t tens[] = {1,      10,      100,      1000,     10000,
                                    100000, 1000000, 10000000, 100000000};
    uint64_t run;
    while (end - p >= 8) {
        const int count = cf_decimal_run(p, &run);
        *value = *value * tens[count] + run;
        p += count;
        if (count < 8)
            return p;
    }
    for (; is_digit(*p); p++)
        *value = 10 * *value + (uint64_t)(*p - '0');
    return p;
}

/* The exponent behind an e; far beyond the range of doubles it stops growing. */
static const char *exponent_of(const char *p, int64_t *exponent)
{
    const int negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (!is_digit(*p))
        return NULL;
    int64_t e = 0;
    for (; is_digit(*p); p++)
        if (e < (int64_t)1 << 56)
            e = 10 * e + (*p - '0');
    *exponent += negative ? -e : e;
    return p;
}

/* More than DIGITS digits: those that count, and whether there are more. */
static void shorten(number *x, int64_t behind_point)
{
    const char *p = x->first;
    int count = 0;
    x->digits = 0;
    for (; p < x->last && count < DIGITS; p++)
        if (*p != '.') {
            x->digits = 10 * x->digits + (uint64_t)(*p - '0');
            count++;
        }
    int64_t dropped = 0;
    for (; p < x->last; p++)
        if (*p != '.') {
            x->more |= *p != '0';
            dropped++;
        }
    x->exponent += dropped - behind_point;
}

static const char *read(const char *p, const char *end, number *x)
{
    *x = (number){0};
    const char *begin = p, *point = NULL;
    p = digits(p, end, &x->digits);
    ptrdiff_t count = p - begin;
    if (*p == '.') {
        point = p + 1;
        p = digits(point, end, &x->digits);
        count += p - point;
    }
    if (count == 0)
        return NULL;
    const int64_t behind_point = point != NULL ? p - point : 0;
    x->first = begin;
    x->last = p;
    if (count > DIGITS)
        for (; x->first < p && (*x->first == '0' || *x->first == '.'); x->first++)
            count -= *x->first == '0';
    if (count > DIGITS)
        shorten(x, behind_point);
    else
        x->exponent = -behind_point;
    if (*p == 'e' || *p == 'E')
        return exponent_of(p + 1, &x->exponent);
    return p;
}

/* --- 128 bits -------------------------------------------------------------------------------- */

static wide multiply(uint64_t a, uint64_t b)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0, cross = a1 * b0 + (low >> 32), other = a0 * b1 + (uint32_t)cross;
    return (wide){a1 * b1 + (cross >> 32) + (other >> 32), (other << 32) | (uint32_t)low};
}

/* floor(a b / 2^64), and its leading 0 bit taken away: at most one, where a and b have none.
 * Returns the number of bits taken. */
static int scale(wide *a, uint64_t b)
{
    const wide low = multiply(a->low, b);
    wide product = multiply(a->high, b);
    product.low += low.high;
    product.high += product.low < low.high;
    const int shift = !(product.high >> 63);
    if (shift) {
        product.high = (product.high << 1) | (product.low >> 63);
        product.low <<= 1;
    }
    *a = product;
    return shift;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The double nearest to m 2^exponent, its leading bit set; ties to even. */
static uint64_t round_bits(wide m, int exponent)
{
    const int e = exponent + 127; /* 2^e <= value */
    if (e > 1023)
        return (uint64_t)0x7FF << 52;
    const int shift = e >= -1022 ? 11 : 11 - 1022 - e;
    if (shift > 64)
        return 0;
    const uint64_t kept = shift < 64 ? m.high >> shift : 0, rest = m.high << (64 - shift);
    const uint64_t half = (uint64_t)1 << 63;
    const int up = rest > half || (rest == half && (m.low != 0 || (kept & 1)));
    /* the leading bit of `kept` adds one to the exponent, and so does a carry out of it */
    return ((uint64_t)(e >= -1022 ? e + 1022 : 0) << 52) + kept + (uint64_t)up;
}

static int floor_log2_five(int q) { return (152170 * q) >> 16; }

/* Between which doubles digits 10^q lies: low <= the nearest <= high. The powers are rounded down
 * (by less than 1, 1 + 1, and doubled where a bit is taken), the products too. */
static void bracket(uint64_t n, int q, uint64_t *low, uint64_t *high)
{
    const int k = (q - LEAST_POWER + 8) / COARSE, j = q - COARSE * (k - 13);
    const int zeros = __builtin_clzll(n), shift = 63 - floor_log2_five(j);
    wide m = coarse[k];
    int exponent = floor_log2_five(COARSE * (k - 13)) + floor_log2_five(j) + q - 62 - zeros;
    exponent -= scale(&m, five_to(j) << shift);
    exponent -= scale(&m, n << zeros);
    *low = round_bits(m, exponent);
    m.low += 10;
    m.high += m.low < 10;
    if (m.high == 0) { /* went round */
        m.high = (uint64_t)1 << 63;
        exponent++;
    }
    *high = round_bits(m, exponent);
}

/* --- together -------------------------------------------------------------------------------- */

/* Way 3. `exponent` belongs to the DIGITS leading ones; each further digit takes one off. */
static double by_library(const number *x, int64_t exponent)
{
    char text[EXACT + 32];
    int count = 0, more = 0;
    for (const char *p = x->first; p < x->last; p++) {
        if (*p == '.')
            continue;
        if (count < EXACT)
            text[count++] = *p;
        else
            more |= *p != '0';
    }
    exponent -= count > DIGITS ? count - DIGITS : 0;
    if (more) { /* what is left over is less than a digit, but breaks a tie */
        text[count++] = '1';
        exponent--;
    }
    snprintf(text + count, 32, "e%d", (int)exponent);
    return strtod(text, NULL);
}

static double convert(const number *x)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t q = x->exponent;
    if (FLT_EVAL_METHOD == 0 && x->digits <= (uint64_t)1 << 53 && !x->more && q >= -22 && q <= 22)
        return q < 0 ? (double)x->digits / tens[-q] : (double)x->digits * tens[q];
    if (x->digits == 0 || q < LEAST_POWER)
        return 0.0;
    if (q > MOST_POWER)
        return from_bits((uint64_t)0x7FF << 52);
    uint64_t low, high, unused;
    bracket(x->digits, (int)q, &low, &high);
    if (x->more)
        bracket(x->digits + 1, (int)q, &unused, &high);
    if (low == high)
        return from_bits(low);
    return by_library(x, q);
}

const char *cf_decimal(const char *p, const char *end, double *value)
{
    const int negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    number x;
    p = read(p, end, &x);
    if (p == NULL)
        return NULL;
    const double v = convert(&x);
    *value = negative ? -v : v;
    return p;
}
