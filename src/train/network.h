/* What the two precisions of the network have in common: sizes, sequences, memory, and the
 * functions that network.c makes from the templates. */
#ifndef XFI_TRAIN_NETWORK_H
#define XFI_TRAIN_NETWORK_H

#include "train/layout.h"

#include <stddef.h>

/* Tokens are computed LANES at a time. */
enum { XFI_TRAIN_LANES = 16 };

typedef struct xfi_sizes {
    int64_t n_blocks, d, w;
    int64_t h;          /* rank of A */
    int64_t n_features; /* F */
    int causal;
    double tau;
} xfi_sizes;

typedef struct xfi_network {
    xf_family family;
    xfi_layout layout;
    xfi_sizes size;
    int64_t n_parameters; /* P */
} xfi_network;

/* One pair of the data set, in the arithmetic's type. */
typedef struct xfi_sequence {
    int64_t n, m;
    int64_t stride; /* s: n rounded up to a multiple of the lanes */
    const void *x;  /* [d][s] */
    const void *y;  /* [m][d] */
} xfi_sequence;

/* Working memory of one thread. */
typedef struct xfi_arena {
    void *reals;   /* xfi_tape_size(...) of them */
    int64_t *list; /* [s] of the longest sequence */
} xfi_arena;

/* One precision. Arrays of reals are void: float or double. */
typedef struct xfi_arithmetic {
    size_t real; /* bytes */
    /* Sum of the squared Hausdorff distances of sequences first .. last-1 at theta [P]; slope [P]
     * = factor times its gradient, unless slope is NULL. */
    double (*chunk)(const xfi_network *net, const xfi_sequence *sequences, int64_t first,
                    int64_t last, const xfi_arena *arena, const void *theta, void *slope,
                    double factor);
    void (*narrow)(void *out, const double *in, int64_t n);
    void (*widen)(double *out, const void *in, int64_t n);
    void (*add)(void *sum, const void *term, int64_t n);
    void (*transpose)(void *out, const double *x, int64_t n, int64_t d, int64_t s);
} xfi_arithmetic;

extern const xfi_arithmetic xfi_arithmetic_f64;
extern const xfi_arithmetic xfi_arithmetic_f32;

/* `family` has passed its check. */
xfi_network xfi_network_of(const xf_family *family);

/* Reals that a sequence of stride s needs. */
int64_t xfi_tape_size(const xfi_network *net, int64_t s);

#endif
