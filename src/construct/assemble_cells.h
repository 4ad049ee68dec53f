/* Models whose writers read cells: front end, bits, then the writer. */
#ifndef XFI_CONSTRUCT_ASSEMBLE_CELLS_H
#define XFI_CONSTRUCT_ASSEMBLE_CELLS_H

#include "construct/cells.h"

/* What a writer is to make small. */
typedef struct xfi_writer_options {
    int small_norm;     /* the squared norm; else the number of blocks */
    int64_t max_blocks; /* of the whole model, for small_norm; 0: any */
} xfi_writer_options;

/* What a model costs, known before it is built. */
typedef struct xfi_forecast {
    int64_t blocks;
    double norm;   /* squared, when balanced (balance.h) */
    char why[160]; /* why not, if the writer refuses */
} xfi_forecast;

/* Everything that goes into a model behind cells. */
typedef struct xfi_assembly {
    const xfi_cells *cells;
    const xfi_problem *problem;
    xfi_axes axes; /* of the writer, from axes.h; cube: not used */
    xfi_writer_options options;
} xfi_assembly;

/* Each function plans a model, says what it costs, and builds it unless `out` is NULL. *feasible
 * becomes 0 if the writer refuses; nothing is to be cleared then. Errors: XF_ERR_MEMORY. */

/* The diamond for targets on a grid. */
xf_status xfi_assemble_diamond(xf_model *out, xfi_forecast *forecast, int *feasible,
                               const xfi_assembly *job, xf_error *error);

/* The diamond for codes, then the sorted writer (any floats). */
xf_status xfi_assemble_diamond_sorted(xf_model *out, xfi_forecast *forecast, int *feasible,
                                      const xfi_assembly *job, xf_error *error);

/* The cube for targets on a grid, and for any floats. */
xf_status xfi_assemble_cube(xf_model *out, xfi_forecast *forecast, int *feasible,
                            const xfi_assembly *job, xf_error *error);
xf_status xfi_assemble_cube_off(xf_model *out, xfi_forecast *forecast, int *feasible,
                                const xfi_assembly *job, xf_error *error);

/* Any floats in four coordinates; small_norm has no effect. */
xf_status xfi_assemble_offgrid(xf_model *out, xfi_forecast *forecast, int *feasible,
                               const xfi_assembly *job, xf_error *error);

#endif
