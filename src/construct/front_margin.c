/* Front-end margin of a stored model. */
#include "construct/front_margin.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/cells.h"
#include "construct/displacement_bound.h"
#include "construct/front_bound.h"
#include "construct/front_certificate.h"

#include <math.h>
#include <omp.h>
#include <string.h>

/* Blocks of the front end; *next is the phase behind it. */
static int64_t count_front(const xf_model *model, int64_t *next) {
    int64_t n = 0;
    for (*next = 0; *next < model->n_phases; ++*next) {
        const char *name = model->phases[*next].name;
        if (strcmp(name, "pooling") != 0 && strcmp(name, "fold") != 0 &&
            strcmp(name, "separation") != 0 && strcmp(name, "project") != 0)
            break;
        n += model->phases[*next].count;
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

/* Groups on the line: smallest gap over the bounds that meet in it. */
static xf_status group_margin(const xf_model *model, int64_t n_front, int k1,
                              const xf_dataset *data, double *margin, int64_t sequence[2],
                              xf_error *error) {
    xfi_groups groups;
    XFI_TRY(xfi_certify_blocks(&groups, model, n_front, k1, data, omp_get_max_threads(), error));
    *margin = groups.margin;
    memcpy(sequence, groups.closest, sizeof groups.closest);
    xfi_groups_clear(&groups);
    return XF_OK;
}

int xfi_cell_bits(const xf_phase *phase) {
    if (strcmp(phase->name, "quantise") == 0)
        return (int)phase->count;
    return strcmp(phase->name, "quantise-split") == 0 ? (int)(phase->count + 1) / 2 : 0;
}

/* Writers that keep weights small read 2^-b t in place of t: then the first threshold, that of
 * the highest bit, is 1/2 and not a power of two from 1 on. */
static int reads_fraction(const xf_model *model, int64_t block, int k1) {
    double theta = INFINITY;
    for (int64_t i = 0; i < model->width; i++) {
        double weight = model->ff_U[(block * model->width + i) * model->d + k1];
        double bias = model->ff_b[block * model->width + i];
        if (weight > 0.0 && bias < 0.0)
            theta = fmin(theta, -bias / weight);
    }
    return theta < 1.0;
}

static void scale_up(double *t, double *E, int64_t n, int b) {
    for (int64_t i = 0; i < n; i++) {
        t[i] = ldexp(t[i], b);
        E[i] = ldexp(E[i], b);
    }
}

/* Cells: least distance from the integers over the bound. */
static xf_status cell_margin(const xf_model *model, int64_t n_front, int k1, int b,
                             const xf_dataset *data, double *margin, int64_t sequence[2],
                             xf_error *error) {
    double *t = xfi_calloc2(2, data->n_tokens, sizeof(double));
    if (t == NULL)
        return xfi_fail_memory(error);
    double *E = t + data->n_tokens;
    xf_status status =
        xfi_front_bound(t, E, model, n_front, k1, data, omp_get_max_threads(), error);
    if (status == XF_OK) {
        if (reads_fraction(model, n_front, k1))
            scale_up(t, E, data->n_tokens, b);
        *margin = xfi_cell_margin(data, t, E, sequence);
    }
    xfi_free(t);
    return status;
}

/* Groups of a displacement front end; its stages count, too. */
static xf_status displacement_margin(const xf_model *model, const xf_dataset *data, double *margin,
                                     int64_t sequence[2], xf_error *error) {
    xfi_groups groups;
    XFI_TRY(xfi_displacement_groups(&groups, model, data, omp_get_max_threads(), error));
    *margin = groups.margin;
    memcpy(sequence, groups.closest, sizeof groups.closest);
    xfi_groups_clear(&groups);
    return XF_OK;
}

xf_status xfi_front_margin(const xf_model *model, const xf_dataset *data, double *margin,
                           int64_t sequence[2], xf_error *error) {
    *margin = INFINITY;
    sequence[0] = sequence[1] = 0;
    if (model->n_phases == 1 && strcmp(model->phases[0].name, "constant") == 0)
        return XF_OK;
    if (xfi_has_displacement(model))
        return displacement_margin(model, data, margin, sequence, error);
    int64_t next = 0, n_front = count_front(model, &next);
    int k1 = n_front > 0 ? find_axis(model, n_front) : -1;
    if (k1 < 0 || next == model->n_phases)
        return xfi_fail(error, XF_ERR_ARGUMENT, "this model has no pooled front end");
    int b = xfi_cell_bits(&model->phases[next]);
    return b > 0 ? cell_margin(model, n_front, k1, b, data, margin, sequence, error)
                 : group_margin(model, n_front, k1, data, margin, sequence, error);
}
