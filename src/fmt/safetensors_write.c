/* Writing safetensors. */
#include "fmt/safetensors.h"

#include "base/bytes.h"
#include "base/error.h"

static const char *dtype_name(xfi_element element) {
    switch (element) {
    case XFI_ELEMENT_F64:
        return "F64";
    case XFI_ELEMENT_F32:
        return "F32";
    case XFI_ELEMENT_U32:
        return "U32";
    case XFI_ELEMENT_U16:
        return "U16";
    case XFI_ELEMENT_U8:
        return "U8";
    default:
        return "I64";
    }
}

/* "name":{"dtype":...,"shape":[...],"data_offsets":[...]} */
static void add_tensor(xfi_text *header, const xfi_array_out *array, int64_t offset) {
    xfi_text_add_json_string(header, array->name);
    xfi_text_add(header, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(array->element));
    for (int i = 0; i < array->n_dims; i++)
        xfi_text_add(header, "%s%lld", i ? "," : "", (long long)array->shape[i]);
    xfi_text_add(header, "],\"data_offsets\":[%lld,%lld]}", (long long)offset,
                 (long long)(offset + xfi_array_out_size(array)));
}

static void add_header(xfi_text *header, const xfi_text *metadata, const xfi_array_out *arrays,
                       int n_arrays) {
    int64_t offset = 0;
    xfi_text_add(header, "{");
    if (metadata != NULL) {
        xfi_text_add(header, "\"__metadata__\":");
        xfi_text_add_bytes(header, metadata->bytes, metadata->length);
    }
    for (int i = 0; i < n_arrays; i++) {
        if (i > 0 || metadata != NULL)
            xfi_text_add(header, ",");
        add_tensor(header, &arrays[i], offset);
        offset += xfi_array_out_size(&arrays[i]);
    }
    xfi_text_add(header, "}");
    while (header->length % 8 != 0 && !header->failed)
        xfi_text_add(header, " ");
}

static xf_status write_header(xfi_atomic_file *file, const xfi_text *header, xf_error *error) {
    unsigned char prefix[8];
    if (header->failed)
        return xfi_fail_memory(error);
    xfi_store_le(prefix, (uint64_t)header->length, 8);
    XFI_TRY(xfi_atomic_write(file, prefix, sizeof prefix, error));
    return xfi_atomic_write(file, header->bytes, (size_t)header->length, error);
}

xf_status xfi_safetensors_write(xfi_atomic_file *file, const xfi_text *metadata,
                                const xfi_array_out *arrays, int n_arrays, xf_error *error) {
    xfi_text header = {0};
    if (metadata != NULL && metadata->failed)
        return xfi_fail_memory(error);
    add_header(&header, metadata, arrays, n_arrays);
    xf_status status = write_header(file, &header, error);
    xfi_text_clear(&header);
    for (int i = 0; i < n_arrays && status == XF_OK; i++)
        status = xfi_array_out_write(file, &arrays[i], error);
    return status;
}
