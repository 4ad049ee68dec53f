/* The projection on a line behind the collapse: coordinate k1 becomes sigma (<wl, x> - shift).
 * docs/published.md, P-line. */
#ifndef XFI_CONSTRUCT_PROJECT_LINE_H
#define XFI_CONSTRUCT_PROJECT_LINE_H

#include "construct/exact_block.h"

#include <exactformer/dataset.h>

/* Write the block (fresh): eta = 0 and two neurons for the two signs. Returns 0 if a
 * weight leaves the range of binary64. */
int xfi_line_emit(xf_model *model, int64_t block, int k1, const double *direction, double sigma,
                  double shift);

/* The coordinate that the block writes, or -1 if it is no such block. */
int xfi_line_axis(const xf_model *model, int64_t block);

/* p [T]: the number of every token's own place, without a collapse, rounded to nearest from
 * double-double. */
void xfi_line_project(double *p, const xf_model *model, int64_t block, const xfi_settled *settled);

/* E [T]: behind a collapse by hardmax (or by softmax, up to what the other tokens pull,
 * temperature.h) token i is within E[i] of p[leader[i]] in any evaluation, exact or in binary64:
 * tolerances, rounding of the mean of n_j tokens and of the projection. Returns 0 if memory is
 * short. Numeric class: enclosure. */
int xfi_line_bound(double *E, const double *p, const xf_model *model, int64_t block,
                   const xfi_settled *settled, const int64_t *leader, const xf_dataset *data);

#endif
