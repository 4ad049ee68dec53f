/* Checking data sets. */
#include "core/dataset_check.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/threads.h"
#include "core/agreement.h"
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

/* inf - inf and NaN - NaN are NaN, others are 0; eight sums, so that none waits for another. */
static int all_finite(const double *values, int64_t n) {
    double sum[8] = {0}, total = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            sum[k] += values[i + k] - values[i + k];
    for (; i < n; i++)
        total += values[i] - values[i];
    for (int k = 0; k < 8; k++)
        total += sum[k];
    return total == 0.0;
}

/* One side of the data set, with its name in messages. */
typedef struct side {
    const char *what;
    int is_target;
    xfi_sets sets;
} side;

static side side_of(const xf_dataset *data, int targets) {
    if (targets)
        return (side){"target", 1, {data->n_sequences, data->d, data->y, data->y_offsets}};
    return (side){"token", 0, {data->n_sequences, data->d, data->x, data->x_offsets}};
}

/* Name the first value of sequence j that is not finite. */
static xf_status fail_value(const side *s, int64_t j, xf_error *error) {
    int64_t d = s->sets.d, first = s->sets.offsets[j] * d, i = first;
    while (isfinite(s->sets.values[i]))
        i++;
    int64_t row = (i - first) / d;
    return xfi_fail_at(error, XF_ERR_DATA, j, row,
                       "sequence %lld, %s %lld, coordinate %lld is %s; only finite "
                       "numbers can be represented",
                       (long long)j, s->what, (long long)row, (long long)((i - first) % d),
                       isnan(s->sets.values[i]) ? "NaN" : "infinite");
}

/* The first sequence of the tiles with a value that is not finite, N if there is none. */
static int64_t first_infinite(const side *s, const xfi_tiles *tiles, int threads) {
    int64_t least = s->sets.n_sequences, d = s->sets.d;
#pragma omp parallel for num_threads(xfi_threads(threads)) if (tiles->n > 4) schedule(dynamic, 4)  \
    reduction(min                                                                                  \
              : least)
    for (int64_t tile = 0; tile < tiles->n; tile++) {
        int64_t first = tiles->first[tile], last = tiles->first[tile + 1];
        const int64_t *offsets = s->sets.offsets;
        if (all_finite(s->sets.values + offsets[first] * d, (offsets[last] - offsets[first]) * d))
            continue;
        while (all_finite(s->sets.values + offsets[first] * d,
                          (offsets[first + 1] - offsets[first]) * d))
            first++;
        least = first < least ? first : least;
    }
    return least;
}

/* The least sequence that some peer has found. */
static xf_status least_of_all(int64_t *sequence, const xf_peers *peers, xf_error *error) {
    double value = (double)*sequence; /* exact: below 2^53 */
    XFI_TRY(xfi_share_least(peers, &value, 1, error));
    *sequence = (int64_t)value;
    return XF_OK;
}

xf_status xfi_dataset_check_finite(const xf_dataset *data, const xf_peers *peers, int threads,
                                   xf_error *error) {
    xfi_tiles tiles;
    XFI_TRY(xfi_tiles_init(&tiles, data, peers, error));
    xf_status status = XF_OK;
    for (int targets = 0; status == XF_OK && targets <= (data->y != NULL); targets++) {
        side s = side_of(data, targets);
        int64_t j = first_infinite(&s, &tiles, threads);
        status = least_of_all(&j, peers, error);
        if (status == XF_OK && j < data->n_sequences)
            status = fail_value(&s, j, error);
    }
    xfi_tiles_clear(&tiles);
    return status;
}

/* Name the repeated token of sequence j. */
static xf_status fail_repeated(const side *s, int64_t j, xf_error *error) {
    int64_t earlier = 0, token = 0;
    XFI_TRY(xfi_sets_repeated_token(&token, &earlier, &s->sets, j, error));
    if (s->is_target)
        return xfi_fail_at(error, XF_ERR_DATA, j, token,
                           "sequence %lld: targets %lld and %lld are equal; targets are sets, "
                           "remove the repetition",
                           (long long)j, (long long)earlier, (long long)token);
    return xfi_fail_at(error, XF_ERR_DATA, j, token,
                       "sequence %lld: tokens %lld and %lld are equal; `--positions append` "
                       "adds a position coordinate that makes them distinct",
                       (long long)j, (long long)earlier, (long long)token);
}

/* Hash all sequences of one side, and refuse repeated tokens. */
static xf_status check_side(uint64_t *hashes, const xf_dataset *data, int targets,
                            const xfi_tiles *tiles, const xf_peers *peers, int threads,
                            xf_error *error) {
    side s = side_of(data, targets);
    int64_t j = 0;
    XFI_TRY(xfi_sets_hash(hashes, &j, &s.sets, tiles, threads, error));
    XFI_TRY(least_of_all(&j, peers, error));
    if (j < data->n_sequences)
        return fail_repeated(&s, j, error);
    return xfi_share_gather(peers, data->x_offsets, data->n_sequences, hashes, sizeof *hashes, NULL,
                            error);
}

static xf_status check_originals(const int64_t *original, const xf_dataset *data, int allow_same,
                                 xf_error *error) {
    side targets = side_of(data, 1);
    for (int64_t j = 0; j < data->n_sequences; j++) {
        if (original[j] == j)
            continue;
        int order = 0;
        XFI_TRY(xfi_sets_compare(&order, &targets.sets, original[j], j, error));
        if (order != 0)
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

static xf_status check_sets(int64_t *original, uint64_t *hashes, const xf_dataset *data,
                            int allow_same, const xfi_tiles *tiles, const xf_peers *peers,
                            int threads, xf_error *error) {
    XFI_TRY(check_side(hashes, data, 0, tiles, peers, threads, error));
    if (data->y == NULL)
        return XF_OK;
    side inputs = side_of(data, 0);
    XFI_TRY(xfi_sets_originals(original, &inputs.sets, hashes, error));
    XFI_TRY(check_side(hashes, data, 1, tiles, peers, threads, error));
    return check_originals(original, data, allow_same, error);
}

xf_status xfi_dataset_check_sets(int64_t *original, const xf_dataset *data, int allow_same,
                                 const xf_peers *peers, int threads, xf_error *error) {
    uint64_t *hashes = xfi_calloc(data->n_sequences, sizeof *hashes);
    if (hashes == NULL)
        return xfi_fail_memory(error);
    for (int64_t j = 0; j < data->n_sequences; j++)
        original[j] = j;
    xfi_tiles tiles;
    xf_status status = xfi_tiles_init(&tiles, data, peers, error);
    if (status == XF_OK)
        status = check_sets(original, hashes, data, allow_same, &tiles, peers, threads, error);
    xfi_tiles_clear(&tiles);
    xfi_free(hashes);
    return status;
}

xf_status xfi_dataset_check_shared(const xf_dataset *data, const xf_peers *peers, int threads,
                                   xf_error *error) {
    XFI_TRY(xfi_dataset_check_sizes(data, error));
    XFI_TRY(xfi_agree_dataset(peers, data, error));
    XFI_TRY(xfi_dataset_check_finite(data, peers, threads, error));
    int64_t *original = xfi_calloc(data->n_sequences, sizeof *original);
    if (original == NULL)
        return xfi_fail_memory(error);
    xf_status status = xfi_dataset_check_sets(original, data, 0, peers, threads, error);
    xfi_free(original);
    return status;
}

xf_status xf_dataset_check(const xf_dataset *data, xf_error *error) {
    return xfi_dataset_check_shared(data, NULL, 0, error);
}
