/* The table of writers that read cells, for whoever plans. */
#ifndef XFI_CONSTRUCT_CELL_WRITERS_H
#define XFI_CONSTRUCT_CELL_WRITERS_H

#include "construct/assemble_cells.h"
#include "construct/writers.h"

typedef struct xfi_cell_writer {
    const char *name;
    int b_min;  /* cells must be sought with so many bits at least */
    int sorted; /* any floats: axes from choices->sorted, else from choices->grid */
    /* Can these targets be written in this dimension, with these b bits? Decides everything but the
     * grid tests of single targets and the range of the weights. If not, `why` [160] says so. */
    int (*fits)(const xfi_cells *cells, const xfi_writers *choices, const xfi_problem *problem,
                char why[160]);
    /* Blocks of a whole model for the least depth, from front, b, n, n_multi and n_occupied of
     * `cells` alone. Exact; with n_multi > 0 the diamonds may need one more. */
    int64_t (*depth)(const xfi_cells *cells, const xfi_problem *problem);
    /* As in assemble_cells.h; job->axes are set here. */
    xf_status (*assemble)(xf_model *out, xfi_forecast *forecast, int *feasible,
                          const xfi_assembly *job, xf_error *error);
} xfi_cell_writer;

/* The table, shallowest first as a rule; *n gets their number. */
const xfi_cell_writer *xfi_cell_writers(int *n);

/* Does the writer fit; if so plan with it, and build unless `out` is NULL. *feasible tells, and
 * forecast->why. Errors: XF_ERR_MEMORY. */
xf_status xfi_cell_writer_run(const xfi_cell_writer *writer, xf_model *out, xfi_forecast *forecast,
                              int *feasible, const xfi_cells *cells, const xfi_writers *choices,
                              const xfi_problem *problem, const xfi_writer_options *options,
                              xf_error *error);

#endif
