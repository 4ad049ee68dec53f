/* rho x + V m: C-value of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_VALUE_H
#define XFI_CERTIFY_CERT_VALUE_H

#include "certify/cert_mix.h"

/* The box of token i behind the layer, m the mean's box. */
void xfi_value_token(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log);

/* The same for V = 0: rho x. Overwrites the mean's box. */
void xfi_value_scale(xfi_mix *mix, xfi_box out, int64_t i, xfi_log *log);

#endif
