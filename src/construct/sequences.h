/* Small questions about the sequences of a data set. Numeric class: exact. */
#ifndef XFI_CONSTRUCT_SEQUENCES_H
#define XFI_CONSTRUCT_SEQUENCES_H

#include <exactformer/dataset.h>

/* n_j */
static inline int64_t xfi_inputs_of(const xf_dataset *data, int64_t j) {
    return data->x_offsets[j + 1] - data->x_offsets[j];
}

/* m_j */
static inline int64_t xfi_targets_of(const xf_dataset *data, int64_t j) {
    return data->y_offsets[j + 1] - data->y_offsets[j];
}

/* Largest n_j, at least 1. */
static inline int64_t xfi_longest_sequence(const xf_dataset *data) {
    int64_t n = 1;
    for (int64_t j = 0; j < data->n_sequences; j++)
        n = xfi_inputs_of(data, j) > n ? xfi_inputs_of(data, j) : n;
    return n;
}

/* The sequence that holds row `token` of x. O(log N). */
static inline int64_t xfi_sequence_of(const xf_dataset *data, int64_t token) {
    int64_t low = 0, high = data->n_sequences;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (data->x_offsets[middle] <= token)
            low = middle;
        else
            high = middle;
    }
    return low;
}

#endif
