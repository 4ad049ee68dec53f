/* Putting front end, writer and phases together into one model. */
#ifndef XFI_CONSTRUCT_ASSEMBLE_H
#define XFI_CONSTRUCT_ASSEMBLE_H

#include "construct/front_certificate.h"
#include "construct/lanes.h"
#include "construct/slots.h"

/* The grid writer behind a certified front end. Errors: XF_ERR_MEMORY. */
xf_status xfi_assemble_grid(xf_model *out, const xfi_certificate *front, const xfi_lanes *lanes,
                            const xfi_problem *problem, xfi_axes axes, xf_error *error);

/* The first pass and the sorted writer behind a certified front end. */
xf_status xfi_assemble_sorted(xf_model *out, const xfi_certificate *front, const xfi_lanes *lanes,
                              const xfi_problem *problem, xfi_axes axes, xf_error *error);

/* One block that maps everything to the only target (N = M = 1). */
xf_status xfi_assemble_constant(xf_model *out, const xfi_problem *problem, xf_error *error);

#endif
