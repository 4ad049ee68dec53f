/* The gain K of the pooled term: just enough to pull the sequences apart. */
#ifndef XFI_CONSTRUCT_GAIN_H
#define XFI_CONSTRUCT_GAIN_H

#include "construct/features.h"

/* The least K >= 0 (rounded up to 12 bits) for which the windows of neighbouring sequences, in
 * order of their pooled means, are at least local->delta apart: K = max (delta + w_j) /
 * Delta_j, with Delta_j the difference of the means and w_j the overlap of the windows at
 * K = 0. INFINITY if two means coincide that must be pulled apart. N = 1: 0. */
double xfi_gain(const xfi_local *local, const xfi_pool *pool, int64_t n_sequences);

#endif
