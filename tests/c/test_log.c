/* Logs: what lines say, which are refused, names by number, the columns of VW; and that no byte
 * beside the piece is looked at, whatever stands in it. */
#include "cf_check.h"

/* A reader with memory for pieces of `most` bytes; names for `pieces` of them. */
static cf_log_names names;
static cf_log out;
static cf_log_heads heads;

static void fresh(ptrdiff_t most, int pieces)
{
    const ptrdiff_t all = pieces * cf_log_names_room(most);
    ptrdiff_t slots = 1;
    while (slots <= 2 * all)
        slots *= 2;
    names = (cf_log_names){.slots = slots};
    names.name = take_bytes((size_t)all * sizeof(cf_log_name), 0, 0);
    names.bytes = take_bytes((size_t)(pieces * most), 0, 0);
    names.slot = take_bytes((size_t)slots * 4, 0, 0);
    memset(names.slot, 0, (size_t)slots * 4);
    const ptrdiff_t pairs = cf_log_pairs_room(most), rounds = cf_log_rounds_room(most);
    out = (cf_log){.names = &names};
    out.scratch = take_bytes((size_t)most, 0, 0);
    out.actions.name = take_bytes((size_t)pairs * 4, 0, 0);
    out.shared.name = take_bytes((size_t)pairs * 4, 0, 0);
    out.actions.value = take_doubles(pairs);
    out.shared.value = take_doubles(pairs);
    out.row_end = take_bytes((size_t)rounds * 8, 0, 0);
    out.round_end = take_bytes((size_t)rounds * 8, 0, 0);
    out.shared_end = take_bytes((size_t)rounds * 8, 0, 0);
    out.chosen = take_bytes((size_t)rounds * 8, 0, 0);
    out.cost = take_doubles(rounds);
    out.probability = take_doubles(rounds);
    heads.begin = take_bytes((size_t)rounds * sizeof(ptrdiff_t), 0, 0);
    heads.end = take_bytes((size_t)rounds * sizeof(ptrdiff_t), 0, 0);
    heads.line = take_bytes((size_t)rounds * 8, 0, 0);
}

static int read_piece(const char *text, ptrdiff_t length, int json, int skip, int last)
{
    const cf_log_rules rules = {skip, last};
    out.actions.n = out.shared.n = out.n_rows = out.n_rounds = 0;
    const char *copy = TAKE_COPY(text, length);
    return json ? cf_log_read_json(&out, &rules, copy, length)
                : cf_log_read_text(&out, &rules, copy, length);
}

static int read(const char *text, int json)
{
    const ptrdiff_t length = (ptrdiff_t)strlen(text);
    fresh(length, 1);
    return read_piece(text, length, json, 0, 1);
}

static int read_lines(const char *text, ptrdiff_t length, int bare)
{
    out.actions.n = out.n_rows = 0;
    return cf_log_read_lines(&out, &heads, bare, TAKE_COPY(text, length), length);
}

/* The name that pair i of the actions has: key, then word. */
static void check_name(const cf_log_pairs *pairs, ptrdiff_t i, const char *space, const char *name,
                       int kind, double value)
{
    const cf_log_name *own = &names.name[pairs->name[i]], *under = &names.name[own->space];
    CONTEXT("pair %td, %s", i, name);
    CHECK(pairs->value[i] == value);
    CHECK_INT(under->key, strlen(space));
    CHECK(memcmp(names.bytes + under->begin, space, strlen(space)) == 0);
    CHECK_INT(own->value < 0 ? own->value : 0, kind);
    if (kind != CF_LOG_PLACE)
        CHECK(memcmp(names.bytes + own->begin, name, strlen(name)) == 0);
    CONTEXT("%s", "");
}

