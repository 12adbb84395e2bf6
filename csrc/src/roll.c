#include "coactive_fast/cf_roll.h"

#define BYTES 0x0101010101010101u /* a one in each byte */

/* The bits of each byte, counted. */
static uint64_t byte_counts(uint64_t word)
{
    word -= (word >> 1) & 0x55 * BYTES;
    word = (word & 0x33 * BYTES) + ((word >> 2) & 0x33 * BYTES);
    return (word + (word >> 4)) & 0x0f * BYTES;
}

static ptrdiff_t bits_of(uint64_t word) { return (ptrdiff_t)((byte_counts(word) * BYTES) >> 56); }

/* The place of bit number m of a word that has more than m. */
static ptrdiff_t bit_at(uint64_t word, ptrdiff_t m)
{
    const uint64_t until = byte_counts(word) * BYTES; /* byte b: the bits of bytes 0 ... b */
    ptrdiff_t at = 0;
    while ((ptrdiff_t)((until >> at) & 0xff) <= m)
        at += 8;
    if (at > 0)
        m -= (ptrdiff_t)((until >> (at - 8)) & 0xff);
    for (word >>= at; m > 0; m--)
        word &= word - 1;
    for (; !(word & 1); word >>= 1)
        at++;
    return at;
}

ptrdiff_t cf_roll_size(ptrdiff_t n) { return (n + 63) / 64 + (n + 511) / 512; }

void cf_roll_call(cf_roll *self, ptrdiff_t n, uint64_t *memory)
{
    const ptrdiff_t words = (n + 63) / 64, runs = (n + 511) / 512;
    self->n = self->left = n;
    self->word = memory;
    self->run = memory + words;
    for (ptrdiff_t i = 0; i < words; i++)
        self->word[i] = ~(uint64_t)0;
    if (n % 64)
        self->word[words - 1] = ((uint64_t)1 << n % 64) - 1;
    for (ptrdiff_t r = 0; r < runs; r++)
        self->run[r] = (uint64_t)(n - 512 * r < 512 ? n - 512 * r : 512);
}

void cf_roll_strike(cf_roll *self, ptrdiff_t p)
{
    const uint64_t there = self->word[p / 64] >> p % 64 & 1;
    self->word[p / 64] &= ~((uint64_t)1 << p % 64);
    self->run[p / 512] -= there;
    self->left -= (ptrdiff_t)there;
}

ptrdiff_t cf_roll_below(const cf_roll *self, ptrdiff_t p)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t r = 0; r < p / 512; r++)
        count += (ptrdiff_t)self->run[r];
    for (ptrdiff_t i = p / 512 * 8; i < p / 64; i++)
        count += bits_of(self->word[i]);
    if (p % 64)
        count += bits_of(self->word[p / 64] & (((uint64_t)1 << p % 64) - 1));
    return count;
}

ptrdiff_t cf_roll_find(const cf_roll *self, ptrdiff_t m)
{
    ptrdiff_t r = 0, i, bits;
    for (; m >= (ptrdiff_t)self->run[r]; r++)
        m -= (ptrdiff_t)self->run[r];
    for (i = 8 * r; m >= (bits = bits_of(self->word[i])); i++)
        m -= bits;
    return 64 * i + bit_at(self->word[i], m);
}
