/* Where a token can be, as seen by affine functions: a box in the coordinates that are not
 * points, and generators x_l - x_l* with weights in intervals (C-pull of docs/certify.md).
 *
 * A form is an affine function: arf numbers [n_free + 1], slopes first, then the constant. */
#ifndef XFI_CERTIFY_CERT_SPAN_H
#define XFI_CERTIFY_CERT_SPAN_H

#include "certify/cert_number.h"

typedef struct xfi_span {
    int n_free;
    const int32_t *coordinate; /* [n_free] */
    const double *low;         /* [d] the core: the box without generators */
    const double *high;        /* [d] */
    int64_t n_generators;
    const double *weight_low;  /* [n_generators] >= 0 */
    const double *weight_high; /* [n_generators] */
    const double *from_low;    /* [d] the box of x_l* */
    const double *from_high;
    const double *const *to_low; /* [n_generators] -> [d] the boxes of x_l */
    const double *const *to_high;
} xfi_span;

/* The exact range of a form over the span. */
void xfi_span_range(arf_t low, arf_t high, const xfi_span *span, arf_srcptr form);

/* low += min, high += max of slope times [a, b]. */
void xfi_add_range(arf_t low, arf_t high, const arf_t slope, double a, double b);

#endif
