/* The pooled construction, whole: plan and refusal. */
#ifndef XFI_CONSTRUCT_POOLED_H
#define XFI_CONSTRUCT_POOLED_H

#include "construct/problem.h"

/* Blocks, phases and dtype of `out` are set; metadata is the caller's. Fills front,
 * writer, n_folds, extra_blocks and the margin of `report`. Errors: XF_ERR_INFEASIBLE naming the
 * two sequences that come closest, XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_build_pooled(xf_model *out, xfi_problem *problem, xf_build_report *report,
                           xf_error *error);

#endif
