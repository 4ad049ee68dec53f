/* The published construction, whole: plan and refusals. */
#ifndef XFI_CONSTRUCT_PUBLISHED_H
#define XFI_CONSTRUCT_PUBLISHED_H

#include "construct/problem.h"

/* The first way of separating to be tried. Tests start with a later one. */
typedef enum xfi_stage {
    XFI_STAGE_NONE,
    XFI_STAGE_POOL,
    XFI_STAGE_KINKS,
    XFI_STAGE_TREE,
    XFI_STAGES
} xfi_stage;

/* Blocks, phases, dtype and the collapse's alpha of `out` are set; other metadata is the caller's.
 * Fills front, writer, extra_blocks, margins, n_separations and tau_max of `report`. Where this
 * construction would exceed 2M + 2N + 1 blocks (a few off-grid corners with N <= 2) the pooled one
 * takes its place: report->front then is one of its own. Errors: XF_ERR_INFEASIBLE naming the
 * sequence or tokens, the margin found and the margin needed; XF_ERR_MEMORY; XF_ERR_CANCELLED. */
xf_status xfi_build_published(xf_model *out, xfi_problem *problem, xf_build_report *report,
                              xfi_stage first_stage, xf_error *error);

#endif
