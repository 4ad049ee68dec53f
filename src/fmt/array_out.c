/* Writing arrays, a chunk at a time. */
#include "fmt/array_out.h"

#include "base/bytes.h"
#include "base/error.h"

int64_t xfi_array_out_count(const xfi_array_out *array) {
    int64_t count = 1;
    for (int i = 0; i < array->n_dims; i++)
        count *= array->shape[i];
    return count;
}

int64_t xfi_array_out_size(const xfi_array_out *array) {
    return xfi_array_out_count(array) * xfi_element_size(array->element);
}

void xfi_array_out_store(unsigned char *bytes, const xfi_array_out *array, int64_t first,
                         int64_t count) {
    const double *doubles = array->values;
    const int64_t *integers = array->values;
    if (array->element == XFI_ELEMENT_S16) {
        memcpy(bytes, (const char *)array->values + 16 * first, (size_t)count * 16);
        return;
    }
    int size = xfi_element_size(array->element);
    if (size == 8 && xfi_little_endian()) {
        memcpy(bytes, doubles + first, (size_t)count * 8);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        if (array->element == XFI_ELEMENT_F32)
            xfi_store_le(bytes + 4 * i, xfi_bits_of_float((float)doubles[first + i]), 4);
        else if (array->element == XFI_ELEMENT_F64)
            xfi_store_le(bytes + 8 * i, xfi_bits_of_double(doubles[first + i]), 8);
        else
            xfi_store_le(bytes + size * i, (uint64_t)integers[first + i], size);
    }
}

xf_status xfi_array_out_write(xfi_atomic_file *file, const xfi_array_out *array, xf_error *error) {
    unsigned char bytes[XFI_OUT_MAX_ELEMENT * XFI_OUT_CHUNK];
    int64_t count = xfi_array_out_count(array);
    int size = xfi_element_size(array->element);
    for (int64_t first = 0; first < count; first += XFI_OUT_CHUNK) {
        int64_t left = count - first, n = left < XFI_OUT_CHUNK ? left : XFI_OUT_CHUNK;
        xfi_array_out_store(bytes, array, first, n);
        XFI_TRY(xfi_atomic_write(file, bytes, (size_t)(n * size), error));
    }
    return XF_OK;
}
