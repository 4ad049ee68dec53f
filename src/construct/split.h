/* Where to put the origin between the groups, and how to scale: half of the groups go to
 * each lane, unless another split makes the writer shallower. */
#ifndef XFI_CONSTRUCT_SPLIT_H
#define XFI_CONSTRUCT_SPLIT_H

#include "construct/lanes.h"

typedef struct xfi_split {
    int64_t below; /* groups in the negative lane */
    double shift;
    double sigma;    /* power of two */
    int64_t n_steps; /* of the lanes; INT64_MAX: not feasible */
} xfi_split;

/* The power of two above every |y1|, 0 if all are 0. */
double xfi_target_reach(const xfi_groups *groups, const xfi_written *written);

enum { XFI_SPLITS = 4 };

/* The shallowest splits first, at most XFI_SPLITS of them, from those next to the middle and those
 * further off in wider gaps than all closer ones; *n may be 0. Groups from a front end with
 * sigma 1. Numeric class: proposals; the lanes are laid out again from the final certificate.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_split_list(xfi_split out[XFI_SPLITS], int *n, const xfi_groups *groups,
                         const xfi_written *written, const xfi_format *format, xf_error *error);

#endif
