/* Local layers at the cost of what they do to a token: zero weights cost nothing, and layers that
 * cannot touch a token are not visited. Same bits as the dense kernels (docs/engines.md). */
#ifndef XFI_ENGINE_SPARSE_H
#define XFI_ENGINE_SPARSE_H

#include "engine/sparse_form.h"
#include "engine/weights.h"

/* What a feed-forward layer holds, found out once for all blocks. */
typedef struct xfi_block_shape {
    int32_t n_neurons; /* that may be active */
    int32_t n_inputs;  /* terms to be stored for them: whole rows and columns are not */
    int32_t n_outputs;
    char always; /* eta is not 1, or a neuron is active whatever the token */
    char cleans; /* xfi_step.cleans */
    char heavy;  /* the neurons read most coordinates */
} xfi_block_shape;

/* shapes [L]. Cost: one pass over U, W and b, shared by `threads`. */
void xfi_sparse_scan(xfi_block_shape *shapes, const xfi_weights *weights, int threads);

/* Where the stretch that starts at `first` should end, at most at `last`: long stretches of heavy
 * layers are kept apart from light ones. Cost: O(layers of the stretch). */
int64_t xfi_sparse_stretch(const xfi_weights *weights, const xfi_block_shape *shapes, int64_t first,
                           int64_t last);

/* Prepare the local layers first .. last-1. Release with xfi_sparse_clear.
 * Errors: XF_ERR_MEMORY (nothing to clear). */
xf_status xfi_sparse_new(xfi_sparse *out, const xfi_weights *weights, const xfi_block_shape *shapes,
                         int64_t first, int64_t last, int threads, xf_error *error);
void xfi_sparse_clear(xfi_sparse *sparse);

/* Bytes of scratch that a thread needs for tiles of `tile` tokens. */
int64_t xfi_sparse_scratch(const xfi_sparse *sparse, const xfi_weights *weights, int64_t tile);

/* Find out on n sample rows, which are overwritten, whether the stretch begins with layers that
 * touch most tokens, as those that read bits do; these are better done by the dense kernel. This
 * decides about time only, never about bits. */
void xfi_sparse_learn(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                      void *scratch);

/* The layer from which xfi_sparse_apply goes on; those of the stretch before it are the dense
 * kernel's. */
int64_t xfi_sparse_start(const xfi_sparse *sparse);

/* Apply the layers from xfi_sparse_start on to n rows in place. Returns 0, the rows unchanged, if
 * it would cost more than the dense kernel or if a number overflows: the dense kernel has to do it
 * then. `scratch` is aligned to 64 bytes. Numeric class: the bits of the dense engine. */
int xfi_sparse_apply(xfi_sparse *sparse, const xfi_weights *weights, void *rows, int64_t n,
                     void *scratch);

#endif
