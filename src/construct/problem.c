/* Statistics of the data, and what the format cannot hold. */
#include "construct/problem.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "core/tiles.h"

#include <string.h>

static int64_t sequence_of(const int64_t *offsets, int64_t n, int64_t row) {
    int64_t low = 0, high = n;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (offsets[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static xf_status check_targets(const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    for (int64_t i = 0; i < data->n_targets * data->d; i++) {
        if (xfi_representable(&problem->format, data->y[i]))
            continue;
        int64_t row = i / data->d;
        int64_t j = sequence_of(data->y_offsets, data->n_sequences, row);
        return xfi_fail_at(error, XF_ERR_INFEASIBLE, j, row - data->y_offsets[j],
                           "target %lld of sequence %lld has coordinate %lld = %.17g, which is not "
                           "a binary32 number; use --dtype f64, or round the targets to binary32",
                           (long long)(row - data->y_offsets[j]), (long long)j,
                           (long long)(i % data->d), data->y[i]);
    }
    return XF_OK;
}

static xf_status check_sequence(const xfi_problem *problem, int64_t j, xf_error *error) {
    const xf_dataset *data = problem->data;
    for (int64_t i = data->x_offsets[j] * data->d; i < data->x_offsets[j + 1] * data->d; i++) {
        if (isfinite(xfi_round(&problem->format, data->x[i])))
            continue;
        int64_t token = i / data->d - data->x_offsets[j];
        return xfi_fail_at(error, XF_ERR_INFEASIBLE, j, token,
                           "token %lld of sequence %lld has coordinate %lld = %.17g, which is "
                           "beyond the range of binary32; use --dtype f64, or scale the inputs",
                           (long long)token, (long long)j, (long long)(i % data->d), data->x[i]);
    }
    return XF_OK;
}

/* The least of every coordinate, and minus the largest, to range [2][d]. */
static void widen(double *range, const double *tokens, int64_t n_tokens, int64_t d) {
    double *low = range, *minus_high = range + d;
    for (int64_t i = 0; i < n_tokens; i++)
        for (int64_t k = 0; k < d; k++) {
            double v = tokens[i * d + k];
            low[k] = v < low[k] ? v : low[k];
            minus_high[k] = -v < minus_high[k] ? -v : minus_high[k];
        }
}

static int widen_all(double *range, const xfi_problem *problem, const xfi_tiles *tiles) {
    const xf_dataset *data = problem->data;
    int64_t d = data->d;
    int ok = 1;
#pragma omp parallel num_threads(xfi_problem_threads(problem)) reduction(&& : ok)
    {
        double *own = xfi_calloc2(2, d, sizeof *own);
        ok = own != NULL;
        for (int64_t k = 0; ok && k < 2 * d; k++)
            own[k] = INFINITY;
#pragma omp for schedule(dynamic, 4)
        for (int64_t tile = 0; tile < tiles->n; tile++) {
            int64_t row = data->x_offsets[tiles->first[tile]];
            if (ok)
                widen(own, data->x + row * d, data->x_offsets[tiles->first[tile + 1]] - row, d);
        }
#pragma omp critical(xfi_problem_ranges)
        for (int64_t k = 0; ok && k < 2 * d; k++)
            range[k] = own[k] < range[k] ? own[k] : range[k];
        xfi_free(own);
    }
    return ok;
}

static void take_ranges(xfi_problem *problem, const double *range) {
    int64_t d = problem->data->d;
    double largest = 0;
    for (int64_t k = 0; k < d; k++) {
        double low = range[k], high = -range[d + k];
        problem->max_abs[k] = fmax(fabs(low), fabs(high));
        problem->half_range[k] = high / 2 - low / 2;
        largest = fmax(largest, problem->max_abs[k]);
    }
    int exponent = largest > 0 ? xfi_exponent(largest) + 1 : 0;
    problem->unit = ldexp(1.0, -exponent < 1000 ? -exponent : 1000);
}

static xf_status gather_inputs(xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    const xf_peers *peers = problem->options->peers;
    xfi_tiles tiles;
    XFI_TRY(xfi_tiles_init(&tiles, data, peers, error));
    double *range = xfi_calloc2(2, data->d, sizeof *range);
    for (int64_t k = 0; range != NULL && k < 2 * data->d; k++)
        range[k] = INFINITY;
    xf_status status =
        range != NULL && widen_all(range, problem, &tiles) ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_share_least(peers, range, 2 * data->d, error);
    if (status == XF_OK)
        take_ranges(problem, range);
    xfi_free(range);
    xfi_tiles_clear(&tiles);
    return status;
}

/* Only binary32 can be too narrow: the data are finite. The first offender is rare enough to be
 * looked for by everyone. */
static xf_status check_inputs(const xfi_problem *problem, xf_error *error) {
    double limit = 0;
    for (int64_t k = 0; k < problem->data->d; k++)
        limit = fmax(limit, problem->max_abs[k]);
    if (isfinite(xfi_round(&problem->format, limit)))
        return XF_OK;
    for (int64_t j = 0; j < problem->data->n_sequences; j++)
        XFI_TRY(check_sequence(problem, j, error));
    return XF_OK;
}

xf_status xfi_problem_init(xfi_problem *problem, const xf_dataset *data,
                           const xf_build_options *options, xf_error *error) {
    *problem = (xfi_problem){.data = data, .options = options, .y = data->y};
    problem->format = xfi_format_of(options->dtype);
    problem->threads = xfi_threads(options->threads);
    problem->all_single = data->n_targets == data->n_sequences;
    XFI_TRY(check_targets(problem, error));
    problem->max_abs = xfi_calloc(data->d, sizeof(double));
    problem->half_range = xfi_calloc(data->d, sizeof(double));
    if (problem->max_abs == NULL || problem->half_range == NULL) {
        xfi_problem_clear(problem);
        return xfi_fail_memory(error);
    }
    xf_status status = gather_inputs(problem, error);
    if (status == XF_OK)
        status = check_inputs(problem, error);
    if (status != XF_OK)
        xfi_problem_clear(problem);
    return status;
}

void xfi_problem_clear(xfi_problem *problem) {
    xfi_free(problem->max_abs);
    xfi_free(problem->half_range);
    xfi_free(problem->scaled_y);
    problem->max_abs = problem->half_range = problem->scaled_y = NULL;
}

int xfi_problem_scale_targets(xfi_problem *problem, int exponent, xf_status *status,
                              xf_error *error) {
    int64_t n = problem->data->n_targets * problem->data->d;
    double *scaled = xfi_calloc(n, sizeof(double));
    if (scaled == NULL) {
        *status = xfi_fail_memory(error);
        return 0;
    }
    for (int64_t i = 0; i < n; i++) {
        double y = problem->data->y[i];
        scaled[i] = ldexp(y, -exponent);
        if (!xfi_representable(&problem->format, scaled[i]) || ldexp(scaled[i], exponent) != y) {
            xfi_free(scaled);
            return 0;
        }
    }
    xfi_free(problem->scaled_y);
    problem->scaled_y = scaled;
    problem->y = scaled;
    problem->y_exponent = exponent;
    return 1;
}

static int wanted(const char *asked, const char *name) {
    return asked == NULL || strcmp(asked, name) == 0;
}

int xfi_problem_wants_front(const xfi_problem *problem, const char *name) {
    return wanted(problem->options->front, name);
}

int xfi_problem_wants_writer(const xfi_problem *problem, const char *name) {
    return wanted(problem->options->writer, name);
}

enum { FEW_TOKENS = 2048 };

int xfi_problem_threads(const xfi_problem *problem) {
    return problem->data->n_tokens > FEW_TOKENS ? problem->threads : 1;
}

xf_status xfi_problem_progress(const xfi_problem *problem, const char *phase, double done,
                               xf_error *error) {
    const xf_build_options *options = problem->options;
    if (options->progress != NULL && options->progress(options->progress_context, phase, done))
        return xfi_fail(error, XF_ERR_CANCELLED, "cancelled");
    return XF_OK;
}
