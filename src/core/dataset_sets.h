/* Comparing the tokens of a data set as sets: every sequence sorted, sequences
 * grouped by their sets. Never quadratic, whatever the data. */
#ifndef XFI_CORE_DATASET_SETS_H
#define XFI_CORE_DATASET_SETS_H

#include <exactformer/dataset.h>

/* One side (inputs or targets) of a data set with its sorted rows. */
typedef struct xfi_sets {
    int64_t n_sequences;
    int64_t d;
    const double *values;   /* [rows][d], borrowed */
    const int64_t *offsets; /* [n_sequences + 1], borrowed */
    int64_t *rows;          /* [rows] in each sequence, lexicographic, then by index; owned */
} xfi_sets;

/* Sort. O(T log n) comparisons of tokens. End with xfi_sets_clear, also after a failure.
 * Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_new(xfi_sets *out, int64_t n_sequences, int64_t d, const double *values,
                       const int64_t *offsets, xf_error *error);
void xfi_sets_clear(xfi_sets *sets);

/* The first token of sequence j, in index order, that equals an earlier one: its position in
 * the sequence, and that of the earlier one in *earlier; -1 if all are distinct. */
int64_t xfi_sets_repeated_token(int64_t *earlier, const xfi_sets *sets, int64_t j);

/* Compare sequences a and b as sets of distinct tokens: negative, 0 or positive. */
int xfi_sets_compare(const xfi_sets *sets, int64_t a, int64_t b);

/* Set original[j], [n_sequences], to the first sequence with the same set as j (j itself
 * if there is none before it). Errors: XF_ERR_MEMORY. */
xf_status xfi_sets_originals(int64_t *original, const xfi_sets *sets, xf_error *error);

#endif
