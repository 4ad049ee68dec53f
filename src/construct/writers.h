/* Choosing a writer for a front end: the grid writer where the targets allow, else the
 * sorted writer; the shallowest model wins. */
#ifndef XFI_CONSTRUCT_WRITERS_H
#define XFI_CONSTRUCT_WRITERS_H

#include "construct/cells.h"
#include "construct/front_end.h"

/* A writer that may serve, and the coordinates it would work on. */
typedef struct xfi_writer_choice {
    int usable;
    int sorted;
    xfi_axes axes;
} xfi_writer_choice;

typedef struct xfi_writers {
    xfi_writer_choice grid;
    xfi_writer_choice sorted;
} xfi_writers;

/* The shallowest model so far (n_blocks 0: none yet) and the closest miss. */
typedef struct xfi_best {
    xf_model model;
    xf_build_report report; /* front, writer, n_folds, extra_blocks, margin are set */
    int successes;          /* models made, kept or not */
    int certified;          /* some front end had margin > 1 */
    double near_margin;     /* of the best front end seen; -1: none */
    double near_gap;
    double near_bound;
    int64_t near[2]; /* the two sequences there */
} xfi_best;

void xfi_best_init(xfi_best *best);

/* Which writers can serve; scales the targets by a power of two if only that helps.
 * Errors: XF_ERR_INFEASIBLE if none, XF_ERR_MEMORY. */
xf_status xfi_writers_choose(xfi_writers *out, xfi_problem *problem, xf_error *error);

/* Certify the front end at sigma 1 and, if it is proved, put each usable writer behind it, with the
 * best splits; keep the model if it is shallower than `best` and within the published bound.
 * Feasible or not, the result is in `best`. Errors: XF_ERR_MEMORY. */
xf_status xfi_write_best(xfi_best *best, const xfi_front_end *front, const xfi_writers *writers,
                         const xfi_problem *problem, xf_error *error);

/* Put every writer of cell_writers.h that may be used behind a front end with cells; keep a model
 * if it is shallower than `best` and within the published bound. Errors: XF_ERR_MEMORY. */
xf_status xfi_write_cells(xfi_best *best, const xfi_cells *cells, const xfi_writers *writers,
                          const xfi_problem *problem, xf_error *error);

/* Nothing shallower can come: no extra blocks, or enough models were seen. */
int xfi_best_satisfied(const xfi_best *best);

/* The refusal when no model was found: XF_ERR_INFEASIBLE with the two sequences that come closest
 * and what would help. */
xf_status xfi_best_refuse(const xfi_best *best, const xfi_problem *problem, xf_error *error);

#endif
