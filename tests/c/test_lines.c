/* K classes side by side: readings, steps, labels; dense rows and both kinds of sparse ones. */
#include "cf_reference.h"

/* Weights and second values; whatever is between them stays NaN. `close`: no gap in a feature. */
static cf_lines take_lines(ptrdiff_t n, ptrdiff_t classes, int close)
{
    cf_lines t = {NULL, 0, close ? classes : cf_pad(classes), classes};
    t.stride = cf_pad(t.second + classes);
    t.data = take_line(n * t.stride + 8);
    for (ptrdiff_t f = 0; f < n; f++)
        for (ptrdiff_t i = 0; i < classes; i++) {
            t.data[f * t.stride + i] = random_normal();
            t.data[f * t.stride + t.second + i] = 0.05 + random_unit();
        }
    return t;
}

static ptrdiff_t span_of(const cf_lines *t, ptrdiff_t n) { return n * t->stride + 8; }

static cf_lines copy_of(const cf_lines *t, ptrdiff_t n)
{
    cf_lines copy = *t;
    copy.data = take_line(span_of(t, n));
    memcpy(copy.data, t->data, (size_t)span_of(t, n) * sizeof *copy.data);
    return copy;
}

/* The same row dense, with places of 32 bits and with places of 64. */
typedef struct row_forms {
    cf_row form[3];
} row_forms;

static row_forms take_forms(ptrdiff_t n, double share)
{
    double *x = take_doubles(n), *value = take_doubles(n);
    int32_t *i32 = take_bytes((size_t)(n + 1) * sizeof *i32, 0, 0);
    int64_t *i64 = take_bytes((size_t)(n + 1) * sizeof *i64, 0, 0);
    ptrdiff_t nnz = 0;
    for (ptrdiff_t f = 0; f < n; f++) {
        x[f] = random_unit() < share ? random_normal() : 0.0;
        if (x[f] != 0.0) {
            value[nnz] = x[f];
            i32[nnz] = (int32_t)f;
            i64[nnz++] = f;
        }
    }
    return (row_forms){{{n, n, x, NULL, NULL},
                        {n, nnz, value, i32, NULL},
                        {n, nnz, value, NULL, i64}}};
}

static double *line(const cf_lines *t, ptrdiff_t f) { return t->data + f * t->stride; }

/* --- reading ---------------------------------------------------------------------------------- */

static void check_sums(const cf_lines *t, const cf_row *x, const double *m, const double *q,
                       const double *counted)
{
    for (ptrdiff_t i = 0; i < t->k; i++) {
        wide a = 0.0L, b = 0.0L, c = 0.0L;
        double size = 0.0, sizes = 0.0;
        for (ptrdiff_t f = 0; f < x->n; f++) {
            const wide w = line(t, f)[i], s = line(t, f)[t->second + i], v = x->value[f];
            a += w * v;
            b += s * v * v;
            c += w * v / (s + v * v);
            size += (double)fabsl(w * v);
            sizes += (double)fabsl(w * v / (s + v * v));
        }
        const double error = DBL_EPSILON * ((double)x->n + 4.0);
        CHECK_CLOSE(m[i], a, error * size);
        CHECK_CLOSE(q[i], b, error * (double)b);
        CHECK_CLOSE(counted[i], c, error * sizes);
    }
}

TEST_TABLES(readings_of_every_form)
{
    for (ptrdiff_t classes = 0; classes <= check_count(70, 20); classes++)
        for (int form = 0; form < 4; form++) {
            const ptrdiff_t n = classes % 26 + form * 3, padded = cf_pad(classes);
            CONTEXT("%s k=%td n=%td form=%d", k->isa, classes, n, form);
            const cf_lines t = take_lines(n, classes, form % 2);
            const double *before = TAKE_COPY(t.data, span_of(&t, n));
            const row_forms rows = take_forms(n, form < 2 ? 1.1 : 0.6);
            double *m[3], *q[3], *alone[3], *counted[3];
            for (int r = 0; r < 3; r++) {
                const cf_row *x = &rows.form[r];
                m[r] = take_doubles(padded);
                q[r] = take_doubles(padded);
                alone[r] = take_doubles(padded);
                counted[r] = take_doubles(padded);
                k->lines_read(&t, x, r ? &rows.form[3 - r] : NULL, m[r], q[r]);
                k->lines_scores(&t, x, NULL, alone[r]);
                k->lines_counted(&t, x, NULL, counted[r]);
                CHECK_BITS(alone[r], m[r], padded);
                CHECK_BITS(m[r], m[0], padded);
                CHECK_BITS(q[r], q[0], padded);
                CHECK_BITS(counted[r], counted[0], padded);
                for (ptrdiff_t i = 0; i < classes; i++) {
                    double one[2] = {NAN, NAN};
                    k->lines_read_one(&t, x, i, &one[0], &one[1]);
                    CHECK_CLOSE(one[0], m[0][i], 0.0);
                    CHECK_CLOSE(one[1], q[0][i], 0.0);
                }
            }
            for (ptrdiff_t i = classes; i < padded; i++)
                CHECK(m[0][i] == 0.0 && q[0][i] == 0.0 && counted[0][i] == 0.0);
            check_sums(&t, &rows.form[0], m[0], q[0], counted[0]);
            CHECK_BITS(t.data, before, span_of(&t, n));
            AGREE(k, m[0], padded);
            AGREE(k, q[0], padded);
            AGREE(k, counted[0], padded);
            release();
        }
}

