/* One sequence in ball arithmetic, to disprove sense (R): C-no of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_BALL_H
#define XFI_CERTIFY_CERT_BALL_H

#include "certify/cert_mix.h"

#include <exactformer/dataset.h>

/* Evaluate sequence j in balls of `bits` bits at heat->tau. *differs: no target is in the ball of
 * some output (*token), or some target is in no ball (*token = -1). Numeric class: enclosure.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_ball_refutes(int *differs, int64_t *token, const xfi_network *network,
                           const xfi_heat *heat, const xf_dataset *data, int64_t j, int64_t bits,
                           xf_error *error);

#endif
