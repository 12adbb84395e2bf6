#include "coactive_fast/cf_full.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CF_FULL_PROBE_EVERY 64 /* or n, whatever is more */

ptrdiff_t cf_full_size(ptrdiff_t n)
{
    if (n < 0 || n > (ptrdiff_t)1 << 28) /* 2^28: a triangle of 2^58 bytes, beyond any machine */
        return -1;
    return 2 * cf_panels_size(n) + cf_panels_size(n) / 2 + (1 + CF_BLOCK) * cf_pad(n) + CF_BLOCK;
}

ptrdiff_t cf_full_scratch(ptrdiff_t n)
{
    const ptrdiff_t padded = cf_pad(n);
    return cf_panels_size(n) + 9 * padded + 4 * padded;
}

void cf_full_attach(cf_full *self, double *memory)
{
    const ptrdiff_t triangle = cf_panels_size(self->n), padded = cf_pad(self->n);
    self->b = (cf_triangle){memory, self->n, 0};
    self->a = (cf_triangle){memory + triangle, self->n, 0};
    self->low = (float *)(void *)(memory + 2 * triangle);
    self->w = memory + 2 * triangle + triangle / 2;
    self->block = self->w + padded;
    self->weight = self->block + CF_BLOCK * padded;
}

static int64_t at_least(int64_t a, int64_t b) { return a > b ? a : b; }

static void plan(cf_full *self)
{
    self->next_look = self->next_probe < self->next_renewal ? self->next_probe : self->next_renewal;
}

void cf_full_init(cf_full *self, ptrdiff_t n, double ridge, int robust, const cf_table *k,
                  double *memory)
{
    memset(self, 0, sizeof *self);
    memset(memory, 0, (size_t)cf_full_size(n) * sizeof *memory);
    self->n = n;
    self->ridge = ridge;
    self->robust = robust;
    cf_full_attach(self, memory);
    for (ptrdiff_t i = 0; i < n; i++) {
        cf_triangle_row(&self->a, i)[i] = ridge;
        if (robust)
            self->w[i] = 1.0 / ridge;
        else
            cf_triangle_row(&self->b, i)[i] = 1.0 / ridge;
    }
    self->logdet = (double)n * k->log_one(ridge);
    self->next_probe = at_least(n, CF_FULL_PROBE_EVERY);
    self->next_renewal = robust ? INT64_MAX : at_least(n, 1);
    plan(self);
}

/* --- reading ---------------------------------------------------------------------------- */

void cf_full_solve(const cf_full *self, const cf_table *k, const double *x, double *scratch,
                   double *y)
{
    if (self->robust) {
        k->ud_solve(&self->b, self->w, x, scratch, y);
        return;
    }
    k->symv(&self->b, x, y);
    k->axpy(self->n, -k->dot(self->n, x, self->w), self->w, y);
}

double cf_full_quad(const cf_full *self, const cf_table *k, const double *x, double *scratch)
{
    double q;
    if (self->robust) {
        k->ud_quad(&self->b, self->w, x, scratch, &q);
        return q;
    }
    cf_full_solve(self, k, x, NULL, scratch);
    return k->dot(self->n, x, scratch);
}

void cf_full_inverse(const cf_full *self, const cf_table *k, double *scratch, double *out)
{
    const ptrdiff_t n = self->n;
    double *unit = scratch, *column = scratch + cf_pad(n), *f = column + cf_pad(n);
    memset(unit, 0, (size_t)cf_pad(n) * sizeof *unit);
    for (ptrdiff_t i = 0; i < n; i++) {
        const double *row = cf_triangle_row(&self->b, i);
        if (self->robust) {
            unit[i] = 1.0;
            k->ud_solve(&self->b, self->w, unit, f, column);
            unit[i] = 0.0;
        } else { /* fma(-w_i, w_j, b_ij): what the next pass over b would write */
            memcpy(column, row, (size_t)(i + 1) * sizeof *row);
            k->axpy(i + 1, -self->w[i], self->w, column);
        }
        for (ptrdiff_t j = 0; j <= i; j++)
            out[i * n + j] = out[j * n + i] = column[j];
    }
}

void cf_full_matrix(const cf_full *self, const cf_table *k, double *scratch, double *out)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    for (ptrdiff_t i = 0; i < n; i++) {
        memcpy(scratch, cf_triangle_row(&self->a, i), (size_t)(i + 1) * sizeof *out);
        for (ptrdiff_t p = 0; p < self->pending; p++) {
            const double *x = self->block + p * padded;
            k->axpy(i + 1, self->weight[p] * x[i], x, scratch);
        }
        for (ptrdiff_t j = 0; j <= i; j++)
            out[i * n + j] = out[j * n + i] = scratch[j];
    }
}

