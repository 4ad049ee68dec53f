/* SHA-256 of files, by Nettle. */
#include <exactformer/certify.h>

#include "base/error.h"
#include "fmt/input_file.h"

#include <nettle/sha2.h>

#include <stdio.h>

enum { CHUNK = 1 << 16 };

static void write_hex(char *out, const uint8_t *bytes, int n) {
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < n; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * n] = '\0';
}

xf_status xf_digest_file(xf_file_digest *out, const char *path, xf_error *error) {
    struct sha256_ctx context;
    uint8_t buffer[CHUNK], digest[SHA256_DIGEST_SIZE];
    xfi_error_clear(error);
    *out = (xf_file_digest){0};
    FILE *file;
    int64_t size;
    xf_error reason;
    if (xfi_input_open(&file, &size, path, &reason) != XF_OK)
        return xfi_fail(error, XF_ERR_IO, "%s: %s", path, reason.message);
    sha256_init(&context);
    size_t n = 0;
    int64_t bytes = 0;
    while ((n = fread(buffer, 1, CHUNK, file)) > 0) {
        sha256_update(&context, n, buffer);
        bytes += (int64_t)n;
    }
    int failed = ferror(file);
    fclose(file);
    if (failed)
        return xfi_fail(error, XF_ERR_IO, "%s: cannot be read", path);
    sha256_digest(&context, sizeof digest, digest);
    write_hex(out->sha256, digest, SHA256_DIGEST_SIZE);
    out->bytes = bytes;
    return XF_OK;
}
