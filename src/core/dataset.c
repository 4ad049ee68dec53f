/* The data set in memory: ownership and copying. */
#include <exactformer/dataset.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/dataset_prepare.h"
#include "core/dataset_storage.h"

#include <string.h>

void xf_dataset_init(xf_dataset *data) {
    *data = (xf_dataset){.positions = -1};
}

void xf_dataset_clear(xf_dataset *data) {
    if (data == NULL)
        return;
    xfi_tokens_free(data);
    xfi_free(data->x_offsets);
    xfi_free(data->y);
    xfi_free(data->y_offsets);
    xf_dataset_init(data);
}

/* Copy one side; the offsets are checked first, since they say how much there is. */
static xf_status copy_side(double **values, int64_t **offsets, const double *from,
                           const int64_t *from_offsets, const xf_dataset *data, const char *name,
                           xf_error *error) {
    int64_t n = data->n_sequences, rows = from_offsets[n];
    XFI_TRY(xfi_offsets_check(name, from_offsets, n, rows, error));
    *offsets = xfi_calloc(n + 1, sizeof **offsets);
    *values = xfi_calloc2(rows, data->d, sizeof **values);
    if (*offsets == NULL || *values == NULL)
        return xfi_fail_memory(error);
    memcpy(*offsets, from_offsets, (size_t)(n + 1) * sizeof **offsets);
    memcpy(*values, from, (size_t)(rows * data->d) * sizeof **values);
    return XF_OK;
}

/* The borrowed arrays of xf_dataset_from_arrays. */
typedef struct sources {
    const double *x;
    const int64_t *x_offsets;
    const double *y;
    const int64_t *y_offsets;
} sources;

static xf_status copy_and_prepare(xf_dataset *out, const sources *from,
                                  const xf_dataset_options *options, xf_error *error) {
    int with_targets = from->y != NULL && !(options != NULL && options->inputs_only);
    XFI_TRY(copy_side(&out->x, &out->x_offsets, from->x, from->x_offsets, out, "x_offsets", error));
    out->n_tokens = out->x_offsets[out->n_sequences];
    if (with_targets) {
        XFI_TRY(
            copy_side(&out->y, &out->y_offsets, from->y, from->y_offsets, out, "y_offsets", error));
        out->n_targets = out->y_offsets[out->n_sequences];
    }
    return xfi_dataset_prepare(out, options, error);
}

xf_status xf_dataset_from_arrays(xf_dataset *out, int64_t n_sequences, int64_t d, const double *x,
                                 const int64_t *x_offsets, const double *y,
                                 const int64_t *y_offsets, const xf_dataset_options *options,
                                 xf_error *error) {
    xf_dataset_init(out);
    if (n_sequences < 1 || d < 1 || n_sequences == INT64_MAX || d == INT64_MAX)
        return xfi_fail(error, XF_ERR_DATA,
                        "a data set needs at least one sequence and one coordinate, got %lld and "
                        "%lld",
                        (long long)n_sequences, (long long)d);
    if (x == NULL || x_offsets == NULL || (y == NULL) != (y_offsets == NULL))
        return xfi_fail(error, XF_ERR_ARGUMENT, "x needs x_offsets, and y needs y_offsets");
    out->n_sequences = n_sequences;
    out->d = d;
    sources from = {x, x_offsets, y, y_offsets};
    xf_status status = copy_and_prepare(out, &from, options, error);
    if (status != XF_OK)
        xf_dataset_clear(out);
    return status;
}
