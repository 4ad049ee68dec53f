/* Slots of the sorted writer for cells: every occupied cell is a group of its own, and several may
 * have the same target. docs/theory.md, T-slots. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_CELL_SLOTS_H
#define XFI_CONSTRUCT_CELL_SLOTS_H

#include "construct/cells.h"
#include "construct/slots.h"

/* Places of the occupied cells, out->place [cells->n_occupied], for coordinate k1; their codes mean
 * nothing. Errors: XF_ERR_MEMORY. */
xf_status xfi_cell_slots_make(xfi_slots *out, const xfi_cells *cells, const xfi_problem *problem,
                              int k1, xf_error *error);

/* Row of the target of occupied cell g. */
const double *xfi_cell_target(const xfi_cells *cells, const xfi_problem *problem, int64_t g);

/* The B gate of one place: reads k1 and adds y_k1 - f there and y_k on the `others` [n]. */
void xfi_cell_slot_emit_b(const xfi_place *place, const double *y, int k1, const int *others, int n,
                          xf_model *model, int64_t block);

/* |(U, b)|^2 of the B gate when the stream is at 2^exponent of its scale, and |W|^2 at full scale.
 */
double xfi_cell_slot_square(const xfi_place *place, int exponent);
double xfi_cell_slot_out(const xfi_place *place, const double *y, int k1, const int *others, int n);

#endif
