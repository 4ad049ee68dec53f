/* Parsing JSON text from files we do not trust, with jansson: one value, no duplicate
 * keys, limited depth, no NUL characters, numbers independent of the locale. */
#ifndef XFI_FMT_JSON_TEXT_H
#define XFI_FMT_JSON_TEXT_H

#include <exactformer/status.h>

#include <jansson.h>

/* Parse text[0 .. length-1]; `what` opens the message ("the header"). On success the
 * caller has the reference *out, else it is NULL. Errors: XF_ERR_DATA, XF_ERR_MEMORY. */
xf_status xfi_json_parse(json_t **out, const char *text, int64_t length, const char *what,
                         xf_error *error);

#endif
