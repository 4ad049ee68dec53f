/* Reading files of one JSON value a line, of any length. */
#include "fmt/jsonl.h"

#include "base/alloc.h"
#include "base/error.h"
#include "fmt/input_file.h"

#include <errno.h>
#include <string.h>

enum { BLOCK = 1 << 16 };

xf_status xfi_jsonl_open(xfi_jsonl *out, const char *path, xf_error *error) {
    int64_t size = 0;
    *out = (xfi_jsonl){0};
    return xfi_input_open(&out->stream, &size, path, error);
}

void xfi_jsonl_close(xfi_jsonl *reader) {
    if (reader->stream != NULL)
        fclose(reader->stream);
    xfi_free(reader->bytes);
    *reader = (xfi_jsonl){0};
}

/* Move what is left to the front and make room for another block. */
static xf_status make_room(xfi_jsonl *reader, xf_error *error) {
    reader->length -= reader->used;
    if (reader->bytes != NULL && reader->used > 0)
        memmove(reader->bytes, reader->bytes + reader->used, (size_t)reader->length);
    reader->used = 0;
    if (reader->capacity - reader->length >= BLOCK)
        return XF_OK;
    int64_t capacity = 2 * reader->capacity + BLOCK;
    char *bytes = xfi_realloc(reader->bytes, capacity, 1);
    if (bytes == NULL)
        return xfi_fail_memory(error);
    reader->bytes = bytes;
    reader->capacity = capacity;
    return XF_OK;
}

static xf_status read_block(xfi_jsonl *reader, xf_error *error) {
    XFI_TRY(make_room(reader, error));
    size_t room = (size_t)(reader->capacity - reader->length);
    size_t got = fread(reader->bytes + reader->length, 1, room, reader->stream);
    if (got < room && ferror(reader->stream))
        return xfi_fail(error, XF_ERR_IO, "cannot read: %s", strerror(errno));
    reader->at_end = got < room;
    reader->length += (int64_t)got;
    return XF_OK;
}

/* The next line without its newline, borrowed until the next call; *line NULL at the end. */
static xf_status next_line(xfi_jsonl *reader, const char **line, int64_t *length, xf_error *error) {
    int64_t searched = 0;
    for (;;) {
        int64_t left = reader->length - reader->used;
        const char *start = left > 0 ? reader->bytes + reader->used : NULL, *newline = NULL;
        if (start != NULL && left > searched)
            newline = memchr(start + searched, '\n', (size_t)(left - searched));
        if (newline != NULL || reader->at_end) {
            *line = start;
            *length = newline != NULL ? newline - start : left;
            reader->used += *length + (newline != NULL);
            reader->line += left > 0;
            return XF_OK;
        }
        searched = left;
        XFI_TRY(read_block(reader, error));
    }
}

static int is_blank(const char *line, int64_t length) {
    for (int64_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return 0;
    return 1;
}

xf_status xfi_jsonl_next(json_t **out, xfi_jsonl *reader, xf_error *error) {
    const char *line = NULL;
    int64_t length = 0;
    *out = NULL;
    do {
        XFI_TRY(next_line(reader, &line, &length, error));
        if (line == NULL)
            return XF_OK;
    } while (is_blank(line, length));
    char what[32];
    snprintf(what, sizeof what, "line %lld", (long long)reader->line);
    return xfi_json_parse(out, line, length, what, error);
}
