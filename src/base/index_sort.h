/* Sorting of indices by a comparison with context: heapsort, so that no input is
 * quadratic, nothing is allocated and the result is the same everywhere. */
#ifndef XFI_BASE_INDEX_SORT_H
#define XFI_BASE_INDEX_SORT_H

#include <stdint.h>

/* Nonzero if a comes before b. Must be a strict order; make it total by comparing the
 * indices last, since heapsort is not stable. */
typedef int (*xfi_before_fn)(const void *context, int64_t a, int64_t b);

/* Sort items[0 .. n-1] in place; O(n log n) comparisons. */
void xfi_index_sort(int64_t *items, int64_t n, xfi_before_fn before, const void *context);

#endif
