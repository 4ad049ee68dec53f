/* Pool features with folds: one scalar s in [0, 1], folded by r blocks
 * s += sum_i w_i relu(s - b_i), a zigzag of slopes about +-4 (+-3 where one neuron is
 * needed for the shift). For data whose means collide under kinks too. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"
#include "num/project.h"

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

static void fold_values(double *s, int64_t n_tokens, const double *weight, const double *knee,
                        int n) {
    for (int64_t l = 0; l < n_tokens; l++) {
        double x = s[l], y = x;
        for (int i = 0; i < n; i++)
            y += weight[i] * fmax(x - knee[i], 0.0);
        s[l] = y;
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

/* Scale the direction so that <v, x> + b lies in [0, 1]; returns b. */
static double normalise(double *v, double *values, int64_t n_tokens, int64_t d) {
    double low = values[0], high = values[0];
    for (int64_t l = 1; l < n_tokens; l++) {
        low = fmin(low, values[l]);
        high = fmax(high, values[l]);
    }
    double range = high - low, scale = range > 0 ? 1.0 / range : 1.0;
    for (int64_t k = 0; k < d; k++)
        v[k] = xfi_round24(v[k] * scale);
    double bias = xfi_round24(-low * scale);
    for (int64_t l = 0; l < n_tokens; l++)
        values[l] = fmax(values[l] * scale + bias, 0.0);
    return bias;
}

static xf_status try_folds(xfi_search *search, int row, int n_folds, xfi_rng *rng,
                           xf_error *error) {
    const xf_dataset *data = search->problem->data;
    int n = search->problem->all_single ? XFI_WIDTH - 1 : XFI_WIDTH;
    double *values = search->values + row * data->n_tokens;
    xfi_pool pool = {.shape = {.kind = XFI_FOLDS, .n_kinks = 1, .n_folds = n_folds}};
    pool.shape.v = xfi_calloc(data->d, sizeof(double));
    if (pool.shape.v == NULL)
        return xfi_fail_memory(error);
    memcpy(pool.shape.v, search->directions + row * data->d, (size_t)data->d * sizeof(double));
    pool.shape.bias[0] = normalise(pool.shape.v, values, data->n_tokens, data->d);
    pool.shape.sign[0] = 1.0;
    double rounding = xfi_direction_error(search->problem, pool.shape.v);
    for (int fold = 0; fold < n_folds; fold++) {
        draw_fold(pool.shape.fold_weight[fold], pool.shape.fold_knee[fold], n, rng);
        fold_values(values, data->n_tokens, pool.shape.fold_weight[fold],
                    pool.shape.fold_knee[fold], n);
        rounding = rounding * largest_slope(pool.shape.fold_weight[fold], n) +
                   32 * search->problem->format.u;
    }
    XFI_TRY(xfi_pool_measure(&pool, search->problem, values, rounding, error));
    xfi_search_keep_pool(search, &pool);
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
        xfi_project(search->values, data->x, data->n_tokens, data->d, search->directions,
                    search->problem->threads);
        for (int c = 0; c < XFI_PROJECT_BATCH; c++)
            XFI_TRY(try_folds(search, c, n_folds, &rng, error));
        XFI_TRY(xfi_problem_progress(search->problem, "folds", (double)done / TRIALS, error));
    }
    return XF_OK;
}
