/* Text buffers and the printing of numbers. */
#include "base/text.h"

#include "base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void xfi_text_clear(xfi_text *text) {
    xfi_free(text->bytes);
    *text = (xfi_text){0};
}

/* Make room for `more` bytes and the final NUL. */
static int reserve(xfi_text *text, int64_t more) {
    if (text->failed)
        return 0;
    if (text->bytes != NULL && more < text->capacity - text->length)
        return 1;
    int64_t capacity = 0;
    if (!__builtin_add_overflow(text->length, more, &capacity) && capacity < INT64_MAX / 4) {
        capacity = 2 * capacity + 64;
        char *bytes = xfi_realloc(text->bytes, capacity, 1);
        if (bytes != NULL) {
            text->bytes = bytes;
            text->capacity = capacity;
            return 1;
        }
    }
    text->failed = 1;
    return 0;
}

void xfi_text_add_bytes(xfi_text *text, const char *bytes, int64_t length) {
    if (!reserve(text, length))
        return;
    memcpy(text->bytes + text->length, bytes, (size_t)length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void xfi_text_add(xfi_text *text, const char *format, ...) {
    char piece[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof piece)
        text->failed = 1;
    else
        xfi_text_add_bytes(text, piece, length);
}

void xfi_text_add_json_string(xfi_text *text, const char *string) {
    xfi_text_add_bytes(text, "\"", 1);
    for (const char *c = string; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            xfi_text_add(text, "\\%c", *c);
        else if ((unsigned char)*c < 0x20)
            xfi_text_add(text, "\\u%04x", (unsigned)(unsigned char)*c);
        else
            xfi_text_add_bytes(text, c, 1);
    }
    xfi_text_add_bytes(text, "\"", 1);
}

void xfi_text_add_double(xfi_text *text, double value) {
    char piece[XFI_DOUBLE_TEXT_SIZE];
    xfi_text_add_bytes(text, piece, xfi_format_double(piece, value));
}

static int is_number_byte(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

/* Replace the locale's decimal point, which may be several bytes long, by '.'. */
static int plain_point(char *text) {
    int length = 0, in_point = 0;
    for (const char *c = text; *c != '\0'; c++) {
        int keep = is_number_byte(*c);
        if (keep || !in_point)
            text[length++] = keep ? *c : '.';
        in_point = !keep;
    }
    text[length] = '\0';
    return length;
}

int xfi_format_double(char text[XFI_DOUBLE_TEXT_SIZE], double value) {
    if (fabs(value) < 1e15 && value == (double)(int64_t)value)
        return snprintf(text, XFI_DOUBLE_TEXT_SIZE, "%lld", (long long)value);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, XFI_DOUBLE_TEXT_SIZE, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return plain_point(text);
}

const char *xfi_printable(char *out, size_t size, const char *string) {
    size_t length = strlen(string), kept = length < size ? length : size - 1;
    for (size_t i = 0; i < kept; i++)
        out[i] = (string[i] < 0x20 || string[i] > 0x7e) ? '?' : string[i];
    if (kept < length)
        memset(out + kept - 3, '.', 3);
    out[kept] = '\0';
    return out;
}

enum { LONGEST_PATH = 240 };

void xfi_error_prefix_path(xf_error *error, const char *path) {
    char shown[LONGEST_PATH + 4];
    size_t length = strlen(path), skip = length > LONGEST_PATH ? length - LONGEST_PATH : 0;
    snprintf(shown, sizeof shown, "%s%s", skip ? "..." : "", path + skip);
    for (char *c = shown; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    xfi_error_prefix(error, shown);
}
