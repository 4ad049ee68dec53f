/* The compact layout (docs/compact.md): each weight array of the interchange layout as the places
 * and values of what is not +0; eta and rho whole. */
#ifndef XFI_IO_MODEL_COMPACT_H
#define XFI_IO_MODEL_COMPACT_H

#include "core/model_shape.h"
#include "fmt/array_file.h"
#include "fmt/array_out.h"

enum { XFI_COMPACT_TENSORS = 2 * XFI_N_WEIGHT_ARRAYS };

/* The tensors of a model, ready to be written. */
typedef struct xfi_compact {
    int n;
    xfi_array_out tensors[XFI_COMPACT_TENSORS];
    char names[XFI_COMPACT_TENSORS][24];
    double *values; /* what is stored of all arrays, one after the other, owned */
    int64_t *steps; /* owned */
} xfi_compact;

/* Collect what is to be stored. Release with xfi_compact_clear; the model must outlive it.
 * Errors: XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_compact_make(xfi_compact *out, const xf_model *model, xf_error *error);
void xfi_compact_clear(xfi_compact *compact);

/* Is the array of this name stored whole? */
int xfi_compact_is_whole(const char *name);

/* Find the two tensors of an array and compare them with each other and with the dtype; *present
 * tells whether they are there. Absent means all +0. Errors: XF_ERR_DATA. */
xf_status xfi_compact_check(int *present, xfi_array_file *file, const char *name, xf_dtype dtype,
                            xf_error *error);

/* Read one array that is there. array->values is all +0.
 * Errors: XF_ERR_DATA (places out of order or range), XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_compact_read(const xfi_weight_array *array, xfi_array_file *file, xf_error *error);

/* Would arrays of this shape take unreasonably much memory, given the size of the file?
 * Errors: XF_ERR_DATA. */
xf_status xfi_compact_check_size(const xfi_weight_array *arrays, int n, int64_t file_bytes,
                                 xf_error *error);

#endif
