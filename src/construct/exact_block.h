/* Blocks that are exact on a grid: every product and every partial sum is a multiple of G below
 * 2^53 G, so every order of summation, with and without FMA, gives the exact result; and
 * every token is moved by the same step wherever it is within its tolerance.
 * docs/published.md, P-exact. */
#ifndef XFI_CONSTRUCT_EXACT_BLOCK_H
#define XFI_CONSTRUCT_EXACT_BLOCK_H

#include <exactformer/model.h>

/* Tokens on a grid. Every evaluation, exact or in binary64, has every coordinate of token i
 * within off[i] of x[i]; in binary64 it is a multiple of G = 2^exponent. */
typedef struct xfi_settled {
    int64_t n;
    int64_t d;
    int exponent;
    double *x;   /* [n][d] */
    double *off; /* [n] */
    int checked; /* the x are known to be multiples of G */
} xfi_settled;

/* Returns 0 if memory is short. */
int xfi_settled_init(xfi_settled *out, int64_t n, int64_t d);
void xfi_settled_clear(xfi_settled *settled);

/* Move all tokens through the feed-forward layer of `block`, in place. *token becomes the first
 * one for which the claims above cannot be shown, or -1. Returns 0 if memory is short.
 * O(n d w). Numeric class: exact. */
int xfi_exact_block(int64_t *token, xfi_settled *settled, const xf_model *model, int64_t block);

#endif
