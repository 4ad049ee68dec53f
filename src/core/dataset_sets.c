/* Sequences as sets. */
#include "core/dataset_sets.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/index_sort.h"
#include "base/threads.h"
#include "num/sort.h"

#include <stdlib.h>

static int compare_tokens(const double *a, const double *b, int64_t d) {
    for (int64_t i = 0; i < d; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static const double *token(const xfi_sets *sets, int64_t row) {
    return sets->values + row * sets->d;
}

static int64_t length_of(const xfi_sets *sets, int64_t j) {
    return sets->offsets[j + 1] - sets->offsets[j];
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

enum { CHAINS = 4 };

/* Coordinates in turn to four chains, so that the products overlap. Adding 0.0 maps -0.0 to +0.0.
 */
static uint64_t hash_token(const double *values, int64_t d) {
    uint64_t chain[CHAINS] = {1, 2, 3, 4};
    int64_t i = 0;
    for (; i + CHAINS <= d; i += CHAINS)
        for (int c = 0; c < CHAINS; c++)
            chain[c] = mix(chain[c], xfi_bits_of_double(values[i + c] + 0.0));
    for (; i < d; i++)
        chain[0] = mix(chain[0], xfi_bits_of_double(values[i] + 0.0));
    return mix(mix(chain[0], chain[1]), mix(chain[2], chain[3]));
}

static int compare_hashes(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void sort_hashes(uint64_t *hashes, int64_t n) {
    if (n > 24) {
        qsort(hashes, (size_t)n, sizeof *hashes, compare_hashes);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        uint64_t h = hashes[i];
        int64_t k = i;
        for (; k > 0 && hashes[k - 1] > h; k--)
            hashes[k] = hashes[k - 1];
        hashes[k] = h;
    }
}

/* The hash of sequence j; *suspect says that two of its tokens have the same. `room` [n_j]. */
static uint64_t hash_sequence(int *suspect, const xfi_sets *sets, int64_t j, uint64_t *room) {
    int64_t n = length_of(sets, j);
    for (int64_t l = 0; l < n; l++)
        room[l] = hash_token(token(sets, sets->offsets[j] + l), sets->d);
    sort_hashes(room, n);
    uint64_t hash = (uint64_t)n;
    *suspect = 0;
    for (int64_t l = 0; l < n; l++) {
        *suspect |= l > 0 && room[l] == room[l - 1];
        hash = mix(hash, room[l]);
    }
    return hash;
}

/* Hash one tile; lowers *repeats. Returns 0 if memory is short. */
static int hash_tile(uint64_t *hashes, int64_t *repeats, const xfi_sets *sets, int64_t first,
                     int64_t last, uint64_t *room) {
    for (int64_t j = first; j < last; j++) {
        int suspect;
        int64_t repeated = -1, earlier;
        hashes[j] = hash_sequence(&suspect, sets, j, room);
        if (suspect && j < *repeats &&
            xfi_sets_repeated_token(&repeated, &earlier, sets, j, NULL) != XF_OK)
            return 0;
        if (repeated >= 0)
            *repeats = j;
    }
    return 1;
}

xf_status xfi_sets_hash(uint64_t *hashes, int64_t *repeats, const xfi_sets *sets,
                        const xfi_tiles *tiles, int threads, xf_error *error) {
    int64_t n_max = 1, least = sets->n_sequences;
    int ok = 1;
    for (int64_t j = 0; j < sets->n_sequences; j++)
        n_max = length_of(sets, j) > n_max ? length_of(sets, j) : n_max;
#pragma omp parallel num_threads(xfi_threads(threads)) if (tiles->n > 4) reduction(&& : ok) reduction(min : least)
    {
        uint64_t *room = xfi_calloc(n_max, sizeof *room);
        ok = room != NULL;
#pragma omp for schedule(dynamic, 4)
        for (int64_t tile = 0; tile < tiles->n; tile++)
            ok = ok &&
                 hash_tile(hashes, &least, sets, tiles->first[tile], tiles->first[tile + 1], room);
        xfi_free(room);
    }
    *repeats = least;
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* ---- tokens in order ---- */

static int row_before(const void *context, int64_t a, int64_t b) {
    const xfi_sets *sets = context;
    int order = compare_tokens(token(sets, a), token(sets, b), sets->d);
    return order != 0 ? order < 0 : a < b;
}

/* The rows of sequence j, lexicographic, then by index; NULL if memory is short. */
static int64_t *sorted_rows(const xfi_sets *sets, int64_t j) {
    int64_t n = length_of(sets, j), *rows = xfi_calloc(n, sizeof *rows);
    for (int64_t l = 0; rows != NULL && l < n; l++)
        rows[l] = sets->offsets[j] + l;
    if (rows != NULL)
        xfi_index_sort(rows, n, row_before, sets);
    return rows;
}

xf_status xfi_sets_repeated_token(int64_t *repeated, int64_t *earlier, const xfi_sets *sets,
                                  int64_t j, xf_error *error) {
    int64_t start = sets->offsets[j], found = -1, *rows = sorted_rows(sets, j);
    *repeated = -1;
    if (rows == NULL)
        return xfi_fail_memory(error);
    for (int64_t i = 1; i < length_of(sets, j); i++) {
        int64_t a = rows[i - 1], b = rows[i];
        if ((found >= 0 && b >= found) || compare_tokens(token(sets, a), token(sets, b), sets->d))
            continue;
        found = b;
        *earlier = a - start;
    }
    xfi_free(rows);
    *repeated = found < 0 ? -1 : found - start;
    return XF_OK;
}

static int compare_rows(const xfi_sets *sets, const int64_t *a, int64_t n_a, const int64_t *b,
                        int64_t n_b) {
    if (n_a != n_b)
        return n_a < n_b ? -1 : 1;
    for (int64_t i = 0; i < n_a; i++) {
        int order = compare_tokens(token(sets, a[i]), token(sets, b[i]), sets->d);
        if (order != 0)
            return order;
    }
    return 0;
}

xf_status xfi_sets_compare(int *order, const xfi_sets *sets, int64_t a, int64_t b,
                           xf_error *error) {
    int64_t *rows_a = sorted_rows(sets, a), *rows_b = sorted_rows(sets, b);
    int ok = rows_a != NULL && rows_b != NULL;
    *order = ok ? compare_rows(sets, rows_a, length_of(sets, a), rows_b, length_of(sets, b)) : 0;
    xfi_free(rows_a);
    xfi_free(rows_b);
    return ok ? XF_OK : xfi_fail_memory(error);
}

/* ---- sequences of the same hash ---- */

typedef struct suspects {
    const xfi_sets *sets;
    const int64_t *sequence; /* [n] */
    int64_t **rows;          /* [n] sorted */
} suspects;

static int compare_suspects(const suspects *all, int64_t i, int64_t k) {
    int64_t a = all->sequence[i], b = all->sequence[k];
    return compare_rows(all->sets, all->rows[i], length_of(all->sets, a), all->rows[k],
                        length_of(all->sets, b));
}

static int suspect_before(const void *context, int64_t i, int64_t k) {
    const suspects *all = context;
    int order = compare_suspects(all, i, k);
    return order != 0 ? order < 0 : all->sequence[i] < all->sequence[k];
}

/* Sort the n sequences by their sets, so that even deliberate collisions of hashes only cost
 * comparisons. `order` [n] is scratch. */
static void find_equal(int64_t *original, const suspects *all, int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    xfi_index_sort(order, n, suspect_before, all);
    for (int64_t i = 1; i < n; i++)
        if (compare_suspects(all, order[i - 1], order[i]) == 0)
            original[all->sequence[order[i]]] = original[all->sequence[order[i - 1]]];
}

/* Look at a run of n sequences with the same hash. Returns 0 if memory is short. */
static int compare_run(int64_t *original, const xfi_sets *sets, const int64_t *sequence,
                       int64_t n) {
    suspects all = {sets, sequence, xfi_calloc(n, sizeof *all.rows)};
    int64_t *order = xfi_calloc(n, sizeof *order);
    int ok = all.rows != NULL && order != NULL;
    for (int64_t i = 0; ok && i < n; i++)
        ok = (all.rows[i] = sorted_rows(sets, sequence[i])) != NULL;
    if (ok)
        find_equal(original, &all, order, n);
    for (int64_t i = 0; all.rows != NULL && i < n; i++)
        xfi_free(all.rows[i]);
    xfi_free(all.rows);
    xfi_free(order);
    return ok;
}

xf_status xfi_sets_originals(int64_t *original, const xfi_sets *sets, const uint64_t *hashes,
                             xf_error *error) {
    int64_t n = sets->n_sequences, *order = xfi_calloc(n, sizeof *order);
    int ok = order != NULL && xfi_sort_index_bits(order, hashes, n);
    for (int64_t j = 0; j < n; j++)
        original[j] = j;
    for (int64_t first = 0, last; ok && first < n; first = last) {
        for (last = first + 1; last < n && hashes[order[last]] == hashes[order[first]];)
            last++;
        if (last - first > 1)
            ok = compare_run(original, sets, order + first, last - first);
    }
    xfi_free(order);
    return ok ? XF_OK : xfi_fail_memory(error);
}