/* --- changing --------------------------------------------------------------------------------- */

/* |t - expected| of the class's pair at feature f, and all else as in `before` */
static void check_pair(const cf_lines *t, ptrdiff_t f, ptrdiff_t i, wide w, wide d, double size)
{
    CHECK_CLOSE(line(t, f)[i], w, 8 * DBL_EPSILON * ((double)fabsl(w) + size));
    CHECK_CLOSE(line(t, f)[t->second + i], d, 8 * DBL_EPSILON * (double)fabsl(d) + 1e-17);
}

/* 1 where only the pairs of the classes a and b (-1: none) differ from `before`. */
static int others_untouched(const cf_lines *t, const cf_lines *before, ptrdiff_t n, ptrdiff_t a,
                            ptrdiff_t b)
{
    for (ptrdiff_t f = 0; f < n; f++)
        for (ptrdiff_t j = 0; j < t->stride; j++) {
            const int ours = j == a || j == b || (a >= 0 && j == t->second + a) ||
                             (b >= 0 && j == t->second + b);
            if (!ours && memcmp(line(t, f) + j, line(before, f) + j, sizeof(double)) != 0)
                return 0;
        }
    return memcmp(t->data + n * t->stride, before->data + n * t->stride, 64) == 0;
}

TEST_TABLES(moving_all_classes)
{
    for (ptrdiff_t classes = 0; classes <= check_count(70, 20); classes++)
        for (int close = 0; close < 2; close++) {
            const ptrdiff_t n = classes % 21;
            CONTEXT("%s k=%td n=%td close=%d", k->isa, classes, n, close);
            const cf_lines t = take_lines(n, classes, close);
            const row_forms rows = take_forms(n, 0.7);
            double *c = take_padded(classes);
            fill_normal(c, classes);
            cf_lines moved[3];
            for (int r = 0; r < 3; r++) {
                moved[r] = copy_of(&t, n);
                k->lines_move(&moved[r], &rows.form[r], c, -1, 0.0, 0);
                CHECK_BITS(moved[r].data, moved[0].data, span_of(&t, n));
            }
            for (ptrdiff_t f = 0; f < n; f++) {
                for (ptrdiff_t i = 0; i < classes; i++) {
                    const wide d = line(&t, f)[t.second + i];
                    const wide by = (wide)c[i] * d * rows.form[0].value[f];
                    check_pair(&moved[0], f, i, line(&t, f)[i] + by, d, (double)fabsl(by));
                    CHECK_CLOSE(line(&moved[0], f)[t.second + i], d, 0.0);
                }
                for (ptrdiff_t j = classes; j < t.second; j++) /* the gap */
                    CHECK_BITS(line(&moved[0], f) + j, line(&t, f) + j, 1);
                CHECK_BITS(line(&moved[0], f) + t.second, line(&t, f) + t.second,
                           t.stride - t.second);
            }
            AGREE(k, moved[0].data, span_of(&t, n));
            release();
        }
}

