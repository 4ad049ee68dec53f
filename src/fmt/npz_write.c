/* Writing .npz through libzip: the arrays are streamed from memory to an atomic file. */
#include "fmt/npz.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "fmt/npy.h"

#include <errno.h>
#include <string.h>
#include <zip.h>

/* One member as a stream of bytes: header, then the converted array. */
typedef struct member {
    const xfi_array_out *array;
    xfi_text header;
    int64_t position; /* of the next byte */
    int64_t size;
    unsigned char chunk[XFI_OUT_MAX_ELEMENT * XFI_OUT_CHUNK]; /* elements around `position` */
    zip_error_t error;
} member;

/* Bytes of the array from `at` on, at most `room` and at most to the end of a chunk. */
static int64_t array_bytes(member *m, char *out, int64_t at, int64_t room) {
    int size = xfi_element_size(m->array->element);
    int64_t chunk = at / (size * XFI_OUT_CHUNK), first = chunk * XFI_OUT_CHUNK;
    int64_t left = xfi_array_out_count(m->array) - first;
    int64_t count = left < XFI_OUT_CHUNK ? left : XFI_OUT_CHUNK, skip = at - first * size;
    xfi_array_out_store(m->chunk, m->array, first, count);
    int64_t length = count * size - skip < room ? count * size - skip : room;
    memcpy(out, m->chunk + skip, (size_t)length);
    return length;
}

static int64_t member_read(member *m, char *out, int64_t room) {
    int64_t done = 0;
    while (done < room && m->position < m->size) {
        int64_t in_header = m->header.length - m->position, n = room - done;
        if (in_header > 0) {
            n = n < in_header ? n : in_header;
            memcpy(out + done, m->header.bytes + m->position, (size_t)n);
        } else {
            n = array_bytes(m, out + done, -in_header, n);
        }
        done += n;
        m->position += n;
    }
    return done;
}

