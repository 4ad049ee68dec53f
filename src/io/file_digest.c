/* SHA-256 of files. */
#include <exactformer/certify.h>

#include "base/error.h"
#include "fmt/input_file.h"
#include "io/sha256_text.h"

#include <stdio.h>

enum { CHUNK = 1 << 16 };

xf_status xf_digest_file(xf_file_digest *out, const char *path, xf_error *error) {
    struct sha256_ctx context;
    uint8_t buffer[CHUNK];
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
    xfi_sha256_text(out->sha256, &context);
    out->bytes = bytes;
    return XF_OK;
}
