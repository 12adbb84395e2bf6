/* The inverted index against the rows themselves. */
#include "cf_reference.h"

#define FEATURES 12
#define ROWS 400

typedef struct stored_row {
    ptrdiff_t nnz;
    int64_t index[FEATURES + 3];
    double value[FEATURES + 3];
} stored_row;

static cf_postings empty_index(void)
{
    cf_postings p;
    memset(&p, 0, sizeof p);
    p.features = FEATURES;
    p.list = take_bytes(FEATURES * sizeof *p.list, 0, 0);
    memset(p.list, 0, FEATURES * sizeof *p.list);
    return p;
}

/* Low features are in most rows, high ones in few; a query may have some that nobody has. */
static stored_row random_row(ptrdiff_t features)
{
    stored_row row = {0, {0}, {0}};
    for (ptrdiff_t f = 0; f < features; f++)
        if (random_below(f / 2 + 1) == 0) {
            row.index[row.nnz] = f;
            row.value[row.nnz++] = random_normal();
        }
    return row;
}

/* The pool grows by exactly what it lacks, so that a write too far is seen. */
static void add(cf_postings *p, const stored_row *row)
{
    const ptrdiff_t lack = cf_postings_lack(p, row->nnz, row->index);
    CHECK(lack >= 0);
    if (lack > 0) {
        cf_posting *pool = take_bytes((size_t)(p->room + lack) * sizeof *pool, 0, 0);
        if (p->room > 0)
            memcpy(pool, p->pool, (size_t)p->room * sizeof *pool);
        p->pool = pool;
        p->room += lack;
    }
    CHECK_INT(cf_postings_lack(p, row->nnz, row->index), 0);
    cf_postings_add(p, row->nnz, row->index, row->value);
    CHECK(p->used <= p->room);
}

/* The sum over the features that both have, in the order of the query's. */
static double plain_dot(const cf_table *k, const stored_row *x, const stored_row *y)
{
    double sum = 0.0;
    for (ptrdiff_t e = 0; e < x->nnz; e++)
        for (ptrdiff_t f = 0; f < y->nnz; f++)
            if (x->index[e] == y->index[f])
                sum = k->has_fma ? fma(x->value[e], y->value[f], sum)
                                 : x->value[e] * y->value[f] + sum;
    return sum;
}

static void check_dots(const cf_table *k, const cf_postings *p, const stored_row *rows,
                       int64_t from)
{
    const stored_row x = random_row(FEATURES + 3);
    double *out = take_doubles((ptrdiff_t)(p->next - from));
    k->postings_dots(p, from, x.nnz, x.index, x.value, out);
    for (int64_t r = from; r < p->next; r++)
        CHECK_CLOSE(out[r - from], plain_dot(k, &x, &rows[r]), 0.0);
    AGREE(k, out, p->next - from);
}

/* Lists in order and in range, with exactly the rows that have the feature. */
static void check_lists(const cf_postings *p, const stored_row *rows)
{
    for (ptrdiff_t f = 0; f < FEATURES; f++) {
        const cf_posting_list *l = p->list + f;
        ptrdiff_t at = 0;
        for (int64_t r = p->oldest; r < p->next; r++)
            for (ptrdiff_t e = 0; e < rows[r].nnz; e++)
                if (rows[r].index[e] == f) {
                    const cf_posting *posting = p->pool + l->at + l->first + at;
                    CHECK(at < l->count && posting->row == r);
                    CHECK(at < l->count && posting->value == rows[r].value[e]);
                    at++;
                }
        CHECK_INT(at, l->count);
        CHECK(l->count == 0 || l->first + l->count <= (ptrdiff_t)2 << l->level);
    }
}

static void a_window(const cf_table *k, ptrdiff_t window)
{
    stored_row *rows = take_bytes(ROWS * sizeof *rows, 0, 0);
    cf_postings p = empty_index();
    ptrdiff_t most = 0, live = 0;
    check_dots(k, &p, rows, 0); /* nothing there */
    for (int turn = 0; turn < check_count(ROWS, 60); turn++) {
        CONTEXT("%s window=%td turn=%d", k->isa, window, turn);
        rows[turn] = random_row(FEATURES);
        if (turn % 17 == 16)
            rows[turn].nnz = 0; /* a row without features counts as one */
        add(&p, &rows[turn]);
        live += rows[turn].nnz;
        most = live > most ? live : most;
        if (p.next - p.oldest > window || (turn % 40 == 39 && p.next > p.oldest)) {
            const stored_row *old = &rows[p.oldest];
            live -= old->nnz;
            cf_postings_drop(&p, old->nnz, old->index);
        }
        while (turn % 97 == 96 && p.oldest < p.next) { /* all of them */
            const stored_row *old = &rows[p.oldest];
            live -= old->nnz;
            cf_postings_drop(&p, old->nnz, old->index);
        }
        if (turn % 7 == 0) {
            check_lists(&p, rows);
            check_dots(k, &p, rows, p.oldest);
            check_dots(k, &p, rows, p.oldest + random_below((ptrdiff_t)(p.next - p.oldest) + 1));
            check_dots(k, &p, rows, p.next);
        }
    }
    /* a list never has more than twice its block, the blocks of one level are used again */
    CHECK_THAT(p.used <= 8 * (most + FEATURES), "%td postings for at most %td", p.used, most);
}

TEST_TABLES(a_window_of_rows)
{
    static const ptrdiff_t windows[] = {0, 1, 2, 3, 5, 16, 33, 100, ROWS};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        a_window(k, windows[i]);
        release();
    }
}

/* What is lacking is told for features that have no list yet, too. */
TEST(what_a_row_may_lack)
{
    cf_postings p = empty_index();
    const int64_t index[3] = {0, 5, FEATURES + 2};
    CHECK_INT(cf_postings_lack(&p, 0, index), 0);
    CHECK_INT(cf_postings_lack(&p, 3, index), 6);
    p.features = 0;
    CHECK_INT(cf_postings_lack(&p, 3, index), 6);
    p.room = 4;
    CHECK_INT(cf_postings_lack(&p, 3, index), 2);
    p.room = 6;
    CHECK_INT(cf_postings_lack(&p, 3, index), 0);
}

CHECK_MAIN
