/* The search: plain directions, keeping the best, pairing. */
#include "construct/search.h"

#include "base/alloc.h"
#include "base/error.h"
#include "construct/directions.h"
#include "construct/gain.h"
#include "num/project.h"

#include <string.h>

/* So many values are many. */
static const int64_t MANY_VALUES = 4000000;

static int is_wide(const xfi_problem *problem) {
    int64_t most = MANY_VALUES / problem->data->d;
    return problem->format.p == 53 && problem->data->n_tokens > most &&
           problem->options->optimise != XF_OPTIMISE_NORM;
}

int xfi_search_steps(const xfi_search *search, int rounds) {
    return rounds * XFI_PLAIN_BATCHES / search->n_batches;
}

xf_status xfi_search_init(xfi_search *search, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    *search = (xfi_search){.problem = problem};
    search->n_batches = is_wide(problem) ? 1 : XFI_PLAIN_BATCHES;
    search->directions = xfi_calloc2(XFI_PLAIN_DIRECTIONS, data->d, sizeof(double));
    return search->directions != NULL ? XF_OK : xfi_fail_memory(error);
}

void xfi_search_drop_pools(xfi_search *search) {
    for (int i = 0; i < search->n_pools; i++)
        xfi_pool_clear(&search->pools[i]);
    search->n_pools = 0;
}

void xfi_search_clear(xfi_search *search) {
    for (int i = 0; i < search->n_locals; i++)
        xfi_local_clear(&search->locals[i]);
    search->n_locals = 0;
    xfi_search_drop_pools(search);
    xfi_free(search->directions);
    search->directions = NULL;
}

static void keep_local(xfi_search *search, xfi_local *local) {
    if (search->n_locals == XFI_KEEP && search->locals[XFI_KEEP - 1].score >= local->score) {
        xfi_local_clear(local);
        return;
    }
    if (search->n_locals == XFI_KEEP)
        xfi_local_clear(&search->locals[--search->n_locals]);
    int i = search->n_locals++;
    for (; i > 0 && search->locals[i - 1].score < local->score; i--)
        search->locals[i] = search->locals[i - 1];
    search->locals[i] = *local;
}

static void keep_pool(xfi_search *search, xfi_pool *pool) {
    if (search->n_pools == XFI_KEEP && search->pools[XFI_KEEP - 1].score >= pool->score) {
        xfi_pool_clear(pool);
        return;
    }
    if (search->n_pools == XFI_KEEP)
        xfi_pool_clear(&search->pools[--search->n_pools]);
    int i = search->n_pools++;
    for (; i > 0 && search->pools[i - 1].score < pool->score; i--)
        search->pools[i] = search->pools[i - 1];
    search->pools[i] = *pool;
}

static int copy_direction(double **out, const double *direction, int64_t d) {
    *out = xfi_calloc(d, sizeof(double));
    if (*out != NULL)
        memcpy(*out, direction, (size_t)d * sizeof(double));
    return *out != NULL;
}

void xfi_search_keep(xfi_search *search, xfi_features *features) {
    for (int c = 0; c < features->n; c++) {
        if (features->locals != NULL)
            keep_local(search, &features->locals[c]);
        keep_pool(search, &features->pools[c]);
    }
}

static int set_directions(xfi_features *features, int64_t d) {
    int ok = 1;
    for (int c = 0; c < features->n; c++) {
        const double *direction = features->directions + c * d;
        ok = ok && copy_direction(&features->pools[c].shape.v, direction, d);
        if (features->locals != NULL)
            ok = ok && copy_direction(&features->locals[c].u, direction, d);
    }
    return ok;
}

