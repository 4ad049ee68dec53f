/* One walk over the weight arrays. */
#include "construct/copy_blocks.h"

#include "core/model_shape.h"

#include <string.h>

void xfi_copy_blocks(xf_model *out, int64_t first, const xf_model *from) {
    xfi_weight_array old[XFI_N_WEIGHT_ARRAYS], new[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(from, old);
    xfi_model_arrays(out, new);
    for (int i = 0; i < n; i++) {
        int64_t size = old[i].shape[0] * old[i].shape[1];
        memcpy(new[i].values + first *size, old[i].values,
               (size_t)(old[i].n_blocks * size) * sizeof(double));
    }
}
