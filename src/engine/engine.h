/* The contract between the driver (evaluate.c) and a back end (dense.c, blas_engine.c).
 *
 * A model of L blocks is 2L layers: with order FF_SA layer 2b is the feed-forward layer of
 * block b and 2b+1 its attention, with SA_FF the other way round. A layer is *local* if every
 * token depends on itself only: feed-forward, or attention with V = 0 (then SA is rho x). The
 * driver cuts the layers into runs of local layers and single coupled layers, and the tokens
 * into pieces for threads; the back end does the arithmetic.
 *
 * Rows are of the type of the weights (float or double), [n][d] row-major. Results must not
 * depend on how the driver cuts. */
#ifndef XFI_ENGINE_ENGINE_H
#define XFI_ENGINE_ENGINE_H

#include "engine/weights.h"

#include <exactformer/run.h>

/* One coupled layer and the sequence it is applied to. */
typedef struct xfi_coupling {
    int64_t block;
    xf_attention attention;
    int causal;
    double tau;    /* > 0 */
    int64_t n;     /* tokens of the sequence */
    const void *x; /* [n][d] the sequence before the layer */
    void *next;    /* [n][d] after it; does not overlap x */
    int64_t first; /* rows first .. last-1 of next are to be written */
    int64_t last;
} xfi_coupling;

typedef struct xfi_backend {
    /* Reals of scratch that a thread needs for tiles of `tile` tokens and for
     * sequences of at most n_max tokens. The driver hands it over aligned to 64 bytes. */
    int64_t (*scratch)(const xfi_weights *weights, int64_t n_max);

    /* Apply the local layers first .. last-1 to n <= tile rows in place. */
    void (*local)(const xfi_weights *weights, int64_t first, int64_t last, void *rows, int64_t n,
                  void *scratch);

    /* Apply one coupled layer to some rows of one sequence. */
    void (*attend)(const xfi_weights *weights, const xfi_coupling *coupling, void *scratch);

    int64_t tile;
} xfi_backend;

extern const xfi_backend xfi_dense_f64;
extern const xfi_backend xfi_dense_f32;
extern const xfi_backend xfi_blas_f64;
extern const xfi_backend xfi_blas_f32;

#endif