#define LINE                                                                                     \
    "{\"_label_cost\":-1.5,\"_label_probability\":0.25,\"_labelIndex\":1,\"o\":[{\"v\":[]}],"     \
    "\"c\":{\"u\":{\"age\":31,\"\\u00e9\\ud834\\udd1e\\n\":true,\"no\":false,\"nil\":null},"      \
    "\"_x\":{\"a\":[1,-0.5e+2,\"s\\\"\"]},\"_text\":\"a b:c\\td\",\"_multi\":["                  \
    "{\"i\":{\"id\":\"x y\"},\"_tag\":\"t\"},{\"e\":[2,0,null,{\"k\":3},4.5e0]}]},"               \
    "\"p\":[0.5,0.5],\"a\":[2,1],\"pdrop\":0.0,\"_skipLearn\":false}\n"

TEST(a_line_of_json)
{
    CHECK_INT(read(LINE, 1), CF_OK);
    CHECK_INT(out.n_rounds, 1);
    CHECK_INT(out.n_rows, 2);
    CHECK_INT(out.chosen[0], 1);
    CHECK(out.cost[0] == -1.5 && out.probability[0] == 0.25);
    CHECK_INT(out.actions.n, 4);
    CHECK_INT(out.row_end[0], 1);
    CHECK_INT(out.row_end[1], 4);
    check_name(&out.actions, 0, "i", "idx_y", 0, 1.0);
    check_name(&out.actions, 1, "e", "", CF_LOG_PLACE, 2.0);
    check_name(&out.actions, 2, "e", "k", CF_LOG_PLAIN, 3.0);
    check_name(&out.actions, 3, "e", "", CF_LOG_PLACE, 4.5);
    CHECK_INT(names.name[out.actions.name[3]].key, 2);
    CHECK_INT(out.shared.n, 5);
    check_name(&out.shared, 0, "u", "age", CF_LOG_PLAIN, 31.0);
    check_name(&out.shared, 1, "u", "\xc3\xa9\xf0\x9d\x84\x9e\n", CF_LOG_PLAIN, 1.0);
    check_name(&out.shared, 2, "", "a", CF_LOG_PLAIN, 1.0);
    check_name(&out.shared, 3, "", "b_c", CF_LOG_PLAIN, 1.0);
    check_name(&out.shared, 4, "", "d", CF_LOG_PLAIN, 1.0);
    release();
}

#define TEXT                                                                                     \
    "shared |u:2 age:31 new\n"                                                                   \
    " 'tag |i id:x:y\r\n"                                                                        \
    "0:-1.5:0.25 |i id:x|y z |e:0.5 :4 :0 :-2 word:http://a|b\n"

TEST(an_example_of_text)
{
    CHECK_INT(read(TEXT, 0), CF_OK);
    CHECK_INT(out.n_rounds, 1);
    CHECK_INT(out.chosen[0], 1);
    CHECK(out.cost[0] == -1.5 && out.probability[0] == 0.25);
    check_name(&out.shared, 0, "u", "age", CF_LOG_PLAIN, 62.0);
    check_name(&out.shared, 1, "u", "new", CF_LOG_PLAIN, 2.0);
    CHECK_INT(out.actions.n, 6);
    check_name(&out.actions, 0, "i", "idx:y", 0, 1.0);
    check_name(&out.actions, 1, "i", "idx|y", 0, 1.0);
    check_name(&out.actions, 2, "i", "z", CF_LOG_PLAIN, 1.0);
    check_name(&out.actions, 3, "e", "", CF_LOG_PLACE, 2.0);
    check_name(&out.actions, 4, "e", "", CF_LOG_PLACE, -1.0);
    CHECK_INT(names.name[out.actions.name[4]].key, 2);
    check_name(&out.actions, 5, "e", "wordhttp://a|b", 0, 1.0);
    release();
}

/* Rows without rounds: where their heads are, which lines they stand in, how far their pairs go. */
static void check_row(ptrdiff_t row, const char *text, const char *head, int line, int pairs)
{
    CONTEXT("row %td", row);
    const ptrdiff_t length = heads.end[row] - heads.begin[row];
    CHECK_INT(length, strlen(head));
    CHECK(memcmp(text + heads.begin[row], head, strlen(head)) == 0);
    CHECK_INT(heads.line[row], line);
    CHECK_INT(out.row_end[row], pairs);
    CONTEXT("%s", "");
}

