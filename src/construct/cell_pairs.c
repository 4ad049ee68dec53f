/* Close pairs, from the sorted t. */
#include "construct/cell_pairs.h"

#include "base/alloc.h"
#include "num/sort.h"

#include <math.h>
#include <stddef.h>

/* Insert a pair where its difference belongs, if it is among the closest. */
static void insert(xfi_cell_pairs *pairs, double low, double high) {
    int64_t n = pairs->n, full = n == XFI_CLOSE_PAIRS;
    if (full && !(high - low < pairs->high[n - 1] - pairs->low[n - 1]))
        return;
    int64_t i = full ? n - 1 : n;
    for (; i > 0 && high - low < pairs->high[i - 1] - pairs->low[i - 1]; i--) {
        pairs->low[i] = pairs->low[i - 1];
        pairs->high[i] = pairs->high[i - 1];
    }
    pairs->low[i] = low;
    pairs->high[i] = high;
    pairs->n += !full;
}

static void collect(xfi_cell_pairs *out, const int64_t *order, const int64_t *owner,
                    const double *t, int64_t n) {
    out->n = 0;
    for (int64_t i = 0; i + 1 < n; i++)
        if (owner[order[i]] != owner[order[i + 1]])
            insert(out, t[order[i]], t[order[i + 1]]);
}

int xfi_cell_pairs_find(xfi_cell_pairs *out, const double *t, const xf_dataset *data) {
    int64_t n = data->n_tokens;
    int64_t *order = xfi_calloc2(2, n, sizeof *order), *owner = order + n;
    int ok = order != NULL;
    for (int64_t j = 0; ok && j < data->n_sequences; j++)
        for (int64_t i = data->x_offsets[j]; i < data->x_offsets[j + 1]; i++)
            owner[i] = j;
    ok = ok && xfi_sort_index(order, t, n);
    if (ok)
        collect(out, order, owner, t, n);
    xfi_free(order);
    return ok;
}

int xfi_cell_pairs_clash(const xfi_cell_pairs *pairs, double sigma, double shift) {
    for (int64_t i = 0; i < pairs->n; i++)
        if (floor(sigma * (pairs->low[i] - shift)) == floor(sigma * (pairs->high[i] - shift)))
            return 1;
    return 0;
}
