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

/* The best model so far (n_blocks 0: none yet), the others that could be made, and the closest
 * miss. */
typedef struct xfi_best {
    xf_model model;
    int small_norm;       /* the best has the least balanced norm, else the fewest blocks */
    double norm;          /* of the best, squared, balanced */
    int64_t nonzeros;     /* of the best */
    int64_t least_blocks; /* of all that were made */
    int n_alternatives;
    xf_alternative alternatives[XF_MAX_ALTERNATIVES]; /* the best included */
    xf_build_report report; /* front, writer, n_folds, extra_blocks, margin are set */
    int successes;          /* models made, kept or not */
    int certified;          /* some front end had margin > 1 */
    double near_margin;     /* of the best front end seen; -1: none */
    double near_gap;
    double near_bound;
    int64_t near[2]; /* the two sequences there */
    int impossible;  /* the writer asked for cannot serve, whatever is searched */
    char why[160];   /* what stood in the way of the last writer on cells or argmax, or empty */
} xfi_best;

void xfi_best_init(xfi_best *best);

/* Remember what a front end and writer cost; of the same pair the better one. */
void xfi_best_note(xfi_best *best, const char *front, const char *writer, int64_t blocks,
                   double norm_squared);

/* What is said of a model that was made. */
typedef struct xfi_made {
    const char *front;
    const char *writer;
    int64_t n_folds;
    int64_t regular_depth; /* without extra blocks */
    double margin;
    const int64_t *closest; /* [2] */
} xfi_made;

/* Take the model if it is the best so far and within the published bound (the lower of the two:
 * hardmax), else clear it. */
void xfi_best_keep(xfi_best *best, xf_model *model, const xfi_made *made,
                   const xfi_problem *problem);

/* Which writers can serve; scales the targets by a power of two if only that helps.
 * Errors: XF_ERR_INFEASIBLE if none, XF_ERR_MEMORY. */
xf_status xfi_writers_choose(xfi_writers *out, xfi_problem *problem, xf_error *error);

/* Certify the front end at sigma 1 (or go by its numbers) and, if it is proved, put each usable
 * writer behind it, with the best splits, certified again; keep the model if it is shallower than
 * `best` and within the published bound.
 * Feasible or not, the result is in `best`. Errors: XF_ERR_MEMORY. */
xf_status xfi_write_best(xfi_best *best, const xfi_front_end *front, const xfi_writers *writers,
                         const xfi_problem *problem, xf_error *error);

/* Put every writer of cell_writers.h that may be used behind a front end with cells; keep a model
 * if it is shallower than `best` and within the published bound. Errors: XF_ERR_MEMORY. */
xf_status xfi_write_cells(xfi_best *best, const xfi_cells *cells, const xfi_writers *writers,
                          const xfi_problem *problem, xf_error *error);

/* Nothing shallower can come: no extra blocks, or enough models were seen. */
int xfi_best_satisfied(const xfi_best *best, const xfi_problem *problem);

/* The refusal when no model was found: XF_ERR_INFEASIBLE with the two sequences that come closest
 * and what would help. */
xf_status xfi_best_refuse(const xfi_best *best, const xfi_problem *problem, xf_error *error);

#endif
