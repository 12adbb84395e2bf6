/* The full metric: A = ridge I + sum c x x^T and its inverse, right for 10^8 updates.
 *
 * Sherman-Morrison keeps B, where every rounding error acts like a lasting change of A of size
 * u cond(A) ||A||; so A itself is kept beside it, fed from a block of rows with what its sums lose
 * carried along (else A would drift by u sqrt(t) cond too, unseen), and B is made anew from A
 * (Cholesky) after n, 2n, 4n, ... updates, where a probe of ||A B v - v|| finds more than
 * CF_FULL_DRIFT, and where a q <= 0 shows the damage; by drift at most once in n updates.
 * The robust form keeps B = U D U^T instead (cf_ud.h, Bierman 1977): q to the last digits whatever
 * the scales of the columns, no renewal.
 *
 * An update divides what A^-1 has along x by 1 + c q, and with it as many of its digits are gone from
 * the fast form. c x.x ||A^-1|| bounds c q, and bounds what all updates since the last renewal have
 * divided by; where it passes CF_FULL_STEEP (1e-9 of q lost), or where a renewal finds columns so
 * correlated that A itself has lost as much (CF_FULL_CORRELATED), the precision decides:
 * CF_FULL_AUTO converts to the robust form, once and for all, before that update; CF_FULL_FAST goes on.
 *
 * Cost of an update: one pass over B (the pending term is applied while it is read for the next
 * product: 3 fma an element), 1/16 pass over A. Probes and renewals: O(n^2) an update, amortised.
 * Memory: cf_full_size(n) doubles = two and a half triangles in panels and 18 rows.
 */
#pragma once
#include <stdint.h>

#include "cf_table.h"

#define CF_FULL_DRIFT 1e-8
#define CF_FULL_NOTHING 1 /* no status of the library: see cf_full_judge */
#define CF_FULL_MARGIN 1e-6 /* of 1 + c q, below which no downdate is made */
#define CF_FULL_COSTLY 1e-3 /* of 1 + c q, below which the inverse is made anew after one */
#define CF_FULL_STEEP 4e6   /* of c x.x ||A^-1||: 2^-52 of it is 1e-9 */
#define CF_FULL_CORRELATED 1e8 /* of A_ii (A^-1)_ii, the variance inflation of column i */
#define CF_FULL_FAST 0
#define CF_FULL_ROBUST 1
#define CF_FULL_AUTO 2

typedef struct cf_full_health {
    int64_t updates;        /* that changed something */
    int64_t probes;         /* of the drift */
    int64_t renewals;       /* of B from A, for whatever reason */
    int64_t repairs;        /* renewals because some q was not positive */
    int64_t failed;         /* renewals that A did not allow (not positive in float64) */
    double last_residual;   /* ||A B v - v|| / sqrt(n) of the last probe */
    double worst_residual;  /* the largest so far */
} cf_full_health;

/* Invariants: A = a + low + sum over the block of c x x^T. Not robust: A^-1 = b - w w^T up to drift.
 * Robust: A^-1 = U D U^T with U^T in b, D in w. Rows of the block and w have cf_pad(n) doubles,
 * zero beyond n. All pointers go into one piece of memory that the owner keeps. */
typedef struct cf_full {
    ptrdiff_t n;
    double ridge;      /* > 0: A >= ridge I, what A began with or a bound from cf_full_least */
    int precision;     /* CF_FULL_FAST, CF_FULL_ROBUST or CF_FULL_AUTO: as asked for */
    int robust;        /* the form it has now */
    int converts;      /* the update that was proposed last is too steep for the fast form */
    double steepest;   /* c x.x beyond which an update is; DBL_MAX where that does not matter */
    cf_triangle b, a;  /* panels */
    float *low;        /* what the sums in a lost to rounding (rank_block) */
    double *w;         /* the pending term, or D */
    double *block;     /* CF_BLOCK rows not yet in a */
    double *weight;    /* their c */
    ptrdiff_t pending; /* rows in the block */
    double logdet;     /* log det A */
    int64_t next_look; /* the update after which something is due */
    int64_t next_probe, next_renewal, last_renewal;
    cf_full_health health;
} cf_full;