TEST(lines_of_vw)
{
    const char *text = " 3 2.0 'tag |u:2 age:31 new |e :4\n\n\t\n|u old\n7\n x|u a:0 b\r\n";
    fresh((ptrdiff_t)strlen(text), 1);
    CHECK_INT(read_lines(text, (ptrdiff_t)strlen(text), 0), CF_OK);
    CHECK_INT(out.n_rows, 4);
    check_row(0, text, "3 2.0 'tag", 1, 3);
    check_row(1, text, "", 4, 4);
    check_row(2, text, "7", 5, 4);
    check_row(3, text, "x", 6, 5);
    check_name(&out.actions, 0, "u", "age", CF_LOG_PLAIN, 62.0);
    check_name(&out.actions, 1, "u", "new", CF_LOG_PLAIN, 2.0);
    check_name(&out.actions, 2, "e", "", CF_LOG_PLACE, 4.0);
    check_name(&out.actions, 4, "u", "b", CF_LOG_PLAIN, 1.0);
    CHECK_INT(out.used, strlen(text));
    release();
}

TEST(lines_of_names)
{
    const char *text = "# no row\nsport qid:7 goal:2 c#:1 ball # why | not\n1:0.5 a\n\n"
                       "qid:x w:word\nx,y\r\n  #\nz#\n";
    fresh((ptrdiff_t)strlen(text), 1);
    CHECK_INT(read_lines(text, (ptrdiff_t)strlen(text), 1), CF_OK);
    CHECK_INT(out.n_rows, 5);
    check_row(0, text, "sport qid:7", 2, 3);
    check_row(1, text, "", 3, 5);
    check_row(2, text, "qid:x", 5, 6);
    check_row(3, text, "x,y", 6, 6);
    check_row(4, text, "z#", 8, 6);
    check_name(&out.actions, 0, "", "goal", CF_LOG_PLAIN, 2.0);
    check_name(&out.actions, 1, "", "c#", CF_LOG_PLAIN, 1.0);
    check_name(&out.actions, 2, "", "ball", CF_LOG_PLAIN, 1.0);
    check_name(&out.actions, 3, "", "1", CF_LOG_PLAIN, 0.5);
    check_name(&out.actions, 5, "", "wword", 0, 1.0);
    release();
}

