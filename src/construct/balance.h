/* Balancing: every neuron, and every rank-one V, is rescaled by the power of two that makes its
 * weights smallest, which is within 5/4 of what real factors could do.
 * docs/writers.md, T-balance. */
#ifndef XFI_CONSTRUCT_BALANCE_H
#define XFI_CONSTRUCT_BALANCE_H

#include "num/format.h"

#include <exactformer/dataset.h>

/* Squared norm of a balanced neuron with |(U, b)|^2 = in and |W|^2 = out (or of a balanced V).
 * Exact up to the rounding of the sums. */
double xfi_balanced_cost(double in, double out);

/* Squared norm of blocks first .. first + count - 1 as xfi_balance would leave them. */
double xfi_balanced_norm(const xf_model *model, int64_t first, int64_t count);

/* relu(U x + b) W = relu(2^e (U x + b)) 2^-e W for every neuron, and the same for V = left right^T.
 * The first n_front blocks hold the front end: there a neuron of block 0 is rescaled only if its
 * products with the data of `data` are far from both ends of the exponent range, and one of a fold
 * not at all. A weight that would leave the normal numbers keeps its neuron as it is. Numeric
 * class: exact; no evaluation on the data changes by one bit. O(T d + L d). */
void xfi_balance(xf_model *model, int64_t n_front, const xf_dataset *data);

#endif
