#include "coactive_fast/cf_status.h"

#define CF_CASE_MESSAGE(name, value, exception, message)                                         \
    case value:                                                                                  \
        return message;
#define CF_CASE_EXCEPTION(name, value, exception, message)                                       \
    case value:                                                                                  \
        return #exception;

const char *cf_status_message(int status)
{
    switch (status) {
        CF_STATUS_LIST(CF_CASE_MESSAGE)
    }
    return "unknown status";
}

const char *cf_status_exception(int status)
{
    switch (status) {
        CF_STATUS_LIST(CF_CASE_EXCEPTION)
    }
    return "RuntimeError";
}
