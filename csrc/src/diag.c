#include "coactive_fast/cf_diag.h"

#include <float.h>
#include <string.h>

#define CF_DIAG_LEAST 0x1p-500 /* of `now`, before all entries are brought up to date */
#define CF_DIAG_SAFE 1e290     /* what can be added to any entry without overflow */

static ptrdiff_t place(const cf_row *x, ptrdiff_t e)
{
    return x->i32 ? x->i32[e] : x->i64 ? (ptrdiff_t)x->i64[e] : e;
}

static double entry(const cf_diag *self, ptrdiff_t i)
{
    if (self->mark == NULL)
        return self->a[i];
    const double f = self->now / self->mark[i];
    return f * self->a[i] + (1.0 - f) * self->ridge;
}

/* The row's own entries as they are now. */
static void gather(const cf_diag *self, const cf_row *x, double *out)
{
    for (ptrdiff_t e = 0; e < x->nnz; e++)
        out[e] = entry(self, place(x, e));
}

/* The entries of a row as a dense row. */
static cf_row alone(const cf_row *x) { return (cf_row){x->nnz, x->nnz, x->value, NULL, NULL}; }

double cf_diag_quad(const cf_diag *self, const cf_table *k, const cf_row *x, double *scratch)
{
    if (self->mark == NULL)
        return k->diagonal_quad(x, self->a);
    const cf_row own = alone(x);
    gather(self, x, scratch);
    return k->diagonal_quad(&own, scratch);
}

void cf_diag_solve(const cf_diag *self, const cf_table *k, const cf_row *x, double *y,
                   double *scratch)
{
    const int whole = self->mark == NULL && !x->i32 && !x->i64;
    if (!whole)
        gather(self, x, scratch);
    k->diagonal_solve(x->nnz, whole ? self->a : scratch, x->value, y);
}

static int judge(const cf_diag *self, const cf_table *k, const cf_row *x, double c)
{
    /* no entry grows by more than c x.x */
    if (c > 0.0 && c * k->dot(x->nnz, x->value, x->value) < CF_DIAG_SAFE)
        return CF_OK;
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        const double a = entry(self, place(x, e)), more = c * x->value[e] * x->value[e];
        if (!(a + more <= DBL_MAX))
            return CF_ENONFINITE;
        if (c < 0.0 && !(1.0 + more / a >= CF_DIAG_MARGIN))
            return CF_EVALUE;
    }
    return CF_OK;
}

int cf_diag_update(cf_diag *self, const cf_table *k, const cf_row *x, double c, double *scratch,
                   double *q)
{
    *q = cf_diag_quad(self, k, x, scratch); /* with marks: scratch is what the entries are now */
    if (*q == 0.0)
        return CF_OK;
    CF_TRY(*q <= DBL_MAX ? judge(self, k, x, c) : CF_ENONFINITE);
    if (self->mark == NULL) {
        k->diagonal_update(x, c, self->a);
        return CF_OK;
    }
    const cf_row own = alone(x);
    k->diagonal_update(&own, c, scratch);
    for (ptrdiff_t e = 0; e < x->nnz; e++) {
        self->a[place(x, e)] = scratch[e];
        self->mark[place(x, e)] = self->now;
    }
    return CF_OK;
}

void cf_diag_mark(cf_diag *self, double *mark)
{
    for (ptrdiff_t i = 0; i < self->n; i++)
        mark[i] = 1.0;
    self->mark = mark;
    self->now = 1.0;
}

void cf_diag_forget(cf_diag *self, double f)
{
    if (self->now * f >= CF_DIAG_LEAST) {
        self->now *= f;
        return;
    }
    for (ptrdiff_t i = 0; i < self->n; i++) {
        self->a[i] = f * entry(self, i) + (1.0 - f) * self->ridge;
        self->mark[i] = 1.0;
    }
    self->now = 1.0;
}

void cf_diag_entries(const cf_diag *self, double *out)
{
    for (ptrdiff_t i = 0; i < self->n; i++)
        out[i] = entry(self, i);
}
