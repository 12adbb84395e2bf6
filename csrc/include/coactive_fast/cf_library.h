/* The library's other functions: those written over the kernels, compiled once.
 *
 * One extension module links this C library; the others (and a user's own Cython code) reach it
 * through this table and the kernel table, so that there is one copy and one choice of the
 * instruction set in a process.
 */
#ifndef CF_LIBRARY_H
#define CF_LIBRARY_H
#include "cf_ball.h"
#include "cf_faces.h"
#include "cf_full.h"
#include "cf_table.h"

/* F(function): listed under its own name without cf_ */
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
    F(void, full_init, (cf_full * self, ptrdiff_t n, double ridge, int robust,                   \
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
                              double *scratch))

#define CF_FIELD(type, name, arguments) type(*name) arguments;
typedef struct cf_library {
    CF_LIBRARY_FUNCTIONS(CF_FIELD)
} cf_library;
#undef CF_FIELD

extern const cf_library cf_functions;

#endif
