/* The diamond writer: a quarter of a block per target. Cells are laid on the edge of a
 * diamond in the plane (k1, k2), so that each lane has two ends and each end one gate a block.
 * docs/writers.md, T-diamond. Numeric class: exact in any order. */
#ifndef XFI_CONSTRUCT_DIAMOND_H
#define XFI_CONSTRUCT_DIAMOND_H

#include "construct/cells.h"
#include "construct/lanes.h"

/* What one end of a lane does in one block: clamp a group of several cells, or write. */
typedef enum xfi_job_kind { XFI_JOB_NONE, XFI_JOB_CLAMP, XFI_JOB_WRITE } xfi_job_kind;

typedef struct xfi_job {
    xfi_job_kind kind;
    int64_t group; /* index into cells->at */
    double sign;   /* of the lane */
    int inner;     /* reads sign * x_k2, else sign * x_k1 */
    double code;   /* |D| that the group is at (or is clamped to) */
    double theta;  /* write: the gate is relu(2^-k (sign x - theta)) */
    int k;
} xfi_job;

typedef struct xfi_diamond {
    int64_t n_steps;    /* blocks after the routing block */
    xfi_job (*jobs)[4]; /* [n_steps] two lanes of two ends, owned */
    double a;           /* origin: D = q - a */
    double h;           /* half-width of the empty middle */
    double alpha, beta, epsilon;
} xfi_diamond;

/* Plan the diamond for targets `written` (k1 and k2 from written->axes). *feasible becomes 0 if the
 * routing test or some target's grid test fails, and `out` is then cleared. `wide` puts the empty
 * middle into the widest gap that keeps the depth: fewer bits and smaller weights for routing.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_diamond_plan(xfi_diamond *out, int *feasible, const xfi_cells *cells,
                           const xfi_written *written, const xfi_format *format, int wide,
                           xf_error *error);
void xfi_diamond_clear(xfi_diamond *diamond);

/* Write the routing block and n_steps blocks (fresh, width 4) from `first` on. In: the cell
 * on written->axes.k2. */
void xfi_diamond_emit(const xfi_diamond *diamond, const xfi_cells *cells,
                      const xfi_written *written, xf_model *model, int64_t first);

#endif
