/* Projections, vectorised over the directions; a few tokens at a time, so that their chains of
 * additions overlap. */
#include "num/project.h"

#include "num/target_clones.h"

#include <string.h>

enum { BATCH = XFI_PROJECT_BATCH, ROWS = 8, PANEL = 128, CHUNK = 512 };

/* One number for each direction (a GNU C vector; unaligned in memory). */
typedef double lanes __attribute__((vector_size(BATCH * sizeof(double))));

/* Some coordinates and their weights for all directions. */
typedef struct panel {
    int64_t n;
    int64_t k[PANEL];
    _Alignas(64) double weights[PANEL * BATCH];
} panel;

/* Add the coordinates of the panel to the sums of all tokens. */
XFI_CLONES static void add_panel(double *restrict out, const double *restrict x, int64_t n_tokens,
                                 int64_t d, const panel *restrict with) {
    int64_t i = 0;
    for (; i + ROWS <= n_tokens; i += ROWS) {
        lanes sum[ROWS];
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
            memcpy(&sum[r], out + (i + r) * BATCH, sizeof sum[r]);
        for (int64_t p = 0; p < with->n; p++) {
            const double *column = x + i * d + with->k[p];
            lanes weights;
            memcpy(&weights, with->weights + p * BATCH, sizeof weights);
#pragma GCC unroll 8
            for (int r = 0; r < ROWS; r++)
                sum[r] += column[r * d] * weights;
        }
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; r++)
            memcpy(out + (i + r) * BATCH, &sum[r], sizeof sum[r]);
    }
    for (; i < n_tokens; i++)
        for (int64_t p = 0; p < with->n; p++)
            for (int c = 0; c < BATCH; c++)
                out[i * BATCH + c] += x[i * d + with->k[p]] * with->weights[p * BATCH + c];
}

/* The next coordinates from k on, without those that no direction uses: adding a zero to a sum that
 * starts at +0 changes nothing. Returns where to go on. */
static int64_t fill_panel(panel *out, int64_t k, int64_t d, const double *directions) {
    out->n = 0;
    for (; k < d && out->n < PANEL; k++) {
        int used = 0;
        double *weights = out->weights + out->n * BATCH;
        for (int c = 0; c < BATCH; c++) {
            weights[c] = directions[c * d + k];
            used |= weights[c] != 0.0;
        }
        out->k[out->n] = k;
        out->n += used;
    }
    return k;
}

void xfi_project_tile(double *out, const double *x, int64_t n_tokens, int64_t d,
                      const double *directions) {
    panel with;
    memset(out, 0, (size_t)(n_tokens * BATCH) * sizeof(double));
    for (int64_t k = 0; k < d;) {
        k = fill_panel(&with, k, d, directions);
        add_panel(out, x, n_tokens, d, &with);
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
