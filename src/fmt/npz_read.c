/* Reading .npz through libzip. */
#include "fmt/npz.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "fmt/input_file.h"
#include "fmt/npy.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

/* Deflate cannot shrink more than about 1032 times; a member that claims more lies. */
enum { DEFLATE_RATIO = 1040, DEFLATE_SLACK = 4096 };

typedef struct npz_state {
    zip_t *archive;
    zip_file_t *member; /* open member or NULL */
    int64_t file_size;
} npz_state;

static void close_member(npz_state *state) {
    if (state->member != NULL)
        zip_fclose(state->member);
    state->member = NULL;
}

static void npz_close(xfi_array_file *file) {
    npz_state *state = file->state;
    close_member(state);
    if (state->archive != NULL)
        zip_discard(state->archive);
    xfi_free(state);
}

/* A libzip error; those of the operating system are XF_ERR_IO, the rest is bad data. */
static xf_status fail_zip(xf_error *error, zip_error_t *why, const char *what) {
    int code = zip_error_code_zip(why);
    char text[160];
    xfi_printable(text, sizeof text, zip_error_strerror(why));
    int system = zip_error_code_system(why);
    xf_status status = XF_ERR_DATA;
    if (code == ZIP_ER_MEMORY)
        status = XF_ERR_MEMORY;
    else if ((code == ZIP_ER_OPEN || code == ZIP_ER_READ) && system != 0 && system != EINVAL)
        status = XF_ERR_IO; /* EINVAL comes of offsets outside the file */
    return xfi_fail(error, status, "%s: %s", what, text);
}

static xf_status fail_member(xf_error *error, const npz_state *state, const char *name) {
    char what[80], shown[48];
    snprintf(what, sizeof what, "member '%s'", xfi_printable(shown, sizeof shown, name));
    return fail_zip(error, zip_file_get_error(state->member), what);
}

/* Exactly `size` bytes of the open member. */
static xf_status read_member(npz_state *state, const char *name, void *bytes, int64_t size,
                             xf_error *error) {
    int64_t done = 0;
    while (done < size) {
        zip_int64_t got =
            zip_fread(state->member, (char *)bytes + done, (zip_uint64_t)(size - done));
        if (got < 0)
            return fail_member(error, state, name);
        if (got == 0)
            return xfi_fail(error, XF_ERR_DATA, "a member of the archive is truncated");
        done += got;
    }
    return XF_OK;
}

/* Refuse members that we cannot read or whose sizes cannot be true. */
static xf_status check_member(const npz_state *state, const xfi_array_entry *entry, int64_t *size,
                              xf_error *error) {
    zip_stat_t info;
    char name[48];
    xfi_printable(name, sizeof name, entry->name);
    if (zip_stat_index(state->archive, (zip_uint64_t)entry->position, 0, &info) != 0)
        return fail_zip(error, zip_get_error(state->archive), name);
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((info.valid & needed) != needed)
        return xfi_fail(error, XF_ERR_DATA, "member '%s' has no known size", name);
    if (info.encryption_method != ZIP_EM_NONE)
        return xfi_fail(error, XF_ERR_DATA, "member '%s' is encrypted; save it without a password",
                        name);
    if (info.comp_method != ZIP_CM_STORE && info.comp_method != ZIP_CM_DEFLATE)
        return xfi_fail(error, XF_ERR_DATA,
                        "member '%s' is compressed by method %d; use numpy.savez or "
                        "numpy.savez_compressed",
                        name, (int)info.comp_method);
    zip_uint64_t packed = info.comp_size;
    zip_uint64_t most =
        info.comp_method == ZIP_CM_STORE ? packed : packed * DEFLATE_RATIO + DEFLATE_SLACK;
    if (packed > (zip_uint64_t)state->file_size || info.size > most)
        return xfi_fail(error, XF_ERR_DATA, "member '%s' claims a size that cannot be true", name);
    *size = (int64_t)info.size;
    return XF_OK;
}

/* Open the member and read its header text; *length bytes, to be freed by the caller. */
static xf_status read_header(npz_state *state, const xfi_array_entry *entry, char **text,
                             int64_t *length, int *start, xf_error *error) {
    unsigned char prefix[XFI_NPY_PREFIX];
    close_member(state);
    state->member = zip_fopen_index(state->archive, (zip_uint64_t)entry->position, 0);
    if (state->member == NULL)
        return fail_zip(error, zip_get_error(state->archive), "cannot open a member");
    XFI_TRY(read_member(state, entry->name, prefix, XFI_NPY_PREFIX, error));
    XFI_TRY(xfi_npy_prefix(start, length, prefix, error));
    int early = XFI_NPY_PREFIX - *start; /* bytes of the dictionary that came with the prefix */
    if (*length < early)
        return xfi_fail(error, XF_ERR_DATA, "its header is too short");
    *text = xfi_calloc(*length, 1);
    if (*text == NULL)
        return xfi_fail_memory(error);
    memcpy(*text, prefix + *start, (size_t)early);
    return read_member(state, entry->name, *text + early, *length - early, error);
}

