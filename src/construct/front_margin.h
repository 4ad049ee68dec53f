/* The front-end margin of a stored model. */
#ifndef XFI_CONSTRUCT_FRONT_MARGIN_H
#define XFI_CONSTRUCT_FRONT_MARGIN_H

#include <exactformer/dataset.h>
#include <exactformer/model.h>

/* Certify the front end (all blocks before the phases "code" and "write") of a pooled model
 * again from its weights: *margin as in xf_build_report, sequence the two closest.
 * INFINITY for a constant model. Errors: XF_ERR_ARGUMENT if the model has no such front
 * end, XF_ERR_MEMORY. */
xf_status xfi_front_margin(const xf_model *model, const xf_dataset *data, double *margin,
                           int64_t sequence[2], xf_error *error);

/* Bits of the cells that a phase reads, 0 if it reads none. */
int xfi_cell_bits(const xf_phase *phase);

#endif
