/* Where the parameters of a family stand in theta: the same places in every block. */
#ifndef XFI_TRAIN_LAYOUT_H
#define XFI_TRAIN_LAYOUT_H

#include <exactformer/train.h>

/* Offsets from the start of a block. Parts that the family does not have are -1. */
typedef struct xfi_layout {
    int64_t rho;
    int64_t Q;       /* [h][d] */
    int64_t K;       /* [h][d] */
    int64_t A_alpha; /* scalar only */
    int64_t V_full;  /* [d][d] */
    int64_t V_alpha; /* low-rank only, as V_left [d] and V_right [d] */
    int64_t V_left;
    int64_t V_right;
    int64_t eta;
    int64_t W; /* [d][w] */
    int64_t U; /* [w][d] */
    int64_t b; /* [w] */
    int64_t block_size;
    int64_t n_features; /* F: logits are sums of F products, h and with a scalar d more */
} xfi_layout;

xfi_layout xfi_layout_of(const xf_family *family);

/* Layers are numbered 0 .. 2L-1; layer / 2 is the block. */
static inline int xfi_family_layer_is_attention(const xf_family *family, int64_t layer) {
    return (layer & 1) == (family->order == XF_FF_SA);
}

#endif
