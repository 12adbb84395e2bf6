/* A JSON line is read from left to right by one function for each kind of value; none allocates,
 * and all stop at the line feed, which no JSON value holds. A string without escapes is used where
 * it stands; any other is written to the scratch, which a line's strings fill one behind the other. */
#include "log.h"

#include <float.h>

typedef struct reader {
    cf_log *out;
    const cf_log_rules *rules;
    const char *p, *end; /* the place, and the last line feed of the piece */
    char *scratch;       /* its free part */
    word key;            /* the last one: the field that an error names */
    cf_log_pairs *to;
    /* of the present line */
    log_label label;
    double action, first, first_probability; /* _label_Action, a[0], p[0]; NaN: none */
    double drop;                             /* pdrop */
    int skip, has_context;
    unsigned seen; /* the fields that may stand once */
} reader;

static int refuse(reader *r, int status)
{
    return cf_log_refuse(r->out, status, r->key.begin, r->key.length);
}

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
    static const int first[] = {0, 0xC0, 0xE0, 0xF0};
    int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; /* bytes that follow */
    *out++ = (char)(first[more] | code >> 6 * more);
    while (more-- > 0)
        *out++ = (char)(0x80 | (code >> 6 * more & 0x3F));
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

/* The string whose opening quote is here. */
static int string(reader *r, word *w)
{
    const char *begin = r->p + 1;
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

/* true, false or null, whichever begins so. */
static int literal(reader *r)
{
    const char *text = *r->p == 't' ? "true" : *r->p == 'f' ? "false" : "null";
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
    const int is_nan = c == '"' && is_any_case((word){r->p + 1, 3}, "nan") && r->p[4] == '"';
    return refuse(r, is_nan ? CF_ENONFINITE : CF_EKIND);
}

#define FIRST_ONE 2 /* `more` of an object or array that was just opened */

/* Up to a member or an element, where `more` says what came before: 1 where there is one, 0 behind
 * the end, or a status. */
static int another(reader *r, char close, int more)
{
    const char c = skip_blanks(r);
    if (more == FIRST_ONE && c != close)
        return 1;
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
    CF_TRY(string(r, key));
    r->key = *key;
    if (skip_blanks(r) != ':')
        return CF_EJSON;
    r->p++;
    skip_blanks(r);
    return CF_OK;
}

/* Any value, which plays no part. */
static int skip_value(reader *r, int depth)
{
    word unused;
    switch (skip_blanks(r)) {
    case '"':
        return string(r, &unused);
    case 't':
    case 'f':
    case 'n':
        return literal(r);
    case '{':
    case '[': {
        const char close = *r->p++ == '{' ? '}' : ']';
        if (depth >= CF_LOG_DEPTH)
            return refuse(r, CF_EDEEP);
        int more = FIRST_ONE;
        while ((more = another(r, close, more)) > 0) {
            if (close == '}')
                CF_TRY(key_of(r, &unused));
            CF_TRY(skip_value(r, depth + 1));
        }
        return more;
    }
    default:
        return number(r, NULL);
    }
}

/* The fields that may stand once, by their bits in `seen`. */
enum { COST, PROBABILITY, INDEX, ACTION, FIRST, P, CONTEXT, MULTI, SKIP, DROP };

/* --- features -------------------------------------------------------------------------------- */

static int features(reader *r, int32_t space, int depth, int shared);

/* The words of a _text: each is a feature. */
static int words(reader *r, int32_t space)
{
    word all;
    if (*r->p != '"')
        return refuse(r, CF_EKIND);
    CF_TRY(string(r, &all));
    const char *p = all.begin, *end = all.begin + all.length;
    while (p < end) {
        const char *begin = p;
        while (p < end && *p != ' ' && *p != '\t')
            p++;
        word one = {begin, p - begin};
        tame(r, &one);
        if (one.length > 0)
            cf_log_add(r->out, r->to, space, one, 1.0);
        p++;
    }
    return CF_OK;
}

/* Numbers, which are features by their place, and objects, whose members are features. */
static int array(reader *r, int32_t space, int depth)
{
    int32_t place = 0;
    double value;
    if (depth >= CF_LOG_DEPTH)
        return refuse(r, CF_EDEEP);
    const word key = r->key;
    int more = FIRST_ONE;
    while ((more = another(r, ']', more)) > 0) {
        const char c = skip_blanks(r);
        r->key = key;
        if (c == '{') {
            r->p++;
            CF_TRY(features(r, space, depth + 1, 0));
        } else if (c == 'n') {
            CF_TRY(literal(r));
        } else if (begins_number(c)) {
            CF_TRY(number(r, &value));
            cf_log_add_place(r->out, r->to, space, place++, value);
        } else {
            return c == '"' || c == '[' || c == 't' || c == 'f' ? refuse(r, CF_EKIND) : CF_EJSON;
        }
    }
    return more;
}

static int feature(reader *r, int32_t space, word key, int depth)
{
    word value;
    double x;
    switch (*r->p) {
    case '"':
        CF_TRY(string(r, &value));
        tame(r, &value);
        cf_log_add_word(r->out, r->to, space, key, value);
        return CF_OK;
    case 't':
        CF_TRY(literal(r));
        cf_log_add(r->out, r->to, space, key, 1.0);
        return CF_OK;
    case 'f':
    case 'n':
        return literal(r);
    case '{':
        r->p++;
        return features(r, cf_log_space(r->out, key), depth + 1, 0);
    case '[':
        r->p++;
        return array(r, cf_log_space(r->out, key), depth + 1);
    default:
        CF_TRY(number(r, &x));
        cf_log_add(r->out, r->to, space, key, x);
        return CF_OK;
    }
}

static int begins(word w, const char *text)
{
    const size_t length = strlen(text);
    return w.length >= (ptrdiff_t)length && memcmp(w.begin, text, length) == 0;
}

static const word DEFAULT = {"", 0}; /* the namespace without a name */

static int once(reader *r, int field)
{
    if (r->seen & 1u << field)
        return refuse(r, CF_EREPEATED);
    r->seen |= 1u << field;
    return CF_OK;
}

/* The actions: a row each. */
static int actions(reader *r)
{
    CF_TRY(once(r, MULTI));
    if (*r->p != '[')
        return refuse(r, CF_EKIND);
    r->p++;
    const word key = r->key;
    const int32_t space = cf_log_space(r->out, DEFAULT);
    r->to = &r->out->actions;
    int more = FIRST_ONE;
    while ((more = another(r, ']', more)) > 0) {
        r->key = key;
        if (skip_blanks(r) != '{')
            return refuse(r, CF_EKIND);
        r->p++;
        CF_TRY(features(r, space, 3, 0));
        cf_log_end_row(r->out);
    }
    r->to = &r->out->shared;
    return more;
}

/* A member whose name begins with _. */
static int special(reader *r, int32_t space, word key, int depth, int shared)
{
    if (is_word(key, "_text"))
        return words(r, space);
    if (shared && is_word(key, "_multi"))
        return actions(r);
    if (is_word(key, "_multi") || is_word(key, "_slots") || is_word(key, "__aid") ||
        begins(key, "_label"))
        return refuse(r, CF_EFORM);
    return skip_value(r, depth + 1);
}

/* The members of an object that was just opened; `shared`: the context's own. */
static int features(reader *r, int32_t space, int depth, int shared)
{
    if (depth >= CF_LOG_DEPTH)
        return refuse(r, CF_EDEEP);
    int more = FIRST_ONE;
    while ((more = another(r, '}', more)) > 0) {
        word key;
        CF_TRY(key_of(r, &key));
        const int is_special = key.length > 0 && key.begin[0] == '_';
        CF_TRY(is_special ? special(r, space, key, depth, shared) : feature(r, space, key, depth));
    }
    return more;
}

/* --- a line ---------------------------------------------------------------------------------- */

static int context(reader *r)
{
    CF_TRY(once(r, CONTEXT));
    if (*r->p == 'n')
        return literal(r);
    if (*r->p != '{')
        return refuse(r, CF_EKIND);
    r->p++;
    r->has_context = 1;
    r->to = &r->out->shared;
    return features(r, cf_log_space(r->out, DEFAULT), 1, 1);
}

/* A number of the label; null is none, and *value stays. */
static int any_number(reader *r, int field, double *value)
{
    CF_TRY(once(r, field));
    return *r->p == 'n' ? literal(r) : label_number(r, value);
}

static int whole(reader *r, int field, double *value)
{
    const char *begin = r->p;
    const int status = any_number(r, field, value);
    if (status == CF_OK && !isnan(*value) && *value != floor(*value)) {
        r->p = begin;
        return refuse(r, CF_EKIND);
    }
    return status;
}

/* The first element of an array, or a number that stands alone. */
static int first_of(reader *r, int field, double *value,
                    int (*read)(reader *, int, double *))
{
    const word key = r->key;
    if (*r->p != '[')
        return read(r, field, value);
    r->p++;
    int more = another(r, ']', FIRST_ONE);
    if (more == 0)
        return once(r, field);
    CF_TRY(read(r, field, value));
    while ((more = another(r, ']', more)) > 0) {
        r->key = key;
        CF_TRY(skip_value(r, 2));
    }
    return more;
}

static int skips(reader *r)
{
    CF_TRY(once(r, SKIP));
    if (*r->p == 'n')
        return literal(r);
    r->skip = *r->p == 't';
    if (*r->p != 't' && *r->p != 'f')
        return refuse(r, CF_EKIND);
    return literal(r);
}

/* That of a key which begins with _label; `rest`: what follows. */
static int label_member(reader *r, word rest)
{
    if (is_any_case(rest, "_cost"))
        return any_number(r, COST, &r->label.cost);
    if (is_any_case(rest, "_probability"))
        return any_number(r, PROBABILITY, &r->label.probability);
    if (is_any_case(rest, "_action"))
        return whole(r, ACTION, &r->action);
    if (is_any_case(rest, "index"))
        return whole(r, INDEX, &r->label.chosen);
    return refuse(r, CF_EFORM);
}

static int member(reader *r, word key)
{
    if (is_word(key, "c"))
        return context(r);
    if (is_word(key, "a"))
        return first_of(r, FIRST, &r->first, whole);
    if (is_word(key, "p") || is_word(key, "_p"))
        return first_of(r, P, &r->first_probability, any_number);
    if (is_word(key, "pdrop"))
        return any_number(r, DROP, &r->drop);
    if (begins(key, "_label"))
        return label_member(r, (word){key.begin + 6, key.length - 6});
    if (is_word(key, "_skipLearn"))
        return skips(r);
    if (is_word(key, "_multi") || is_word(key, "_slots") || is_word(key, "_outcomes"))
        return refuse(r, CF_EFORM);
    return skip_value(r, 1);
}

static int members(reader *r)
{
    r->key = DEFAULT;
    if (*r->p != '{')
        return CF_EJSON;
    r->p++;
    int more = FIRST_ONE;
    while ((more = another(r, '}', more)) > 0) {
        word key;
        CF_TRY(key_of(r, &key));
        CF_TRY(member(r, key));
    }
    if (more == CF_OK && skip_blanks(r) != '\n')
        return CF_EJSON;
    return more;
}

/* What a line says together; r->p is put where the fault is told. */
static int round_of(reader *r, const char *line, log_mark mark)
{
    static const char *const names[] = {"_label_cost", "_label_probability", "_labelIndex"};
    cf_log *out = r->out;
    r->p = line;
    if (r->skip || !r->has_context) {
        cf_log_go_back(out, mark);
        out->n_unlearned += r->skip;
        out->n_dangling += !r->skip;
        return CF_OK;
    }
    if (!(r->seen & 1u << MULTI) || out->n_rows == mark.rows)
        return cf_log_refuse(out, CF_EABSENT, "_multi", 6);
    out->got = r->drop;
    if (!(r->drop >= 0.0 && r->drop < 1.0))
        return cf_log_refuse(out, CF_EVALUE, "pdrop", 5);
    log_label *label = &r->label;
    if (isnan(label->chosen))
        label->chosen = (isnan(r->action) ? r->first : r->action) - 1.0;
    if (isnan(label->probability) && !isnan(label->cost))
        label->probability = r->first_probability;
    const int64_t before = out->taken;
    const int status = cf_log_end_round(out, r->rules, mark, label, names);
    if (status != CF_OK || out->taken == before)
        return status;
    if (before == 0)
        out->drop = r->drop;
    return out->drop == r->drop ? CF_OK : cf_log_refuse(out, CF_EDIFFERS, "pdrop", 5);
}

int cf_log_read_json(cf_log *self, const cf_log_rules *rules, const char *text, ptrdiff_t length)
{
    const char *end = text + length;
    const reader fresh = {.out = self, .rules = rules, .end = end - 1, .scratch = self->scratch,
                          .label = NO_LABEL, .action = NAN, .first = NAN,
                          .first_probability = NAN};
    self->used = length;
    for (const char *line = text; line < end; line++) { /* r.p: the line feed of the line before */
        reader r = fresh;
        const log_mark mark = cf_log_mark(self);
        r.p = line;
        self->line++;
        if (skip_blanks(&r) != '\n') {
            self->field = NULL;
            const char *begin = r.p;
            int status = members(&r);
            const char *feed = r.p;
            if (status == CF_OK)
                status = round_of(&r, begin, mark);
            if (status != CF_OK) {
                self->bad_line = line - text;
                self->bad = r.p - text;
                return status;
            }
            r.p = feed;
        }
        line = r.p;
    }
    return CF_OK;
}
