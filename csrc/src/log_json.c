#include "log_json.h"

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
    r->p++;
    const int status = string(r, &all);
    if (status != CF_OK)
        return status;
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
    int more = !is_empty(r, ']');
    while (more > 0) {
        const char c = skip_blanks(r);
        int status;
        r->key = key;
        if (c == '{') {
            r->p++;
            status = features(r, space, depth + 1, 0);
        } else if (c == 'n') {
            status = literal(r, "null");
        } else if (begins_number(c)) {
            status = number(r, &value);
            if (status == CF_OK)
                cf_log_add_place(r->out, r->to, space, place++, value);
        } else {
            status = c == '"' || c == '[' || c == 't' || c == 'f' ? refuse(r, CF_EKIND) : CF_EJSON;
        }
        if (status != CF_OK)
            return status;
        more = another(r, ']');
    }
    return more;
}

static int feature(reader *r, int32_t space, word key, int depth)
{
    word value;
    double x;
    int status;
    switch (*r->p) {
    case '"':
        r->p++;
        status = string(r, &value);
        if (status == CF_OK) {
            tame(r, &value);
            cf_log_add_word(r->out, r->to, space, key, value);
        }
        return status;
    case 't':
        status = literal(r, "true");
        if (status == CF_OK)
            cf_log_add(r->out, r->to, space, key, 1.0);
        return status;
    case 'f':
        return literal(r, "false");
    case 'n':
        return literal(r, "null");
    case '{':
        r->p++;
        return features(r, cf_log_space(r->out, key), depth + 1, 0);
    case '[':
        r->p++;
        return array(r, cf_log_space(r->out, key), depth + 1);
    default:
        status = number(r, &x);
        if (status == CF_OK)
            cf_log_add(r->out, r->to, space, key, x);
        return status;
    }
}

static int is(word w, const char *text)
{
    return w.length == (ptrdiff_t)strlen(text) && memcmp(w.begin, text, (size_t)w.length) == 0;
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
    int status = once(r, MULTI);
    if (status != CF_OK)
        return status;
    if (*r->p != '[')
        return refuse(r, CF_EKIND);
    r->p++;
    const word key = r->key;
    const int32_t space = cf_log_space(r->out, DEFAULT);
    r->to = &r->out->actions;
    r->has_actions = 1;
    int more = !is_empty(r, ']');
    while (more > 0) {
        r->key = key;
        if (skip_blanks(r) != '{')
            return refuse(r, CF_EKIND);
        r->p++;
        status = features(r, space, 3, 0);
        if (status != CF_OK)
            return status;
        cf_log_end_row(r->out);
        more = another(r, ']');
    }
    r->to = &r->out->shared;
    return more;
}

/* A member whose name begins with _. */
static int special(reader *r, int32_t space, word key, int depth, int shared)
{
    if (is(key, "_text"))
        return words(r, space);
    if (shared && is(key, "_multi"))
        return actions(r);
    if (is(key, "_multi") || is(key, "_slots") || is(key, "__aid") || begins(key, "_label"))
        return refuse(r, CF_EFORM);
    return skip_value(r, depth + 1);
}

/* The members of an object that was just opened; `shared`: the context's own. */
static int features(reader *r, int32_t space, int depth, int shared)
{
    if (depth >= CF_LOG_DEPTH)
        return refuse(r, CF_EDEEP);
    int more = !is_empty(r, '}');
    while (more > 0) {
        word key;
        int status = key_of(r, &key);
        if (status != CF_OK)
            return status;
        if (key.length > 0 && key.begin[0] == '_')
            status = special(r, space, key, depth, shared);
        else
            status = feature(r, space, key, depth);
        if (status != CF_OK)
            return status;
        more = another(r, '}');
    }
    return more;
}

/* --- a line ---------------------------------------------------------------------------------- */

static int is_null(reader *r, int *status)
{
    if (*r->p != 'n')
        return 0;
    *status = literal(r, "null");
    return 1;
}

static int context(reader *r)
{
    int status = once(r, CONTEXT);
    if (status != CF_OK || is_null(r, &status))
        return status;
    if (*r->p != '{')
        return refuse(r, CF_EKIND);
    r->p++;
    r->has_context = 1;
    r->to = &r->out->shared;
    return features(r, cf_log_space(r->out, DEFAULT), 1, 1);
}