static zip_int64_t member_source(void *context, void *data, zip_uint64_t length,
                                 zip_source_cmd_t command) {
    member *m = context;
    zip_stat_t *info = data;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        m->position = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return member_read(m, data, (int64_t)length);
    case ZIP_SOURCE_STAT:
        zip_stat_init(info);
        info->size = (zip_uint64_t)m->size;
        info->valid = ZIP_STAT_SIZE;
        return sizeof *info;
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&m->error, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_READABLE;
    default:
        zip_error_set(&m->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

/* The archive as a stream into the atomic file. */
typedef struct sink {
    FILE *stream;
    zip_error_t error;
} sink;

static zip_int64_t sink_result(sink *s, int ok, int code) {
    if (ok)
        return 0;
    zip_error_set(&s->error, code, errno);
    return -1;
}

static zip_int64_t sink_seek(sink *s, void *data, zip_uint64_t length) {
    zip_source_args_seek_t *to =
        ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, length, &s->error);
    if (to == NULL)
        return -1;
    return sink_result(s, fseeko(s->stream, to->offset, to->whence) == 0, ZIP_ER_SEEK);
}

static zip_int64_t sink_write(sink *s, const void *data, zip_uint64_t length) {
    if (fwrite(data, 1, (size_t)length, s->stream) == (size_t)length)
        return (zip_int64_t)length;
    return sink_result(s, 0, ZIP_ER_WRITE);
}

static zip_int64_t sink_supports(void) {
    return zip_source_make_command_bitmap(
        ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
        ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS,
        ZIP_SOURCE_BEGIN_WRITE, ZIP_SOURCE_COMMIT_WRITE, ZIP_SOURCE_ROLLBACK_WRITE,
        ZIP_SOURCE_SEEK_WRITE, ZIP_SOURCE_TELL_WRITE, ZIP_SOURCE_WRITE, ZIP_SOURCE_REMOVE, -1);
}

/* Reading is claimed, since libzip asks for it, but a new archive is never read. */
static zip_int64_t sink_source(void *context, void *data, zip_uint64_t length,
                               zip_source_cmd_t command) {
    sink *s = context;
    switch (command) {
    case ZIP_SOURCE_STAT:
        zip_error_set(&s->error, ZIP_ER_READ, ENOENT); /* the archive does not exist yet */
        return -1;
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&s->error, data, length);
    case ZIP_SOURCE_SEEK_WRITE:
        return sink_seek(s, data, length);
    case ZIP_SOURCE_TELL_WRITE:
        return (zip_int64_t)ftello(s->stream);
    case ZIP_SOURCE_WRITE:
        return sink_write(s, data, length);
    case ZIP_SOURCE_SUPPORTS:
        return sink_supports();
    case ZIP_SOURCE_COMMIT_WRITE:
        return sink_result(s, fflush(s->stream) == 0, ZIP_ER_WRITE);
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_FREE:
    case ZIP_SOURCE_CLOSE:
        return 0;
    default:
        zip_error_set(&s->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

static xf_status fail_zip(xf_error *error, zip_error_t *why) {
    if (zip_error_code_zip(why) == ZIP_ER_MEMORY)
        return xfi_fail_memory(error);
    return xfi_fail(error, XF_ERR_IO, "cannot write the archive: %s", zip_error_strerror(why));
}

/* An empty archive that will be written to `s`. */
static xf_status new_archive(zip_t **out, sink *s, xf_error *error) {
    zip_error_t why;
    xf_status status = XF_OK;
    zip_error_init(&why);
    zip_source_t *source = zip_source_function_create(sink_source, s, &why);
    *out = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &why) : NULL;
    if (*out == NULL) {
        zip_source_free(source);
        status = fail_zip(error, &why);
    }
    zip_error_fini(&why);
    return status;
}

static xf_status add_member(zip_t *archive, member *m, const xfi_array_out *array,
                            xf_error *error) {
    enum { DOS_1980_01_01 = 0x0021 };
    char name[64];
    snprintf(name, sizeof name, "%s.npy", array->name);
    m->array = array;
    xfi_npy_header(&m->header, array);
    if (m->header.failed)
        return xfi_fail_memory(error);
    m->size = m->header.length + xfi_array_out_size(array);
    zip_source_t *source = zip_source_function(archive, member_source, m);
    zip_int64_t index = source ? zip_file_add(archive, name, source, 0) : -1;
    if (index < 0) {
        zip_source_free(source);
        return fail_zip(error, zip_get_error(archive));
    }
    zip_uint64_t i = (zip_uint64_t)index;
    if (zip_set_file_compression(archive, i, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive, i, 0, DOS_1980_01_01, 0) != 0)
        return fail_zip(error, zip_get_error(archive));
    return XF_OK;
}

static xf_status write_members(zip_t *archive, member *members, const xfi_array_out *arrays,
                               int n_arrays, xf_error *error) {
    xf_status status = XF_OK;
    for (int i = 0; i < n_arrays && status == XF_OK; i++)
        status = add_member(archive, &members[i], &arrays[i], error);
    if (status == XF_OK && zip_close(archive) == 0)
        return XF_OK;
    if (status == XF_OK)
        status = fail_zip(error, zip_get_error(archive));
    zip_discard(archive);
    return status;
}

xf_status xfi_npz_write(xfi_atomic_file *file, const xfi_array_out *arrays, int n_arrays,
                        xf_error *error) {
    zip_t *archive = NULL;
    sink s = {.stream = file->stream};
    member *members = xfi_calloc(n_arrays, sizeof *members);
    if (members == NULL)
        return xfi_fail_memory(error);
    xf_status status = new_archive(&archive, &s, error);
    if (status == XF_OK)
        status = write_members(archive, members, arrays, n_arrays, error);
    for (int i = 0; i < n_arrays; i++)
        xfi_text_clear(&members[i].header);
    xfi_free(members);
    return status;
}
