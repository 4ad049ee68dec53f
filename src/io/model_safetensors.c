/* Models in files, in either layout. */
#include <exactformer/model.h>

#include "base/error.h"
#include "core/model_shape.h"
#include "fmt/safetensors.h"
#include "io/model_compact.h"
#include "io/model_config.h"

#include <string.h>

static const char FORMAT[] = "exactformer", HUB_FORMAT[] = "pt", VERSION[] = "1",
                  COMPACT[] = "compact";

static void add_metadata(xfi_text *metadata, const xf_model *model, xf_layout layout) {
    xfi_text config = {0};
    xfi_model_config_add(&config, model);
    xfi_text_add(metadata, "{\"format\":\"%s\",\"version\":\"%s\",", FORMAT, VERSION);
    if (layout == XF_LAYOUT_COMPACT)
        xfi_text_add(metadata, "\"layout\":\"%s\",", COMPACT);
    xfi_text_add(metadata, "\"config\":");
    if (config.failed)
        metadata->failed = 1;
    else
        xfi_text_add_json_string(metadata, config.bytes);
    xfi_text_add(metadata, "}");
    xfi_text_clear(&config);
}

static int list_tensors(xfi_array_out tensors[XFI_N_WEIGHT_ARRAYS], const xf_model *model) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(model, arrays);
    for (int i = 0; i < n; i++)
        tensors[i] = (xfi_array_out){
            arrays[i].name,       model->dtype == XF_F32 ? XFI_ELEMENT_F32 : XFI_ELEMENT_F64,
            1 + arrays[i].n_dims, {arrays[i].n_blocks, arrays[i].shape[0], arrays[i].shape[1]},
            arrays[i].values,
        };
    return n;
}

static xf_status write_tensors(xfi_atomic_file *file, const xf_model *model, xf_layout layout,
                               const xfi_array_out *tensors, int n, xf_error *error) {
    xfi_text metadata = {0};
    add_metadata(&metadata, model, layout);
    xf_status status = xfi_safetensors_write(file, &metadata, tensors, n, error);
    xfi_text_clear(&metadata);
    return status;
}

static xf_status write_model(xfi_atomic_file *file, const xf_model *model, xf_layout layout,
                             xf_error *error) {
    if (layout == XF_LAYOUT_DENSE) {
        xfi_array_out tensors[XFI_N_WEIGHT_ARRAYS];
        int n = list_tensors(tensors, model);
        return write_tensors(file, model, layout, tensors, n, error);
    }
    xfi_compact compact;
    XFI_TRY(xfi_compact_make(&compact, model, error));
    xf_status status = write_tensors(file, model, layout, compact.tensors, compact.n, error);
    xfi_compact_clear(&compact);
    return status;
}

static xf_status save(const xf_model *model, const char *path, xf_layout layout, xf_error *error) {
    xfi_atomic_file file;
    if (layout != XF_LAYOUT_DENSE && layout != XF_LAYOUT_COMPACT)
        return xfi_fail(error, XF_ERR_ARGUMENT, "unknown layout %d", (int)layout);
    XFI_TRY(xf_model_check(model, error));
    XFI_TRY(xfi_atomic_open(&file, path, error));
    xf_status status = write_model(&file, model, layout, error);
    if (status == XF_OK)
        return xfi_atomic_commit(&file, error);
    xfi_atomic_discard(&file);
    return status;
}

xf_status xf_model_save_as(const xf_model *model, const char *path, xf_layout layout,
                           xf_error *error) {
    xf_status status = save(model, path, layout, error);
    if (status != XF_OK)
        xfi_error_prefix_path(error, path);
    return status;
}

xf_status xf_model_save(const xf_model *model, const char *path, xf_error *error) {
    return xf_model_save_as(model, path, XF_LAYOUT_DENSE, error);
}

static xf_status check_format(xf_layout *layout, const xfi_array_file *file, xf_error *error) {
    const char *format = xfi_safetensors_metadata(file, "format");
    const char *version = xfi_safetensors_metadata(file, "version");
    if (format == NULL || (strcmp(format, FORMAT) != 0 && strcmp(format, HUB_FORMAT) != 0))
        return xfi_fail(error, XF_ERR_DATA,
                        "not an exactformer model: __metadata__ lacks \"format\": \"%s\"", FORMAT);
    if (version == NULL || strcmp(version, VERSION) != 0)
        return xfi_fail(error, XF_ERR_DATA,
                        "this version of the model format cannot be read; only version %s can",
                        VERSION);
    if (xfi_safetensors_metadata(file, "config") == NULL)
        return xfi_fail(error, XF_ERR_DATA, "__metadata__ has no config");
    const char *name = xfi_safetensors_metadata(file, "layout");
    *layout = name != NULL && strcmp(name, COMPACT) == 0 ? XF_LAYOUT_COMPACT : XF_LAYOUT_DENSE;
    if (name != NULL && *layout == XF_LAYOUT_DENSE && strcmp(name, "dense") != 0)
        return xfi_fail(error, XF_ERR_DATA, "the layout is neither \"dense\" nor \"compact\"");
    return XF_OK;
}

/* The tensor of this name with the dtype and shape that the config says; *out NULL if it is
 * absent. */