/* A number of the label; null is none. */
static int told(reader *r, int field, double *value, int *has)
{
    int status = once(r, field);
    if (status != CF_OK || is_null(r, &status))
        return status;
    status = label_number(r, value);
    *has = status == CF_OK;
    return status;
}

static int whole(reader *r, int field, double *value, int *has)
{
    const char *begin = r->p;
    const int status = told(r, field, value, has);
    if (status == CF_OK && *has && *value != floor(*value)) {
        r->p = begin;
        return refuse(r, CF_EKIND);
    }
    return status;
}

/* The first element of an array, or a number that stands alone. */
static int first_of(reader *r, int field, double *value, int *has,
                    int (*read)(reader *, int, double *, int *))
{
    const word key = r->key;
    if (*r->p != '[')
        return read(r, field, value, has);
    r->p++;
    if (is_empty(r, ']'))
        return once(r, field);
    int status = read(r, field, value, has), more = 1;
    for (; status == CF_OK && (more = another(r, ']')) > 0; status = skip_value(r, 2))
        r->key = key;
    return status != CF_OK ? status : more;
}

static int skips(reader *r)
{
    int status = once(r, SKIP);
    if (status != CF_OK || is_null(r, &status))
        return status;
    r->skip = *r->p == 't';
    if (*r->p != 't' && *r->p != 'f')
        return refuse(r, CF_EKIND);
    return literal(r, r->skip ? "true" : "false");
}

/* Whether the rest of a _label key is `text`, which is of small letters. */
static int is_label(word key, const char *text)
{
    ptrdiff_t i = 6;
    for (; i < key.length && *text != '\0'; i++, text++)
        if (key.begin[i] != *text && (key.begin[i] | 32) != *text)
            return 0;
    return i == key.length && *text == '\0';
}

static int label_member(reader *r, word key)
{
    if (is_label(key, "_cost"))
        return told(r, COST, &r->label.cost, &r->label.has_cost);
    if (is_label(key, "_probability"))
        return told(r, PROBABILITY, &r->label.probability, &r->label.has_probability);
    if (is_label(key, "_action"))
        return whole(r, ACTION, &r->action, &r->has_action);
    if (is_label(key, "index"))
        return whole(r, INDEX, &r->label.chosen, &r->label.has_chosen);
    return refuse(r, CF_EFORM);
}

static int member(reader *r, word key)
{
    int unused;
    if (is(key, "c"))
        return context(r);
    if (is(key, "a"))
        return first_of(r, FIRST, &r->first, &r->has_first, whole);
    if (is(key, "p") || is(key, "_p"))
        return first_of(r, P, &r->first_probability, &r->has_first_probability, told);
    if (is(key, "pdrop"))
        return told(r, DROP, &r->drop, &unused);
    if (begins(key, "_label"))
        return label_member(r, key);
    if (is(key, "_skipLearn"))
        return skips(r);
    if (is(key, "_multi") || is(key, "_slots") || is(key, "_outcomes"))
        return refuse(r, CF_EFORM);
    return skip_value(r, 1);
}

static int members(reader *r)
{
    r->key = DEFAULT;
    if (*r->p != '{')
        return CF_EJSON;
    r->p++;
    int more = !is_empty(r, '}');
    while (more > 0) {
        word key;
        int status = key_of(r, &key);
        if (status == CF_OK)
            status = member(r, key);
        if (status != CF_OK)
            return status;
        more = another(r, '}');
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
    if (!r->has_actions || out->n_rows == mark.rows)
        return cf_log_refuse(out, CF_EABSENT, "_multi", 6);
    out->got = r->drop;
    if (!(r->drop >= 0.0 && r->drop < 1.0))
        return cf_log_refuse(out, CF_EVALUE, "pdrop", 5);
    log_label *label = &r->label;
    if (!label->has_chosen && (r->has_action || r->has_first)) {
        label->chosen = (r->has_action ? r->action : r->first) - 1.0;
        label->has_chosen = 1;
    }
    if (!label->has_probability && label->has_cost && r->has_first_probability) {
        label->probability = r->first_probability;
        label->has_probability = 1;
    }
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
    const reader fresh = {.out = self, .rules = rules, .end = end - 1, .scratch = self->scratch};
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
