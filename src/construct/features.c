/* Measuring features of tokens. */
#include "construct/features.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/tiles.h"
#include "num/sort.h"

enum { BATCH = XFI_PROJECT_BATCH };
_Static_assert((int)BATCH == (int)XFI_SORT_COLUMNS, "sorted side by side");

void xfi_local_clear(xfi_local *local) {
    xfi_free(local->u);
    xfi_free(local->low);
    xfi_free(local->high);
    *local = (xfi_local){0};
}

void xfi_pool_clear(xfi_pool *pool) {
    xfi_front_clear(&pool->shape);
    xfi_free(pool->mean);
    xfi_free(pool->order);
    *pool = (xfi_pool){0};
}

double xfi_direction_error(const xfi_problem *problem, const double *u) {
    double roundings = 1, absolute = 0;
    for (int64_t k = 0; k < problem->data->d; k++) {
        if (u[k] == 0.0)
            continue;
        absolute += fabs(u[k]) * problem->max_abs[k];
        roundings += 1;
    }
    return roundings * problem->format.u * absolute;
}

/* Least kept gap and largest mean |s - nu| so far; the latter negated, so that both are least. */
typedef struct extremes {
    double delta[BATCH];
    double minus_largest[BATCH];
} extremes;

/* Scratch of one thread. */
typedef struct worker {
    double *values; /* [n_tokens of a tile][BATCH] */
    extremes found;
} worker;

static void extremes_init(extremes *found) {
    for (int c = 0; c < BATCH; c++) {
        found->delta[c] = INFINITY;
        found->minus_largest[c] = 0;
    }
}

static void extremes_join(extremes *all, const extremes *some) {
    for (int c = 0; c < BATCH; c++) {
        all->delta[c] = fmin(all->delta[c], some->delta[c]);
        all->minus_largest[c] = fmin(all->minus_largest[c], some->minus_largest[c]);
    }
}

/* The m - 1 largest gaps between the n values are kept, 1 < m <= n; the least of these counts. The
 * values are replaced by the gaps. */
static void measure_gaps(worker *own, double *values, int64_t n, int64_t m) {
    xfi_sort_columns(values, n);
    for (int64_t i = 0; i < (n - 1) * BATCH; i++)
        values[i] = values[i + BATCH] - values[i];
    if (m < n)
        xfi_sort_columns(values, n - 1);
    int64_t last = m < n ? n - m + 1 : n - 1;
    for (int64_t i = n - m; i < last; i++)
        for (int c = 0; c < BATCH; c++) {
            double gap = values[i * BATCH + c];
            own->found.delta[c] = gap < own->found.delta[c] ? gap : own->found.delta[c];
        }
}

/* Means, and the largest mean of |s - nu|; all features side by side. */
static void measure_means(const xfi_features *features, worker *own, const double *values,
                          const double *nu, int64_t j, int64_t n) {
    double sum[BATCH] = {0}, absolute[BATCH] = {0};
    for (int64_t l = 0; l < n; l++)
        for (int c = 0; c < BATCH; c++) {
            double v = values[l * BATCH + c];
            sum[c] += v;
            absolute[c] += fabs(v - nu[c]);
        }
    for (int c = 0; c < features->n; c++) {
        features->pools[c].mean[j] = sum[c] / (double)n - nu[c];
        double minus = -(absolute[c] / (double)n);
        if (minus < own->found.minus_largest[c])
            own->found.minus_largest[c] = minus;
    }
}

static void measure_sequence(const xfi_features *features, worker *own, double *values,
                             const double *nu, int64_t j) {
    const xf_dataset *data = features->problem->data;
    int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
    int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
    measure_means(features, own, values, nu, j, n);
    if (features->locals == NULL)
        return;
    double low[BATCH], high[BATCH];
    for (int c = 0; c < BATCH; c++) {
        low[c] = INFINITY;
        high[c] = -INFINITY;
    }
    xfi_features_widen(low, high, values, n);
    for (int c = 0; c < features->n; c++) {
        features->locals[c].low[j] = low[c];
        features->locals[c].high[j] = high[c];
    }
    if (m > 1)
        measure_gaps(own, values, n, m);
}

static void measure_tile(const xfi_features *features, worker *own, const xfi_tiles *tiles,
                         int64_t tile) {
    const xf_dataset *data = features->problem->data;
    int64_t first = tiles->first[tile], last = tiles->first[tile + 1];
    int64_t row = data->x_offsets[first], n = data->x_offsets[last] - row;
    double nu[BATCH] = {0};
    for (int c = 0; c < features->n; c++)
        nu[c] = features->pools[c].shape.nu;
    xfi_project_tile(own->values, data->x + row * data->d, n, data->d, features->directions);
    if (features->shape != NULL)
        features->shape(features->context, own->values, n);
    for (int64_t j = first; j < last; j++)
        measure_sequence(features, own, own->values + (data->x_offsets[j] - row) * BATCH, nu, j);
}

static int worker_init(worker *own, const xfi_tiles *tiles) {
    own->values = xfi_calloc2(BATCH, tiles->n_tokens, sizeof(double));
    extremes_init(&own->found);
    return own->values != NULL;
}

