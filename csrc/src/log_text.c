#include "log.h"

#include <float.h>

/* Every line ends in a line feed, which is no part of a token. */

typedef struct reader {
    cf_log *out;
    const cf_log_rules *rules;
    const char *p, *end;
    /* the present round */
    log_mark mark;
    log_label label;
    int open; /* whether it has a line */
} reader;

static const char LABEL[] = "action:cost:probability";

static int ends_name(char c) { return is_blank(c) || c == '\n' || c == '|' || c == ':'; }

static int ends_word(char c) { return is_blank(c) || c == '\n'; }

static void skip_blanks(reader *r)
{
    while (is_blank(*r->p))
        r->p++;
}

static int refuse_label(reader *r, int status)
{
    return cf_log_refuse(r->out, status, LABEL, (ptrdiff_t)sizeof LABEL - 1);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* Digits, whatever sign or point is in front of them: no word begins so. */
static int looks_like_number(const char *p)
{
    p += *p == '-' || *p == '+';
    p += *p == '.';
    return is_digit(*p);
}

/* nan, inf, infinity with or without a sign, in letters of any size. */
static int is_no_finite(const char *p, const char *end)
{
    p += *p == '-' || *p == '+';
    const word w = {p, end - p};
    return is_any_case(w, "nan") || is_any_case(w, "inf") || is_any_case(w, "infinity");
}

/* A number that fills [p, end): CF_OK, CF_ENONFINITE, or CF_EFEATURE where it is none. */
static int number(reader *r, const char *p, const char *end, double *value)
{
    if (is_no_finite(p, end))
        return CF_ENONFINITE;
    if (cf_decimal(p, r->end, value) != end)
        return CF_EFEATURE;
    return fabs(*value) <= DBL_MAX ? CF_OK : CF_ENONFINITE;
}

/* --- features -------------------------------------------------------------------------------- */

/* The namespace behind a |, and its weight. */
static int space_of(reader *r, int32_t *space, double *weight)
{
    const char *begin = r->p;
    while (!ends_name(*r->p))
        r->p++;
    const word name = {begin, r->p - begin};
    *weight = 1.0;
    if (*r->p == ':') {
        const char *p = r->p + 1, *end = p;
        while (!ends_name(*end))
            end++;
        const int status = name.length > 0 ? number(r, p, end, weight) : CF_EFEATURE;
        if (status != CF_OK)
            return cf_log_refuse(r->out, status, name.begin, name.length);
        r->p = end;
    }
    if (*r->p == ':')
        return cf_log_refuse(r->out, CF_EFEATURE, name.begin, name.length);
    *space = cf_log_space(r->out, name);
    return CF_OK;
}

/* name, name:number, :number or name:word; a word goes up to the next blank. */
static int feature(reader *r, cf_log_pairs *to, int32_t space, double weight, int32_t *place)
{
    const char *begin = r->p, *p = begin;
    while (!ends_name(*p))
        p++;
    const word name = {begin, p - begin};
    if (*p != ':') {
        cf_log_add(r->out, to, space, name, weight);
        r->p = p;
        return CF_OK;
    }
    const char *value = ++p;
    double x;
    while (!ends_word(*p) && *p != '|')
        p++;
    int status = p > value ? number(r, value, p, &x) : CF_EFEATURE;
    if (status == CF_EFEATURE && p > value && !looks_like_number(value)) {
        while (!ends_word(*p)) /* a word may hold a | */
            p++;
        cf_log_add_word(r->out, to, space, name, (word){value, p - value});
        r->p = p;
        return CF_OK;
    }
    if (status != CF_OK)
        return cf_log_refuse(r->out, status, name.begin, name.length);
    x *= weight;
    if (fabs(x) > DBL_MAX)
        return cf_log_refuse(r->out, CF_ENONFINITE, name.begin, name.length);
    if (name.length > 0)
        cf_log_add(r->out, to, space, name, x);
    else
        cf_log_add_place(r->out, to, space, (*place)++, x);
    r->p = p;
    return CF_OK;
}

/* From the first | to the end of the line. */
static int features(reader *r, cf_log_pairs *to)
{
    while (*r->p == '|') {
        int32_t space = 0, place = 0;
        double weight;
        r->p++;
        CF_TRY(space_of(r, &space, &weight));
        for (skip_blanks(r); *r->p != '\n' && *r->p != '|'; skip_blanks(r))
            CF_TRY(feature(r, to, space, weight, &place));
    }
    return CF_OK;
}

/* --- what stands before the | ---------------------------------------------------------------- */

/* action:cost:probability of the action that is the next row; an action alone says nothing. */
static int read_label(reader *r, word w)
{
    const char *end = w.begin + w.length, *colon[2], *p = w.begin;
    int colons = 0;
    for (; p < end; p++)
        if (*p == ':') {
            if (colons == 2)
                return refuse_label(r, CF_EACTION);
            colon[colons++] = p;
        }
    double action;
    const char *behind = colons > 0 ? colon[0] : end;
    if (number(r, w.begin, behind, &action) != CF_OK || action < 0.0 || action != floor(action))
        return refuse_label(r, CF_EACTION);
    if (colons == 0)
        return CF_OK;
    if (!isnan(r->label.cost))
        return refuse_label(r, CF_EREPEATED);
    if (colons == 1)
        return refuse_label(r, CF_EACTION);
    int status = number(r, colon[0] + 1, colon[1], &r->label.cost);
    if (status == CF_OK)
        status = number(r, colon[1] + 1, end, &r->label.probability);
    if (status != CF_OK)
        return refuse_label(r, status == CF_ENONFINITE ? status : CF_EACTION);
    r->label.chosen = (double)(r->out->n_rows - r->mark.rows);
    r->out->got = r->label.probability;
    if (!(r->label.probability > 0.0 && r->label.probability <= 1.0))
        return refuse_label(r, CF_EVALUE);
    return CF_OK;
}

/* One word, shared or a label, and a tag, which is 'word or touches the |; none of them need
 * be. */
static int head(reader *r, int *shared)
{
    int heads = 0;
    *shared = 0;
    for (skip_blanks(r); *r->p != '|' && *r->p != '\n'; skip_blanks(r)) {
        const char *begin = r->p;
        while (!ends_word(*r->p) && *r->p != '|')
            r->p++;
        const word w = {begin, r->p - begin};
        const int tag = *begin == '\'' || *r->p == '|';
        if (tag && *begin != '\'' &&
            (is_word(w, "shared") || memchr(begin, ':', (size_t)w.length))) {
            r->p = begin; /* to VW it would be a tag: nobody means that */
            return refuse_label(r, CF_EACTION);
        }
        if (tag)
            continue;
        const char *behind = r->p;
        r->p = begin;
        if (heads++ > 0)
            return refuse_label(r, CF_EACTION);
        if (is_word(w, "shared")) {
            if (r->open)
                return cf_log_refuse(r->out, CF_ESHARED, "shared", 6);
            *shared = 1;
        } else {
            CF_TRY(read_label(r, w));
        }
        r->p = behind;
    }
    return CF_OK;
}

/* --- rounds ---------------------------------------------------------------------------------- */

static void begin_round(reader *r)
{
    r->mark = cf_log_mark(r->out);
    r->label = NO_LABEL;
    r->open = 0;
}

static int end_round(reader *r)
{
    static const char *const names[] = {LABEL, LABEL, LABEL};
    if (!r->open)
        return CF_OK;
    if (r->out->n_rows == r->mark.rows)
        return cf_log_refuse(r->out, CF_EABSENT, "action", 6);
    const int status = cf_log_end_round(r->out, r->rules, r->mark, &r->label, names);
    begin_round(r);
    return status;
}

static int read_line(reader *r)
{
    int shared;
    CF_TRY(head(r, &shared));
    r->open = 1;
    CF_TRY(features(r, shared ? &r->out->shared : &r->out->actions));
    if (!shared)
        cf_log_end_row(r->out);
    return CF_OK;
}

int cf_log_read_text(cf_log *self, const cf_log_rules *rules, const char *text, ptrdiff_t length)
{
    const char *end = text + length, *first = text; /* the first line of the present round */
    reader r = {.out = self, .rules = rules, .p = text, .end = end - 1};
    int64_t first_line = self->line;
    int status = CF_OK;
    begin_round(&r);
    for (const char *line = text; line < end && status == CF_OK; line = r.p + 1) {
        r.p = line;
        self->line++;
        skip_blanks(&r);
        const int blank = *r.p == '\n';
        status = blank ? end_round(&r) : read_line(&r);
        if (status != CF_OK) {
            if (blank) { /* the round as a whole */
                line = r.p = first;
                self->line = first_line + 1;
            }
            self->bad_line = line - text;
            self->bad = r.p - text;
        } else if (!r.open) {
            first = r.p + 1;
            first_line = self->line;
        }
    }
    if (status == CF_OK && rules->last && r.open) {
        status = end_round(&r);
        if (status == CF_OK)
            first = end;
        self->bad_line = self->bad = first - text;
        if (status != CF_OK)
            self->line = first_line + 1;
    }
    if (status == CF_OK && first < end) { /* read again with what follows */
        cf_log_go_back(self, r.mark);
        self->line = first_line;
    }
    self->used = first - text;
    return status;
}

/* --- rows without rounds --------------------------------------------------------------------- */

/* Moves behind the next token; its end. */
static const char *token(reader *r)
{
    while (!ends_word(*r->p))
        r->p++;
    return r->p;
}

/* The head of a bare line: a label, which has no colon, and a query. */
static const char *bare_head(reader *r)
{
    const char *begin = r->p, *end = token(r);
    if (memchr(begin, ':', (size_t)(end - begin)) != NULL)
        r->p = end = begin;
    skip_blanks(r);
    if (strncmp(r->p, "qid:", 4) == 0)
        end = token(r);
    return end;
}

static int bare_features(reader *r)
{
    int32_t space = cf_log_space(r->out, (word){r->p, 0}), place = 0;
    for (skip_blanks(r); *r->p != '\n' && *r->p != '#'; skip_blanks(r)) {
        CF_TRY(feature(r, &r->out->actions, space, 1.0, &place));
        if (*r->p == '|')
            return cf_log_refuse(r->out, CF_EFEATURE, "|", 1);
    }
    return CF_OK;
}

static const char *vw_head(reader *r)
{
    const char *end = r->p;
    for (; *r->p != '|' && *r->p != '\n'; r->p++)
        if (!is_blank(*r->p))
            end = r->p + 1;
    return end;
}

int cf_log_read_lines(cf_log *self, const cf_log_heads *heads, int bare, const char *text,
                      ptrdiff_t length)
{
    const char *end = text + length;
    reader r = {.out = self, .p = text, .end = end - 1};
    for (const char *line = text; line < end; line = r.p + 1) {
        r.p = line;
        self->line++;
        skip_blanks(&r);
        if (*r.p != '\n' && !(bare && *r.p == '#')) {
            const ptrdiff_t row = self->n_rows;
            heads->line[row] = self->line;
            heads->begin[row] = r.p - text;
            heads->end[row] = (bare ? bare_head(&r) : vw_head(&r)) - text;
            const int status = bare ? bare_features(&r) : features(&r, &self->actions);
            if (status != CF_OK) {
                self->bad_line = line - text;
                self->bad = r.p - text;
                return status;
            }
            cf_log_end_row(self);
        }
        while (*r.p != '\n') /* a comment */
            r.p++;
    }
    self->used = length;
    return CF_OK;
}
