/* How the text of a JSON line is read, up to keys and values: private to log_json.c.
 *
 * A line is read from left to right by one function for each kind of value; none allocates, and all
 * stop at the line feed, which no JSON value holds. A string without escapes is used where it
 * stands; any other is written to the scratch, which a line's strings fill one behind the other. */
#pragma once
#include "decimal.h"
#include "log.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct reader {
    cf_log *out;
    const cf_log_rules *rules;
    const char *p, *end; /* the place, and the last line feed of the piece */
    char *scratch;       /* its free part */
    word key;            /* the last one: the field that an error names */
    cf_log_pairs *to;
    /* of the present line */
    log_label label;
    double action, first, first_probability, drop; /* _label_Action, a[0], p[0], pdrop */
    int skip, has_context, has_actions, has_action, has_first, has_first_probability;
    unsigned seen; /* the fields that may stand once */
} reader;

static int refuse(reader *r, int status)
{
    return cf_log_refuse(r->out, status, r->key.begin, r->key.length);
}

static int is_digit(char c) { return (unsigned char)(c - '0') <= 9; }

static int is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static char skip_blanks(reader *r)
{
    while (is_blank(*r->p))
        r->p++;
    return *r->p;
}

/* --- strings --------------------------------------------------------------------------------- */

/* The first quote, backslash or control character from p on; there is one at `end`. */
static const char *plain_end(const char *p, const char *end)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    for (; end - p >= 8; p += 8) {
        uint64_t t;
        memcpy(&t, p, sizeof t);
        const uint64_t quote = t ^ ones * '"', slash = t ^ ones * '\\';
        /* the lowest bit that is set is right: only what is above it may be a false one */
        const uint64_t found =
            (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((t - ones * ' ') & ~t)) & tops;
        if (found != 0)
            return p + (__builtin_ctzll(found) >> 3);
    }
#endif
    while ((unsigned char)*p >= ' ' && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Four hexadecimal digits; -1 where they are none. */
static int hex(const char *p)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        const char c = p[i], letter = (char)(c | 32);
        if (is_digit(c))
            value = 16 * value + (c - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = 16 * value + (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static char *put_utf8(char *out, int code)
{
    if (code < 0x80) {
        *out++ = (char)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (char)(0xE0 | code >> 12);
        } else {
            *out++ = (char)(0xF0 | code >> 18);
            *out++ = (char)(0x80 | ((code >> 12) & 0x3F));
        }
        *out++ = (char)(0x80 | ((code >> 6) & 0x3F));
    }
    *out++ = (char)(0x80 | (code & 0x3F));
    return out;
}

/* What stands behind a backslash, to `out`; NULL where that is no escape. Half of a pair of
 * surrogates becomes three bytes that are no UTF-8, which whoever decodes them refuses. */
static char *unescape(reader *r, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char c = *r->p;
    if (c != 'u') {
        const char *found = c != '\0' ? strchr(names, c) : NULL;
        if (found == NULL)
            return NULL;
        *out = values[found - names];
        r->p++;
        return out + 1;
    }
    int code = hex(r->p + 1);
    if (code < 0)
        return NULL;
    r->p += 5;
    if (code >= 0xD800 && code < 0xDC00 && r->p[0] == '\\' && r->p[1] == 'u') {
        const int low = hex(r->p + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            r->p += 6;
        }
    }
    return put_utf8(out, code);
}

/* The string whose opening quote was just read. */
static int string(reader *r, word *w)
{
    const char *begin = r->p;
    r->p = plain_end(begin, r->end);
    if (*r->p == '"') {
        *w = (word){begin, r->p++ - begin};
        return CF_OK;
    }
    char *out = r->scratch;
    w->begin = out;
    for (;;) {
        memcpy(out, begin, (size_t)(r->p - begin));
        out += r->p - begin;
        if (*r->p == '"')
            break;
        if (*r->p++ != '\\' || (out = unescape(r, out)) == NULL)
            return CF_EJSON;
        begin = r->p;
        r->p = plain_end(begin, r->end);
    }
    r->p++;
    w->length = out - w->begin;
    r->scratch = out;
    return CF_OK;
}

static int means_else(char c) { return c == ' ' || c == '\t' || c == '|' || c == ':'; }

/* Blanks, | and : become _, as VW has it in words. A word that lies in the scratch is changed
 * there: the scratch holds every byte of the line once, not twice. */
static void tame(reader *r, word *w)
{
    ptrdiff_t i = 0;
    while (i < w->length && !means_else(w->begin[i]))
        i++;
    if (i == w->length)
        return;
    const uintptr_t at = (uintptr_t)w->begin - (uintptr_t)r->out->scratch;
    char *out = r->scratch;
    if (at < (uintptr_t)(r->scratch - r->out->scratch))
        out = r->out->scratch + at;
    else
        r->scratch += w->length;
    for (i = 0; i < w->length; i++)
        out[i] = means_else(w->begin[i]) ? '_' : w->begin[i];
    w->begin = out;
}

/* --- other values ---------------------------------------------------------------------------- */

static int literal(reader *r, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(r->p, text, length) != 0)
        return CF_EJSON;
    r->p += length;
    return CF_OK;
}

/* A number by JSON's grammar, which is narrower than that of cf_decimal; where it plays no part
 * (value NULL) it may be of any size. */
static int number(reader *r, double *value)
{
    const char *begin = r->p, *p = begin + (*begin == '-'), *first = p;
    if (*p == 'N' || *p == 'I')
        return refuse(r, CF_ENONFINITE);
    if (!is_digit(*p))
        return CF_EJSON;
    uint64_t whole = 0;
    if (*p == '0')
        p++;
    else
        for (; is_digit(*p); p++)
            whole = 10 * whole + (uint64_t)(*p - '0');
    if (value != NULL && *p != '.' && (*p | 32) != 'e' && p - first <= 15) {
        *value = *begin == '-' ? -(double)whole : (double)whole;
        r->p = p;
        return CF_OK;
    }
    if (*p == '.') {
        if (!is_digit(*++p))
            return CF_EJSON;
        while (is_digit(*p))
            p++;
    }
    if ((*p | 32) == 'e') {
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!is_digit(*p))
            return CF_EJSON;
        while (is_digit(*p))
            p++;
    }
    if (value != NULL)
        cf_decimal(begin, r->end, value);
    if (value != NULL && !(fabs(*value) <= DBL_MAX))
        return refuse(r, CF_ENONFINITE);
    r->p = p;
    return CF_OK;
}

