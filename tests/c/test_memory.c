/* Memory: blocks on lines, overflow of sizes. */
#include "cf_check.h"

TEST(blocks_begin_on_a_line_and_hold_what_was_asked)
{
    for (size_t n = 0; n < 300; n += n < 70 ? 1 : 37) {
        unsigned char *p = cf_alloc(n, 3), *z = cf_alloc_zero(n, 5);
        CHECK(p != NULL && z != NULL);
        CHECK_INT((uintptr_t)p % CF_LINE, 0);
        CHECK_INT((uintptr_t)z % CF_LINE, 0);
        memset(p, 0xA5, 3 * n); /* valgrind and the sanitizers look at the ends */
        size_t zeros = 0;
        for (size_t i = 0; i < 5 * n; i++)
            zeros += z[i] == 0;
        CHECK_INT(zeros, 5 * n);
        cf_free(p);
        cf_free(z);
    }
    cf_free(NULL);
}

TEST(a_zeroed_block_is_zero_in_used_memory)
{
    unsigned char *p = cf_alloc(1000, 1);
    memset(p, 0xFF, 1000);
    cf_free(p); /* the next block of this size is likely the same memory */
    p = cf_alloc_zero(1000, 1);
    int sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += p[i];
    CHECK_INT(sum, 0);
    cf_free(p);
}

TEST(sizes_that_overflow_are_refused)
{
    CHECK(cf_alloc(SIZE_MAX, 1) == NULL);
    CHECK(cf_alloc(SIZE_MAX, 8) == NULL);
    CHECK(cf_alloc(SIZE_MAX / 8 + 1, 8) == NULL);
    CHECK(cf_alloc(8, SIZE_MAX / 8 + 1) == NULL);
    CHECK(cf_alloc((size_t)1 << 33, (size_t)1 << 33) == NULL);
    CHECK(cf_alloc(SIZE_MAX - CF_LINE, 1) == NULL);
    CHECK(cf_alloc_zero(SIZE_MAX / 4, 8) == NULL);
    void *p = cf_alloc(SIZE_MAX, 0), *q = cf_alloc(0, SIZE_MAX);
    CHECK(p != NULL && q != NULL); /* nothing, many times, is nothing */
    cf_free(p);
    cf_free(q);
}

TEST(pad_rounds_up_to_a_line)
{
    for (ptrdiff_t n = 0; n < 100; n++) {
        CHECK_INT(cf_pad(n) % 8, 0);
        CHECK(cf_pad(n) >= n && cf_pad(n) < n + 8);
    }
}

CHECK_MAIN
