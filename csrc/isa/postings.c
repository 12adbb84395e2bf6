/* Kernels of cf_postings.h. Included by the unit of each instruction set. */

static void postings_dots(const cf_postings *p, int64_t from, ptrdiff_t nnz, const int64_t *index,
                          const double *value, double *out)
{
    const int whole = from <= p->oldest;
    if (p->next > from)
        memset(out, 0, (size_t)(p->next - from) * sizeof *out);
    for (ptrdiff_t e = 0; e < nnz; e++) {
        if (e + 1 < nnz && index[e + 1] < p->features) {
            const cf_posting_list *ahead = p->list + index[e + 1];
            CF_PREFETCH(p->pool + ahead->at + ahead->first);
        }
        if (e + 4 < nnz && index[e + 4] < p->features)
            CF_PREFETCH(p->list + index[e + 4]);
        if (index[e] >= p->features)
            continue;
        const cf_posting_list *list = p->list + index[e];
        const cf_posting *begin = p->pool + list->at + list->first, *at = begin + list->count;
        const double x = value[e];
        if (whole)
            for (at = begin; at < begin + list->count; at++)
                out[at->row - from] = s_fma(x, at->value, out[at->row - from]);
        else
            while (at > begin && (--at)->row >= from)
                out[at->row - from] = s_fma(x, at->value, out[at->row - from]);
    }
}
