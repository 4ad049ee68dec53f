/* Growing text, numbers that read back equal in every locale, and names made fit for
 * one-line messages. */
#ifndef XFI_BASE_TEXT_H
#define XFI_BASE_TEXT_H

#include "base/error.h"

#include <stddef.h>

/* A growing, NUL-terminated string. Start with {0}. After a failed allocation nothing more is
 * added and `failed` is nonzero, so that it need be asked only once, at the end. */
typedef struct xfi_text {
    char *bytes; /* NULL while empty */
    int64_t length;
    int64_t capacity;
    int failed;
} xfi_text;

void xfi_text_clear(xfi_text *text);

/* Append bytes[0 .. length-1]. */
void xfi_text_add_bytes(xfi_text *text, const char *bytes, int64_t length);

/* Append formatted text; for short pieces (up to 255 bytes) without floating-point numbers. */
void xfi_text_add(xfi_text *text, const char *format, ...) XFI_PRINTF(2, 3);

/* Append the UTF-8 string as a JSON string with its quotes. */
void xfi_text_add_json_string(xfi_text *text, const char *string);

/* Append a finite number in the form of xfi_format_double. */
void xfi_text_add_double(xfi_text *text, double value);

enum { XFI_DOUBLE_TEXT_SIZE = 40 };

/* Write a finite number with the fewest of 15 to 17 digits that read back equal and
 * '.' as the decimal point whatever the locale; valid JSON. Returns the length.
 * Numeric class: exact (round trip). */
int xfi_format_double(char text[XFI_DOUBLE_TEXT_SIZE], double value);

/* Copy at most size-1 bytes of `string` to `out`, replacing everything but printable
 * ASCII by '?', and shortening with "..."; returns out. */
const char *xfi_printable(char *out, size_t size, const char *string);

/* Put "path: " before the message, keeping the end of a long path. */
void xfi_error_prefix_path(xf_error *error, const char *path);

#endif
