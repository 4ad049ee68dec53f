/* Checked allocation. */
#include "base/alloc.h"

#include <stdlib.h>

static int64_t allocations_left = -1;

void xfi_alloc_limit(int64_t allowed) {
    allocations_left = allowed;
}

static int may_allocate(void) {
    if (allocations_left < 0)
        return 1;
    if (allocations_left == 0)
        return 0;
    allocations_left--;
    return 1;
}

void *xfi_calloc(int64_t count, size_t size) {
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / (size ? size : 1) || !may_allocate())
        return NULL;
    return calloc(count ? (size_t)count : 1, size ? size : 1);
}

void *xfi_calloc2(int64_t count_a, int64_t count_b, size_t size) {
    int64_t count = 0;
    if (count_a < 0 || count_b < 0 || __builtin_mul_overflow(count_a, count_b, &count))
        return NULL;
    return xfi_calloc(count, size);
}

void *xfi_realloc(void *old, int64_t count, size_t size) {
    if (count < 0 || (uint64_t)count > SIZE_MAX / 2 / (size ? size : 1) || !may_allocate())
        return NULL;
    size_t bytes = (size_t)count * size;
    return realloc(old, bytes ? bytes : 1);
}

void xfi_free(void *block) {
    free(block);
}
