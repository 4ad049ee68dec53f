/* The quantiser: b blocks that read floor(t) off t, highest bit first, exactly.
 * docs/theory.md, T-quantiser. Numeric class: exact in any order, whatever the rounding of
 * t within its certificate. */
#ifndef XFI_CONSTRUCT_QUANTISER_H
#define XFI_CONSTRUCT_QUANTISER_H

#include "construct/front.h"

/* Write b fresh blocks from `first` on. In: t on axes.k1, in (0, 2^b), at least 2^-k0 from every
 * integer, with k0 + b <= p - 1; anything elsewhere. Out: floor(t) on axes.k2, t still on axes.k1,
 * 0 elsewhere. */
void xfi_quantiser_emit(xf_model *model, int64_t first, int b, int k0, xfi_axes axes);

#endif
