/* The sorted writer: arbitrary floating-point targets. A first pass (lanes.h) moves each
 * group to a code on k2; then slot by slot A turns the code into f on k1, and B, one
 * block later, adds y_k1 - f and y_k2. docs/theory.md, T-sorted. Numeric class: exact in
 * any order. */
#ifndef XFI_CONSTRUCT_WRITER_SORTED_H
#define XFI_CONSTRUCT_WRITER_SORTED_H

#include "construct/slots.h"

/* Write A and B of all slots into blocks first .. first + n_slots. Block `first` may be
 * the last one of the first pass. */
void xfi_sorted_emit(const xfi_slots *slots, const xfi_problem *problem, xfi_axes axes,
                     xf_model *model, int64_t first);

#endif
