/* Projections of many tokens on a few directions.
 *
 * Numeric class: approximate, but the same bits on every machine and for every number
 * of threads (each sum runs in index order; BLAS would not promise that). */
#ifndef XFI_NUM_PROJECT_H
#define XFI_NUM_PROJECT_H

#include <stdint.h>

/* Directions are taken in batches of this many. */
enum { XFI_PROJECT_BATCH = 8 };

/* out[c][i] = <directions[c], x[i]> for c < XFI_PROJECT_BATCH, i < n_tokens.
 * out [BATCH][n_tokens], x [n_tokens][d], directions [BATCH][d]. */
void xfi_project(double *out, const double *x, int64_t n_tokens, int64_t d,
                 const double *directions, int threads);

#endif
