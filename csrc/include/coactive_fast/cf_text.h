/* Reading text: svmlight rows and ratings, piece by piece.
 *
 *     <label> [qid:<query>] <index>:<value> ... [# comment]
 *     <user>::<item>::<rating>[::...]         (a comma or a tab may stand for the two colons)
 *
 * A piece is a run of whole lines that ends in a line feed; the caller cuts the file into pieces,
 * so that memory does not depend on the file. What a piece holds goes into arrays of the caller,
 * sized by the cf_text_*_room functions; nothing is allocated. Numbers are the doubles nearest to
 * their text, whatever the locale. Cost: one pass, some 2 ns a byte.
 *
 * On an error `line`, `bad_line` and `bad` say where; what the arrays then hold is of no use.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* The largest double that does not become infinite as a float. */
#define CF_TEXT_LARGEST_F32 0x1.fffffefffffffp127

typedef struct cf_text_rules {
    int64_t first;   /* the least index that is allowed; it is stored as 0 */
    int64_t last;    /* the greatest */
    double largest;  /* |value| beyond it is refused */
    int multilabel;  /* a row has any number of labels, with commas between; else exactly one */
    int query;       /* a row must have a query; else one is skipped */
} cf_text_rules;

/* The rows of a piece; the arrays belong to the caller. Blank lines and lines of comment are no
 * rows. Set n_* to 0 before a piece, line before the first one; least and most go on. */
typedef struct cf_text {
    int64_t *index; /* n_pairs; ascending in each row, whatever the order in the text */
    double *value;
    double *label;        /* n_labels */
    ptrdiff_t *row_end;   /* n_rows: pairs up to and with the row */
    ptrdiff_t *label_end; /* labels likewise */
    int64_t *query;       /* 0 where rules.query is 0 */
    int64_t *row_line;
    ptrdiff_t n_pairs, n_labels, n_rows;
    int64_t least, most; /* of the stored indices; at first INT64_MAX and -1 */
    int64_t line;        /* lines so far; on an error the number of the bad one, from 1 */
    ptrdiff_t bad_line, bad; /* offsets in the piece: the bad line, the bad token in it */
} cf_text;

/* The ratings of a piece, likewise. A first line that begins with a letter is skipped. */
typedef struct cf_text_ratings {
    int64_t *user, *item;
    double *rating;
    ptrdiff_t n;
    int64_t line;
    ptrdiff_t bad_line, bad;
} cf_text_ratings;

/* Most pairs, and most rows, labels or ratings, that so many bytes can hold. */
static inline ptrdiff_t cf_text_pairs_room(ptrdiff_t bytes) { return bytes / 4 + 1; }
static inline ptrdiff_t cf_text_rows_room(ptrdiff_t bytes) { return bytes / 2 + 1; }

/* text[length - 1] must be a line feed (or length 0). CF_OK, CF_ELABEL, CF_EQUERY, CF_EPAIR,
 * CF_EINDEX, CF_ETWICE, CF_ENUMBER. */
int cf_text_read_rows(cf_text *self, const cf_text_rules *rules, const char *text,
                      ptrdiff_t length);
/* CF_OK, CF_EFIELD. */
int cf_text_read_ratings(cf_text_ratings *self, const char *text, ptrdiff_t length);

/* The pairs into dense rows, `stride` numbers apart, that hold zeros. */
void cf_text_scatter(const cf_text *self, ptrdiff_t stride, double *rows);
void cf_text_scatter_f32(const cf_text *self, ptrdiff_t stride, float *rows);
/* Rows of `from` bytes, one behind the other, become rows of `to` bytes in place: what a longer
 * row gains is zero, what a shorter one loses are its first `skip` bytes, and its end. */
void cf_text_restride(ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to, ptrdiff_t skip, char *data);
