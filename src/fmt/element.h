/* Element types of numeric arrays in files, and their widening to binary64 or int64.
 * Numeric class: exact; what cannot be converted exactly is reported, not rounded. */
#ifndef XFI_FMT_ELEMENT_H
#define XFI_FMT_ELEMENT_H

#include <stdint.h>

typedef enum xfi_element {
    XFI_ELEMENT_OTHER = 0, /* not a number that we read */
    XFI_ELEMENT_S16,       /* 16 bytes of text, padded with zeros; written only */
    XFI_ELEMENT_BOOL,
    XFI_ELEMENT_F64,
    XFI_ELEMENT_F32,
    XFI_ELEMENT_F16,
    XFI_ELEMENT_BF16,
    XFI_ELEMENT_I8,
    XFI_ELEMENT_I16,
    XFI_ELEMENT_I32,
    XFI_ELEMENT_I64,
    XFI_ELEMENT_U8,
    XFI_ELEMENT_U16,
    XFI_ELEMENT_U32,
    XFI_ELEMENT_U64
} xfi_element;

/* Bytes of one element; 0 for XFI_ELEMENT_OTHER. */
int xfi_element_size(xfi_element element);

int xfi_element_is_integer(xfi_element element);
int xfi_element_is_float(xfi_element element);

/* Widen `count` elements to out[0 .. count-1]; floats and integers only. Returns the number done:
 * less than count if the element there is an integer that binary64 cannot hold. */
int64_t xfi_elements_to_double(double *out, const unsigned char *bytes, int64_t count,
                               xfi_element element, int big_endian);

/* The same to int64, for integer elements. */
int64_t xfi_elements_to_int64(int64_t *out, const unsigned char *bytes, int64_t count,
                              xfi_element element, int big_endian);

#endif
