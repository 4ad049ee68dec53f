/* Heapsort of indices. */
#include "base/index_sort.h"

static void swap(int64_t *items, int64_t i, int64_t k) {
    int64_t kept = items[i];
    items[i] = items[k];
    items[k] = kept;
}

/* Restore the heap (largest on top) below `root`. */
static void sift(int64_t *items, int64_t root, int64_t n, xfi_before_fn before,
                 const void *context) {
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= n)
            return;
        if (child + 1 < n && before(context, items[child], items[child + 1]))
            child++;
        if (!before(context, items[root], items[child]))
            return;
        swap(items, root, child);
        root = child;
    }
}

void xfi_index_sort(int64_t *items, int64_t n, xfi_before_fn before, const void *context) {
    for (int64_t i = n / 2 - 1; i >= 0; i--)
        sift(items, i, n, before, context);
    for (int64_t end = n - 1; end > 0; end--) {
        swap(items, 0, end);
        sift(items, 0, end, before, context);
    }
}
