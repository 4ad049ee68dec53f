/* Saving data sets and outputs. */
#include "io/dataset_io.h"

#include "base/error.h"
#include "base/text.h"
#include "core/dataset_prepare.h"
#include "fmt/npz.h"
#include "fmt/safetensors.h"

/* Two arrays for the inputs, two for the targets, where present; returns how many. */
static int list_arrays(xfi_array_out arrays[4], const xf_dataset *data) {
    int count = 0;
    int64_t offsets = data->n_sequences + 1;
    if (data->x != NULL) {
        arrays[count++] =
            (xfi_array_out){"x", XFI_ELEMENT_F64, 2, {data->n_tokens, data->d}, data->x};
        arrays[count++] =
            (xfi_array_out){"x_offsets", XFI_ELEMENT_I64, 1, {offsets}, data->x_offsets};
    }
    if (data->y != NULL) {
        arrays[count++] =
            (xfi_array_out){"y", XFI_ELEMENT_F64, 2, {data->n_targets, data->d}, data->y};
        arrays[count++] =
            (xfi_array_out){"y_offsets", XFI_ELEMENT_I64, 1, {offsets}, data->y_offsets};
    }
    return count;
}

static xf_status write_container(xfi_atomic_file *file, const xf_dataset *data,
                                 xfi_container container, xf_error *error) {
    xfi_array_out arrays[4];
    int n = list_arrays(arrays, data);
    if (container == XFI_JSONL)
        return xfi_dataset_write_jsonl(file, data, error);
    if (container == XFI_NPZ)
        return xfi_npz_write(file, arrays, n, error);
    return xfi_safetensors_write(file, NULL, arrays, n, error);
}

static xf_status save(const xf_dataset *data, const char *path, xf_error *error) {
    xfi_container container = XFI_NPZ;
    xfi_atomic_file file;
    XFI_TRY(xfi_container_of(&container, path, error));
    XFI_TRY(xfi_atomic_open(&file, path, error));
    xf_status status = write_container(&file, data, container, error);
    if (status == XF_OK)
        return xfi_atomic_commit(&file, error);
    xfi_atomic_discard(&file);
    return status;
}

/* What is saved must at least have offsets that fit. */
static xf_status check_sides(const xf_dataset *data, xf_error *error) {
    int missing = (data->x == NULL && data->y == NULL) ||
                  (data->x == NULL) != (data->x_offsets == NULL) ||
                  (data->y == NULL) != (data->y_offsets == NULL);
    if (data->n_sequences < 1 || data->d < 1 || missing)
        return xfi_fail(error, XF_ERR_DATA,
                        "there is nothing to write: no sequences, no coordinates or no arrays");
    if (data->x != NULL)
        XFI_TRY(xfi_offsets_check("x_offsets", data->x_offsets, data->n_sequences, data->n_tokens,
                                  error));
    if (data->y != NULL)
        XFI_TRY(xfi_offsets_check("y_offsets", data->y_offsets, data->n_sequences, data->n_targets,
                                  error));
    return XF_OK;
}

static xf_status check_and_save(const xf_dataset *data, const char *path, xf_error *error) {
    xf_status status = check_sides(data, error);
    if (status == XF_OK)
        status = save(data, path, error);
    if (status != XF_OK)
        xfi_error_prefix_path(error, path);
    return status;
}

xf_status xf_dataset_save(const xf_dataset *data, const char *path, xf_error *error) {
    if (data->x == NULL)
        return xfi_fail(error, XF_ERR_DATA, "the data set is empty");
    return check_and_save(data, path, error);
}

xf_status xf_outputs_save(const char *path, int64_t n_sequences, int64_t d, const double *y,
                          const int64_t *y_offsets, xf_error *error) {
    if (n_sequences < 1 || y == NULL || y_offsets == NULL)
        return xfi_fail(error, XF_ERR_ARGUMENT, "there are no outputs to write");
    xf_dataset view = {.n_sequences = n_sequences,
                       .d = d,
                       .n_targets = y_offsets[n_sequences],
                       .positions = -1,
                       .y = (double *)(uintptr_t)y,
                       .y_offsets = (int64_t *)(uintptr_t)y_offsets};
    return check_and_save(&view, path, error);
}
