/* The quantiser: b blocks that read floor(t) off t, highest bit first, exactly.
 * docs/writers.md, T-quantiser. Numeric class: exact in any order, whatever the rounding of
 * t within its certificate. */
#ifndef XFI_CONSTRUCT_QUANTISER_H
#define XFI_CONSTRUCT_QUANTISER_H

#include "construct/reading.h"

/* Write b fresh blocks from `first` on. In: t on axes.k1, in (0, 2^b), at least 2^-k0 from every
 * integer, with k0 + b <= p - 1; anything elsewhere. Out: floor(t) on axes.k2, t still on axes.k1,
 * 0 elsewhere. */
void xfi_quantiser_emit(xf_model *model, int64_t first, int b, int k0, xfi_axes axes);

/* The same for 2^-b t with the given ramps [b]; out comes 2^-b floor(t). */
void xfi_quantiser_emit_ramps(xf_model *model, int64_t first, int b, const xfi_ramp *ramp,
                              xfi_axes axes);

/* Squared norm of these b blocks, balanced. */
double xfi_quantiser_cost(int b, int k0);
double xfi_quantiser_cost_ramps(int b, const xfi_ramp *ramp);

#endif
