/* The check framework of the C tests: checks, the runner, arrays with watched borders, random
 * numbers that are the same on every machine, and the comparison of all kernel tables.
 *
 * TEST(name) { ... }          runs once
 * TEST_TABLES(name) { ... }   runs for every table k of this machine, from the same random seed;
 *                             what it gives to AGREE must have the same bits on all with FMA
 * KNOWN_BUG(name) { ... }     the same, but its failures are told and not counted: for a bug that
 *                             is reported and not yet mended; then it becomes TEST_TABLES
 * CHECK_MAIN                  main(): an argument selects tests by a part of their name
 *
 * CF_TEST_KNOWN=1 shows and counts the known bugs. CF_TEST_SKIP_ISA=v4 leaves a table out.
 * CF_TEST_QUICK=1 makes fewer and smaller cases.
 */
#ifndef CF_CHECK_H
#define CF_CHECK_H
#define _POSIX_C_SOURCE 200112L /* posix_memalign: aligned_alloc rounds sizes up */
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coactive_fast/cf_library.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CHECK_SANITIZED 1
#endif
#ifndef CHECK_SANITIZED
#define CHECK_SANITIZED 0
#endif

#define CHECK_SHOWN 5 /* failures of one test that are printed */

/* --- checks ---------------------------------------------------------------------------------- */

typedef struct check_state {
    long checks;
    long failures; /* of the test that runs */
    int known;     /* they are expected, and not shown */
    char context[160];
} check_state;
static check_state check;

/* What the next checks are about; printed with a failure. */
#define CONTEXT(...) (void)snprintf(check.context, sizeof check.context, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) static inline int check_that(int good, const char *file,
                                                                  int line, const char *format,
                                                                  ...)
{
    check.checks++;
    if (good)
        return 1;
    if (++check.failures > CHECK_SHOWN || check.known)
        return 0;
    va_list values;
    va_start(values, format);
    printf("%s:%d: failed: ", file, line);
    vprintf(format, values);
    va_end(values);
    printf(check.context[0] ? "  [%s]\n" : "%s\n", check.context);
    return 0;
}

static inline int check_close(double a, double b, double tolerance, const char *text,
                              const char *file, int line)
{
    const int good = a == b || fabs(a - b) <= tolerance;
    return check_that(good, file, line, "%s: %.17g and %.17g differ by %.3g, allowed %.3g", text,
                      a, b, fabs(a - b), tolerance);
}

static inline int check_bits(const void *a, const void *b, size_t bytes, const char *text,
                             const char *file, int line)
{
    size_t at = 0;
    while (at < bytes && ((const char *)a)[at] == ((const char *)b)[at])
        at++;
    return check_that(at == bytes, file, line, "%s: bytes differ at %zu of %zu", text, at, bytes);
}