TEST(lines_that_are_refused)
{
    static const struct {
        const char *text;
        int bare, status;
    } cases[] = {
        {"1 | a:\n", 0, CF_EFEATURE},   {"1 |n:x a\n", 0, CF_EFEATURE},
        {"1 | a:inf\n", 0, CF_ENONFINITE}, {"1 a:1x\n", 1, CF_EFEATURE},
        {"1 a:nan\n", 1, CF_ENONFINITE}, {"1 |a b\n", 1, CF_EFEATURE},
        {"1 a|b\n", 1, CF_EFEATURE},     {"1 a: b\n", 1, CF_EFEATURE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CONTEXT("%s", cases[i].text);
        const ptrdiff_t length = (ptrdiff_t)strlen(cases[i].text);
        fresh(length, 1);
        CHECK_INT(read_lines(cases[i].text, length, cases[i].bare), cases[i].status);
        CHECK_INT(out.line, 1);
        CHECK(out.bad_line == 0 && out.bad > 0 && out.bad < length);
        release();
    }
    CONTEXT("%s", "");
}

typedef struct refusal {
    const char *text;
    int status, line;
    const char *field;
} refusal;

static void check_refused(const refusal *cases, size_t count, int json)
{
    for (size_t i = 0; i < count; i++) {
        CONTEXT("%.100s", cases[i].text);
        CHECK_INT(read(cases[i].text, json), cases[i].status);
        CHECK_INT(out.line, cases[i].line);
        if (cases[i].field != NULL) {
            CHECK_INT(out.field_length, strlen(cases[i].field));
            CHECK(memcmp(out.field, cases[i].field, strlen(cases[i].field)) == 0);
        }
        release();
    }
    CONTEXT("%s", "");
}

#define WITH(more) "{\"_label_cost\":0,\"_label_probability\":1,\"a\":[1]," more "}\n"
#define C "\"c\":{\"_multi\":[{\"x\":1}]}"

TEST(lines_of_json_that_are_refused)
{
    static const refusal cases[] = {
        {"\n \t\r\nx\n", CF_EJSON, 3, NULL},
        {"{\n", CF_EJSON, 1, NULL},
        {"{\"a\n", CF_EJSON, 1, NULL},
        {"{\"a\" 1}\n", CF_EJSON, 1, NULL},
        {"{\"a\":1 \"b\":2}\n", CF_EJSON, 1, NULL},
        {"{} x\n", CF_EJSON, 1, NULL},
        {"{\"x\":tru}\n", CF_EJSON, 1, NULL},
        {"{\"x\":\"\\q\"}\n", CF_EJSON, 1, NULL},
        {"{\"x\":\"\\u12g4\"}\n", CF_EJSON, 1, NULL},
        {"{\"x\":-}\n", CF_EJSON, 1, NULL},
        {"{\"x\":1.}\n", CF_EJSON, 1, NULL},
        {"{\"x\":1e}\n", CF_EJSON, 1, NULL},
        {"{\"x\":[1,]}\n", CF_EJSON, 1, NULL},
        {WITH("\"c\":{\"y\":[nul]}"), CF_EJSON, 1, NULL},
        {WITH("\"c\":{\"y\":[?]}"), CF_EJSON, 1, NULL},
        {WITH("\"c\":{\"y\":?}"), CF_EJSON, 1, NULL},
        {WITH("\"c\":{\"y\":[1,\"s\"]}"), CF_EKIND, 1, "y"},
        {WITH("\"c\":{\"y\":[1e400]}"), CF_ENONFINITE, 1, "y"},
        {WITH("\"c\":{\"y\":NaN}"), CF_ENONFINITE, 1, "y"},
        {WITH("\"c\":{\"_text\":1}"), CF_EKIND, 1, "_text"},
        {WITH("\"c\":{\"_multi\":{}}"), CF_EKIND, 1, "_multi"},
        {WITH("\"c\":{\"_multi\":[1]}"), CF_EKIND, 1, "_multi"},
        {WITH("\"c\":{\"_multi\":[],\"_multi\":[]}"), CF_EREPEATED, 1, "_multi"},
        {WITH("\"c\":{\"_multi\":[{\"_multi\":[]}]}"), CF_EFORM, 1, "_multi"},
        {WITH("\"c\":{\"_slots\":[]}"), CF_EFORM, 1, "_slots"},
        {WITH("\"c\":{\"_multi\":[]}"), CF_EABSENT, 1, "_multi"},
        {WITH("\"c\":{}"), CF_EABSENT, 1, "_multi"},
        {WITH("\"c\":[]"), CF_EKIND, 1, "c"},
        {WITH("\"c\":null,\"c\":null"), CF_EREPEATED, 1, "c"},
        {WITH(C ",\"_outcomes\":[]"), CF_EFORM, 1, "_outcomes"},
        {WITH(C ",\"_label\":1"), CF_EFORM, 1, "_label"},
        {WITH(C ",\"_label_co\":1"), CF_EFORM, 1, "_label_co"},
        {WITH(C ",\"_label_Cost\":1"), CF_EREPEATED, 1, "_label_Cost"},
        {WITH(C ",\"_label_Action\":[1]"), CF_EKIND, 1, "_label_Action"},
        {WITH(C ",\"_labelIndex\":0.5"), CF_EKIND, 1, "_labelIndex"},
        {WITH(C ",\"_labelIndex\":1"), CF_EVALUE, 1, "_labelIndex"},
        {WITH(C ",\"_label_Action\":0"), CF_EVALUE, 1, "_labelIndex"},
        {WITH(C ",\"_skipLearn\":1"), CF_EKIND, 1, "_skipLearn"},
        {WITH(C ",\"pdrop\":1"), CF_EVALUE, 1, "pdrop"},
        {WITH(C ",\"pdrop\":\"nAn\""), CF_ENONFINITE, 1, "pdrop"},
        {WITH(C) WITH(C ",\"pdrop\":0.5"), CF_EDIFFERS, 2, "pdrop"},
        {"{\"_label_probability\":1,\"a\":1," C "}\n", CF_EABSENT, 1, "_label_cost"},
        {"{\"_label_cost\":1,\"a\":1,\"p\":[]," C "}\n", CF_EABSENT, 1, "_label_probability"},
        {"{\"_label_cost\":1,\"a\":[],\"p\":[1]," C "}\n", CF_EABSENT, 1, "_labelIndex"},
        {"{\"_label_cost\":1,\"a\":1,\"_p\":2," C "}\n", CF_EVALUE, 1, "_label_probability"},
    };
    check_refused(cases, sizeof cases / sizeof *cases, 1);
}

#define LABEL "action:cost:probability"

TEST(lines_of_text_that_are_refused)
{
    static const refusal cases[] = {
        {"x | a\n", CF_EACTION, 1, LABEL},
        {"0:1 | a\n", CF_EACTION, 1, LABEL},
        {"0:1:1:1 | a\n", CF_EACTION, 1, LABEL},
        {"0:x:1 | a\n", CF_EACTION, 1, LABEL},
        {"0:1:1| a\n", CF_EACTION, 1, LABEL},
        {"shared| a\n", CF_EACTION, 1, LABEL},
        {"1 2 | a\n", CF_EACTION, 1, LABEL},
        {"0.5:1:1 | a\n", CF_EACTION, 1, LABEL},
        {"0:-Inf:1 | a\n", CF_ENONFINITE, 1, LABEL},
        {"0:1:2 | a\n", CF_EVALUE, 1, LABEL},
        {"0:1:1 | a\n0:1:1 | a\n", CF_EREPEATED, 2, LABEL},
        {" | a\n | b\n\n", CF_EABSENT, 1, LABEL},
        {"\n\n3 | a\n | b\n", CF_EABSENT, 3, LABEL},
        {"shared | a\n\n", CF_EABSENT, 1, "action"},
        {"\nshared | a\n", CF_EABSENT, 2, "action"},
        {"0:1:1 | a\nshared | b\n", CF_ESHARED, 2, "shared"},
        {"0:1:1 | a:\n", CF_EFEATURE, 1, "a"},
        {"0:1:1 | a:1x\n", CF_EFEATURE, 1, "a"},
        {"0:1:1 | a:-.5x\n", CF_EFEATURE, 1, "a"},
        {"0:1:1 | a:nan\n", CF_ENONFINITE, 1, "a"},
        {"0:1:1 |n:1e200 a:1e200\n", CF_ENONFINITE, 1, "a"},
        {"0:1:1 |n: a\n", CF_EFEATURE, 1, "n"},
        {"0:1:1 |n:1:2 a\n", CF_EFEATURE, 1, "n"},
    };
    check_refused(cases, sizeof cases / sizeof *cases, 0);
    CHECK_INT(read("0:1:1\n", 0), CF_OK); /* an action without features */
    CHECK_INT(out.n_rows, 1);
    release();
}

TEST(what_is_left_out_leaves_nothing)
{
    const char *lines = "{\"x\":1}\n" WITH("\"_skipLearn\":true," C) "{" C "}\n" WITH(C);
    const ptrdiff_t length = (ptrdiff_t)strlen(lines);
    fresh(length, 1);
    CHECK_INT(read_piece(lines, length, 1, 1, 1), CF_OK);
    CHECK_INT(out.n_dangling, 1);
    CHECK_INT(out.n_unlearned, 1);
    CHECK_INT(out.n_unlabelled, 1);
    CHECK_INT(out.n_rounds, 1);
    CHECK_INT(out.actions.n, 1);
    CHECK_INT(out.n_rows, 1);
    release();
}

TEST(objects_too_deep)
{
    char text[400];
    for (int levels = CF_LOG_DEPTH; levels <= CF_LOG_DEPTH + 1; levels++)
        for (int kind = 0; kind < 3; kind++) {
            int at = 0;
            const int inner = levels - (kind == 0 ? 1 : 2);
            at += snprintf(text + at, 60, kind == 0 ? "{\"o\":" : "{\"c\":{\"k\":");
            for (int i = 0; i < inner; i++)
                at += snprintf(text + at, 10, kind == 2 && i == inner - 1 ? "[" : "{\"k\":");
            at += snprintf(text + at, 10, "1");
            for (int i = inner - 1; i >= 0; i--)
                text[at++] = kind == 2 && i == inner - 1 ? ']' : '}';
            at += snprintf(text + at, 10, kind == 0 ? "}\n" : "}}\n");
            CONTEXT("%d levels, kind %d", levels, kind);
            CHECK_INT(read(text, 1) == CF_EDEEP, levels > CF_LOG_DEPTH);
            release();
        }
}

/* --- the scratch ----------------------------------------------------------------------------- */

/* Every way to write a byte or a character, and what a value becomes of it. */
static const struct {
    const char *raw, *plain, *tamed;
} PARTS[] = {
    {"a", "a", "a"},           {" ", " ", "_"},
    {":", ":", "_"},           {"|", "|", "_"},
    {"\\n", "\n", "\n"},       {"\\t", "\t", "_"},
    {"\\\"", "\"", "\""},     {"\\\\", "\\", "\\"},
    {"\\/", "/", "/"},         {"\\b", "\b", "\b"},
    {"\\f", "\f", "\f"},       {"\\r", "\r", "\r"},
    {"\\u0020", " ", "_"},     {"\\u007C", "|", "_"},
    {"\\u003a", ":", "_"},     {"\\u00e9", "\xc3\xa9", "\xc3\xa9"},
    {"\\u20AC", "\xe2\x82\xac", "\xe2\x82\xac"},
    {"\\ud834\\udd1e", "\xf0\x9d\x84\x9e", "\xf0\x9d\x84\x9e"},
    {"\\ud834", "\xed\xa0\xb4", "\xed\xa0\xb4"},
    {"\xc3\xa9", "\xc3\xa9", "\xc3\xa9"},
};
enum { N_PARTS = sizeof PARTS / sizeof *PARTS, MOST = 1 << 13 };

static char text_of[MOST], key_of_it[MOST], word_of_it[MOST];
static int n_text, n_key, n_word;

static void put(char *to, int *n, const char *text)
{
    const size_t length = strlen(text);
    memcpy(to + *n, text, length);
    *n += (int)length;
}

/* A string of `count` parts, of which two kinds: the text, and the key or the word it is. */
static void put_string(int count, int first, int second, char *to, int *n, int tamed)
{
    put(text_of, &n_text, "\"");
    for (int i = 0; i < count; i++) {
        const int part = i % 2 ? second : first;
        put(text_of, &n_text, PARTS[part].raw);
        put(to, n, tamed ? PARTS[part].tamed : PARTS[part].plain);
    }
    put(text_of, &n_text, "\"");
}

/* The words of a _text, whose blanks end a word. */
static int count_words(const char *p, int length)
{
    int count = 0;
    for (int i = 0; i < length; i++)
        count += p[i] != ' ' && p[i] != '\t' && (i == 0 || p[i - 1] == ' ' || p[i - 1] == '\t');
    return count;
}

/* A round of one action; `place`: a word, in a namespace, in an array, or the words of a _text. */
static void check_long_string(int place, int count, int first, int second)
{
    static const char *const open[] = {"", "\"n\":{", "\"n\":[{"}, *const close[] = {"", "}", "}]"};
    const int text = place == 3;
    n_text = n_key = n_word = 0;
    put(text_of, &n_text, "{\"_label_cost\":0,\"a\":1,\"p\":1,\"c\":{\"_multi\":[{");
    put(text_of, &n_text, text ? "" : open[place]);
    if (text)
        put(text_of, &n_text, "\"_text\"");
    else
        put_string(count, first, second, key_of_it, &n_key, 0);
    put(text_of, &n_text, ":");
    put_string(count, second, first, word_of_it, &n_word, !text);
    put(text_of, &n_text, text ? "" : close[place]);
    put(text_of, &n_text, "}]}}\n");
    fresh(n_text, 1);
    CONTEXT("place %d, %d of %s and %s", place, count, PARTS[first].raw, PARTS[second].raw);
    if (CHECK_INT(read_piece(text_of, n_text, 1, 0, 1), CF_OK)) {
        CHECK_INT(out.actions.n, text ? count_words(word_of_it, n_word) : 1);
        const cf_log_name *name = &names.name[text ? 0 : out.actions.name[0]];
        if (!text && CHECK_INT(name->key, n_key) && CHECK_INT(name->value, n_word)) {
            CHECK(memcmp(names.bytes + name->begin, key_of_it, (size_t)n_key) == 0);
            CHECK(memcmp(names.bytes + name->begin + n_key, word_of_it, (size_t)n_word) == 0);
        }
    }
    CONTEXT("%s", "");
    release();
}

/* What the strings of a line need is never more than the line. */
TEST(strings_with_escapes_fit_the_scratch)
{
    for (int first = 0; first < N_PARTS; first++)
        for (int second = 0; second < N_PARTS; second++)
            for (int place = 0; place < 4; place++)
                for (int count = 2; count <= 300; count += 149)
                    check_long_string(place, count, first, second);
}

/* Many strings in a line, and lines of different lengths in a piece. */
TEST(pieces_of_strings_fit_the_scratch)
{
    const int lines = check_count(3000, 100);
    for (int i = 0; i < lines; i++) {
        int n = 0;
        n_text = 0;
        for (int line = 0; line < 1 + i % 3; line++) {
            put(text_of, &n_text, "{\"_label_cost\":0,\"a\":1,\"p\":1,\"c\":{\"_multi\":[{");
            for (int pair = (int)random_below(4); pair >= 0; pair--) {
                for (int string = 0; string < 2; string++) {
                    put(text_of, &n_text, "\"");
                    if (string == 0)
                        put(text_of, &n_text, "k"); /* a key that begins with _ is another thing */
                    for (int part = (int)random_below(20); part > 0; part--)
                        put(text_of, &n_text, PARTS[random_below(N_PARTS)].raw);
                    put(text_of, &n_text, string ? "\"" : "\":");
                }
                put(text_of, &n_text, pair ? "," : "");
                n++;
            }
            put(text_of, &n_text, "}]}}\n");
        }
        fresh(n_text, 1);
        CHECK_INT(read_piece(text_of, n_text, 1, 0, 1), CF_OK);
        CHECK_INT(out.n_rounds, 1 + i % 3);
        CHECK_INT(out.actions.n, n);
        release();
    }
}

TEST(text_in_pieces)
{
    const char *text = TEXT "\n" TEXT "\n\n" TEXT;
    const ptrdiff_t length = (ptrdiff_t)strlen(text);
    for (ptrdiff_t cut = 1; cut <= length; cut++)
        if (cut == length || text[cut - 1] == '\n') {
            fresh(length, 2);
            CHECK_INT(read_piece(text, cut, 0, 0, cut == length), CF_OK);
            const ptrdiff_t rounds = out.n_rounds, used = out.used;
            const int64_t line = out.line;
            CHECK(used <= cut && out.taken == rounds);
            if (cut < length) {
                CHECK_INT(read_piece(text + used, length - used, 0, 0, 1), CF_OK);
                CHECK_INT(out.line, 12);
            }
            CHECK(line <= 12);
            CHECK_INT(out.taken, 3);
            release();
        }
}

TEST(names_keep_their_numbers)
{
    char text[40];
    const int count = check_count(20000, 500);
    fresh(sizeof text, count + 1);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < count; i++) {
            const int n = snprintf(text, sizeof text, "0:1:1 |n%d f%d:2\n", i % 7, i);
            CHECK_INT(read_piece(text, n, 0, 0, 1), CF_OK);
            CHECK_INT(out.actions.name[0], i + (i < 6 ? i : 6) + 1);
        }
        memset(names.slot, 0, (size_t)names.slots * 4);
        cf_log_place_names(&names);
    }
    release();
}

