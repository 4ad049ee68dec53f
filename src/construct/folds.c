/* Pool features with folds: one scalar s in [0, 1], folded by r blocks
 * s += sum_i w_i relu(s - b_i), a zigzag of slopes about +-4 (+-3 where one neuron is
 * needed for the shift). For data whose means collide under kinks too. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"

#include <string.h>

enum { TRIALS = 48 };

/* Slopes alternate in sign; weights are their differences, multiples of 2^-4. */
static void draw_fold(double weight[XFI_WIDTH], double knee[XFI_WIDTH], int n, xfi_rng *rng) {
    double slope = 1.0;
    for (int i = 0; i < n; i++) {
        double size = n - (double)xfi_rng_below(rng, 16) / 16.0;
        double next = i % 2 == 0 ? size : -size;
        weight[i] = next - slope;
        knee[i] = (i + (double)(xfi_rng_below(rng, 17) - 8) / 32.0) / n;
        slope = next;
    }
}

static double largest_slope(const double *weight, int n) {
    double slope = 1.0, largest = 1.0;
    for (int i = 0; i < n; i++) {
        slope += weight[i];
        largest = fmax(largest, fabs(slope));
    }
    return largest;
}

/* A batch of folded scalars: scale, shift into [0, 1], fold. */
typedef struct fold_batch {
    const xfi_pool *pools; /* [BATCH] */
    double scale[XFI_PROJECT_BATCH];
    int n; /* neurons of a fold */
} fold_batch;

static double fold(double x, const double *weight, const double *knee, int n) {
    double y = x;
    for (int i = 0; i < n; i++)
        y += weight[i] * fmax(x - knee[i], 0.0);
    return y;
}

static void shape_folds(const void *context, double *values, int64_t n_tokens) {
    const fold_batch *batch = context;
    for (int64_t i = 0; i < n_tokens; i++)
        for (int c = 0; c < XFI_PROJECT_BATCH; c++) {
            const xfi_front *shape = &batch->pools[c].shape;
            double *v = values + i * XFI_PROJECT_BATCH + c;
            *v = fmax(*v * batch->scale[c] + shape->bias[0], 0.0);
            for (int f = 0; f < shape->n_folds; f++)
                *v = fold(*v, shape->fold_weight[f], shape->fold_knee[f], batch->n);
        }
}

/* Scale the direction so that <v, x> + b lies in [0, 1]; returns the scale. */
static double normalise(xfi_front *shape, double low, double high, int64_t d) {
    double range = high - low, scale = range > 0 ? 1.0 / range : 1.0;
    for (int64_t k = 0; k < d; k++)
        shape->v[k] = xfi_round24(shape->v[k] * scale);
    shape->bias[0] = xfi_round24(-low * scale);
    return scale;
}

/* Feature c of the batch. Returns 0 if memory is short. */
static int draw_feature(xfi_features *features, fold_batch *batch, int c, int n_folds,
                        const double range[2], xfi_rng *rng) {
    const xfi_problem *problem = features->problem;
    int64_t d = problem->data->d;
    xfi_front *shape = &features->pools[c].shape;
    *shape = (xfi_front){.kind = XFI_FOLDS, .n_kinks = 1, .n_folds = n_folds};
    shape->v = xfi_calloc(d, sizeof(double));
    if (shape->v == NULL)
        return 0;
    memcpy(shape->v, features->directions + c * d, (size_t)d * sizeof(double));
    batch->scale[c] = normalise(shape, range[0], range[1], d);
    shape->sign[0] = 1.0;
    double rounding = xfi_direction_error(problem, shape->v);
    for (int f = 0; f < n_folds; f++) {
        draw_fold(shape->fold_weight[f], shape->fold_knee[f], batch->n, rng);
        rounding =
            rounding * largest_slope(shape->fold_weight[f], batch->n) + 32 * problem->format.u;
    }
    features->rounding[c] = rounding;
    return 1;
}

static xf_status try_batch(xfi_search *search, int n_folds, xfi_rng *rng, xf_error *error) {
    const xfi_problem *problem = search->problem;
    double low[XFI_PROJECT_BATCH], high[XFI_PROJECT_BATCH];
    xfi_pool pools[XFI_PROJECT_BATCH] = {{.shape = {0}}};
    fold_batch batch = {.pools = pools, .n = problem->all_single ? XFI_WIDTH - 1 : XFI_WIDTH};
    xfi_features features = {.problem = problem,
                             .directions = search->directions,
                             .shape = shape_folds,
                             .context = &batch,
                             .n = XFI_PROJECT_BATCH,
                             .pools = pools};
    XFI_TRY(xfi_projection_ranges(low, high, problem, search->directions, 1, error));
    for (int c = 0; c < features.n; c++) {
        if (draw_feature(&features, &batch, c, n_folds, (double[2]){low[c], high[c]}, rng))
            continue;
        while (c > 0)
            xfi_pool_clear(&pools[--c]);
        return xfi_fail_memory(error);
    }
    XFI_TRY(xfi_features_measure(&features, error));
    xfi_search_keep(search, &features);
    return XF_OK;
}

xf_status xfi_search_folds(xfi_search *search, int n_folds, xf_error *error) {
    const xf_dataset *data = search->problem->data;
    xfi_rng rng;
    xfi_rng_seed(&rng, search->problem->options->seed, 0x300 + (uint64_t)n_folds);
    for (int done = 0; done < TRIALS; done += XFI_PROJECT_BATCH) {
        for (int c = 0; c < XFI_PROJECT_BATCH; c++)
            xfi_draw_direction(search->directions + c * data->d, search->problem, &rng,
                               c % 2 ? XFI_SCALED : XFI_SPARSE, 0);
        XFI_TRY(try_batch(search, n_folds, &rng, error));
        XFI_TRY(xfi_problem_progress(search->problem, "folds", (double)done / TRIALS, error));
    }
    return XF_OK;
}
