/* The bins of line b, for one span of t, and the two steps that use them: cutting and placing. */
#ifndef XFI_CONSTRUCT_CELL_BINS_H
#define XFI_CONSTRUCT_CELL_BINS_H

#include "construct/cell_plan.h"

/* A run of sequences, in the order of line a. */
typedef struct xfi_cell_run {
    int64_t first;
    int64_t last; /* one behind */
    int64_t groups;
    int64_t offset; /* in bins */
} xfi_cell_run;

typedef struct xfi_cell_bins {
    const xfi_two_lines *lines;
    const int64_t *order; /* [n] sequences along a */
    const int64_t *cut;   /* [n] cut[i]: the largest k <= i with a permitted cut before order[k] */
    int64_t zero;         /* cut here in any case: order[zero] is the first above 0 */
    double span;
    double width; /* of a bin, a power of two */
    int64_t n;    /* bins of t: span / width */
    int64_t step; /* offsets are multiples of so many bins */
    int32_t *low; /* [groups] bins of the inflated intervals, relative to b = 0, owned */
    int32_t *high;
} xfi_cell_bins;

/* Lay out bins for |t| <= span / 2, intervals inflated by `margin`. *apart becomes 0 if two
 * groups of one sequence overlap. Returns 0 if memory is short. */
int xfi_cell_bins_init(xfi_cell_bins *bins, int *apart, const xfi_cell_plan_options *options);
void xfi_cell_bins_clear(xfi_cell_bins *bins);

/* The longest runs without conflict of at most `cap` groups. Runs [n] is the caller's;
 * *n_runs 0: two sequences conflict and cannot be cut apart. Returns 0 if memory is short. */
int xfi_cell_cut(xfi_cell_run *runs, int64_t *n_runs, const xfi_cell_bins *bins);

/* Find offsets, largest cell first; splits cells that find no room. runs [n] is rewritten, sorted
 * along a. *longer gets the groups of the fuller side; *n_runs 0: no room. Returns 0 if memory is
 * short. */
int xfi_cell_place(xfi_cell_run *runs, int64_t *n_runs, int64_t *longer, const xfi_cell_bins *bins,
                   const xfi_cell_plan_options *options);

/* floor(share * bins of the whole line): how many bins on either side of 0 stay free. */
int64_t xfi_cell_reserved(const xfi_cell_bins *bins, double share);

#endif
