/* The diamond as a whole writer: bits, routing and gates, and behind them, for targets off the
 * grid, the sorted writer. Plain, or reduced for small weights: 2^-b t in place of t, every bit as
 * flat as it can be, and the stream at 2^-r of its scale until the last r blocks. docs/writers.md,
 * T-diamond and T-scale. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_DIAMOND_WRITER_H
#define XFI_CONSTRUCT_DIAMOND_WRITER_H

#include "construct/diamond.h"
#include "construct/reading.h"
#include "construct/slots.h"

typedef struct xfi_diamond_writer {
    xfi_diamond diamond;
    xfi_axes axes;
    int sorted;
    xfi_slots slots; /* sorted: of the targets; owned */
    double *code;    /* sorted: [M] what the diamond writes; owned */
    int r;           /* reduced only */
    int extra;       /* blocks at the end */
} xfi_diamond_writer;

/* *feasible becomes 0, and `out` is cleared, if d < 2 or the diamond refuses, wide or not. `wide`:
 * in the wide gap first. Errors: XF_ERR_MEMORY. */
xf_status xfi_diamond_writer_plan(xfi_diamond_writer *out, int *feasible, const xfi_cells *cells,
                                  const xfi_problem *problem, xfi_axes axes, int sorted, int wide,
                                  xf_error *error);
void xfi_diamond_writer_clear(xfi_diamond_writer *writer);

/* Blocks of the routing, of the diamond's gates, and of the sorted writer. */
int64_t xfi_diamond_writer_blocks(const xfi_diamond_writer *writer, int64_t out[3]);

/* Write the bits and all those blocks (fresh, width 4) from `first` on; with ramps [b] reduced.
 * Returns 0 if some weight leaves the format. */
int xfi_diamond_writer_emit(const xfi_diamond_writer *writer, const xfi_cells *cells,
                            const xfi_problem *problem, const xfi_ramp *ramp, xf_model *model,
                            int64_t first);

/* Squared norm, balanced, of what is written so. */
double xfi_diamond_writer_cost(const xfi_diamond_writer *writer, const xfi_cells *cells,
                               const xfi_problem *problem, const xfi_ramp *ramp);

/* Set r and extra, reduced, to the cheapest with at most max_blocks blocks besides the bits. */
void xfi_diamond_writer_tune(xfi_diamond_writer *writer, const xfi_cells *cells,
                             const xfi_problem *problem, const xfi_ramp *ramp, int64_t max_blocks);

#endif
