/* Status codes and error records.
 *
 * Every function that can fail returns an xf_status and takes a nullable
 * xf_error as its last argument. The library never prints, exits or aborts. */
#ifndef EXACTFORMER_STATUS_H
#define EXACTFORMER_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define XF_API __attribute__((visibility("default")))
#else
#define XF_API
#endif

typedef enum xf_status {
    XF_OK = 0,
    XF_NOT_EXACT = 1,      /* verify found a mismatch; everything else went well */
    XF_ERR_ARGUMENT = 2,   /* the caller's arguments make no sense */
    XF_ERR_DATA = 3,       /* a data set or model is malformed or breaks a condition */
    XF_ERR_IO = 4,         /* a file could not be read or written */
    XF_ERR_INFEASIBLE = 5, /* the data do not allow the requested exactness */
    XF_ERR_MEMORY = 6,     /* an allocation failed */
    XF_ERR_CANCELLED = 7   /* the progress callback asked to stop */
} xf_status;

enum { XF_ERROR_MESSAGE_SIZE = 640 };

/* What went wrong and where. `sequence` and `token` are zero-based positions in
 * the data set, or -1 where none applies. The message is one line of UTF-8
 * without a final full stop or newline. */
typedef struct xf_error {
    xf_status status;
    int64_t sequence;
    int64_t token;
    char message[XF_ERROR_MESSAGE_SIZE];
} xf_error;

/* A short constant English name of a status, for example "bad data". Never NULL. */
XF_API const char *xf_status_string(xf_status status);

/* The exit status that a program should end with: 0 to 5 (see the README). */
XF_API int xf_status_exit_code(xf_status status);

/* Called now and then by long work with the name of the phase and the share of
 * it that is done, in [0, 1]. A nonzero return cancels the work, which then ends
 * with XF_ERR_CANCELLED. Always called from the thread that started the work. */
typedef int (*xf_progress_fn)(void *context, const char *phase, double done);

/* Receives one-line remarks that are not errors (an unknown array, a dropped
 * duplicate). The text is valid only during the call. */
typedef void (*xf_note_fn)(void *context, const char *text);

#ifdef __cplusplus
}
#endif
#endif
