#include "coactive_fast/cf_full_many.h"

#include <math.h>
#include <string.h>

ptrdiff_t cf_full_many_scratch(ptrdiff_t n) { return 4 * CF_ABREAST * cf_pad(n); }

/* Where the rows from t on are to be read: in place, or widened into `room`. */
static const double *rows_from(const cf_full_rows *x, ptrdiff_t n, ptrdiff_t t, ptrdiff_t m,
                               double *room, ptrdiff_t *stride)
{
    const float *narrow = x->narrow + (x->narrow ? t * x->stride : 0);
    *stride = x->stride;
    if (x->wide != NULL)
        return x->wide + t * x->stride;
    *stride = cf_pad(n);
    for (ptrdiff_t l = 0; l < m; l++)
        for (ptrdiff_t i = 0; i < n; i++)
            room[l * *stride + i] = (double)narrow[l * x->stride + i];
    return room;
}

static ptrdiff_t first_bad(ptrdiff_t m, const double *q)
{
    ptrdiff_t t = 0;
    while (t < m && isfinite(q[t]))
        t++;
    return t;
}

ptrdiff_t cf_full_quad_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                            double scale, double *q, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *edges = scratch, *room = edges + CF_ABREAST * padded;
    double *rest = room + CF_ABREAST * padded;
    if (!self->robust)
        k->quad_edges(&self->b, edges);
    for (ptrdiff_t t = 0; t < x->count; t += CF_ABREAST) {
        const ptrdiff_t m = x->count - t < CF_ABREAST ? x->count - t : CF_ABREAST;
        ptrdiff_t stride;
        const double *rows = rows_from(x, n, t, m, room, &stride);
        if (self->robust)
            k->ud_quad_rows(&self->b, self->w, m, rows, stride, rest, q + t);
        else
            k->quad_rows(&self->b, edges, self->w, m, rows, stride, q + t, rest);
    }
    for (ptrdiff_t t = 0; scale != 1.0 && t < x->count; t++)
        q[t] /= scale;
    return first_bad(x->count, q);
}

ptrdiff_t cf_full_solve_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                             double scale, double *y, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *edges = scratch, *room = edges + 2 * CF_ABREAST * padded;
    double *rest = room + CF_ABREAST * padded;
    ptrdiff_t bad = x->count;
    if (!self->robust)
        k->symv_edges(&self->b, edges);
    for (ptrdiff_t t = 0; t < x->count; t += CF_ABREAST) {
        const ptrdiff_t m = x->count - t < CF_ABREAST ? x->count - t : CF_ABREAST;
        ptrdiff_t stride;
        const double *rows = rows_from(x, n, t, m, room, &stride);
        double *out = y + t * n;
        if (self->robust)
            k->ud_solve_rows(&self->b, self->w, m, rows, stride, rest, out, n);
        else
            k->symv_rows(&self->b, edges, m, rows, stride, out, n, rest);
        for (ptrdiff_t l = 0; l < m; l++) {
            double *yl = out + l * n;
            if (!self->robust)
                k->axpy(n, -k->dot(n, rows + l * stride, self->w), self->w, yl);
            for (ptrdiff_t i = 0; scale != 1.0 && i < n; i++)
                yl[i] /= scale;
            if (bad == x->count && !k->all_finite(n, yl))
                bad = t + l;
        }
    }
    return bad;
}

/* A whole, with what waits in the block. */
static void copy_matrix(const cf_full *self, const cf_table *k, cf_triangle *out)
{
    const ptrdiff_t padded = cf_pad(self->n);
    for (ptrdiff_t i = 0; i < self->n; i++) {
        double *row = cf_triangle_row(out, i);
        memcpy(row, cf_triangle_row(&self->a, i), (size_t)(i + 1) * sizeof *row);
        for (ptrdiff_t p = 0; p < self->pending; p++) {
            const double *x = self->block + p * padded;
            k->axpy(i + 1, self->weight[p] * x[i], x, row);
        }
    }
}

ptrdiff_t cf_full_sample_scratch(ptrdiff_t n) { return 2 * cf_panels_size(n) + 2 * cf_pad(n); }

int cf_full_sample(const cf_full *self, const cf_table *k, double scale, ptrdiff_t count, double *z,
                   double *scratch)
{
    const ptrdiff_t n = self->n, size = cf_panels_size(n), padded = cf_pad(n);
    cf_triangle a = {scratch, n, 0};
    cf_cholesky l = {scratch + size, scratch + 2 * size, 0};
    double *u = self->robust ? scratch : scratch + 2 * size + padded; /* a vector is enough there */
    memset(u, 0, (size_t)padded * sizeof *u);
    if (!self->robust) {
        copy_matrix(self, k, &a);
        if (k->cholesky_factor(&a, &l) != CF_OK)
            return CF_ENOTPOSITIVE;
    }
    for (ptrdiff_t t = 0; t < count; t++) {
        double *row = z + t * n;
        for (ptrdiff_t j = 0; j < n; j++) {
            u[j] = row[j] / sqrt(scale);
            if (self->robust) { /* U D^(1/2) z, column by column */
                row[j] = sqrt(self->w[j]) * u[j];
                k->axpy(j, row[j], cf_triangle_row(&self->b, j), row);
            }
        }
        if (!self->robust) {
            k->cholesky_backward(&l, u, u); /* beyond n it stays zero */
            memcpy(row, u, (size_t)n * sizeof *row);
        }
    }
    return CF_OK;
}

/* kept->l becomes the factor of A. */
static int keep_up(const cf_full *self, const cf_table *k, cf_full_factor *kept, double *scratch)
{
    const ptrdiff_t padded = cf_pad(self->n);
    const int64_t updates = self->health.updates - self->pending;
    if (kept->updates != updates) {
        kept->updates = -1;
        if (k->cholesky_factor(&self->a, &kept->l) != CF_OK)
            return CF_ENOTPOSITIVE;
        kept->updates = updates;
        kept->rows = 0;
    }
    for (; kept->rows < self->pending; kept->rows++) {
        const double *x = self->block + kept->rows * padded;
        const double root = sqrt(self->weight[kept->rows]);
        for (ptrdiff_t i = 0; i < padded; i++)
            scratch[i] = root * x[i];
        k->cholesky_add(&kept->l, scratch, scratch + padded);
    }
    return CF_OK;
}

int cf_full_draw(const cf_full *self, const cf_table *k, cf_full_factor *kept, double scale,
                 double *z, double *scratch)
{
    const ptrdiff_t n = self->n;
    CF_TRY(keep_up(self, k, kept, scratch));
    for (ptrdiff_t j = 0; j < cf_pad(n); j++)
        scratch[j] = j < n ? z[j] / sqrt(scale) : 0.0;
    k->cholesky_backward(&kept->l, scratch, scratch);
    memcpy(z, scratch, (size_t)n * sizeof *z);
    return CF_OK;
}
