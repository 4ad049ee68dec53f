/* SHA-256 of numbers, and as text. */
#include "io/sha256_text.h"

#include "base/bytes.h"

enum { NUMBERS = 1024 };

void xfi_sha256_add_integers(struct sha256_ctx *context, const int64_t *values, int64_t n) {
    uint8_t bytes[8];
    for (int64_t i = 0; i < n; i++) {
        xfi_store_le(bytes, (uint64_t)values[i], 8);
        sha256_update(context, sizeof bytes, bytes);
    }
}

void xfi_sha256_add_reals(struct sha256_ctx *context, const double *values, int64_t n) {
    uint8_t bytes[8 * NUMBERS];
    for (int64_t first = 0; first < n; first += NUMBERS) {
        int64_t count = n - first < NUMBERS ? n - first : NUMBERS;
        for (int64_t i = 0; i < count; i++)
            xfi_store_le(bytes + 8 * i, xfi_bits_of_double(values[first + i]), 8);
        sha256_update(context, (size_t)(8 * count), bytes);
    }
}

void xfi_sha256_text(char out[2 * SHA256_DIGEST_SIZE + 1], struct sha256_ctx *context) {
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(context, sizeof bytes, bytes);
    for (int i = 0; i < SHA256_DIGEST_SIZE; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * SHA256_DIGEST_SIZE] = '\0';
}
