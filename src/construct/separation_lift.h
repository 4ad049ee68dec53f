/* Lifting: what the separation tree does for pooled front ends, which only need different sequences
 * to have different means. Every block lifts one token by a slab, wherever it occurs; of two
 * sequences with equal means a token of exactly one is lifted, so at most N - 1 blocks are needed.
 * No attention. docs/published.md, P-lift. */
#ifndef XFI_CONSTRUCT_SEPARATION_LIFT_H
#define XFI_CONSTRUCT_SEPARATION_LIFT_H

#include "construct/front_certificate.h"
#include "construct/separate.h"

/* Blocks behind which all sequences have different means; n_blocks 0 if there is nothing to do, or
 * if rounding to binary64 leaves no room for it. The score is not set. Errors: XF_ERR_MEMORY,
 * XF_ERR_CANCELLED. */
xf_status xfi_separation_lift(xfi_separation *out, const xfi_problem *problem, xf_error *error);

/* As xfi_certify_front, for a front end behind these blocks. */
xf_status xfi_certify_lifted(xfi_certificate *out, const xfi_separation *lifts,
                             const xfi_front *front, const xfi_problem *problem, xfi_axes axes,
                             xf_error *error);

#endif
