#include "coactive_fast/cf_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *(*take_hook)(size_t) = malloc;
static void (*give_hook)(void *) = free;

void cf_set_allocator(void *(*take)(size_t), void (*give)(void *))
{
    take_hook = take ? take : malloc;
    give_hook = give ? give : free;
}

/* The pointer that malloc gave stands in the word before the line: no aligned_alloc, which
 * Windows does not have and which valgrind and the hooks could not follow. */
void *cf_alloc(size_t count, size_t size)
{
    const size_t extra = CF_LINE + sizeof(void *);
    if (size != 0 && count > (SIZE_MAX - extra) / size)
        return NULL;
    const size_t bytes = count * size;
    char *raw = take_hook(bytes + extra);
    if (raw == NULL)
        return NULL;
    uintptr_t line = ((uintptr_t)raw + extra - 1) & ~(uintptr_t)(CF_LINE - 1);
    char *block = (char *)line;
    memcpy(block - sizeof(void *), &raw, sizeof raw);
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
    give_hook(raw);
}
