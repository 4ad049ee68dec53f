/* The closest pairs of tokens of different sequences on the line of t: a scale and phase that puts
 * the two of a pair into one cell keeps no sequences apart, which a few comparisons show in place
 * of a pass over all tokens. */
#ifndef XFI_CONSTRUCT_CELL_PAIRS_H
#define XFI_CONSTRUCT_CELL_PAIRS_H

#include <exactformer/dataset.h>

enum { XFI_CLOSE_PAIRS = 256 };

typedef struct xfi_cell_pairs {
    int64_t n;
    double low[XFI_CLOSE_PAIRS]; /* ascending differences high - low */
    double high[XFI_CLOSE_PAIRS];
} xfi_cell_pairs;

/* The closest neighbours of different sequences among t [T]. Cost: a sort. Returns 0 if memory is
 * short. */
int xfi_cell_pairs_find(xfi_cell_pairs *out, const double *t, const xf_dataset *data);

/* Has some pair floor(sigma (t - shift)) the same for both? */
int xfi_cell_pairs_clash(const xfi_cell_pairs *pairs, double sigma, double shift);

#endif
