/* SHA-256 as text, by Nettle. */
#ifndef XFI_IO_SHA256_TEXT_H
#define XFI_IO_SHA256_TEXT_H

#include <nettle/sha2.h>

/* The digest of what the context has seen as 64 hexadecimal digits and a NUL. */
void xfi_sha256_text(char out[2 * SHA256_DIGEST_SIZE + 1], struct sha256_ctx *context);

#endif
