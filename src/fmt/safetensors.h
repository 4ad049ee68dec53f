/* The safetensors container: 8 bytes of header length, a JSON header, then the
 * tensors, little-endian in C order, without holes or overlaps. */
#ifndef XFI_FMT_SAFETENSORS_H
#define XFI_FMT_SAFETENSORS_H

#include "base/text.h"
#include "fmt/array_file.h"
#include "fmt/array_out.h"

/* Read and check the header. Close with xfi_array_close, also after a failure.
 * Errors: XF_ERR_IO, XF_ERR_DATA, XF_ERR_MEMORY; the path is not in the message. */
xf_status xfi_safetensors_open(xfi_array_file *out, const char *path, xf_error *error);

/* The string `key` of __metadata__, owned by the file, or NULL. Only for files that
 * xfi_safetensors_open opened. */
const char *xfi_safetensors_metadata(const xfi_array_file *file, const char *key);

/* Bytes of all tensors together. Likewise. */
int64_t xfi_safetensors_size(const xfi_array_file *file);

/* Write a file with the arrays in the given order. `metadata` is the text of a JSON
 * object of strings, or NULL. The data start at a multiple of 8; the same arguments give the same
 * bytes. Errors: XF_ERR_IO, XF_ERR_MEMORY; nothing is committed. */
xf_status xfi_safetensors_write(xfi_atomic_file *file, const xfi_text *metadata,
                                const xfi_array_out *arrays, int n_arrays, xf_error *error);

#endif
