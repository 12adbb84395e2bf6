/* What the readers of logs share: private to them. */
#pragma once
#include <math.h>
#include <string.h>

#include "coactive_fast/cf_log.h"
#include "coactive_fast/cf_status.h"
#include "decimal.h"

typedef struct word {
    const char *begin;
    ptrdiff_t length;
} word;

static inline int is_word(word w, const char *text)
{
    return w.length == (ptrdiff_t)strlen(text) && memcmp(w.begin, text, (size_t)w.length) == 0;
}

/* The same of a text of small letters, where their size does not count. */
static inline int is_any_case(word w, const char *text)
{
    ptrdiff_t i = 0;
    while (i < w.length && text[i] && (w.begin[i] == text[i] || (w.begin[i] | 32) == text[i]))
        i++;
    return i == w.length && text[i] == '\0';
}

static inline int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The number of the namespace of this name. */
int32_t cf_log_space(cf_log *self, word name);
/* Adds a feature to `to`: key, key and word, or the place in an array. */
void cf_log_add(cf_log *self, cf_log_pairs *to, int32_t space, word key, double value);
void cf_log_add_word(cf_log *self, cf_log_pairs *to, int32_t space, word key, word value);
void cf_log_add_place(cf_log *self, cf_log_pairs *to, int32_t space, int32_t place, double value);
/* Closes a row of an action. */
void cf_log_end_row(cf_log *self);

/* Where a round began, to go back to. */
typedef struct log_mark {
    ptrdiff_t actions, shared, rows;
} log_mark;

static inline log_mark cf_log_mark(const cf_log *self)
{
    return (log_mark){self->actions.n, self->shared.n, self->n_rows};
}

static inline void cf_log_go_back(cf_log *self, log_mark mark)
{
    self->actions.n = mark.actions;
    self->shared.n = mark.shared;
    self->n_rows = mark.rows;
}

/* The label of a round: NaN, which no number that was read is, where there is none. */
typedef struct log_label {
    double chosen, cost, probability;
} log_label;

static const log_label NO_LABEL = {NAN, NAN, NAN};

/* Closes the round that began at `mark`: CF_OK, or a status with its field. Without a label it is
 * refused or, by the rules, left out. */
int cf_log_end_round(cf_log *self, const cf_log_rules *rules, log_mark mark,
                     const log_label *label, const char *const names[3]);

static inline int cf_log_refuse(cf_log *self, int status, const char *field, ptrdiff_t length)
{
    self->field = field;
    self->field_length = length;
    return status;
}
