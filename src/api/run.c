/* xf_run: checks of the arguments, then the driver. */
#include <exactformer/run.h>

#include "base/error.h"
#include "engine/evaluate.h"

#include <math.h>
#include <stddef.h>

static xf_status check_options(const xf_run_options *options, xf_error *error) {
    if (options == NULL)
        return XF_OK;
    if (options->engine != XF_ENGINE_DENSE && options->engine != XF_ENGINE_BLAS)
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown engine %d", (int)options->engine);
    if (options->override_attention && options->attention != XF_HARDMAX &&
        options->attention != XF_SOFTMAX)
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown attention %d", (int)options->attention);
    if (!(options->tau >= 0.0) || isinf(options->tau))
        return xfi_fail(error, XF_ERR_ARGUMENT, "tau must be a positive number, got %g",
                        options->tau);
    if (options->threads < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "threads must not be negative, got %d",
                        options->threads);
    return XF_OK;
}

xf_status xf_run(double *out, const xf_model *model, const xf_dataset *input,
                 const xf_run_options *options, xf_error *error) {
    xfi_error_clear(error);
    XFI_TRY(check_options(options, error));
    if (model->d != input->d)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the model has dimension %lld, the data set has dimension %lld",
                        (long long)model->d, (long long)input->d);
    return xfi_evaluate(out, model, input, options, error);
}
