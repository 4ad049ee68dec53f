/* Turning arrays that were read or copied into a data set that passes its checks. */
#ifndef XFI_CORE_DATASET_PREPARE_H
#define XFI_CORE_DATASET_PREPARE_H

#include <exactformer/dataset.h>

/* Check the offsets called `name`: [n_sequences + 1], starting at 0, strictly
 * increasing, ending at n_rows. Errors: XF_ERR_DATA naming the sequence. */
xf_status xfi_offsets_check(const char *name, const int64_t *offsets, int64_t n_sequences,
                            int64_t n_rows, xf_error *error);

/* Normalise and check, in place: offsets, sizes, finite values, -0.0 to +0.0, append
 * positions, distinct tokens, and drop repeated pairs with a note (when there are
 * targets; inputs alone may repeat, since every one of them has an output). `options` may
 * be NULL. On failure the caller clears. Cost O(T d log n + N log N) comparisons.
 * Numeric class: exact. Errors: XF_ERR_DATA, XF_ERR_ARGUMENT, XF_ERR_MEMORY. */
xf_status xfi_dataset_prepare(xf_dataset *data, const xf_dataset_options *options, xf_error *error);

/* Pass a formatted remark (up to 255 bytes) to options->note, if there is one. */
void xfi_dataset_note(const xf_dataset_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Append the coordinate l * 2^-k to every token; see xf_dataset_options.
 * Errors: XF_ERR_ARGUMENT, XF_ERR_DATA (more tokens than 2^k), XF_ERR_MEMORY. */
xf_status xfi_dataset_append_positions(xf_dataset *data, int position_bits, xf_error *error);

#endif
