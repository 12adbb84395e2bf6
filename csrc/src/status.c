#include "coactive_fast/cf_status.h"

#define CF_TEXTS(name, value, exception, message) {value, #exception, message},
static const struct texts {
    int status;
    const char *exception, *message;
} all[] = {CF_STATUS_LIST(CF_TEXTS){1, "RuntimeError", "unknown status"}};

static const struct texts *texts_of(int status)
{
    const struct texts *t = all;
    while (t->status != status && t->status <= 0)
        t++;
    return t;
}

const char *cf_status_message(int status) { return texts_of(status)->message; }

const char *cf_status_exception(int status) { return texts_of(status)->exception; }
