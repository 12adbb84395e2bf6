/* One row of input: dense, or the entries of a sparse one, and the look at it.
 *
 * The kernels that take a cf_row go through its entries in ascending order, one after the other
 * for each class, so that a sparse row and the same row written out give the same bits: an entry
 * that is 0 changes no sum. Nothing here allocates; the arrays are the caller's.
 * Cost of the looks: one pass, 8n bytes of values, 4 or 8 of places.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct cf_row {
    ptrdiff_t n;         /* features */
    ptrdiff_t nnz;       /* entries; a dense row has n */
    const double *value; /* finite */
    const int32_t *i32;  /* the entries' features, strictly ascending in 0 ... n-1, */
    const int64_t *i64;  /* in one of the two; both NULL: dense */
} cf_row;

/* What row_check and row_places answer. */
#define CF_ROW_BAD 0   /* NaN or infinity; a place out of range */
#define CF_ROW_NULL 1  /* all values 0; places in range, but not strictly ascending */
#define CF_ROW_GOOD 2

#define CF_ROW_KERNELS(K)                                                                        \
    K(int, row_check, (ptrdiff_t n, const double *x))                                            \
    K(int, row_places32, (ptrdiff_t nnz, const int32_t *place, ptrdiff_t n))                     \
    K(int, row_places64, (ptrdiff_t nnz, const int64_t *place, ptrdiff_t n))                     \
    /* y = x / ||x|| for x != 0 of any size; y may be x. Entries that are 0 change no bit. */    \
    K(void, row_unit, (ptrdiff_t nnz, const double *x, double *y))
