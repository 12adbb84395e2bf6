/* The diagonal metric with forgetting: A = diag(a), kept lazily, so that a call costs what the
 * row holds.
 *
 * Forgetting is a <- f a + (1 - f) ridge in every entry, which needs one product for all of them:
 * `now` is the product of all f since the marks were set to 1, mark_i what it was when a_i was
 * last brought up to date, and entry i is F a_i + (1 - F) ridge with F = now / mark_i (a sum of
 * two positive terms: no digit is lost). When `now` is small all entries are brought up to date,
 * O(n), once in some hundred halvings. Before the first forgetting there are no marks, and the
 * bits are those of the kernels of cf_diagonal.h.
 *
 * Rows are cf_row: dense O(n), sparse O(nnz), one division an entry (with marks two). Nothing is
 * allocated; scratch has nnz doubles. What is refused changes nothing.
 */
#pragma once
#include "cf_table.h"

#define CF_DIAG_MARGIN 1e-6 /* of 1 + c x_i^2 / a_i, below which no downdate is made */

typedef struct cf_diag {
    ptrdiff_t n;
    double ridge; /* > 0 */
    double *a;    /* n doubles > 0, the caller's */
    double *mark; /* n doubles in [now, 1], the caller's; NULL: nothing was ever forgotten */
    double now;   /* in (0, 1] */
} cf_diag;

/* sum of x_i^2 / a_i, the q of this metric */
double cf_diag_quad(const cf_diag *self, const cf_table *k, const cf_row *x, double *scratch);
/* y = x_e / a of the row's entries: nnz doubles */
void cf_diag_solve(const cf_diag *self, const cf_table *k, const cf_row *x, double *y,
                   double *scratch);
/* a_i += c x_i^2, *q from before. x = 0: *q = 0, nothing changes. CF_ENONFINITE: q or an entry
 * would overflow. CF_EVALUE: c < 0, and 1 + c x_i^2 / a_i is below CF_DIAG_MARGIN somewhere. */
int cf_diag_update(cf_diag *self, const cf_table *k, const cf_row *x, double c, double *scratch,
                   double *q);
/* The marks of a metric that has none: n doubles, from now on part of it. */
void cf_diag_mark(cf_diag *self, double *mark);
/* a <- f a + (1 - f) ridge, 0 < f <= 1, with marks. O(1), amortised. */
void cf_diag_forget(cf_diag *self, double f);
/* All entries as they are now: n doubles. */
void cf_diag_entries(const cf_diag *self, double *out);
