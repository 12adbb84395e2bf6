#include "coactive_fast/cf_full.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define CF_FULL_PROBE_EVERY 64 /* or n, whatever is more */
#define CF_FULL_WIDEST 0x1p56  /* of D, where A is scaled down again and again */

ptrdiff_t cf_full_size(ptrdiff_t n)
{
    if (n < 0 || n > (ptrdiff_t)1 << 28) /* 2^28: a triangle of 2^58 bytes, beyond any machine */
        return -1;
    return 2 * cf_panels_size(n) + cf_panels_size(n) / 2 + (1 + CF_BLOCK) * cf_pad(n) + CF_BLOCK;
}

ptrdiff_t cf_full_scratch(ptrdiff_t n)
{
    return cf_panels_size(n) + 14 * cf_pad(n);
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

void cf_full_steepen(cf_full *self)
{
    const int matters = self->precision == CF_FULL_AUTO && !self->robust;
    self->steepest = matters ? CF_FULL_STEEP * self->ridge : DBL_MAX;
}

void cf_full_init(cf_full *self, ptrdiff_t n, double ridge, int precision, const cf_table *k,
                  double *memory)
{
    const int robust = precision == CF_FULL_ROBUST;
    memset(self, 0, sizeof *self);
    memset(memory, 0, (size_t)cf_full_size(n) * sizeof *memory);
    self->n = n;
    self->ridge = ridge;
    self->precision = precision;
    self->robust = robust;
    cf_full_steepen(self);
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
    if (!self->robust)
        return k->quad_row(&self->b, self->w, x, scratch);
    k->ud_quad(&self->b, self->w, x, scratch, &q);
    return q;
}

void cf_full_look(const cf_full *self, const cf_table *k, const double *x, double *scratch,
                  double *v, double *q)
{
    double *f = scratch, *g = scratch + cf_pad(self->n);
    if (!self->robust) {
        k->symv_less(&self->b, self->w, x, v);
        *q = k->dot(self->n, x, v);
        return;
    }
    k->ud_solve(&self->b, self->w, x, f, v);
    for (ptrdiff_t i = 0; i < self->n; i++)
        g[i] = self->w[i] * f[i];
    *q = k->dot(self->n, f, g); /* a sum of squares: no digit is lost */
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

/* Row i of A up to the diagonal, with what waits in the block. */
static void matrix_row(const cf_full *self, const cf_table *k, ptrdiff_t i, double *row)
{
    memcpy(row, cf_triangle_row(&self->a, i), (size_t)(i + 1) * sizeof *row);
    for (ptrdiff_t p = 0; p < self->pending; p++) {
        const double *x = self->block + p * cf_pad(self->n);
        k->axpy(i + 1, self->weight[p] * x[i], x, row);
    }
}

void cf_full_matrix(const cf_full *self, const cf_table *k, double *scratch, double *out)
{
    const ptrdiff_t n = self->n;
    for (ptrdiff_t i = 0; i < n; i++) {
        matrix_row(self, k, i, scratch);
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

/* After U and D of the robust form were made anew. */
static void note_factors(cf_full *self, const cf_table *k)
{
    self->logdet = 0.0;
    for (ptrdiff_t i = 0; i < self->n; i++)
        self->logdet -= k->log_one(self->w[i]);
    self->last_renewal = self->health.updates;
    self->health.renewals++;
}

/* U and D of the robust form from A = L L^T: D = 1 / diag(L)^2 and U^T = diag(L) L^-1. */
static int factor(cf_full *self, const cf_table *k, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    cf_cholesky l = {scratch, scratch + cf_panels_size(n), 0};
    double *unit = l.inv + padded, *u = unit + padded;
    empty_block(self, k);
    if (k->cholesky_factor(&self->a, &l) != CF_OK)
        return 0;
    memset(unit, 0, (size_t)padded * sizeof *unit);
    memset(self->b.data, 0, (size_t)cf_panels_size(n) * sizeof *unit);
    for (ptrdiff_t j = 0; j < n; j++) {
        memset(u, 0, (size_t)padded * sizeof *u);
        unit[j] = 1.0;
        k->cholesky_forward(&l, j / 8 * 8, unit, u);
        unit[j] = 0.0;
        self->w[j] = l.inv[j] * l.inv[j];
        for (ptrdiff_t i = j + 1; i < n; i++)
            cf_triangle_row(&self->b, i)[j] = u[i] / l.inv[i];
    }
    note_factors(self, k);
    return 1;
}

int cf_full_convert(cf_full *self, const cf_table *k, double *scratch)
{
    self->converts = 0;
    if (!factor(self, k, scratch)) {
        self->health.failed++;
        return 0;
    }
    self->robust = 1;
    self->next_renewal = INT64_MAX;
    cf_full_steepen(self);
    plan(self);
    return 1;
}

/* Whether some column is so correlated with the others that A has lost the digits that tell them
 * apart: of the fast form that was just renewed. */
static int correlated(const cf_full *self)
{
    for (ptrdiff_t i = 0; i < self->n; i++)
        if (cf_triangle_row(&self->a, i)[i] * cf_triangle_row(&self->b, i)[i] > CF_FULL_CORRELATED)
            return 1;
    return 0;
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
    if (self->precision == CF_FULL_AUTO) {
        const double least = 2.0 * cf_full_least(self, k);
        self->steepest = CF_FULL_STEEP * fmax(self->ridge, least);
        if (correlated(self))
            cf_full_convert(self, k, scratch);
    }
    return 1;
}

int cf_full_repair(cf_full *self, const cf_table *k, double *scratch)
{
    if (self->robust)
        return 0;
    self->health.repairs++;
    if (self->precision != CF_FULL_AUTO)
        return renew(self, k, scratch);
    return cf_full_convert(self, k, scratch); /* a renewal from A would not bring the digits back */
}

static void look_after(cf_full *self, const cf_table *k, double *scratch)
{
    const int64_t now = self->health.updates, n = self->n;
    if (now >= self->next_renewal) {
        self->next_renewal = 2 * now;
        renew(self, k, scratch);
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

/* A q to go on with. That it is finite is no matter of course where A may be below its ridge. */
static int judge_q(double q)
{
    if (q > 0.0)
        return q <= DBL_MAX ? CF_OK : CF_ENONFINITE;
    return CF_ENOTPOSITIVE;
}

/* q and v = B x with the pending term applied; a q that is not positive gets one repair. */
static int product(cf_full *self, const cf_table *k, const double *x, double *v, double *scratch,
                   double *q)
{
    if (!self->robust) {
        k->rank_one_symv(&self->b, self->w, x, v);
        memset(self->w, 0, (size_t)cf_pad(self->n) * sizeof *self->w);
        *q = k->dot(self->n, x, v);
        if (*q > 0.0)
            return judge_q(*q);
        if (!cf_full_repair(self, k, scratch))
            return CF_ENOTPOSITIVE;
    }
    cf_full_look(self, k, x, scratch, v, q);
    return judge_q(*q);
}

/* No entry of A + c x x^T is beyond half the largest double: the diagonal bounds them all. */
static int fits(const cf_full *self, const double *x, double c)
{
    const ptrdiff_t padded = cf_pad(self->n);
    for (ptrdiff_t i = 0; i < self->n; i++) {
        double sum = cf_triangle_row(&self->a, i)[i] + c * x[i] * x[i];
        for (ptrdiff_t p = 0; p < self->pending; p++) {
            const double xp = self->block[p * padded + i];
            sum += self->weight[p] * xp * xp;
        }
        if (!(sum <= 0.5 * DBL_MAX))
            return 0;
    }
    return 1;
}

/* A >= ridge I, so q <= x.x / ridge, and what passes here stays finite. Only terms of which 2^59
 * would fill the range are held against what A has already. */
int cf_full_judge(const cf_full *self, const double *x, double c, double size)
{
    const double q = size / self->ridge;
    if (size == 0.0 || (q < DBL_MIN && c * q < DBL_EPSILON))
        return CF_FULL_NOTHING;
    if (!(q <= DBL_MAX && c * size / self->ridge <= DBL_MAX && c * size <= DBL_MAX))
        return CF_ENONFINITE;
    return c * size <= 0x1p-60 * DBL_MAX || fits(self, x, c) ? CF_OK : CF_ENONFINITE;
}

int cf_full_propose(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                    double *v, double *q)
{
    const double size = k->dot(self->n, x, x);
    const int kind = cf_full_judge(self, x, c, size);
    self->converts = c * size > self->steepest;
    *q = 0.0;
    if (kind != CF_FULL_NOTHING)
        return kind == CF_OK ? product(self, k, x, v, scratch, q) : kind;
    cf_full_solve(self, k, x, scratch, v);
    return CF_OK;
}

/* The block and all that goes with an update; the inverse, or its pending term, is already new. */
void cf_full_gather(cf_full *self, const cf_table *k, const double *x, double c, double *scratch)
{
    double *row = self->block + self->pending * cf_pad(self->n);
    memcpy(row, x, (size_t)self->n * sizeof *row);
    self->weight[self->pending++] = c;
    if (self->pending == CF_BLOCK)
        empty_block(self, k);
    if (++self->health.updates >= self->next_look)
        look_after(self, k, scratch);
}

static void note(cf_full *self, const cf_table *k, const double *x, double c, double q,
                 double *scratch)
{
    self->logdet += k->log1p_one(c * q); /* before a renewal, which knows better */
    cf_full_gather(self, k, x, c, scratch);
}

void cf_full_accept(cf_full *self, const cf_table *k, const double *x, double c, const double *v,
                    double q, double *scratch)
{
    if (q == 0.0) /* nothing to add */
        return;
    const ptrdiff_t padded = cf_pad(self->n);
    const double root = sqrt(1.0 / (1.0 / c + q));
    if (self->converts)
        cf_full_convert(self, k, scratch);
    if (self->robust) {
        double same; /* q, but for rounding */
        k->ud_quad(&self->b, self->w, x, scratch, &same);
        k->ud_update(&self->b, self->w, c, scratch, scratch + padded);
    }
    for (ptrdiff_t i = 0; i < padded && !self->robust; i++)
        self->w[i] = root * v[i];
    note(self, k, x, c, q, scratch);
}

/* B += what A loses by c x x^T, c < 0; v = B x, the pending term is in B. */
static void widen(cf_full *self, const cf_table *k, double c, const double *v, double q,
                  double *scratch)
{
    const ptrdiff_t padded = cf_pad(self->n);
    const double root = sqrt(-c / (1.0 + c * q));
    double *plus = scratch, *minus = scratch + padded;
    for (ptrdiff_t i = 0; i < padded; i++) {
        plus[i] = root * v[i];
        minus[i] = -plus[i];
    }
    k->rank_one(&self->b, plus, minus);
}

/* Nothing is written before the answer is known to be positive definite by its margin. */
static int downdate(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                    double *q)
{
    double *v = scratch, *rest = scratch + cf_pad(self->n);
    cf_full_look(self, k, x, rest, v, q);
    const int status = judge_q(*q);
    const double left = 1.0 + c * *q;
    if (status != CF_OK)
        return status;
    if (!(left >= CF_FULL_MARGIN))
        return CF_EVALUE;
    if (self->robust) {
        double same; /* q, but for rounding */
        k->ud_quad(&self->b, self->w, x, rest, &same);
        k->ud_update(&self->b, self->w, c, rest, v);
    } else {
        k->rank_one(&self->b, self->w, self->w);
        memset(self->w, 0, (size_t)cf_pad(self->n) * sizeof *self->w);
        widen(self, k, c, v, *q, rest);
    }
    note(self, k, x, c, *q, rest);
    if (left < CF_FULL_COSTLY && !self->robust)
        renew(self, k, rest);
    return CF_OK;
}

/* A += c x x^T where size = x.x is in range. */
static int update(cf_full *self, const cf_table *k, const double *x, double c, double size,
                  double *scratch, double *q)
{
    double *v = scratch, *rest = scratch + cf_pad(self->n);
    const int kind = cf_full_judge(self, x, fabs(c), size);
    if (kind != CF_OK)
        return kind == CF_FULL_NOTHING ? CF_OK : kind;
    if (c < 0.0)
        return downdate(self, k, x, c, scratch, q);
    if (self->robust) {
        k->ud_quad(&self->b, self->w, x, v, q);
        if (!(*q <= DBL_MAX))
            return CF_ENONFINITE;
        if (*q > 0.0 && 1.0 / c <= DBL_MAX) /* a c below 2^-1024 changes no digit */
            k->ud_update(&self->b, self->w, c, v, rest);
        note(self, k, x, c, *q, rest);
        return CF_OK;
    }
    const int status = product(self, k, x, v, rest, q);
    self->converts = c * size > self->steepest;
    if (status == CF_OK)
        cf_full_accept(self, k, x, c, v, *q, rest);
    return status;
}

/* The same where it may not be: 2^e takes x to a length of about 1, and c to its place. */
static int update_scaled(cf_full *self, const cf_table *k, const double *x, double c,
                         double *scratch, double *q)
{
    double *y = scratch, most = 0.0;
    int e;
    if (!k->all_finite(self->n, x))
        return CF_ENONFINITE;
    for (ptrdiff_t i = 0; i < self->n; i++)
        most = fmax(most, fabs(x[i]));
    if (most == 0.0)
        return CF_OK;
    frexp(most, &e);
    for (ptrdiff_t i = 0; i < self->n; i++)
        y[i] = ldexp(x[i], -e);
    c = ldexp(c, 2 * e);
    const double size = k->dot(self->n, y, y), bound = size / self->ridge; /* of q, in 4^e */
    if (ldexp(bound, 2 * e) < DBL_MIN && fabs(c) * bound < DBL_EPSILON)
        return CF_OK;
    if (!(ldexp(bound, 2 * e) <= DBL_MAX))
        return CF_ENONFINITE;
    const int status = update(self, k, y, c, size, scratch + cf_pad(self->n), q);
    *q = ldexp(*q, 2 * e);
    return status;
}

int cf_full_update(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                   double *q)
{
    const double size = k->dot(self->n, x, x);
    *q = 0.0;
    return size >= 0x1p-900 && size <= DBL_MAX ? update(self, k, x, c, size, scratch, q)
                                               : update_scaled(self, k, x, c, scratch, q);
}

/* --- losing ------------------------------------------------------------------------------ */

void cf_full_drop(cf_full *self, const cf_table *k, const double *x, const double *v, double q,
                  double *scratch)
{
    if (!(q > 0.0 && q < 1.0))
        return;
    widen(self, k, -1.0, v, q, scratch);
    cf_full_steepen(self);
    note(self, k, x, -1.0, q, scratch);
}

void cf_full_scale(cf_full *self, const cf_table *k, int half)
{
    const ptrdiff_t size = cf_panels_size(self->n);
    const double up = ldexp(1.0, 2 * half), down = ldexp(1.0, -2 * half);
    for (ptrdiff_t i = 0; i < size; i++) {
        self->a.data[i] *= up;
        self->b.data[i] *= self->robust ? 1.0 : down;
        const double low = self->low[i] * up;
        self->low[i] = fabs(low) < FLT_MAX ? (float)low : 0.0f;
    }
    for (ptrdiff_t i = 0; i < self->n; i++) {
        const double wide = self->w[i] * down;
        self->w[i] = self->robust ? fmin(wide, CF_FULL_WIDEST) : ldexp(self->w[i], -half);
    }
    for (ptrdiff_t p = 0; p < self->pending; p++)
        self->weight[p] *= up;
    self->ridge *= up;
    if (self->steepest < DBL_MAX)
        self->steepest *= up;
    self->logdet += 2.0 * half * (double)self->n * k->log_one(2.0);
}

/* --- another A --------------------------------------------------------------------------- */

int cf_full_renew(cf_full *self, const cf_table *k, double *scratch)
{
    return self->robust ? factor(self, k, scratch) : renew(self, k, scratch);
}

int cf_full_place(cf_full *self, const cf_table *k, const double *a, ptrdiff_t ld,
                  double *scratch)
{
    const int64_t n = self->n;
    for (ptrdiff_t i = 0; i < n; i++)
        memcpy(cf_triangle_row(&self->a, i), a + i * ld, (size_t)(i + 1) * sizeof *a);
    if (!cf_full_renew(self, k, scratch))
        return CF_ENOTPOSITIVE;
    self->ridge = cf_full_least(self, k);
    cf_full_steepen(self);
    return self->ridge > 0.0 && self->ridge <= DBL_MAX ? CF_OK : CF_ENONFINITE;
}

/* In the robust form one update for each unit vector: no digit of the small eigenvalues is lost. */
static void lift_robust(cf_full *self, const cf_table *k, double more, double *scratch)
{
    const ptrdiff_t padded = cf_pad(self->n);
    double *unit = scratch, *f = unit + padded, *rest = f + padded, q;
    memset(unit, 0, (size_t)padded * sizeof *unit);
    for (ptrdiff_t i = 0; i < self->n; i++) {
        unit[i] = 1.0;
        k->ud_quad(&self->b, self->w, unit, f, &q);
        k->ud_update(&self->b, self->w, more, f, rest);
        unit[i] = 0.0;
    }
    note_factors(self, k);
}

int cf_full_lift(cf_full *self, const cf_table *k, double more, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    double *before = scratch + cf_panels_size(n) + 12 * padded; /* renew leaves it alone */
    if (!(more > 0.0 && 1.0 / more <= DBL_MAX)) /* below 2^-1024: it changes no digit */
        return more >= 0.0 ? CF_OK : CF_ENONFINITE;
    empty_block(self, k);
    for (ptrdiff_t i = 0; i < n; i++)
        if (!(cf_triangle_row(&self->a, i)[i] + more <= 0.5 * DBL_MAX))
            return CF_ENONFINITE;
    for (ptrdiff_t i = 0; i < n; i++) {
        before[i] = cf_triangle_row(&self->a, i)[i];
        cf_triangle_row(&self->a, i)[i] += more;
    }
    if (self->robust) {
        lift_robust(self, k, more, scratch);
    } else if (!renew(self, k, scratch)) {
        for (ptrdiff_t i = 0; i < n; i++)
            cf_triangle_row(&self->a, i)[i] = before[i];
        return CF_ENOTPOSITIVE;
    }
    self->ridge += more;
    return CF_OK;
}

double cf_full_least(const cf_full *self, const cf_table *k)
{
    double trace = 0.0;
    for (ptrdiff_t i = 0; i < self->n; i++) {
        const double *row = cf_triangle_row(&self->b, i);
        if (self->robust)
            trace += self->w[i] * (1.0 + k->dot(i, row, row));
        else
            trace += row[i] - self->w[i] * self->w[i];
    }
    return 0.5 / trace;
}

/* --- many rows --------------------------------------------------------------------------- */

ptrdiff_t cf_full_many_scratch(ptrdiff_t n) { return 4 * CF_ABREAST * cf_pad(n); }

/* Where the rows from t on are to be read: in place, or widened into `room`. */
static const double *rows_from(const cf_full_rows *x, ptrdiff_t n, ptrdiff_t t, ptrdiff_t m,
                               double *room, ptrdiff_t *stride)
{
    *stride = x->stride;
    if (x->wide != NULL)
        return x->wide + t * x->stride;
    *stride = cf_pad(n);
    for (ptrdiff_t l = 0; l < m; l++)
        for (ptrdiff_t i = 0; i < n; i++)
            room[l * *stride + i] = (double)x->narrow[(t + l) * x->stride + i];
    return room;
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
    ptrdiff_t bad = 0;
    while (bad < x->count && isfinite(q[bad]))
        bad++;
    return bad;
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
        for (ptrdiff_t i = 0; i < n; i++)
            matrix_row(self, k, i, cf_triangle_row(&a, i));
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

int cf_full_draw(const cf_full *self, const cf_table *k, cf_full_factor *kept, double scale,
                 double *z, double *scratch)
{
    const ptrdiff_t n = self->n, padded = cf_pad(n);
    const int64_t updates = self->health.updates - self->pending;
    if (kept->updates != updates) { /* kept->l becomes the factor of A */
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
    for (ptrdiff_t j = 0; j < padded; j++)
        scratch[j] = j < n ? z[j] / sqrt(scale) : 0.0;
    k->cholesky_backward(&kept->l, scratch, scratch);
    memcpy(z, scratch, (size_t)n * sizeof *z);
    return CF_OK;
}
