/* From a model to its config and back. */
#include <exactformer/model.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/model_config.h"

xf_status xf_model_config(char **out, const xf_model *model, xf_error *error) {
    xfi_text text = {0};
    xfi_error_clear(error);
    xfi_model_config_add(&text, model);
    *out = text.failed ? NULL : text.bytes;
    if (*out != NULL)
        return XF_OK;
    xfi_text_clear(&text);
    return xfi_fail_memory(error);
}

void xf_text_free(char *text) {
    xfi_free(text);
}

static double *zero_matrices(const xf_model *model, int wanted) {
    return wanted ? xfi_calloc2(model->n_blocks, model->d * model->d, sizeof(double)) : NULL;
}

xf_status xfi_model_from_config(xf_model *out, xf_model *config, const int has_full[2],
                                xf_error *error) {
    int64_t square = 0;
    if (config->n_blocks < 1 || config->d < 1)
        return xfi_fail(error, XF_ERR_DATA, "a model needs at least one block and one dimension");
    if (__builtin_mul_overflow(config->d, config->d, &square))
        return xfi_fail_memory(error);
    XFI_TRY(xf_model_new(out, config->n_blocks, config->d, config->width, error));
    xf_model weights = *out;
    *out = *config;
    config->phases = NULL;
    out->ff_eta = weights.ff_eta;
    out->ff_W = weights.ff_W;
    out->ff_U = weights.ff_U;
    out->ff_b = weights.ff_b;
    out->sa_rho = weights.sa_rho;
    out->sa_A = weights.sa_A;
    out->sa_V = weights.sa_V;
    out->sa_A.full = zero_matrices(out, has_full[0]);
    out->sa_V.full = zero_matrices(out, has_full[1]);
    if ((has_full[0] && out->sa_A.full == NULL) || (has_full[1] && out->sa_V.full == NULL))
        return xfi_fail_memory(error);
    return XF_OK;
}

xf_status xf_model_from_config(xf_model *out, const char *config, int full_A, int full_V,
                               xf_error *error) {
    const int has_full[2] = {full_A, full_V};
    xf_model parsed;
    xfi_error_clear(error);
    xf_model_init(out);
    xf_model_init(&parsed);
    xf_status status = xfi_model_config_parse(&parsed, config, error);
    if (status == XF_OK)
        status = xfi_model_from_config(out, &parsed, has_full, error);
    if (status != XF_OK)
        xf_model_clear(out);
    xf_model_clear(&parsed);
    return status;
}