static int measure_tiles(extremes *all, const xfi_features *features, const xfi_tiles *tiles) {
    int ok = 1;
    extremes_init(all);
#pragma omp parallel num_threads(xfi_problem_threads(features->problem)) reduction(&& : ok)
    {
        worker own = {0};
        ok = worker_init(&own, tiles);
#pragma omp for schedule(dynamic, 4)
        for (int64_t tile = 0; tile < tiles->n; tile++)
            if (ok)
                measure_tile(features, &own, tiles, tile);
#pragma omp critical(xfi_feature_extremes)
        extremes_join(all, &own.found);
        xfi_free(own.values);
    }
    return ok;
}

static int allocate(xfi_features *features) {
    int64_t n = features->problem->data->n_sequences;
    int ok = 1;
    for (int c = 0; c < features->n; c++) {
        xfi_pool *pool = &features->pools[c];
        pool->mean = xfi_calloc(n, sizeof(double));
        pool->order = xfi_calloc(n, sizeof(int64_t));
        ok = ok && pool->mean && pool->order;
        if (features->locals == NULL)
            continue;
        xfi_local *local = &features->locals[c];
        local->low = xfi_calloc(n, sizeof(double));
        local->high = xfi_calloc(n, sizeof(double));
        ok = ok && local->low && local->high;
    }
    return ok;
}

static xf_status gather_array(const xfi_problem *problem, double *values, xf_error *error) {
    const xf_dataset *data = problem->data;
    return xfi_share_gather(problem->options->peers, data->x_offsets, data->n_sequences, values,
                            sizeof *values, NULL, error);
}

static xf_status gather_features(extremes *all, const xfi_features *features, xf_error *error) {
    const xfi_problem *problem = features->problem;
    for (int c = 0; c < features->n; c++) {
        XFI_TRY(gather_array(problem, features->pools[c].mean, error));
        if (features->locals == NULL)
            continue;
        XFI_TRY(gather_array(problem, features->locals[c].low, error));
        XFI_TRY(gather_array(problem, features->locals[c].high, error));
    }
    XFI_TRY(xfi_share_least(problem->options->peers, all->delta, BATCH, error));
    return xfi_share_least(problem->options->peers, all->minus_largest, BATCH, error);
}

static void local_range(const xfi_local *local, int64_t n, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        *low = local->low[j] < *low ? local->low[j] : *low;
        *high = local->high[j] > *high ? local->high[j] : *high;
    }
}

static void finish_local(xfi_local *local, const xfi_problem *problem, double delta, double error) {
    int64_t n = problem->data->n_sequences;
    double low, high;
    local_range(local, n, &low, &high);
    local->mu = xfi_feature_origin(low, high);
    for (int64_t j = 0; j < n; j++) {
        local->low[j] -= local->mu;
        local->high[j] -= local->mu;
    }
    local_range(local, n, &low, &high);
    local->delta = delta;
    local->error = error;
    double scale = fmax(high - low, error / problem->format.u);
    local->score = scale > 0 && isfinite(scale) ? delta / scale : 0.0;
}

/* Returns 0 if memory is short. */
static int finish_pool(xfi_pool *pool, const xfi_problem *problem, double largest, double error) {
    const xf_dataset *data = problem->data;
    int64_t n = data->n_sequences;
    if (!xfi_sort_index(pool->order, pool->mean, n))
        return 0;
    pool->gap = n == 1 ? 1.0 : INFINITY;
    for (int64_t i = 0; i + 1 < n; i++)
        pool->gap = fmin(pool->gap, pool->mean[pool->order[i + 1]] - pool->mean[pool->order[i]]);
    double length = (double)data->n_tokens / (double)n;
    pool->error = error + (length + 3) * problem->format.u * largest;
    pool->score = isfinite(pool->gap) && isfinite(pool->error)
                      ? pool->gap / (pool->error > 0 ? pool->error : 1.0)
                      : 0.0;
    return 1;
}

static int finish_all(const xfi_features *features, const extremes *all) {
    const xfi_problem *problem = features->problem;
    int ok = 1;
#pragma omp parallel for num_threads(xfi_problem_threads(problem)) schedule(static, 1) reduction(&& : ok)
    for (int c = 0; c < features->n; c++) {
        double error = features->rounding[c];
        if (features->locals != NULL)
            finish_local(&features->locals[c], problem, all->delta[c], error);
        ok = finish_pool(&features->pools[c], problem, -all->minus_largest[c], error) && ok;
    }
    return ok;
}

static void drop_all(xfi_features *features) {
    for (int c = 0; c < features->n; c++) {
        xfi_pool_clear(&features->pools[c]);
        if (features->locals != NULL)
            xfi_local_clear(&features->locals[c]);
    }
}

static xf_status measure(xfi_features *features, const xfi_tiles *tiles, xf_error *error) {
    extremes all;
    if (!allocate(features) || !measure_tiles(&all, features, tiles))
        return xfi_fail_memory(error);
    XFI_TRY(gather_features(&all, features, error));
    return finish_all(features, &all) ? XF_OK : xfi_fail_memory(error);
}

xf_status xfi_features_measure(xfi_features *features, xf_error *error) {
    const xfi_problem *problem = features->problem;
    xfi_tiles tiles;
    xf_status status = xfi_tiles_init(&tiles, problem->data, problem->options->peers, error);
    if (status == XF_OK)
        status = measure(features, &tiles, error);
    xfi_tiles_clear(&tiles);
    if (status != XF_OK)
        drop_all(features);
    return status;
}
