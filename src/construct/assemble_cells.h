/* Models whose writers read cells: front end, quantiser, then the writer. */
#ifndef XFI_CONSTRUCT_ASSEMBLE_CELLS_H
#define XFI_CONSTRUCT_ASSEMBLE_CELLS_H

#include "construct/diamond.h"

/* The diamond for targets on a grid. *feasible becomes 0 if it refuses. Errors: XF_ERR_MEMORY. */
xf_status xfi_assemble_diamond(xf_model *out, int *feasible, const xfi_cells *cells,
                               const xfi_problem *problem, xfi_axes axes, xf_error *error);

/* The diamond for codes, then the sorted writer (any floats). */
xf_status xfi_assemble_diamond_sorted(xf_model *out, int *feasible, const xfi_cells *cells,
                                      const xfi_problem *problem, xfi_axes axes, xf_error *error);

#endif
