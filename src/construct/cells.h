/* Cells: a front end whose numbers t lie in (0, 2^b), certified to stay away from the
 * integers, so that floor(t) is known and can be read off exactly, bit by bit.
 * docs/writers.md, T-cells. */
#ifndef XFI_CONSTRUCT_CELLS_H
#define XFI_CONSTRUCT_CELLS_H

#include "construct/search.h"

/* One target and the cells low .. high that hold its tokens (others hold none). */
typedef struct xfi_cell_group {
    int64_t low;
    int64_t high;
    int64_t sequence;
    int64_t target; /* row of y */
} xfi_cell_group;

typedef struct xfi_cells {
    xfi_front front;    /* sigma and shift set; owned */
    int b;              /* 0 <= cell < 2^b */
    int k0;             /* 2^-k0 <= certified distance of every t from the integers */
    double margin;      /* least (distance of t from the integers) / E; > 1 proves the cells */
    int64_t closest[2]; /* the sequence where it occurs, twice */
    int64_t n;          /* M */
    xfi_cell_group *at; /* [n] ascending, disjoint, owned */
    int64_t n_multi;    /* groups of several cells: at most the first of each sequence */
    int64_t n_occupied; /* cells that hold tokens */
    xfi_cell_group *occupied; /* [n_occupied] ascending, low == high, owned */
} xfi_cells;

/* Search for the least b in [b_min, 30] for which some front end of `search` has enough cells with
 * k0 + b <= p - 1; *found tells. Every sequence needs m_j distinct cells, of which the
 * last m_j - 1 become groups of their own; no two sequences share a cell. The result is certified
 * from the stored weights. Errors: XF_ERR_MEMORY, XF_ERR_CANCELLED. */
xf_status xfi_cells_search(xfi_cells *out, int *found, const xfi_search *search, int b_min,
                           xf_error *error);
/* The least (distance of t from the integers) / E over all tokens; t, E [T]. The sequence where it
 * occurs goes to closest, twice. */
double xfi_cell_margin(const xf_dataset *data, const double *t, const double *E,
                       int64_t closest[2]);

void xfi_cells_clear(xfi_cells *cells);

#endif
