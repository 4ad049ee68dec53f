/* Front-end margin of a stored model. */
#include "construct/front_margin.h"

#include "base/error.h"
#include "construct/front_certificate.h"

#include <math.h>
#include <omp.h>
#include <string.h>

static int64_t count_front(const xf_model *model) {
    int64_t n = 0;
    for (int64_t i = 0; i < model->n_phases; i++) {
        const char *name = model->phases[i].name;
        if (strcmp(name, "pooling") != 0 && strcmp(name, "fold") != 0)
            break;
        n += model->phases[i].count;
    }
    return n;
}

/* The coordinate that the last front block pools onto; without attention the one that
 * the first block writes. */
static int find_axis(const xf_model *model, int64_t n_front) {
    int64_t d = model->d, w = model->width;
    for (int64_t k = 0; k < d; k++)
        if (model->sa_V.left[(n_front - 1) * d + k] != 0.0)
            return (int)k;
    for (int64_t k = 0; k < d; k++)
        for (int64_t i = 0; i < w; i++)
            if (model->ff_W[k * w + i] != 0.0)
                return (int)k;
    return -1;
}

xf_status xfi_front_margin(const xf_model *model, const xf_dataset *data, double *margin,
                           int64_t sequence[2], xf_error *error) {
    *margin = INFINITY;
    sequence[0] = sequence[1] = 0;
    if (model->n_phases == 1 && strcmp(model->phases[0].name, "constant") == 0)
        return XF_OK;
    int64_t n_front = count_front(model);
    int k1 = n_front > 0 ? find_axis(model, n_front) : -1;
    if (k1 < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT, "this model has no pooled front end");
    xfi_groups groups;
    XFI_TRY(xfi_certify_blocks(&groups, model, n_front, k1, data, omp_get_max_threads(), error));
    *margin = groups.margin;
    memcpy(sequence, groups.closest, sizeof groups.closest);
    xfi_groups_clear(&groups);
    return XF_OK;
}
