/* A roll that is struck at random, against an array of flags. */
#include "cf_reference.h"

#include "coactive_fast/cf_roll.h"

static void check_roll(const cf_roll *roll, ptrdiff_t n, const unsigned char *there)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t p = 0; p < n; p++) {
        CHECK_INT(cf_roll_below(roll, p), count);
        if (there[p])
            CHECK_INT(cf_roll_find(roll, count), p);
        count += there[p];
    }
    CHECK_INT(cf_roll_below(roll, n), count);
    CHECK_INT(roll->left, count);
}

TEST(places_are_counted_and_found)
{
    static const ptrdiff_t sizes[] = {1, 2, 63, 64, 65, 127, 511, 512, 513, 576, 1024, 1500};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const ptrdiff_t n = sizes[s];
        CONTEXT("n=%td", n);
        cf_roll roll;
        unsigned char *there = take_bytes((size_t)n, 0, 0);
        cf_roll_call(&roll, n, take_bytes((size_t)cf_roll_size(n) * sizeof(uint64_t), 0, 0));
        memset(there, 1, (size_t)n);
        check_roll(&roll, n, there);
        while (roll.left > 0) {
            const ptrdiff_t before = roll.left;
            for (ptrdiff_t i = 0; i < 1 + before / 3; i++) {
                const ptrdiff_t p = random_below(n);
                cf_roll_strike(&roll, p); /* some twice */
                there[p] = 0;
            }
            if (before <= 2) /* the last ones by name: chance alone may take long */
                while (roll.left > 0) {
                    const ptrdiff_t p = cf_roll_find(&roll, roll.left - 1);
                    cf_roll_strike(&roll, p);
                    there[p] = 0;
                }
            check_roll(&roll, n, there);
        }
        release();
    }
}

TEST(single_places_of_a_word)
{
    uint64_t memory[2];
    for (ptrdiff_t kept = 0; kept < 64; kept++) {
        cf_roll roll;
        CHECK_INT(cf_roll_size(64), 2);
        cf_roll_call(&roll, 64, memory);
        for (ptrdiff_t p = 0; p < 64; p++)
            if (p != kept)
                cf_roll_strike(&roll, p);
        CHECK_INT(cf_roll_find(&roll, 0), kept);
        CHECK_INT(cf_roll_below(&roll, kept), 0);
        CHECK_INT(cf_roll_below(&roll, 64), 1);
    }
}

CHECK_MAIN
