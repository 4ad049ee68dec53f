/* Data sets in their three containers. Readers fill the arrays, sized and with
 * valid offsets; what the values must satisfy is checked afterwards in one place. */
#ifndef XFI_IO_DATASET_IO_H
#define XFI_IO_DATASET_IO_H

#include <exactformer/dataset.h>

#include "base/atomic_file.h"
#include "fmt/array_file.h"

typedef enum xfi_container { XFI_NPZ, XFI_SAFETENSORS, XFI_JSONL } xfi_container;

/* The container by the extension of `path`, in either case.
 * Errors: XF_ERR_ARGUMENT naming the extensions that there are. */
xf_status xfi_container_of(xfi_container *out, const char *path, xf_error *error);

/* Read, prepare and check the file as `container`, whatever its name; as xf_dataset_load. */
xf_status xfi_dataset_load_as(xf_dataset *out, const char *path, xfi_container container,
                              const xf_dataset_options *options, xf_error *error);

/* Fill `out` (initialised) from x, x_offsets, y, y_offsets of an open file, or their rectangular
 * shorthands. On failure the caller clears. Errors: XF_ERR_DATA, XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_dataset_from_file(xf_dataset *out, xfi_array_file *file,
                                const xf_dataset_options *options, xf_error *error);

/* Fill `out` (initialised) from a .jsonl file. On failure the caller clears. */
xf_status xfi_dataset_read_jsonl(xf_dataset *out, const char *path,
                                 const xf_dataset_options *options, xf_error *error);

/* Write one pair a line; x or y may be missing. Errors: XF_ERR_DATA (not finite), XF_ERR_IO,
 * XF_ERR_MEMORY. */
xf_status xfi_dataset_write_jsonl(xfi_atomic_file *file, const xf_dataset *data, xf_error *error);

#endif
