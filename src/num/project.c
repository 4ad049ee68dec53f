/* Projections, vectorised over the directions; a few tokens at a time, so that their chains of
 * additions overlap. */
#include "num/project.h"

#include "num/target_clones.h"

#include <string.h>

enum { BATCH = XFI_PROJECT_BATCH, ROWS = 8, PANEL = 128, CHUNK = 512 };

/* One number for each direction (a GNU C vector; unaligned in memory). */
typedef double lanes __attribute__((vector_size(BATCH * sizeof(double))));

/* Add coordinates x[i][0 .. n-1] to the sums of all tokens; panel [n][BATCH]. */
XFI_CLONES static void add_panel(double *restrict out, const double *restrict x, int64_t n_tokens,
                                 int64_t d, const double *restrict panel, int64_t n) {
    int64_t i = 0;
    for (; i + ROWS <= n_tokens; i += ROWS) {
        lanes sum[ROWS];
        memcpy(sum, out + i * BATCH, sizeof sum);
        for (int64_t k = 0; k < n; k++) {
            lanes weights;
            memcpy(&weights, panel + k * BATCH, sizeof weights);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++)
                sum[r] += x[(i + r) * d + k] * weights;
        }
        memcpy(out + i * BATCH, sum, sizeof sum);
    }
    for (; i < n_tokens; i++)
        for (int64_t k = 0; k < n; k++)
            for (int c = 0; c < BATCH; c++)
                out[i * BATCH + c] += x[i * d + k] * panel[k * BATCH + c];
}

void xfi_project_tile(double *out, const double *x, int64_t n_tokens, int64_t d,
                      const double *directions) {
    _Alignas(64) double panel[PANEL * BATCH];
    memset(out, 0, (size_t)(n_tokens * BATCH) * sizeof(double));
    for (int64_t first = 0; first < d; first += PANEL) {
        int64_t n = d - first < PANEL ? d - first : PANEL;
        for (int64_t k = 0; k < n; k++)
            for (int c = 0; c < BATCH; c++)
                panel[k * BATCH + c] = directions[c * d + first + k];
        add_panel(out, x + first, n_tokens, d, panel, n);
    }
}

void xfi_project(double *out, const double *x, int64_t n_tokens, int64_t d,
                 const double *directions, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n_tokens > CHUNK)
    for (int64_t first = 0; first < n_tokens; first += CHUNK) {
        double tile[CHUNK * BATCH];
        int64_t n = n_tokens - first < CHUNK ? n_tokens - first : CHUNK;
        xfi_project_tile(tile, x + first * d, n, d, directions);
        for (int64_t i = 0; i < n; i++)
            for (int c = 0; c < BATCH; c++)
                out[c * n_tokens + first + i] = tile[i * BATCH + c];
    }
}
