/* Which coordinates a writer works on. */
#ifndef XFI_CONSTRUCT_AXES_H
#define XFI_CONSTRUCT_AXES_H

#include "construct/front.h"

/* Grid bits of coordinate k of the targets: exponent of the largest |y_k| minus the lowest set
 * bit of all, plus 1; 0 for a column of zeros. Exact. */
int xfi_grid_bits(const xfi_problem *problem, int k);

typedef struct xfi_axes_choice {
    /* For the grid writer: k1 has the fewest grid bits, k2 (-1 for d = 1) the next fewest.
     * Coordinates with values beyond the exponent limit below come last. */
    xfi_axes grid;
    int grid_bits; /* on k1; INT_MAX - 1 if even that one has such values */
    /* For the sorted writer: every nonzero |y_k1| is subnormal or has an exponent that the
     * gates can carry, and codes above |y_k2| stay finite. */
    xfi_axes sorted;
    int sorts; /* 0 if no pair of coordinates will do (always for d = 1) */
} xfi_axes_choice;

/* Both in one pass over the targets. */
xfi_axes_choice xfi_axes_choose(const xfi_problem *problem);

/* Binary exponents that the sorted writer accepts on k1: [-1000, 1000] for binary64,
 * [-96, 96] for binary32. */
int xfi_sorted_exponent_limit(const xfi_format *format);

/* Exponents of the largest and least nonzero |y| over all coordinates; 0 if all are 0. */
void xfi_target_exponents(const xfi_problem *problem, int *largest, int *least);

#endif
