# The C level of the package, for other Cython code:
#
#     from coactive_fast cimport cf_table, cf_get_table
#     cdef const cf_table *K = cf_get_table()
#     K.dot(n, x, y)
#
# with coactive_fast.get_include() among the include_dirs. Names are only ever added here.

from coactive_fast._table cimport (
    cf_candidate, cf_cholesky, cf_faces, cf_faces_kind, cf_full, cf_full_health, cf_library,
    cf_status, cf_table, cf_triangle,
    cf_get_library, cf_get_table, cf_pad, cf_panels_size, cf_triangle_row, cf_cholesky_at,
    cf_top_k_scratch, cf_scores_scratch, cf_newton,
    CF_OK, CF_ENOMEM, CF_ESIZE, CF_ENONFINITE, CF_ENAN, CF_ENOTPOSITIVE, CF_EVALUE,
    CF_ENOCONVERGE, CF_EUNSUPPORTED, CF_EINDEX, CF_SIMPLEX, CF_BOX, CF_L1, CF_BLOCK,
)