TEST_TABLES(a_move_with_a_step_is_two_calls)
{
    for (ptrdiff_t classes = 1; classes <= check_count(70, 20); classes++)
        for (int mode = 0; mode < 3; mode++) {
            const ptrdiff_t n = classes % 21, i = random_below(classes);
            const double s = random_normal();
            CONTEXT("%s k=%td n=%td i=%td mode=%d", k->isa, classes, n, i, mode);
            const cf_lines t = take_lines(n, classes, mode % 2);
            const row_forms rows = take_forms(n, 0.8);
            double *c = take_padded(classes);
            fill_normal(c, classes);
            for (int r = 0; r < 3; r++) {
                const cf_lines one = copy_of(&t, n), two = copy_of(&t, n);
                k->lines_move(&one, &rows.form[r], c, i, s, mode);
                k->lines_move(&two, &rows.form[r], c, -1, 0.0, 0);
                k->lines_step(&two, &rows.form[r], i, s, mode);
                CHECK_BITS(one.data, two.data, span_of(&t, n));
            }
            release();
        }
}

TEST_TABLES(a_step_of_one_class)
{
    for (ptrdiff_t n = 0; n <= 20; n++)
        for (int form = 0; form < 12; form++) {
            const int mode = form % 3;
            const ptrdiff_t classes = 1 + (n + 5 * form) % 19, i = random_below(classes);
            const double s = random_normal();
            CONTEXT("%s n=%td k=%td i=%td mode=%d", k->isa, n, classes, i, mode);
            const cf_lines t = take_lines(n, classes, form % 2);
            const row_forms rows = take_forms(n, form < 6 ? 1.1 : 0.6);
            cf_lines after[3];
            for (int r = 0; r < 3; r++) {
                after[r] = copy_of(&t, n);
                k->lines_step(&after[r], &rows.form[r], i, s, mode);
                CHECK_BITS(after[r].data, after[0].data, span_of(&t, n));
            }
            CHECK(others_untouched(&after[0], &t, n, i, -1));
            for (ptrdiff_t f = 0; f < n; f++) {
                const wide v = rows.form[0].value[f], d = line(&t, f)[t.second + i];
                const wide rest = 1.0L + d * v * v, old = line(&t, f)[i], by = s * d * v;
                const wide w = mode == CF_STEP_VARIANCE   ? old
                               : mode == CF_STEP_RESIDUAL ? old + by
                                                          : (old + by) / rest;
                check_pair(&after[0], f, i, w, d / rest, (double)(fabsl(old) + fabsl(by)));
            }
            AGREE(k, after[0].data, span_of(&t, n));
            release();
        }
}

TEST_TABLES(adding_to_one_class_or_two)
{
    for (ptrdiff_t n = 0; n <= 20; n++)
        for (int form = 0; form < 8; form++) {
            const int count = form % 2, two = form / 2 % 2;
            const ptrdiff_t classes = 2 + (n + 3 * form) % 12, first = random_below(classes);
            const cf_change c = {first, two ? (first + 1) % classes : -1, random_normal(), -2.5};
            CONTEXT("%s n=%td k=%td count=%d two=%d", k->isa, n, classes, count, two);
            const cf_lines t = take_lines(n, classes, form / 4);
            const row_forms rows = take_forms(n, 0.7);
            cf_lines after[3];
            for (int r = 0; r < 3; r++) {
                after[r] = copy_of(&t, n);
                CHECK_INT(k->lines_add(&after[r], &rows.form[r], &c, count), CF_OK);
                CHECK_BITS(after[r].data, after[0].data, span_of(&t, n));
            }
            CHECK(others_untouched(&after[0], &t, n, c.first_class, c.second_class));
            for (ptrdiff_t f = 0; f < n; f++)
                for (int turn = 0; turn <= two; turn++) {
                    const ptrdiff_t i = turn ? c.second_class : c.first_class;
                    const wide v = rows.form[0].value[f], old = line(&t, f)[i];
                    const wide by = (turn ? c.second_step : c.first_step) * v;
                    const wide d = line(&t, f)[t.second + i] + (count ? v * v : 0.0L);
                    check_pair(&after[0], f, i, old + by, d, (double)fabsl(old));
                }
            AGREE(k, after[0].data, span_of(&t, n));
            release();
        }
}

