/* The separation tree: the guaranteed way of separating, at most N - 1 blocks.
 *
 * Two sequences of one class (equal displacement so far) that share a token differ in some token z,
 * since they are different sets. A slab lifts z, wherever it occurs in the class, by H along
 * coordinate 0, and mean pooling displaces every sequence by kappa mean(x_0) along coordinate 1:
 * for all but a few kappa and H the two sequences then belong to different classes and nothing that
 * was apart comes together. docs/published.md, P-tree. */
#ifndef XFI_CONSTRUCT_SEPARATION_TREE_H
#define XFI_CONSTRUCT_SEPARATION_TREE_H

#include "construct/separate.h"

/* Blocks until every sequence has m_j tokens of its own; n_blocks and score 0 if rounding to
 * binary64 leaves no room for that. d >= 2. Errors: XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_separation_tree(xfi_separation *out, const xfi_problem *problem, xf_error *error);

#endif
