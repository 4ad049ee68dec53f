/* Opening a regular file for reading, with its size. */
#ifndef XFI_FMT_INPUT_FILE_H
#define XFI_FMT_INPUT_FILE_H

#include <exactformer/status.h>

#include <stdio.h>

/* Open `path`; *size gets the length in bytes. The caller closes *out. Never blocks on a
 * pipe. Errors: XF_ERR_IO (missing, unreadable, a directory, not a regular file). The
 * message does not name the path. */
xf_status xfi_input_open(FILE **out, int64_t *size, const char *path, xf_error *error);

/* Read exactly `size` bytes at the current position.
 * Errors: XF_ERR_DATA at the end of the file, XF_ERR_IO. */
xf_status xfi_input_read(FILE *stream, void *bytes, size_t size, xf_error *error);

#endif
