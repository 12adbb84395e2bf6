/* Eight small ridge regressions side by side: class l in lane l of every vector.
 *
 * For small d: no sum across lanes is ever made, and one pass serves all eight. The inverses are
 * lower triangles, element (i, j), j <= i, in the eight doubles at b + 8 (i (i+1) / 2 + j); w and
 * v have d vectors. Memory begins on a CF_LINE. Cost: read d^2 + 2d vector fma, 32 d (d+1) bytes
 * read; update d^2 / 2, as many read and written.
 */
#pragma once
#include <stddef.h>

#define CF_OCTET_KERNELS(K)                                                                      \
    /* v_i = B_i x, q_i = x.v_i, m_i = w_i.x */                                                  \
    K(void, octet_read, (ptrdiff_t d, const double *b, const double *w, const double *x,         \
                          double *v, double *m, double *q))                                      \
    /* w_i += c_i v_i */                                                                         \
    K(void, octet_move, (ptrdiff_t d, const double *v, const double *c, double *w))              \
    /* the class of one lane: B -= (root v)(root v)^T; t is scratch of 8 d doubles on a line */  \
    K(void, octet_update, (ptrdiff_t d, const double *v, int lane, double root, double *b,       \
                            double *t))
