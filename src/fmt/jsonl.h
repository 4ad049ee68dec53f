/* Files of one JSON value a line. */
#ifndef XFI_FMT_JSONL_H
#define XFI_FMT_JSONL_H

#include "fmt/json_text.h"

#include <stdio.h>

/* Zero-initialised it is a closed reader. */
typedef struct xfi_jsonl {
    FILE *stream;
    int64_t line; /* number of the line returned last, from 1 */
    char *bytes;  /* the line and what has been read beyond it */
    int64_t length;
    int64_t used; /* bytes already returned */
    int64_t capacity;
    int at_end;
} xfi_jsonl;

/* Close with xfi_jsonl_close, also after a failure. Errors: XF_ERR_IO. */
xf_status xfi_jsonl_open(xfi_jsonl *out, const char *path, xf_error *error);

/* The value on the next line that is not empty; *out NULL at the end of the file. The
 * caller has the reference. Errors, naming the line: XF_ERR_DATA, XF_ERR_IO, XF_ERR_MEMORY. */
xf_status xfi_jsonl_next(json_t **out, xfi_jsonl *reader, xf_error *error);

void xfi_jsonl_close(xfi_jsonl *reader);

#endif
