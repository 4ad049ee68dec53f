/* The conditions on a data set, one by one. Every error names the first offender. */
#ifndef XFI_CORE_DATASET_CHECK_H
#define XFI_CORE_DATASET_CHECK_H

#include <exactformer/dataset.h>
#include <exactformer/peers.h>

/* Sizes, offsets, and 1 <= m_j <= n_j. Errors: XF_ERR_DATA. */
xf_status xfi_dataset_check_sizes(const xf_dataset *data, xf_error *error);

/* All values finite; peers (NULL: none) look at their own sequences, with so many threads (0: one a
 * core), here and below. Errors: XF_ERR_DATA naming
 * sequence, token and coordinate. */
xf_status xfi_dataset_check_finite(const xf_dataset *data, const xf_peers *peers, int threads,
                                   xf_error *error);

/* Tokens distinct within every input and every target set; where there are targets, no input may
 * occur again with other targets, nor (allow_same 0) with the same ones. Sets original[j],
 * [n_sequences], to the first sequence with the same pair, mostly j itself.
 * Errors: XF_ERR_DATA naming both offenders, XF_ERR_MEMORY. */
xf_status xfi_dataset_check_sets(int64_t *original, const xf_dataset *data, int allow_same,
                                 const xf_peers *peers, int threads, xf_error *error);

/* As xf_dataset_check, with peers. */
xf_status xfi_dataset_check_shared(const xf_dataset *data, const xf_peers *peers, int threads,
                                   xf_error *error);

#endif