/* Try a batch of directions in both roles; low, high [BATCH] are the ranges of the projections. */
static xf_status try_directions(xfi_search *search, const double *directions, const double *low,
                                const double *high, xf_error *error) {
    const xfi_problem *problem = search->problem;
    xfi_local locals[XFI_PROJECT_BATCH] = {{0}};
    xfi_pool pools[XFI_PROJECT_BATCH] = {{.shape = {0}}};
    xfi_features features = {.problem = problem,
                             .directions = directions,
                             .n = XFI_PROJECT_BATCH,
                             .locals = problem->all_single ? NULL : locals,
                             .pools = pools};
    for (int c = 0; c < features.n; c++) {
        pools[c].shape.kind = XFI_PLAIN;
        pools[c].shape.n_kinks = 1;
        pools[c].shape.nu = xfi_feature_origin(low[c], high[c]);
        features.rounding[c] = xfi_direction_error(problem, directions + c * problem->data->d);
    }
    if (!set_directions(&features, problem->data->d)) {
        for (int c = 0; c < features.n; c++) {
            xfi_local_clear(&locals[c]);
            xfi_pool_clear(&pools[c]);
        }
        return xfi_fail_memory(error);
    }
    XFI_TRY(xfi_features_measure(&features, error));
    xfi_search_keep(search, &features);
    return XF_OK;
}

/* Axes (in round 0) and sparse ones, sparse ones, dense ones. */
static void draw_directions(xfi_search *search, int round) {
    static const xfi_direction_kind kinds[3][2] = {
        {XFI_AXIS, XFI_SPARSE}, {XFI_SPARSE, XFI_SPARSE}, {XFI_DENSE, XFI_SCALED}};
    int64_t d = search->problem->data->d;
    xfi_rng rng;
    xfi_rng_seed(&rng, search->problem->options->seed, 0x100 + (uint64_t)round);
    for (int i = 0; i < XFI_PLAIN_DIRECTIONS; i++) {
        int batch = i / XFI_PROJECT_BATCH, c = i % XFI_PROJECT_BATCH;
        int axis = batch == 0 && round * XFI_PROJECT_BATCH + c < d;
        xfi_direction_kind kind = batch == 0 ? kinds[0][!axis] : kinds[batch][c % 2];
        xfi_draw_direction(search->directions + i * d, search->problem, &rng, kind,
                           round * XFI_PROJECT_BATCH + c);
    }
}

xf_status xfi_search_plain(xfi_search *search, int step, xf_error *error) {
    double low[XFI_PLAIN_DIRECTIONS], high[XFI_PLAIN_DIRECTIONS];
    int steps = xfi_search_steps(search, 1), batches = search->n_batches;
    int64_t size = XFI_PROJECT_BATCH * search->problem->data->d;
    draw_directions(search, step / steps);
    const double *directions = search->directions + step % steps * batches * size;
    XFI_TRY(xfi_projection_ranges(low, high, search->problem, directions, batches, error));
    for (int b = 0; b < batches; b++) {
        XFI_TRY(try_directions(search, directions + b * size, low + b * XFI_PROJECT_BATCH,
                               high + b * XFI_PROJECT_BATCH, error));
        XFI_TRY(xfi_problem_progress(search->problem, "directions", (b + 1.0) / batches, error));
    }
    return XF_OK;
}

/* Smallest gap over the two bounds that meet in it. */
static double estimate(const xfi_problem *problem, const xfi_local *local, const xfi_pool *pool,
                       double K) {
    int64_t n = problem->data->n_sequences;
    double u = problem->format.u;
    double top = pool->mean[pool->order[n - 1]], bottom = pool->mean[pool->order[0]];
    double gap = pool->gap, error = pool->error + u * (top - bottom) / 2;
    if (local != NULL) {
        gap = local->delta;
        double low = INFINITY, high = -INFINITY;
        for (int64_t j = 0; j < n; j++) {
            low = fmin(low, local->low[j] + K * pool->mean[j]);
            high = fmax(high, local->high[j] + K * pool->mean[j]);
        }
        error = local->error + K * pool->error + u * (high - low) / 2;
    }
    if (!(gap > 0) || !isfinite(gap) || !isfinite(error))
        return 0.0;
    return gap / (2 * (error > 0 ? error : problem->format.smallest));
}

