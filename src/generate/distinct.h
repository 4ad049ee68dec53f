/* Which tokens and which sets have occurred, by 64-bit hashes.
 * Different things may have equal hashes, which costs the caller a needless new draw;
 * equal things always have equal hashes. */
#ifndef XFI_GENERATE_DISTINCT_H
#define XFI_GENERATE_DISTINCT_H

#include <stdint.h>

/* A set of nonzero hashes, open addressing. */
typedef struct xfi_hash_set {
    uint64_t *slots; /* [mask + 1], 0 is empty */
    uint64_t mask;
} xfi_hash_set;

/* Room for `count` hashes. Returns 0 if memory runs out. */
int xfi_hash_set_init(xfi_hash_set *set, int64_t count);
void xfi_hash_set_clear(xfi_hash_set *set);
void xfi_hash_set_empty(xfi_hash_set *set);

/* Returns 1 if `hash` was new, 0 if it was there already. */
int xfi_hash_set_add(xfi_hash_set *set, uint64_t hash);

/* Nonzero hash of a token [d] without negative zeros. */
uint64_t xfi_hash_token(const double *token, int64_t d);

/* Nonzero hash of n tokens [n][d] as a set: their order does not matter. */
uint64_t xfi_hash_tokens(const double *tokens, int64_t n, int64_t d);

#endif
