/* Reading safetensors. Nothing in the header is believed before it is compared with
 * the size of the file. */
#include "fmt/safetensors.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/index_sort.h"
#include "fmt/input_file.h"
#include "fmt/json_text.h"

#include <errno.h>
#include <string.h>

enum { PREFIX = 8, MAX_HEADER = 100000000 };

typedef struct safetensors_state {
    FILE *stream;
    json_t *header;
    int64_t data_start;
    int64_t data_size;
    int64_t *ends; /* of each entry's bytes */
} safetensors_state;

static void safetensors_close(xfi_array_file *file) {
    safetensors_state *state = file->state;
    if (state->stream != NULL)
        fclose(state->stream);
    json_decref(state->header);
    xfi_free(state->ends);
    xfi_free(state);
}

/* Types are known once the file is open. */
static xf_status safetensors_describe(xfi_array_file *file, xfi_array_entry *entry,
                                      xf_error *error) {
    (void)file;
    (void)entry;
    (void)error;
    return XF_OK;
}

static xf_status safetensors_start(xfi_array_file *file, const xfi_array_entry *entry,
                                   xf_error *error) {
    safetensors_state *state = file->state;
    if (fseeko(state->stream, state->data_start + entry->position, SEEK_SET) != 0)
        return xfi_fail(error, XF_ERR_IO, "cannot read: %s", strerror(errno));
    return XF_OK;
}

static xf_status safetensors_read(xfi_array_file *file, void *bytes, size_t size, xf_error *error) {
    safetensors_state *state = file->state;
    return xfi_input_read(state->stream, bytes, size, error);
}

static xf_status safetensors_finish(xfi_array_file *file, xf_error *error) {
    (void)file;
    (void)error;
    return XF_OK;
}

static int safetensors_locate(const xfi_array_file *file, const xfi_array_entry *entry,
                              int64_t *offset) {
    const safetensors_state *state = file->state;
    *offset = state->data_start + entry->position;
    return fileno(state->stream);
}

static const xfi_array_ops safetensors_ops = {.describe = safetensors_describe,
                                              .start = safetensors_start,
                                              .read = safetensors_read,
                                              .finish = safetensors_finish,
                                              .locate = safetensors_locate,
                                              .close = safetensors_close};

static xfi_element element_of(const char *name) {
    static const struct {
        const char *name;
        xfi_element element;
    } known[] = {{"F64", XFI_ELEMENT_F64},   {"F32", XFI_ELEMENT_F32}, {"F16", XFI_ELEMENT_F16},
                 {"BF16", XFI_ELEMENT_BF16}, {"I64", XFI_ELEMENT_I64}, {"I32", XFI_ELEMENT_I32},
                 {"I16", XFI_ELEMENT_I16},   {"I8", XFI_ELEMENT_I8},   {"U64", XFI_ELEMENT_U64},
                 {"U32", XFI_ELEMENT_U32},   {"U16", XFI_ELEMENT_U16}, {"U8", XFI_ELEMENT_U8},
                 {"BOOL", XFI_ELEMENT_BOOL}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].element;
    return XFI_ELEMENT_OTHER;
}

static xf_status fail_tensor(xf_error *error, const char *name, const char *what) {
    char shown[80];
    return xfi_fail(error, XF_ERR_DATA, "tensor '%s' %s", xfi_printable(shown, sizeof shown, name),
                    what);
}

/* Item i of a JSON array as a non-negative integer; 0 if it is none. */
static int integer_at(int64_t *out, const json_t *array, size_t i) {
    const json_t *item = json_array_get(array, i);
    if (!json_is_integer(item) || json_integer_value(item) < 0)
        return 0;
    *out = json_integer_value(item);
    return 1;
}

static xf_status read_shape(xfi_array_entry *entry, const json_t *shape, xf_error *error) {
    size_t n = json_array_size(shape);
    if (!json_is_array(shape) || n > XFI_MAX_DIMS)
        return fail_tensor(error, entry->name, "has no shape that can be read");
    entry->n_dims = (int)n;
    for (size_t i = 0; i < n; i++)
        if (!integer_at(&entry->shape[i], shape, i))
            return fail_tensor(error, entry->name, "has a dimension that is not a natural number");
    if (!xfi_shape_count(&entry->count, entry->shape, entry->n_dims))
        return fail_tensor(error, entry->name, "has a shape that overflows");
    return XF_OK;
}

static xf_status read_offsets(safetensors_state *state, xfi_array_entry *entry, int64_t *end,
                              const json_t *offsets, xf_error *error) {
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !integer_at(&entry->position, offsets, 0) || !integer_at(end, offsets, 1))
        return fail_tensor(error, entry->name, "has no data_offsets that can be read");
    if (entry->position > *end || *end > state->data_size)
        return fail_tensor(error, entry->name, "has data_offsets outside the file");
    int64_t size = xfi_element_size(entry->element), bytes = 0;
    if (size == 0)
        return XF_OK;
    if (__builtin_mul_overflow(entry->count, size, &bytes) || *end - entry->position != bytes)
        return fail_tensor(error, entry->name, "does not have the size that its shape implies");
    return XF_OK;
}

static xf_status read_entry(safetensors_state *state, xfi_array_entry *entry, int64_t *end,
                            const char *name, const json_t *value, xf_error *error) {
    size_t length = strlen(name);
    entry->name = xfi_calloc((int64_t)length + 1, 1);
    if (entry->name == NULL)
        return xfi_fail_memory(error);
    memcpy(entry->name, name, length);
    const char *type = json_string_value(json_object_get(value, "dtype"));
    if (type == NULL)
        return fail_tensor(error, name, "has no dtype");
    entry->element = element_of(type);
    xfi_printable(entry->type_name, sizeof entry->type_name, type);
    XFI_TRY(read_shape(entry, json_object_get(value, "shape"), error));
    return read_offsets(state, entry, end, json_object_get(value, "data_offsets"), error);
}

