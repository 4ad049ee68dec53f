/* Certified groups of a front end. */
#include "construct/front_certificate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/front_bound.h"

void xfi_certificate_clear(xfi_certificate *certificate) {
    xf_model_clear(&certificate->blocks);
    xfi_groups_clear(&certificate->groups);
}

xf_status xfi_certify_blocks(xfi_groups *out, const xf_model *model, int64_t n_front, int k1,
                             const xf_dataset *data, int threads, xf_error *error) {
    double *t = xfi_calloc2(2, data->n_tokens, sizeof(double));
    if (t == NULL)
        return xfi_fail_memory(error);
    double *E = t + data->n_tokens;
    xf_status status = xfi_front_bound(t, E, model, n_front, k1, data, threads, error);
    if (status == XF_OK)
        status = xfi_groups_make(out, data, t, E, error);
    xfi_free(t);
    return status;
}

xf_status xfi_certify_front(xfi_certificate *out, const xfi_front *front,
                            const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    *out = (xfi_certificate){0};
    int64_t n_front = xfi_front_blocks(front);
    XFI_TRY(xf_model_new(&out->blocks, n_front, problem->data->d, XFI_WIDTH, error));
    out->blocks.dtype = problem->options->dtype;
    int in_range = xfi_front_emit(front, &problem->format, axes, &out->blocks);
    xf_status status = xfi_front_add_phases(&out->blocks, front, error);
    if (status == XF_OK && in_range)
        status = xfi_certify_blocks(&out->groups, &out->blocks, n_front, axes.k1, problem->data,
                                    problem->threads, error);
    if (status != XF_OK)
        xfi_certificate_clear(out);
    return status;
}
