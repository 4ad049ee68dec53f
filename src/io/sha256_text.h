/* SHA-256 of numbers, and as text, by Nettle. */
#ifndef XFI_IO_SHA256_TEXT_H
#define XFI_IO_SHA256_TEXT_H

#include <nettle/sha2.h>
#include <stdint.h>

/* Numbers as little-endian int64 or binary64, whatever the order of bytes of the machine. */
void xfi_sha256_add_integers(struct sha256_ctx *context, const int64_t *values, int64_t n);
void xfi_sha256_add_reals(struct sha256_ctx *context, const double *values, int64_t n);

/* The digest of what the context has seen as 64 hexadecimal digits and a NUL. */
void xfi_sha256_text(char out[2 * SHA256_DIGEST_SIZE + 1], struct sha256_ctx *context);

#endif
