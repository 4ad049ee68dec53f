/* The cube writer: cells go to the corners of a cube, one gate each writes their targets, four a
 * block. For targets on a grid on the code coordinates. The writer of small weights.
 * docs/writers.md, T-cube. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_CUBE_H
#define XFI_CONSTRUCT_CUBE_H

#include "construct/cell_slots.h"
#include "construct/corners.h"

/* A cube for the occupied cells, in ascending order; y' = y - mean is what the gates write. */
typedef struct xfi_cube {
    xfi_corners corners;
    int64_t d;
    int64_t n;           /* gates */
    double *written;     /* [n][d] y', owned */
    const double **rows; /* [n] of written, owned */
    int *slack;          /* [n] m of each gate, owned */
    double *mean;        /* [d] 0 without a mean, owned */
    double *out;         /* [n] squared norm of the columns at full scale, owned */
    int has_mean;        /* some entry is not 0 */
    int mean_alone;      /* the mean cannot be added in a gate block */
    int64_t n_blocks;    /* gate blocks, one for the mean alone if need be, and the extra ones */
} xfi_cube;

/* Plan a cube of the given shape. *feasible becomes 0, and `out` is cleared, if b < 2, d < b + 1,
 * or some target does not fit its corner: y' +- kappa must be numbers of the format. Errors:
 * XF_ERR_MEMORY. */
xf_status xfi_cube_plan(xfi_cube *out, int *feasible, const xfi_cells *cells,
                        const xfi_problem *problem, const xfi_corner_shape *shape, xf_error *error);
void xfi_cube_clear(xfi_cube *cube);

/* Squared norm, balanced, of what xfi_cube_emit writes. O(n). */
double xfi_cube_cost(const xfi_cube *cube, const xfi_ramp *ramp);

/* Use another r, split and number of extra blocks. */
void xfi_cube_reshape(xfi_cube *cube, int r, int extra, int split);

/* The shape of least cost among those of at most max_blocks blocks for bits and gates. *feasible
 * becomes 0 if there is none. Errors: XF_ERR_MEMORY. */
xf_status xfi_cube_tune(xfi_corner_shape *out, int *feasible, const xfi_cells *cells,
                        const xfi_problem *problem, const xfi_reading *reading, int64_t max_blocks,
                        xf_error *error);

/* Write bits, gates and extra blocks (fresh, width 4) from `first` on. Returns 0 if some weight
 * leaves the format. */
int xfi_cube_emit(const xfi_cube *cube, const xfi_cells *cells, const xfi_ramp *ramp,
                  xf_model *model, int64_t first);

#endif
