/* One sequence in rational arithmetic: C-exact of docs/certify.md. Numeric class: exact. */
#ifndef XFI_CERTIFY_CERT_RATIONAL_H
#define XFI_CERTIFY_CERT_RATIONAL_H

#include "certify/cert_network.h"

#include <exactformer/certify.h>
#include <exactformer/dataset.h>

/* Does the model map X_j to Y_j in real arithmetic? XF_UNKNOWN if the numbers grow beyond
 * `most_bits` bits. The model has no softmax whose logits matter (xfi_network_has_logits). *token
 * is a token whose output is no target, or -1. Errors: XF_ERR_MEMORY. */
xf_status xfi_rational_answer(xf_answer *answer, int64_t *token, const xfi_network *network,
                              const xf_dataset *data, int64_t j, int64_t most_bits,
                              xf_error *error);

#endif
