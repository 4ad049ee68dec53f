/* From stored weights to certified places: separation, rounding and moves of a published model.
 * docs/published.md, P-quantise and P-leaders. */
#ifndef XFI_CONSTRUCT_SETTLE_H
#define XFI_CONSTRUCT_SETTLE_H

#include "construct/exact_block.h"

#include <exactformer/dataset.h>

/* Numbers of blocks by phase, in order. */
typedef struct xfi_published_phases {
    int64_t separation;
    int64_t quantise; /* 0 or 1 */
    int64_t leaders;  /* shift and moves, the collapse attention's block included */
} xfi_published_phases;

/* Where every token is in front of the collapse attention, from the first blocks of `model`.
 * *token becomes the first token whose place cannot be certified, or -1 (`out` is valid then).
 * `out` is the caller's to clear, and cleared on failure. Numeric class: exact places, enclosure of
 * what precedes them. Errors: XF_ERR_ARGUMENT (blocks of another shape), XF_ERR_MEMORY. */
xf_status xfi_settle(xfi_settled *out, int64_t *token, const xf_model *model,
                     const xfi_published_phases *phases, const xf_dataset *data, xf_error *error);

#endif
