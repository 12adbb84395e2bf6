/* Memory: blocks on lines, overflow of sizes, an allocator that fails at the n-th call. */
#include "cf_check.h"

/* --- an allocator that counts and fails ------------------------------------------------------ */

static int calls, given_back, fail_at; /* fail_at 0: never */
static size_t last_size;

static void *counting_take(size_t bytes)
{
    last_size = bytes;
    return ++calls == fail_at ? NULL : malloc(bytes);
}

static void counting_give(void *block)
{
    given_back++;
    free(block);
}

static void count_from(int fail)
{
    calls = given_back = 0;
    fail_at = fail;
    cf_set_allocator(counting_take, counting_give);
}

/* --- tests ----------------------------------------------------------------------------------- */

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

TEST(sizes_that_overflow_are_refused_without_asking)
{
    count_from(0);
    CHECK(cf_alloc(SIZE_MAX, 1) == NULL);
    CHECK(cf_alloc(SIZE_MAX, 8) == NULL);
    CHECK(cf_alloc(SIZE_MAX / 8 + 1, 8) == NULL);
    CHECK(cf_alloc(8, SIZE_MAX / 8 + 1) == NULL);
    CHECK(cf_alloc((size_t)1 << 33, (size_t)1 << 33) == NULL);
    CHECK(cf_alloc(SIZE_MAX - CF_LINE, 1) == NULL);
    CHECK(cf_alloc_zero(SIZE_MAX / 4, 8) == NULL);
    CHECK_INT(calls, 0);
    void *p = cf_alloc(SIZE_MAX, 0), *q = cf_alloc(0, SIZE_MAX);
    CHECK(p != NULL && q != NULL); /* nothing, many times, is nothing */
    cf_free(p);
    cf_free(q);
    cf_set_allocator(NULL, NULL);
}

TEST(hooks_are_used_and_restored)
{
    count_from(0);
    void *p = cf_alloc(10, 8);
    CHECK_INT(calls, 1);
    CHECK(last_size >= 80 && last_size <= 80 + CF_LINE + sizeof(void *));
    cf_free(p);
    CHECK_INT(given_back, 1);
    cf_free(NULL);
    CHECK_INT(given_back, 1);
    cf_set_allocator(NULL, NULL);
    p = cf_alloc(10, 8);
    cf_free(p);
    CHECK_INT(calls, 1);
    CHECK_INT(given_back, 1);
}

/* Takes the state and scratch of a metric the way an owner does; 0 where memory ran out, and
 * then nothing is kept. */
static int take_metric(ptrdiff_t n, void *blocks[4])
{
    blocks[0] = cf_alloc_zero((size_t)cf_full_size(n), sizeof(double));
    blocks[1] = cf_alloc((size_t)cf_full_scratch(n), sizeof(double));
    blocks[2] = cf_functions.alloc((size_t)cf_ball_scratch(n, 1), sizeof(double));
    blocks[3] = cf_functions.alloc_zero((size_t)cf_faces_scratch(n), sizeof(double));
    if (blocks[0] && blocks[1] && blocks[2] && blocks[3])
        return 1;
    for (int i = 0; i < 4; i++)
        cf_functions.free(blocks[i]);
    return 0;
}

TEST(the_nth_allocation_fails)
{
    void *blocks[4];
    for (int fail = 1; fail <= 4; fail++) {
        count_from(fail);
        CHECK(!take_metric(20, blocks));
        CHECK_INT(calls, 4);
        CHECK_INT(given_back, 3); /* no leak, and nothing freed twice */
    }
    count_from(5);
    CHECK(take_metric(20, blocks));
    for (int i = 0; i < 4; i++)
        cf_free(blocks[i]);
    CHECK_INT(given_back, 4);
    cf_set_allocator(NULL, NULL);
}

TEST(pad_rounds_up_to_a_line)
{
    for (ptrdiff_t n = 0; n < 100; n++) {
        CHECK_INT(cf_pad(n) % 8, 0);
        CHECK(cf_pad(n) >= n && cf_pad(n) < n + 8);
    }
}

CHECK_MAIN
