/* Saving a trace: four arrays in an .npz archive. */
#include <exactformer/trace.h>

#include "base/error.h"
#include "base/text.h"
#include "fmt/npz.h"
#include "io/dataset_io.h"

#include <stddef.h>

enum { N_ARRAYS = 4 };

static void list_arrays(xfi_array_out arrays[N_ARRAYS], const xf_snapshots *s) {
    int64_t S = s->n_snapshots;
    arrays[0] = (xfi_array_out){"tokens", XFI_ELEMENT_F64, 3, {S, s->n_tokens, s->d}, s->tokens};
    arrays[1] = (xfi_array_out){"blocks_done", XFI_ELEMENT_I64, 1, {S}, s->blocks_done};
    arrays[2] = (xfi_array_out){"phase", XFI_ELEMENT_S16, 1, {S}, s->phase};
    arrays[3] =
        (xfi_array_out){"x_offsets", XFI_ELEMENT_I64, 1, {s->n_sequences + 1}, s->x_offsets};
}

static xf_status save(const xf_snapshots *snapshots, const char *path, xf_error *error) {
    xfi_array_out arrays[N_ARRAYS];
    xfi_container container;
    xfi_atomic_file file;
    if (xfi_container_of(&container, path, NULL) != XF_OK || container != XFI_NPZ)
        return xfi_fail(error, XF_ERR_ARGUMENT, "a trace is written as .npz: end the name in that");
    list_arrays(arrays, snapshots);
    XFI_TRY(xfi_atomic_open(&file, path, error));
    xf_status status = xfi_npz_write(&file, arrays, N_ARRAYS, error);
    if (status == XF_OK)
        return xfi_atomic_commit(&file, error);
    xfi_atomic_discard(&file);
    return status;
}

xf_status xf_snapshots_save(const xf_snapshots *snapshots, const char *path, xf_error *error) {
    xfi_error_clear(error);
    if (snapshots->n_snapshots < 1)
        return xfi_fail(error, XF_ERR_ARGUMENT, "there is no trace to write");
    xf_status status = save(snapshots, path, error);
    if (status != XF_OK)
        xfi_error_prefix_path(error, path);
    return status;
}
