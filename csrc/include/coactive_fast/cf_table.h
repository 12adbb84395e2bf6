/* The function table: every kernel that is compiled once per instruction set.
 *
 * Each subject header lists its kernels as K(return type, name, (arguments)); the table has one
 * pointer for each, in the order of the lists. The variants differ in speed only: all that have
 * FMA give the same bits.
 *
 * Compiled code of others calls by place. So, from ABI 3 on, kernels are only ever added BEHIND all
 * others; none is removed, moved or given other arguments, nor is a struct that they use changed.
 * A list that has been released is closed. To add kernels:
 *   - in the subject's header put them into a new list, below what stands there: for cf_dense.h
 *     #define CF_DENSE_KERNELS_2(K) ...; a new subject begins with CF_NAME_KERNELS(K);
 *   - below, make that list the last line of CF_KERNELS;
 *   - python tests/test_package_table.py > tests/table_entries.txt, which must only add lines.
 * Cython's declarations follow by themselves (csrc/table_pxd.py). Functions of the library go to the
 * end of its one list (cf_library.h). Only where nothing else helps is CF_ABI raised, which makes
 * every user rebuild; the lists may then be put in order, and what nobody calls is removed.
 */
#pragma once
#include "cf_catalogue.h"
#include "cf_cholesky.h"
#include "cf_clicks.h"
#include "cf_dense.h"
#include "cf_diagonal.h"
#include "cf_elementary.h"
#include "cf_exponentiated.h"
#include "cf_gram.h"
#include "cf_inverse.h"
#include "cf_lines.h"
#include "cf_many.h"
#include "cf_memory.h"
#include "cf_octet.h"
#include "cf_packed.h"
#include "cf_postings.h"
#include "cf_rank.h"
#include "cf_ridge.h"
#include "cf_row.h"
#include "cf_scores.h"
#include "cf_status.h"
#include "cf_top_k.h"
#include "cf_ud.h"

/* The number of what both tables and the structs they take look like. */
#define CF_ABI 3

#define CF_KERNELS(K)                                                                            \
    CF_DENSE_KERNELS(K)                                                                          \
    CF_ELEMENTARY_KERNELS(K)                                                                     \
    CF_TOP_K_KERNELS(K)                                                                          \
    CF_RANK_KERNELS(K)                                                                           \
    CF_INVERSE_KERNELS(K)                                                                        \
    CF_UD_KERNELS(K)                                                                             \
    CF_PACKED_KERNELS(K)                                                                         \
    CF_MANY_KERNELS(K)                                                                           \
    CF_OCTET_KERNELS(K)                                                                          \
    CF_CHOLESKY_KERNELS(K)                                                                       \
    CF_SCORES_KERNELS(K)                                                                         \
    CF_EXPONENTIATED_KERNELS(K)                                                                  \
    CF_DIAGONAL_KERNELS(K)                                                                       \
    CF_ROW_KERNELS(K)                                                                            \
    CF_RIDGE_KERNELS(K)                                                                          \
    CF_LINES_KERNELS(K)                                                                          \
    CF_GRAM_KERNELS(K)                                                                           \
    CF_POSTINGS_KERNELS(K)                                                                       \
    CF_CLICKS_KERNELS(K)                                                                         \
    CF_CATALOGUE_KERNELS(K)

#define CF_FIELD(type, name, arguments) type(*name) arguments;
typedef struct cf_table {
    size_t size;     /* sizeof(cf_table) and CF_ABI where the library was compiled; a module */
    int abi;         /* compiled for the same ABI and at most this size may use the table */
    int has_fma;     /* 1: the bits that every variant with FMA gives */
    const char *isa; /* "baseline", "v3", "v4" */
    CF_KERNELS(CF_FIELD)
} cf_table;
#undef CF_FIELD

/* The table of an instruction set: "baseline", "v3", "v4", or "auto" for the best this CPU has.
 * NULL where the name is unknown, not built in, or the CPU cannot run it. */
const cf_table *cf_table_for(const char *isa);

/* The names built in, best first, NULL at the end (whether or not this CPU can run them). */
const char *const *cf_table_names(void);
