/* Checking models. */
#include <exactformer/model.h>

#include "base/error.h"
#include "core/model_shape.h"
#include "num/format.h"

#include <math.h>
#include <string.h>

static int is_terminated(const char *text, size_t size) {
    return memchr(text, '\0', size) != NULL;
}

/* One nonempty word of letters, digits, '_' and '-'. */
static int is_word(const char *text, size_t size) {
    if (!is_terminated(text, size) || text[0] == '\0')
        return 0;
    for (const char *c = text; *c != '\0'; c++) {
        int letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!letter && !(*c >= '0' && *c <= '9') && *c != '_' && *c != '-')
            return 0;
    }
    return 1;
}

/* A size that every reader of JSON gets right. */
static int is_count(int64_t n) {
    return n >= 0 && n <= (int64_t)1 << 53;
}

static xf_status check_sizes(const xf_model *model, xf_error *error) {
    if (model->n_blocks < 1 || model->d < 1 || model->width < 0)
        return xfi_fail(error, XF_ERR_DATA,
                        "a model needs at least one block and one dimension, not %lld and %lld "
                        "(width %lld)",
                        (long long)model->n_blocks, (long long)model->d, (long long)model->width);
    if (!model->ff_eta || !model->ff_W || !model->ff_U || !model->ff_b || !model->sa_rho ||
        !model->sa_A.alpha || !model->sa_A.left || !model->sa_A.right || !model->sa_V.alpha ||
        !model->sa_V.left || !model->sa_V.right)
        return xfi_fail(error, XF_ERR_DATA, "the model lacks one of its weight arrays");
    if (!is_count(model->n_sequences) || !is_count(model->n_targets) || !is_count(model->n_tokens))
        return xfi_fail(error, XF_ERR_DATA,
                        "the sizes of the model's data set are negative or beyond 2^53");
    if (model->positions < -1 || model->positions > 62)
        return xfi_fail(error, XF_ERR_DATA, "the position scale 2^-%d is out of range",
                        model->positions);
    return XF_OK;
}

static xf_status check_choices(const xf_model *model, xf_error *error) {
    static const char *const constructions[] = {"pooled", "published", "resnet", "trained",
                                                "edited"};
    if (model->dtype != XF_F64 && model->dtype != XF_F32)
        return xfi_fail(error, XF_ERR_DATA, "the dtype is neither F64 nor F32");
    if (model->attention != XF_HARDMAX && model->attention != XF_SOFTMAX)
        return xfi_fail(error, XF_ERR_DATA, "the attention is neither hardmax nor softmax");
    if (model->order != XF_FF_SA && model->order != XF_SA_FF)
        return xfi_fail(error, XF_ERR_DATA, "the order is neither ff-sa nor sa-ff");
    for (size_t i = 0; i < sizeof constructions / sizeof constructions[0]; i++)
        if (strncmp(model->construction, constructions[i], sizeof model->construction) == 0)
            return XF_OK;
    return xfi_fail(error, XF_ERR_DATA,
                    "the construction must be pooled, published, resnet, trained or edited");
}

static xf_status check_temperatures(const xf_model *model, xf_error *error) {
    if (model->attention == XF_SOFTMAX && !(model->tau > 0.0 && isfinite(model->tau)))
        return xfi_fail(error, XF_ERR_DATA,
                        "the temperature tau of softmax attention must be a "
                        "positive finite number");
    if (!(model->tau_max >= 0.0))
        return xfi_fail(error, XF_ERR_DATA, "tau_max must be at least 0, or infinite");
    return XF_OK;
}

static xf_status check_phases(const xf_model *model, xf_error *error) {
    int64_t next = 0;
    if (model->n_phases == 0)
        return XF_OK;
    if (model->n_phases < 0 || model->phases == NULL)
        return xfi_fail(error, XF_ERR_DATA, "the list of phases is missing");
    for (int64_t i = 0; i < model->n_phases; i++) {
        const xf_phase *phase = &model->phases[i];
        if (!is_word(phase->name, sizeof phase->name))
            return xfi_fail(error, XF_ERR_DATA, "the name of phase %lld is not one short word",
                            (long long)i);
        if (phase->first != next || phase->count < 1 || phase->count > model->n_blocks - next)
            return xfi_fail(error, XF_ERR_DATA,
                            "phase %lld (%s) has %lld blocks from %lld, but phases must follow one "
                            "another and block %lld of %lld comes next",
                            (long long)i, phase->name, (long long)phase->count,
                            (long long)phase->first, (long long)next, (long long)model->n_blocks);
        next += phase->count;
    }
    if (next != model->n_blocks)
        return xfi_fail(error, XF_ERR_DATA, "the phases cover %lld of %lld blocks", (long long)next,
                        (long long)model->n_blocks);
    return XF_OK;
}

static xf_status check_array(const xfi_weight_array *array, xf_dtype dtype, xf_error *error) {
    xfi_format format = xfi_format_of(dtype);
    int64_t size = array->shape[0] * array->shape[1], count = array->n_blocks * size;
    for (int64_t i = -1; (i = xfi_next_weight(array->values, i + 1, count)) < count;) {
        double value = array->values[i];
        if (xfi_representable(&format, value))
            continue;
        const char *what =
            isfinite(value) ? "is not a binary32 number, but the dtype is F32" : "is not finite";
        return xfi_fail(error, XF_ERR_DATA, "a weight of %s in block %lld (element %lld) %s",
                        array->name, (long long)(i / size), (long long)(i % size), what);
    }
    return XF_OK;
}

xf_status xf_model_check(const xf_model *model, xf_error *error) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    XFI_TRY(check_sizes(model, error));
    XFI_TRY(check_choices(model, error));
    XFI_TRY(check_temperatures(model, error));
    XFI_TRY(check_phases(model, error));
    int n = xfi_model_arrays(model, arrays);
    for (int i = 0; i < n; i++)
        XFI_TRY(check_array(&arrays[i], model->dtype, error));
    return XF_OK;
}
