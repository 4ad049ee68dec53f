/* Where the separation blocks leave every token, with the rounding of every evaluation order.
 * docs/published.md, P-separation. */
#ifndef XFI_CONSTRUCT_SEPARATION_BOUND_H
#define XFI_CONSTRUCT_SEPARATION_BOUND_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

/* For the first n_blocks of `model`, x + V mean_l x_l behind a feed-forward layer, with A = 0,
 * rho = 1 and V = left right^T (or 0): centre and error [T][d] such that every coordinate of every
 * evaluation, exact or in binary64, is within `error` of `centre`. n_blocks may be 0.
 * Numeric class: enclosure. Errors: XF_ERR_ARGUMENT (blocks of another shape), XF_ERR_MEMORY. */
xf_status xfi_separation_bound(double *centre, double *error, const xf_model *model,
                               int64_t n_blocks, const xf_dataset *data, xf_error *error_record);

#endif
