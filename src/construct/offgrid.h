/* The off-grid writer: any floats in four coordinates or more. Reads the cell Q bit by bit into
 * Q and Q^2, so that 1 - (Q - c)^2, a sum of stored numbers, is the gate of cell c; then
 * the A and B gates of the sorted writer, two targets a block.
 * docs/writers.md, T-offgrid. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_OFFGRID_H
#define XFI_CONSTRUCT_OFFGRID_H

#include "construct/cell_slots.h"

typedef struct xfi_offgrid {
    int b;
    int line;          /* t, later f */
    int coordinate[3]; /* of Q, of Q^2, and of the last bit, later of the mark of the unwritten */
    double unit[3];    /* what 1 is there: powers of two, above 8 times the targets */
    double scale;      /* S = 2^k0 */
    xfi_slots slots;   /* of the occupied cells; owned */
} xfi_offgrid;

/* Plan with the line on k1, which must carry slots. *feasible becomes 0, and `out` is cleared, if d
 * < 4, 2 b + 1 > p, or the targets are too large. Errors: XF_ERR_MEMORY. */
xf_status xfi_offgrid_plan(xfi_offgrid *out, int *feasible, const xfi_cells *cells,
                           const xfi_problem *problem, int k1, xf_error *error);
void xfi_offgrid_clear(xfi_offgrid *writer);

/* b + 1 blocks for Q and Q^2, and ceil(n / 2) + 1 for the n occupied cells. */
int64_t xfi_offgrid_blocks(const xfi_offgrid *writer);

/* Write them, fresh, from `first` on. In: t on writer->line. */
void xfi_offgrid_emit(const xfi_offgrid *writer, const xfi_cells *cells, const xfi_problem *problem,
                      xf_model *model, int64_t first);

/* Squared norm, balanced, of what xfi_offgrid_emit writes. */
double xfi_offgrid_cost(const xfi_offgrid *writer, const xfi_cells *cells,
                        const xfi_problem *problem);

#endif
