/* Certified groups of a front end. */
#include "construct/front_certificate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/front_bound.h"

void xfi_certificate_clear(xfi_certificate *certificate) {
    xf_model_clear(&certificate->blocks);
    xfi_groups_clear(&certificate->groups);
}

xf_status xfi_certify_shared(xfi_groups *out, const xfi_front_view *front, xf_error *error) {
    xfi_groups_maker maker;
    XFI_TRY(xfi_groups_begin(&maker, out, front->data, front->peers, front->threads, error));
    xf_status status = xfi_front_bound_tiles(front, xfi_groups_cut, &maker, error);
    return xfi_groups_end(&maker, status, error);
}

xf_status xfi_certify_blocks(xfi_groups *out, const xf_model *model, int64_t n_front, int k1,
                             const xf_dataset *data, int threads, xf_error *error) {
    xfi_front_view front = {model, n_front, k1, data, NULL, threads};
    return xfi_certify_shared(out, &front, error);
}

static xfi_front_view view_of(const xf_model *blocks, int k1, const xfi_problem *problem) {
    return (xfi_front_view){blocks,        blocks->n_blocks,        k1,
                            problem->data, problem->options->peers, problem->threads};
}

xf_status xfi_front_bound_problem(double *t, double *E, const xf_model *blocks, int k1,
                                  const xfi_problem *problem, xf_error *error) {
    xfi_front_view front = view_of(blocks, k1, problem);
    return xfi_front_bound_shared(t, E, &front, error);
}

xf_status xfi_certify_front(xfi_certificate *out, const xfi_front *front,
                            const xfi_problem *problem, xfi_axes axes, xf_error *error) {
    *out = (xfi_certificate){0};
    int64_t n_front = xfi_front_blocks(front);
    XFI_TRY(xf_model_new(&out->blocks, n_front, problem->data->d, XFI_WIDTH, error));
    out->blocks.dtype = problem->options->dtype;
    xfi_front_view view = view_of(&out->blocks, axes.k1, problem);
    int in_range = xfi_front_emit(front, &problem->format, axes, &out->blocks);
    xf_status status = xfi_front_add_phases(&out->blocks, front, error);
    if (status == XF_OK && in_range)
        status = xfi_certify_shared(&out->groups, &view, error);
    if (status != XF_OK)
        xfi_certificate_clear(out);
    return status;
}
