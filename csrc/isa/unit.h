/* One translation unit a instruction set: every kernel source, then its table.
 *
 * All functions are static: an inline function of a vector unit must never become the copy that
 * the linker keeps for everyone. Before this, a unit defines CF_ISA (the table's suffix) and the
 * lanes it wants, and switches the compiler to its instruction set. */
#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "coactive_fast/cf_table.h"
#include "lanes.h"

#include "dense.c"
#include "elementary.c"
#include "top_k.c"
#include "rank.c"
#include "inverse.c"
#include "ud.c"
#include "cholesky.c"
#include "scores.c"
#include "exponentiated.c"
#include "row.c"
#include "diagonal.c"
#include "gram.c"
#include "lines.c"
#include "octet.c"
#include "postings.c"
#include "ridge.c"
#include "many.c"
#include "clicks.c"
#include "catalogue.c"
#include "packed.c"

#define CF_TEXT2(x) #x
#define CF_TEXT(x) CF_TEXT2(x)
#define CF_ENTRY(type, name, arguments) .name = name,
const cf_table CF_JOIN(cf_table_, CF_ISA);
const cf_table CF_JOIN(cf_table_, CF_ISA) = {
    .size = sizeof(cf_table), .abi = CF_ABI, .has_fma = CF_HAS_FMA, .isa = CF_TEXT(CF_ISA),
    CF_KERNELS(CF_ENTRY)};
