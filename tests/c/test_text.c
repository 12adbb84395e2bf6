/* Text: numbers to the last bit, rows and ratings, and what is refused. */
#include "cf_check.h"

#include "../../csrc/src/decimal.h"

/* --- numbers --------------------------------------------------------------------------------- */

/* The number in `text`; the number of its bytes in *used (-1: none). The text ends where the
 * array ends, so that valgrind sees a byte read too much. */
static double number(const char *text, ptrdiff_t *used)
{
    const size_t length = strlen(text);
    char *copy = TAKE_COPY(text, length + 1);
    copy[length] = '\n';
    double value = NAN;
    const char *behind = cf_decimal(copy, copy + length, &value);
    *used = behind == NULL ? -1 : behind - copy;
    return value;
}

static void same_as_strtod(const char *text)
{
    ptrdiff_t used;
    const double got = number(text, &used), expected = strtod(text, NULL);
    CHECK_THAT(used == (ptrdiff_t)strlen(text), "%.60s: only %td bytes", text, used);
    CHECK_THAT(memcmp(&got, &expected, sizeof got) == 0, "%.60s: %.17g and not %.17g", text, got,
               expected);
}

TEST(numbers_as_people_write_them)
{
    static const char *const texts[] = {
        "0", "-0", "+0.0", "1", "-1", "+17", "0.007477", "1.", ".5", "-.5e-3", "12345678",
        "123456789012345678", "0.000000000000000000000000012345678901234567", "1e5", "1E+5",
        "1e-5", "00000000000000000000000001", "1e22", "1e23", "8.5e22", "9007199254740993",
        "3.14159265358979323846", "1.7976931348623157e308", "1.7976931348623158e308",
        "2.2250738585072014e-308", "2.2250738585072011e-308", "5e-324", "4.9406564584124654e-324"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same_as_strtod(texts[i]);
}

TEST(numbers_at_the_ends_of_the_range)
{
    static const char *const texts[] = {
        "1.7976931348623159e308", "1e309", "-1e309", "1e400", "1e99999999999999999999",
        "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-324", "1e-400",
        "-1e-99999999999999999999", "0e99999999999999999999", "123456789012345678901e-343",
        "9999999999999999999e-343", "99999999999999999999999999e-370", "1e308", "1e-343",
        "9223372036854775807e-330"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same_as_strtod(texts[i]);
}

TEST(what_is_no_number)
{
    static const char *const texts[] = {"", "+", "-", ".", "-.", "e5", ".e5", "1e", "1e+", "1.5e-",
                                        "nan", "inf", "--1", "+-1", " 1", "x"};
    ptrdiff_t used;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        number(texts[i], &used);
        CHECK_THAT(used == -1, "\"%s\" was read as a number", texts[i]);
    }
    CHECK(number("0x10", &used) == 0.0);
    CHECK_INT(used, 1);
    CHECK(number("1_000", &used) == 1.0);
    CHECK_INT(used, 1);
    CHECK(number("1.5.5", &used) == 1.5);
    CHECK_INT(used, 3);
}

TEST(random_digits_points_and_exponents)
{
    char text[64];
    for (int i = check_count(200000, 2000); i > 0; i--) {
        const int digits = 1 + (int)random_below(25), point = (int)random_below(digits + 1);
        int at = 0;
        for (int j = 0; j < digits; j++) {
            if (j == point)
                text[at++] = '.';
            text[at++] = (char)('0' + random_below(10));
        }
        const int e = (int)random_below(700) - 360;
        snprintf(text + at, sizeof text - (size_t)at, i % 3 ? "e%d" : "e%+03d", e);
        same_as_strtod(text);
        release();
    }
}

TEST(doubles_come_back)
{
    char text[40];
    for (int i = check_count(100000, 1000); i > 0; i--) {
        const uint64_t bits = random_bits() >> 1;
        double x;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(text, sizeof text, "%.*g", 1 + (int)random_below(19), x);
        same_as_strtod(text);
        snprintf(text, sizeof text, "%.17g", x);
        ptrdiff_t used;
        const double back = number(text, &used);
        CHECK_BITS(&back, &x, 1);
        release();
    }
}

/* Exactly between two doubles, and a little more. */
static void around(char *text, size_t length)
{
    same_as_strtod(text);
    memcpy(text + length, "00001", 6);
    same_as_strtod(text);
}

TEST(the_middle_between_two_whole_doubles)
{
    char text[40];
    for (int i = check_count(2000, 100); i > 0; i--) {
        const unsigned long long odd = (1ull << 53) + (random_bits() >> 11) + 1;
        around(text, (size_t)snprintf(text, sizeof text, "%llu.", odd | 1));
        release();
    }
}

/* Up to a thousand digits; printf is exact, where long double has a bit to spare. */
TEST(the_middle_between_two_doubles)
{
    static char text[2400];
    CHECK(sizeof text > 1100 + 310);
    for (int i = check_count(300, 30); i > 0 && long_double_is_wide(); i--) {
        const double x = fabs(random_scaled(-1074, 1000)), next = nextafter(x, INFINITY);
        const long double middle = ((long double)x + (long double)next) / 2;
        around(text, (size_t)snprintf(text, sizeof text, "%.1100Lf", middle));
        release();
    }
}

/* --- rows ------------------------------------------------------------------------------------ */

static cf_text rows_of(ptrdiff_t length)
{
    const ptrdiff_t pairs = cf_text_pairs_room(length), rows = cf_text_rows_room(length);
    cf_text t = {0};
    t.index = take_bytes((size_t)pairs * sizeof *t.index, 0, 0);
    t.value = take_doubles(pairs);
    t.label = take_doubles(rows);
    t.row_end = take_bytes((size_t)rows * sizeof *t.row_end, 0, 0);
    t.label_end = take_bytes((size_t)rows * sizeof *t.label_end, 0, 0);
    t.query = take_bytes((size_t)rows * sizeof *t.query, 0, 0);
    t.row_line = take_bytes((size_t)rows * sizeof *t.row_line, 0, 0);
    t.least = INT64_MAX;
    t.most = -1;
    return t;
}

static int read_text(const char *text, const cf_text_rules *rules, cf_text *t)
{
    const ptrdiff_t length = (ptrdiff_t)strlen(text);
    *t = rows_of(length);
    return cf_text_read_rows(t, rules, TAKE_COPY(text, length), length);
}

static const cf_text_rules plain = {1, INT64_MAX, DBL_MAX, 0, 0};
static const cf_text_rules ranked = {1, INT64_MAX, DBL_MAX, 0, 1};
static const cf_text_rules many = {1, INT64_MAX, DBL_MAX, 1, 0};

TEST(rows_of_a_file)
{
    cf_text t;
    CHECK_INT(read_text("# a comment\n"
                        "2 qid:7 1:0.5 3:-1e3 # more\r\n"
                        "\n"
                        "   \t\n"
                        "+1\tqid:-8\t2:+.25\t\n"
                        " 0.333 qid:7#none\n",
                        &ranked, &t),
              CF_OK);
    CHECK_INT(t.n_rows, 3);
    CHECK_INT(t.n_pairs, 3);
    CHECK_INT(t.n_labels, 3);
    CHECK_INT(t.line, 6);
    CHECK(t.label[0] == 2.0 && t.label[1] == 1.0 && t.label[2] == 0.333);
    CHECK(t.query[0] == 7 && t.query[1] == -8 && t.query[2] == 7);
    CHECK(t.row_end[0] == 2 && t.row_end[1] == 3 && t.row_end[2] == 3);
    CHECK(t.index[0] == 0 && t.index[1] == 2 && t.index[2] == 1);
    CHECK(t.value[0] == 0.5 && t.value[1] == -1000.0 && t.value[2] == 0.25);
    CHECK(t.row_line[0] == 2 && t.row_line[1] == 5 && t.row_line[2] == 6);
    CHECK(t.least == 0 && t.most == 2);
}

TEST(a_query_nobody_asked_for_is_skipped)
{
    cf_text t;
    CHECK_INT(read_text("1 qid:GX-0 5:1\n1 qid: 5:1\n1 5:1\n", &plain, &t), CF_OK);
    CHECK_INT(t.n_rows, 3);
    CHECK(t.query[0] == 0 && t.index[0] == 4);
}

TEST(many_labels_and_none)
{
    cf_text t;
    CHECK_INT(read_text("3,17 12:0.1\n 5:1\n4\nqid:3 1:1\n1:2 2:3\n1.5,-2,1e2\n", &many, &t),
              CF_OK);
    static const ptrdiff_t ends[] = {2, 2, 3, 3, 3, 6};
    CHECK_INT(t.n_rows, 6);
    CHECK_BITS(t.label_end, ends, 6);
    CHECK(t.label[1] == 17.0 && t.label[2] == 4.0 && t.label[4] == -2.0 && t.label[5] == 100.0);
    CHECK_INT(t.n_pairs, 5);
}

TEST(indices_in_any_order_are_sorted)
{
    for (ptrdiff_t n = 2; n <= 60; n++) {
        char text[1200] = "1";
        size_t at = 1;
        ptrdiff_t order[60];
        for (ptrdiff_t i = 0; i < n; i++)
            order[i] = i;
        for (ptrdiff_t i = n - 1; i > 0; i--) { /* reversed, or shuffled */
            const ptrdiff_t j = n % 2 ? random_below(i + 1) : n - 1 - i < i ? n - 1 - i : i;
            const ptrdiff_t swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        for (ptrdiff_t i = 0; i < n; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, " %td:%td.5", order[i] + 1,
                                   order[i]);
        text[at] = '\n';
        cf_text t;
        CHECK_INT(read_text(text, &plain, &t), CF_OK);
        for (ptrdiff_t i = 0; i < n; i++)
            CHECK(t.index[i] == i && t.value[i] == (double)i + 0.5);
        release();
    }
}

TEST(bad_lines_are_told)
{
    static const struct {
        const char *text;
        int status;
        ptrdiff_t bad;
    } cases[] = {
        {"x 1:1\n", CF_ELABEL, 0},          {"nan 1:1\n", CF_ELABEL, 0},
        {"1e400 1:1\n", CF_ELABEL, 0},      {"1:1\n", CF_ELABEL, 0},
        {" 12:0.1 13:2\n", CF_ELABEL, 1},   {"1,2 1:1\n", CF_ELABEL, 0},
        {"qid:1 1:1\n", CF_ELABEL, 0},      {"1;2 1:1\n", CF_ELABEL, 0},
        {"1 x\n", CF_EPAIR, 2},             {"1 1\n", CF_EPAIR, 2},
        {"1 -1:2\n", CF_EPAIR, 2},          {"1 1:1 qid:3\n", CF_EPAIR, 6},
        {"1 : 3\n", CF_EPAIR, 2},           {"1 1 :3\n", CF_EPAIR, 2},
        {"1 9223372036854775808:1\n", CF_EPAIR, 2},
        {"1 12345678\n", CF_EPAIR, 2},      {"1 0:1\n", CF_EINDEX, 2},
        {"1 1:\n", CF_ENUMBER, 2},          {"1 1: 2\n", CF_ENUMBER, 2},
        {"1 1:x\n", CF_ENUMBER, 2},         {"1 1:1x\n", CF_ENUMBER, 2},
        {"1 1:nan\n", CF_ENUMBER, 2},       {"1 1:-inf\n", CF_ENUMBER, 2},
        {"1 1:1e309\n", CF_ENUMBER, 2},     {"1 1:1:1\n", CF_ENUMBER, 2},
        {"1 2:1 1:3 2:1\n", CF_ETWICE, 0},  {"1 2:1 2:3\n", CF_ETWICE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CONTEXT("%s", cases[i].text);
        cf_text t;
        char text[100] = "1 1:1\n\n"; /* the third line is the bad one */
        strcat(text, cases[i].text);
        strcat(text, "1 1:1\n");
        CHECK_INT(read_text(text, &plain, &t), cases[i].status);
        CHECK_INT(t.line, 3);
        CHECK_INT(t.bad_line, 7);
        if (cases[i].status != CF_ETWICE)
            CHECK_INT(t.bad, 7 + cases[i].bad);
    }
}

TEST(rules_are_kept)
{
    cf_text t;
    cf_text_rules rules = {0, 5, CF_TEXT_LARGEST_F32, 0, 1};
    CHECK_INT(read_text("1 qid:0 0:1 5:3.4028235677973362e38\n", &rules, &t), CF_OK);
    CHECK(isfinite((float)t.value[1]) && t.index[1] == 5);
    CHECK_INT(read_text("1 qid:0 0:3.4028235677973366e38\n", &rules, &t), CF_ENUMBER);
    CHECK_INT(read_text("1 qid:0 6:1\n", &rules, &t), CF_EINDEX);
    CHECK_INT(read_text("1 0:1\n", &rules, &t), CF_EQUERY);
    CHECK_INT(read_text("1 qid:x 0:1\n", &rules, &t), CF_EQUERY);
    CHECK_INT(read_text("1 qid:1.5 0:1\n", &rules, &t), CF_EQUERY);
    CHECK_INT(read_text("1\n", &rules, &t), CF_EQUERY);
    CHECK_INT(read_text("1, 1:1\n", &many, &t), CF_ELABEL);
    CHECK_INT(read_text("x 1:1\n", &many, &t), CF_ELABEL);
    CHECK_INT(read_text("", &rules, &t), CF_OK);
    CHECK_INT(t.n_rows, 0);
    CHECK(isinf((float)3.4028235677973366e38));
}

/* The rooms suffice for the densest text; the watched borders of the arrays tell. */
TEST(the_rooms_suffice)
{
    static const char *const dense[] = {"1\n", "1,1,1,1,1\n", "1 1:0 2:0 3:0 4:0\n", "1:0\n"};
    for (size_t kind = 0; kind < 4; kind++) {
        char text[4096] = "";
        while (strlen(text) + 20 < sizeof text)
            strcat(text, dense[kind]);
        cf_text t;
        CHECK_INT(read_text(text, &many, &t), CF_OK);
        CHECK_INT(t.n_rows, (long long)(strlen(text) / strlen(dense[kind])));
        release();
    }
}

/* --- ratings --------------------------------------------------------------------------------- */

static int read_ratings(const char *text, cf_text_ratings *t)
{
    const ptrdiff_t length = (ptrdiff_t)strlen(text), rows = cf_text_rows_room(length);
    *t = (cf_text_ratings){0};
    t->user = take_bytes((size_t)rows * sizeof *t->user, 0, 0);
    t->item = take_bytes((size_t)rows * sizeof *t->item, 0, 0);
    t->rating = take_doubles(rows);
    return cf_text_read_ratings(t, TAKE_COPY(text, length), length);
}

TEST(ratings_of_all_makes)
{
    cf_text_ratings t;
    CHECK_INT(read_ratings("1::1193::5::978300760\n"
                           "\n"
                           "2,3,4.5,1112486027\n"
                           "12345678\t9223372036854775807\t-1\t0\r\n"
                           "3::4::2\n",
                           &t),
              CF_OK);
    CHECK_INT(t.n, 4);
    CHECK(t.user[0] == 1 && t.item[0] == 1193 && t.rating[0] == 5.0);
    CHECK(t.user[1] == 2 && t.item[1] == 3 && t.rating[1] == 4.5);
    CHECK(t.user[2] == 12345678 && t.item[2] == INT64_MAX && t.rating[2] == -1.0);
    CHECK(t.rating[3] == 2.0);
    CHECK_INT(read_ratings("userId,movieId,rating,timestamp\n1,2,3,4\n", &t), CF_OK);
    CHECK_INT(t.n, 1);
}

TEST(bad_ratings_are_told)
{
    static const char *const texts[] = {"1::2\n",    "1::2::\n",     "1::2::x\n", "1:2:3\n",
                                        "x::2::3\n", "1::2.5::3\n",  "1::2::nan\n", "1::2::3x\n",
                                        "1\n",       "user,item,r\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CONTEXT("%s", texts[i]);
        char text[60] = "1::2::3::0\n";
        strcat(text, texts[i]);
        cf_text_ratings t;
        CHECK_INT(read_ratings(text, &t), CF_EFIELD);
        CHECK_INT(t.line, 2);
        CHECK_INT(t.bad_line, 11);
    }
}

/* --- dense rows ------------------------------------------------------------------------------ */

TEST(pairs_as_dense_rows)
{
    cf_text t;
    CHECK_INT(read_text("1 1:1 3:2\n1\n1 2:0.1\n", &plain, &t), CF_OK);
    double *rows = take_doubles(12);
    float *floats = take_floats(12);
    memset(rows, 0, 12 * sizeof *rows);
    memset(floats, 0, 12 * sizeof *floats);
    cf_functions.text_scatter(&t, 4, rows);
    cf_functions.text_scatter_f32(&t, 4, floats);
    static const double expected[12] = {1, 0, 2, 0, 0, 0, 0, 0, 0, 0.1, 0, 0};
    CHECK_BITS(rows, expected, 12);
    for (int i = 0; i < 12; i++)
        CHECK(floats[i] == (float)expected[i]);
}

TEST(rows_become_longer_and_shorter)
{
    for (ptrdiff_t from = 0; from < 5; from++)
        for (ptrdiff_t to = 0; to < 8; to++) {
            const ptrdiff_t n = 6, wide = from > to ? from : to;
            const ptrdiff_t skip = to < from ? (from - to) / 2 : 0;
            char *data = take_bytes((size_t)(n * wide), 0, 0);
            for (ptrdiff_t i = 0; i < n * from; i++)
                data[i] = (char)(1 + i);
            cf_functions.text_restride(n, from, to, skip, data);
            for (ptrdiff_t i = 0; i < n; i++)
                for (ptrdiff_t j = 0; j < to; j++)
                    CHECK_INT(data[i * to + j], j < from ? 1 + i * from + j + skip : 0);
            release();
        }
}

CHECK_MAIN
