/* Atomic replacement of files (POSIX). */
#include "base/atomic_file.h"

#include "base/alloc.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_LINKS = 40, MAX_TEMPORARIES = 10000 };

static xf_status fail_errno(xf_error *error, const char *what) {
    return xfi_fail(error, XF_ERR_IO, "%s: %s", what, strerror(errno));
}

static char *copy_text(const char *text, size_t length) {
    char *copy = xfi_calloc((int64_t)length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

/* Length of the directory part with its final slash; 0 for a bare name. */
static size_t directory_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Directory of `path`, then `name`: the caller frees. */
static char *sibling(const char *path, const char *name) {
    size_t directory = directory_length(path), length = strlen(name);
    char *joined = xfi_calloc((int64_t)(directory + length + 1), 1);
    if (joined == NULL)
        return NULL;
    memcpy(joined, path, directory);
    memcpy(joined + directory, name, length);
    return joined;
}

/* Replace *path, a symbolic link, by what it points to. */
static xf_status follow_once(char **path, xf_error *error) {
    char link[PATH_MAX];
    ssize_t length = readlink(*path, link, sizeof link - 1);
    if (length < 0)
        return fail_errno(error, "cannot read the symbolic link");
    link[length] = '\0';
    char *next = link[0] == '/' ? copy_text(link, (size_t)length) : sibling(*path, link);
    if (next == NULL)
        return xfi_fail_memory(error);
    xfi_free(*path);
    *path = next;
    return XF_OK;
}

/* Follow symbolic links, also one whose target does not exist yet. On success *exists tells
 * whether `info` is filled. */
static xf_status resolve(char **path, struct stat *info, int *exists, xf_error *error) {
    for (int i = 0; i < MAX_LINKS; i++) {
        *exists = lstat(*path, info) == 0;
        if (!*exists && errno != ENOENT)
            return fail_errno(error, "cannot write");
        if (!*exists || !S_ISLNK(info->st_mode))
            return XF_OK;
        XFI_TRY(follow_once(path, error));
    }
    return xfi_fail(error, XF_ERR_IO, "cannot write: too many symbolic links");
}

static xf_status check_replaceable(const char *path, const struct stat *info, xf_error *error) {
    if (S_ISDIR(info->st_mode))
        return xfi_fail(error, XF_ERR_IO, "cannot write: it is a directory");
    if (!S_ISREG(info->st_mode))
        return xfi_fail(error, XF_ERR_IO, "cannot write: it is not a regular file");
    if (access(path, W_OK) != 0)
        return fail_errno(error, "cannot write");
    return XF_OK;
}

/* A new file beside the target; its descriptor, or -1 with errno. Names are tried in
 * turn because an interrupted run may have left one behind. */
static int create_temporary(xfi_atomic_file *file) {
    for (int i = 0; i < MAX_TEMPORARIES; i++) {
        char name[64];
        snprintf(name, sizeof name, ".exactformer-%ld-%d.tmp", (long)getpid(), i);
        file->temporary = sibling(file->target, name);
        if (file->temporary == NULL) {
            errno = ENOMEM;
            return -1;
        }
        int descriptor = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0)
            return descriptor;
        xfi_free(file->temporary);
        file->temporary = NULL;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Give the new file the owner (where we may) and the permissions of the old one. */
static int copy_permissions(int descriptor, const struct stat *old) {
    struct stat now;
    if (fstat(descriptor, &now) != 0)
        return -1;
    if (now.st_uid != old->st_uid || now.st_gid != old->st_gid) {
        int ignored = fchown(descriptor, old->st_uid, old->st_gid);
        (void)ignored;
    }
    return fchmod(descriptor, old->st_mode & 0777);
}

static xf_status open_temporary(xfi_atomic_file *file, const struct stat *old, xf_error *error) {
    int descriptor = create_temporary(file);
    if (descriptor < 0)
        return errno == ENOMEM ? xfi_fail_memory(error)
                               : fail_errno(error, "cannot create a file in this directory");
    if (old != NULL && copy_permissions(descriptor, old) != 0) {
        close(descriptor);
        return fail_errno(error, "cannot set the permissions");
    }
    file->stream = fdopen(descriptor, "wb");
    if (file->stream == NULL) {
        close(descriptor);
        return fail_errno(error, "cannot write");
    }
    return XF_OK;
}

xf_status xfi_atomic_open(xfi_atomic_file *out, const char *path, xf_error *error) {
    *out = (xfi_atomic_file){0};
    if (path[0] == '\0')
        return xfi_fail(error, XF_ERR_IO, "cannot write: the file name is empty");
    out->target = copy_text(path, strlen(path));
    if (out->target == NULL)
        return xfi_fail_memory(error);
    struct stat info;
    int exists = 0;
    xf_status status = resolve(&out->target, &info, &exists, error);
    if (status == XF_OK && exists)
        status = check_replaceable(out->target, &info, error);
    if (status == XF_OK)
        status = open_temporary(out, exists ? &info : NULL, error);
    if (status != XF_OK)
        xfi_atomic_discard(out);
    return status;
}

xf_status xfi_atomic_write(xfi_atomic_file *file, const void *bytes, size_t size, xf_error *error) {
    if (size > 0 && fwrite(bytes, 1, size, file->stream) != size)
        return fail_errno(error, "cannot write");
    return XF_OK;
}

static void forget(xfi_atomic_file *file) {
    xfi_free(file->target);
    xfi_free(file->temporary);
    *file = (xfi_atomic_file){0};
}

void xfi_atomic_discard(xfi_atomic_file *file) {
    int saved = errno;
    if (file->stream != NULL)
        fclose(file->stream);
    if (file->temporary != NULL)
        unlink(file->temporary);
    forget(file);
    errno = saved;
}

/* A descriptor of the target's directory, or -1. */
static int open_directory(const xfi_atomic_file *file) {
    char *directory = sibling(file->target, directory_length(file->target) ? "" : ".");
    if (directory == NULL)
        return -1;
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    xfi_free(directory);
    return descriptor;
}

/* Make the rename itself durable. Some file systems cannot, and a directory may be
 * unreadable: neither is a reason to call a complete file a failure. */
static void sync_directory(const xfi_atomic_file *file) {
    int descriptor = open_directory(file);
    if (descriptor < 0)
        return;
    int ignored = fsync(descriptor);
    (void)ignored;
    close(descriptor);
}

xf_status xfi_atomic_commit(xfi_atomic_file *file, xf_error *error) {
    int ok = fflush(file->stream) == 0 && !ferror(file->stream) && fsync(fileno(file->stream)) == 0;
    int saved = errno;
    if (fclose(file->stream) != 0 && ok) {
        saved = errno;
        ok = 0;
    }
    file->stream = NULL;
    errno = saved;
    if (!ok || rename(file->temporary, file->target) != 0) {
        xf_status status = fail_errno(error, "cannot write");
        xfi_atomic_discard(file);
        return status;
    }
    sync_directory(file);
    forget(file);
    return XF_OK;
}
