/* The weights of a model as a list of named arrays, so that saving, loading,
 * checking and measuring walk over them in one way. */
#ifndef XFI_CORE_MODEL_SHAPE_H
#define XFI_CORE_MODEL_SHAPE_H

#include <exactformer/model.h>

enum { XFI_N_WEIGHT_ARRAYS = 13 };

typedef struct xfi_weight_array {
    const char *name; /* as in the interchange layout */
    double *values;   /* [n_blocks][shape[0]][shape[1]] */
    int64_t n_blocks;
    int64_t shape[2]; /* of one block, padded by ones */
    int n_dims;       /* of one block: 0, 1 or 2 */
} xfi_weight_array;

/* The arrays that `model` has (full matrices only where present); returns how many.
 * The order is that of the interchange layout. */
int xfi_model_arrays(const xf_model *model, xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS]);

/* The first place from i on, before n, that holds anything but +0; n if there is none. Most weights
 * of constructed models are +0, so passes over weights go from one such place to the next. */
int64_t xfi_next_weight(const double *values, int64_t i, int64_t n);

/* Is it an array that a model may lack: a full matrix? */
int xfi_array_is_optional(const xfi_weight_array *array);

/* Append a phase of `count` blocks after those already named; nothing if count is 0. */
xf_status xfi_model_add_phase(xf_model *model, const char *name, int64_t count, xf_error *error);

#endif
