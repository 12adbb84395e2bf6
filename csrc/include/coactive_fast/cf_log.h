/* Reading logs of decisions: dsjson lines and cb_adf text, piece by piece.
 *
 *     {"_label_cost": -1, "_label_probability": 0.5, "_labelIndex": 0, "c": {..., "_multi": [...]}}
 *
 *     shared |user age:0.3 city:Oslo
 *     0:-1:0.5 |item a b:2
 *     |item c
 *
 * A round is a JSON object in a line, or a run of text lines that a blank line ends. What is read
 * of it and what the names mean: reference/logs_read.py. A piece is a run of whole lines that ends
 * in a line feed; what it holds goes into arrays of the caller, sized by the cf_log_*_room
 * functions; nothing is allocated. Each different name gets a number when it is first seen, by a
 * table that goes on from piece to piece. Cost: one pass, 2 to 4 ns a byte.
 *
 * On an error `line`, `bad_line`, `bad` and `field` say where; what the arrays then hold is of no
 * use.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_LOG_DEPTH 64 /* objects and arrays within each other, at most */

/* Instead of the length of a value: */
typedef enum cf_log_kind {
    CF_LOG_PLAIN = -1, /* there is none */
    CF_LOG_PLACE = -2, /* it is a place in an array, which stands for the key's length */
} cf_log_kind;

/* A feature (namespace, key, word) or a namespace. */
typedef struct cf_log_name {
    uint64_t hash;
    int64_t begin; /* of its bytes: those of the key, then those of the value */
    int64_t line;  /* where it was first seen */
    int32_t space; /* the number of its namespace; -1 of a namespace itself */
    int32_t key;   /* bytes */
    int32_t value; /* bytes, CF_LOG_PLAIN or CF_LOG_PLACE */
} cf_log_name;

/* All names so far, in the order first seen. Arrays of the caller; before a piece there must be
 * room for cf_log_names_room(length) more names, for `length` more bytes, and the slots (a power
 * of two; zeros at first) must be more than the names. After the slots were replaced by others,
 * all zero: cf_log_place_names. */
typedef struct cf_log_names {
    cf_log_name *name;
    char *bytes;
    int32_t *slot; /* the number of a name + 1, or 0 */
    ptrdiff_t n, n_bytes, slots;
} cf_log_names;

typedef struct cf_log_pairs {
    int32_t *name; /* cf_log_pairs_room(length) */
    double *value; /* finite, not 0 */
    ptrdiff_t n;
} cf_log_pairs;

typedef struct cf_log_rules {
    int skip_unlabelled; /* rounds without a label are counted instead of refused */
    int last;            /* text: nothing follows this piece */
} cf_log_rules;

/* The rounds of a piece; the arrays belong to the caller and have cf_log_rounds_room(length)
 * places. Set n of both pairs, n_rows and n_rounds to 0 before a piece, all other counts, `line`
 * and `drop` to 0 before the first one. */
typedef struct cf_log {
    cf_log_names *names;
    char *scratch; /* as many bytes as the piece */
    cf_log_pairs actions, shared;
    int64_t *row_end;    /* n_rows: pairs of actions up to and with the row */
    int64_t *round_end;  /* n_rounds: rows up to and with the round */
    int64_t *shared_end; /* n_rounds: pairs of shared likewise */
    int64_t *chosen;
    double *cost, *probability;
    ptrdiff_t n_rows, n_rounds;
    int64_t n_unlearned, n_dangling, n_unlabelled; /* left out so far */
    int64_t taken;  /* rounds so far */
    double drop;    /* pdrop, which all rounds share */
    int64_t line;   /* lines so far; on an error the number of the bad one, from 1 */
    ptrdiff_t used; /* bytes of the piece; text: an unfinished round at its end is left */
    ptrdiff_t bad_line, bad; /* offsets in the piece: the bad line, the bad place in it */
    const char *field; /* the name of the field at fault, or NULL */
    ptrdiff_t field_length;
    double got; /* CF_EVALUE: what stood there */
} cf_log;

/* What stands in front of the features of each line: offsets in the piece, without the blanks at
 * both ends. Arrays of the caller with cf_log_rounds_room(length) places. */
typedef struct cf_log_heads {
    ptrdiff_t *begin, *end;
    int64_t *line; /* the number of each row's line */
} cf_log_heads;

static inline ptrdiff_t cf_log_names_room(ptrdiff_t bytes) { return bytes / 2 + 2; }
static inline ptrdiff_t cf_log_pairs_room(ptrdiff_t bytes) { return bytes / 2 + 1; }
static inline ptrdiff_t cf_log_rounds_room(ptrdiff_t bytes) { return bytes / 2 + 1; }

/* text[length - 1] must be a line feed (or length 0). CF_OK, CF_EJSON, CF_EDEEP, CF_EKIND,
 * CF_EABSENT, CF_EREPEATED, CF_EVALUE, CF_ENONFINITE, CF_EFORM, CF_EDIFFERS. */
int cf_log_read_json(cf_log *self, const cf_log_rules *rules, const char *text, ptrdiff_t length);
/* CF_OK, CF_EACTION, CF_EFEATURE, CF_ESHARED, CF_EABSENT, CF_EREPEATED, CF_EVALUE,
 * CF_ENONFINITE. */
int cf_log_read_text(cf_log *self, const cf_log_rules *rules, const char *text, ptrdiff_t length);
/* A row a line, whose features go into `actions`; what is in front of them is not looked at.
 *
 *     3 2.0 'tag |user age:0.3 city:Oslo        bare = 0: up to the first |
 *     sport qid:7 goal:2 ball word:x # why      bare = 1: the first token, unless it holds a
 *                                               colon, and a qid: behind it; a token that begins
 *                                               with # ends the line
 *
 * Blank lines are passed over, and with `bare` those of a comment alone. CF_OK, CF_EFEATURE,
 * CF_ENONFINITE. */
int cf_log_read_lines(cf_log *self, const cf_log_heads *heads, int bare, const char *text,
                      ptrdiff_t length);
/* Puts the names into slots that are all 0. */
void cf_log_place_names(cf_log_names *self);
/* The number VW gives a name of `bytes` under a seed: that of its digits plus the seed, or the
 * 32-bit MurmurHash3 of Austin Appleby; blanks at both ends do not count. */
uint64_t cf_log_hash(const char *bytes, ptrdiff_t length, uint64_t seed);
/* The column of 2^bits of names begin ... n - 1 (0 of namespaces). chain: a word is hashed under
 * its key's hash; else key and word as one. */
void cf_log_columns(const cf_log_names *self, ptrdiff_t begin, int bits, int chain,
                    int64_t *column);
