/* Memory in files: mmap. */
#include "base/file_memory.h"

#include "base/control_group.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static double least(double a, double b) {
    return a < b ? a : b;
}

static double memory_limit(void) {
    double pages = (double)sysconf(_SC_PHYS_PAGES), limit = 1e300;
    struct rlimit data;
    if (pages > 0)
        limit = pages * (double)sysconf(_SC_PAGESIZE);
    limit = least(limit, xfi_control_group_memory("/sys/fs/cgroup", "/proc/self/cgroup"));
    if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY)
        limit = least(limit, (double)data.rlim_cur);
    return limit;
}

int xfi_memory_is_scarce(int64_t bytes, int n_processes) {
    return (double)bytes > memory_limit() / 4 / n_processes;
}

static xf_status fail(xf_error *error, const char *what) {
    return xfi_fail(error, XF_ERR_IO, "%s: %s", what, strerror(errno));
}

/* A file that is gone as soon as its descriptor is closed, -1 on failure. */
static int open_nameless(void) {
    const char *directory = getenv("TMPDIR");
    char path[4096];
    if (directory == NULL || directory[0] == '\0')
        directory = "/var/tmp";
    int length = snprintf(path, sizeof path, "%s/exactformer-XXXXXX", directory);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor >= 0)
        unlink(path);
    return descriptor;
}

/* Reserve the space, or at least have the length. */
static int set_size(int descriptor, int64_t bytes) {
    int failure = posix_fallocate(descriptor, 0, bytes);
    if (failure == 0)
        return 1;
    if (failure != EINVAL && failure != EOPNOTSUPP) {
        errno = failure;
        return 0;
    }
    return ftruncate(descriptor, bytes) == 0;
}

xf_status xfi_file_memory_new(xfi_file_memory *memory, void **out, int64_t bytes, xf_error *error) {
    *memory = (xfi_file_memory){0};
    int descriptor = open_nameless();
    if (descriptor < 0)
        return fail(error, "cannot make a temporary file for the tokens (TMPDIR says where)");
    if (!set_size(descriptor, bytes)) {
        xf_status status = fail(error, "no room in the temporary file for the tokens (TMPDIR says "
                                       "where)");
        close(descriptor);
        return status;
    }
    void *base = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (base == MAP_FAILED)
        return xfi_fail_memory(error);
    *memory = (xfi_file_memory){base, bytes, 0};
    *out = base;
    return XF_OK;
}

xf_status xfi_file_memory_map(xfi_file_memory *memory, const void **out, int descriptor,
                              int64_t offset, int64_t bytes, xf_error *error) {
    int64_t within = offset % sysconf(_SC_PAGESIZE), size = bytes + within;
    *memory = (xfi_file_memory){0};
    void *base =
        mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, descriptor, (off_t)(offset - within));
    if (base == MAP_FAILED)
        return fail(error, "cannot map the tokens");
    *memory = (xfi_file_memory){base, size, 1};
    *out = (const char *)base + within;
    return XF_OK;
}

void xfi_file_memory_clear(xfi_file_memory *memory) {
    if (memory->base != NULL)
        munmap(memory->base, (size_t)memory->size);
    *memory = (xfi_file_memory){0};
}
