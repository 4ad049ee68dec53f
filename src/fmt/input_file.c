/* Opening a regular file for reading. */
#include "fmt/input_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static xf_status check_regular(int descriptor, int64_t *size, xf_error *error) {
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return xfi_fail(error, XF_ERR_IO, "cannot read: %s", strerror(errno));
    if (S_ISDIR(info.st_mode))
        return xfi_fail(error, XF_ERR_IO, "cannot read: it is a directory");
    if (!S_ISREG(info.st_mode))
        return xfi_fail(error, XF_ERR_IO, "cannot read: it is not a regular file");
    *size = info.st_size;
    return XF_OK;
}

xf_status xfi_input_open(FILE **out, int64_t *size, const char *path, xf_error *error) {
    *out = NULL;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return xfi_fail(error, XF_ERR_IO, "cannot open: %s", strerror(errno));
    xf_status status = check_regular(descriptor, size, error);
    if (status == XF_OK) {
        *out = fdopen(descriptor, "rb");
        if (*out != NULL)
            return XF_OK;
        status = xfi_fail(error, XF_ERR_IO, "cannot open: %s", strerror(errno));
    }
    close(descriptor);
    return status;
}

xf_status xfi_input_read(FILE *stream, void *bytes, size_t size, xf_error *error) {
    if (size == 0 || fread(bytes, 1, size, stream) == size)
        return XF_OK;
    if (ferror(stream))
        return xfi_fail(error, XF_ERR_IO, "cannot read: %s", strerror(errno));
    return xfi_fail(error, XF_ERR_DATA, "the file is truncated");
}
