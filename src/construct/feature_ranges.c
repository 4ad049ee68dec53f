/* Where the projections of the tokens lie. */
#include "construct/features.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/tiles.h"

enum { BATCH = XFI_PROJECT_BATCH };

double xfi_feature_origin(double low, double high) {
    double middle = low / 2 + high / 2;
    return fabs(middle) > (high - low) / 8 ? middle : 0.0;
}

void xfi_features_widen(double *low, double *high, const double *values, int64_t n_tokens) {
    for (int64_t i = 0; i < n_tokens; i++)
        for (int c = 0; c < BATCH; c++) {
            double v = values[i * BATCH + c];
            low[c] = v < low[c] ? v : low[c];
            high[c] = v > high[c] ? v : high[c];
        }
}

/* The range of a tile on n directions to range [2 n]: the least, and minus the largest. */
static void tile_ranges(double *range, int n_batches, const xfi_problem *problem,
                        const xfi_tiles *tiles, int64_t tile, const double *directions,
                        double *values) {
    const xf_dataset *data = problem->data;
    int64_t first = data->x_offsets[tiles->first[tile]];
    int64_t n = data->x_offsets[tiles->first[tile + 1]] - first;
    for (int b = 0; b < n_batches; b++) {
        double low[BATCH], high[BATCH];
        for (int c = 0; c < BATCH; c++) {
            low[c] = INFINITY;
            high[c] = -INFINITY;
        }
        xfi_project_tile(values, data->x + first * data->d, n, data->d,
                         directions + b * BATCH * data->d);
        xfi_features_widen(low, high, values, n);
        for (int c = 0; c < BATCH; c++) {
            double *least = range + b * BATCH + c, *greatest = least + n_batches * BATCH;
            *least = low[c] < *least ? low[c] : *least;
            *greatest = -high[c] < *greatest ? -high[c] : *greatest;
        }
    }
}

static int all_ranges(double *range, int n_batches, const xfi_problem *problem,
                      const xfi_tiles *tiles, const double *directions) {
    int ok = 1, n = 2 * n_batches * BATCH;
#pragma omp parallel num_threads(xfi_problem_threads(problem)) reduction(&& : ok)
    {
        double *values = xfi_calloc2(BATCH, tiles->n_tokens, sizeof *values);
        double *own = xfi_calloc(n, sizeof *own);
        ok = values && own;
        for (int i = 0; ok && i < n; i++)
            own[i] = INFINITY;
#pragma omp for schedule(dynamic, 4)
        for (int64_t tile = 0; tile < tiles->n; tile++)
            if (ok)
                tile_ranges(own, n_batches, problem, tiles, tile, directions, values);
#pragma omp critical(xfi_feature_ranges)
        for (int i = 0; ok && i < n; i++)
            range[i] = own[i] < range[i] ? own[i] : range[i];
        xfi_free(values);
        xfi_free(own);
    }
    return ok;
}

xf_status xfi_projection_ranges(double *low, double *high, const xfi_problem *problem,
                                const double *directions, int n_batches, xf_error *error) {
    int n = n_batches * BATCH;
    xfi_tiles tiles;
    XFI_TRY(xfi_tiles_init(&tiles, problem->data, problem->options->peers, error));
    double *range = xfi_calloc(2 * n, sizeof *range);
    for (int i = 0; range != NULL && i < 2 * n; i++)
        range[i] = INFINITY;
    int ok = range != NULL && all_ranges(range, n_batches, problem, &tiles, directions);
    xf_status status = ok ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_share_least(problem->options->peers, range, 2 * n, error);
    for (int i = 0; status == XF_OK && i < n; i++) {
        low[i] = range[i];
        high[i] = -range[n + i];
    }
    xfi_free(range);
    xfi_tiles_clear(&tiles);
    return status;
}