#define CHECK(cond) check_that((cond) ? 1 : 0, __FILE__, __LINE__, "%s", #cond)
/* the same with a printf message of the values */
#define CHECK_THAT(cond, ...) check_that((cond) ? 1 : 0, __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_INT(a, b) check_int((long long)(a), (long long)(b), #a " == " #b, __FILE__, __LINE__)
/* |a - b| <= tolerance; NaN is never close */
#define CHECK_CLOSE(a, b, tolerance)                                                             \
    check_close((double)(a), (double)(b), (double)(tolerance), #a " ~ " #b, __FILE__, __LINE__)
#define CHECK_BITS(a, b, count)                                                                  \
    check_bits((a), (b), (size_t)(count) * sizeof *(a), #a " == " #b, __FILE__, __LINE__)

static inline int check_int(long long a, long long b, const char *text, const char *file, int line)
{
    return check_that(a == b, file, line, "%s: %lld and %lld", text, a, b);
}

static inline int check_quick(void)
{
    const char *text = getenv("CF_TEST_QUICK");
    return text != NULL && text[0] != '\0' && text[0] != '0';
}

/* `full` cases, `quick` under an emulator */
static inline int check_count(int full, int quick) { return check_quick() ? quick : full; }

/* The sizes worth a case: all up to 40, then what surrounds the multiples of lanes and blocks. */
static inline ptrdiff_t next_size(ptrdiff_t n)
{
    static const ptrdiff_t far[] = {63, 64, 65, 127, 128, 129, 200, 257, 1000, 4099};
    static const ptrdiff_t few[] = {0,  1,  2,  3,  7,  8,  9,  15,  16,  17,
                                    24, 31, 33, 40, 64, 65, 129, 200, 257, 1000, 4099};
    if (check_quick()) {
        for (size_t i = 0; i < sizeof few / sizeof *few; i++)
            if (few[i] > n)
                return few[i];
    } else if (n < 40) {
        return n + 1;
    }
    for (size_t i = 0; i < sizeof far / sizeof *far; i++)
        if (far[i] > n)
            return far[i];
    return n + 4099;
}
#define FOR_SIZES(n, first, last)                                                                \
    for (ptrdiff_t n = (first); n <= (last); n = next_size(n))

/* --- arrays ---------------------------------------------------------------------------------- */

/* Every array is filled with 0xFF bytes (NaN). Under valgrind and the sanitizers it is exactly as
 * long as asked, so that they see an access beside it; otherwise 64 watched bytes stand on both
 * sides, looked at by release(). */
typedef struct check_block {
    struct check_block *next;
    unsigned char *raw;
    size_t before, bytes, total;
} check_block;
static check_block *check_blocks;

static inline void *take_bytes(size_t bytes, size_t offset, int on_line)
{
    const int exact = CHECK_SANITIZED || check_quick();
    const size_t border = exact ? 0 : 64;
    const size_t total = border + offset + bytes + border;
    check_block *block = malloc(sizeof *block);
    void *raw = NULL;
    if (on_line || !exact) {
        if (posix_memalign(&raw, CF_LINE, total) != 0)
            raw = NULL;
    } else {
        raw = malloc(total);
    }
    if (block == NULL || (raw == NULL && total > 0)) {
        printf("the tests ran out of memory\n");
        exit(2);
    }
    if (total > 0)
        memset(raw, 0xFF, total);
    *block = (check_block){check_blocks, raw, border + offset, bytes, total};
    check_blocks = block;
    return block->raw + block->before;
}

/* Frees all arrays; a write beside one of them is a failure. */
static inline void release(void)
{
    while (check_blocks != NULL) {
        check_block *block = check_blocks;
        const unsigned char *p = block->raw;
        size_t i = 0, end = block->before + block->bytes;
        while (i < block->before && p[i] == 0xFF)
            i++;
        size_t j = end;
        while (j < block->total && p[j] == 0xFF)
            j++;
        CHECK_THAT(i == block->before, "a write before an array of %zu bytes", block->bytes);
        CHECK_THAT(j == block->total, "a write behind an array of %zu bytes", block->bytes);
        check_blocks = block->next;
        free(block->raw);
        free(block);
    }
}

static inline double *take_doubles(ptrdiff_t n) { return take_bytes((size_t)n * 8, 0, 0); }
/* `offset` doubles away from an address that malloc gives */
static inline double *take_offset(ptrdiff_t n, ptrdiff_t offset)
{
    return take_bytes((size_t)n * 8, (size_t)offset * 8, 0);
}
/* on a CF_LINE, n a multiple of 8 */
static inline double *take_line(ptrdiff_t n) { return take_bytes((size_t)n * 8, 0, 1); }
static inline float *take_floats(ptrdiff_t n) { return take_bytes((size_t)n * 4, 0, 0); }
/* cf_pad(n) doubles, all zero: a vector of a contract that wants zeros beyond n */
static inline double *take_padded(ptrdiff_t n)
{
    double *v = take_line(cf_pad(n));
    if (n > 0)
        memset(v, 0, (size_t)cf_pad(n) * sizeof *v);
    return v;
}
static inline void *take_copy(const void *from, size_t bytes)
{
    void *to = take_bytes(bytes, 0, 0);
    if (bytes > 0)
        memcpy(to, from, bytes);
    return to;
}
#define TAKE_COPY(from, count) take_copy((from), (size_t)(count) * sizeof *(from))

/* --- random numbers -------------------------------------------------------------------------- */

static uint64_t check_seed = 1;

static inline uint64_t random_bits(void)
{
    uint64_t x = check_seed += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}
static inline ptrdiff_t random_below(ptrdiff_t n)
{
    return (ptrdiff_t)(random_bits() % (uint64_t)n);
}
static inline double random_unit(void) { return (double)(random_bits() >> 11) * 0x1p-53; }
/* Nearly normal, without libm, so that every machine gets the same bits. */
static inline double random_normal(void)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++)
        sum += random_unit();
    return sum;
}
/* random sign and mantissa, exponent of 2 in low ... high */
static inline double random_scaled(int low, int high)
{
    const double m = 1.0 + random_unit();
    const int e = low + (int)random_below(high - low + 1); /* not in the call: order is open */
    return ldexp(random_bits() & 1 ? -m : m, e);
}
static inline void fill_normal(double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = random_normal();
}
static inline double *take_normal(ptrdiff_t n)
{
    double *x = take_doubles(n);
    fill_normal(x, n);
    return x;
}

/* --- accuracy -------------------------------------------------------------------------------- */

/* Valgrind computes long double in 53 bits: then a reference is no better than what it judges. */
static inline int long_double_is_wide(void)
{
    volatile long double one = 1.0L, small = 0x1p-60L;
    return LDBL_MANT_DIG > 60 && one + small != one;
}

/* |got - exact| in units of the last place of a double at `exact`, subnormals included. */
static inline double ulps(double got, long double exact)
{
    if (isnan(got) || isnan(exact))
        return isnan(got) && isnan(exact) ? 0.0 : INFINITY;
    if ((long double)got == exact || (isinf(got) && (double)exact == got))
        return 0.0;
    int e = DBL_MIN_EXP - 1; /* the spacing stops shrinking there */
    if (exact != 0.0L && ilogbl(exact) > e)
        e = ilogbl(exact);
    return (double)(fabsl((long double)got - exact) / ldexpl(1.0L, e - 52));
}

