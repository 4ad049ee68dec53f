/* A model as the engines read it: weights in the type of the arithmetic, and which matrices
 * are zero. For binary64 the arrays are the model's own; for binary32 they are copies as
 * float. The model must outlive the view and stay unchanged. */
#ifndef XFI_ENGINE_WEIGHTS_H
#define XFI_ENGINE_WEIGHTS_H

#include <exactformer/model.h>

enum { XFI_ZERO_A = 1, XFI_ZERO_V = 2 };

/* As xf_low_rank, arrays of float or double. */
typedef struct xfi_low_rank_view {
    const void *alpha; /* [L] */
    const void *left;  /* [L][d] */
    const void *right; /* [L][d] */
    const void *full;  /* [L][d][d] or NULL */
} xfi_low_rank_view;

typedef struct xfi_weights {
    int64_t n_blocks;
    int64_t d;
    int64_t width;
    xf_dtype dtype;
    xf_order order;
    const void *eta; /* [L] */
    const void *W;   /* [L][d][w] */
    const void *U;   /* [L][w][d] */
    const void *b;   /* [L][w] */
    const void *rho; /* [L] */
    xfi_low_rank_view A;
    xfi_low_rank_view V;
    unsigned char *zero; /* [L] XFI_ZERO_A | XFI_ZERO_V */
    float *narrowed;     /* owned: all weights as float, or NULL */
} xfi_weights;

/* Make the view; release with xfi_weights_clear. Cost: one pass over A and V, shared by `threads`.
 * Errors: XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_weights_new(xfi_weights *out, const xf_model *model, int threads, xf_error *error);

void xfi_weights_clear(xfi_weights *weights);

/* Layers are numbered 0 .. 2L-1 (engine.h). */
static inline int xfi_layer_is_attention(const xfi_weights *weights, int64_t layer) {
    return (layer & 1) == (weights->order == XF_FF_SA);
}

/* Does the layer let tokens see each other? */
static inline int xfi_layer_is_coupled(const xfi_weights *weights, int64_t layer) {
    return xfi_layer_is_attention(weights, layer) && !(weights->zero[layer / 2] & XFI_ZERO_V);
}

#endif
