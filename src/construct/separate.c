/* What all ways of separating share: scale, score, and doing nothing. */
#include "construct/separate.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/index_sort.h"
#include "construct/isolation.h"
#include "construct/quantise.h"
#include "construct/separation_bound.h"
#include "construct/sequences.h"
#include "num/sort.h"

#include <string.h>

enum { SCORE_GRID = 30, MOST_EXPONENT = 1000 };

void xfi_separation_clear(xfi_separation *separation) {
    if (separation->n_blocks > 0)
        xf_model_clear(&separation->blocks);
    xfi_free(separation->z);
    *separation = (xfi_separation){0};
}

double xfi_separation_scale(const xfi_problem *problem) {
    double range = 0, largest = 0;
    for (int64_t k = 0; k < problem->data->d; k++) {
        range = fmax(range, problem->half_range[k]);
        largest = fmax(largest, problem->max_abs[k]);
    }
    int exponent = range > 0 ? -xfi_exponent(range) - 1 : 0;
    int room = largest > 0 ? MOST_EXPONENT - xfi_exponent(largest) : MOST_EXPONENT;
    exponent = exponent < room ? exponent : room;
    exponent = exponent < MOST_EXPONENT ? exponent : MOST_EXPONENT;
    return ldexp(1.0, exponent > -MOST_EXPONENT ? exponent : -MOST_EXPONENT);
}

static double least_needed(xfi_isolation *isolation, const xf_dataset *data, double *iso,
                           int64_t *order, xfi_weakest *weakest) {
    double least = INFINITY;
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t first = data->x_offsets[j], n = xfi_inputs_of(data, j);
        int direction = 0;
        for (int64_t l = 0; l < n; l++)
            iso[l] = xfi_isolation_of(isolation, first + l, &direction);
        if (!xfi_sort_index(order, iso, n))
            return -1.0;
        int64_t token = order[n - xfi_targets_of(data, j)];
        if (iso[token] >= least)
            continue;
        least = iso[token];
        xfi_isolation_of(isolation, first + token, &direction);
        if (weakest != NULL)
            *weakest = (xfi_weakest){j, first + token,
                                     xfi_isolation_neighbour(isolation, first + token, direction)};
    }
    return ldexp(least, -SCORE_GRID);
}

static double score_on_grid(const xfi_quantised *q, const xf_dataset *data, xfi_weakest *weakest) {
    xfi_isolation isolation = {0};
    double score = -1.0, *iso = xfi_calloc(xfi_longest_sequence(data), sizeof *iso);
    int64_t *order = xfi_calloc(xfi_longest_sequence(data), sizeof *order);
    if (iso != NULL && order != NULL && xfi_isolation_init(&isolation, q->x, q->n, q->d))
        score = least_needed(&isolation, data, iso, order, weakest);
    xfi_isolation_clear(&isolation);
    xfi_free(iso);
    xfi_free(order);
    return score;
}

double xfi_separation_score(const double *z, const xf_dataset *data, xfi_weakest *weakest) {
    xfi_quantised q;
    int feasible = 0;
    if (!xfi_quantise(&q, &feasible, z, data->n_tokens, data->d, SCORE_GRID, 0))
        return -1.0;
    double score = feasible ? score_on_grid(&q, data, weakest) : 0.0;
    xfi_quantised_clear(&q);
    return score;
}

static int compare_rows(const xf_dataset *data, int64_t a, int64_t b) {
    for (int64_t k = 0; k < data->d; k++) {
        double left = data->x[a * data->d + k], right = data->x[b * data->d + k];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int row_before(const void *context, int64_t a, int64_t b) {
    int order = compare_rows(context, a, b);
    return order != 0 ? order < 0 : a < b;
}

int xfi_has_private_tokens(const xf_dataset *data) {
    int64_t *rows = xfi_calloc(data->n_tokens, sizeof *rows);
    int64_t *count = xfi_calloc(data->n_sequences, sizeof *count);
    int ok = rows != NULL && count != NULL, enough = 1;
    for (int64_t i = 0; ok && i < data->n_tokens; i++)
        rows[i] = i;
    if (ok)
        xfi_index_sort(rows, data->n_tokens, row_before, data);
    for (int64_t i = 0; ok && i < data->n_tokens; i++) {
        int shared = (i > 0 && compare_rows(data, rows[i - 1], rows[i]) == 0) ||
                     (i + 1 < data->n_tokens && compare_rows(data, rows[i], rows[i + 1]) == 0);
        count[xfi_sequence_of(data, rows[i])] += !shared;
    }
    for (int64_t j = 0; ok && j < data->n_sequences; j++)
        enough = enough && count[j] >= xfi_targets_of(data, j);
    xfi_free(rows);
    xfi_free(count);
    return ok ? enough : -1;
}

xf_status xfi_separate_none(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    int64_t size = data->n_tokens * data->d;
    *out = (xfi_separation){.scale = xfi_separation_scale(problem), .exact = 1};
    out->z = xfi_calloc(size, sizeof(double));
    if (out->z == NULL)
        return xfi_fail_memory(error);
    for (int64_t i = 0; i < size; i++) {
        out->z[i] = data->x[i] * out->scale;
        out->exact = out->exact && out->z[i] / out->scale == data->x[i];
    }
    out->score = xfi_separation_score(out->z, data, &out->weakest);
    if (out->score >= 0)
        return XF_OK;
    xfi_separation_clear(out);
    return xfi_fail_memory(error);
}

xf_status xfi_separation_finish(xfi_separation *out, const xfi_problem *problem, xf_error *error) {
    const xf_dataset *data = problem->data;
    int64_t size = data->n_tokens * data->d;
    double *off = xfi_calloc(size, sizeof(double));
    if (out->z == NULL)
        out->z = xfi_calloc(size, sizeof(double));
    xf_status status = off != NULL && out->z != NULL ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK)
        status = xfi_separation_bound(out->z, off, &out->blocks, out->n_blocks, data, error);
    xfi_free(off);
    if (status == XF_OK)
        out->score = xfi_separation_score(out->z, data, &out->weakest);
    return status == XF_OK && out->score < 0 ? xfi_fail_memory(error) : status;
}
