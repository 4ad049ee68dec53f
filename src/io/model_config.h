/* The `config` object in a model file's metadata: everything about a model but its
 * weights. */
#ifndef XFI_IO_MODEL_CONFIG_H
#define XFI_IO_MODEL_CONFIG_H

#include <exactformer/model.h>

#include "base/text.h"

/* Append the JSON object, always with the same keys in the same order. */
void xfi_model_config_add(xfi_text *text, const xf_model *model);

/* Fill everything but the weights of `out` (initialised, phases NULL) from the JSON text. On
 * failure the caller clears. Errors: XF_ERR_DATA naming the key, XF_ERR_MEMORY. */
xf_status xfi_model_config_parse(xf_model *out, const char *text, xf_error *error);

/* Make `out` (its content is overwritten) a model of identity blocks that is otherwise as `config`
 * says, which loses its phases to it; with arrays for full matrices A and V where asked for.
 * On failure the caller clears. Errors: XF_ERR_DATA, XF_ERR_MEMORY. */
xf_status xfi_model_from_config(xf_model *out, xf_model *config, const int has_full[2],
                                xf_error *error);

#endif
