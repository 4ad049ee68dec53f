/* Numbers in byte strings of a stated byte order, on machines of either order and
 * without alignment. Numeric class: exact. */
#ifndef XFI_BASE_BYTES_H
#define XFI_BASE_BYTES_H

#include <stdint.h>
#include <string.h>

/* The unsigned number in bytes[0 .. size-1], size <= 8, least significant byte first. */
static inline uint64_t xfi_load_le(const unsigned char *bytes, int size) {
    uint64_t value = 0;
    for (int i = size - 1; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

/* The same, most significant byte first. */
static inline uint64_t xfi_load_be(const unsigned char *bytes, int size) {
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* Write the low `size` bytes of value, least significant byte first; size <= 8. */
static inline void xfi_store_le(unsigned char *bytes, uint64_t value, int size) {
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

/* The binary64 number with these bits, and back. */
static inline double xfi_double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t xfi_bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The binary32 number with these bits, and back. */
static inline float xfi_float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t xfi_bits_of_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Does this machine store the least significant byte first? */
static inline int xfi_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

#endif
