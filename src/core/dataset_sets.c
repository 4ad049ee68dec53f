/* Sequences as sets. */
#include "core/dataset_sets.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/index_sort.h"

static int compare_tokens(const double *a, const double *b, int64_t d) {
    for (int64_t i = 0; i < d; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static const double *token(const xfi_sets *sets, int64_t row) {
    return sets->values + row * sets->d;
}

static int row_before(const void *context, int64_t a, int64_t b) {
    const xfi_sets *sets = context;
    int order = compare_tokens(token(sets, a), token(sets, b), sets->d);
    return order != 0 ? order < 0 : a < b;
}

xf_status xfi_sets_new(xfi_sets *out, int64_t n_sequences, int64_t d, const double *values,
                       const int64_t *offsets, xf_error *error) {
    *out = (xfi_sets){n_sequences, d, values, offsets, NULL};
    out->rows = xfi_calloc(offsets[n_sequences], sizeof *out->rows);
    if (out->rows == NULL)
        return xfi_fail_memory(error);
    for (int64_t row = 0; row < offsets[n_sequences]; row++)
        out->rows[row] = row;
    for (int64_t j = 0; j < n_sequences; j++)
        xfi_index_sort(out->rows + offsets[j], offsets[j + 1] - offsets[j], row_before, out);
    return XF_OK;
}

void xfi_sets_clear(xfi_sets *sets) {
    xfi_free(sets->rows);
    *sets = (xfi_sets){0};
}

int64_t xfi_sets_repeated_token(int64_t *earlier, const xfi_sets *sets, int64_t j) {
    int64_t start = sets->offsets[j], found = -1;
    for (int64_t i = start + 1; i < sets->offsets[j + 1]; i++) {
        int64_t a = sets->rows[i - 1], b = sets->rows[i];
        if ((found >= 0 && b >= found) || compare_tokens(token(sets, a), token(sets, b), sets->d))
            continue;
        found = b;
        *earlier = a - start;
    }
    return found < 0 ? -1 : found - start;
}

static int64_t length_of(const xfi_sets *sets, int64_t j) {
    return sets->offsets[j + 1] - sets->offsets[j];
}

int xfi_sets_compare(const xfi_sets *sets, int64_t a, int64_t b) {
    int64_t n = length_of(sets, a);
    if (n != length_of(sets, b))
        return n < length_of(sets, b) ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        int order = compare_tokens(token(sets, sets->rows[sets->offsets[a] + i]),
                                   token(sets, sets->rows[sets->offsets[b] + i]), sets->d);
        if (order != 0)
            return order;
    }
    return 0;
}

/* A hash of the sorted tokens, equal for equal sets. Adding 0.0 maps -0.0 to +0.0. */
static uint64_t hash_of(const xfi_sets *sets, int64_t j) {
    uint64_t hash = (uint64_t)length_of(sets, j);
    for (int64_t i = sets->offsets[j]; i < sets->offsets[j + 1]; i++) {
        const double *values = token(sets, sets->rows[i]);
        for (int64_t c = 0; c < sets->d; c++) {
            hash = (hash ^ xfi_bits_of_double(values[c] + 0.0)) * 0x9e3779b97f4a7c15u;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

typedef struct ranking {
    const xfi_sets *sets;
    const uint64_t *hashes;
} ranking;

/* By hash, then by set, so that even deliberate collisions only cost comparisons. */
static int sequence_before(const void *context, int64_t a, int64_t b) {
    const ranking *by = context;
    if (by->hashes[a] != by->hashes[b])
        return by->hashes[a] < by->hashes[b];
    int order = xfi_sets_compare(by->sets, a, b);
    return order != 0 ? order < 0 : a < b;
}

static void find_originals(int64_t *original, const xfi_sets *sets, int64_t *order,
                           uint64_t *hashes) {
    int64_t n = sets->n_sequences;
    for (int64_t j = 0; j < n; j++) {
        order[j] = original[j] = j;
        hashes[j] = hash_of(sets, j);
    }
    ranking by = {sets, hashes};
    xfi_index_sort(order, n, sequence_before, &by);
    for (int64_t i = 1; i < n; i++) {
        int64_t a = order[i - 1], b = order[i];
        if (hashes[a] == hashes[b] && xfi_sets_compare(sets, a, b) == 0)
            original[b] = original[a];
    }
}

xf_status xfi_sets_originals(int64_t *original, const xfi_sets *sets, xf_error *error) {
    int64_t *order = xfi_calloc(sets->n_sequences, sizeof *order);
    uint64_t *hashes = xfi_calloc(sets->n_sequences, sizeof *hashes);
    int ok = order != NULL && hashes != NULL;
    if (ok)
        find_originals(original, sets, order, hashes);
    xfi_free(order);
    xfi_free(hashes);
    return ok ? XF_OK : xfi_fail_memory(error);
}