double cf_full_residual(const cf_full *self, const cf_table *k, uint64_t seed, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *v = scratch, *y = v + padded, *r = y + padded, *f = r + padded;
    seed = (seed + 1) * 0x9E3779B97F4A7C15u;
    for (ptrdiff_t i = 0; i < n; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        v[i] = seed >> 63 ? 1.0 : -1.0;
    }
    cf_full_solve(self, k, v, f, y);
    k->symv(&self->a, y, r);
    for (ptrdiff_t p = 0; p < self->pending; p++) {
        const double *x = self->block + p * padded;
        k->axpy(n, self->weight[p] * k->dot(n, x, y), x, r);
    }
    k->axpy(n, -1.0, v, r);
    return n ? sqrt(k->dot(n, r, r) / (double)n) : 0.0;
}

/* --- changing ---------------------------------------------------------------------------- */

static void empty_block(cf_full *self, const cf_table *k)
{
    k->rank_block(&self->a, self->low, self->pending, self->block, cf_pad(self->n), self->weight);
    self->pending = 0;
}

/* B anew from A. Where A is not positive definite in float64, B stays and 0 is returned. */
static int renew(cf_full *self, const cf_table *k, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    empty_block(self, k);
    self->last_renewal = self->health.updates;
    cf_cholesky l = {scratch, scratch + cf_panels_size(n), 0};
    if (k->cholesky_factor(&self->a, &l) != CF_OK) {
        self->health.failed++;
        return 0;
    }
    k->cholesky_inverse(&l, &self->b, l.inv + padded);
    memset(self->w, 0, (size_t)padded * sizeof *self->w);
    self->logdet = 0.0;
    for (ptrdiff_t i = 0; i < n; i++)
        self->logdet -= 2.0 * k->log_one(l.inv[i]);
    self->health.renewals++;
    return 1;
}

int cf_full_repair(cf_full *self, const cf_table *k, double *scratch)
{
    if (self->robust)
        return 0;
    self->health.repairs++;
    return renew(self, k, scratch);
}

static void look_after(cf_full *self, const cf_table *k, double *scratch)
{
    const int64_t now = self->health.updates, n = self->n;
    if (now >= self->next_renewal) {
        renew(self, k, scratch);
        self->next_renewal = 2 * now;
    }
    if (now >= self->next_probe) {
        cf_full_health *h = &self->health;
        h->last_residual = cf_full_residual(self, k, (uint64_t)h->probes, scratch);
        h->worst_residual = fmax(h->worst_residual, h->last_residual);
        h->probes++;
        if (!(h->last_residual <= CF_FULL_DRIFT) && !self->robust && now - self->last_renewal >= n)
            renew(self, k, scratch);
        self->next_probe = now + at_least(n, CF_FULL_PROBE_EVERY);
    }
    plan(self);
}

/* q and v = B x with the pending term applied; a q that is not positive gets one repair. */
static int product(cf_full *self, const cf_table *k, const double *x, double *v, double *scratch,
                   double *q)
{
    k->rank_one_symv(&self->b, self->w, x, v);
    memset(self->w, 0, (size_t)cf_pad(self->n) * sizeof *self->w);
    *q = k->dot(self->n, x, v);
    if (*q > 0.0)
        return CF_OK;
    if (!cf_full_repair(self, k, scratch))
        return CF_ENOTPOSITIVE;
    k->symv(&self->b, x, v);
    *q = k->dot(self->n, x, v);
    return *q > 0.0 ? CF_OK : CF_ENOTPOSITIVE;
}

int cf_full_update(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                   double *q)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *v = scratch, *rest = scratch + padded;
    const double size = k->dot(n, x, x);
    *q = 0.0;
    /* what is added is below the last digit of A, and q below the smallest double */
    if (size == 0.0 || (size / self->ridge < DBL_MIN && c * (size / self->ridge) < DBL_EPSILON))
        return CF_OK;
    /* A >= ridge I, so q <= x.x / ridge: what passes here stays finite below */
    if (!(size / self->ridge <= DBL_MAX && c * size / self->ridge <= DBL_MAX && c * size <= DBL_MAX))
        return CF_ENONFINITE;
    if (self->robust) {
        k->ud_quad(&self->b, self->w, x, v, q);
        if (*q > 0.0 && 1.0 / c <= DBL_MAX) /* a c below 2^-1024 changes no digit */
            k->ud_update(&self->b, self->w, c, v, rest);
    } else {
        const int status = product(self, k, x, v, rest, q);
        if (status != CF_OK)
            return status;
        const double root = sqrt(1.0 / (1.0 / c + *q));
        for (ptrdiff_t i = 0; i < padded; i++)
            self->w[i] = root * v[i];
    }
    double *row = self->block + self->pending * padded;
    memcpy(row, x, (size_t)n * sizeof *row);
    self->weight[self->pending++] = c;
    if (self->pending == CF_BLOCK)
        empty_block(self, k);
    self->logdet += k->log1p_one(c * *q);
    if (++self->health.updates >= self->next_look)
        look_after(self, k, rest);
    return CF_OK;
}