/* --- tables ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
extern const cf_table cf_table_plain_fma; /* plain_fma.c: stands for ARM64 */
#endif

/* The tables that this machine runs and the environment does not leave out. */
static inline int check_tables(const cf_table *tables[8])
{
    const char *skip = getenv("CF_TEST_SKIP_ISA");
    int count = 0;
    for (const char *const *name = cf_table_names(); *name != NULL; name++) {
        const cf_table *k = cf_table_for(*name);
        if (k != NULL && (skip == NULL || strcmp(skip, *name) != 0))
            tables[count++] = k;
    }
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("fma"))
        tables[count++] = &cf_table_plain_fma;
#endif
    return count;
}

/* What the first table with FMA said, byte by byte; the others must repeat it. */
typedef struct check_journal {
    unsigned char *bytes;
    size_t size, room, at;
    int writing;
} check_journal;
static check_journal journal;

static inline void agree(const cf_table *k, const void *data, size_t bytes, const char *file,
                         int line)
{
    if (!k->has_fma || bytes == 0)
        return;
    if (!journal.writing) {
        const int there = journal.at + bytes <= journal.size;
        const int same = there && memcmp(journal.bytes + journal.at, data, bytes) == 0;
        check_that(same, file, line, "%s has not the bits of the other tables with FMA", k->isa);
        journal.at += bytes;
        return;
    }
    if (journal.size + bytes > journal.room) {
        journal.room = 2 * (journal.size + bytes);
        journal.bytes = realloc(journal.bytes, journal.room);
        if (journal.bytes == NULL)
            exit(2);
    }
    memcpy(journal.bytes + journal.size, data, bytes);
    journal.size += bytes;
}
#define AGREE(k, data, count)                                                                    \
    agree((k), (data), (size_t)(count) * sizeof *(data), __FILE__, __LINE__)

/* --- the runner ------------------------------------------------------------------------------ */

typedef struct check_test {
    const char *name;
    void (*once)(void);
    void (*each)(const cf_table *k);
    int known; /* its failures are expected */
} check_test;
static check_test check_list[64];
static int check_listed;

static inline void check_register(check_test test)
{
    if (check_listed == (int)(sizeof check_list / sizeof *check_list))
        abort();
    check_list[check_listed++] = test;
}

#define TEST(name)                                                                               \
    static void name(void);                                                                      \
    __attribute__((constructor)) static void register_##name(void)                               \
    {                                                                                            \
        check_register((check_test){#name, name, NULL, 0});                                       \
    }                                                                                            \
    static void name(void)
#define TEST_TABLES(name) CHECK_EACH(name, 0)
#define KNOWN_BUG(name) CHECK_EACH(name, 1)
#define CHECK_EACH(name, known)                                                                  \
    static void name(const cf_table *k);                                                         \
    __attribute__((constructor)) static void register_##name(void)                               \
    {                                                                                            \
        check_register((check_test){#name, NULL, name, known});                                    \
    }                                                                                            \
    static void name(const cf_table *k)

static inline void check_run_tables(const check_test *test)
{
    const cf_table *tables[8];
    const int count = check_tables(tables);
    journal = (check_journal){NULL, 0, 0, 0, 1};
    for (int i = 0; i < count; i++) {
        check_seed = 1;
        journal.at = 0;
        CONTEXT("%s", tables[i]->isa);
        test->each(tables[i]);
        release();
        if (tables[i]->has_fma && !journal.writing)
            CHECK_THAT(journal.at == journal.size, "%s said less than the others", tables[i]->isa);
        journal.writing = journal.writing && !tables[i]->has_fma;
    }
    CHECK(count > 0);
    free(journal.bytes);
}

static inline int check_main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < check_listed; i++) {
        const check_test *test = &check_list[i];
        if (argc > 1 && strstr(test->name, argv[1]) == NULL)
            continue;
        const long before = check.checks;
        check.failures = 0;
        check.known = test->known && getenv("CF_TEST_KNOWN") == NULL;
        check.context[0] = '\0';
        check_seed = 1;
        if (test->each != NULL)
            check_run_tables(test);
        else
            test->once();
        release();
        if (check.known) {
            printf("known bug %s: %ld checks failed\n", test->name, check.failures);
            continue;
        }
        if (check.checks == before)
            CHECK_THAT(0, "%s checked nothing", test->name);
        if (check.failures > 0)
            printf("%s: %ld checks failed\n", test->name, check.failures);
        passed += check.failures == 0;
        failed += check.failures != 0;
    }
    printf("%ld checks\n%d passed, %d failed\n", check.checks, passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

#define CHECK_MAIN                                                                               \
    int main(int argc, char **argv) { return check_main(argc, argv); }

#endif
