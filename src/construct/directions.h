/* Random directions in the units of the data. */
#ifndef XFI_CONSTRUCT_DIRECTIONS_H
#define XFI_CONSTRUCT_DIRECTIONS_H

#include "base/rng.h"
#include "construct/problem.h"

typedef enum xfi_direction_kind {
    XFI_AXIS,   /* a coordinate, weight a power of two */
    XFI_SPARSE, /* two or three coordinates */
    XFI_DENSE,  /* Gaussian */
    XFI_SCALED  /* Gaussian, divided by the half-range of each coordinate */
} xfi_direction_kind;

/* Draw out [d] with projections of order 1. Entries have at most 24 significant bits,
 * so that they are the same in both formats. `index` chooses the coordinate of an axis. */
void xfi_draw_direction(double *out, const xfi_problem *problem, xfi_rng *rng,
                        xfi_direction_kind kind, int64_t index);

#endif
