/* The choice of the instruction set, and the tables of functions. */
#include "cf_check.h"

TEST(names_are_listed_best_first_and_end_with_the_plain_one)
{
    const char *const *names = cf_table_names();
    int count = 0;
    while (names[count] != NULL)
        count++;
    CHECK(count >= 1);
    CHECK(strcmp(names[count - 1], "baseline") == 0);
#if defined(__x86_64__)
    CHECK_INT(count, 3);
    CHECK(strcmp(names[0], "v4") == 0);
    CHECK(strcmp(names[1], "v3") == 0);
#endif
}

TEST(auto_is_the_first_that_runs)
{
    const cf_table *first = NULL;
    for (const char *const *name = cf_table_names(); *name != NULL && first == NULL; name++)
        first = cf_table_for(*name);
    CHECK(first != NULL);
    CHECK(cf_table_for("auto") == first);
}

TEST(a_table_knows_its_name)
{
    for (const char *const *name = cf_table_names(); *name != NULL; name++) {
        const cf_table *k = cf_table_for(*name);
        CHECK(k == NULL || strcmp(k->isa, *name) == 0);
    }
    CHECK(cf_table_for("baseline") != NULL); /* runs everywhere */
}

TEST(unknown_names_give_null)
{
    static const char *const strange[] = {"", "v5", "V4", "v", "v44", "baseline ", "AUTO"};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        CHECK(cf_table_for(strange[i]) == NULL);
}

TEST(fma_is_where_it_should_be)
{
#if defined(__x86_64__)
    const cf_table *v3 = cf_table_for("v3"), *v4 = cf_table_for("v4");
    CHECK(v3 == NULL || v3->has_fma == 1);
    CHECK(v4 == NULL || v4->has_fma == 1);
    CHECK(v4 == NULL || v3 != NULL); /* a CPU with v4 has v3 */
#if !defined(__FMA__)
    CHECK_INT(cf_table_for("baseline")->has_fma, 0);
#endif
    CHECK_INT(cf_table_plain_fma.has_fma, 1);
#else
    CHECK(cf_table_for("baseline")->has_fma == 0 || cf_table_for("baseline")->has_fma == 1);
#endif
}

#define HAS(type, name, arguments)                                                               \
    CHECK_THAT(k->name != NULL, "%s has no %s", k->isa, #name);                                  \
    kernels++;

TEST_TABLES(every_kernel_is_there)
{
    int kernels = 0;
    CF_KERNELS(HAS)
    CHECK(kernels > 40);
}

/* Modules that others compiled take an entry by its place. */
#define PLACE(name) CHECK_INT(offsetof(TABLE, name), FIRST + count++ * sizeof(void (*)(void)));
#define PLACE_KERNEL(type, name, arguments) PLACE(name)

TEST(the_tables_begin_with_size_and_abi_and_have_no_gaps)
{
    CHECK_INT(offsetof(cf_table, size), 0);
    CHECK_INT(offsetof(cf_table, abi), sizeof(size_t));
    CHECK_INT(offsetof(cf_library, size), 0);
    CHECK_INT(offsetof(cf_library, abi), sizeof(size_t));
    CHECK_INT(cf_functions.size, sizeof(cf_library));
    CHECK_INT(cf_functions.abi, CF_ABI);
    size_t count = 0;
#define TABLE cf_table
#define FIRST (offsetof(cf_table, isa) + sizeof(char *))
    CF_KERNELS(PLACE_KERNEL)
    CHECK_INT(sizeof(cf_table), FIRST + count * sizeof(void (*)(void)));
#undef TABLE
#undef FIRST
    count = 0;
#define TABLE cf_library
#define FIRST (2 * sizeof(size_t))
    CF_LIBRARY_FUNCTIONS(PLACE)
    CHECK_INT(sizeof(cf_library), FIRST + count * sizeof(void (*)(void)));
}

TEST_TABLES(every_table_says_how_large_it_is)
{
    CHECK_INT(k->size, sizeof(cf_table));
    CHECK_INT(k->abi, CF_ABI);
}

#define SAME(name) CHECK(cf_functions.name == cf_##name);

TEST(the_library_table_lists_the_functions_themselves) { CF_LIBRARY_FUNCTIONS(SAME) }

/* The multiplication with one rounding where a table says so, with two where it does not. */
TEST_TABLES(has_fma_says_the_truth)
{
    const double x = 1.0 + 0x1p-30, y = 1.0 - 0x1p-30;
    double value = -1.0;
    k->axpy(1, x, &y, &value);
    CHECK_CLOSE(value, k->has_fma ? -0x1p-60 : 0.0, 0.0);
}

CHECK_MAIN
