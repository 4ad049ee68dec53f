/* Error records: one place that formats them. */
#define XFI_BASE_ERROR_C
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *xf_status_string(xf_status status) {
    switch (status) {
    case XF_OK:
        return "ok";
    case XF_NOT_EXACT:
        return "not exact";
    case XF_ERR_ARGUMENT:
        return "bad argument";
    case XF_ERR_DATA:
        return "bad data";
    case XF_ERR_IO:
        return "input/output failure";
    case XF_ERR_INFEASIBLE:
        return "not feasible";
    case XF_ERR_MEMORY:
        return "out of memory";
    case XF_ERR_CANCELLED:
        return "cancelled";
    }
    return "unknown status";
}

int xf_status_exit_code(xf_status status) {
    if (status == XF_ERR_MEMORY || status == XF_ERR_CANCELLED)
        return 4;
    return (int)status;
}

static void record(xf_error *error, xf_status status, int64_t sequence, int64_t token,
                   const char *format, va_list arguments) {
    if (error == NULL)
        return;
    error->status = status;
    error->sequence = sequence;
    error->token = token;
    vsnprintf(error->message, sizeof error->message, format, arguments);
}

xf_status xfi_fail(xf_error *error, xf_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(error, status, -1, -1, format, arguments);
    va_end(arguments);
    return status;
}

xf_status xfi_fail_at(xf_error *error, xf_status status, int64_t sequence, int64_t token,
                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    record(error, status, sequence, token, format, arguments);
    va_end(arguments);
    return status;
}

xf_status xfi_fail_memory(xf_error *error) {
    return xfi_fail(error, XF_ERR_MEMORY, "out of memory");
}

void xfi_error_prefix(xf_error *error, const char *prefix) {
    if (error == NULL)
        return;
    char text[XF_ERROR_MESSAGE_SIZE];
    memcpy(text, error->message, sizeof text);
    int length = snprintf(error->message, sizeof error->message, "%s: ", prefix);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used < sizeof error->message)
        snprintf(error->message + used, sizeof error->message - used, "%s", text);
}

void xfi_error_clear(xf_error *error) {
    if (error == NULL)
        return;
    error->status = XF_OK;
    error->sequence = error->token = -1;
    error->message[0] = '\0';
}
