#include "coactive_fast/cf_table.h"

#include <string.h>

extern const cf_table cf_table_baseline;
#if defined(__x86_64__)
extern const cf_table cf_table_v3, cf_table_v4;
#endif

const char *const *cf_table_names(void)
{
#if defined(__x86_64__)
    static const char *const names[] = {"v4", "v3", "baseline", NULL};
#else
    static const char *const names[] = {"baseline", NULL};
#endif
    return names;
}

/* The parts of the x86-64 levels that the units are compiled for; the operating system's
 * support of the registers is part of the answer of __builtin_cpu_supports. */
static const cf_table *runnable(const char *isa)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    if (strcmp(isa, "v3") == 0)
        return v3 ? &cf_table_v3 : NULL;
    if (strcmp(isa, "v4") == 0)
        return v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                       __builtin_cpu_supports("avx512cd")
                   ? &cf_table_v4
                   : NULL;
#endif
    return strcmp(isa, "baseline") == 0 ? &cf_table_baseline : NULL;
}

const cf_table *cf_table_for(const char *isa)
{
    if (strcmp(isa, "auto") != 0)
        return runnable(isa);
    const cf_table *best = NULL;
    for (const char *const *name = cf_table_names(); *name && !best; name++)
        best = runnable(*name);
    return best;
}