static int begins_number(char c) { return is_digit(c) || c == '-' || c == 'N' || c == 'I'; }

/* A number; "NaN", which VW writes for it, is told as what it is. */
static int label_number(reader *r, double *value)
{
    const char c = skip_blanks(r);
    if (begins_number(c))
        return number(r, value);
    const char *nan = "nan";
    if (c == '"' && (r->p[1] | 32) == nan[0] && (r->p[2] | 32) == nan[1] &&
        (r->p[3] | 32) == nan[2] && r->p[4] == '"')
        return refuse(r, CF_ENONFINITE);
    return refuse(r, CF_EKIND);
}

/* Behind a member or an element: 1 where another one follows, 0 at the end, or a status. */
static int another(reader *r, char close)
{
    const char c = skip_blanks(r);
    if (c != ',' && c != close)
        return CF_EJSON;
    r->p++;
    return c == ',';
}

/* The key of a member, up to its value. */
static int key_of(reader *r, word *key)
{
    if (skip_blanks(r) != '"')
        return CF_EJSON;
    r->p++;
    const int status = string(r, key);
    if (status != CF_OK)
        return status;
    r->key = *key;
    if (skip_blanks(r) != ':')
        return CF_EJSON;
    r->p++;
    skip_blanks(r);
    return CF_OK;
}

/* Whether an object or array that was just opened holds nothing; then it is read to its end. */
static int is_empty(reader *r, char close)
{
    const int empty = skip_blanks(r) == close;
    r->p += empty;
    return empty;
}

/* Any value, which plays no part. */
static int skip_value(reader *r, int depth)
{
    word unused;
    switch (skip_blanks(r)) {
    case '"':
        r->p++;
        return string(r, &unused);
    case 't':
        return literal(r, "true");
    case 'f':
        return literal(r, "false");
    case 'n':
        return literal(r, "null");
    case '{':
    case '[': {
        const char close = *r->p++ == '{' ? '}' : ']';
        if (depth >= CF_LOG_DEPTH)
            return refuse(r, CF_EDEEP);
        int more = !is_empty(r, close);
        while (more > 0) {
            int status = close == '}' ? key_of(r, &unused) : CF_OK;
            if (status == CF_OK)
                status = skip_value(r, depth + 1);
            if (status != CF_OK)
                return status;
            more = another(r, close);
        }
        return more;
    }
    default:
        return number(r, NULL);
    }
}
