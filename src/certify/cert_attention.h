/* Who is attended to: C-hard and C-soft of docs/certify.md. Both leave the mean of the first n
 * tokens, as query i sees them, in the mean's box. */
#ifndef XFI_CERTIFY_CERT_ATTENTION_H
#define XFI_CERTIFY_CERT_ATTENTION_H

#include "certify/cert_mix.h"

void xfi_attend_hard(xfi_mix *mix, int64_t i, int64_t n, xfi_log *log);

/* *span describes the mean as core and generators, in the room of mix. */
void xfi_attend_soft(xfi_mix *mix, xfi_span *span, int64_t i, int64_t n, xfi_log *log);

#endif