TEST(columns_are_those_of_vw)
{
    static const struct {
        const char *text;
        int64_t column;
    } cases[] = {{"|namespace feature", 242309}, {"|n feature", 35795}, {"|b c3", 46188},
                 {"|b c57", 166454},             {"| 12", 12},          {"| 262145", 1}};
    char line[60];
    int64_t column[4];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "0:1:1 %s\n", cases[i].text);
        CHECK_INT(read(line, 0), CF_OK);
        cf_log_columns(&names, 0, 18, 1, column);
        CHECK_INT(column[out.actions.name[0]], cases[i].column);
        release();
    }
    static const char *const bytes[] = {"", "a", "ab", "abc", "abcd", "hello"};
    static const uint32_t murmur[] = {0, 0x3C2569B2, 0x9BBFD75F, 0xB3DD93FA, 0x43ED676A, 0x248BFA47};
    for (int i = 0; i < 6; i++)
        CHECK_INT(cf_log_hash(bytes[i], (ptrdiff_t)strlen(bytes[i]), 0), murmur[i]);
    CHECK_INT(cf_log_hash(" hello \t", 8, 0), 0x248BFA47);
    CHECK_INT(cf_log_hash("17", 2, 5), 22);
    CHECK_INT(read("0:1:1 |n a:b :3 :4\n", 0), CF_OK);
    int64_t whole[8], chained[8];
    cf_log_columns(&names, 1, 31, 0, whole);
    cf_log_columns(&names, 1, 31, 1, chained);
    const uint64_t seed = cf_log_hash("n", 1, 0), mask = ((uint64_t)1 << 31) - 1;
    CHECK_INT(whole[0], cf_log_hash("ab", 2, seed) & mask);
    CHECK_INT(chained[0], cf_log_hash("b", 1, cf_log_hash("a", 1, seed)) & mask);
    CHECK_INT(whole[2], (seed + 1) & mask);
    release();
}

