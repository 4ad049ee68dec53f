/* NumPy's .npz: a zip archive of .npy members, stored or deflated. */
#ifndef XFI_FMT_NPZ_H
#define XFI_FMT_NPZ_H

#include "fmt/array_file.h"
#include "fmt/array_out.h"

/* List the arrays of an archive; headers are read by xfi_array_find. Close with
 * xfi_array_close, also after a failure. A member is refused (XF_ERR_DATA) if it is encrypted,
 * compressed otherwise, or of another size than its header implies.
 * Errors: XF_ERR_IO, XF_ERR_DATA, XF_ERR_MEMORY; the path is not in the message. */
xf_status xfi_npz_open(xfi_array_file *out, const char *path, xf_error *error);

/* Write the arrays as a new archive: stored, with a fixed time stamp, so that the
 * same arrays give the same bytes. Errors: XF_ERR_IO, XF_ERR_MEMORY; nothing is committed. */
xf_status xfi_npz_write(xfi_atomic_file *file, const xfi_array_out *arrays, int n_arrays,
                        xf_error *error);

#endif
