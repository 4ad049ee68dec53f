/* xf_run and xf_runner: checks of the arguments, then the driver. */
#include <exactformer/run.h>

#include "base/alloc.h"
#include "base/error.h"
#include "engine/evaluate.h"

#include <math.h>
#include <stddef.h>

static xf_status check_options(const xf_run_options *options, xf_error *error) {
    if (options->engine != XF_ENGINE_SPARSE && options->engine != XF_ENGINE_DENSE &&
        options->engine != XF_ENGINE_BLAS)
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

struct xf_runner {
    xfi_prepared model;
};

xf_status xf_runner_new(xf_runner **out, const xf_model *model, const xf_run_options *options,
                        xf_error *error) {
    static const xf_run_options defaults = {0};
    *out = NULL;
    xfi_error_clear(error);
    options = options != NULL ? options : &defaults;
    XFI_TRY(check_options(options, error));
    xf_runner *runner = xfi_calloc(1, sizeof *runner);
    if (runner == NULL)
        return xfi_fail_memory(error);
    xf_status status = xfi_prepared_new(&runner->model, model, options, error);
    if (status == XF_OK)
        *out = runner;
    else
        xfi_free(runner);
    return status;
}

void xf_runner_free(xf_runner *runner) {
    if (runner == NULL)
        return;
    xfi_prepared_clear(&runner->model);
    xfi_free(runner);
}

static xf_status check_dimension(int64_t d, const xf_dataset *input, xf_error *error) {
    if (d == input->d)
        return XF_OK;
    return xfi_fail(error, XF_ERR_ARGUMENT,
                    "the model has dimension %lld, the data set has dimension %lld", (long long)d,
                    (long long)input->d);
}

xf_status xf_runner_run(double *out, xf_runner *runner, const xf_dataset *input, xf_error *error) {
    xfi_error_clear(error);
    XFI_TRY(check_dimension(runner->model.weights.d, input, error));
    return xfi_evaluate(out, &runner->model, input, error);
}

xf_status xf_run(double *out, const xf_model *model, const xf_dataset *input,
                 const xf_run_options *options, xf_error *error) {
    xf_runner *runner = NULL;
    xfi_error_clear(error);
    XFI_TRY(check_dimension(model->d, input, error));
    XFI_TRY(xf_runner_new(&runner, model, options, error));
    xf_status status = xf_runner_run(out, runner, input, error);
    xf_runner_free(runner);
    return status;
}
