/* The statuses: one list gives number, message and exception. */
#include "cf_check.h"

#define ENTRY(name, value, exception, message) {name, value, #exception, message},
static const struct entry {
    int code, value;
    const char *exception, *message;
} entries[] = {CF_STATUS_LIST(ENTRY)};
#define ENTRIES (int)(sizeof entries / sizeof *entries)

TEST(every_status_has_its_texts)
{
    for (int i = 0; i < ENTRIES; i++) {
        CONTEXT("status %d", entries[i].value);
        CHECK_INT(entries[i].code, entries[i].value);
        CHECK(strcmp(cf_status_message(entries[i].value), entries[i].message) == 0);
        CHECK(strcmp(cf_status_exception(entries[i].value), entries[i].exception) == 0);
        CHECK(cf_functions.status_message(entries[i].value) ==
              cf_status_message(entries[i].value));
    }
}

TEST(success_is_zero_and_the_rest_negative_and_distinct)
{
    CHECK_INT(CF_OK, 0);
    CHECK(strcmp(cf_status_exception(CF_OK), "None") == 0);
    CHECK(strcmp(cf_status_exception(CF_ENOMEM), "MemoryError") == 0);
    CHECK(strcmp(cf_status_exception(CF_ENOCONVERGE), "ArithmeticError") == 0);
    for (int i = 1; i < ENTRIES; i++) {
        CHECK(entries[i].value < 0);
        for (int j = 0; j < i; j++)
            CHECK(entries[i].value != entries[j].value);
    }
}

TEST(a_number_that_is_no_status)
{
    static const int strange[] = {1, -9, -1000, 12345};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        CHECK(strcmp(cf_status_message(strange[i]), "unknown status") == 0);
        CHECK(strcmp(cf_status_exception(strange[i]), "RuntimeError") == 0);
    }
}

CHECK_MAIN
