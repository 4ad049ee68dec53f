/* Sorting numbers: insertion for short runs, radix for long ones, a network for columns. */
#include "num/sort.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "num/target_clones.h"

#include <stdlib.h>
#include <string.h>

enum { INSERTION_MAX = 24, RADIX_MIN = 512, DIGIT = 11, BUCKETS = 1 << DIGIT, PASSES = 6 };

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

void xfi_sort_doubles(double *values, int64_t n) {
    if (n > INSERTION_MAX) {
        qsort(values, (size_t)n, sizeof *values, compare_doubles);
        return;
    }
    for (int64_t i = 1; i < n; i++) {
        double v = values[i];
        int64_t k = i;
        for (; k > 0 && values[k - 1] > v; k--)
            values[k] = values[k - 1];
        values[k] = v;
    }
}

/* The smaller of each pair to row i, the larger to row i + distance, for all i with bit p as in r.
 */
XFI_CLONES static void exchange_rows(double *restrict values, int64_t n, int64_t distance,
                                     int64_t p, int64_t r) {
    for (int64_t i = 0; i < n - distance; i++) {
        if ((i & p) != r)
            continue;
        double *a = values + i * XFI_SORT_COLUMNS, *b = a + distance * XFI_SORT_COLUMNS;
        for (int c = 0; c < XFI_SORT_COLUMNS; c++) {
            double low = b[c] < a[c] ? b[c] : a[c], high = b[c] < a[c] ? a[c] : b[c];
            a[c] = low;
            b[c] = high;
        }
    }
}

void xfi_sort_columns(double *values, int64_t n) {
    int64_t top = 1;
    while (2 * top < n)
        top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        exchange_rows(values, n, p, p, 0);
        for (int64_t q = top; q != p; q /= 2)
            exchange_rows(values, n, q - p, p, p);
    }
}

typedef struct keyed {
    uint64_t key;
    int64_t index;
} keyed;

/* Unsigned integers in the order of the numbers; -0.0 and +0.0 are one. */
static uint64_t ordered_bits(double value) {
    uint64_t bits = xfi_bits_of_double(value + 0.0);
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static int compare_keyed(const void *left, const void *right) {
    const keyed *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int64_t digit_of(uint64_t key, int pass) {
    return (int64_t)(key >> (pass * DIGIT) & (BUCKETS - 1));
}

/* One stable pass from `from` to `to`; 0 and nothing done if all keys have the same digit. */
static int scatter(keyed *to, const keyed *from, int64_t n, int64_t *count, int pass) {
    if (count[digit_of(from[0].key, pass)] == n)
        return 0;
    int64_t start = 0;
    for (int64_t b = 0; b < BUCKETS; b++) {
        int64_t size = count[b];
        count[b] = start;
        start += size;
    }
    for (int64_t i = 0; i < n; i++)
        to[count[digit_of(from[i].key, pass)]++] = from[i];
    return 1;
}

/* Least significant digit first. Returns the array that holds the result. */
static keyed *radix_sort(keyed *pairs, keyed *other, int64_t n, int64_t *counts) {
    memset(counts, 0, PASSES * BUCKETS * sizeof *counts);
    for (int64_t i = 0; i < n; i++)
        for (int pass = 0; pass < PASSES; pass++)
            counts[pass * BUCKETS + digit_of(pairs[i].key, pass)]++;
    for (int pass = 0; pass < PASSES; pass++) {
        if (!scatter(other, pairs, n, counts + pass * BUCKETS, pass))
            continue;
        keyed *sorted = other;
        other = pairs;
        pairs = sorted;
    }
    return pairs;
}

/* Room for the pairs; as much again behind them for a radix sort. */
static keyed *new_pairs(int64_t n) {
    return xfi_calloc2(n, n >= RADIX_MIN ? 2 : 1, sizeof(keyed));
}

/* Sort, store the indices, free the pairs. Returns 0 if memory is short. */
static int finish(int64_t *order, keyed *pairs, int64_t n) {
    keyed *sorted = pairs;
    if (n >= RADIX_MIN) {
        int64_t *counts = xfi_calloc(PASSES * BUCKETS, sizeof *counts);
        sorted = counts != NULL ? radix_sort(pairs, pairs + n, n, counts) : NULL;
        xfi_free(counts);
    } else {
        qsort(pairs, (size_t)n, sizeof *pairs, compare_keyed);
    }
    for (int64_t i = 0; sorted != NULL && i < n; i++)
        order[i] = sorted[i].index;
    xfi_free(pairs);
    return sorted != NULL;
}

int xfi_sort_index(int64_t *order, const double *keys, int64_t n) {
    keyed *pairs = new_pairs(n);
    for (int64_t i = 0; pairs != NULL && i < n; i++)
        pairs[i] = (keyed){ordered_bits(keys[i]), i};
    return pairs != NULL && finish(order, pairs, n);
}

int xfi_sort_index_bits(int64_t *order, const uint64_t *keys, int64_t n) {
    keyed *pairs = new_pairs(n);
    for (int64_t i = 0; pairs != NULL && i < n; i++)
        pairs[i] = (keyed){keys[i], i};
    return pairs != NULL && finish(order, pairs, n);
}
