/* Checking data sets. */
#include "core/dataset_check.h"

#include "base/alloc.h"
#include "base/error.h"
#include "core/dataset_prepare.h"
#include "core/dataset_sets.h"

#include <math.h>

xf_status xfi_offsets_check(const char *name, const int64_t *offsets, int64_t n_sequences,
                            int64_t n_rows, xf_error *error) {
    if (offsets[0] != 0)
        return xfi_fail_at(error, XF_ERR_DATA, 0, -1, "%s must start at 0, not at %lld", name,
                           (long long)offsets[0]);
    for (int64_t j = 0; j < n_sequences; j++)
        if (offsets[j + 1] <= offsets[j])
            return xfi_fail_at(error, XF_ERR_DATA, j, -1,
                               "%s must be strictly increasing: sequence %lld would be rows %lld "
                               "up to %lld; every sequence needs at least one token",
                               name, (long long)j, (long long)offsets[j],
                               (long long)offsets[j + 1]);
    if (offsets[n_sequences] != n_rows)
        return xfi_fail(error, XF_ERR_DATA, "%s must end at the number of rows, %lld, not at %lld",
                        name, (long long)n_rows, (long long)offsets[n_sequences]);
    return XF_OK;
}

static xf_status check_target_counts(const xf_dataset *data, xf_error *error) {
    for (int64_t j = 0; j < data->n_sequences; j++) {
        int64_t n = data->x_offsets[j + 1] - data->x_offsets[j];
        int64_t m = data->y_offsets[j + 1] - data->y_offsets[j];
        if (m > n)
            return xfi_fail_at(error, XF_ERR_DATA, j, -1,
                               "sequence %lld has %lld targets but only %lld input tokens; a "
                               "sequence can have at most as many targets as tokens",
                               (long long)j, (long long)m, (long long)n);
    }
    return XF_OK;
}

xf_status xfi_dataset_check_sizes(const xf_dataset *data, xf_error *error) {
    if (data->d < 1)
        return xfi_fail(error, XF_ERR_DATA, "tokens need at least one coordinate (d is %lld)",
                        (long long)data->d);
    if (data->n_sequences < 1)
        return xfi_fail(error, XF_ERR_DATA, "a data set needs at least one sequence");
    if (data->x == NULL || data->x_offsets == NULL ||
        (data->y == NULL) != (data->y_offsets == NULL))
        return xfi_fail(error, XF_ERR_DATA,
                        "a data set needs x with x_offsets, and y with y_offsets");
    XFI_TRY(
        xfi_offsets_check("x_offsets", data->x_offsets, data->n_sequences, data->n_tokens, error));
    if (data->y == NULL)
        return XF_OK;
    XFI_TRY(
        xfi_offsets_check("y_offsets", data->y_offsets, data->n_sequences, data->n_targets, error));
    return check_target_counts(data, error);
}

static xf_status check_values(const char *what, const double *values, const int64_t *offsets,
                              int64_t n_sequences, int64_t d, xf_error *error) {
    for (int64_t j = 0; j < n_sequences; j++)
        for (int64_t row = offsets[j]; row < offsets[j + 1]; row++)
            for (int64_t c = 0; c < d; c++) {
                double value = values[row * d + c];
                if (isfinite(value))
                    continue;
                return xfi_fail_at(error, XF_ERR_DATA, j, row - offsets[j],
                                   "sequence %lld, %s %lld, coordinate %lld is %s; only finite "
                                   "numbers can be represented",
                                   (long long)j, what, (long long)(row - offsets[j]), (long long)c,
                                   isnan(value) ? "NaN" : "infinite");
            }
    return XF_OK;
}

xf_status xfi_dataset_check_finite(const xf_dataset *data, xf_error *error) {
    XFI_TRY(check_values("token", data->x, data->x_offsets, data->n_sequences, data->d, error));
    if (data->y == NULL)
        return XF_OK;
    return check_values("target", data->y, data->y_offsets, data->n_sequences, data->d, error);
}

static xf_status check_tokens(const xfi_sets *sets, int target, xf_error *error) {
    for (int64_t j = 0; j < sets->n_sequences; j++) {
        int64_t earlier = 0, token = xfi_sets_repeated_token(&earlier, sets, j);
        if (token < 0)
            continue;
        if (target)
            return xfi_fail_at(error, XF_ERR_DATA, j, token,
                               "sequence %lld: targets %lld and %lld are equal; targets are sets, "
                               "remove the repetition",
                               (long long)j, (long long)earlier, (long long)token);
        return xfi_fail_at(error, XF_ERR_DATA, j, token,
                           "sequence %lld: tokens %lld and %lld are equal; `--positions append` "
                           "adds a position coordinate that makes them distinct",
                           (long long)j, (long long)earlier, (long long)token);
    }
    return XF_OK;
}

static xf_status check_originals(const int64_t *original, const xfi_sets *targets, int allow_same,
                                 xf_error *error) {
    for (int64_t j = 0; j < targets->n_sequences; j++) {
        if (original[j] == j)
            continue;
        if (xfi_sets_compare(targets, original[j], j) != 0)
            return xfi_fail_at(error, XF_ERR_DATA, j, -1,
                               "sequences %lld and %lld have the same input tokens but different "
                               "targets; no function of the set of tokens maps to both, remove one",
                               (long long)original[j], (long long)j);
        if (!allow_same)
            return xfi_fail_at(error, XF_ERR_DATA, j, -1,
                               "sequences %lld and %lld are the same pair; remove one",
                               (long long)original[j], (long long)j);
    }
    return XF_OK;
}

static xf_status check_pairs(const xf_dataset *data, const xfi_sets *inputs, int64_t *original,
                             int allow_same, xf_error *error) {
    xfi_sets targets;
    xf_status status =
        xfi_sets_new(&targets, data->n_sequences, data->d, data->y, data->y_offsets, error);
    if (status == XF_OK)
        status = check_tokens(&targets, 1, error);
    if (status == XF_OK)
        status = xfi_sets_originals(original, inputs, error);
    if (status == XF_OK)
        status = check_originals(original, &targets, allow_same, error);
    xfi_sets_clear(&targets);
    return status;
}

xf_status xfi_dataset_check_sets(int64_t *original, const xf_dataset *data, int allow_same,
                                 xf_error *error) {
    xfi_sets inputs;
    for (int64_t j = 0; j < data->n_sequences; j++)
        original[j] = j;
    xf_status status =
        xfi_sets_new(&inputs, data->n_sequences, data->d, data->x, data->x_offsets, error);
    if (status == XF_OK)
        status = check_tokens(&inputs, 0, error);
    if (status == XF_OK && data->y != NULL)
        status = check_pairs(data, &inputs, original, allow_same, error);
    xfi_sets_clear(&inputs);
    return status;
}

xf_status xf_dataset_check(const xf_dataset *data, xf_error *error) {
    XFI_TRY(xfi_dataset_check_sizes(data, error));
    XFI_TRY(xfi_dataset_check_finite(data, error));
    int64_t *original = xfi_calloc(data->n_sequences, sizeof *original);
    if (original == NULL)
        return xfi_fail_memory(error);
    xf_status status = xfi_dataset_check_sets(original, data, 0, error);
    xfi_free(original);
    return status;
}