ptrdiff_t cf_full_size(ptrdiff_t n);    /* doubles of state; negative: n is too large */
ptrdiff_t cf_full_scratch(ptrdiff_t n); /* doubles of scratch for the functions below */

/* A = ridge I in `memory` (cf_full_size(n) doubles on a CF_LINE, owned by the caller). */
void cf_full_init(cf_full *self, ptrdiff_t n, double ridge, int precision, const cf_table *k,
                  double *memory);
/* The same arrays at another place: after the memory was copied. */
void cf_full_attach(cf_full *self, double *memory);

/* A += c x x^T, c finite and not 0; *q = x^T A^-1 x from before. x = 0 (or so small that x.x / ridge
 * underflows and c x.x / ridge is below the last digit): *q = 0, nothing changes. x.x itself may
 * leave the range of a double. CF_ENONFINITE: x is not finite, x.x / ridge or c x.x / ridge would
 * overflow, or A + c x x^T pass half the largest double: nothing changes. CF_ENOTPOSITIVE: q <= 0
 * and no repair was possible: A and its inverse are as before. CF_EVALUE: c < 0, and 1 + c q is
 * below CF_FULL_MARGIN: nothing changes. A downdate (c < 0) goes over the triangle three times;
 * after one `ridge` is too large: the caller asks cf_full_least. */
int cf_full_update(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                   double *q);
/* The same in two halves, for a caller that looks at v = A^-1 x before he commits himself: one
 * reading of the triangle in all (robust form: three). `propose` gives q and v (cf_pad(n) doubles);
 * the pending term goes into b on the way, of which no reading function shows anything. Where the
 * update would change nothing, q = 0 and v is what cf_full_solve gives; x.x must be in the range
 * of a double (too large, or q is: CF_ENONFINITE, too small: taken for 0). `accept` cannot fail; it
 * takes the same x and c, and nothing may have happened to self in between. */
int cf_full_propose(cf_full *self, const cf_table *k, const double *x, double c, double *scratch,
                    double *v, double *q);
void cf_full_accept(cf_full *self, const cf_table *k, const double *x, double c, const double *v,
                    double q, double *scratch);
/* What an update by c x x^T would be, size = x.x: CF_OK, CF_FULL_NOTHING (it is below the last
 * digit of A, and q below the smallest double), or CF_ENONFINITE: what passes stays finite. */
int cf_full_judge(const cf_full *self, const double *x, double c, double size);
/* All that goes with an update but the inverse, which is already new, and log(1 + c q), which the
 * caller keeps until the next renewal makes logdet anew: A, the counts, and what is due by them (a
 * probe, a renewal: only when updates + 1 reaches next_look). */
void cf_full_gather(cf_full *self, const cf_table *k, const double *x, double c, double *scratch);
/* The inverse anew from A, counted as a repair. Returns 0 where A does not allow it (not positive
 * definite in float64) or the form is robust; the inverse is then as it was. */
int cf_full_repair(cf_full *self, const cf_table *k, double *scratch);
/* A -= x x^T, after cf_full_propose gave v and q for this x (with any c), with nothing in between.
 * Nothing changes where q = 0, nor where q >= 1: A would not be positive definite any more. Loses
 * as many digits as 1 / (1 - q) has. Fast form only. */
void cf_full_drop(cf_full *self, const cf_table *k, const double *x, const double *v, double q,
                  double *scratch);
/* A *= 4^half, exactly; O(n^2). In the robust form no entry of D grows beyond a bound: of what has
 * been scaled down again and again nothing is left that a reading shows. */
void cf_full_scale(cf_full *self, const cf_table *k, int half);
/* The inverse anew from A; 0 where A does not allow it (the inverse is then as it was). */
int cf_full_renew(cf_full *self, const cf_table *k, double *scratch);
/* Another A: the lower triangle of a square, `ld` doubles a row, into what cf_full_init made.
 * CF_ENOTPOSITIVE or CF_ENONFINITE: it is none, and self is not to be used. O(n^3). */
int cf_full_place(cf_full *self, const cf_table *k, const double *a, ptrdiff_t ld,
                  double *scratch);
/* A += more I, more >= 0, and the inverse anew: O(n^3), in the robust form by n updates.
 * CF_ENONFINITE, CF_ENOTPOSITIVE: A and its inverse are as before. */