static void insert(xfi_candidate *list, int *n, xfi_candidate candidate) {
    int i = (*n)++;
    for (; i > 0 && list[i - 1].estimate < candidate.estimate; i--)
        list[i] = list[i - 1];
    list[i] = candidate;
}

xf_status xfi_search_pair(const xfi_problem *problem, const xfi_local *local, const xfi_pool *pool,
                          double K, xfi_candidate *out, int *n, xf_error *error) {
    xfi_candidate candidate = {.pool = local == NULL && is_wide(problem) ? pool : NULL};
    if (!isfinite(K))
        return XF_OK;
    XFI_TRY(xfi_front_copy(&candidate.front, &pool->shape, problem->data->d, error));
    candidate.front.K = K;
    candidate.front.sigma = 1.0;
    candidate.front.no_attention = problem->origin != NULL;
    if (local != NULL) {
        candidate.front.has_local = 1;
        candidate.front.mu = local->mu;
        if (!copy_direction(&candidate.front.u, local->u, problem->data->d)) {
            xfi_front_clear(&candidate.front);
            return xfi_fail_memory(error);
        }
    }
    candidate.estimate = estimate(problem, local, pool, K);
    insert(out, n, candidate);
    return XF_OK;
}

static xf_status pair_all(const xfi_search *search, xfi_candidate *out, int *n, xf_error *error) {
    const xfi_problem *problem = search->problem;
    for (int p = 0; p < search->n_pools; p++) {
        const xfi_pool *pool = &search->pools[p];
        if (problem->all_single)
            XFI_TRY(xfi_search_pair(problem, NULL, pool, 1.0, out, n, error));
        for (int l = 0; l < search->n_locals && problem->origin == NULL; l++) {
            double K = xfi_gain(&search->locals[l], pool, problem->data->n_sequences);
            XFI_TRY(xfi_search_pair(problem, &search->locals[l], pool, K, out, n, error));
        }
    }
    return XF_OK;
}

static void drop_candidates(xfi_candidate *list, int *n) {
    while (*n > 0)
        xfi_front_clear(&list[--*n].front);
}

xf_status xfi_search_pairs(const xfi_search *search, xfi_candidate out[XFI_CANDIDATES], int *n,
                           xf_error *error) {
    *n = 0;
    xf_status status = pair_all(search, out, n, error);
    if (status != XF_OK)
        drop_candidates(out, n);
    return status;
}

/* range of a over range of the means, 0 if there is one mean only. */
static double range_ratio(const xfi_local *local, const xfi_pool *pool, int64_t n) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        low = fmin(low, local->low[j]);
        high = fmax(high, local->high[j]);
    }
    double means = pool->mean[pool->order[n - 1]] - pool->mean[pool->order[0]];
    return means > pool->error ? (high - low) / means : 0.0;
}

/* The best two of each kind, with four gains. */
static xf_status pair_overlapping(const xfi_search *search, xfi_candidate *out, int *n,
                                  xf_error *error) {
    static const double gains[] = {0.3, 1.0, 3.0, 10.0};
    const xfi_problem *problem = search->problem;
    for (int p = 0; p < search->n_pools && p < 2; p++) {
        for (int l = 0; l < search->n_locals && l < 2; l++) {
            const xfi_local *local = &search->locals[l];
            double ratio = range_ratio(local, &search->pools[p], problem->data->n_sequences);
            for (int k = 0; k < (ratio > 0 ? 4 : 1); k++)
                XFI_TRY(xfi_search_pair(problem, local, &search->pools[p],
                                        xfi_round24(ratio * gains[k]), out, n, error));
        }
    }
    return XF_OK;
}

xf_status xfi_search_cell_fronts(const xfi_search *search, xfi_candidate out[XFI_CANDIDATES],
                                 int *n, xf_error *error) {
    const xf_dataset *data = search->problem->data;
    if (search->problem->all_single || data->n_targets != data->n_tokens)
        return xfi_search_pairs(search, out, n, error);
    *n = 0;
    xf_status status = pair_overlapping(search, out, n, error);
    if (status != XF_OK)
        drop_candidates(out, n);
    return status;
}
