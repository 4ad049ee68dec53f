/* The compact layout (docs/compact.md): each weight array of the interchange layout as the places
 * and values of what is not +0; eta and rho whole. */
#ifndef XFI_IO_MODEL_COMPACT_H
#define XFI_IO_MODEL_COMPACT_H

#include "core/model_shape.h"
#include "fmt/array_file.h"
#include "fmt/array_out.h"

enum { XFI_COMPACT_TENSORS = 2 * XFI_N_WEIGHT_ARRAYS };

/* Where the writer is in one array; two for each, for values and for steps. */
typedef struct xfi_compact_source {
    const double *values;
    int64_t at;       /* next element to look at */
    int64_t previous; /* place of the last one that was not +0 */
    char name[24];
} xfi_compact_source;

/* tensors [XFI_COMPACT_TENSORS]: values of all arrays, then their steps, drawn from sources
 * [XFI_COMPACT_TENSORS], which must stay. Returns how many. */
int xfi_compact_tensors(xfi_array_out *tensors, xfi_compact_source *sources, const xf_model *model);

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
