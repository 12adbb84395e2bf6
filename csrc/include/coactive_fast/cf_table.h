/* The function table: every kernel that is compiled once per instruction set.
 *
 * Each subject header lists its kernels as K(return type, name, (arguments)); the table has one
 * pointer for each, in the order of the lists. The variants differ in speed only: all that have
 * FMA give the same bits.
 */
#ifndef CF_TABLE_H
#define CF_TABLE_H
#include "cf_cholesky.h"
#include "cf_dense.h"
#include "cf_diagonal.h"
#include "cf_elementary.h"
#include "cf_exponentiated.h"
#include "cf_gram.h"
#include "cf_inverse.h"
#include "cf_lines.h"
#include "cf_memory.h"
#include "cf_octet.h"
#include "cf_postings.h"
#include "cf_rank.h"
#include "cf_ridge.h"
#include "cf_row.h"
#include "cf_scores.h"
#include "cf_status.h"
#include "cf_top_k.h"
#include "cf_ud.h"

#define CF_KERNELS(K)                                                                            \
    CF_DENSE_KERNELS(K)                                                                          \
    CF_ELEMENTARY_KERNELS(K)                                                                     \
    CF_TOP_K_KERNELS(K)                                                                          \
    CF_RANK_KERNELS(K)                                                                           \
    CF_INVERSE_KERNELS(K)                                                                        \
    CF_UD_KERNELS(K)                                                                             \
    CF_CHOLESKY_KERNELS(K)                                                                       \
    CF_SCORES_KERNELS(K)                                                                         \
    CF_EXPONENTIATED_KERNELS(K)                                                                  \
    CF_DIAGONAL_KERNELS(K)                                                                       \
    CF_GRAM_KERNELS(K)                                                                           \
    CF_POSTINGS_KERNELS(K)                                                                       \
    CF_RIDGE_KERNELS(K)                                                                          \
    CF_ROW_KERNELS(K)                                                                            \
    CF_LINES_KERNELS(K)                                                                          \
    CF_OCTET_KERNELS(K)

#define CF_FIELD(type, name, arguments) type(*name) arguments;
typedef struct cf_table {
    const char *isa; /* "baseline", "v3", "v4" */
    int has_fma;     /* 1: the bits that every variant with FMA gives */
    CF_KERNELS(CF_FIELD)
} cf_table;
#undef CF_FIELD

/* The table of an instruction set: "baseline", "v3", "v4", or "auto" for the best this CPU has.
 * NULL where the name is unknown, not built in, or the CPU cannot run it. */
const cf_table *cf_table_for(const char *isa);

/* The names built in, best first, NULL at the end (whether or not this CPU can run them). */
const char *const *cf_table_names(void);

#endif
