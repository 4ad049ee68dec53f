/* xf_verify: run, then compare. */
#include <exactformer/run.h>

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

xf_status xf_verify(xf_verify_report *report, const xf_model *model, const xf_dataset *data,
                    const xf_run_options *options, xf_error *error) {
    xfi_error_clear(error);
    *report = (xf_verify_report){
        .n_sequences = data->n_sequences, .first_mismatch = -1, .worst_sequence = -1};
    if (data->y == NULL || data->y_offsets == NULL)
        return xfi_fail(error, XF_ERR_DATA, "the data set has no targets to compare with");
    double *out = xfi_calloc2(data->n_tokens, data->d, sizeof *out);
    if (out == NULL)
        return xfi_fail_memory(error);
    xf_status status = xf_run(out, model, data, options, error);
    if (status == XF_OK)
        status = xf_compare(report, out, data, error);
    xfi_free(out);
    return status;
}
