/* Statuses: what a C function of this library can answer.
 *
 * One list gives the enum, the message and the Python exception, so that they cannot drift apart.
 * Zero is success, everything else is negative; a function that answers a negative status has
 * left its state and every in-place argument as it found them (a guess that is passed in and out,
 * like the ball's lam, is no such argument).
 */
#pragma once

/* X(name, value, Python exception, message) */
#define CF_STATUS_LIST(X)                                                                        \
    X(CF_OK, 0, None, "ok")                                                                      \
    X(CF_ENOMEM, -1, MemoryError, "out of memory")                                               \
    X(CF_ESIZE, -2, ValueError, "a size is negative or too large")                               \
    X(CF_ENONFINITE, -3, ValueError, "NaN or infinity, or an overflow on the way")               \
    X(CF_ENAN, -4, ValueError, "NaN")                                                            \
    X(CF_ENOTPOSITIVE, -5, ValueError, "the matrix is not positive definite")                    \
    X(CF_EVALUE, -6, ValueError, "a value is out of its range")                                  \
    X(CF_ENOCONVERGE, -7, ArithmeticError, "the iteration did not converge")                     \
    X(CF_EUNSUPPORTED, -8, ValueError, "this machine does not have that instruction set")        \
    X(CF_ELABEL, -20, ValueError, "a label is missing or is not a finite number")                \
    X(CF_EQUERY, -21, ValueError, "expected qid: and a whole number behind the label")           \
    X(CF_EPAIR, -22, ValueError, "expected index:value")                                         \
    X(CF_EINDEX, -23, ValueError, "a feature index is out of range")                             \
    X(CF_ETWICE, -24, ValueError, "a feature index stands twice in one row")                     \
    X(CF_ENUMBER, -25, ValueError, "a value is not a finite number of the dtype asked for")      \
    X(CF_EFIELD, -26, ValueError, "expected user::item::rating")                                 \
    X(CF_EJSON, -30, ValueError, "expected a JSON object")                                       \
    X(CF_EDEEP, -31, ValueError, "objects and arrays stand too deep within each other")          \
    X(CF_EKIND, -32, ValueError, "a value of another kind was expected")                         \
    X(CF_EABSENT, -33, ValueError, "is missing")                                                 \
    X(CF_EREPEATED, -34, ValueError, "stands twice")                                             \
    X(CF_EFORM, -35, ValueError, "stands for what no log of single decisions has here")          \
    X(CF_EDIFFERS, -36, ValueError, "must be the same throughout")                               \
    X(CF_EACTION, -37, ValueError, "expected shared or action:cost:probability, then | apart")   \
    X(CF_EFEATURE, -38, ValueError, "expected name, name:number or name:word")                   \
    X(CF_ESHARED, -39, ValueError, "a shared line must be the first of its example")

#define CF_STATUS_ENUM(name, value, exception, message) name = value,
typedef enum cf_status { CF_STATUS_LIST(CF_STATUS_ENUM) } cf_status;
#undef CF_STATUS_ENUM

/* Returns from a function with what a call answers, unless that is CF_OK. */
#define CF_TRY(call)                                                                             \
    do {                                                                                         \
        const int answer = (call);                                                               \
        if (answer != CF_OK)                                                                     \
            return answer;                                                                       \
    } while (0)

/* The message of a status ("unknown status" for a number that is none); never NULL. */
const char *cf_status_message(int status);
/* The name of the Python exception of a status; never NULL. */
const char *cf_status_exception(int status);
