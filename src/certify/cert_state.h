/* What is known of the tokens of one sequence, and what happened on the way. */
#ifndef XFI_CERTIFY_CERT_STATE_H
#define XFI_CERTIFY_CERT_STATE_H

#include "certify/cert_network.h"
#include "certify/cert_span.h"

#include <string.h>

/* The box of one token: docs/certify.md, section 2. */
typedef struct xfi_box {
    double *low;       /* [d] */
    double *high;      /* [d] */
    int32_t *exponent; /* [d]; of no meaning in sense real */
} xfi_box;

/* The smallest margin of a phase. */
typedef struct xfi_least {
    double margin; /* INFINITY: no decision under uncertainty */
    int64_t sequence, token, block;
} xfi_least;

enum { XFI_REASON_SIZE = 160 };

/* Record of one thread while it follows one sequence. */
typedef struct xfi_log {
    xfi_least least;                /* of the block at hand */
    int64_t sequence, token, block; /* where we are */
    int is_lost;          /* an overflow could not be excluded: nothing is known any more */
    int may_be_subnormal; /* C-flush */
    int used_exp;         /* the exponential of a number other than 0 */
    int one_temperature;  /* some softmax could not be bounded for all smaller tau */
    int64_t doubt_token;  /* last place where a token's number was spread further */
    int64_t doubt_block;  /* -1: none */
    char doubt[XFI_REASON_SIZE];
} xfi_log;

static inline void xfi_box_copy(xfi_box to, xfi_box from, int64_t d) {
    memcpy(to.low, from.low, (size_t)d * sizeof(double));
    memcpy(to.high, from.high, (size_t)d * sizeof(double));
    memcpy(to.exponent, from.exponent, (size_t)d * sizeof(int32_t));
}

/* A decision on [low, high], which does not hold 0 inside. */
static inline void xfi_log_decision(xfi_log *log, double low, double high) {
    double half = (high - low) / 2, middle = fabs(low + half);
    if (half > 0.0 && middle < log->least.margin * half)
        log->least = (xfi_least){middle / half, log->sequence, log->token, log->block};
}

static inline void xfi_log_doubt(xfi_log *log, const char *what) {
    log->doubt_token = log->token;
    log->doubt_block = log->block;
    strncpy(log->doubt, what, XFI_REASON_SIZE - 1);
}

#endif
