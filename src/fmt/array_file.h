/* Files that are collections of named numeric arrays, seen alike: .npz and
 * .safetensors. Sizes are checked against the file before anything is allocated for them. */
#ifndef XFI_FMT_ARRAY_FILE_H
#define XFI_FMT_ARRAY_FILE_H

#include "fmt/element.h"

#include <exactformer/status.h>

#include <stddef.h>

enum { XFI_MAX_DIMS = 8 };

/* The type is known after xfi_array_describe. */
typedef struct xfi_array_entry {
    char *name; /* owned by the file */
    xfi_element element;
    char type_name[24]; /* as the file spells it, printable */
    int big_endian;
    int fortran; /* first index fastest */
    int n_dims;
    int64_t shape[XFI_MAX_DIMS];
    int64_t count;    /* product of the shape */
    int64_t position; /* of the container: byte offset or member number */
} xfi_array_entry;

typedef struct xfi_array_ops xfi_array_ops;

/* Zero-initialised it is a closed file. */
typedef struct xfi_array_file {
    int64_t n_entries;
    xfi_array_entry *entries;
    const xfi_array_ops *ops;
    void *state;
} xfi_array_file;

/* What a container implements. `read` gives exactly `size` bytes of the array started
 * last or fails; `finish` checks that it ends there. `locate`, or NULL, gives the descriptor of the
 * file and where the bytes of the array start in it. `close` releases the state. */
struct xfi_array_ops {
    xf_status (*describe)(xfi_array_file *file, xfi_array_entry *entry, xf_error *error);
    xf_status (*start)(xfi_array_file *file, const xfi_array_entry *entry, xf_error *error);
    xf_status (*read)(xfi_array_file *file, void *bytes, size_t size, xf_error *error);
    xf_status (*finish)(xfi_array_file *file, xf_error *error);
    int (*locate)(const xfi_array_file *file, const xfi_array_entry *entry, int64_t *offset);
    void (*close)(xfi_array_file *file);
};

/* Release everything; a closed file is accepted. */
void xfi_array_close(xfi_array_file *file);

/* Set *out to the entry called `name` and read its type, or to NULL if there is none.
 * Errors: XF_ERR_DATA (two arrays of this name, bad header), XF_ERR_IO. */
xf_status xfi_array_find(xfi_array_entry **out, xfi_array_file *file, const char *name,
                         xf_error *error);

/* Check that the elements are integers, or (integers 0) integers or floats. Only then has the size
 * of the array been compared with the file. Errors: XF_ERR_DATA naming the type. */
xf_status xfi_array_require(const xfi_array_entry *entry, int integers, xf_error *error);

/* Read a float or integer array to out [count] in C order. On an integer that binary64
 * cannot hold returns XF_ERR_DATA and sets *bad to its C index; else *bad is -1.
 * Numeric class: exact. Errors: XF_ERR_DATA, XF_ERR_IO. */
xf_status xfi_array_read_doubles(double *out, xfi_array_file *file, const xfi_array_entry *entry,
                                 int64_t *bad, xf_error *error);

/* Put element i of a float array of one dimension to out[places[i]].
 * Numeric class: exact. Errors: XF_ERR_DATA, XF_ERR_IO. */
xf_status xfi_array_scatter_doubles(double *out, const int64_t *places, xfi_array_file *file,
                                    const xfi_array_entry *entry, xf_error *error);

/* Read an integer array to out [count]; at most one dimension.
 * Errors: XF_ERR_DATA (also a value beyond int64), XF_ERR_IO. */
xf_status xfi_array_read_integers(int64_t *out, xfi_array_file *file, const xfi_array_entry *entry,
                                  xf_error *error);

/* Are the values stored as doubles of this machine in C order, at a multiple of 8 bytes? Then
 * *descriptor, which stays the file's, and *offset say where. */
int xfi_array_locate(int *descriptor, int64_t *offset, const xfi_array_file *file,
                     const xfi_array_entry *entry);

/* Product of the shape to *count; 0 if it overflows or a dimension is negative. For containers. */
int xfi_shape_count(int64_t *count, const int64_t *shape, int n_dims);

#endif
