/* The driver: a model applied to all sequences of a data set, layer by layer, by a back end. */
#ifndef XFI_ENGINE_EVALUATE_H
#define XFI_ENGINE_EVALUATE_H

#include <exactformer/run.h>

/* xf_run without its checks of arguments: the model and the data have the same d, and the
 * model passed xf_model_check. out [T][d] must not overlap the input. The result does not
 * depend on options->threads. `options` may be NULL.
 * Errors: as xf_run. */
xf_status xfi_evaluate(double *out, const xf_model *model, const xf_dataset *input,
                       const xf_run_options *options, xf_error *error);

#endif