static xf_status check_metadata(const json_t *metadata, xf_error *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(metadata))
        return xfi_fail(error, XF_ERR_DATA, "__metadata__ is not a JSON object");
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value) {
        if (!json_is_string(value))
            return xfi_fail(error, XF_ERR_DATA, "__metadata__ has a value that is not a string");
    }
    return XF_OK;
}

static xf_status read_entries(xfi_array_file *file, xf_error *error) {
    safetensors_state *state = file->state;
    int64_t n = (int64_t)json_object_size(state->header);
    file->entries = xfi_calloc(n, sizeof *file->entries);
    state->ends = xfi_calloc(n, sizeof *state->ends);
    if (file->entries == NULL || state->ends == NULL)
        return xfi_fail_memory(error);
    const char *name;
    json_t *value;
    json_object_foreach(state->header, name, value) {
        if (strcmp(name, "__metadata__") == 0) {
            XFI_TRY(check_metadata(value, error));
            continue;
        }
        int64_t i = file->n_entries++;
        XFI_TRY(read_entry(state, &file->entries[i], &state->ends[i], name, value, error));
    }
    return XF_OK;
}

static int earlier(const void *context, int64_t a, int64_t b) {
    const xfi_array_file *file = context;
    const safetensors_state *state = file->state;
    int64_t start_a = file->entries[a].position, start_b = file->entries[b].position;
    if (start_a != start_b)
        return start_a < start_b;
    if (state->ends[a] != state->ends[b])
        return state->ends[a] < state->ends[b];
    return a < b;
}

/* The tensors, sorted by place, must tile the data. */
static xf_status check_tiling(const xfi_array_file *file, xf_error *error) {
    const safetensors_state *state = file->state;
    int64_t at = 0, *order = xfi_calloc(file->n_entries, sizeof *order);
    if (order == NULL)
        return xfi_fail_memory(error);
    for (int64_t i = 0; i < file->n_entries; i++)
        order[i] = i;
    xfi_index_sort(order, file->n_entries, earlier, file);
    xf_status status = XF_OK;
    for (int64_t i = 0; i < file->n_entries && status == XF_OK; i++) {
        const xfi_array_entry *entry = &file->entries[order[i]];
        if (entry->position < at)
            status = fail_tensor(error, entry->name, "overlaps another tensor");
        else if (entry->position > at)
            status = fail_tensor(error, entry->name, "comes after a hole in the data");
        at = state->ends[order[i]];
    }
    xfi_free(order);
    if (status == XF_OK && at != state->data_size)
        status = xfi_fail(error, XF_ERR_DATA, "%lld bytes at the end belong to no tensor",
                          (long long)(state->data_size - at));
    return status;
}

/* The header's text, to be freed by the caller. */
static xf_status read_header(safetensors_state *state, int64_t file_size, char **text,
                             int64_t *length, xf_error *error) {
    unsigned char prefix[PREFIX];
    if (file_size < PREFIX)
        return xfi_fail(error, XF_ERR_DATA, "too short to be a safetensors file (%lld bytes)",
                        (long long)file_size);
    XFI_TRY(xfi_input_read(state->stream, prefix, PREFIX, error));
    uint64_t claimed = xfi_load_le(prefix, PREFIX);
    if (claimed > (uint64_t)(file_size - PREFIX))
        return xfi_fail(error, XF_ERR_DATA,
                        "the header claims %llu bytes but the file has only %lld; not a "
                        "safetensors file, or truncated",
                        (unsigned long long)claimed, (long long)file_size);
    if (claimed > MAX_HEADER)
        return xfi_fail(error, XF_ERR_DATA, "the header has %llu bytes, more than the %d allowed",
                        (unsigned long long)claimed, MAX_HEADER);
    *length = (int64_t)claimed;
    *text = xfi_calloc(*length, 1);
    if (*text == NULL)
        return xfi_fail_memory(error);
    state->data_start = PREFIX + *length;
    state->data_size = file_size - state->data_start;
    return xfi_input_read(state->stream, *text, (size_t)*length, error);
}

static xf_status open_header(safetensors_state *state, const char *path, xf_error *error) {
    int64_t size = 0, length = 0;
    char *text = NULL;
    XFI_TRY(xfi_input_open(&state->stream, &size, path, error));
    xf_status status = read_header(state, size, &text, &length, error);
    if (status == XF_OK && (length == 0 || text[0] != '{'))
        status = xfi_fail(error, XF_ERR_DATA, "the header is not a JSON object");
    if (status == XF_OK)
        status = xfi_json_parse(&state->header, text, length, "the header", error);
    xfi_free(text);
    return status;
}

xf_status xfi_safetensors_open(xfi_array_file *out, const char *path, xf_error *error) {
    *out = (xfi_array_file){0};
    safetensors_state *state = xfi_calloc(1, sizeof *state);
    if (state == NULL)
        return xfi_fail_memory(error);
    out->state = state;
    out->ops = &safetensors_ops;
    XFI_TRY(open_header(state, path, error));
    XFI_TRY(read_entries(out, error));
    return check_tiling(out, error);
}

const char *xfi_safetensors_metadata(const xfi_array_file *file, const char *key) {
    const safetensors_state *state = file->state;
    return json_string_value(json_object_get(json_object_get(state->header, "__metadata__"), key));
}

int64_t xfi_safetensors_size(const xfi_array_file *file) {
    const safetensors_state *state = file->state;
    return state->data_size;
}
