/* The driver: a model applied to all sequences of a data set, layer by layer, by a back end. */
#ifndef XFI_ENGINE_EVALUATE_H
#define XFI_ENGINE_EVALUATE_H

#include "engine/prepared.h"

/* T(X_j) for every sequence: the model and the data have the same d. out [T][d] must not overlap
 * the input. The result does not depend on the number of threads. One run at a time for each
 * prepared model. Errors: as xf_runner_run. */
xf_status xfi_evaluate(double *out, xfi_prepared *model, const xf_dataset *input, xf_error *error);

#endif
