#include "coactive_fast/cf_library.h"

#define CF_ENTRY(name) .name = cf_##name,
const cf_library cf_functions = {
    .size = sizeof(cf_library), .abi = CF_ABI, CF_LIBRARY_FUNCTIONS(CF_ENTRY)};
