/* Measuring a model: one walk over its weight arrays. */
#include <exactformer/inspect.h>

#include "base/error.h"
#include "construct/front_margin.h"
#include "construct/published_front.h"
#include "construct/resnet.h"
#include "core/model_shape.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static int64_t n_values(const xfi_weight_array *array) {
    return array->n_blocks * array->shape[0] * array->shape[1];
}

static void measure_array(xf_inspection *out, const xfi_weight_array *array) {
    int64_t n = n_values(array);
    out->parameters_dense += n;
    for (int64_t i = -1; (i = xfi_next_weight(array->values, i + 1, n)) < n;) {
        double value = array->values[i];
        out->parameters_nonzero += value != 0.0;
        out->l2_norm_squared += value * value;
        out->max_abs_weight = fmax(out->max_abs_weight, fabs(value));
    }
}

double xf_norm_squared(const xf_model *model, int64_t first, int64_t count) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n_arrays = xfi_model_arrays(model, arrays);
    double sum = 0.0;
    for (int a = 0; a < n_arrays; a++) {
        int64_t size = arrays[a].shape[0] * arrays[a].shape[1];
        const double *values = arrays[a].values + first * size;
        for (int64_t i = -1; (i = xfi_next_weight(values, i + 1, count * size)) < count * size;)
            sum += values[i] * values[i];
    }
    return sum;
}

/* Models without a front end of ours (trained, edited) have no margin; that is no error. */
static xf_status measure_margin(xf_inspection *out, const xf_model *model, const xf_dataset *data,
                                xf_error *error) {
    int resnet = strcmp(model->construction, "resnet") == 0;
    xf_status status = (resnet ? xfi_resnet_margin : xfi_front_margin)(model, data, &out->margin,
                                                                       out->margin_sequence, error);
    out->has_margin = status == XF_OK;
    return status == XF_ERR_ARGUMENT ? XF_OK : status;
}

static xf_status measure_published(xf_inspection *out, const xf_model *model,
                                   const xf_dataset *data, xf_error *error) {
    xfi_published_facts facts;
    xf_status status = xfi_published_measure(&facts, model, data, error);
    if (status != XF_OK)
        return status == XF_ERR_ARGUMENT ? XF_OK : status;
    out->has_margin = out->has_collapse = 1;
    out->margin = facts.margin;
    memcpy(out->margin_sequence, facts.closest, sizeof facts.closest);
    out->n_separations = facts.n_separations;
    out->collapse_margin = facts.collapse_margin;
    out->tau_max = facts.tau_max;
    return XF_OK;
}

xf_status xf_inspect(xf_inspection *out, const xf_model *model, const xf_dataset *data,
                     xf_error *error) {
    *out = (xf_inspection){.margin_sequence = {-1, -1}};
    if (data != NULL && data->d != model->d)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the model has dimension %lld, the data set has dimension %lld",
                        (long long)model->d, (long long)data->d);
    out->blocks = model->n_blocks;
    out->bound = xf_published_bound(model->n_sequences, model->n_targets, model->attention);
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n_arrays = xfi_model_arrays(model, arrays);
    for (int i = 0; i < n_arrays; i++)
        measure_array(out, &arrays[i]);
    if (model->n_targets > 0)
        out->nonzero_ratio =
            (double)out->parameters_nonzero / ((double)model->n_targets * (double)model->d);
    int pooled = strcmp(model->construction, "pooled") == 0; /* others quantise otherwise */
    for (int64_t i = 0; pooled && i < model->n_phases && out->cell_bits == 0; i++)
        out->cell_bits = xfi_cell_bits(&model->phases[i]);
    if (data == NULL)
        return XF_OK;
    return xfi_has_published_front(model) ? measure_published(out, model, data, error)
                                          : measure_margin(out, model, data, error);
}
