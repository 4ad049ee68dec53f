/* Measuring features of tokens. */
#include "construct/features.h"

#include "base/alloc.h"
#include "base/error.h"
#include "num/sort.h"

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

/* The (m-1)-th largest gap of the n sorted values; `gaps` [n-1] is scratch. */
static double kept_gap(const double *sorted, int64_t n, int64_t m, double *gaps) {
    if (m == 1)
        return INFINITY;
    for (int64_t i = 0; i + 1 < n; i++)
        gaps[i] = sorted[i + 1] - sorted[i];
    if (m < n)
        xfi_sort_doubles(gaps, n - 1);
    else
        for (int64_t i = 1; i < n - 1; i++)
            gaps[0] = fmin(gaps[0], gaps[i]);
    return gaps[m < n ? n - m : 0];
}

static double measure_sequence(xfi_local *local, const xf_dataset *data, const double *a, int64_t j,
                               double *sorted, double *gaps) {
    int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
    for (int64_t l = 0; l < n; l++)
        sorted[l] = a[first + l];
    xfi_sort_doubles(sorted, n);
    local->low[j] = sorted[0];
    local->high[j] = sorted[n - 1];
    return kept_gap(sorted, n, data->y_offsets[j + 1] - data->y_offsets[j], gaps);
}

static int64_t longest(const xf_dataset *data) {
    int64_t n = 1;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n_j = data->x_offsets[j + 1] - data->x_offsets[j];
        n = n_j > n ? n_j : n;
    }
    return n;
}

static void centre_local(xfi_local *local, int64_t n) {
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        low = fmin(low, local->low[j]);
        high = fmax(high, local->high[j]);
    }
    double middle = low / 2 + high / 2, range = high - low;
    local->mu = fabs(middle) > range / 8 ? middle : 0.0;
    for (int64_t j = 0; j < n; j++) {
        local->low[j] -= local->mu;
        local->high[j] -= local->mu;
    }
}

xf_status xfi_local_measure(xfi_local *local, const xfi_problem *problem, const double *a,
                            double error, xf_error *error_record) {
    const xf_dataset *data = problem->data;
    int64_t n = data->n_sequences, room = longest(data);
    local->low = xfi_calloc(n, sizeof(double));
    local->high = xfi_calloc(n, sizeof(double));
    double *scratch = xfi_calloc2(2, room, sizeof(double));
    if (!local->low || !local->high || !scratch) {
        xfi_free(scratch);
        xfi_local_clear(local);
        return xfi_fail_memory(error_record);
    }
    local->delta = INFINITY;
    for (int64_t j = 0; j < n; j++)
        local->delta =
            fmin(local->delta, measure_sequence(local, data, a, j, scratch, scratch + room));
    xfi_free(scratch);
    centre_local(local, n);
    local->error = error;
    double low = INFINITY, high = -INFINITY;
    for (int64_t j = 0; j < n; j++) {
        low = fmin(low, local->low[j]);
        high = fmax(high, local->high[j]);
    }
    double scale = fmax(high - low, error / problem->format.u);
    local->score = scale > 0 && isfinite(scale) ? local->delta / scale : 0.0;
    return XF_OK;
}

/* Means of s, and the largest mean of |s|. */
static double take_means(xfi_pool *pool, const xf_dataset *data, const double *s) {
    double largest = 0;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = data->x_offsets[j + 1] - first;
        double sum = 0, absolute = 0;
        for (int64_t l = 0; l < n; l++) {
            sum += s[first + l];
            absolute += fabs(s[first + l] - pool->shape.nu);
        }
        pool->mean[j] = sum / (double)n - pool->shape.nu;
        largest = fmax(largest, absolute / (double)n);
    }
    return largest;
}

static void centre_pool(xfi_pool *pool, const xf_dataset *data, const double *s) {
    double low = s[0], high = s[0];
    for (int64_t i = 1; i < data->n_tokens; i++) {
        low = fmin(low, s[i]);
        high = fmax(high, s[i]);
    }
    double middle = low / 2 + high / 2;
    pool->shape.nu = fabs(middle) > (high - low) / 8 ? middle : 0.0;
}

xf_status xfi_pool_measure(xfi_pool *pool, const xfi_problem *problem, const double *s,
                           double error, xf_error *error_record) {
    const xf_dataset *data = problem->data;
    int64_t n = data->n_sequences;
    pool->mean = xfi_calloc(n, sizeof(double));
    pool->order = xfi_calloc(n, sizeof(int64_t));
    if (pool->shape.kind == XFI_PLAIN)
        centre_pool(pool, data, s);
    double largest = pool->mean != NULL ? take_means(pool, data, s) : 0;
    if (!pool->mean || !pool->order || !xfi_sort_index(pool->order, pool->mean, n)) {
        xfi_pool_clear(pool);
        return xfi_fail_memory(error_record);
    }
    pool->gap = n == 1 ? 1.0 : INFINITY;
    for (int64_t i = 0; i + 1 < n; i++)
        pool->gap = fmin(pool->gap, pool->mean[pool->order[i + 1]] - pool->mean[pool->order[i]]);
    double length = (double)data->n_tokens / (double)n;
    pool->error = error + (length + 3) * problem->format.u * largest;
    pool->score = isfinite(pool->gap) && isfinite(pool->error)
                      ? pool->gap / (pool->error > 0 ? pool->error : 1.0)
                      : 0.0;
    return XF_OK;
}
