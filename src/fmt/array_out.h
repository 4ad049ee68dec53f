/* Arrays on their way into a file: always little-endian, C order. */
#ifndef XFI_FMT_ARRAY_OUT_H
#define XFI_FMT_ARRAY_OUT_H

#include "base/atomic_file.h"
#include "fmt/element.h"

enum { XFI_OUT_MAX_DIMS = 4, XFI_OUT_CHUNK = 1024, XFI_OUT_MAX_ELEMENT = 16 };

typedef struct xfi_array_out {
    const char *name;
    xfi_element element; /* F64 or F32 (from double), I64, U32, U16 or U8 (from int64_t), in .npz
                            only F64, F32, I64 and S16 (from char[16]) */
    int n_dims;
    int64_t shape[XFI_OUT_MAX_DIMS];
    const void *values; /* [shape], borrowed */
} xfi_array_out;

int64_t xfi_array_out_count(const xfi_array_out *array);

/* Size of the whole array in bytes. */
int64_t xfi_array_out_size(const xfi_array_out *array);

/* Store elements first .. first+count-1 to `bytes`. Numeric class: exact for all but F32, and for
 * F32 where the values are binary32 numbers. */
void xfi_array_out_store(unsigned char *bytes, const xfi_array_out *array, int64_t first,
                         int64_t count);

/* Write all elements. Errors: XF_ERR_IO. */
xf_status xfi_array_out_write(xfi_atomic_file *file, const xfi_array_out *array, xf_error *error);

#endif
