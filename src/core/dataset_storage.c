/* The home of the tokens. */
#include "core/dataset_storage.h"

#include "base/alloc.h"
#include "base/error.h"

#include <string.h>

struct xf_storage {
    xfi_file_memory memory;
};

static xf_status new_storage(xf_dataset *data, xf_error *error) {
    data->x = NULL;
    data->storage = xfi_calloc(1, sizeof *data->storage);
    return data->storage != NULL ? XF_OK : xfi_fail_memory(error);
}

static void drop_storage(xf_dataset *data) {
    xfi_free(data->storage);
    data->storage = NULL;
}

xf_status xfi_tokens_new(xf_dataset *data, int64_t n_tokens, int64_t d, int n_processes,
                         xf_error *error) {
    int64_t bytes = 0;
    data->storage = NULL;
    if (__builtin_mul_overflow(n_tokens, d, &bytes) || __builtin_mul_overflow(bytes, 8, &bytes) ||
        !xfi_memory_is_scarce(bytes, n_processes)) {
        data->x = xfi_calloc2(n_tokens, d, sizeof *data->x);
        return data->x != NULL ? XF_OK : xfi_fail_memory(error);
    }
    void *room = NULL;
    XFI_TRY(new_storage(data, error));
    xf_status status = xfi_file_memory_new(&data->storage->memory, &room, bytes, error);
    if (status != XF_OK)
        drop_storage(data);
    data->x = room;
    return status;
}

xf_status xfi_tokens_map(xf_dataset *data, int descriptor, int64_t offset, int64_t n_values,
                         xf_error *error) {
    const void *values = NULL;
    XFI_TRY(new_storage(data, error));
    xf_status status = xfi_file_memory_map(&data->storage->memory, &values, descriptor, offset,
                                           n_values * (int64_t)sizeof *data->x, error);
    if (status != XF_OK)
        drop_storage(data);
    data->x = (double *)(uintptr_t)values; /* the pages themselves refuse writing */
    return status;
}

int xfi_tokens_are_read_only(const xf_dataset *data) {
    return data->storage != NULL && data->storage->memory.read_only;
}

xf_status xfi_tokens_make_writable(xf_dataset *data, xf_error *error) {
    if (!xfi_tokens_are_read_only(data))
        return XF_OK;
    xf_dataset copy = {0};
    XFI_TRY(xfi_tokens_new(&copy, data->n_tokens, data->d, 1, error));
    memcpy(copy.x, data->x, (size_t)(data->n_tokens * data->d) * sizeof *copy.x);
    xfi_tokens_free(data);
    data->x = copy.x;
    data->storage = copy.storage;
    return XF_OK;
}

void xfi_tokens_free(xf_dataset *data) {
    if (data->storage == NULL)
        xfi_free(data->x);
    else
        xfi_file_memory_clear(&data->storage->memory);
    drop_storage(data);
    data->x = NULL;
}
