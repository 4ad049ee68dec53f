/* Shares of sequences. */
#include "core/share.h"

#include "base/alloc.h"
#include "base/error.h"

static int is_alone(const xf_peers *peers) {
    return peers == NULL || peers->size == 1;
}

/* The first sequence that starts at or after token `row`. */
static int64_t sequence_at(const int64_t *x_offsets, int64_t n_sequences, int64_t row) {
    int64_t low = 0, high = n_sequences;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x_offsets[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The first sequence of rank r, N for r = size. */
static int64_t start_of(const xf_peers *peers, int r, const int64_t *x_offsets,
                        int64_t n_sequences) {
    int64_t rows = x_offsets[n_sequences], whole = rows / peers->size, rest = rows % peers->size;
    return sequence_at(x_offsets, n_sequences, whole * r + rest * r / peers->size);
}

xfi_share xfi_share_of(const xf_peers *peers, const int64_t *x_offsets, int64_t n_sequences) {
    if (is_alone(peers))
        return (xfi_share){0, n_sequences};
    return (xfi_share){start_of(peers, peers->rank, x_offsets, n_sequences),
                       start_of(peers, peers->rank + 1, x_offsets, n_sequences)};
}

xf_status xfi_share_exchange(const xf_peers *peers, void *bytes, const int64_t *starts,
                             xf_error *error) {
    int done = peers->gather(peers->context, bytes, starts);
    if (done > 0)
        return XF_OK;
    if (done < 0)
        return xfi_fail(error, XF_ERR_ARGUMENT,
                        "the processes take different ways; give all of them the same command, "
                        "data set, model and options");
    return xfi_fail(error, XF_ERR_IO, "the exchange with the other processes failed");
}

xf_status xfi_share_gather(const xf_peers *peers, const int64_t *x_offsets, int64_t n_sequences,
                           void *array, size_t size, const int64_t *offsets, xf_error *error) {
    if (is_alone(peers))
        return XF_OK;
    int64_t *starts = xfi_calloc(peers->size + 1, sizeof *starts);
    if (starts == NULL)
        return xfi_fail_memory(error);
    for (int r = 0; r <= peers->size; r++) {
        int64_t j = start_of(peers, r, x_offsets, n_sequences);
        starts[r] = (offsets != NULL ? offsets[j] : j) * (int64_t)size;
    }
    xf_status status = xfi_share_exchange(peers, array, starts, error);
    xfi_free(starts);
    return status;
}

static void take_least(double *values, const double *all, int64_t n, int size) {
    for (int r = 0; r < size; r++)
        for (int64_t i = 0; i < n; i++)
            values[i] = all[r * n + i] < values[i] ? all[r * n + i] : values[i];
}

xf_status xfi_share_least(const xf_peers *peers, double *values, int64_t n, xf_error *error) {
    if (is_alone(peers))
        return XF_OK;
    double *all = xfi_calloc2(peers->size, n, sizeof *all);
    int64_t *starts = xfi_calloc(peers->size + 1, sizeof *starts);
    xf_status status = all && starts ? XF_OK : xfi_fail_memory(error);
    if (status == XF_OK) {
        for (int r = 0; r <= peers->size; r++)
            starts[r] = r * n * (int64_t)sizeof *all;
        for (int64_t i = 0; i < n; i++)
            all[peers->rank * n + i] = values[i];
        status = xfi_share_exchange(peers, all, starts, error);
    }
    if (status == XF_OK)
        take_least(values, all, n, peers->size);
    xfi_free(all);
    xfi_free(starts);
    return status;
}
