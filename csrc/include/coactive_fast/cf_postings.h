/* The inverted index: for each feature the stored rows that have it, in the order they came.
 *
 * A linear Gram row then costs what the query's features are found in: 16 bytes and one fused
 * multiply-add a posting, instead of all stored rows. Each feature's postings stand together in
 * one block of a pool; blocks double, and those left behind are used again. The oldest row may
 * leave. Rows are numbered from the first one ever added.
 * Sums: row by row in the order of the query's features, so that the bits are those of the plain
 * sum over the features that both have.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_POSTING_LEVELS 48

typedef struct cf_posting {
    double value;
    int64_t row;
} cf_posting;

/* Postings pool[at + first .. at + first + count) in a block of 2 << level; count 0: no block. */
typedef struct cf_posting_list {
    ptrdiff_t at, first, count;
    int level;
} cf_posting_list;

/* Invariants: in a list rows ascend, all in oldest ... next-1; used <= room. The owner
 * keeps pool and list (both may be replaced by larger copies). */
typedef struct cf_postings {
    cf_posting *pool;
    ptrdiff_t room, used;    /* postings */
    cf_posting_list *list;   /* zero at first */
    ptrdiff_t features;      /* lists */
    ptrdiff_t spare[CF_POSTING_LEVELS]; /* first free block of each level + 1, or 0 */
    int64_t oldest, next;    /* row numbers: the first one stored, the next one to come */
} cf_postings;

/* Postings that the pool may lack, at the most, for one row of these features. */
ptrdiff_t cf_postings_lack(const cf_postings *self, ptrdiff_t nnz, const int64_t *index);
/* One row more; ascending features, all below self->features; cf_postings_lack must be 0. */
void cf_postings_add(cf_postings *self, ptrdiff_t nnz, const int64_t *index, const double *value);
/* The oldest row, which has these features, leaves. */
void cf_postings_drop(cf_postings *self, ptrdiff_t nnz, const int64_t *index);

#define CF_POSTINGS_KERNELS(K)                                                                   \
    /* out[r - from] = x . row r for the rows r = from ... next-1 (from >= oldest); features that \
       have no list yet count nothing */                                                         \
    K(void, postings_dots, (const cf_postings *p, int64_t from, ptrdiff_t nnz,                   \
                            const int64_t *index, const double *value, double *out))