TEST_TABLES(shrinking_one_class_or_two)
{
    for (ptrdiff_t n = 0; n <= 20; n++)
        for (int form = 0; form < 8; form++) {
            const ptrdiff_t classes = 2 + (n + 3 * form) % 12, first = random_below(classes);
            const int two = form < 4;
            const cf_change c = {first, two ? (first + 1) % classes : -1, random_normal(), -2.5};
            const double beta = 0.02;
            CONTEXT("%s n=%td k=%td form=%d", k->isa, n, classes, form);
            const cf_lines t = take_lines(n, classes, form % 2);
            const row_forms rows = take_forms(n, 0.7);
            cf_lines after[3];
            for (int r = 0; r < 3; r++) {
                after[r] = copy_of(&t, n);
                CHECK_INT(k->lines_shrink(&after[r], &rows.form[r], &c, beta), CF_OK);
                CHECK_BITS(after[r].data, after[0].data, span_of(&t, n));
            }
            CHECK(others_untouched(&after[0], &t, n, c.first_class, c.second_class));
            for (ptrdiff_t f = 0; f < n; f++)
                for (int turn = 0; turn <= two; turn++) {
                    const ptrdiff_t i = turn ? c.second_class : c.first_class;
                    const wide d = line(&t, f)[t.second + i], dx = d * rows.form[0].value[f];
                    const wide old = line(&t, f)[i];
                    const wide by = (turn ? c.second_step : c.first_step) * dx;
                    check_pair(&after[0], f, i, old + by, d - beta * dx * dx, (double)fabsl(old));
                    CHECK(line(&after[0], f)[t.second + i] > 0.0);
                }
            AGREE(k, after[0].data, span_of(&t, n));
            release();
        }
}

/* What leaves the range, at any entry and in either class, changes no byte. */
TEST_TABLES(refused_changes_leave_every_byte)
{
    const ptrdiff_t classes = 5;
    for (ptrdiff_t n = 1; n <= 12; n++)
        for (ptrdiff_t bad = 0; bad < n; bad++)
            for (int turn = 0; turn < 2; turn++) {
                CONTEXT("%s n=%td bad=%td turn=%d", k->isa, n, bad, turn);
                const cf_change c = {3, 1, 1.5, 2.0};
                const ptrdiff_t i = turn ? c.second_class : c.first_class;
                const cf_lines t = take_lines(n, classes, turn);
                const row_forms rows = take_forms(n, 1.1);
                double *x = (double *)(uintptr_t)rows.form[0].value;
                x[bad] = 2.0;
                double *w = line(&t, bad) + i, *d = w + t.second, old = *w;
                *w = DBL_MAX; /* twice a quarter more is infinite */
                const cf_change far = {3, 1, DBL_MAX / 4, DBL_MAX / 4};
                const double *before = TAKE_COPY(t.data, span_of(&t, n));
                CHECK_INT(k->lines_add(&t, &rows.form[0], &far, 0), CF_ENONFINITE);
                CHECK_BITS(t.data, before, span_of(&t, n));
                *d = 1.0;
                before = TAKE_COPY(t.data, span_of(&t, n));
                CHECK_INT(k->lines_shrink(&t, &rows.form[0], &far, 0.0), CF_ENONFINITE);
                CHECK_BITS(t.data, before, span_of(&t, n));
                *w = old;
                before = TAKE_COPY(t.data, span_of(&t, n));
                CHECK_INT(k->lines_shrink(&t, &rows.form[0], &c, 0.25), CF_EVALUE); /* d = 0 */
                CHECK_BITS(t.data, before, span_of(&t, n));
                *d = DBL_MAX;
                x[bad] = 1e160;
                before = TAKE_COPY(t.data, span_of(&t, n));
                CHECK_INT(k->lines_add(&t, &rows.form[0], &c, 1), CF_ENONFINITE); /* the count */
                CHECK_BITS(t.data, before, span_of(&t, n));
                CHECK_INT(k->lines_add(&t, &rows.form[0], &c, 0), CF_OK);
                release();
            }
}

/* --- labels ----------------------------------------------------------------------------------- */

TEST_TABLES(the_first_of_the_largest)
{
    for (ptrdiff_t classes = 1; classes <= 40; classes++)
        for (int form = 0; form < 20; form++) {
            const double f = form % 3 ? random_unit() : 0.0;
            double *m = take_padded(classes), *q = take_padded(classes);
            ptrdiff_t best = 0, bold = 0;
            CONTEXT("%s k=%td form=%d", k->isa, classes, form);
            for (ptrdiff_t i = 0; i < classes; i++) {
                m[i] = form % 2 ? (double)random_below(3) - 5.0 : random_normal();
                q[i] = form % 4 < 2 ? random_unit() : 0.25 * (double)random_below(3);
                best = m[i] > m[best] ? i : best;
                bold = m[i] + sqrt(f * q[i]) > m[bold] + sqrt(f * q[bold]) ? i : bold;
            }
            CHECK_INT(k->best_label(classes, m), best);
            CHECK_INT(k->bold_label(classes, m, q, f), bold);
            release();
        }
}

