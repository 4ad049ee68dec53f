/* Quantising tokens: the paper's box B, on a dyadic grid.
 *
 * A block adds a number near 1.5 2^52 G to every coordinate, which rounds the token to a
 * multiple of G in floating point (and rounds nothing in real arithmetic); the next one takes it
 * back but for a shift into the box [h, 3h]^d. From then on every sum is a sum of
 * multiples of G and exact in any order. Tokens that are on such a grid already need the shift
 * only. docs/published.md, P-quantise. */
#ifndef XFI_CONSTRUCT_QUANTISE_H
#define XFI_CONSTRUCT_QUANTISE_H

#include <exactformer/model.h>

typedef struct xfi_quantised {
    int64_t n; /* tokens */
    int64_t d;
    int g;         /* G = 2^-g h */
    int exponent;  /* G = 2^exponent */
    int rounds;    /* 0: on the grid already, no block for rounding */
    double *shift; /* [d] added with the first move */
    double *big;   /* [d] added by the rounding block */
    int64_t *x;    /* [n][d] tokens after both, in units of G: [2^g, 3 2^g] */
} xfi_quantised;

/* Put the tokens z [n][d] on the grid 2^-g h, h a power of two above all half-ranges.
 * `may_skip`: do without the rounding block if every token is on the grid.
 * Returns 0 if memory is short; *feasible becomes 0 if an offset is so much larger than the range
 * that the constants do not fit binary64. Numeric class: exact. */
int xfi_quantise(xfi_quantised *out, int *feasible, const double *z, int64_t n, int64_t d, int g,
                 int may_skip);
void xfi_quantised_clear(xfi_quantised *q);

/* Write the rounding block (only if q->rounds). The block is fresh; its eta is kept. */
void xfi_quantise_emit(const xfi_quantised *q, xf_model *model, int64_t block);

/* Add q->shift to every token, with a free neuron of `block`. */
void xfi_shift_emit(const xfi_quantised *q, xf_model *model, int64_t block);

#endif
