/* The one place where memory is taken. Sizes are checked for overflow; a test can
 * make the k-th allocation fail. */
#ifndef XFI_BASE_ALLOC_H
#define XFI_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* `count` elements of `size` bytes, zeroed; NULL on failure or overflow. A count of 0
 * gives a valid pointer. Release with xfi_free. */
void *xfi_calloc(int64_t count, size_t size);

/* count_a * count_b elements of `size` bytes, zeroed, the product checked. */
void *xfi_calloc2(int64_t count_a, int64_t count_b, size_t size);

/* Resize to `count` elements; the old block stays valid on failure. */
void *xfi_realloc(void *old, int64_t count, size_t size);

void xfi_free(void *block);

/* Tests only: let `allowed` more allocations succeed, then fail every one until called
 * again; negative: never fail. Not thread-safe. */
void xfi_alloc_limit(int64_t allowed);

#endif
