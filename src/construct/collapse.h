/* The collapse: one attention layer with rho = 0, V = I and A = alpha I sends every token to the
 * leader that it agrees with most, leaders to themselves. docs/published.md, P-collapse. */
#ifndef XFI_CONSTRUCT_COLLAPSE_H
#define XFI_CONSTRUCT_COLLAPSE_H

#include "construct/exact_block.h"

#include <exactformer/dataset.h>

/* The smallest gap of logits (for alpha = 1), and where. */
typedef struct xfi_logit_gap {
    double gap;   /* of the places as they are; INFINITY if every n_j = 1 */
    double bound; /* what rounding and tolerances can take from it */
    int64_t sequence;
    int64_t token; /* rows of x: the one that looks, and the one that nearly wins */
    int64_t rival;
} xfi_logit_gap;

/* What token i sees: lower bounds of <x_i, x_l* - x_l> over every evaluation, exact or in
 * binary64, for every token l of its sequence; 0 for l = l*. */
typedef struct xfi_view {
    int64_t n;
    int64_t best;  /* l* */
    double *gap;   /* [n] */
    double *logit; /* [n] scratch */
    double *size;  /* [n] 2-norms, rounded up */
    double *span;  /* [n] 1-norms, rounded up */
} xfi_view;

/* Room for sequences of up to n tokens. Returns 0 if memory is short. */
int xfi_view_init(xfi_view *view, int64_t n);
void xfi_view_clear(xfi_view *view);

/* Start on the n tokens from row `first` on. O(n d). */
void xfi_view_begin(xfi_view *view, const xfi_settled *settled, int64_t first, int64_t n);

/* Look from token i (within the sequence); `least` takes the smallest gap if it is smaller. O(n d).
 * Numeric class: enclosure. */
void xfi_view_from(xfi_view *view, const xfi_settled *settled, int64_t first, int64_t i,
                   xfi_logit_gap *least);

/* Is the attention of `block` a collapse, A = alpha I, V = I, rho = 0? */
int xfi_is_collapse(const xf_model *model, int64_t block);

/* The row that every token is sent to, leader [T], and the smallest gap. Only if least->gap >
 * least->bound is that proved. Errors: XF_ERR_MEMORY. */
xf_status xfi_collapse(int64_t *leader, xfi_logit_gap *least, const xfi_settled *settled,
                       const xf_dataset *data, xf_error *error);

#endif
