/* Pool features with kinks, for data whose plain means collide (a lattice, say):
 * s = sum_i sign_i relu(<v_i, x> + b_i), knees inside the data. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"
#include "num/project.h"
#include "num/sort.h"

#include <string.h>

enum { TRIALS = 96, SAMPLE = 64 };

/* A knee between two of the inner 80 % of the projections of some tokens. */
static double draw_knee(const double *projection, int64_t n_tokens, xfi_rng *rng) {
    double sample[SAMPLE];
    for (int i = 0; i < SAMPLE; i++)
        sample[i] = projection[xfi_rng_below(rng, n_tokens)];
    xfi_sort_doubles(sample, SAMPLE);
    int64_t low = SAMPLE / 10, high = SAMPLE - SAMPLE / 10;
    double a = sample[low + xfi_rng_below(rng, high - low)];
    double b = sample[low + xfi_rng_below(rng, high - low)];
    double mix = xfi_rng_uniform(rng);
    return xfi_round24(a + mix * (b - a));
}

/* One feature from rows first .. first + n_kinks - 1 of the projected batch. */
static xf_status try_kinks(xfi_search *search, int first, int n_kinks, xfi_rng *rng,
                           xf_error *error) {
    const xf_dataset *data = search->problem->data;
    xfi_pool pool = {.shape = {.kind = XFI_KINKS, .n_kinks = n_kinks}};
    pool.shape.v = xfi_calloc2(n_kinks, data->d, sizeof(double));
    if (pool.shape.v == NULL)
        return xfi_fail_memory(error);
    memcpy(pool.shape.v, search->directions + first * data->d,
           (size_t)(n_kinks * data->d) * sizeof(double));
    memset(search->feature, 0, (size_t)data->n_tokens * sizeof(double));
    double rounding = 0;
    for (int i = 0; i < n_kinks; i++) {
        const double *values = search->values + (first + i) * data->n_tokens;
        double knee = draw_knee(values, data->n_tokens, rng);
        double sign = xfi_rng_below(rng, 2) ? 1.0 : -1.0;
        pool.shape.bias[i] = -knee;
        pool.shape.sign[i] = sign;
        for (int64_t l = 0; l < data->n_tokens; l++)
            search->feature[l] += sign * fmax(values[l] - knee, 0.0);
        rounding += xfi_direction_error(search->problem, pool.shape.v + i * data->d);
    }
    XFI_TRY(xfi_pool_measure(&pool, search->problem, search->feature, rounding, error));
    xfi_search_keep_pool(search, &pool);
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
        xfi_project(search->values, data->x, data->n_tokens, data->d, search->directions,
                    search->problem->threads);
        for (int i = 0; i < trials; i++)
            XFI_TRY(try_kinks(search, i * n_kinks, n_kinks, &rng, error));
        XFI_TRY(xfi_problem_progress(search->problem, "kinks", (double)done / TRIALS, error));
    }
    return XF_OK;
}
