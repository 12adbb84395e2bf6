#include "coactive_fast/cf_text.h"

#include "coactive_fast/cf_status.h"
#include "decimal.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Every line ends in a line feed, which is no blank and no part of a token: no loop over a token
 * or over blanks needs to know where the text ends. */

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }

static int ends_line(char c) { return c == '\n' || c == '#'; }

static int ends_token(char c) { return is_blank(c) || ends_line(c); }

static const char *skip_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

static const char *skip_line(const char *p, const char *end)
{
    const char *feed = memchr(p, '\n', (size_t)(end - p));
    return feed + 1;
}

/* A whole number from 0 to INT64_MAX; NULL where there is none. */
static const char *whole(const char *p, const char *end, int64_t *value)
{
    uint64_t v;
    if (end - p >= 8) {
        const int count = cf_decimal_run(p, &v);
        if (count == 0)
            return NULL;
        *value = (int64_t)v;
        if (count < 8)
            return p + count;
    }
    const char *begin = p;
    for (v = 0; *p >= '0' && *p <= '9'; p++) {
        const unsigned digit = (unsigned)(*p - '0');
        if (v > ((uint64_t)INT64_MAX - digit) / 10)
            return NULL;
        v = 10 * v + digit;
    }
    *value = (int64_t)v;
    return p > begin ? p : NULL;
}

/* A finite number within +-largest, NULL where there is none. NaN is no number here. */
static const char *finite_number(const char *p, const char *end, double largest, double *value)
{
    p = cf_decimal(p, end, value);
    return p != NULL && fabs(*value) <= largest ? p : NULL;
}

/* --- svmlight -------------------------------------------------------------------------------- */

/* The reading of one line: each step takes `p` to behind what it read, or leaves it at what is
 * wrong and answers a status. */
typedef struct reading {
    cf_text *out;
    const cf_text_rules *rules;
    const char *p, *end;
} reading;

static int is_query(const char *p) { return strncmp(p, "qid:", 4) == 0; }

static int read_labels(reading *r)
{
    cf_text *out = r->out;
    const char *p = r->p;
    double label;
    for (;;) {
        const char *behind = finite_number(p, r->end, DBL_MAX, &label);
        /* a row without labels begins with its query or its first pair */
        const int none = p == r->p && (behind == NULL ? is_query(p) : *behind == ':');
        if (none && r->rules->multilabel)
            return CF_OK;
        if (none || behind == NULL)
            return CF_ELABEL;
        out->label[out->n_labels++] = label;
        p = behind;
        if (*p != ',' || !r->rules->multilabel)
            break;
        p++;
    }
    if (!ends_token(*p))
        return CF_ELABEL;
    r->p = p;
    return CF_OK;
}

static int read_query(reading *r, int64_t *query)
{
    const char *p = r->p = skip_blanks(r->p);
    *query = 0;
    if (!is_query(p))
        return r->rules->query ? CF_EQUERY : CF_OK;
    p += 4;
    if (r->rules->query) {
        const int negative = *p == '-';
        p = whole(p + negative, r->end, query);
        if (p == NULL || !ends_token(*p))
            return CF_EQUERY;
        *query = negative ? -*query : *query;
    }
    while (!ends_token(*p))
        p++;
    r->p = p;
    return CF_OK;
}

/* Pairs from p up to the line's end. `sorted` becomes 0 where an index does not rise. */
static int read_pairs(reading *r, int *sorted)
{
    cf_text *out = r->out;
    const cf_text_rules *rules = r->rules;
    int64_t *index = out->index + out->n_pairs, before = -1;
    double *value = out->value + out->n_pairs;
    for (const char *p = skip_blanks(r->p); !ends_line(*p); p = skip_blanks(p)) {
        r->p = p;
        int64_t i;
        const char *q = whole(p, r->end, &i);
        if (q == NULL || *q != ':')
            return CF_EPAIR;
        if (i < rules->first || i > rules->last)
            return CF_EINDEX;
        q = finite_number(q + 1, r->end, rules->largest, value);
        if (q == NULL || !ends_token(*q))
            return CF_ENUMBER;
        i -= rules->first;
        *sorted &= i > before;
        *index++ = before = i;
        value++;
        p = q;
    }
    out->n_pairs = index - out->index;
    return CF_OK;
}

static void swap_pairs(int64_t *index, double *value, ptrdiff_t i, ptrdiff_t j)
{
    const int64_t a = index[i];
    const double b = value[i];
    index[i] = index[j];
    value[i] = value[j];
    index[j] = a;
    value[j] = b;
}

