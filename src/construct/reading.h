/* Reading a cell bit by bit: for every bit, a ramp that is 0 on the tokens without it and 1 on
 * those with it, as flat as the certificate allows. The writers that care for the size of the
 * weights read cells so; t is scaled into (0, 1) for them.
 *
 * With rho_i the part of 2^-b t behind its first i - 1 bits, in (0, 1), bit i is
 * relu(a) - relu(a - 1) with a = 2^k (rho_i - 1/2) + offset.
 * docs/writers.md, T-quantiser. */
#ifndef XFI_CONSTRUCT_READING_H
#define XFI_CONSTRUCT_READING_H

#include "construct/cells.h"

enum { XFI_B_MAX = 30 };

typedef struct xfi_ramp {
    int k;         /* 1 .. */
    double offset; /* multiple of 1/16 in [0, 1] */
} xfi_ramp;

typedef struct xfi_reading {
    xfi_ramp ramp[XFI_B_MAX]; /* [b], highest bit first */
    double front_norm;        /* squared norm of the front end below, balanced */
} xfi_reading;

/* The front end of `cells` that makes 2^-b t. Shares the vectors. */
xfi_front xfi_scaled_front(const xfi_cells *cells);

/* Certify the scaled front end from its stored weights and find the ramps. *feasible becomes 0 if a
 * weight leaves the format or a cell is not certain (only where the scaling underflows). Numeric
 * class: enclosure. Errors: XF_ERR_MEMORY. O(T (d + b)). */
xf_status xfi_reading_make(xfi_reading *out, int *feasible, const xfi_cells *cells,
                           const xfi_problem *problem, xf_error *error);

/* The same from 2^-b t and its bounds, t, E [n_tokens]. Returns 0 if some bit is not certain. */
int xfi_ramps_fit(xfi_ramp *out, int b, const double *t, const double *E, int64_t n_tokens,
                  const xfi_format *format);

#endif
