#include "coactive_fast/cf_postings.h"

#include <string.h>

static ptrdiff_t capacity(int level) { return (ptrdiff_t)2 << level; }

/* The block has no place behind its last posting. */
static int is_full(const cf_posting_list *l)
{
    return l->count == 0 || l->first + l->count == capacity(l->level);
}

/* The level of the block that a full list goes to: the same where half of it is free in front. */
static int next_level(const cf_posting_list *l)
{
    if (l->count == 0)
        return 0;
    return 2 * l->count <= capacity(l->level) ? l->level : l->level + 1;
}

ptrdiff_t cf_postings_lack(const cf_postings *self, ptrdiff_t nnz, const int64_t *index)
{
    ptrdiff_t need = 0;
    for (ptrdiff_t e = 0; e < nnz; e++) {
        static const cf_posting_list none = {0, 0, 0, 0};
        const cf_posting_list *l = index[e] < self->features ? self->list + index[e] : &none;
        if (is_full(l))
            need += capacity(next_level(l));
    }
    return need > self->room - self->used ? need - (self->room - self->used) : 0;
}

/* A free block keeps the place of the next one of its level in its first bytes. */
static void give_back(cf_postings *self, ptrdiff_t at, int level)
{
    self->pool[at].row = self->spare[level];
    self->spare[level] = at + 1;
}

static ptrdiff_t take(cf_postings *self, int level)
{
    ptrdiff_t at = self->spare[level] - 1;
    if (at >= 0) {
        self->spare[level] = (ptrdiff_t)self->pool[at].row;
        return at;
    }
    at = self->used;
    self->used += capacity(level);
    return at;
}

static void make_place(cf_postings *self, cf_posting_list *l)
{
    const int level = next_level(l), stays = l->count && level == l->level;
    const ptrdiff_t at = stays ? l->at : take(self, level);
    if (l->count)
        memmove(self->pool + at, self->pool + l->at + l->first,
                (size_t)l->count * sizeof *self->pool);
    if (l->count && !stays)
        give_back(self, l->at, l->level);
    l->at = at;
    l->first = 0;
    l->level = level;
}

void cf_postings_add(cf_postings *self, ptrdiff_t nnz, const int64_t *index, const double *value)
{
    for (ptrdiff_t e = 0; e < nnz; e++) {
        cf_posting_list *l = self->list + index[e];
        if (is_full(l))
            make_place(self, l);
        self->pool[l->at + l->first + l->count++] = (cf_posting){value[e], self->next};
    }
    self->next++;
}

void cf_postings_drop(cf_postings *self, ptrdiff_t nnz, const int64_t *index)
{
    for (ptrdiff_t e = 0; e < nnz; e++) {
        cf_posting_list *l = self->list + index[e];
        l->first++;
        if (--l->count == 0)
            give_back(self, l->at, l->level);
    }
    self->oldest++;
}
