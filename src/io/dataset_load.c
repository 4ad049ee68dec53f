/* Loading data sets: container by extension, then arrays, then the checks. */
#include "io/dataset_io.h"

#include "base/error.h"
#include "base/text.h"
#include "core/dataset_prepare.h"
#include "fmt/npz.h"
#include "fmt/safetensors.h"

#include <string.h>
#include <strings.h>

static int ends_with(const char *path, const char *extension) {
    size_t length = strlen(path), wanted = strlen(extension);
    return length > wanted && strcasecmp(path + length - wanted, extension) == 0;
}

xf_status xfi_container_of(xfi_container *out, const char *path, xf_error *error) {
    if (ends_with(path, ".npz"))
        *out = XFI_NPZ;
    else if (ends_with(path, ".safetensors"))
        *out = XFI_SAFETENSORS;
    else if (ends_with(path, ".jsonl"))
        *out = XFI_JSONL;
    else
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the name must end in .npz, .safetensors or .jsonl, which says the format");
    return XF_OK;
}

typedef xf_status (*open_fn)(xfi_array_file *out, const char *path, xf_error *error);

static xf_status read_array_file(xf_dataset *out, const char *path, open_fn open_file,
                                 const xf_dataset_options *options, xf_error *error) {
    xfi_array_file file = {0};
    xf_status status = open_file(&file, path, error);
    if (status == XF_OK)
        status = xfi_dataset_from_file(out, &file, options, error);
    xfi_array_close(&file);
    return status;
}

static xf_status read_container(xf_dataset *out, const char *path, xfi_container container,
                                const xf_dataset_options *options, xf_error *error) {
    if (container == XFI_JSONL)
        return xfi_dataset_read_jsonl(out, path, options, error);
    return read_array_file(out, path, container == XFI_NPZ ? xfi_npz_open : xfi_safetensors_open,
                           options, error);
}

xf_status xfi_dataset_load_as(xf_dataset *out, const char *path, xfi_container container,
                              const xf_dataset_options *options, xf_error *error) {
    xf_dataset_init(out);
    xf_status status = read_container(out, path, container, options, error);
    if (status == XF_OK)
        status = xfi_dataset_prepare(out, options, error);
    if (status == XF_OK)
        return XF_OK;
    xf_dataset_clear(out);
    xfi_error_prefix_path(error, path);
    return status;
}

xf_status xf_dataset_load(xf_dataset *out, const char *path, const xf_dataset_options *options,
                          xf_error *error) {
    xfi_container container = XFI_NPZ;
    xf_dataset_init(out);
    xf_status status = xfi_container_of(&container, path, error);
    if (status == XF_OK)
        return xfi_dataset_load_as(out, path, container, options, error);
    xfi_error_prefix_path(error, path);
    return status;
}
