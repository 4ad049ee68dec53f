/* Widening of array elements. */
#include "fmt/element.h"

#include "base/bytes.h"

#include <math.h>

int xfi_element_size(xfi_element element) {
    switch (element) {
    case XFI_ELEMENT_S16:
        return 16;
    case XFI_ELEMENT_F64:
    case XFI_ELEMENT_I64:
    case XFI_ELEMENT_U64:
        return 8;
    case XFI_ELEMENT_F32:
    case XFI_ELEMENT_I32:
    case XFI_ELEMENT_U32:
        return 4;
    case XFI_ELEMENT_F16:
    case XFI_ELEMENT_BF16:
    case XFI_ELEMENT_I16:
    case XFI_ELEMENT_U16:
        return 2;
    case XFI_ELEMENT_BOOL:
    case XFI_ELEMENT_I8:
    case XFI_ELEMENT_U8:
        return 1;
    case XFI_ELEMENT_OTHER:
        break;
    }
    return 0;
}

int xfi_element_is_integer(xfi_element element) {
    return element >= XFI_ELEMENT_I8;
}

int xfi_element_is_float(xfi_element element) {
    return element >= XFI_ELEMENT_F64 && element <= XFI_ELEMENT_BF16;
}

static double double_of_half(uint64_t bits) {
    int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = fraction * 0x1p-24;
    else
        magnitude = ldexp(1024 + fraction, exponent - 25);
    return bits >> 15 & 1 ? -magnitude : magnitude;
}

/* The integer with these bits in two's complement of the element's size. */
static int64_t signed_value(uint64_t raw, xfi_element element) {
    switch (xfi_element_size(element)) {
    case 1:
        return (int8_t)raw;
    case 2:
        return (int16_t)raw;
    case 4:
        return (int32_t)raw;
    default:
        return (int64_t)raw;
    }
}

/* |v| <= 2^53 or with so many trailing zeros that 53 bits hold it. */
static int fits_binary64(uint64_t magnitude) {
    if (magnitude == 0)
        return 1;
    return (magnitude >> __builtin_ctzll(magnitude)) >> 53 == 0;
}

static int double_of_signed(double *out, int64_t value) {
    *out = (double)value;
    return fits_binary64(value < 0 ? ~(uint64_t)value + 1 : (uint64_t)value);
}

/* One element from its bits; 0 if it is not exact. */
static int widen(double *out, uint64_t raw, xfi_element element) {
    switch (element) {
    case XFI_ELEMENT_F64:
        *out = xfi_double_of_bits(raw);
        return 1;
    case XFI_ELEMENT_F32:
        *out = (double)xfi_float_of_bits((uint32_t)raw);
        return 1;
    case XFI_ELEMENT_F16:
        *out = double_of_half(raw);
        return 1;
    case XFI_ELEMENT_BF16:
        *out = (double)xfi_float_of_bits((uint32_t)raw << 16);
        return 1;
    case XFI_ELEMENT_I8:
    case XFI_ELEMENT_I16:
    case XFI_ELEMENT_I32:
    case XFI_ELEMENT_I64:
        return double_of_signed(out, signed_value(raw, element));
    default:
        *out = (double)raw;
        return fits_binary64(raw);
    }
}

/* The common case of floats in this machine's byte order, for speed. */
static int widen_native(double *out, const unsigned char *bytes, int64_t count, xfi_element element,
                        int big_endian) {
    if (big_endian == xfi_little_endian())
        return 0;
    if (element == XFI_ELEMENT_F64)
        memcpy(out, bytes, (size_t)count * sizeof *out);
    for (int64_t i = 0; element == XFI_ELEMENT_F32 && i < count; i++) {
        float value;
        memcpy(&value, bytes + 4 * i, sizeof value);
        out[i] = (double)value;
    }
    return element == XFI_ELEMENT_F64 || element == XFI_ELEMENT_F32;
}

int64_t xfi_elements_to_double(double *out, const unsigned char *bytes, int64_t count,
                               xfi_element element, int big_endian) {
    int size = xfi_element_size(element);
    if (widen_native(out, bytes, count, element, big_endian))
        return count;
    for (int64_t i = 0; i < count; i++, bytes += size) {
        uint64_t raw = big_endian ? xfi_load_be(bytes, size) : xfi_load_le(bytes, size);
        if (!widen(&out[i], raw, element))
            return i;
    }
    return count;
}

int64_t xfi_elements_to_int64(int64_t *out, const unsigned char *bytes, int64_t count,
                              xfi_element element, int big_endian) {
    int size = xfi_element_size(element), is_signed = element <= XFI_ELEMENT_I64;
    for (int64_t i = 0; i < count; i++, bytes += size) {
        uint64_t raw = big_endian ? xfi_load_be(bytes, size) : xfi_load_le(bytes, size);
        if (!is_signed && raw > INT64_MAX)
            return i;
        out[i] = is_signed ? signed_value(raw, element) : (int64_t)raw;
    }
    return count;
}
