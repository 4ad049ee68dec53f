/* The ResNet baseline: every different token of the data is interpolated by itself, by
 * feed-forward layers alone. What is built is the pooled construction for sequences of one token,
 * where pooling is left out. docs/theory.md, T-resnet. */
#ifndef XFI_CONSTRUCT_RESNET_H
#define XFI_CONSTRUCT_RESNET_H

#include "construct/problem.h"

/* As xfi_build_pooled; every attention of `out` is the identity. Errors: XF_ERR_INFEASIBLE naming
 * tokens and sequences; XF_ERR_ARGUMENT (a front end or writer that needs attention);
 * XF_ERR_MEMORY; XF_ERR_CANCELLED. */
xf_status xfi_build_resnet(xf_model *out, const xfi_problem *problem, xf_build_report *report,
                           xf_error *error);

/* As xfi_front_margin, for a model made so. */
xf_status xfi_resnet_margin(const xf_model *model, const xf_dataset *data, double *margin,
                            int64_t sequence[2], xf_error *error);

#endif