static xf_status find_tensor(xfi_array_entry **out, xfi_array_file *file, const xf_model *config,
                             const xfi_weight_array *array, xf_error *error) {
    XFI_TRY(xfi_array_find(out, file, array->name, error));
    if (*out == NULL)
        return XF_OK;
    const xfi_array_entry *entry = *out;
    int ok = entry->n_dims == 1 + array->n_dims && entry->shape[0] == array->n_blocks;
    for (int i = 0; ok && i < array->n_dims; i++)
        ok = entry->shape[1 + i] == array->shape[i];
    if (!ok)
        return xfi_fail(error, XF_ERR_DATA,
                        "tensor '%s' does not have the shape that the config implies (%lld blocks, "
                        "d %lld, width %lld)",
                        array->name, (long long)config->n_blocks, (long long)config->d,
                        (long long)config->width);
    xfi_element wanted = config->dtype == XF_F32 ? XFI_ELEMENT_F32 : XFI_ELEMENT_F64;
    if (entry->element != wanted)
        return xfi_fail(error, XF_ERR_DATA, "tensor '%s' has dtype %s but the config says %s",
                        array->name, entry->type_name, config->dtype == XF_F32 ? "F32" : "F64");
    return XF_OK;
}

/* Shapes of all tensors by the config; no values yet. */
static int expected_arrays(xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS], const xf_model *config) {
    static double present; /* only tells that an array is there */
    xf_model shape = {.n_blocks = config->n_blocks, .d = config->d, .width = config->width};
    shape.ff_eta = shape.ff_W = shape.ff_U = shape.ff_b = shape.sa_rho = &present;
    shape.sa_A = shape.sa_V = (xf_low_rank){&present, &present, &present, &present};
    return xfi_model_arrays(&shape, arrays);
}

/* Compare one array with the config; *present tells whether it is there. */
static xf_status check_array(int *present, xfi_array_file *file, const xf_model *config,
                             const xfi_weight_array *array, xf_layout layout, xf_error *error) {
    xfi_array_entry *entry = NULL;
    if (layout == XF_LAYOUT_COMPACT && !xfi_compact_is_whole(array->name))
        return xfi_compact_check(present, file, array->name, config->dtype, error);
    XFI_TRY(find_tensor(&entry, file, config, array, error));
    *present = entry != NULL;
    if (entry == NULL && !xfi_array_is_optional(array))
        return xfi_fail(error, XF_ERR_DATA, "there is no tensor '%s'", array->name);
    return XF_OK;
}

/* Compare every array with the config before anything of that size is allocated. present [n]. */
static xf_status check_tensors(xfi_array_file *file, const xf_model *config, int *present,
                               xf_layout layout, xf_error *error) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = expected_arrays(arrays, config), n_needed = 0;
    for (int i = 0; i < n; i++) {
        XFI_TRY(check_array(&present[i], file, config, &arrays[i], layout, error));
        if (present[i] || !xfi_array_is_optional(&arrays[i]))
            arrays[n_needed++] = arrays[i];
    }
    if (layout == XF_LAYOUT_DENSE)
        return XF_OK;
    return xfi_compact_check_size(arrays, n_needed, xfi_safetensors_size(file), error);
}

static xf_status read_array(const xfi_weight_array *array, xfi_array_file *file, xf_layout layout,
                            xf_error *error) {
    xfi_array_entry *entry = NULL;
    int64_t bad = -1;
    if (layout == XF_LAYOUT_COMPACT && !xfi_compact_is_whole(array->name))
        return xfi_compact_read(array, file, error);
    XFI_TRY(xfi_array_find(&entry, file, array->name, error));
    return xfi_array_read_doubles(array->values, file, entry, &bad, error);
}

/* Arrays that a compact file lacks are 0, as they are now. */
static xf_status read_weights(xf_model *out, xfi_array_file *file, xf_layout layout,
                              xf_error *error) {
    xfi_weight_array arrays[XFI_N_WEIGHT_ARRAYS];
    int n = xfi_model_arrays(out, arrays);
    for (int i = 0; i < n; i++) {
        int present = 1;
        if (layout == XF_LAYOUT_COMPACT)
            XFI_TRY(check_array(&present, file, out, &arrays[i], layout, error));
        if (present)
            XFI_TRY(read_array(&arrays[i], file, layout, error));
    }
    return XF_OK;
}

static xf_status read_model(xf_model *out, xf_model *config, xfi_array_file *file,
                            xf_error *error) {
    enum { A_FULL = XFI_N_WEIGHT_ARRAYS - 2, V_FULL = XFI_N_WEIGHT_ARRAYS - 1 };
    int present[XFI_N_WEIGHT_ARRAYS] = {0};
    xf_layout layout;
    XFI_TRY(check_format(&layout, file, error));
    XFI_TRY(xfi_model_config_parse(config, xfi_safetensors_metadata(file, "config"), error));
    XFI_TRY(check_tensors(file, config, present, layout, error));
    const int has_full[2] = {present[A_FULL], present[V_FULL]};
    XFI_TRY(xfi_model_from_config(out, config, has_full, error));
    XFI_TRY(read_weights(out, file, layout, error));
    return xf_model_check(out, error);
}

xf_status xf_model_load(xf_model *out, const char *path, xf_error *error) {
    xfi_array_file file = {0};
    xf_model config;
    xf_model_init(out);
    xf_model_init(&config);
    xf_status status = xfi_safetensors_open(&file, path, error);
    if (status == XF_OK)
        status = read_model(out, &config, &file, error);
    xfi_array_close(&file);
    xf_model_clear(&config);
    if (status == XF_OK)
        return XF_OK;
    xf_model_clear(out);
    xfi_error_prefix_path(error, path);
    return status;
}
