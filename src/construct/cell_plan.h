/* Displacement hashing: cut a line of sequences into cells, and give each cell an offset such that
 * all groups are apart on the other line.
 *
 * A sequence has a certified interval on line a and one or more groups with certified intervals on
 * line b. A cell is a run of sequences along a. Within a cell the groups are apart as they
 * are; cells are moved apart by offsets, found by trial in a table of bins. docs/reach.md,
 * section 3. Numeric class: approximate, the same on every machine; the certificate decides. */
#ifndef XFI_CONSTRUCT_CELL_PLAN_H
#define XFI_CONSTRUCT_CELL_PLAN_H

#include "num/format.h"

#include <exactformer/status.h>

typedef struct xfi_two_lines {
    int64_t n;       /* sequences */
    double *a;       /* [n] centres */
    double *a_error; /* [n] */
    int64_t *first;  /* [n+1] groups of sequence j are first[j] .. first[j+1]-1 */
    double *b;       /* [first[n]] centres */
    double *b_error; /* [first[n]] */
} xfi_two_lines;

typedef struct xfi_cell_plan_options {
    const xfi_format *format;
    double reserve; /* numbers |t| < reserve * span are left free; in [0, 1/4] */
    double margin;  /* wanted: gap over the sum of the two bounds */
    uint64_t seed;
    int threads;
} xfi_cell_plan_options;

typedef struct xfi_cell_plan {
    int64_t n_cells;
    int64_t *cell;  /* [n] ascending along a, owned */
    double *offset; /* [n_cells] owned, multiples of unit */
    double span;    /* groups are at t = b + offset, |t| <= span / 2 */
    double unit;    /* offsets, and shifts of all of them, should be multiples of it */
    int64_t longer; /* groups on the fuller side of 0 */
} xfi_cell_plan;

/* Room for n sequences and n_groups groups, zeroed. Returns 0 if memory is short. */
int xfi_two_lines_init(xfi_two_lines *lines, int64_t n, int64_t n_groups);
void xfi_two_lines_clear(xfi_two_lines *lines);

/* Find cells and offsets, with 0 between two cells on line a. *found becomes 0 (and `out` is
 * cleared) if two sequences are close on both lines, or there is no room. Near linear.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_cell_plan_make(xfi_cell_plan *out, int *found, const xfi_two_lines *lines,
                             const xfi_cell_plan_options *options, xf_error *error);
void xfi_cell_plan_clear(xfi_cell_plan *plan);

#endif
