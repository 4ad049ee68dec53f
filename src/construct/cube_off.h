/* The cube writer for any floats: on the corners of the cube as in cube.h, but the A gate leaves
 * one coordinate, the line, at a number f from which the B gate of the sorted writer finishes it.
 * Two targets a block. docs/writers.md, T-cubeoff. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_CUBE_OFF_H
#define XFI_CONSTRUCT_CUBE_OFF_H

#include "construct/cell_slots.h"
#include "construct/corners.h"

typedef struct xfi_cube_off {
    xfi_corners corners;
    xfi_slots slots; /* of the occupied cells; owned */
    int64_t n;       /* occupied cells */
    int64_t d;
    int *slack;          /* [n] m of each A gate, owned */
    const double **rows; /* [n] targets, owned */
    double *out;         /* [n] squared norm of A's columns at full scale, owned */
    int64_t n_blocks;    /* of gates, and the extra ones */
} xfi_cube_off;

/* Plan for the given shape (mean is ignored) with the line on k1, which must carry slots
 * (axes.h). *feasible becomes 0, and `out` is cleared, if b < 2, d < b + 1, or the
 * targets on the code coordinates are too large. Errors: XF_ERR_MEMORY. */
xf_status xfi_cube_off_plan(xfi_cube_off *out, int *feasible, const xfi_cells *cells,
                            const xfi_problem *problem, int k1, const xfi_corner_shape *shape,
                            xf_error *error);
void xfi_cube_off_clear(xfi_cube_off *cube);

/* Squared norm, balanced, of what xfi_cube_off_emit writes. O(n). */
double xfi_cube_off_cost(const xfi_cube_off *cube, const xfi_ramp *ramp);

/* As xfi_cube_tune. */
xf_status xfi_cube_off_tune(xfi_corner_shape *out, int *feasible, const xfi_cells *cells,
                            const xfi_problem *problem, int k1, const xfi_reading *reading,
                            int64_t max_blocks, xf_error *error);

/* Write bits, gates and extra blocks (fresh, width 4) from `first` on. Returns 0 if some weight
 * leaves the format. */
int xfi_cube_off_emit(const xfi_cube_off *cube, const xfi_cells *cells, const xfi_ramp *ramp,
                      xf_model *model, int64_t first);

#endif
