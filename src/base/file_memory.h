/* Memory whose contents live in a file, so that the system can put it aside when memory is short.
 */
#ifndef XFI_BASE_FILE_MEMORY_H
#define XFI_BASE_FILE_MEMORY_H

#include <exactformer/status.h>

/* A mapping; zero-initialised there is none. */
typedef struct xfi_file_memory {
    void *base; /* of the pages, owned */
    int64_t size;
    int read_only;
} xfi_file_memory;

/* Would `bytes` take more than a quarter of the memory that each of n_processes may use (what the
 * machine has, the control groups allow, or RLIMIT_DATA does)? */
int xfi_memory_is_scarce(int64_t bytes, int n_processes);

/* `bytes` of zeros in a file without a name in $TMPDIR (default /var/tmp), at *out, aligned to
 * pages. The space on the disk is reserved first, where the file system can.
 * Errors: XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_file_memory_new(xfi_file_memory *memory, void **out, int64_t bytes, xf_error *error);

/* The bytes of an open file from `offset` on, read-only, at *out. Whoever shortens the file while
 * it is mapped ends this process with SIGBUS. Errors: XF_ERR_IO. */
xf_status xfi_file_memory_map(xfi_file_memory *memory, const void **out, int descriptor,
                              int64_t offset, int64_t bytes, xf_error *error);

void xfi_file_memory_clear(xfi_file_memory *memory);

#endif
