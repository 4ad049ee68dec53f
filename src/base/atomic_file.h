/* Files that appear complete or not at all: written under a temporary name in the
 * same directory, flushed to the disk, then renamed over the target. Until the rename an
 * existing file is untouched; on failure the temporary file is removed. */
#ifndef XFI_BASE_ATOMIC_FILE_H
#define XFI_BASE_ATOMIC_FILE_H

#include <exactformer/status.h>

#include <stdio.h>

typedef struct xfi_atomic_file {
    FILE *stream;    /* seekable, for writing; NULL when closed */
    char *target;    /* symbolic links resolved; owned */
    char *temporary; /* owned */
} xfi_atomic_file;

/* Open a temporary file for what is to become `path`. A symbolic link is followed, so
 * that the link stays and its target is replaced. Permissions of an existing file are kept,
 * a new file gets those of the umask. End with xfi_atomic_commit or xfi_atomic_discard.
 * Errors (nothing to discard then): XF_ERR_IO (no such directory, not writable, not a regular
 * file), XF_ERR_MEMORY. The message does not name the path. */
xf_status xfi_atomic_open(xfi_atomic_file *out, const char *path, xf_error *error);

/* Append or overwrite at the current position. Errors: XF_ERR_IO; still to be discarded. */
xf_status xfi_atomic_write(xfi_atomic_file *file, const void *bytes, size_t size, xf_error *error);

/* Flush, rename, flush the directory. Closes in any case, and discards on failure.
 * Errors: XF_ERR_IO. */
xf_status xfi_atomic_commit(xfi_atomic_file *file, xf_error *error);

/* Close and remove the temporary file. Nothing if already closed. */
void xfi_atomic_discard(xfi_atomic_file *file);

#endif
