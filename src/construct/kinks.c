/* Pool features with kinks, for data whose plain means collide (a lattice, say):
 * s = sum_i sign_i relu(<v_i, x> + b_i), knees inside the data. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"
#include "num/sort.h"

#include <string.h>

enum { TRIALS = 96, SAMPLE = 64 };

/* Kinks of a batch of features: feature f uses rows f n_kinks .. (f + 1) n_kinks - 1. */
typedef struct kink_batch {
    int n_kinks;
    int n_features;
    double knee[XFI_PROJECT_BATCH];
    double sign[XFI_PROJECT_BATCH];
} kink_batch;

static void shape_kinks(const void *context, double *values, int64_t n_tokens) {
    const kink_batch *batch = context;
    for (int64_t i = 0; i < n_tokens; i++) {
        double *v = values + i * XFI_PROJECT_BATCH;
        for (int f = 0; f < batch->n_features; f++) {
            double sum = 0;
            for (int r = f * batch->n_kinks; r < (f + 1) * batch->n_kinks; r++) {
                double beyond = v[r] - batch->knee[r];
                sum += batch->sign[r] * (beyond > 0 ? beyond : 0.0);
            }
            v[f] = sum;
        }
    }
}

static double project(const double *direction, const double *token, int64_t d) {
    double sum = 0;
    for (int64_t k = 0; k < d; k++)
        sum += token[k] * direction[k];
    return sum;
}

/* A knee between two of the inner 80 % of the projections of some tokens. */
static double draw_knee(const double *direction, const xf_dataset *data, xfi_rng *rng) {
    double sample[SAMPLE];
    for (int i = 0; i < SAMPLE; i++)
        sample[i] =
            project(direction, data->x + xfi_rng_below(rng, data->n_tokens) * data->d, data->d);
    xfi_sort_doubles(sample, SAMPLE);
    int64_t low = SAMPLE / 10, high = SAMPLE - SAMPLE / 10;
    double a = sample[low + xfi_rng_below(rng, high - low)];
    double b = sample[low + xfi_rng_below(rng, high - low)];
    double mix = xfi_rng_uniform(rng);
    return xfi_round24(a + mix * (b - a));
}

/* Knees and signs of feature f. Returns 0 if memory is short. */
static int draw_feature(xfi_features *features, kink_batch *batch, int f, xfi_rng *rng) {
    const xfi_problem *problem = features->problem;
    int64_t d = problem->data->d;
    int first = f * batch->n_kinks;
    xfi_front *shape = &features->pools[f].shape;
    *shape = (xfi_front){.kind = XFI_KINKS, .n_kinks = batch->n_kinks};
    shape->v = xfi_calloc2(batch->n_kinks, d, sizeof(double));
    if (shape->v == NULL)
        return 0;
    memcpy(shape->v, features->directions + first * d,
           (size_t)(batch->n_kinks * d) * sizeof(double));
    for (int i = 0; i < batch->n_kinks; i++) {
        const double *direction = shape->v + i * d;
        batch->knee[first + i] = draw_knee(direction, problem->data, rng);
        batch->sign[first + i] = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
        shape->bias[i] = -batch->knee[first + i];
        shape->sign[i] = batch->sign[first + i];
        features->rounding[f] += xfi_direction_error(problem, direction);
    }
    return 1;
}

static xf_status try_batch(xfi_search *search, int n_kinks, xfi_rng *rng, xf_error *error) {
    kink_batch batch = {.n_kinks = n_kinks, .n_features = XFI_PROJECT_BATCH / n_kinks};
    xfi_pool pools[XFI_PROJECT_BATCH] = {{.shape = {0}}};
    xfi_features features = {.problem = search->problem,
                             .directions = search->directions,
                             .shape = shape_kinks,
                             .context = &batch,
                             .n = batch.n_features,
                             .pools = pools};
    for (int f = 0; f < batch.n_features; f++) {
        if (draw_feature(&features, &batch, f, rng))
            continue;
        while (f > 0)
            xfi_pool_clear(&pools[--f]);
        return xfi_fail_memory(error);
    }
    XFI_TRY(xfi_features_measure(&features, error));
    xfi_search_keep(search, &features);
    return XF_OK;
}

xf_status xfi_search_kinks(xfi_search *search, int round, xf_error *error) {
    const xf_dataset *data = search->problem->data;
    int n_kinks = search->problem->all_single ? XFI_MAX_KINKS : 2;
    int trials = XFI_PROJECT_BATCH / n_kinks;
    xfi_rng rng;
    xfi_rng_seed(&rng, search->problem->options->seed, 0x200 + (uint64_t)round);
    for (int done = 0; done < TRIALS; done += trials) {
        for (int c = 0; c < XFI_PROJECT_BATCH; c++)
            xfi_draw_direction(search->directions + c * data->d, search->problem, &rng,
                               c % 4 == 3 ? XFI_SPARSE : XFI_SCALED, 0);
        XFI_TRY(try_batch(search, n_kinks, &rng, error));
        XFI_TRY(xfi_problem_progress(search->problem, "kinks", (double)done / TRIALS, error));
    }
    return XF_OK;
}
