/* The library's other functions: those written over the kernels, compiled once.
 *
 * One extension module links this C library; the others (and a user's own Cython code) reach it
 * through this table and the kernel table, so that there is one copy and one choice of the
 * instruction set in a process.
 */
#ifndef CF_LIBRARY_H
#define CF_LIBRARY_H
#include "cf_ball.h"
#include "cf_clicks.h"
#include "cf_diag.h"
#include "cf_faces.h"
#include "cf_feedback.h"
#include "cf_fleet.h"
#include "cf_full.h"
#include "cf_full_many.h"
#include "cf_log.h"
#include "cf_loss.h"
#include "cf_newton.h"
#include "cf_normals.h"
#include "cf_past.h"
#include "cf_postings.h"
#include "cf_region.h"
#include "cf_ridge.h"
#include "cf_roll.h"
#include "cf_table.h"
#include "cf_text.h"

/* F(return type, name, (arguments)): a function under its own name without cf_. New ones are added
 * at the end and nothing is moved: see cf_table.h. */
#define CF_LIBRARY_FUNCTIONS(F)                                                                  \
    F(void *, alloc, (size_t count, size_t size))                                                \
    F(void *, alloc_zero, (size_t count, size_t size))                                           \
    F(void, free, (void *block))                                                                 \
    F(const char *, status_message, (int status))                                                \
    F(const char *, status_exception, (int status))                                              \
    F(const cf_table *, table_for, (const char *isa))                                            \
    F(const char *const *, table_names, (void))                                                  \
    F(ptrdiff_t, ball_steps, (ptrdiff_t n))                                                      \
    F(ptrdiff_t, ball_scratch, (ptrdiff_t n, int fallback))                                      \
    F(int, ball_project, (const cf_table *k, const cf_triangle *b, const double *z,              \
                          double radius, double *w, double *lam, double *scratch,                \
                          double *fallback_scratch, cf_ball_report *report))                     \
    F(ptrdiff_t, faces_scratch, (ptrdiff_t n))                                                   \
    F(void, faces_guess, (const cf_table *k, const cf_triangle *b, const cf_faces *set,          \
                          const double *z, signed char *state, double *scratch))                 \
    F(int, faces_project, (const cf_table *k, const cf_triangle *b, const cf_faces *set,         \
                           const double *z, double *w, signed char *state, double *scratch,      \
                           cf_faces_report *report))                                             \
    F(ptrdiff_t, full_size, (ptrdiff_t n))                                                       \
    F(ptrdiff_t, full_scratch, (ptrdiff_t n))                                                    \
    F(void, full_init, (cf_full * self, ptrdiff_t n, double ridge, int precision,                \
                        const cf_table *k, double *memory))                                      \
    F(void, full_attach, (cf_full * self, double *memory))                                       \
    F(int, full_update, (cf_full * self, const cf_table *k, const double *x, double c,           \
                         double *scratch, double *q))                                            \
    F(void, full_solve, (const cf_full *self, const cf_table *k, const double *x,                \
                         double *scratch, double *y))                                            \
    F(double, full_quad, (const cf_full *self, const cf_table *k, const double *x,               \
                          double *scratch))                                                      \
    F(void, full_inverse, (const cf_full *self, const cf_table *k, double *scratch, double *out)) \
    F(void, full_matrix, (const cf_full *self, const cf_table *k, double *scratch, double *out))  \
    F(double, full_residual, (const cf_full *self, const cf_table *k, uint64_t seed,             \
                              double *scratch))                                                  \
    F(ptrdiff_t, newton_scratch, (ptrdiff_t n))                                                  \
    F(int, newton_ball, (cf_full * self, const cf_table *k, const cf_newton *step,               \
                         const double *x, const double *w, double *w_new, double *lam,           \
                         double *scratch))                                                       \
    F(double, gain, (ptrdiff_t k, const double *value, const ptrdiff_t *ranking,                 \
                     const double *discount))                                                    \
    F(ptrdiff_t, feedback_alpha, (const cf_table *table, ptrdiff_t n, ptrdiff_t k,               \
                                  const double *utility, const double *key,                      \
                                  const ptrdiff_t *presented, const double *discount,            \
                                  double alpha, double best, ptrdiff_t *better))                 \
    F(void, feedback_depth, (ptrdiff_t n, ptrdiff_t k, ptrdiff_t depth, const double *label,     \
                             const ptrdiff_t *presented, ptrdiff_t *better))                     \
    F(int, text_read_rows, (cf_text * self, const cf_text_rules *rules, const char *text,        \
                            ptrdiff_t length))                                                   \
    F(int, text_read_ratings, (cf_text_ratings * self, const char *text, ptrdiff_t length))      \
    F(void, text_scatter, (const cf_text *self, ptrdiff_t stride, double *rows))                 \
    F(void, text_scatter_f32, (const cf_text *self, ptrdiff_t stride, float *rows))              \
    F(void, text_restride, (ptrdiff_t rows, ptrdiff_t from, ptrdiff_t to, ptrdiff_t skip,        \
                            char *data))                                                         \
    F(int, full_propose, (cf_full * self, const cf_table *k, const double *x, double c,          \
                          double *scratch, double *v, double *q))                                \
    F(void, full_accept, (cf_full * self, const cf_table *k, const double *x, double c,          \
                          const double *v, double q, double *scratch))                           \
    F(int, faces_project_less, (const cf_table *k, const cf_triangle *b, const double *term,     \
                                const cf_faces *set, const double *z, double *w,                 \
                                signed char *state, double *scratch, cf_faces_report *report))   \
    F(ptrdiff_t, region_scratch, (ptrdiff_t n))                                                  \
    F(ptrdiff_t, region_newton_scratch, (ptrdiff_t n))                                           \
    F(int, region_project, (const cf_region *set, const cf_table *k, const double *z, double *w, \
                            double *scratch))                                                    \
    F(int, region_newton, (const cf_region *set, cf_full *self, const cf_table *k, double gain,  \
                           const double *x, const double *w, double *w_new, double *lam,         \
                           signed char *face, double *scratch))                                  \
    F(double, loss_value, (const cf_table *k, int kind, double m, double y))                     \
    F(double, loss_slope, (const cf_table *k, int kind, double m, double y))                     \
    F(uint64_t, pcg64_next, (cf_pcg64 * bits))                                                   \
    F(ptrdiff_t, normals, (cf_pcg64 * bits, const cf_ziggurat *t, ptrdiff_t n, double *x,        \
                           uint64_t *edge))                                                      \
    F(void, full_drop, (cf_full * self, const cf_table *k, const double *x, const double *v,     \
                        double q, double *scratch))                                              \
    F(void, full_scale, (cf_full * self, const cf_table *k, int half))                           \
    F(int, full_renew, (cf_full * self, const cf_table *k, double *scratch))                     \
    F(int, ridge_ball, (const cf_table *k, ptrdiff_t n, const double *a, const double *z,        \
                        double radius, double *w))                                               \
    F(ptrdiff_t, postings_lack, (const cf_postings *self, ptrdiff_t nnz, const int64_t *index))  \
    F(void, postings_add, (cf_postings * self, ptrdiff_t nnz, const int64_t *index,              \
                           const double *value))                                                 \
    F(void, postings_drop, (cf_postings * self, ptrdiff_t nnz, const int64_t *index))            \
    F(int, full_judge, (const cf_full *self, const double *x, double c, double size))            \
    F(void, full_gather, (cf_full * self, const cf_table *k, const double *x, double c,          \
                          double *scratch))                                                      \
    F(int, full_repair, (cf_full * self, const cf_table *k, double *scratch))                    \
    F(void, full_look, (const cf_full *self, const cf_table *k, const double *x,                 \
                        double *scratch, double *v, double *q))                                  \
    F(ptrdiff_t, roll_size, (ptrdiff_t n))                                                       \
    F(void, roll_call, (cf_roll * self, ptrdiff_t n, uint64_t *memory))                          \
    F(void, roll_strike, (cf_roll * self, ptrdiff_t p))                                          \
    F(ptrdiff_t, roll_below, (const cf_roll *self, ptrdiff_t p))                                 \
    F(ptrdiff_t, roll_find, (const cf_roll *self, ptrdiff_t m))                                  \
    F(int, full_lift, (cf_full * self, const cf_table *k, double more, double *scratch))         \
    F(double, full_least, (const cf_full *self, const cf_table *k))                              \
    F(ptrdiff_t, full_many_scratch, (ptrdiff_t n))                                               \
    F(ptrdiff_t, full_quad_many, (const cf_full *self, const cf_table *k, const cf_full_rows *x, \
                                  double scale, double *q, double *scratch))                     \
    F(ptrdiff_t, full_solve_many, (const cf_full *self, const cf_table *k,                       \
                                   const cf_full_rows *x, double scale, double *y,               \
                                   double *scratch))                                             \
    F(ptrdiff_t, full_sample_scratch, (ptrdiff_t n))                                             \
    F(int, full_sample, (const cf_full *self, const cf_table *k, double scale, ptrdiff_t count,  \
                         double *z, double *scratch))                                            \
    F(void, past_init, (cf_past * self, double ridge))                                           \
    F(int64_t, past_period, (const cf_table *k, ptrdiff_t n, double f))                          \
    F(int, past_renews, (const cf_past *self, const cf_table *k, ptrdiff_t n, double f))         \
    F(int, past_forget, (cf_past * self, cf_full *full, const cf_table *k, double f,             \
                         double *scratch, double *added))                                        \
    F(int, past_decay, (cf_past * self, cf_full *full, const cf_table *k, double f,              \
                        double *scratch, double *added))                                         \
    F(void, past_weights, (const cf_past *self, const cf_full *full, const cf_table *k,          \
                           double added, double *w, double *scratch))                            \
    F(int, past_update, (cf_past * self, cf_full *full, const cf_table *k, const double *x,      \
                         double c, double *scratch, double *q))                                  \
    F(int, past_place, (cf_past * self, cf_full *full, const cf_table *k, const double *a,       \
                        ptrdiff_t ld, double ridge, double *scratch))                            \
    F(double, past_logdet, (const cf_past *self, const cf_full *full, const cf_table *k))        \
    F(double, diag_quad, (const cf_diag *self, const cf_table *k, const cf_row *x,               \
                          double *scratch))                                                      \
    F(void, diag_solve, (const cf_diag *self, const cf_table *k, const cf_row *x, double *y,     \
                         double *scratch))                                                       \
    F(int, diag_update, (cf_diag * self, const cf_table *k, const cf_row *x, double c,           \
                         double *scratch, double *q))                                            \
    F(void, diag_mark, (cf_diag * self, double *mark))                                           \
    F(void, diag_forget, (cf_diag * self, double f))                                             \
    F(void, diag_entries, (const cf_diag *self, double *out))                                    \
    F(ptrdiff_t, click_preferences, (const cf_table *k, ptrdiff_t n, ptrdiff_t drawn,            \
                                     const double *score, const ptrdiff_t *ranking, ptrdiff_t m, \
                                     const ptrdiff_t *clicked, double *weight, double *scratch)) \
    F(int, log_read_json, (cf_log * self, const cf_log_rules *rules, const char *text,           \
                           ptrdiff_t length))                                                    \
    F(int, log_read_text, (cf_log * self, const cf_log_rules *rules, const char *text,           \
                           ptrdiff_t length))                                                    \
    F(void, log_place_names, (cf_log_names * self))                                              \
    F(uint64_t, log_hash, (const char *bytes, ptrdiff_t length, uint64_t seed))                  \
    F(void, log_columns, (const cf_log_names *self, ptrdiff_t begin, int bits, int chain,        \
                          int64_t *column))                                                      \
    F(int, full_draw, (const cf_full *self, const cf_table *k, cf_full_factor *kept,             \
                       double scale, double *z, double *scratch))                                \
    F(uint64_t, fleet_sum, (const uint64_t *words, int64_t n))                                   \
    F(uint64_t, fleet_hash, (uint64_t key))                                                      \
    F(uint64_t, fleet_text_hash, (const char *text))                                             \
    F(void, fleet_expect, (const cf_fleet *self, uint64_t hash))                                 \
    F(void, fleet_fetch, (const cf_fleet *self, uint64_t hash))                                  \
    F(int64_t, fleet_find, (const cf_fleet *self, uint64_t key, const char *text, uint64_t *at)) \
    F(int, fleet_has_slot, (const cf_fleet *self))                                               \
    F(int, fleet_has_entry, (const cf_fleet *self))                                              \
    F(int64_t, fleet_get, (const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)) \
    F(int, fleet_copy, (const cf_fleet *self, int64_t slot, uint64_t *out))                      \
    F(uint64_t *, fleet_take, (const cf_fleet *self, int64_t area, int64_t slot, int64_t block)) \
    F(uint64_t *, fleet_create, (const cf_fleet *self, int64_t area, uint64_t key,               \
                                const char *text, uint64_t at))                                  \
    F(void, fleet_put, (const cf_fleet *self, int64_t area))                                     \
    F(void, fleet_remove, (const cf_fleet *self, int64_t slot, uint64_t at))                     \
    F(int, fleet_is_kept, (const cf_fleet *self, int64_t slot))                                  \
    F(uint64_t *, fleet_move, (const cf_fleet *self, int64_t area, int64_t slot, uint64_t at))   \
    F(int64_t, fleet_retired, (const cf_fleet *self, int64_t i, uint64_t epoch))                 \
    F(void, fleet_release, (const cf_fleet *self, int64_t i))                                    \
    F(int64_t, fleet_replay, (const cf_fleet *self))                                             \
    F(int, fleet_whole, (const cf_fleet *self, const uint64_t *record))                          \
    F(void, fleet_enter, (const cf_fleet *self, uint64_t *index, uint64_t entries,               \
                          int64_t slot))                                                         \
    F(int, fleet_seen_whole, (const cf_fleet *self, uint8_t *seen, int64_t slot))                \
    F(int, log_read_lines, (cf_log * self, const cf_log_heads *heads, int bare,                  \
                            const char *text, ptrdiff_t length))                                 \
    F(int, full_convert, (cf_full * self, const cf_table *k, double *scratch))                   \
    F(void, full_steepen, (cf_full * self))                                                      \
    F(int, newton_inverse, (cf_full * self, const cf_table *k, const double *x, double c,        \
                            double *scratch))                                                    \
    F(int, fleet_counts, (const cf_fleet *self, uint64_t *out))                                  \
    F(void, fleet_tally, (const cf_fleet *self, int which, uint64_t value))                      \
    F(int64_t, fleet_unsound, (const cf_fleet *self))                                            \
    F(int, fleet_mend, (const cf_fleet *self, uint64_t *record))                                 \
    F(int64_t, fleet_fill, (const cf_fleet *self, uint64_t *index, uint64_t entries,             \
                            int64_t used, const uint8_t *listed))                                \
    F(int, fleet_recount, (const cf_fleet *self, uint8_t *named))

#define CF_FIELD(type, name, arguments) type(*name) arguments;
typedef struct cf_library {
    size_t size; /* sizeof(cf_library) and CF_ABI where the library was compiled */
    int abi;
    CF_LIBRARY_FUNCTIONS(CF_FIELD)
} cf_library;
#undef CF_FIELD

extern const cf_library cf_functions;

#endif