TEST_TABLES(labels_of_the_lowest_and_of_none)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    for (ptrdiff_t classes = 1; classes <= 20; classes++)
        for (ptrdiff_t i = 0; i < classes; i++) {
            double *m = take_padded(classes), *q = take_padded(classes);
            CONTEXT("%s k=%td i=%td", k->isa, classes, i);
            for (ptrdiff_t j = 0; j < classes; j++)
                m[j] = -DBL_MAX;
            CHECK_INT(k->best_label(classes, m), 0);
            m[i] = -1.0;
            CHECK_INT(k->best_label(classes, m), i);
            q[i] = 0x1p1000;
            CHECK_INT(k->bold_label(classes, m, q, 1.0), i);
            CHECK_INT(k->bold_label(classes, m, q, 0x1p100), -1); /* the product is infinite */
            for (int b = 0; b < 3; b++) {
                m[i] = bad[b];
                q[i] = 0.0;
                CHECK_INT(k->best_label(classes, m), -1);
                CHECK_INT(k->bold_label(classes, m, q, 1.0), -1);
            }
            m[i] = 0.0;
            q[i] = NAN;
            CHECK_INT(k->bold_label(classes, m, q, 1.0), -1);
            release();
        }
}

/* --- the projection of the scores ------------------------------------------------------------- */

/* v = max(0, z + lam q): c = lam where v > 0, and not less where v = 0. */
TEST_TABLES(projected_labels_have_one_multiplier)
{
    for (ptrdiff_t classes = 1; classes <= check_count(100, 20); classes++)
        for (int form = 0; form < 6; form++) {
            const ptrdiff_t padded = cf_pad(classes);
            const double alpha = form % 2 ? 2.0 * random_unit() : 0.0;
            CONTEXT("%s k=%td form=%d", k->isa, classes, form);
            double *m = take_padded(classes), *q = take_padded(classes), *c = take_line(padded);
            double *scratch = take_doubles(2 * padded + cf_scores_scratch(classes));
            for (ptrdiff_t i = 0; i < classes; i++) {
                m[i] = (form < 3 ? 0.1 : 2.0) * random_normal();
                q[i] = 0.05 + random_unit();
            }
            const double *before = TAKE_COPY(m, classes);
            CHECK_INT(k->project_labels(classes, m, q, alpha, c, scratch), CF_OK);
            wide sum = 0.0L;
            double lam = INFINITY, size = 1.0 + alpha;
            for (ptrdiff_t i = 0; i < classes; i++) {
                lam = fmin(lam, c[i]);
                sum += (wide)m[i] + alpha;
                size += fabs(before[i]) + alpha;
            }
            CHECK_CLOSE(sum, 1.0 + alpha, 4 * DBL_EPSILON * size);
            for (ptrdiff_t i = 0; i < classes; i++) {
                const wide v = (wide)m[i] + alpha, step = ((wide)m[i] - before[i]) / q[i];
                CHECK(v >= -DBL_EPSILON * (1.0 + alpha));
                CHECK_CLOSE(c[i], step, 8 * DBL_EPSILON * size / q[i]);
                if (v > 1e-12)
                    CHECK_CLOSE(c[i], lam, 1e-12);
            }
            for (ptrdiff_t i = classes; i < padded; i++)
                CHECK(m[i] == 0.0 && c[i] == 0.0);
            AGREE(k, m, padded);
            AGREE(k, c, padded);
            release();
        }
}

TEST_TABLES(labels_that_have_no_projection)
{
    double *m = take_padded(3), *q = take_padded(3), *c = take_line(8);
    double *scratch = take_doubles(16 + cf_scores_scratch(3));
    m[1] = 1.0;
    m[2] = -1.0;
    q[0] = q[1] = 1.0;
    CHECK_INT(k->project_labels(3, m, q, 0.5, c, scratch), CF_EVALUE); /* q = 0 */
    CHECK(m[0] == 0.0 && m[1] == 1.0 && m[2] == -1.0);
    q[2] = 1.0;
    m[0] = NAN;
    CHECK_INT(k->project_labels(3, m, q, 0.5, c, scratch), CF_ENONFINITE);
    CHECK(isnan(m[0]) && m[1] == 1.0 && m[2] == -1.0);
    m[0] = 0.0;
    q[2] = 1e-320; /* 1 / q is infinite */
    CHECK_INT(k->project_labels(3, m, q, 0.0, c, scratch), CF_EVALUE);
    CHECK(m[0] == 0.0 && m[1] == 1.0 && m[2] == -1.0);
}

CHECK_MAIN
