/* Where the tokens of a data set live: on the heap, or in a file (base/file_memory.h). */
#ifndef XFI_CORE_DATASET_STORAGE_H
#define XFI_CORE_DATASET_STORAGE_H

#include "base/file_memory.h"

#include <exactformer/dataset.h>

/* Give data->x room for n_tokens of d values: on the heap, or in a temporary file if that is too
 * much for one of n_processes. The room is written to before anyone looks at data->storage.
 * Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_tokens_new(xf_dataset *data, int64_t n_tokens, int64_t d, int n_processes,
                         xf_error *error);

/* Let data->x be the values in an open file from `offset` (a multiple of 8) on, read-only.
 * Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_tokens_map(xf_dataset *data, int descriptor, int64_t offset, int64_t n_values,
                         xf_error *error);

/* Copy tokens that can only be read to room that can be written to; else do nothing.
 * Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_tokens_make_writable(xf_dataset *data, xf_error *error);

int xfi_tokens_are_read_only(const xf_dataset *data);

/* Release data->x, wherever it is. */
void xfi_tokens_free(xf_dataset *data);

#endif
