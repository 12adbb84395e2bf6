#if defined(__linux__)
#define _DEFAULT_SOURCE /* madvise */
#include <sys/mman.h>
#endif

#include "coactive_fast/cf_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CF_HUGE ((size_t)4 << 20) /* blocks from this size on ask for large pages */

/* Large pages: what is read here and there in a large state then misses the caches only, not the
 * table of pages as well: a twentieth of a sparse round. Advice, never needed. */
static void advise(char *block, size_t bytes)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t page = 4096, begin = ((uintptr_t)block + page - 1) & ~(page - 1);
    if (bytes >= CF_HUGE)
        (void)madvise((void *)begin, bytes - (begin - (uintptr_t)block), MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

/* The pointer that malloc gave stands in the word before the line: no aligned_alloc, which
 * Windows does not have. */
void *cf_alloc(size_t count, size_t size)
{
    const size_t extra = CF_LINE + sizeof(void *);
    if (size != 0 && count > (SIZE_MAX - extra) / size)
        return NULL;
    const size_t bytes = count * size;
    char *raw = malloc(bytes + extra);
    if (raw == NULL)
        return NULL;
    uintptr_t line = ((uintptr_t)raw + extra - 1) & ~(uintptr_t)(CF_LINE - 1);
    char *block = (char *)line;
    memcpy(block - sizeof(void *), &raw, sizeof raw);
    advise(block, bytes);
    return block;
}

void *cf_alloc_zero(size_t count, size_t size)
{
    void *block = cf_alloc(count, size);
    if (block != NULL)
        memset(block, 0, count * size);
    return block;
}

void cf_free(void *block)
{
    if (block == NULL)
        return;
    void *raw;
    memcpy(&raw, (char *)block - sizeof(void *), sizeof raw);
    free(raw);
}