/* Heap sort: in place, and no order of the text makes it slow. */
static void sort_pairs(int64_t *index, double *value, ptrdiff_t n)
{
    ptrdiff_t top = n / 2;
    while (n > 1) {
        if (top > 0)
            top--;
        else
            swap_pairs(index, value, 0, --n);
        for (ptrdiff_t i = top, child; (child = 2 * i + 1) < n; i = child) {
            if (child + 1 < n && index[child + 1] > index[child])
                child++;
            if (index[i] >= index[child])
                break;
            swap_pairs(index, value, i, child);
        }
    }
}

static int read_row(reading *r)
{
    cf_text *out = r->out;
    const ptrdiff_t begin = out->n_pairs, row = out->n_rows;
    const char *line = r->p;
    int sorted = 1;
    CF_TRY(read_labels(r));
    CF_TRY(read_query(r, &out->query[row]));
    CF_TRY(read_pairs(r, &sorted));
    if (!sorted) {
        r->p = line;
        sort_pairs(out->index + begin, out->value + begin, out->n_pairs - begin);
        for (ptrdiff_t i = begin + 1; i < out->n_pairs; i++)
            if (out->index[i] == out->index[i - 1])
                return CF_ETWICE;
    }
    if (out->n_pairs > begin) {
        const int64_t least = out->index[begin], most = out->index[out->n_pairs - 1];
        out->least = least < out->least ? least : out->least;
        out->most = most > out->most ? most : out->most;
    }
    out->row_end[row] = out->n_pairs;
    out->label_end[row] = out->n_labels;
    out->row_line[row] = out->line;
    out->n_rows++;
    return CF_OK;
}

int cf_text_read_rows(cf_text *self, const cf_text_rules *rules, const char *text,
                      ptrdiff_t length)
{
    const char *end = text + length;
    reading r = {self, rules, text, end - 1};
    for (const char *line = text; line < end; line = skip_line(r.p, end)) {
        self->line++;
        r.p = skip_blanks(line);
        if (ends_line(*r.p))
            continue;
        const int status = read_row(&r);
        if (status != CF_OK) {
            self->bad_line = line - text;
            self->bad = r.p - text;
            return status;
        }
    }
    return CF_OK;
}

/* --- ratings --------------------------------------------------------------------------------- */

static const char *skip_separator(const char *p)
{
    if (p == NULL)
        return NULL;
    if (p[0] == ':' && p[1] == ':')
        return p + 2;
    return *p == ',' || *p == '\t' ? p + 1 : NULL;
}

static int ends_field(const char *p) { return ends_token(*p) || skip_separator(p) != NULL; }

static int is_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

int cf_text_read_ratings(cf_text_ratings *self, const char *text, ptrdiff_t length)
{
    const char *end = text + length, *last = end - 1;
    for (const char *line = text; line < end; line = skip_line(line, end)) {
        self->line++;
        const char *p = skip_blanks(line);
        if (*p == '\n' || (self->line == 1 && is_letter(*p)))
            continue;
        p = skip_separator(whole(p, last, &self->user[self->n]));
        if (p != NULL)
            p = skip_separator(whole(p, last, &self->item[self->n]));
        if (p != NULL)
            p = finite_number(p, last, DBL_MAX, &self->rating[self->n]);
        if (p == NULL || !ends_field(p)) {
            self->bad_line = self->bad = line - text;
            return CF_EFIELD;
        }
        self->n++;
    }
    return CF_OK;
}

/* --- dense rows ------------------------------------------------------------------------------ */

#define SCATTER(name, type)                                                                      \
    void name(const cf_text *self, ptrdiff_t stride, type *rows)                                 \
    {                                                                                            \
        for (ptrdiff_t row = 0, i = 0; row < self->n_rows; row++, rows += stride)                \
            for (; i < self->row_end[row]; i++)                                                  \
                rows[self->index[i]] = (type)self->value[i];                                     \
    }
SCATTER(cf_text_scatter, double)
SCATTER(cf_text_scatter_f32, float)

void cf_text_restride(ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to, ptrdiff_t skip, char *data)
{
    if (to > from) /* from the last row on, so that none is overwritten before it is moved */
        for (ptrdiff_t row = rows - 1; row >= 0; row--) {
            memmove(data + row * to, data + row * from, (size_t)from);
            memset(data + row * to + from, 0, (size_t)(to - from));
        }
    else
        for (ptrdiff_t row = 0; row < rows; row++)
            memmove(data + row * to, data + row * from + skip, (size_t)to);
}
