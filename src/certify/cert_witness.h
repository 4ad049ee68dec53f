/* Single admissible evaluations, to disprove sense (F): C-no of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_WITNESS_H
#define XFI_CERTIFY_CERT_WITNESS_H

#include "certify/cert_mix.h"

#include <exactformer/dataset.h>

/* Evaluate sequence j in the model's format, every sum in an order that `seed` decides (0: index
 * order; odd: products are fused), and compare with the targets. *differs: an output is no target
 * (*token) or a target is no output (*token = -1). Errors: XF_ERR_MEMORY. */
xf_status xfi_witness(int *differs, int64_t *token, const xfi_network *network,
                      const xfi_heat *heat, const xf_dataset *data, int64_t j, uint64_t seed,
                      xf_error *error);

#endif