int cf_full_lift(cf_full *self, const cf_table *k, double more, double *scratch);
/* A number below all eigenvalues of A: half of 1 / trace(A^-1). O(n), in the robust form O(n^2). */
double cf_full_least(const cf_full *self, const cf_table *k);
/* From the fast form to the robust one. 0: A is not positive definite in float64, which takes more
 * than lost digits; nothing but health.failed changes. */
int cf_full_convert(cf_full *self, const cf_table *k, double *scratch);
/* `steepest` by the ridge alone: after A lost something, or ridge was set. */
void cf_full_steepen(cf_full *self);
/* y = A^-1 x; y has cf_pad(n) doubles. Reads only. */
void cf_full_solve(const cf_full *self, const cf_table *k, const double *x, double *scratch,
                   double *y);
/* x^T A^-1 x: half the work of a solve. Reads only. */
double cf_full_quad(const cf_full *self, const cf_table *k, const double *x, double *scratch);
/* v = A^-1 x and q with the bits that cf_full_propose gives; v has cf_pad(n) doubles, scratch two
 * times as many. Reads only. */
void cf_full_look(const cf_full *self, const cf_table *k, const double *x, double *scratch,
                  double *v, double *q);
/* The square matrices, both triangles, rows of n doubles. Read only. */
void cf_full_inverse(const cf_full *self, const cf_table *k, double *scratch, double *out);
void cf_full_matrix(const cf_full *self, const cf_table *k, double *scratch, double *out);
/* ||A B v - v|| / sqrt(n) for a fixed v of signs drawn from `seed`. Reads only. */
double cf_full_residual(const cf_full *self, const cf_table *k, uint64_t seed, double *scratch);

/* --- many rows: one reading of the stored triangle for CF_ABREAST of them, each with the bits of
 * cf_full_quad and cf_full_solve. Costs: cf_many.h. --- */

/* Rows of n doubles or (wide NULL) floats, `stride` of them apart; owned by the caller. */
typedef struct cf_full_rows {
    ptrdiff_t count, stride;
    const double *wide;
    const float *narrow;
} cf_full_rows;

ptrdiff_t cf_full_many_scratch(ptrdiff_t n); /* doubles on a CF_LINE */

/* q[t] = x_t^T A^-1 x_t / scale. Returns the first row whose q is not finite, count where all are.
 * Reads only. */
ptrdiff_t cf_full_quad_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                            double scale, double *q, double *scratch);
/* Row t of y (n doubles) = A^-1 x_t / scale; returns likewise. */
ptrdiff_t cf_full_solve_many(const cf_full *self, const cf_table *k, const cf_full_rows *x,
                             double scale, double *y, double *scratch);

/* `count` rows z of n standard normal numbers become rows from N(0, A^-1 / scale): L^-T z with
 * A = L L^T (O(n^3), then n^2 / 2 a row), in the robust form U D^(1/2) z. CF_ENOTPOSITIVE: A is
 * not, in float64; the rows are as they were. Reads only; scratch is cf_full_sample_scratch(n)
 * doubles on a CF_LINE. */
ptrdiff_t cf_full_sample_scratch(ptrdiff_t n);
int cf_full_sample(const cf_full *self, const cf_table *k, double scale, ptrdiff_t count, double *z,
                   double *scratch);

/* The factor of A that draws go by, kept from one draw to the next: that of the stored matrix, which
 * changes once in CF_BLOCK updates, with the rows of the block added one by one. So it is a function
 * of the metric alone, bit for bit, whenever it is made. For a metric, not robust, that nothing
 * changes but updates with c > 0 and renewals; after anything else `updates` is set to -1. */
typedef struct cf_full_factor {
    cf_cholesky l;    /* of the owner's memory */
    int64_t updates;  /* in the stored matrix when it was factored; -1: there is nothing yet */
    ptrdiff_t rows;   /* of the block that were added since */
} cf_full_factor;

/* One draw by it, which is brought up to A: n^2 for an update since the last draw, n^3 / 6 once in
 * CF_BLOCK of them, and n^2 / 2. As cf_full_sample otherwise; scratch is 3 cf_pad(n) doubles. */
int cf_full_draw(const cf_full *self, const cf_table *k, cf_full_factor *kept, double scale,
                 double *z, double *scratch);
