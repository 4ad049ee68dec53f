/* The frame of a model whose writer reads cells: front end, room for the writer, and the last
 * blocks that bring targets to their scale. */
#ifndef XFI_CONSTRUCT_CELL_FRAME_H
#define XFI_CONSTRUCT_CELL_FRAME_H

#include "construct/cells.h"

typedef struct xfi_frame_part {
    const char *name; /* of the phase */
    int64_t count;    /* of blocks */
} xfi_frame_part;

/* What goes between the front end and the end. */
typedef struct xfi_frame {
    xfi_axes axes;           /* of the front end */
    int scaled;              /* 2^-b t in place of t */
    xfi_frame_part parts[4]; /* in order; empty ones are left out */
    int extra;               /* blocks at the end for the growth of the stream */
} xfi_frame;

/* Fresh blocks of width 4 but for the front end and, for scaled targets, a last block x 2^e; phases
 * named; the dtype set. *first gets the number of the first block of the first part. Errors:
 * XF_ERR_MEMORY. */
xf_status xfi_frame_make(xf_model *out, int64_t *first, const xfi_frame *frame,
                         const xfi_cells *cells, const xfi_problem *problem, xf_error *error);

/* Are all weights finite numbers of the format? */
int xfi_frame_holds(const xf_model *model);

/* eta^2 + rho^2 of the last block for scaled targets; 0 without one. */
double xfi_frame_end_cost(const xfi_problem *problem);

#endif
