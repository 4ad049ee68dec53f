/* Means of tokens in boxes: C-mean of docs/certify.md. */
#ifndef XFI_CERTIFY_CERT_MEAN_H
#define XFI_CERTIFY_CERT_MEAN_H

#include "certify/cert_mix.h"

/* The mean of the chosen tokens (NULL: of the first n) into the mean's box. */
void xfi_mean_of(xfi_mix *mix, const int64_t *chosen, int64_t n, xfi_log *log);

/* The mean of some of the n tokens in mix->chosen, it is not known which. */
void xfi_mean_of_some(xfi_mix *mix, int64_t n, xfi_log *log);

/* The interval of a number in [mix->low, mix->high] that is a multiple of 2^kept. Not finite: the
 * log says that all is lost. */
void xfi_mean_interval(xfi_mix *mix, double *low, double *high, int32_t *exponent, int32_t kept,
                       xfi_log *log);

#endif
