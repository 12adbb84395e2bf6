/* A roll: places 0 ... n-1, all there at first, that are struck out one by one, while it is asked
 * how many are still there below a place and which is the m-th. A bit a place, and a count for
 * every 512 of them: O(n / 512) a question, O(1) a stroke.
 *
 * Invariants: bit p % 64 of word[p / 64] is set exactly where p is there, and none beyond n;
 * run[r] counts the places there in words 8 r ... 8 r + 7; `left` all of them. Both arrays are
 * the caller's memory. */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cf_roll {
    ptrdiff_t n, left;
    uint64_t *word, *run;
} cf_roll;

/* How many uint64_t it takes. */
ptrdiff_t cf_roll_size(ptrdiff_t n);

/* All n places are there. */
void cf_roll_call(cf_roll *self, ptrdiff_t n, uint64_t *memory);

/* Place p goes; nothing changes where it has gone before. */
void cf_roll_strike(cf_roll *self, ptrdiff_t p);

/* The number of places there below p, 0 <= p <= n. */
ptrdiff_t cf_roll_below(const cf_roll *self, ptrdiff_t p);

/* The place that has m others below it, 0 <= m < left. */
ptrdiff_t cf_roll_find(const cf_roll *self, ptrdiff_t m);
