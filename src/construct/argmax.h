/* The argmax front end: for hardmax, one target a sequence, and inputs on an exact grid. One block
 * picks the token of each sequence whose integer z = S (<u, x> - mu) is largest; the diamond reads
 * z as a cell. No averaging, hence no bits to be read: ceil(M / 4) + 2 blocks. docs/writers.md,
 * T-argmax. Numeric class: exact in any order; for hardmax only. */
#ifndef XFI_CONSTRUCT_ARGMAX_H
#define XFI_CONSTRUCT_ARGMAX_H

#include "construct/problem.h"
#include "construct/front.h"

/* Can this front end serve: hardmax, every m_j = 1, d >= 2, inputs that are numbers of the format?
 * If not, `why` [160] says so. */
int xfi_argmax_fits(const xfi_problem *problem, char why[160]);

/* Blocks of the model. */
int64_t xfi_argmax_depth(const xfi_problem *problem);

/* Search for a direction whose maxima are unique within sequences and different between them, such
 * that the diamond behind it fits (axes from axes.h); build the model. tau_max becomes 0.
 * *feasible becomes 0 if there is none, and `why` [160] says what stood in the way. Errors:
 * XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_assemble_argmax(xf_model *out, int *feasible, const xfi_problem *problem,
                              xfi_axes axes, char why[160], xf_error *error);

#endif
