/* The library's other functions: those written over the kernels, compiled once.
 *
 * One extension module links this C library; the others (and a user's own Cython code) reach it
 * through this table and the kernel table, so that there is one copy and one choice of the
 * instruction set in a process.
 */
#pragma once
#include "cf_ball.h"
#include "cf_clicks.h"
#include "cf_diag.h"
#include "cf_faces.h"
#include "cf_feedback.h"
#include "cf_fleet.h"
#include "cf_full.h"
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

/* F(name): the function cf_name, with the arguments that its header gives it. New ones are added
 * at the end and nothing is moved, from ABI 3 on: see cf_table.h. */
#define CF_LIBRARY_FUNCTIONS(F)                                                                  \
    /* memory, statuses, the kernel tables */                                                    \
    F(alloc) F(alloc_zero) F(free) F(status_message) F(status_exception) F(table_for)            \
    F(table_names)                                                                               \
    /* projections and sets */                                                                   \
    F(ball_scratch) F(ball_project) F(faces_scratch) F(faces_guess) F(faces_project)             \
    F(ridge_ball) F(region_scratch) F(region_newton_scratch) F(region_project) F(region_newton)  \
    /* the full metric */                                                                        \
    F(full_size) F(full_scratch) F(full_init) F(full_attach) F(full_update) F(full_propose)      \
    F(full_accept) F(full_judge) F(full_gather) F(full_drop) F(full_scale) F(full_renew)         \
    F(full_repair) F(full_convert) F(full_steepen) F(full_solve) F(full_quad) F(full_look)       \
    F(full_inverse) F(full_matrix) F(full_residual)                                              \
    /* many rows of it, samples */                                                               \
    F(full_many_scratch) F(full_quad_many) F(full_solve_many) F(full_sample_scratch)             \
    F(full_sample) F(full_draw)                                                                  \
    /* steps on it, forgetting */                                                                \
    F(newton_scratch) F(newton_ball) F(newton_inverse) F(past_init) F(past_period)               \
    F(past_forget) F(past_decay) F(past_weights) F(past_update) F(past_place) F(past_logdet)     \
    /* the diagonal metric */                                                                    \
    F(diag_quad) F(diag_solve) F(diag_update) F(diag_mark) F(diag_forget) F(diag_entries)        \
    /* rankings and users */                                                                     \
    F(gain) F(feedback_alpha) F(feedback_depth) F(click_preferences)                             \
    /* losses, draws, places, an inverted index */                                               \
    F(loss_value) F(loss_slope) F(pcg64_next) F(normals) F(roll_size) F(roll_call)               \
    F(roll_strike) F(roll_below) F(roll_find) F(postings_lack) F(postings_add) F(postings_drop)  \
    /* readers */                                                                                \
    F(text_read_rows) F(text_read_ratings) F(text_scatter) F(text_scatter_f32) F(text_restride)  \
    F(log_read_json) F(log_read_text) F(log_read_lines) F(log_place_names) F(log_columns)        \
    /* fleets */                                                                                 \
    F(fleet_hash) F(fleet_text_hash) F(fleet_expect) F(fleet_fetch) F(fleet_find)                \
    F(fleet_has_slot) F(fleet_has_entry) F(fleet_get) F(fleet_copy) F(fleet_counts)              \
    F(fleet_take) F(fleet_create) F(fleet_is_kept) F(fleet_move) F(fleet_put) F(fleet_remove)    \
    F(fleet_tally) F(fleet_replay) F(fleet_retired) F(fleet_release) F(fleet_whole)              \
    F(fleet_seen_whole) F(fleet_enter) F(fleet_unsound) F(fleet_mend) F(fleet_fill)              \
    F(fleet_recount)

#define CF_FIELD(name) __typeof__(cf_##name) *name;
typedef struct cf_library {
    size_t size; /* sizeof(cf_library) and CF_ABI where the library was compiled */
    int abi;
    CF_LIBRARY_FUNCTIONS(CF_FIELD)
} cf_library;
#undef CF_FIELD

extern const cf_library cf_functions;
