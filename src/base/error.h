/* Filling in error records. Every fallible function ends a failure with
 *     return xfi_fail(error, STATUS, ...);
 * so that the status is named once. A NULL record is accepted. */
#ifndef XFI_BASE_ERROR_H
#define XFI_BASE_ERROR_H

#include <exactformer/status.h>

#define XFI_PRINTF(format_index, first) __attribute__((format(printf, format_index, first)))

/* Record `status` and the message; returns `status`. */
xf_status xfi_fail(xf_error *error, xf_status status, const char *format, ...) XFI_PRINTF(3, 4);

/* The same with zero-based positions (-1: none). The message should name them too. */
xf_status xfi_fail_at(xf_error *error, xf_status status, int64_t sequence, int64_t token,
                      const char *format, ...) XFI_PRINTF(5, 6);

/* XF_ERR_MEMORY with a standard message. */
xf_status xfi_fail_memory(xf_error *error);

/* The analyser does not look into other files: tell it that these return their status. */
#if defined(__clang_analyzer__) && !defined(XFI_BASE_ERROR_C)
#define xfi_fail(error, status, ...) (xfi_fail(error, status, __VA_ARGS__), (status))
#define xfi_fail_at(error, status, ...) (xfi_fail_at(error, status, __VA_ARGS__), (status))
#define xfi_fail_memory(error) (xfi_fail_memory(error), XF_ERR_MEMORY)
#endif

/* Put "prefix: " before the message, e.g. a file name. */
void xfi_error_prefix(xf_error *error, const char *prefix);

/* Reset to XF_OK, positions -1, empty message. */
void xfi_error_clear(xf_error *error);

/* Forward a failure. */
#define XFI_TRY(call)                                                                              \
    do {                                                                                           \
        xf_status xfi_try_status_ = (call);                                                        \
        if (xfi_try_status_ != XF_OK)                                                              \
            return xfi_try_status_;                                                                \
    } while (0)

#endif
