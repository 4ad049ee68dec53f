/* The header of NumPy's .npy format, versions 1.0 to 3.0: magic, length and a Python
 * dictionary {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }. */
#ifndef XFI_FMT_NPY_H
#define XFI_FMT_NPY_H

#include "base/text.h"
#include "fmt/array_file.h"
#include "fmt/array_out.h"

enum { XFI_NPY_PREFIX = 12, XFI_NPY_MAX_HEADER = 1 << 16 };

/* From the first XFI_NPY_PREFIX bytes: where the dictionary starts and how long it is.
 * Errors: XF_ERR_DATA. */
xf_status xfi_npy_prefix(int *start, int64_t *length, const unsigned char bytes[XFI_NPY_PREFIX],
                         xf_error *error);

/* Parse the dictionary text[0 .. length-1] into the type and shape of `entry`, whose
 * name is used in messages. Errors: XF_ERR_DATA. */
xf_status xfi_npy_parse(xfi_array_entry *entry, const char *text, int64_t length, xf_error *error);

/* Append the complete version 1.0 header for `array`. */
void xfi_npy_header(xfi_text *out, const xfi_array_out *array);

#endif
