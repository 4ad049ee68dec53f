/* Where blocks with several poolings leave every token: running error analysis from the stored
 * weights, for every order of summation, with and without FMA (docs/reach.md, T-pools). */
#ifndef XFI_CONSTRUCT_POOLS_BOUND_H
#define XFI_CONSTRUCT_POOLS_BOUND_H

#include "construct/ball_block.h"

#include <exactformer/dataset.h>

enum { XFI_TRACKED = 3 };

/* Balls of a few coordinates of every token: they hold the exact number (stored weights, data as
 * they are) and the number of every evaluation in the model's format. */
typedef struct xfi_track {
    int n_coordinates;
    int64_t coordinate[XFI_TRACKED];
    xfi_ball *ball; /* [T][n_coordinates], owned */
} xfi_track;

void xfi_track_clear(xfi_track *track);

/* Index of coordinate k, or -1. */
int xfi_track_index(const xfi_track *track, int64_t k);

/* Push every token through the first n_blocks of `model` and fill track->ball; the coordinates are
 * the caller's. Attentions have A = 0 and are identities, or x + g mean(x_from) e_to
 * (rho 0 or 1), or the mean of everything (V = I, rho = 0).
 * Numeric class: enclosure. O(n_blocks T d w). Errors: XF_ERR_ARGUMENT (blocks of another shape),
 * XF_ERR_MEMORY; the track is then cleared. */
xf_status xfi_pools_bound(xfi_track *track, const xf_model *model, int64_t n_blocks,
                          const xf_dataset *data, int threads, xf_error *error);

/* The ball around x + v for a number v of the format, added with one rounding. */
xfi_ball xfi_ball_add(xfi_ball x, double v, const xfi_format *format);

/* Ends of a ball as binary64 numbers, rounded outwards. */
double xfi_ball_low(xfi_ball x);
double xfi_ball_high(xfi_ball x);

#endif
