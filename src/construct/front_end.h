/* What a writer sees of a front end: certified groups on a line, at any scale and from
 * any origin. The pooled and the published construction both end their first part so. */
#ifndef XFI_CONSTRUCT_FRONT_END_H
#define XFI_CONSTRUCT_FRONT_END_H

#include "construct/front_certificate.h"

typedef struct xfi_front_end {
    const void *self;
    const char *name; /* for the report */
    int64_t n_blocks;
    int64_t n_folds;
    const double *number; /* [M] of every target's group at sigma 1 and shift 0, about, with the */
    const int64_t *order; /* [M] groups by ascending numbers; or both NULL. They save a certificate:
                             splits are chosen by them, and proved by the one at their scale. */
    /* Emit the blocks, phases named, such that coordinate axes.k1 carries sigma (t - shift) with
     * sigma a power of two, and certify the groups from the stored weights. A margin <= 1
     * means not proved. Errors: XF_ERR_MEMORY. */
    xf_status (*certify)(xfi_certificate *out, const void *self, double sigma, double shift,
                         const xfi_problem *problem, xfi_axes axes, xf_error *error);
} xfi_front_end;

#endif
