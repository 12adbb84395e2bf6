/* Memory: every block of this library begins on a 64-byte line.
 *
 * Nothing is allocated inside a step: states and scratch are taken once, sized by the
 * cf_*_size functions of their subject.
 */
#pragma once
#include <stddef.h>

#define CF_LINE 64

/* A block of count * size bytes (overflow checked), or NULL. Free with cf_free. */
void *cf_alloc(size_t count, size_t size);      /* contents undefined: scratch */
void *cf_alloc_zero(size_t count, size_t size); /* all zero: states */
void cf_free(void *block); /* NULL is allowed */

/* n rounded up to a multiple of 8 doubles, one line. */
static inline ptrdiff_t cf_pad(ptrdiff_t n) { return (n + 7) & ~(ptrdiff_t)7; }