static xf_status describe_member(npz_state *state, xfi_array_entry *entry, xf_error *error) {
    int64_t size = 0, length = 0, bytes = 0;
    int start = 0;
    char *text = NULL;
    XFI_TRY(check_member(state, entry, &size, error));
    xf_status status = read_header(state, entry, &text, &length, &start, error);
    if (status == XF_OK)
        status = xfi_npy_parse(entry, text, length, error);
    xfi_free(text);
    XFI_TRY(status);
    int element_size = xfi_element_size(entry->element);
    if (element_size == 0) /* refused later, by its name */
        return XF_OK;
    if (__builtin_mul_overflow(entry->count, element_size, &bytes) ||
        size - start - length != bytes)
        return xfi_fail(error, XF_ERR_DATA, "its size is not what its header implies");
    return XF_OK;
}

static xf_status npz_describe(xfi_array_file *file, xfi_array_entry *entry, xf_error *error) {
    xf_status status = describe_member(file->state, entry, error);
    char prefix[64], name[48];
    snprintf(prefix, sizeof prefix, "array '%s'", xfi_printable(name, sizeof name, entry->name));
    if (status == XF_ERR_DATA)
        xfi_error_prefix(error, prefix);
    close_member(file->state);
    return status;
}

static xf_status npz_start(xfi_array_file *file, const xfi_array_entry *entry, xf_error *error) {
    int64_t length = 0;
    int start = 0;
    char *text = NULL;
    xf_status status = read_header(file->state, entry, &text, &length, &start, error);
    xfi_free(text);
    return status;
}

static xf_status npz_read(xfi_array_file *file, void *bytes, size_t size, xf_error *error) {
    return read_member(file->state, "array", bytes, (int64_t)size, error);
}

/* Reading up to the end lets libzip compare the checksum. */
static xf_status npz_finish(xfi_array_file *file, xf_error *error) {
    npz_state *state = file->state;
    char extra;
    zip_int64_t got = zip_fread(state->member, &extra, 1);
    xf_status status = XF_OK;
    if (got < 0)
        status = fail_member(error, state, "array");
    else if (got > 0)
        status = xfi_fail(error, XF_ERR_DATA, "a member is longer than its header implies");
    close_member(state);
    return status;
}

static const xfi_array_ops npz_ops = {.describe = npz_describe,
                                      .start = npz_start,
                                      .read = npz_read,
                                      .finish = npz_finish,
                                      .close = npz_close};

/* The name of member i without ".npy". */
static xf_status add_entry(xfi_array_file *file, int64_t i, xf_error *error) {
    npz_state *state = file->state;
    const char *name = zip_get_name(state->archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
    if (name == NULL)
        return fail_zip(error, zip_get_error(state->archive), "cannot read the archive");
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".npy") == 0)
        length -= 4;
    xfi_array_entry *entry = &file->entries[i];
    entry->name = xfi_calloc((int64_t)length + 1, 1);
    if (entry->name == NULL)
        return xfi_fail_memory(error);
    memcpy(entry->name, name, length);
    entry->position = i;
    return XF_OK;
}

/* Hand the descriptor to libzip, which reads the archive's directory. */
static xf_status open_archive(npz_state *state, const char *path, xf_error *error) {
    FILE *stream = NULL;
    XFI_TRY(xfi_input_open(&stream, &state->file_size, path, error));
    int code = 0, descriptor = dup(fileno(stream));
    fclose(stream);
    if (descriptor < 0)
        return xfi_fail(error, XF_ERR_IO, "cannot open: no free file descriptor");
    state->archive = zip_fdopen(descriptor, 0, &code);
    if (state->archive != NULL)
        return XF_OK;
    close(descriptor);
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    xf_status status = fail_zip(error, &why, "not a readable .npz archive");
    zip_error_fini(&why);
    return status;
}

xf_status xfi_npz_open(xfi_array_file *out, const char *path, xf_error *error) {
    *out = (xfi_array_file){0};
    npz_state *state = xfi_calloc(1, sizeof *state);
    if (state == NULL)
        return xfi_fail_memory(error);
    out->state = state;
    out->ops = &npz_ops;
    XFI_TRY(open_archive(state, path, error));
    int64_t n = zip_get_num_entries(state->archive, 0);
    out->entries = xfi_calloc(n, sizeof *out->entries);
    if (out->entries == NULL)
        return xfi_fail_memory(error);
    for (int64_t i = 0; i < n; i++) {
        out->n_entries = i + 1;
        XFI_TRY(add_entry(out, i, error));
    }
    return XF_OK;
}
