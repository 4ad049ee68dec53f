/* Sorting numbers. */
#ifndef XFI_NUM_SORT_H
#define XFI_NUM_SORT_H

#include <stdint.h>

/* Ascending; values must not be NaN. In place, O(n log n). */
void xfi_sort_doubles(double *values, int64_t n);

enum { XFI_SORT_COLUMNS = 8 };

/* Every column of values [n][XFI_SORT_COLUMNS] ascending, side by side; a NaN leaves its own column
 * in some order. In place, O(n log^2 n), without branches on values: Batcher's merge exchange
 * (Knuth, The Art of Computer Programming 3, 5.2.2, Algorithm M). */
void xfi_sort_columns(double *values, int64_t n);

/* Put into order[0 .. n-1] the indices 0 .. n-1 by ascending keys (not NaN), equal keys by index.
 * O(n). Returns 0 if memory is short. */
int xfi_sort_index(int64_t *order, const double *keys, int64_t n);

/* The same for unsigned keys. */
int xfi_sort_index_bits(int64_t *order, const uint64_t *keys, int64_t n);

#endif
