/* From a front end to certified groups. */
#ifndef XFI_CONSTRUCT_FRONT_CERTIFICATE_H
#define XFI_CONSTRUCT_FRONT_CERTIFICATE_H

#include "construct/front.h"
#include "construct/front_bound.h"
#include "construct/groups.h"

/* A front end as stored, and what its weights do to the data. */
typedef struct xfi_certificate {
    xf_model blocks;   /* the front blocks only, phases named */
    xfi_groups groups; /* margin <= 1: not proved; margin 0 also when weights leave the format */
} xfi_certificate;

/* Emit, bound every token, group. Errors: XF_ERR_MEMORY. */
xf_status xfi_certify_front(xfi_certificate *out, const xfi_front *front,
                            const xfi_problem *problem, xfi_axes axes, xf_error *error);
/* t, E [T] behind all blocks of a model, bounded by all peers together; see front_bound.h. */
xf_status xfi_front_bound_problem(double *t, double *E, const xf_model *blocks, int k1,
                                  const xfi_problem *problem, xf_error *error);

void xfi_certificate_clear(xfi_certificate *certificate);

/* Groups behind the blocks of `front`, certified by all peers together, without arrays for all
 * tokens. Errors: XF_ERR_ARGUMENT (front_bound.h), XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_certify_shared(xfi_groups *out, const xfi_front_view *front, xf_error *error);

/* The same for the first n_front blocks of a model, alone. */
xf_status xfi_certify_blocks(xfi_groups *out, const xf_model *model, int64_t n_front, int k1,
                             const xf_dataset *data, int threads, xf_error *error);

#endif
