/* SHA-256 as text. */
#include "io/sha256_text.h"

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