/* Whatever stands in a piece: nothing beside it is read, and counts stay within their rooms. */
TEST(damaged_pieces)
{
    static const char marks[] = "{}[]\",:\\0129.eE+-tfnuN _ax|'\t\r\n\x01\xff";
    char text[1200];
    for (int i = check_count(20000, 500); i > 0; i--) {
        const int json = i % 2;
        ptrdiff_t length = (ptrdiff_t)strlen(strcpy(text, json ? LINE LINE : TEXT "\n" TEXT));
        for (int changes = 1 + (int)random_below(4); changes > 0; changes--) {
            const ptrdiff_t at = random_below(length), gone = random_below(3);
            text[at] = marks[random_below((ptrdiff_t)sizeof marks - 1)];
            if (gone > 0 && at + 1 + gone < length) {
                memmove(text + at + 1, text + at + 1 + gone, (size_t)(length - at - 1 - gone));
                length -= gone;
            }
        }
        text[length - 1] = '\n';
        fresh(length, 1);
        const int bare = i % 2, lines = i % 3 == 1;
        const int status = lines ? read_lines(text, length, bare)
                                 : read_piece(text, length, json, i % 3 == 0, 1);
        CHECK(status <= 0 && names.n <= cf_log_names_room(length) && names.n_bytes <= length);
        CHECK(status != 0 || out.used == length);
        CHECK(out.bad_line >= 0 && out.bad_line <= length && out.bad >= 0 && out.bad <= length);
        release();
    }
}

CHECK_MAIN
