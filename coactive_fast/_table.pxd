# The function tables of the C library (csrc/include/coactive_fast): kernels compiled once per
# instruction set, and the functions over them. Plain C types only; names are added, never changed.

from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t

cdef extern from "coactive_fast/cf_library.h" nogil:
    ctypedef enum cf_status:
        CF_OK
        CF_ENOMEM
        CF_ESIZE
        CF_ENONFINITE
        CF_ENAN
        CF_ENOTPOSITIVE
        CF_EVALUE
        CF_ENOCONVERGE
        CF_EUNSUPPORTED
        CF_EINDEX

    ctypedef struct cf_triangle:
        double *data
        ptrdiff_t n
        ptrdiff_t ld

    ctypedef struct cf_cholesky:
        double *data
        double *inv
        ptrdiff_t n

    ctypedef struct cf_candidate:
        double score
        ptrdiff_t index

    ctypedef enum cf_faces_kind:
        CF_SIMPLEX
        CF_BOX
        CF_L1

    ctypedef struct cf_faces:
        cf_faces_kind kind
        double total
        const double *lower
        const double *upper

    ctypedef struct cf_roll:
        ptrdiff_t n
        ptrdiff_t left
        uint64_t *word
        uint64_t *run

    ctypedef struct cf_ball_report:
        ptrdiff_t products
        int fallback

    ctypedef struct cf_faces_report:
        ptrdiff_t faces
        ptrdiff_t steps

    ctypedef struct cf_full_health:
        int64_t updates
        int64_t probes
        int64_t renewals
        int64_t repairs
        int64_t failed
        double last_residual
        double worst_residual

    ctypedef struct cf_full:
        ptrdiff_t n
        double ridge
        int robust
        cf_triangle b
        cf_triangle a
        float *low
        double *w
        double *block
        double *weight
        ptrdiff_t pending
        double logdet
        int64_t next_look
        int64_t next_probe
        int64_t next_renewal
        int64_t last_renewal
        cf_full_health health

    ctypedef struct cf_newton:
        double c
        double gain
        double radius
        double limit

    ctypedef enum cf_region_kind:
        CF_REGION_BALL
        CF_REGION_SIMPLEX
        CF_REGION_BOX
        CF_REGION_L1

    ctypedef struct cf_region:
        ptrdiff_t n
        cf_region_kind kind
        double total
        double floor
        const double *lower
        const double *upper

    enum:
        CF_LOSS_SQUARED
        CF_LOSS_LOGISTIC
        CF_LOSS_RETURN

    ctypedef struct cf_ziggurat:
        double width[256]
        uint64_t inside[256]

    ctypedef struct cf_pcg64:
        uint64_t high, low
        uint64_t step_high, step_low

    ctypedef struct cf_posting:
        double value
        int64_t row

    ctypedef struct cf_posting_list:
        ptrdiff_t at
        ptrdiff_t first
        ptrdiff_t count
        int level

    ctypedef struct cf_postings:
        cf_posting *pool
        ptrdiff_t room
        ptrdiff_t used
        cf_posting_list *list
        ptrdiff_t features
        int64_t oldest
        int64_t next

    enum:
        CF_BLOCK

    ptrdiff_t cf_pad(ptrdiff_t n)
    ptrdiff_t cf_panels_size(ptrdiff_t n)
    double *cf_triangle_row(const cf_triangle *t, ptrdiff_t i)
    double *cf_cholesky_at(const cf_cholesky *l, ptrdiff_t i, ptrdiff_t j)
    ptrdiff_t cf_top_k_scratch(ptrdiff_t n, ptrdiff_t k)
    ptrdiff_t cf_scores_scratch(ptrdiff_t n)

    ctypedef struct cf_row:
        ptrdiff_t n
        ptrdiff_t nnz
        const double *value
        const int32_t *i32
        const int64_t *i64

    enum:
        CF_ROW_BAD
        CF_ROW_NULL
        CF_ROW_GOOD
        CF_STEP_VARIANCE
        CF_STEP_RESIDUAL
        CF_STEP_PRINTED
        CF_FULL_NOTHING

    ctypedef struct cf_lines:
        double *data
        ptrdiff_t stride
        ptrdiff_t second
        ptrdiff_t k

    ctypedef struct cf_change:
        ptrdiff_t first_class
        ptrdiff_t second_class
        double first_step
        double second_step

    ctypedef struct cf_table:
        const char *isa
        int has_fma
        # dense
        double (*dot)(ptrdiff_t n, const double *x, const double *y) noexcept nogil
        double (*dot_f32)(ptrdiff_t n, const float *x, const double *y) noexcept nogil
        void (*axpy)(ptrdiff_t n, double a, const double *x, double *y) noexcept nogil
        void (*axpy_f32)(ptrdiff_t n, double a, const float *x, double *y) noexcept nogil
        double (*dot_sparse32)(ptrdiff_t nnz, const int32_t *index, const double *value,
                               const double *y) noexcept nogil
        double (*dot_sparse64)(ptrdiff_t nnz, const int64_t *index, const double *value,
                               const double *y) noexcept nogil
        void (*axpy_sparse32)(ptrdiff_t nnz, double a, const int32_t *index,
                              const double *value, double *y) noexcept nogil
        void (*axpy_sparse64)(ptrdiff_t nnz, double a, const int64_t *index,
                              const double *value, double *y) noexcept nogil
        void (*peaks)(ptrdiff_t n, const double *y, double *peak) noexcept nogil
        void (*add_whole_difference)(ptrdiff_t n, const int16_t *plus, const int16_t *minus,
                                     int32_t *y, int32_t *peak) noexcept nogil
        void (*whole_peaks)(ptrdiff_t n, const int32_t *y, int32_t *peak) noexcept nogil
        ptrdiff_t (*whole_at_least)(ptrdiff_t n, const int32_t *y, int32_t least, ptrdiff_t room,
                                    ptrdiff_t *out) noexcept nogil
        ptrdiff_t (*at_least)(ptrdiff_t n, const double *y, double least, ptrdiff_t room,
                              ptrdiff_t *out) noexcept nogil
        int (*step_mean)(ptrdiff_t n, double a, const double *delta, const double *w,
                         double rate, const double *mean, double *w_new,
                         double *mean_new) noexcept nogil
        int (*all_finite)(ptrdiff_t n, const double *x) noexcept nogil
        int (*all_finite_f32)(ptrdiff_t n, const float *x) noexcept nogil
        # elementary
        void (*exp_many)(ptrdiff_t n, const double *x, double *y) noexcept nogil
        void (*log_many)(ptrdiff_t n, const double *x, double *y) noexcept nogil
        double (*exp_one)(double x) noexcept nogil
        double (*log_one)(double x) noexcept nogil
        double (*log1p_one)(double x) noexcept nogil
        # top_k
        int (*top_k)(ptrdiff_t n, const double *scores, ptrdiff_t k, ptrdiff_t *out,
                     cf_candidate *scratch) noexcept nogil
        int (*top_k_f32)(ptrdiff_t n, const float *scores, ptrdiff_t k, ptrdiff_t *out,
                         cf_candidate *scratch) noexcept nogil
        # rank
        void (*scores)(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                       const double *w, double *scores) noexcept nogil
        void (*scores_f32)(ptrdiff_t n, ptrdiff_t d, const float *rows, ptrdiff_t stride,
                           const double *w, double *scores) noexcept nogil
        void (*two_scores)(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                           const double *w, const double *u, double *scores,
                           double *second) noexcept nogil
        void (*two_scores_f32)(ptrdiff_t n, ptrdiff_t d, const float *rows, ptrdiff_t stride,
                               const double *w, const double *u, double *scores,
                               double *second) noexcept nogil
        ptrdiff_t (*next_presented)(ptrdiff_t n, const double *utility, double least,
                                    const double *key, ptrdiff_t last) noexcept nogil
        void (*discounts)(ptrdiff_t k, double *discount) noexcept nogil
        void (*features)(ptrdiff_t k, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                         const ptrdiff_t *ranking, double a, const double *discount,
                         double *features) noexcept nogil
        void (*features_f32)(ptrdiff_t k, ptrdiff_t d, const float *rows, ptrdiff_t stride,
                             const ptrdiff_t *ranking, double a, const double *discount,
                             double *features) noexcept nogil
        void (*change_of_features)(ptrdiff_t k, ptrdiff_t d, const double *rows,
                                   ptrdiff_t stride, const ptrdiff_t *plus,
                                   const ptrdiff_t *minus, const double *weight,
                                   double *features) noexcept nogil
        void (*change_of_features_f32)(ptrdiff_t k, ptrdiff_t d, const float *rows,
                                       ptrdiff_t stride, const ptrdiff_t *plus,
                                       const ptrdiff_t *minus, const double *weight,
                                       double *features) noexcept nogil
        int (*perceptron_features)(ptrdiff_t k, ptrdiff_t d, const double *rows,
                                   ptrdiff_t stride, const ptrdiff_t *plus,
                                   const ptrdiff_t *minus, const double *weight,
                                   const double *w, double rate, const double *mean,
                                   double *w_new, double *mean_new) noexcept nogil
        int (*perceptron_features_f32)(ptrdiff_t k, ptrdiff_t d, const float *rows,
                                       ptrdiff_t stride, const ptrdiff_t *plus,
                                       const ptrdiff_t *minus, const double *weight,
                                       const double *w, double rate, const double *mean,
                                       double *w_new, double *mean_new) noexcept nogil
        # inverse
        void (*symv)(const cf_triangle *b, const double *x, double *v) noexcept nogil
        void (*rank_one)(const cf_triangle *b, const double *w) noexcept nogil
        void (*rank_one_symv)(const cf_triangle *b, const double *w, const double *x,
                              double *v) noexcept nogil
        void (*symv_less)(const cf_triangle *b, const double *w, const double *x,
                          double *v) noexcept nogil
        void (*rank_one_back)(const cf_triangle *b, const double *w,
                              const double *minus) noexcept nogil
        void (*rank_block)(const cf_triangle *b, float *low, ptrdiff_t m, const double *rows,
                           ptrdiff_t stride, const double *c) noexcept nogil
        int (*inverse_update)(const cf_triangle *b, const double *x, double c, int both,
                              double *scratch, double *q) noexcept nogil
        # ud
        void (*ud_quad)(const cf_triangle *ut, const double *d, const double *x, double *f,
                        double *q) noexcept nogil
        void (*ud_update)(const cf_triangle *ut, double *d, double c, const double *f,
                          double *k) noexcept nogil
        void (*ud_solve)(const cf_triangle *ut, const double *d, const double *x, double *f,
                         double *v) noexcept nogil
        # cholesky
        void (*cholesky_forward)(const cf_cholesky *l, const double *k, double *u) noexcept nogil
        void (*cholesky_forward_from)(const cf_cholesky *l, ptrdiff_t at, const double *k,
                                      double *u) noexcept nogil
        void (*cholesky_forward_many)(const cf_cholesky *l, ptrdiff_t m, double *u,
                                      ptrdiff_t stride) noexcept nogil
        void (*cholesky_backward)(const cf_cholesky *l, const double *u, double *x) noexcept nogil
        void (*cholesky_append)(cf_cholesky *l, const double *u, double pivot) noexcept nogil
        void (*cholesky_drop_first)(cf_cholesky *l, double *scratch) noexcept nogil
        int (*cholesky_factor)(const cf_triangle *m, cf_cholesky *l) noexcept nogil
        void (*cholesky_inverse)(const cf_cholesky *l, const cf_triangle *b,
                                 double *scratch) noexcept nogil
        # scores
        int (*project_scores)(ptrdiff_t n, const double *z, const double *q, double s, double *v,
                              double *lam, double *scratch) noexcept nogil
        # exponentiated
        void (*exponentiated_weights)(ptrdiff_t n, const double *theta, int is_signed,
                                      double *w) noexcept nogil
        # diagonal
        double (*diagonal_quad)(ptrdiff_t n, const double *a, const double *x) noexcept nogil
        void (*diagonal_update)(ptrdiff_t n, double *a, const double *x, double c) noexcept nogil
        void (*diagonal_solve)(ptrdiff_t n, const double *a, const double *x,
                               double *y) noexcept nogil
        double (*diagonal_quad32)(ptrdiff_t nnz, const int32_t *index, const double *value,
                                  const double *a) noexcept nogil
        double (*diagonal_quad64)(ptrdiff_t nnz, const int64_t *index, const double *value,
                                  const double *a) noexcept nogil
        void (*diagonal_update32)(ptrdiff_t nnz, const int32_t *index, const double *value,
                                  double c, double *a) noexcept nogil
        void (*diagonal_update64)(ptrdiff_t nnz, const int64_t *index, const double *value,
                                  double c, double *a) noexcept nogil
        # gram
        void (*gram_rbf)(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                         const double *x, double gamma, double *out) noexcept nogil
        void (*gram_poly)(ptrdiff_t n, ptrdiff_t d, const double *rows, ptrdiff_t stride,
                          const double *x, double gamma, double coef0, double degree,
                          double *out) noexcept nogil
        void (*rbf_of_dots)(ptrdiff_t n, const double *square, double own, double gamma,
                            double *out) noexcept nogil
        void (*poly_of_dots)(ptrdiff_t n, double gamma, double coef0, double degree,
                             double *out) noexcept nogil
        # row
        int (*row_check)(ptrdiff_t n, const double *x) noexcept nogil
        int (*row_places32)(ptrdiff_t nnz, const int32_t *place, ptrdiff_t n) noexcept nogil
        int (*row_places64)(ptrdiff_t nnz, const int64_t *place, ptrdiff_t n) noexcept nogil
        void (*row_unit)(ptrdiff_t nnz, const double *x, double *y) noexcept nogil
        # lines
        void (*lines_scores)(const cf_lines *t, const cf_row *x, const cf_row *next,
                             double *m) noexcept nogil
        void (*lines_read)(const cf_lines *t, const cf_row *x, const cf_row *next, double *m,
                           double *q) noexcept nogil
        void (*lines_read_one)(const cf_lines *t, const cf_row *x, ptrdiff_t i, double *m,
                               double *q) noexcept nogil
        void (*lines_counted)(const cf_lines *t, const cf_row *x, const cf_row *next,
                              double *m) noexcept nogil
        void (*lines_move)(const cf_lines *t, const cf_row *x, const double *c, ptrdiff_t i,
                           double s, int mode) noexcept nogil
        void (*lines_step)(const cf_lines *t, const cf_row *x, ptrdiff_t i, double s,
                           int mode) noexcept nogil
        int (*lines_add)(const cf_lines *t, const cf_row *x, const cf_change *c,
                         int count) noexcept nogil
        int (*lines_shrink)(const cf_lines *t, const cf_row *x, const cf_change *c,
                            double beta) noexcept nogil
        ptrdiff_t (*best_label)(ptrdiff_t k, const double *m) noexcept nogil
        ptrdiff_t (*bold_label)(ptrdiff_t k, const double *m, const double *q,
                                double f) noexcept nogil
        int (*project_labels)(ptrdiff_t k, double *m, const double *q, double alpha, double *c,
                              double *scratch) noexcept nogil
        # octet
        void (*octet_read)(ptrdiff_t d, const double *b, const double *w, const double *x,
                           double *v, double *m, double *q) noexcept nogil
        void (*octet_move)(ptrdiff_t d, const double *v, const double *c,
                           double *w) noexcept nogil
        void (*octet_update)(ptrdiff_t d, const double *v, int lane, double root, double *b,
                             double *t) noexcept nogil
        # postings
        void (*postings_dots)(const cf_postings *p, int64_t first, ptrdiff_t nnz,
                              const int64_t *index, const double *value,
                              double *out) noexcept nogil
        # ridge
        double (*ridge_dot)(const cf_row *x, const double *y) noexcept nogil
        double (*ridge_square)(const cf_row *x) noexcept nogil
        double (*ridge_quad)(const cf_row *x, const double *a) noexcept nogil
        int (*ridge_step)(const cf_row *x, double gain, double c, const double *a,
                          const double *w, double *a_new, double *w_new) noexcept nogil
        void (*ridge_place)(const cf_row *x, const double *entries, double *y) noexcept nogil
        void (*ridge_shrink)(ptrdiff_t n, const double *a, const double *z, double lam, double *w,
                             double *square, double *slope) noexcept nogil

    ctypedef struct cf_text_rules:
        int64_t first
        int64_t last
        double largest
        int multilabel
        int query

    ctypedef struct cf_text:
        int64_t *index
        double *value
        double *label
        ptrdiff_t *row_end
        ptrdiff_t *label_end
        int64_t *query
        int64_t *row_line
        ptrdiff_t n_pairs
        ptrdiff_t n_labels
        ptrdiff_t n_rows
        int64_t least
        int64_t most
        int64_t line
        ptrdiff_t bad_line
        ptrdiff_t bad

    ctypedef struct cf_text_ratings:
        int64_t *user
        int64_t *item
        double *rating
        ptrdiff_t n
        int64_t line
        ptrdiff_t bad_line
        ptrdiff_t bad

    double CF_TEXT_LARGEST_F32
    ptrdiff_t cf_text_pairs_room(ptrdiff_t bytes)
    ptrdiff_t cf_text_rows_room(ptrdiff_t bytes)

    ctypedef struct cf_library:
        void *(*alloc)(size_t count, size_t size) noexcept nogil
        void *(*alloc_zero)(size_t count, size_t size) noexcept nogil
        void (*free)(void *block) noexcept nogil
        const char *(*status_message)(int status) noexcept nogil
        const char *(*status_exception)(int status) noexcept nogil
        const cf_table *(*table_for)(const char *isa) noexcept nogil
        const void *(*table_names)() noexcept nogil
        ptrdiff_t (*ball_steps)(ptrdiff_t n) noexcept nogil
        ptrdiff_t (*ball_scratch)(ptrdiff_t n, int fallback) noexcept nogil
        int (*ball_project)(const cf_table *k, const cf_triangle *b, const double *z,
                            double radius, double *w, double *lam, double *scratch,
                            double *fallback_scratch, cf_ball_report *report) noexcept nogil
        ptrdiff_t (*faces_scratch)(ptrdiff_t n) noexcept nogil
        void (*faces_guess)(const cf_table *k, const cf_triangle *b, const cf_faces *set,
                            const double *z, signed char *state, double *scratch) noexcept nogil
        int (*faces_project)(const cf_table *k, const cf_triangle *b, const cf_faces *set,
                             const double *z, double *w, signed char *state, double *scratch,
                             cf_faces_report *report) noexcept nogil
        ptrdiff_t (*full_size)(ptrdiff_t n) noexcept nogil
        ptrdiff_t (*full_scratch)(ptrdiff_t n) noexcept nogil
        void (*full_init)(cf_full *self, ptrdiff_t n, double ridge, int robust,
                          const cf_table *k, double *memory) noexcept nogil
        void (*full_attach)(cf_full *self, double *memory) noexcept nogil
        int (*full_update)(cf_full *self, const cf_table *k, const double *x, double c,
                           double *scratch, double *q) noexcept nogil
        void (*full_solve)(const cf_full *self, const cf_table *k, const double *x,
                           double *scratch, double *y) noexcept nogil
        double (*full_quad)(const cf_full *self, const cf_table *k, const double *x,
                            double *scratch) noexcept nogil
        void (*full_inverse)(const cf_full *self, const cf_table *k, double *scratch,
                             double *out) noexcept nogil
        void (*full_matrix)(const cf_full *self, const cf_table *k, double *scratch,
                            double *out) noexcept nogil
        double (*full_residual)(const cf_full *self, const cf_table *k, uint64_t seed,
                                double *scratch) noexcept nogil
        ptrdiff_t (*newton_scratch)(ptrdiff_t n) noexcept nogil
        int (*newton_ball)(cf_full *self, const cf_table *k, const cf_newton *step,
                           const double *x, const double *w, double *w_new, double *lam,
                           double *scratch) noexcept nogil
        double (*gain)(ptrdiff_t k, const double *value, const ptrdiff_t *ranking,
                       const double *discount) noexcept nogil
        ptrdiff_t (*feedback_alpha)(const cf_table *table, ptrdiff_t n, ptrdiff_t k,
                                    const double *utility, const double *key,
                                    const ptrdiff_t *presented, const double *discount,
                                    double alpha, double best, ptrdiff_t *better) noexcept nogil
        void (*feedback_depth)(ptrdiff_t n, ptrdiff_t k, ptrdiff_t depth, const double *label,
                               const ptrdiff_t *presented, ptrdiff_t *better) noexcept nogil
        int (*text_read_rows)(cf_text *self, const cf_text_rules *rules, const char *text,
                              ptrdiff_t length) noexcept nogil
        int (*text_read_ratings)(cf_text_ratings *self, const char *text,
                                 ptrdiff_t length) noexcept nogil
        void (*text_scatter)(const cf_text *self, ptrdiff_t stride, double *rows) noexcept nogil
        void (*text_scatter_f32)(const cf_text *self, ptrdiff_t stride,
                                 float *rows) noexcept nogil
        void (*text_restride)(ptrdiff_t rows, ptrdiff_t begin, ptrdiff_t to, ptrdiff_t skip,
                              char *data) noexcept nogil
        int (*full_judge)(const cf_full *self, const double *x, double c,
                          double size) noexcept nogil
        void (*full_gather)(cf_full *self, const cf_table *k, const double *x, double c,
                            double *scratch) noexcept nogil
        int (*full_repair)(cf_full *self, const cf_table *k, double *scratch) noexcept nogil
        int (*full_propose)(cf_full *self, const cf_table *k, const double *x, double c,
                            double *scratch, double *v, double *q) noexcept nogil
        void (*full_accept)(cf_full *self, const cf_table *k, const double *x, double c,
                            const double *v, double q, double *scratch) noexcept nogil
        int (*faces_project_less)(const cf_table *k, const cf_triangle *b, const double *term,
                                  const cf_faces *set, const double *z, double *w,
                                  signed char *state, double *scratch,
                                  cf_faces_report *report) noexcept nogil
        ptrdiff_t (*region_scratch)(ptrdiff_t n) noexcept nogil
        ptrdiff_t (*region_newton_scratch)(ptrdiff_t n) noexcept nogil
        int (*region_project)(const cf_region *set, const cf_table *k, const double *z,
                              double *w, double *scratch) noexcept nogil
        int (*region_newton)(const cf_region *set, cf_full *self, const cf_table *k, double gain,
                             const double *x, const double *w, double *w_new, double *lam,
                             signed char *face, double *scratch) noexcept nogil
        double (*loss_value)(const cf_table *k, int kind, double m, double y) noexcept nogil
        double (*loss_slope)(const cf_table *k, int kind, double m, double y) noexcept nogil
        uint64_t (*pcg64_next)(cf_pcg64 *bits) noexcept nogil
        ptrdiff_t (*normals)(cf_pcg64 *bits, const cf_ziggurat *t, ptrdiff_t n, double *x,
                             uint64_t *edge) noexcept nogil
        void (*full_drop)(cf_full *self, const cf_table *k, const double *x, const double *v,
                          double q, double *scratch) noexcept nogil
        void (*full_scale)(cf_full *self, const cf_table *k, int half) noexcept nogil
        int (*full_renew)(cf_full *self, const cf_table *k, double *scratch) noexcept nogil
        void (*full_look)(const cf_full *self, const cf_table *k, const double *x,
                          double *scratch, double *v, double *q) noexcept nogil
        int (*ridge_ball)(const cf_table *k, ptrdiff_t n, const double *a, const double *z,
                          double radius, double *w) noexcept nogil
        ptrdiff_t (*postings_lack)(const cf_postings *self, ptrdiff_t nnz,
                                   const int64_t *index) noexcept nogil
        void (*postings_add)(cf_postings *self, ptrdiff_t nnz, const int64_t *index,
                             const double *value) noexcept nogil
        void (*postings_drop)(cf_postings *self, ptrdiff_t nnz,
                              const int64_t *index) noexcept nogil
        ptrdiff_t (*roll_size)(ptrdiff_t n) noexcept nogil
        void (*roll_call)(cf_roll *self, ptrdiff_t n, uint64_t *memory) noexcept nogil
        void (*roll_strike)(cf_roll *self, ptrdiff_t p) noexcept nogil
        ptrdiff_t (*roll_below)(const cf_roll *self, ptrdiff_t p) noexcept nogil
        ptrdiff_t (*roll_find)(const cf_roll *self, ptrdiff_t m) noexcept nogil

    const cf_library cf_functions

# The tables of this process. The kernel table is chosen once, when the module is imported.
cdef const cf_table *cf_get_table() noexcept nogil
cdef const cf_library *cf_get_library() noexcept nogil
