/* Hash sets of tokens and of token sets. */
#include "generate/distinct.h"

#include "base/alloc.h"

#include <string.h>

static uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int xfi_hash_set_init(xfi_hash_set *set, int64_t count) {
    int64_t capacity = 4;
    while (capacity / 2 < count && capacity < INT64_MAX / 2)
        capacity *= 2;
    set->mask = (uint64_t)capacity - 1;
    set->slots = xfi_calloc(capacity, sizeof *set->slots);
    return set->slots != NULL;
}

void xfi_hash_set_clear(xfi_hash_set *set) {
    xfi_free(set->slots);
    set->slots = NULL;
}

void xfi_hash_set_empty(xfi_hash_set *set) {
    memset(set->slots, 0, (size_t)(set->mask + 1) * sizeof *set->slots);
}

int xfi_hash_set_add(xfi_hash_set *set, uint64_t hash) {
    uint64_t at = mix(hash) & set->mask;
    while (set->slots[at] != 0 && set->slots[at] != hash)
        at = (at + 1) & set->mask;
    int is_new = set->slots[at] == 0;
    set->slots[at] = hash;
    return is_new;
}

uint64_t xfi_hash_token(const double *token, int64_t d) {
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (int64_t c = 0; c < d; c++) {
        uint64_t bits = 0;
        memcpy(&bits, &token[c], sizeof bits);
        hash = mix(hash ^ bits) + 0x9e3779b97f4a7c15u;
    }
    return hash | 1;
}

uint64_t xfi_hash_tokens(const double *tokens, int64_t n, int64_t d) {
    uint64_t sum = (uint64_t)n;
    for (int64_t i = 0; i < n; i++)
        sum += mix(xfi_hash_token(tokens + i * d, d));
    return mix(sum) | 1;
}
