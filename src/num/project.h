/* Projections of many tokens on a few directions.
 *
 * Numeric class: approximate, but the same bits on every machine, for every number of threads and
 * every way of cutting the tokens into tiles (each sum runs in index order; BLAS would not promise
 * that). */
#ifndef XFI_NUM_PROJECT_H
#define XFI_NUM_PROJECT_H

#include <stdint.h>

/* Directions are taken in batches of this many. */
enum { XFI_PROJECT_BATCH = 8 };

/* out[i][c] = <directions[c], x[i]> for i < n_tokens, c < XFI_PROJECT_BATCH.
 * out [n_tokens][BATCH], x [n_tokens][d], directions [BATCH][d]. On the calling thread. */
void xfi_project_tile(double *out, const double *x, int64_t n_tokens, int64_t d,
                      const double *directions);

/* The same with the directions first, out [BATCH][n_tokens], on `threads` threads. */
void xfi_project(double *out, const double *x, int64_t n_tokens, int64_t d,
                 const double *directions, int threads);

#endif
