/* The neurons of one block on a few tokens at once: the sums of ball_block.c side by side in vector
 * registers, operation by operation the same, so that the bits are the same. */
#ifndef XFI_CONSTRUCT_BALL_TILE_H
#define XFI_CONSTRUCT_BALL_TILE_H

#include "construct/ball_block.h"

enum { XFI_BALL_LANES = 8 };

/* Scratch for one thread. */
typedef struct xfi_ball_tile {
    int64_t d;
    int64_t w;
    double *x;                /* [d][LANES] coordinates of the tokens, transposed */
    double *error;            /* [d][LANES] |x_k - x_k rounded to the format|, inflated */
    xfi_neuron_state *states; /* [LANES][w] */
} xfi_ball_tile;

/* Returns 0 if memory is short; clear in any case. */
int xfi_ball_tile_init(xfi_ball_tile *tile, int64_t d, int64_t w);
void xfi_ball_tile_clear(xfi_ball_tile *tile);

/* Look at n <= LANES tokens [n][d] and evaluate the neurons of the block. Numeric class: enclosure.
 */
void xfi_ball_tile_neurons(xfi_ball_tile *tile, const xfi_block_view *view, const double *tokens,
                           int64_t n);

/* Coordinate c of FF(token l), as xfi_ball_feed_forward finds it; x [d] is scratch. */
xfi_ball xfi_ball_tile_output(const xfi_ball_tile *tile, const xfi_block_view *view, int64_t l,
                              int64_t c, xfi_ball *x);

#endif
