/* Comparing the tokens of a data set as sets. Hashes, which do not depend on the order of the
 * tokens, tell nearly all sets apart; where two are equal the tokens decide. Never quadratic,
 * whatever the data, and memory of the order of N, unless sequences repeat. */
#ifndef XFI_CORE_DATASET_SETS_H
#define XFI_CORE_DATASET_SETS_H

#include "core/tiles.h"

/* One side (inputs or targets) of a data set. */
typedef struct xfi_sets {
    int64_t n_sequences;
    int64_t d;
    const double *values;   /* [rows][d], borrowed */
    const int64_t *offsets; /* [n_sequences + 1], borrowed */
} xfi_sets;

/* Hash every sequence of the tiles to hashes [n_sequences], equal for equal sets, and set *repeats
 * to the first sequence there of which two tokens are equal, n_sequences if there is none. On all
 * cores. Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_hash(uint64_t *hashes, int64_t *repeats, const xfi_sets *sets,
                        const xfi_tiles *tiles, int threads, xf_error *error);

/* The first token of sequence j, in index order, that equals an earlier one to *repeated, -1 if all
 * are distinct, and its equal to *earlier: positions in the sequence. Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_repeated_token(int64_t *repeated, int64_t *earlier, const xfi_sets *sets,
                                  int64_t j, xf_error *error);

/* Compare sequences a and b as sets of distinct tokens: *order negative, 0 or positive.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_compare(int *order, const xfi_sets *sets, int64_t a, int64_t b, xf_error *error);

/* Set original[j], [n_sequences], to the first sequence with the same set as j (j itself
 * if there is none before it). Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_originals(int64_t *original, const xfi_sets *sets, const uint64_t *hashes,
                             xf_error *error);

#endif
