/* Reading arrays out of their containers, a chunk at a time. */
#include "fmt/array_file.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"

#include <string.h>

enum { CHUNK = 1024 }; /* elements converted at a time */

int xfi_shape_count(int64_t *count, const int64_t *shape, int n_dims) {
    int64_t product = 1;
    int overflow = 0, empty = 0;
    for (int i = 0; i < n_dims; i++) {
        if (shape[i] < 0)
            return 0;
        empty = empty || shape[i] == 0;
        overflow = __builtin_mul_overflow(product, shape[i], &product) || overflow;
    }
    *count = empty ? 0 : product;
    return empty || !overflow;
}

void xfi_array_close(xfi_array_file *file) {
    if (file->ops != NULL)
        file->ops->close(file);
    for (int64_t i = 0; i < file->n_entries; i++)
        xfi_free(file->entries[i].name);
    xfi_free(file->entries);
    *file = (xfi_array_file){0};
}

xf_status xfi_array_find(xfi_array_entry **out, xfi_array_file *file, const char *name,
                         xf_error *error) {
    *out = NULL;
    for (int64_t i = 0; i < file->n_entries; i++) {
        if (strcmp(file->entries[i].name, name) != 0)
            continue;
        if (*out != NULL)
            return xfi_fail(error, XF_ERR_DATA, "two arrays are named '%s'", name);
        *out = &file->entries[i];
    }
    return *out == NULL ? XF_OK : file->ops->describe(file, *out, error);
}

xf_status xfi_array_require(const xfi_array_entry *entry, int integers, xf_error *error) {
    if (xfi_element_is_integer(entry->element))
        return XF_OK;
    if (integers)
        return xfi_fail(error, XF_ERR_DATA, "array '%s' has type %s; store integers", entry->name,
                        entry->type_name);
    if (xfi_element_is_float(entry->element))
        return XF_OK;
    return xfi_fail(error, XF_ERR_DATA,
                    "array '%s' has type %s, which cannot be read; store floats or integers",
                    entry->name, entry->type_name);
}

/* Where the elements of a stream go: C order is 0, 1, 2, ..., Fortran order steps
 * through the shape with the first index fastest. */
typedef struct walk {
    const xfi_array_entry *entry;
    int64_t index[XFI_MAX_DIMS];
    int64_t stride[XFI_MAX_DIMS];
    int64_t place;
} walk;

static walk walk_start(const xfi_array_entry *entry) {
    walk at = {.entry = entry};
    int64_t stride = 1;
    for (int i = entry->n_dims - 1; i >= 0; i--) {
        at.stride[i] = stride;
        stride *= entry->count == 0 ? 0 : entry->shape[i];
    }
    return at;
}

static void walk_next(walk *at) {
    if (!at->entry->fortran) {
        at->place++;
        return;
    }
    for (int i = 0; i < at->entry->n_dims; i++) {
        at->place += at->stride[i];
        if (++at->index[i] < at->entry->shape[i])
            return;
        at->place -= at->index[i] * at->stride[i];
        at->index[i] = 0;
    }
}

static int is_native_double(const xfi_array_entry *entry) {
    return entry->element == XFI_ELEMENT_F64 && entry->big_endian != xfi_little_endian() &&
           !entry->fortran;
}

int xfi_array_locate(int *descriptor, int64_t *offset, const xfi_array_file *file,
                     const xfi_array_entry *entry) {
    if (file->ops->locate == NULL || !is_native_double(entry))
        return 0;
    *descriptor = file->ops->locate(file, entry, offset);
    return *offset % (int64_t)sizeof(double) == 0;
}

/* Convert `count` elements from the stream and scatter them. */
static xf_status read_chunk(double *out, xfi_array_file *file, walk *at, int64_t count,
                            int64_t *bad, xf_error *error) {
    unsigned char bytes[8 * CHUNK];
    double values[CHUNK];
    const xfi_array_entry *entry = at->entry;
    size_t size = (size_t)count * (size_t)xfi_element_size(entry->element);
    XFI_TRY(file->ops->read(file, bytes, size, error));
    int64_t done = xfi_elements_to_double(values, bytes, count, entry->element, entry->big_endian);
    for (int64_t i = 0; i < done; i++) {
        out[at->place] = values[i];
        walk_next(at);
    }
    if (done == count)
        return XF_OK;
    *bad = at->place;
    return xfi_fail(error, XF_ERR_DATA,
                    "an integer in '%s' has more than 53 significant bits and is not exact in "
                    "binary64; store smaller integers or floats",
                    entry->name);
}

static xf_status read_all(double *out, xfi_array_file *file, const xfi_array_entry *entry,
                          int64_t *bad, xf_error *error) {
    if (is_native_double(entry))
        return file->ops->read(file, out, (size_t)entry->count * sizeof *out, error);
    walk at = walk_start(entry);
    for (int64_t first = 0; first < entry->count; first += CHUNK) {
        int64_t left = entry->count - first;
        XFI_TRY(read_chunk(out, file, &at, left < CHUNK ? left : CHUNK, bad, error));
    }
    return XF_OK;
}

xf_status xfi_array_read_doubles(double *out, xfi_array_file *file, const xfi_array_entry *entry,
                                 int64_t *bad, xf_error *error) {
    *bad = -1;
    XFI_TRY(xfi_array_require(entry, 0, error));
    XFI_TRY(file->ops->start(file, entry, error));
    XFI_TRY(read_all(out, file, entry, bad, error));
    return file->ops->finish(file, error);
}

xf_status xfi_array_scatter_doubles(double *out, const int64_t *places, xfi_array_file *file,
                                    const xfi_array_entry *entry, xf_error *error) {
    unsigned char bytes[8 * CHUNK];
    double values[CHUNK];
    int size = xfi_element_size(entry->element);
    XFI_TRY(xfi_array_require(entry, 0, error));
    XFI_TRY(file->ops->start(file, entry, error));
    for (int64_t first = 0; first < entry->count; first += CHUNK) {
        int64_t left = entry->count - first, n = left < CHUNK ? left : CHUNK;
        XFI_TRY(file->ops->read(file, bytes, (size_t)(n * size), error));
        xfi_elements_to_double(values, bytes, n, entry->element, entry->big_endian);
        for (int64_t i = 0; i < n; i++)
            out[places[first + i]] = values[i];
    }
    return file->ops->finish(file, error);
}

xf_status xfi_array_read_integers(int64_t *out, xfi_array_file *file, const xfi_array_entry *entry,
                                  xf_error *error) {
    XFI_TRY(xfi_array_require(entry, 1, error));
    unsigned char bytes[8 * CHUNK];
    int size = xfi_element_size(entry->element);
    XFI_TRY(file->ops->start(file, entry, error));
    for (int64_t first = 0; first < entry->count; first += CHUNK) {
        int64_t left = entry->count - first, n = left < CHUNK ? left : CHUNK;
        XFI_TRY(file->ops->read(file, bytes, (size_t)(n * size), error));
        int64_t done =
            xfi_elements_to_int64(out + first, bytes, n, entry->element, entry->big_endian);
        if (done < n)
            return xfi_fail(error, XF_ERR_DATA, "element %lld of '%s' is beyond the range of int64",
                            (long long)(first + done), entry->name);
    }
    return file->ops->finish(file, error);
}
